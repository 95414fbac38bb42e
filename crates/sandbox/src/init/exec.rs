//! From a new process in init's memory to the program: everything is given up,
//! in order, and then the program takes the process over.

use std::convert::Infallible;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use libc::sock_filter;
use rustix::process::Resource;
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::mounts::Tree;
use super::told::{Given, Told};
use super::{PROGRAM_ID, hear};
use crate::error::{During, Result, SandboxError};
use crate::ids;
use crate::protocol::{Command, UserNamespace};
use crate::rlimits::{self, limit};
use crate::sys::{self, Turn};

/// A stack as everywhere, which a program may raise to this.
const STACK_BYTES: u64 = 8 << 20;
const LARGEST_STACK_BYTES: u64 = 64 << 20;

/// The gate's number in a launcher that prepares.
const GATE: i32 = 3;

/// What the process of a program needs to know of its box.
#[derive(Clone, Copy)]
pub(super) struct Around {
    pub(super) socket: &'static UnixStream,
    pub(super) tree: &'static Tree,
    pub(super) user_namespace: UserNamespace,
    pub(super) seccomp: &'static [sock_filter],
}

/// Gives up all that a program must not have, waits for a command, and becomes
/// it; returns only when that fails. Where nobody waits yet (`is_ahead`) it
/// rehearses.
pub(super) fn become_program(
    told: &Told,
    turn: &Turn,
    around: Around,
    is_ahead: bool,
) {
    let steps = || {
        told.keep(give_up(around)?);
        if is_ahead {
            // Nothing depends on it.
            let _ = hear::rehearse();
        }
        turn.pass();
        let given = match told.given() {
            Some(given) => given,
            None => hear::hear(told, turn, around)?,
        };
        let arguments = take_over(&given, turn, around.user_namespace);
        // No lock is held over execve: nobody would open it.
        told.put_back(given);
        let Arguments { program, argv, environment } = arguments?;
        let error = sys::execve(&program, &argv, &environment);
        Err(SandboxError::new(format!("execve {program:?}"), error))
    };
    let Err::<Infallible, _>(error) = steps();
    told.fail(error);
}

/// What keeps the filter.
fn give_up(around: Around) -> Result<Option<OwnedFd>> {
    rustix::process::setsid().during("make session")?;
    set_signals().during("set signals")?;
    set_usual_limits()?;
    drop_privileges(around.user_namespace)?;
    // A change of ids may take that from the memory, which is init's.
    super::become_undumpable()?;
    rustix::process::chdir("/box").during("enter /box")?;
    // Last: the steps above need calls that the filter refuses. Those that
    // follow, to read a request and to write files too, every program may make.
    sys::install_seccomp(around.seccomp).during("install seccomp filter")
}

/// Prepares all that execve keeps; what that takes.
fn take_over(
    given: &Given,
    turn: &Turn,
    user_namespace: UserNamespace,
) -> Result<Arguments> {
    let Given { command, descriptors } = given;
    let arguments = arguments(command)?;
    let (streams, gate) = descriptors.split_at(descriptors.len().min(3));
    turn.part_descriptors(GATE.unsigned_abs()).during("close descriptors")?;
    connect(streams)?;
    if let [gate, ..] = gate {
        // The number is that of the server's socket, the first that the fork
        // server got: nothing that is needed here is lost.
        sys::duplicate_to(gate.as_fd(), GATE).during("connect the gate")?;
    }
    set_limits(command, user_namespace)?;
    Ok(arguments)
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

fn connect(streams: &[OwnedFd]) -> Result<()> {
    let [stdin, stdout, stderr] = streams else {
        return Err(SandboxError::other("connect streams", "three are needed"));
    };
    rustix::stdio::dup2_stdin(stdin.as_fd()).during("connect stdin")?;
    rustix::stdio::dup2_stdout(stdout.as_fd()).during("connect stdout")?;
    rustix::stdio::dup2_stderr(stderr.as_fd()).during("connect stderr")
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
        (Resource::Core, same(rlimits::NO_CORE)),
        (Resource::Memlock, same(0)),
        (Resource::Msgqueue, same(rlimits::QUEUE_BYTES)),
        (Resource::Nice, same(0)),
        (Resource::Rtprio, same(0)),
        (Resource::Sigpending, same(rlimits::QUEUED_SIGNALS)),
        (Resource::Stack, (STACK_BYTES, LARGEST_STACK_BYTES)),
    ])
}

fn same(limit: u64) -> (u64, u64) {
    (limit, limit)
}

/// All others do what they do by default since the fork server started.
fn set_signals() -> io::Result<()> {
    // A file over its limit is a failed write (EFBIG), not a death.
    sys::ignore_signal(libc::SIGXFSZ, true)?;
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
            ids::clear_groups().during("drop groups")?;
            ids::set_group(PROGRAM_ID).during("set group")?;
            ids::set_user(PROGRAM_ID).during("set user")?;
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
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::children;

    #[test]
    fn a_twin_and_its_parent_take_turns() {
        static STEP: AtomicU32 = AtomicU32::new(0);
        let step = |from| {
            STEP.compare_exchange(
                from,
                from + 1,
                Ordering::SeqCst,
                Ordering::SeqCst,
            )
            .is_ok()
        };
        let twin = sys::fork_twin(
            move |turn| {
                let first = step(0);
                turn.pass();
                i32::from(!(first && step(2)))
            },
            None,
        )
        .0
        .unwrap();
        assert!(step(1) && twin.is_here());
        twin.go_on();
        assert!(step(3) && !twin.is_here());
        assert!(children::wait_for(twin.pid).unwrap().success());
    }
}
