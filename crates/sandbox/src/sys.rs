//! The system calls that no maintained crate offers safely: one small function
//! each. The only file of the project that may use `unsafe`.

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use libc::{c_int, c_long, pid_t};

/// Which side of a fork this is; on the parent's, the child's id.
pub(crate) enum Fork {
    Child,
    Parent(pid_t),
}

/// Forks the calling process, which must have a single thread: then the child
/// may go on in ordinary Rust. A process with more threads gets an error.
pub(crate) fn fork() -> io::Result<Fork> {
    // Does nothing, and fails in a process with more threads (unshare(2)).
    unshare(libc::CLONE_THREAD)?;
    // SAFETY: the process has one thread, so no lock (of the allocator or of
    // libc) can be held by a thread that does not exist in the child.
    let pid = check(unsafe { libc::fork() })?;
    Ok(if pid == 0 { Fork::Child } else { Fork::Parent(pid) })
}

/// Sends SIGKILL to every process that this one may signal, but itself. Called
/// by pid 1 of a box, where that is every process of the box.
pub(crate) fn kill_all() -> io::Result<()> {
    if std::process::id() != 1 {
        return Err(io::Error::other("only pid 1 of a box kills all"));
    }
    // SAFETY: kill takes integers only. The check above keeps a mistaken call
    // from reaching the processes of the host.
    match check(unsafe { libc::kill(-1, libc::SIGKILL) }) {
        // Nobody is left.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        killed => killed.map(drop),
    }
}

/// Replaces the calling process; returns only when that fails.
pub(crate) fn execve(
    program: &CString,
    arguments: &[CString],
    environment: &[CString],
) -> io::Error {
    let pointers = |strings: &[CString]| {
        let mut list: Vec<_> = strings.iter().map(|s| s.as_ptr()).collect();
        list.push(ptr::null());
        list
    };
    let arguments = pointers(arguments);
    let environment = pointers(environment);
    // SAFETY: both arrays end with a null pointer, and every other element
    // points to a CString that outlives the call.
    unsafe {
        libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr())
    };
    io::Error::last_os_error()
}

/// Gives up every namespace named in `flags` for a fresh one. Not for
/// `CLONE_FILES` or `CLONE_FS`.
pub(crate) fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: unshare takes integers only; namespace flags do not touch memory
    // or descriptor tables that Rust code relies on.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Lets every signal do what it does by default, those included that libc
/// keeps to itself: an ignored signal stays ignored over execve.
pub(crate) fn reset_signals() -> io::Result<()> {
    /// `struct sigaction` of the kernel: handler, flags, restorer, mask. All
    /// zeroes is `SIG_DFL`; no architecture's is longer.
    const DEFAULT: [u64; 4] = [0; 4];
    let others = (1..=64_i64)
        .filter(|n| ![libc::SIGKILL, libc::SIGSTOP].map(i64::from).contains(n));
    for signal in others {
        // SAFETY: the kernel reads a sigaction from the first pointer, which
        // the array is large enough for, and writes nothing: the second is
        // null. The mask's size, 8, is what every architecture here has.
        check(unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                DEFAULT.as_ptr(),
                ptr::null_mut::<u64>(),
                size_of::<u64>(),
            )
        })?;
    }
    Ok(())
}

/// Has a signal ignored, also over execve, or do what it does by default.
pub(crate) fn ignore_signal(signal: c_int, is_ignored: bool) -> io::Result<()> {
    let action = if is_ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither is a pointer to code of ours.
    let previous = unsafe { libc::signal(signal, action) };
    if previous == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Blocks exactly `signals` in the calling thread; an empty list blocks none.
pub(crate) fn block_signals(signals: &[c_int]) -> io::Result<()> {
    let set = signal_set(signals);
    // SAFETY: the set is initialised, and the old mask is not asked for.
    check(unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut())
    })
    .map(drop)
}

