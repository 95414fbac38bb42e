//! The isolation of a program: it neither sees nor reaches the host.

use std::fs::File;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use sandpiper_sandbox::{Identity, StepEnd};

use crate::Test;
use crate::fixture::{Fixture, step};

pub(crate) const TESTS: &[Test] = &[
    ("identity", identity),
    ("environment_and_descriptors", environment_and_descriptors),
    ("privileges", privileges),
    ("files", files),
    ("locks", locks),
    ("devices", devices),
    ("processes", processes),
    ("network", network),
    ("sockets", sockets),
    ("ipc_is_its_own", ipc_is_its_own),
    ("namespaces", namespaces),
    ("refused_calls", refused_calls),
    ("shared_kernel", shared_kernel),
    ("core_limit", core_limit),
    ("locks_of_devices", locks_of_devices),
    ("other_calling_conventions", other_calling_conventions),
    ("clocks", clocks),
];

fn check(fixture: &Fixture, arguments: &[&str], expected: &str) {
    let outcome = fixture.run(arguments);
    let stdout = String::from_utf8(outcome.stdout.bytes).unwrap();
    assert_eq!(stdout, expected, "{arguments:?}");
    assert_eq!(outcome.end, StepEnd::Exited(0), "{arguments:?}");
    assert!(outcome.stderr.bytes.is_empty(), "{arguments:?}");
}

fn identity(fixture: &Fixture) {
    let outcome = fixture.run(&["identity"]);
    let shown = String::from_utf8(outcome.stdout.bytes).unwrap();
    let fields: Vec<_> = shown.split_whitespace().collect();
    assert_eq!(fields[..2], ["1000", "1000"]);
    // An unprivileged user without a range of ids cannot drop its groups.
    if fixture.host.identity() == Identity::Range {
        assert_eq!(fields[2], "0", "supplementary groups");
    }
    assert_eq!(fields[3..], ["sandbox", "/box", "1"]);
}

fn environment_and_descriptors(fixture: &Fixture) {
    check(fixture, &["environment"], "KEY=value\n");
    check(fixture, &["descriptors"], "0 1 2 \n");
}

fn privileges(fixture: &Fixture) {
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let expected = format!("{set}:\t0000000000000000\n");
        check(fixture, &["status", set], &expected);
    }
    check(fixture, &["status", "NoNewPrivs"], "NoNewPrivs:\t1\n");
    check(fixture, &["status", "Seccomp:"], "Seccomp:\t2\n");
    check(fixture, &["status", "SigBlk"], "SigBlk:\t0000000000000000\n");
    check(fixture, &["show", "/proc/self/oom_score_adj"], "1000\n");
    // Only SIGXFSZ is ignored.
    check(fixture, &["status", "SigIgn"], "SigIgn:\t0000000001000000\n");
}

fn files(fixture: &Fixture) {
    check(fixture, &["list", "/"], "artifacts bin box dev proc tmp\n");
    for path in ["/x", "/bin/x", "/artifacts/x", "/dev/x", "/proc/x"] {
        let outcome = fixture.run(&["create", path]);
        let said = String::from_utf8(outcome.stdout.bytes).unwrap();
        assert!(["EROFS\n", "ENOENT\n"].contains(&&*said), "{path}: {said}");
    }
    for path in ["/box/x", "/tmp/x", "/dev/shm/x"] {
        check(fixture, &["create", path], "ok\n");
    }
    for path in ["/box", "/tmp", "/dev/shm", "/artifacts"] {
        check(fixture, &["list", path], "\n");
    }
    check(fixture, &["show", "/etc/passwd"], "ENOENT\n");
    check(fixture, &["show", "/sys/kernel/notes"], "ENOENT\n");
}

fn locks(fixture: &Fixture) {
    use rustix::fs::FlockOperation::{
        NonBlockingLockExclusive, NonBlockingLockShared,
    };
    let path = fixture.rootfs.join("bin/probe");
    let bare = |expected: &str| {
        let output = Command::new(&path).arg("lock").arg(&path).output();
        let said = String::from_utf8(output.unwrap().stdout).unwrap();
        assert_eq!(said, expected, "outside of a box");
    };
    let file = File::open(&path).unwrap();
    rustix::fs::fcntl_lock(&file, NonBlockingLockShared).unwrap();
    bare("locked in part\n");
    check(fixture, &["lock", "/bin/probe"], "ok\n");
    rustix::fs::flock(&file, NonBlockingLockExclusive).unwrap();
    bare("EAGAIN\n");
    check(fixture, &["lock", "/bin/probe"], "ok\n");
}

fn devices(fixture: &Fixture) {
    check(
        fixture,
        &["list", "/dev"],
        "fd full null random shm stderr stdin stdout urandom zero\n",
    );
    check(fixture, &["devices"], "ok\nok\nok\nENOSPC\nENOENT\nEROFS\n");
}

fn processes(fixture: &Fixture) {
    // Init is pid 1 and not visible. The program is the second process.
    let outcome = fixture.run(&["list", "/proc"]);
    let listed = String::from_utf8(outcome.stdout.bytes).unwrap();
    let names: Vec<_> = listed.split_whitespace().collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(names[1..], ["self", "thread-self"]);
    assert_ne!(names[0], "1");
    for file in ["environ", "maps", "root/box", "fd", "cmdline"] {
        let outcome = fixture.run(&["show", &format!("/proc/1/{file}")]);
        let said = String::from_utf8(outcome.stdout.bytes).unwrap();
        assert!(
            ["ENOENT\n", "EACCES\n", "EPERM\n"].contains(&&*said),
            "{file}: {said}"
        );
    }
    // Init survives, whatever kill returns.
    let outcome = fixture.run(&["kill-init"]);
    assert_eq!(outcome.end, StepEnd::Exited(0));
}

