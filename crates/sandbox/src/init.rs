//! The program inside every box, a fork of one that is started once: its outer
//! half makes the namespaces, its inner half is pid 1 and does what the server
//! asks.
//!
//! It has one thread, so it may fork and go on in ordinary Rust. The order of
//! the steps is what keeps the walls whole: the user namespace before the
//! others (they belong to it), the clock offsets before the first fork (they
//! are fixed by it), the control groups before it as well (all processes and
//! all that they write are charged to the box; not so the namespaces, which are
//! made while the server makes the groups) and before init's ids (the kernel
//! lets only the server's own into its groups), the mounts last, when nothing
//! of the host is needed any more.

mod artifacts;
mod context;
mod exec;
mod files;
mod inputs;
mod mounts;
mod programs;
mod serve;

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use libc::sock_filter;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{DumpableBehavior, PidfdFlags, getpid, pidfd_open};
use rustix::thread::{
    LinkNameSpaceType, ThreadNameSpaceType, move_into_thread_name_spaces,
};
use rustix::time::{ClockId, clock_gettime};

use crate::children;
use crate::error::{During, Result, SandboxError};
use crate::ids::{self, INIT_ID, PROGRAM_ID};
use crate::protocol::{self, Reply, Request, Setup, UserNamespace};
use crate::seccomp;
use crate::sys::{self, Fork};
use context::{BoxContext, become_undumpable, follow_parent};
use mounts::Tree;

/// The name the server starts this program by (`argv[0]`).
pub const INIT_NAME: &str = "sandpiper-init";

/// Runs the fork server of boxes' inits; the socket to the server is standard
/// input. Call it before anything else when the process was started as
/// [`INIT_NAME`].
pub fn init_main() -> ! {
    sys::exit_now(i32::from(fork_inits().is_err()))
}

/// Forks an init for each socket that comes, until the server is gone. What
/// execve and the start of a program cost is paid once, and nothing of the
/// server is in the memory that boxes have a copy of.
fn fork_inits() -> io::Result<()> {
    // The kernel keeps every signal from pid 1 that it has no handler for.
    // Rust's runtime has set some, and where programs have init's own id a
    // program could use them to interrupt it.
    sys::reset_signals()?;
    let Some(seccomp) = protocol::receive_filter(rustix::stdio::stdin())?
    else {
        return Ok(());
    };
    let seccomp: &'static [sock_filter] =
        Vec::leak(seccomp::from_bytes(&seccomp));
    // The kernel reaps; the server has a pidfd of each. A pid 1 that loses its
    // outer half becomes a child of this process, and is reaped as well.
    sys::ignore_signal(libc::SIGCHLD, true)?;
    rustix::process::set_child_subreaper(Some(getpid()))?;
    while let Some(socket) = protocol::receive_socket(rustix::stdio::stdin())? {
        match sys::fork() {
            // A failure that could not be reported has nobody to tell: the
            // server reads the end of the socket.
            Ok(Fork::Child) => {
                sys::exit_now(outer(socket, seccomp).unwrap_or(1))
            }
            Ok(Fork::Parent(_)) => {}
            Err(error) => {
                report(&socket, SandboxError::new("fork init", error));
            }
        }
    }
    Ok(())
}

/// Tells the server of a failure, then passes it on.
fn report(socket: &UnixStream, error: SandboxError) -> io::Error {
    let kind = error.cause.kind();
    let reply = Reply::Failed(error.into());
    protocol::send(socket, &reply, &[]).err().unwrap_or_else(|| kind.into())
}

