//! Names and descriptions of signals.

use libc::c_int;

/// The signals that end a process by default: number, name, and the words of
/// strsignal(3).
const NAMES: [(c_int, &str, &str); 24] = [
    (libc::SIGHUP, "SIGHUP", "Hangup"),
    (libc::SIGINT, "SIGINT", "Interrupt"),
    (libc::SIGQUIT, "SIGQUIT", "Quit"),
    (libc::SIGILL, "SIGILL", "Illegal instruction"),
    (libc::SIGTRAP, "SIGTRAP", "Trace/breakpoint trap"),
    (libc::SIGABRT, "SIGABRT", "Aborted"),
    (libc::SIGBUS, "SIGBUS", "Bus error"),
    (libc::SIGFPE, "SIGFPE", "Floating point exception"),
    (libc::SIGKILL, "SIGKILL", "Killed"),
    (libc::SIGUSR1, "SIGUSR1", "User defined signal 1"),
    (libc::SIGSEGV, "SIGSEGV", "Segmentation fault"),
    (libc::SIGUSR2, "SIGUSR2", "User defined signal 2"),
    (libc::SIGPIPE, "SIGPIPE", "Broken pipe"),
    (libc::SIGALRM, "SIGALRM", "Alarm clock"),
    (libc::SIGTERM, "SIGTERM", "Terminated"),
    (libc::SIGSTKFLT, "SIGSTKFLT", "Stack fault"),
    (libc::SIGXCPU, "SIGXCPU", "CPU time limit exceeded"),
    (libc::SIGXFSZ, "SIGXFSZ", "File size limit exceeded"),
    (libc::SIGVTALRM, "SIGVTALRM", "Virtual timer expired"),
    (libc::SIGPROF, "SIGPROF", "Profiling timer expired"),
    (libc::SIGIO, "SIGIO", "I/O possible"),
    (libc::SIGPWR, "SIGPWR", "Power failure"),
    (libc::SIGSYS, "SIGSYS", "Bad system call"),
    (libc::SIGSTOP, "SIGSTOP", "Stopped (signal)"),
];

/// Returns the name of a signal, such as `SIGSEGV`. Real-time signals count
/// from `SIGRTMIN`.
pub fn signal_name(signal: i32) -> String {
    match named(signal) {
        Some((_, name, _)) => (*name).to_owned(),
        None if signal >= libc::SIGRTMIN() => {
            format!("SIGRTMIN+{}", signal - libc::SIGRTMIN())
        }
        None => format!("SIG{signal}"),
    }
}

/// Returns the words in which a shell reports that this signal ended a program,
/// such as `Segmentation fault`.
pub fn signal_words(signal: i32) -> String {
    match named(signal) {
        Some((_, _, words)) => (*words).to_owned(),
        None if signal >= libc::SIGRTMIN() => {
            format!("Real-time signal {}", signal - libc::SIGRTMIN())
        }
        None => format!("Unknown signal {signal}"),
    }
}

fn named(
    signal: c_int,
) -> Option<&'static (c_int, &'static str, &'static str)> {
    NAMES.iter().find(|(number, _, _)| *number == signal)
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
