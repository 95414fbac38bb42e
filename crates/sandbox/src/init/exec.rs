//! From a fresh fork of init to the program: everything is given up, in
//! order, and then the program takes the process over.

use std::convert::Infallible;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use libc::sock_filter;
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::PROGRAM_ID;
use crate::error::{During, Result, SandboxError};
use crate::protocol::{self, Command, UserNamespace};
use crate::sys::{self, Disposition};

/// A stack as everywhere, which a program may raise to this.
const STACK_BYTES: u64 = 8 << 20;
const LARGEST_STACK_BYTES: u64 = 64 << 20;

/// The gate's number in a launcher that prepares.
const GATE: i32 = 3;

/// Gives up all that a program must not have, waits for a command, and becomes
/// it; returns only when that fails. With the command come its stdin, stdout
/// and stderr, and for a launcher its gate.
pub(super) fn become_program(
    commands: &UnixStream,
    user_namespace: UserNamespace,
    seccomp: &[sock_filter],
    rehearses: bool,
) -> SandboxError {
    let steps = || {
        give_up(user_namespace, seccomp)?;
        if rehearses {
            // Nothing depends on it.
            let _ = rehearse();
        }
        let received = protocol::receive(commands).during("hear a command")?;
        let Some((command, descriptors)) = received else {
            return Err(SandboxError::other("hear a command", "none came"));
        };
        take_over(&command, descriptors, user_namespace)
    };
    let Err(error) = steps();
    error
}

fn give_up(
    user_namespace: UserNamespace,
    seccomp: &[sock_filter],
) -> Result<()> {
    rustix::process::setsid().during("make session")?;
    prefer_as_oom_victim()?;
    set_signals().during("set signals")?;
    set_usual_limits()?;
    drop_privileges(user_namespace)?;
    rustix::process::chdir("/box").during("enter /box")?;
    // Last: the steps above need calls that the filter refuses. Those that
    // follow every program may make.
    sys::install_seccomp(seccomp).during("install seccomp filter")
}

/// Becomes the program.
fn take_over(
    command: &Command,
    descriptors: Vec<OwnedFd>,
    user_namespace: UserNamespace,
) -> Result<Infallible> {
    let Arguments { program, argv, environment } = arguments(command)?;
    let (streams, gate) = descriptors.split_at(descriptors.len().min(3));
    connect(streams)?;
    let mut first_closed = GATE;
    if let [gate, ..] = gate {
        // The number is that of the server's socket, the first that the fork
        // server got: nothing that is needed here is lost.
        sys::duplicate_to(gate.as_fd(), GATE).during("connect the gate")?;
        first_closed += 1;
    }
    sys::close_on_exec_from(first_closed.unsigned_abs())
        .during("close descriptors")?;
    set_limits(command, user_namespace)?;
    let error = sys::execve(&program, &argv, &environment);
    Err(SandboxError::new(format!("execve {program:?}"), error))
}

/// What execve takes.
struct Arguments {
    program: CString,
    argv: Vec<CString>,
    environment: Vec<CString>,
}

fn arguments(command: &Command) -> Result<Arguments> {
    let [program, arguments @ ..] = command.command.as_slice() else {
        return Err(SandboxError::other("execve", "the command is empty"));
    };
    let program = c_string(program)?;
    let mut argv = vec![program.clone()];
    for argument in arguments {
        argv.push(c_string(argument)?);
    }
    let variables = command.environment.iter();
    let environment = variables
        .map(|(key, value)| c_string(&[key, "=", value].concat()))
        .collect::<Result<Vec<_>>>()?;
    Ok(Arguments { program, argv, environment })
}

/// Hears a command, of no effect: the pages for that are mapped and copied, as
/// init's are, while nobody waits.
fn rehearse() -> Result<()> {
    let step = "rehearse";
    let command = Command {
        command: vec!["a".repeat(64); 4],
        environment: vec![("a".repeat(8), "a".repeat(64)); 8],
        cpu_seconds: 0,
        processes: 0,
        file_bytes: 0,
        open_files: 0,
    };
    let (near, far) = UnixStream::pair().during(step)?;
    // Nobody reads while it writes.
    near.set_nonblocking(true).during(step)?;
    far.set_nonblocking(true).during(step)?;
    let streams = [rustix::stdio::stdin(); 3];
    protocol::send(&near, &command, &streams).during(step)?;
    let heard = protocol::receive::<Command>(&far).during(step)?;
    heard.map_or(Ok(()), |(command, _)| arguments(&command).map(drop))
}