/// The outer half. It stays as the parent of pid 1 and ends with it, if it is
/// not killed.
fn outer(
    socket: UnixStream,
    seccomp: &'static [sock_filter],
) -> io::Result<i32> {
    sys::ignore_signal(libc::SIGCHLD, false)?;
    // In place of the fork server's socket.
    rustix::stdio::dup2_stdin(rustix::stdio::stdout())?;
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    protocol::send(&socket, &Reply::Begun, &[own.as_fd()])?;
    let hear = || {
        protocol::receive(&socket).map_err(|error| {
            report(&socket, SandboxError::new("hear a request", error))
        })
    };
    let Some((Request::Setup(setup), namespace)) = hear()? else {
        return Ok(0);
    };
    let entered = enter_namespaces(&setup, namespace);
    // Also where that failed: whoever asks reads why.
    let Some((Request::Join(groups), descriptors)) = hear()? else {
        return Ok(0);
    };
    entered
        .and_then(|()| join_groups(groups, descriptors))
        .and_then(|()| become_init(setup.user_namespace))
        .map_err(|error| report(&socket, error))?;
    let (made, tell_made) = UnixStream::pair()?;
    // Now: pid 1 changes the root of both.
    let settings = open_settings();
    match sys::fork() {
        Ok(Fork::Child) => {
            drop(tell_made);
            let network = Network { made, maker: own };
            // Its children have it, too, until they execute a program.
            let socket: &'static UnixStream = Box::leak(Box::new(socket));
            let served = inner(socket, &setup, network, seccomp)
                .map_err(|error| report(socket, error));
            sys::exit_now(i32::from(served.is_err()))
        }
        Ok(Fork::Parent(child)) => {
            drop(made);
            if let Err(error) = make_network(&tell_made, settings) {
                report(&socket, error);
            }
            // Not before: pid 1 would tell of it first, and not know why.
            drop(tell_made);
            // Only pid 1 holds the socket from here on, and its children
            // until their execve: its end is the end of the box.
            drop(socket);
            children::wait_for(child).map(|_| 0)
        }
        Err(error) => {
            Err(report(&socket, SandboxError::new("fork pid 1", error)))
        }
    }
}

fn enter_namespaces(setup: &Setup, namespace: Vec<OwnedFd>) -> Result<()> {
    // Before whatever else the host has, if that is out of memory. All that
    // this process starts has the same.
    write_proc("/proc/self/oom_score_adj", "1000")?;
    // Before any id changes: the rootfs may be below a folder that only the
    // server's user can pass. unshare(CLONE_NEWNS) keeps the working
    // directory, on the copied mount.
    rustix::process::chdir(&setup.rootfs)
        .during(&format!("open image {}", setup.rootfs.display()))?;
    enter_user_namespace(setup.user_namespace, namespace.into_iter().next())?;
    sys::unshare(
        libc::CLONE_NEWNS
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWPID
            | CLONE_NEWTIME,
    )
    .during("make namespaces")?;
    reset_clocks().during("set clock offsets")
}

fn join_groups(groups: usize, descriptors: Vec<OwnedFd>) -> Result<()> {
    if descriptors.len() != groups {
        return Err(SandboxError::other("setup", "a control group is missing"));
    }
    for group in descriptors {
        // A process that moves itself ("0") costs 0.1 ms in cgroup v1; moved
        // from outside by its id it costs 6 to 20.
        fs::File::from(group).write_all(b"0").during("join control group")?;
    }
    // Its root is the group that the process is in.
    sys::unshare(libc::CLONE_NEWCGROUP).during("make a cgroup namespace")
}

/// From linux/sched.h; the libc crate has it for some targets only.
const CLONE_NEWTIME: i32 = 0x80;

fn enter_user_namespace(
    how: UserNamespace,
    namespace: Option<OwnedFd>,
) -> Result<()> {
    match (how, namespace) {
        (UserNamespace::Join, Some(namespace)) => {
            rustix::thread::move_into_link_name_space(
                namespace.as_fd(),
                Some(LinkNameSpaceType::User),
            )
            .during("join user namespace")?;
        }
        (UserNamespace::Join, None) => {
            return Err(SandboxError::other("setup", "no user namespace came"));
        }
        (UserNamespace::Make, _) => {
            let uid = rustix::process::geteuid().as_raw();
            let gid = rustix::process::getegid().as_raw();
            sys::unshare(libc::CLONE_NEWUSER).during("make user namespace")?;
            // Required before an unprivileged gid_map (user_namespaces(7)).
            write_proc("/proc/self/setgroups", "deny")?;
            write_proc("/proc/self/uid_map", &format!("{PROGRAM_ID} {uid} 1"))?;
            write_proc("/proc/self/gid_map", &format!("{PROGRAM_ID} {gid} 1"))?;
        }
    }
    Ok(())
}

/// With a range of ids: takes init's.
fn become_init(user_namespace: UserNamespace) -> Result<()> {
    match user_namespace {
        UserNamespace::Join => {
            ids::clear_groups().during("drop groups")?;
            ids::set_group(INIT_ID).during("set group")?;
            ids::set_user(INIT_ID).during("set user")?;
            // That made the process undumpable, and with that its files in
            // /proc those of the host's root. Pid 1 goes back to undumpable.
            rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
                .during("become dumpable")
        }
        UserNamespace::Make => Ok(()),
    }
}