/// A descriptor that becomes readable when one of `signals` is pending.
pub(crate) fn signal_fd(signals: &[c_int]) -> io::Result<OwnedFd> {
    let set = signal_set(signals);
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: the set is initialised; -1 asks for a new descriptor.
    let raw = check(unsafe { libc::signalfd(-1, &raw const set, flags) })?;
    // SAFETY: the kernel just made it, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

fn signal_set(signals: &[c_int]) -> libc::sigset_t {
    // SAFETY: sigset_t is a plain array of integers.
    let mut set: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a live local.
    unsafe { libc::sigemptyset(&raw mut set) };
    for &signal in signals {
        // SAFETY: the set was initialised above.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

/// Marks every descriptor from `first` on as closed by the next execve.
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: the call takes integers only, and with CLOSE_RANGE_CLOEXEC it
    // closes nothing now, so no owned descriptor is invalidated.
    check(unsafe {
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags)
    })
    .map(drop)
}

/// Gives `descriptor` the number `to` as well, there also after an execve. To
/// be called just before one: whatever had the number is closed.
pub(crate) fn duplicate_to(
    descriptor: BorrowedFd<'_>,
    to: c_int,
) -> io::Result<()> {
    // SAFETY: the call takes integers only. What had the number belongs to a
    // process that is about to be replaced, and is not used by it any more.
    check(unsafe { libc::dup2(descriptor.as_raw_fd(), to) }).map(drop)
}

/// Joins a fresh, anonymous session keyring, so that no key of the server is
/// reachable.
pub(crate) fn join_new_session_keyring() -> io::Result<()> {
    // From linux/keyctl.h; the libc crate does not name it.
    const KEYCTL_JOIN_SESSION_KEYRING: c_long = 1;
    // SAFETY: with this operation and a null name no memory is touched.
    check(unsafe {
        libc::syscall(
            libc::SYS_keyctl,
            KEYCTL_JOIN_SESSION_KEYRING,
            ptr::null::<libc::c_char>(),
        )
    })
    .map(drop)
}

/// `struct mount_attr` of linux/mount.h, which the libc crate does not have.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Sets mount attributes (`MOUNT_ATTR_*`) on the mount that `mount` is.
pub(crate) fn set_mount_attributes(
    mount: BorrowedFd<'_>,
    set: u64,
    clear: u64,
) -> io::Result<()> {
    let attributes =
        MountAttributes { set, clear, propagation: 0, user_namespace: 0 };
    // SAFETY: the path is an empty C string, the struct is live and its true
    // size is passed.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    })
    .map(drop)
}

/// Brings the loopback interface of the current network namespace up.
pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: ifreq is a plain C struct; all zeroes is a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    let up = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = i16::try_from(up).unwrap_or(i16::MAX);
    // SAFETY: SIOCSIFFLAGS reads an ifreq, which the pointer is to.
    check(unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request)
    })
    .map(drop)
}

/// Installs a seccomp filter on the calling thread.
pub(crate) fn install_seccomp(program: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len())
        .map_err(|_| io::Error::other("seccomp program too long"))?;
    let program =
        libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let operation = c_long::from(libc::SECCOMP_SET_MODE_FILTER);
    // SAFETY: the kernel reads `len` instructions from `filter`, which is what
    // the slice holds, and writes nothing.
    check(unsafe {
        libc::syscall(libc::SYS_seccomp, operation, 0, &raw const program)
    })
    .map(drop)
}

/// Ends the calling process at once: no destructor, no exit handler.
pub(crate) fn exit_now(code: c_int) -> ! {
    // SAFETY: _exit takes an integer and does not return.
    unsafe { libc::_exit(code) }
}

/// Waits for `descriptor` in the runtime.
pub(crate) fn watch(
    descriptor: OwnedFd,
    interest: Interest,
) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd names the same open descriptor until it is dropped,
    // and the AsyncFd owns it and deregisters it first.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, interest) }?)
}

/// Has the allocator give every block of [`LARGE_BLOCK`] bytes and more back
/// to the kernel when it is freed. glibc raises this bound to 32 MiB by itself
/// when such blocks come and go (mallopt(3)), and they then stay in its heaps.
pub(crate) fn give_large_blocks_back() {
    // Another C library has no such call, and no such habit.
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two integers, and locks the allocator itself.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK);
    }
}

/// glibc's own bound at the start: 128 KiB.
#[cfg(target_env = "gnu")]
const LARGE_BLOCK: c_int = 128 << 10;

/// A call's result, where -1 says that errno has the error.
fn check<T: From<i8> + PartialEq>(result: T) -> io::Result<T> {
    if result == T::from(-1) {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