fn connect(streams: &[OwnedFd]) -> Result<()> {
    let [stdin, stdout, stderr] = streams else {
        return Err(SandboxError::other("connect streams", "three are needed"));
    };
    rustix::stdio::dup2_stdin(stdin.as_fd()).during("connect stdin")?;
    rustix::stdio::dup2_stdout(stdout.as_fd()).during("connect stdout")?;
    rustix::stdio::dup2_stderr(stderr.as_fd()).during("connect stderr")
}

/// When the box is out of memory, the program goes before init.
fn prefer_as_oom_victim() -> Result<()> {
    // The files of an undumpable process in /proc are those of the host's
    // root; this flag is this fork's own and ends with execve.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
        .during("become dumpable")?;
    fs::write("/proc/self/oom_score_adj", "1000").during("set oom score")?;
    // It has init's memory and descriptors until execve.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .during("become undumpable")
}

/// The limits that come with a command.
fn set_limits(command: &Command, user_namespace: UserNamespace) -> Result<()> {
    // Init's two halves count where they share the program's id.
    let own = match user_namespace {
        UserNamespace::Join => 0,
        UserNamespace::Make => 2,
    };
    limit(&[
        // A backstop for hosts that cannot account a box's CPU time; a second
        // more at the hard end, so that SIGXCPU comes first.
        (Resource::Cpu, (command.cpu_seconds, command.cpu_seconds + 1)),
        (Resource::Fsize, same(command.file_bytes)),
        (Resource::Nofile, same(command.open_files)),
        (Resource::Nproc, same(command.processes + own)),
    ])
}

/// Those that are the same for every command.
fn set_usual_limits() -> Result<()> {
    limit(&[
        // 1 and not 0: the kernel pipes a core to a handler at 0 as well, and
        // does neither that nor a file at 1 (core(5)).
        (Resource::Core, same(1)),
        (Resource::Memlock, same(0)),
        (Resource::Nice, same(0)),
        (Resource::Rtprio, same(0)),
        (Resource::Sigpending, same(1_024)),
        (Resource::Stack, (STACK_BYTES, LARGEST_STACK_BYTES)),
    ])
}

fn same(limit: u64) -> (u64, u64) {
    (limit, limit)
}

fn limit(limits: &[(Resource, (u64, u64))]) -> Result<()> {
    for &(resource, (soft, hard)) in limits {
        // An operator's own, lower hard limit stays: raising is not ours.
        let highest = rustix::process::getrlimit(resource).maximum;
        let most = highest.unwrap_or(u64::MAX);
        let limit = Rlimit {
            current: Some(soft.min(most)),
            maximum: Some(hard.min(most)),
        };
        rustix::process::setrlimit(resource, limit).map_err(|error| {
            SandboxError::new(format!("set limit {resource:?}"), error.into())
        })?;
    }
    Ok(())
}

/// All others do what they do by default since the fork server started.
fn set_signals() -> io::Result<()> {
    // A file over its limit is a failed write (EFBIG), not a death.
    sys::set_signal(libc::SIGXFSZ, Disposition::Ignore)?;
    sys::block_signals(&[])
}

fn drop_privileges(user_namespace: UserNamespace) -> Result<()> {
    let step = "drop capabilities";
    for capability in CapabilitySet::all().iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // Newer than this kernel.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(SandboxError::new(step, error.into())),
        }
    }
    rustix::thread::set_capabilities_secure_bits(locked_bits())
        .during("lock secure bits")?;
    match user_namespace {
        UserNamespace::Join => {
            sys::clear_groups().during("drop groups")?;
            sys::set_group(PROGRAM_ID).during("set group")?;
            sys::set_user(PROGRAM_ID).during("set user")?;
        }
        // The one id of this namespace is already the program's.
        UserNamespace::Make => {}
    }
    // The secure bits above keep set_user from doing this by itself.
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::clear_ambient_capability_set().during(step)?;
    rustix::thread::set_capabilities(None, none).during(step)?;
    rustix::thread::set_no_new_privs(true).during("set no_new_privs")
}

/// No identity gives capabilities, and none of this can be taken back.
fn locked_bits() -> CapabilitiesSecureBits {
    CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED
}

fn c_string(string: &str) -> Result<CString> {
    CString::new(string).during("execve: a NUL in the command")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_command_can_be_rehearsed() {
        super::rehearse().unwrap();
    }
}
