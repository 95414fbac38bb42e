//! From a process that pid 1 has just forked to the program: it gives up every
//! right, in a fixed order, waits for its command, and executes it.

use std::convert::Infallible;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::process::Resource;
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::context::{BoxContext, become_undumpable};
use super::mounts;
use crate::error::{During, Result, SandboxError};
use crate::ids::{self, PROGRAM_ID};
use crate::protocol::{self, ExecSpec, SerializedError, UserNamespace};
use crate::rlimits::{self, limit};
use crate::sys;

/// The usual stack limit, and the limit that a program may raise it to.
const STACK_BYTES: u64 = 8 << 20;
const MAX_STACK_BYTES: u64 = 64 << 20;

/// The gate's number in a launcher that prepares.
const GATE: i32 = 3;

/// Gives up all that a program must not have, waits for a command on
/// `channel`, and becomes it. If that fails, the reason goes back there.
pub(super) fn become_program(
    channel: &UnixStream,
    context: BoxContext<'_>,
) -> ! {
    let Err(error) = try_to_become_program(channel, context);
    // Nobody is left to report to if this fails.
    let _ = protocol::send(channel, &SerializedError::from(error), &[]);
    sys::exit_now(127)
}

fn try_to_become_program(
    channel: &UnixStream,
    context: BoxContext<'_>,
) -> Result<Infallible> {
    drop_rights(context)?;
    let step = "receive the command";
    let (spec, descriptors) = protocol::receive::<ExecSpec>(channel)
        .during(step)?
        .ok_or_else(|| SandboxError::other(step, "init is gone"))?;
    let Arguments { program, argv, environment } = arguments(&spec)?;
    connect(&descriptors)?;
    set_limits(&spec, context.user_namespace)?;
    let error = sys::execve(&program, &argv, &environment);
    let path = Path::new(&spec.command[0]);
    if mounts::WRITABLE.iter().any(|folder| path.starts_with(folder)) {
        end_as_shell(path, &error);
    }
    Err(SandboxError::new(format!("execve {program:?}"), error))
}

/// Ends like a shell that cannot execute a program: with a line on stderr, and
/// 127 if the program or its interpreter is missing, else 126. A program that
/// an earlier step of the box made can fail with any error, also with one that
/// looks like a shortage of the host, and the sandbox has not failed.
fn end_as_shell(path: &Path, error: &io::Error) -> ! {
    let name = path.file_name().unwrap_or(path.as_os_str()).display();
    let line = format!("{name}: cannot execute: {error}\n");
    // Nobody is left to report to if this fails.
    let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    sys::exit_now(if is_missing { 127 } else { 126 })
}

fn drop_rights(context: BoxContext<'_>) -> Result<()> {
    rustix::process::setsid().during("make session")?;
    // Before the change of ids: an earlier step may have closed the folder to
    // the program.
    rustix::process::chdir("/box").during("enter /box")?;
    set_signals().during("set signals")?;
    set_usual_limits()?;
    drop_privileges(context.user_namespace)?;
    become_undumpable()?;
    // Last: the steps above need calls that the filter refuses. A program may
    // make all calls that follow.
    sys::install_seccomp(context.seccomp).during("install seccomp filter")
}

/// The arguments of execve.
struct Arguments {
    program: CString,
    argv: Vec<CString>,
    environment: Vec<CString>,
}

fn arguments(spec: &ExecSpec) -> Result<Arguments> {
    let [program, arguments @ ..] = spec.command.as_slice() else {
        return Err(SandboxError::other("execve", "the command is empty"));
    };
    let program = c_string(program)?;
    let mut argv = vec![program.clone()];
    for argument in arguments {
        argv.push(c_string(argument)?);
    }
    let variables = spec.environment.iter();
    let environment = variables
        .map(|(key, value)| c_string(&[key, "=", value].concat()))
        .collect::<Result<Vec<_>>>()?;
    Ok(Arguments { program, argv, environment })
}

/// Gives the streams and the gate their numbers. The execve closes all other
/// descriptors.
fn connect(descriptors: &[OwnedFd]) -> Result<()> {
    let [stdin, stdout, stderr, gate @ ..] = descriptors else {
        return Err(SandboxError::other("connect streams", "three are needed"));
    };
    sys::close_on_exec_from(GATE.unsigned_abs()).during("close descriptors")?;
    rustix::stdio::dup2_stdin(stdin.as_fd()).during("connect stdin")?;
    rustix::stdio::dup2_stdout(stdout.as_fd()).during("connect stdout")?;
    rustix::stdio::dup2_stderr(stderr.as_fd()).during("connect stderr")?;
    if let [gate, ..] = gate {
        // Nothing that is needed here has this number: it is that of the box's
        // socket, the first descriptor that the fork server received.
        sys::duplicate_to(gate.as_fd(), GATE).during("connect the gate")?;
    }
    Ok(())
}

/// Sets the limits that come with a command.
fn set_limits(spec: &ExecSpec, user_namespace: UserNamespace) -> Result<()> {
    // The two halves of init count if they have the program's id.
    let own = match user_namespace {
        UserNamespace::Join => 0,
        UserNamespace::Make => 2,
    };
    limit(&[
        // For hosts that cannot measure the CPU time of a box. The hard limit is
        // a second higher, so that SIGXCPU comes before SIGKILL.
        (Resource::Cpu, (spec.cpu_seconds, spec.cpu_seconds + 1)),
        (Resource::Fsize, same(spec.file_bytes)),
        (Resource::Nofile, same(spec.open_files)),
        (Resource::Nproc, same(spec.processes + own)),
    ])
}

/// Sets the limits that are the same for every command.
fn set_usual_limits() -> Result<()> {
    limit(&[
        (Resource::Core, same(rlimits::NO_CORE)),
        (Resource::Memlock, same(rlimits::LOCKED_BYTES)),
        (Resource::Msgqueue, same(rlimits::QUEUE_BYTES)),
        (Resource::Nice, same(0)),
        (Resource::Rtprio, same(0)),
        (Resource::Sigpending, same(rlimits::QUEUED_SIGNALS)),
        (Resource::Stack, (STACK_BYTES, MAX_STACK_BYTES)),
    ])
}

fn same(limit: u64) -> (u64, u64) {
    (limit, limit)
}

/// Sets the signals. All others have their default action, since the fork server
/// started.
fn set_signals() -> io::Result<()> {
    // At its size limit a write to a file fails (EFBIG). With the signal the
    // program would end.
    sys::ignore_signal(libc::SIGXFSZ, true)?;
    sys::block_signals(&[])
}

fn drop_privileges(user_namespace: UserNamespace) -> Result<()> {
    let step = "drop capabilities";
    for capability in CapabilitySet::all().iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // This kernel does not have the capability.
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
        // This namespace has only one id, that of the program.
        UserNamespace::Make => {}
    }
    // With the secure bits above, set_user does not drop capabilities.
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::clear_ambient_capability_set().during(step)?;
    rustix::thread::set_capabilities(None, none).during(step)?;
    rustix::thread::set_no_new_privs(true).during("set no_new_privs")
}

/// Returns secure bits with which no user id gives capabilities. They are
/// locked, so they cannot be changed back.
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
