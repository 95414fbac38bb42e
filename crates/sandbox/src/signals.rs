//! The names and words of signals.

use libc::c_int;

pub use crate::sys::signal_words;

/// The signals that end a process by default, by name.
const NAMES: [(c_int, &str); 24] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGSTKFLT, "SIGSTKFLT"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGXFSZ, "SIGXFSZ"),
    (libc::SIGVTALRM, "SIGVTALRM"),
    (libc::SIGPROF, "SIGPROF"),
    (libc::SIGIO, "SIGIO"),
    (libc::SIGPWR, "SIGPWR"),
    (libc::SIGSYS, "SIGSYS"),
    (libc::SIGSTOP, "SIGSTOP"),
];

/// The name of a signal, such as `SIGSEGV`; real-time signals count from
/// `SIGRTMIN`.
pub fn signal_name(signal: i32) -> String {
    let named = NAMES.iter().find(|(number, _)| *number == signal);
    match named {
        Some((_, name)) => (*name).to_owned(),
        None if signal >= libc::SIGRTMIN() => {
            format!("SIGRTMIN+{}", signal - libc::SIGRTMIN())
        }
        None => format!("SIG{signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_words() {
        let check = |signal, name: &str, words: &str| {
            assert_eq!(signal_name(signal), name);
            assert_eq!(signal_words(signal), words);
        };
        check(libc::SIGSEGV, "SIGSEGV", "Segmentation fault");
        check(libc::SIGFPE, "SIGFPE", "Floating point exception");
        check(libc::SIGABRT, "SIGABRT", "Aborted");
        check(libc::SIGRTMIN() + 1, "SIGRTMIN+1", "Real-time signal 1");
    }
}
