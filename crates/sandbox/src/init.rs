//! The init of a box. It is a fork of the fork server: its outer half makes the
//! namespaces, and its inner half is pid 1 and answers the server's requests.
//!
//! It has one thread, so it may fork and go on in ordinary Rust. The isolation
//! depends on the order of the steps:
//!
//! 1. The user namespace, to which the other namespaces then belong.
//! 2. The other namespaces and the clock offsets, which the first fork fixes.
//!    The server makes the control groups meanwhile, so their memory is not
//!    charged to the box.
//! 3. The control groups. The kernel lets only the server's id into them, so
//!    this comes before init's ids. All later processes and files are charged
//!    to the box.
//! 4. The fork of pid 1, and the mounts. They come last, because they hide the
//!    files of the host.

mod compile_artifacts;
mod context;
mod exec;
mod files;
mod inputs;
mod left_files;
mod mounts;
mod programs;
mod serve;

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use libc::{pid_t, sock_filter};
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
pub use left_files::MAX_SKIPPED;

use context::{BoxContext, become_undumpable, follow_parent};
use mounts::Tree;

/// The name by which the server starts this program (`argv[0]`).
pub const INIT_NAME: &str = "sandpiper-init";

/// Runs the fork server, which forks the inits of boxes. Its standard input is
/// the socket to the server. Call it before anything else in a process that was
/// started as [`INIT_NAME`].
pub fn init_main() -> ! {
    sys::exit_now(i32::from(fork_inits().is_err()))
}

/// Forks an init for each socket that comes, until the server is gone. So the
/// execve and the start of a program happen only once, and boxes have a copy of
/// a memory in which nothing of the server is.
fn fork_inits() -> io::Result<()> {
    // The kernel protects pid 1 from every signal without a handler. Rust's
    // runtime has set some handlers. If programs have the id of init, they
    // could use these to interrupt it.
    sys::reset_signals()?;
    let Some(seccomp) = protocol::receive_filter(rustix::stdio::stdin())?
    else {
        return Ok(());
    };
    let seccomp = seccomp::from_bytes(&seccomp);
    // The kernel reaps the children, and the server has a pidfd of each. A pid
    // 1 that loses its outer half becomes a child of this process.
    sys::ignore_signal(libc::SIGCHLD, true)?;
    rustix::process::set_child_subreaper(Some(getpid()))?;
    while let Some(socket) = protocol::receive_socket(rustix::stdio::stdin())? {
        match sys::fork() {
            Ok(Fork::Child) => {
                outer(socket, &seccomp);
                sys::exit_now(0)
            }
            Ok(Fork::Parent(_)) => {}
            Err(error) => {
                report(&socket, SandboxError::new("fork init", error));
            }
        }
    }
    Ok(())
}

/// Reports a failure to the server. If the report fails as well, the server
/// finds that the socket is closed.
fn report(socket: &UnixStream, error: SandboxError) {
    let _ = protocol::send(socket, &Reply::Failed(error.into()), &[]);
}

/// The outer half: the parent of pid 1. It ends after pid 1, if it is not
/// killed.
fn outer(socket: UnixStream, seccomp: &[sock_filter]) {
    match fork_pid_1(&socket, seccomp) {
        Ok(Some(child)) => {
            // From here on only pid 1 holds the socket, and its children until
            // their execve. The box ends when pid 1 does.
            drop(socket);
            let _ = children::wait_for(child);
        }
        // The server is gone, or gave the box up.
        Ok(None) => {}
        Err(error) => report(&socket, error),
    }
}

fn fork_pid_1(
    socket: &UnixStream,
    seccomp: &[sock_filter],
) -> Result<Option<pid_t>> {
    let step = "begin";
    sys::ignore_signal(libc::SIGCHLD, false).during(step)?;
    // It replaces the fork server's socket.
    rustix::stdio::dup2_stdin(rustix::stdio::stdout()).during(step)?;
    let own = pidfd_open(getpid(), PidfdFlags::empty()).during(step)?;
    protocol::send(socket, &Reply::Begun, &[own.as_fd()]).during(step)?;
    let receive = || protocol::receive(socket).during("receive a request");
    let Some((Request::Setup(setup), namespace)) = receive()? else {
        return Ok(None);
    };
    let entered = enter_namespaces(&setup, namespace);
    // Receive it even after a failure: the server waits for one reply to both.
    let Some((Request::Join(groups), descriptors)) = receive()? else {
        return Ok(None);
    };
    entered?;
    join_groups(groups, descriptors)?;
    become_init(setup.user_namespace)?;
    let step = "fork pid 1";
    let (made, report_made) = UnixStream::pair().during(step)?;
    // Before the fork: pid 1 changes the root of both.
    let settings = open_settings();
    match sys::fork().during(step)? {
        Fork::Child => {
            drop(report_made);
            let network = Network { made, maker: own };
            if let Err(error) = inner(socket, &setup, network, seccomp) {
                report(socket, error);
            }
            sys::exit_now(0)
        }
        Fork::Parent(child) => {
            drop(made);
            if let Err(error) = make_network(&report_made, settings) {
                // Before `report_made` is closed: pid 1 then fails as well, and
                // its report would not give the reason.
                report(socket, error);
            }
            Ok(Some(child))
        }
    }
}

