//! System calls that no maintained crate offers as safe functions, each as one
//! small function. Only this file of the project may use `unsafe`.

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use libc::{c_int, c_long, pid_t};

/// The side of a fork on which the caller is. The parent gets the child's id.
pub(crate) enum Fork {
    Child,
    Parent(pid_t),
}

/// Forks the calling process. It must have only one thread, so that the child
/// may go on in ordinary Rust. Returns an error if there are more threads.
pub(crate) fn fork() -> io::Result<Fork> {
    // This has no effect, but fails if there are more threads (unshare(2)).
    unshare(libc::CLONE_THREAD)?;
    // SAFETY: the process has one thread, so no lock (of the allocator or of
    // libc) can be held by a thread that does not exist in the child.
    let pid = check(unsafe { libc::fork() })?;
    Ok(if pid == 0 { Fork::Child } else { Fork::Parent(pid) })
}

/// Sends SIGKILL to every other process that this one may signal. Pid 1 of a box
/// calls it, for which these are all processes of the box.
pub(crate) fn kill_all() -> io::Result<()> {
    if std::process::id() != 1 {
        return Err(io::Error::other("only pid 1 may kill all processes"));
    }
    // SAFETY: kill takes integers only. The check above keeps a mistaken call
    // from reaching the processes of the host.
    match check(unsafe { libc::kill(-1, libc::SIGKILL) }) {
        // No process is left.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        killed => killed.map(drop),
    }
}

/// Replaces the program of the calling process. Returns only if that fails.
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

/// Moves the caller into a new namespace for each flag in `flags`. Not for
/// `CLONE_FILES` and `CLONE_FS`.
pub(crate) fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: unshare takes integers only; namespace flags do not touch memory
    // or descriptor tables that Rust code relies on.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Gives every signal its default action, signals that libc reserves included.
/// An ignored signal would stay ignored over execve.
pub(crate) fn reset_signals() -> io::Result<()> {
    /// `struct sigaction` of the kernel: handler, flags, restorer, mask. All
    /// zeroes are `SIG_DFL`. It is not longer on any architecture.
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

/// Has a signal ignored, over execve too, or gives it its default action.
pub(crate) fn ignore_signal(signal: c_int, is_ignored: bool) -> io::Result<()> {
    let action = if is_ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither value is a pointer to a function.
    let previous = unsafe { libc::signal(signal, action) };
    if previous == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Blocks exactly these signals in the calling thread. An empty list blocks
/// none.
pub(crate) fn block_signals(signals: &[c_int]) -> io::Result<()> {
    let set = signal_set(signals);
    // SAFETY: the set is initialised, and the old mask is not asked for.
    check(unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut())
    })
    .map(drop)
}

/// Returns a descriptor that is readable when one of `signals` is pending.
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

/// Duplicates `descriptor` to the number `to`, where it stays open over execve.
/// Closes the descriptor that has the number. Call it just before execve.
pub(crate) fn duplicate_to(
    descriptor: BorrowedFd<'_>,
    to: c_int,
) -> io::Result<()> {
    // SAFETY: the call takes integers only. The descriptor that it closes is
    // not used any more, because the process is about to execute a program.
    check(unsafe { libc::dup2(descriptor.as_raw_fd(), to) }).map(drop)
}

/// Joins a new, anonymous session keyring, so that the server's keys cannot be
/// reached.
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

/// Sets and clears mount attributes (`MOUNT_ATTR_*`) of `mount`.
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

/// Brings up the loopback interface of the current network namespace.
pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: ifreq is a plain C struct; all zeroes is a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    let up = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = i16::try_from(up).unwrap_or(i16::MAX);
    // SAFETY: SIOCSIFFLAGS reads an ifreq, and the pointer is to a live one.
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
    // SAFETY: the kernel reads `len` instructions from `filter`, as many as the
    // slice holds, and writes nothing.
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

/// Registers `descriptor` with the runtime, so that a task can wait for it.
pub(crate) fn watch(
    descriptor: OwnedFd,
    interest: Interest,
) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd names the same open descriptor until it is dropped,
    // and the AsyncFd owns it and deregisters it first.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, interest) }?)
}

/// Has the allocator return every block of [`LARGE_BLOCK`] bytes or more to the
/// kernel when it is freed. Without this call glibc raises the bound up to 32
/// MiB when such blocks are freed (mallopt(3)), and then keeps them.
pub(crate) fn return_large_blocks() {
    // Other C libraries neither have this call nor need it.
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two integers, and locks the allocator itself.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK);
    }
}

/// The first bound of glibc: 128 KiB.
#[cfg(target_env = "gnu")]
const LARGE_BLOCK: c_int = 128 << 10;

/// Turns the result -1 of a call into the error in errno.
fn check<T: From<i8> + PartialEq>(result: T) -> io::Result<T> {
    if result == T::from(-1) {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