fn network(fixture: &Fixture) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    check(fixture, &["connect", "127.0.0.1", &port], "ECONNREFUSED\n");
    check(fixture, &["connect", "192.0.2.1", "80"], "ENETUNREACH\n");
    check(fixture, &["own-loopback"], "ok\n");
    let name = format!("sandpiper-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    // The control: outside of the box the name exists.
    std::os::unix::net::UnixStream::connect_addr(&address).unwrap();
    check(fixture, &["connect-abstract", &name], "ECONNREFUSED\n");
}

fn shared_kernel(fixture: &Fixture) {
    let expected = [
        "ENOSYS",      // seccomp
        "EINVAL",      // PR_SET_SECCOMP
        "ENOPROTOOPT", // SO_ATTACH_FILTER
        "as it was",   // SO_SNDBUF and SO_RCVBUF of TCP
        "as it was",   // of UDP
        "as it was",   // of Unix sockets
        "ENOMEM",      // MAP_HUGETLB
        "EINVAL",      // MADV_MERGEABLE
        "EINVAL",      // PR_SET_VMA
        "EROFS",       // oom_score_adj
        "EROFS",       // times of a device node
        "",
    ];
    check(fixture, &["shared-kernel"], &expected.join("\n"));
}

fn core_limit(fixture: &Fixture) {
    check(fixture, &["core-limit"], "1 1\n");
}

fn locks_of_devices(fixture: &Fixture) {
    let is_own = fixture.host.has_own_devices();
    let expected = if is_own { "ok\n" } else { "EAGAIN\n" };
    for name in ["null", "zero", "full", "random", "urandom"] {
        let path = format!("/dev/{name}");
        let node = File::open(&path).unwrap();
        // A shared lock hinders fewer programs of this host. One of them may have
        // a lock for a moment.
        let shared = rustix::fs::FlockOperation::NonBlockingLockShared;
        let deadline = Instant::now() + Duration::from_secs(60);
        while rustix::fs::flock(&node, shared).is_err() {
            assert!(Instant::now() < deadline, "{path} stays locked");
            sleep(Duration::from_millis(10));
        }
        check(fixture, &["lock", &path], expected);
        // The control.
        let output = Command::new(fixture.rootfs.join("bin/probe"))
            .args(["lock", &path])
            .output();
        assert_eq!(output.unwrap().stdout, b"EAGAIN\n", "{path}");
    }
}

fn sockets(fixture: &Fixture) {
    check(
        fixture,
        &["sockets"],
        "ok\nok\nok\nEPERM\nEAFNOSUPPORT\nEAFNOSUPPORT\nEPROTONOSUPPORT\n\
         EAFNOSUPPORT\nEAFNOSUPPORT\n",
    );
}

fn ipc_is_its_own(fixture: &Fixture) {
    // Exclusive creation of fixed names succeeds in every box, even while
    // another box has the same names.
    let spec = fixture.box_spec();
    fixture.runtime.block_on(async {
        let make = || async {
            let made = sandpiper_sandbox::Sandbox::make(&fixture.host, &spec);
            made.await.unwrap()
        };
        let (mut first, mut second) = (make().await, make().await);
        for sandbox in [&mut first, &mut second] {
            let outcome = sandbox.run(&step(&["shared-memory"])).await.unwrap();
            assert_eq!(outcome.stdout.bytes, b"ok\n");
        }
        first.destroy().await;
        second.destroy().await;
    });
}

fn namespaces(fixture: &Fixture) {
    check(fixture, &["namespaces"], &"EPERM\n".repeat(9));
}

fn refused_calls(fixture: &Fixture) {
    let expected = [
        "EPERM",  // ptrace attach
        "EPERM",  // ptrace traceme
        "EPERM",  // mount
        "EPERM",  // umount2
        "EPERM",  // chroot
        "EINVAL", // setuid: 0 may not even exist in the box
        "EPERM",  // sethostname
        "EPERM",  // mknod
        "ENOSYS", // keyctl
        "ENOSYS", // io_uring_setup
        "ENOSYS", // clone3
        "ENOSYS", // bpf
        "ENOSYS", // userfaultfd
        "EPERM",  // perf_event_open
        "EPERM",  // process_vm_readv
        "EPERM",  // open_by_handle_at
        "EPERM",  // pivot_root
        "ENOSYS", // inotify_init1
        "ENOTTY", // TIOCSTI
    ];
    let outcome = fixture.run(&["refused"]);
    let shown = String::from_utf8(outcome.stdout.bytes).unwrap();
    for (index, (said, &expected)) in shown.lines().zip(&expected).enumerate() {
        let either = expected == "EINVAL" && said == "EPERM";
        assert!(said == expected || either, "call {index}: {said}");
    }
    assert_eq!(shown.lines().count(), expected.len());
}

fn other_calling_conventions(fixture: &Fixture) {
    let outcome = fixture.run(&["other-abi", "i386"]);
    assert_eq!(outcome.end, StepEnd::Signaled(libc::SIGSYS));
    assert_eq!(outcome.stdout.bytes, b"trying\n");
    let outcome = fixture.run(&["other-abi", "x32"]);
    // The filter of the service's unit may kill the program before ours answers
    // that the call does not exist.
    if is_filtered() && outcome.end == StepEnd::Signaled(libc::SIGSYS) {
        assert_eq!(outcome.stdout.bytes, b"trying\n");
    } else {
        check(fixture, &["other-abi", "x32"], "trying\nENOSYS\n");
    }
}

/// Whether this process has a system call filter, which boxes inherit.
fn is_filtered() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    !status.lines().any(|line| line == "Seccomp:\t0")
}

fn clocks(fixture: &Fixture) {
    check(fixture, &["clocks"], "1\n");
}