fn enter_namespaces(setup: &Setup, namespace: Vec<OwnedFd>) -> Result<()> {
    // If the host is out of memory, the kernel kills this process first. All
    // processes that it starts inherit this.
    write_proc("/proc/self/oom_score_adj", "1000")?;
    // Before any change of ids: perhaps only the server's user may pass a
    // folder above the rootfs. unshare(CLONE_NEWNS) keeps the working
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
        // In version 1 a process moves itself ("0") in 0.1 ms. To move it from
        // outside by its id takes 6 to 20 ms.
        fs::File::from(group).write_all(b"0").during("join control group")?;
    }
    // The root of the namespace is the group that the process is in.
    sys::unshare(libc::CLONE_NEWCGROUP).during("make a cgroup namespace")
}

/// From linux/sched.h. The libc crate has it only for some targets.
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
            let reason = "the user namespace is missing";
            return Err(SandboxError::other("setup", reason));
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

/// Takes init's ids, in a user namespace that has a range of ids.
fn become_init(user_namespace: UserNamespace) -> Result<()> {
    match user_namespace {
        UserNamespace::Join => {
            ids::clear_groups().during("drop groups")?;
            ids::set_group(INIT_ID).during("set group")?;
            ids::set_user(INIT_ID).during("set user")?;
            // The change of ids made the process undumpable, and gave its files
            // in /proc to the host's root. Pid 1 becomes undumpable again.
            rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
                .during("become dumpable")
        }
        UserNamespace::Make => Ok(()),
    }
}

fn write_proc(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).during(&format!("write {path}"))
}

/// Sets the monotonic and the boot clock of the box to near zero, as on a
/// machine of its own. Programs in the box can read the offsets.
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
    socket: &UnixStream,
    setup: &Setup,
    network: Network,
    seccomp: &[sock_filter],
) -> Result<()> {
    let tree = build_box(setup, network)?;
    let step = "report that the box stands";
    let ready = Reply::Ready { own_inodes: tree.own_inodes };
    let own = pidfd_open(getpid(), PidfdFlags::empty()).during(step)?;
    // Pid 1 is in the network namespace of the box by now.
    let open = |name: &str| {
        fs::File::open(format!("/proc/self/net/{name}"))
            .during("open a file of /proc/net")
    };
    let (sockets, protocols) = (open("sockstat")?, open("protocols")?);
    let locks = tree.locks.as_fd();
    let descriptors = [own.as_fd(), locks, sockets.as_fd(), protocols.as_fd()];
    protocol::send(socket, &ready, &descriptors).during(step)?;
    let user_namespace = setup.user_namespace;
    let context = BoxContext { socket, tree: &tree, user_namespace, seccomp };
    serve::serve(setup, context)
}

/// Builds the box around pid 1.
fn build_box(setup: &Setup, network: Network) -> Result<Tree> {
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
        // The kernel has no keyrings.
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
        result => result.during("join a keyring of its own"),
    }
}

/// The network namespace of the box. The outer half makes it while pid 1 builds
/// the rest, because both take the kernel the same time.
struct Network {
    /// One byte arrives when the namespace is made.
    made: UnixStream,
    /// A pidfd of the outer half, which is in the namespace then.
    maker: OwnedFd,
}

/// Opens the folder of network settings. The folder shows the settings of the
/// namespace that the process is in.
fn open_settings() -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open("/proc/sys/net", flags, Mode::empty()).ok()
}

/// Settings of the network that bound the memory of a socket, because it may not
/// be charged to the box (`uncharged.rs`). The buffers of TCP are in bytes:
/// minimum, default, maximum.
///
/// A byte that waits in a buffer keeps the whole page that it was copied to, of
/// 32 KiB, and is charged as a byte. Small buffers, and little that is not yet
/// sent, bound the number of such pages. A loopback needs no more: with 16 KiB the
/// kernel often waits 40 ms for more data before it acknowledges.
const NETWORK_SETTINGS: [(&str, &[u8]); 7] = [
    ("ipv4/tcp_rmem", b"4096 8192 8192"),
    ("ipv4/tcp_wmem", b"4096 4096 4096"),
    ("ipv4/tcp_notsent_lowat", b"1"),
    // These are in tables of the host, and no control group is charged for them:
    // connections that wait for late packets, measurements, and cookies.
    ("ipv4/tcp_max_tw_buckets", b"1024"),
    ("ipv4/tcp_no_metrics_save", b"1"),
    ("ipv4/tcp_fastopen", b"0"),
    // Time stamps come back without the datagrams that they belong to.
    ("core/tstamp_allow_data", b"0"),
];

fn make_network(
    report_made: &UnixStream,
    settings: Option<OwnedFd>,
) -> Result<()> {
    sys::unshare(libc::CLONE_NEWNET).during("make network namespace")?;
    if let Some(folder) = settings {
        set_network(&folder).during("set the network's settings")?;
    }
    bring_loopback_up().during("bring loopback up")?;
    // Without SIGPIPE: this half must not end before pid 1.
    rustix::net::send(report_made, b"1", SendFlags::NOSIGNAL)
        .map(drop)
        .during("report the network namespace")
}

fn set_network(settings: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    for (name, bytes) in NETWORK_SETTINGS {
        match rustix::fs::openat(settings, name, flags, Mode::empty()) {
            Ok(file) => rustix::io::write(&file, bytes).map(drop)?,
            // With a read-only /proc the host's bounds hold.
            Err(Errno::ROFS | Errno::ACCESS) => {}
            // Older kernels have one setting for all namespaces.
            Err(Errno::NOENT) => {}
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
    // Its end without a byte: the outer half has reported the reason.
    made.read_exact(&mut [0]).during(step)?;
    move_into_thread_name_spaces(maker.as_fd(), ThreadNameSpaceType::NETWORK)
        .during(step)
}