fn write_proc(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).during(&format!("write {path}"))
}

/// Lets the box's monotonic and boot clocks start near zero, as on a machine
/// of its own. The offsets themselves can be read in the box.
fn reset_clocks() -> io::Result<()> {
    let back = |clock| -clock_gettime(clock).tv_sec;
    let offsets = format!(
        "monotonic {} 0\nboottime {} 0\n",
        back(ClockId::Monotonic),
        back(ClockId::Boottime)
    );
    fs::write("/proc/self/timens_offsets", offsets)
}

/// The inner half: pid 1 of the box. Returns when the box is to end.
fn inner(
    socket: &'static UnixStream,
    setup: &Setup,
    network: Network,
    seccomp: &'static [sock_filter],
) -> Result<()> {
    let tree: &'static Tree = Box::leak(Box::new(prepare(setup, network)?));
    let step = "report that the box stands";
    let ready = Reply::Ready { own_inodes: tree.own_inodes };
    let own = pidfd_open(getpid(), PidfdFlags::empty()).during(step)?;
    // In the network namespace that pid 1 has joined.
    let sockets = fs::File::open("/proc/self/net/sockstat")
        .during("open /proc/net/sockstat")?;
    let descriptors = [own.as_fd(), tree.locks.as_fd(), sockets.as_fd()];
    protocol::send(socket, &ready, &descriptors).during(step)?;
    let user_namespace = setup.user_namespace;
    serve::serve(setup, BoxContext { socket, tree, user_namespace, seccomp })
}

/// Builds the box around pid 1.
fn prepare(setup: &Setup, network: Network) -> Result<Tree> {
    follow_parent()?;
    join_own_keyring()?;
    rustix::system::sethostname(b"sandbox").during("set host name")?;
    rustix::system::setdomainname(b"").during("set domain name")?;
    let tree = mounts::build(setup)?;
    join_network(network)?;
    become_undumpable()?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    Ok(tree)
}

fn join_own_keyring() -> Result<()> {
    match sys::join_new_session_keyring() {
        // A kernel without keyrings has nothing to hide.
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
        result => result.during("join a keyring of its own"),
    }
}

/// The box's network namespace, which the outer half makes while pid 1 builds
/// the rest: it takes the kernel as long as all of that.
struct Network {
    /// One byte comes when it is made.
    made: UnixStream,
    /// A pidfd of the outer half, which is in it then.
    maker: OwnedFd,
}

/// The folder of a network's settings. It has those of whichever namespace the
/// process is in.
fn open_settings() -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open("/proc/sys/net", flags, Mode::empty()).ok()
}

/// What a socket of TCP may hold of what came and of what is sent, in bytes:
/// least, usual, most. It may not be charged to the box (`uncharged.rs`), and
/// 64 KiB are enough on a loopback.
const TCP_BUFFERS: [(&str, &[u8]); 2] = [
    ("ipv4/tcp_rmem", b"4096 65536 65536"),
    ("ipv4/tcp_wmem", b"4096 16384 65536"),
];

fn make_network(
    tell_made: &UnixStream,
    settings: Option<OwnedFd>,
) -> Result<()> {
    sys::unshare(libc::CLONE_NEWNET).during("make network namespace")?;
    if let Some(folder) = settings {
        set_tcp_buffers(&folder).during("set TCP's buffers")?;
    }
    bring_loopback_up().during("bring loopback up")?;
    // Without a signal: this half must not end before pid 1.
    rustix::net::send(tell_made, b"1", SendFlags::NOSIGNAL)
        .map(drop)
        .during("tell of the network")
}

fn set_tcp_buffers(settings: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    for (name, bytes) in TCP_BUFFERS {
        match rustix::fs::openat(settings, name, flags, Mode::empty()) {
            Ok(file) => rustix::io::write(&file, bytes).map(drop)?,
            // With a /proc that can be read alone the kernel's own bounds hold.
            Err(Errno::ROFS | Errno::ACCESS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn bring_loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    sys::loopback_up(socket.as_fd())
}

fn join_network(Network { mut made, maker }: Network) -> Result<()> {
    let step = "join network namespace";
    // Its end without a byte: the outer half has told why.
    made.read_exact(&mut [0]).during(step)?;
    move_into_thread_name_spaces(maker.as_fd(), ThreadNameSpaceType::NETWORK)
        .during(step)
}
