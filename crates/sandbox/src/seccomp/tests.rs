//! Tests of the compiled policy, in a small interpreter of the filter language.

use std::sync::OnceLock;

use super::*;

/// Returns the verdict of the compiled policy on a call.
fn judge(architecture: u32, number: u32, arguments: &[u64]) -> u32 {
    let mut data = [0_u8; 64];
    data[0..4].copy_from_slice(&number.to_ne_bytes());
    data[4..8].copy_from_slice(&architecture.to_ne_bytes());
    for (index, argument) in arguments.iter().enumerate() {
        let at = 16 + 8 * index;
        data[at..at + 8].copy_from_slice(&argument.to_ne_bytes());
    }
    static PROGRAM: OnceLock<Vec<sock_filter>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| program().unwrap());
    let (mut at, mut accumulator) = (0, 0_u32);
    loop {
        let instruction = program[at];
        at += 1;
        let code = u32::from(instruction.code);
        let k = instruction.k;
        if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS {
            let from = k as usize;
            let word = data[from..from + 4].try_into().unwrap();
            accumulator = u32::from_ne_bytes(word);
        } else if code == libc::BPF_ALU | libc::BPF_AND | libc::BPF_K {
            accumulator &= k;
        } else if code == libc::BPF_RET | libc::BPF_K {
            return k;
        } else if code == libc::BPF_JMP | libc::BPF_JA {
            at += k as usize;
        } else {
            let hit = match code & !(libc::BPF_JMP | libc::BPF_K) {
                libc::BPF_JEQ => accumulator == k,
                libc::BPF_JGE => accumulator >= k,
                other => panic!("instruction {other:#x}"),
            };
            let offset = if hit { instruction.jt } else { instruction.jf };
            at += usize::from(offset);
        }
    }
}

fn check(name: &str, arguments: &[u64], expected: FilterAction) {
    let number = number(name).unwrap().expect("a call of this machine");
    assert_eq!(
        judge(NATIVE, number, arguments),
        expected.verdict(),
        "{name} {arguments:x?}"
    );
}

#[test]
fn calls_by_number() {
    check("read", &[], FilterAction::Allow);
    check("execve", &[], FilterAction::Allow);
    check("io_uring_setup", &[], UNNAMED);
    check("keyctl", &[], UNNAMED);
    check("ptrace", &[], FilterAction::Fail(libc::EPERM));
    check("mount", &[], FilterAction::Fail(libc::EPERM));
    check("setns", &[], FilterAction::Fail(libc::EPERM));
    check("sync", &[], FilterAction::Ignore);
    check("fadvise64", &[], FilterAction::Ignore);
    check("clone3", &[], UNNAMED);
    check("vmsplice", &[], UNNAMED);
    for name in ["sendfile", "splice", "tee"] {
        check(name, &[], FilterAction::Fail(libc::EINVAL));
    }
    for name in ["fsetxattr", "lsetxattr", "setxattr"] {
        check(name, &[], FilterAction::Fail(libc::EOPNOTSUPP));
    }
    check("io_setup", &[], UNNAMED);
    check("seccomp", &[1, 0, 0x7000], UNNAMED);
}

#[test]
fn the_page_cache_is_not_asked() {
    check("cachestat", &[], UNNAMED);
    check("preadv2", &[0, 0, 0, 0, 0, 0], FilterAction::Allow);
    // RWF_HIPRI and RWF_NOWAIT.
    check("preadv2", &[0, 0, 0, 0, 0, 1], FilterAction::Allow);
    check("preadv2", &[0, 0, 0, 0, 0, 8], UNNAMED);
    check("preadv2", &[0, 0, 0, 0, 0, 9], UNNAMED);
    check("preadv2", &[0, 0, 0, 0, 0, 0x80], UNNAMED);
}

#[test]
fn every_namespace_flag_is_refused() {
    for bit in [17, 25, 26, 27, 28, 29, 30] {
        check("clone", &[1 << bit | 17], FilterAction::Fail(libc::EPERM));
        check("unshare", &[1 << bit], FilterAction::Fail(libc::EPERM));
    }
    check("unshare", &[0x80], FilterAction::Fail(libc::EPERM));
    // A new flag, and one beyond 32 bits.
    check("unshare", &[0x10_0000], FilterAction::Fail(libc::EPERM));
    check("unshare", &[1 << 40 | 0x400], FilterAction::Fail(libc::EPERM));
    check("unshare", &[0x400], FilterAction::Allow);
    // The flags of fork and pthread_create.
    check("clone", &[0x0120_0011], FilterAction::Allow);
    check("clone", &[0x003D_0F00], FilterAction::Allow);
    // Only threads may share a table of descriptors.
    check("clone", &[0x0000_0411], FilterAction::Fail(libc::EPERM));
    check("clone", &[0x0000_0F11], FilterAction::Fail(libc::EPERM));
    // Bits above the flags' 32 do not hide them.
    check("clone", &[0xFFFF_FFFF_1000_0011], FilterAction::Fail(libc::EPERM));
}

#[test]
fn socket_families() {
    for family in [1, 2, 10] {
        check("socket", &[family, 1, 0], FilterAction::Allow);
        check("socket", &[family, 2 | 0o2_000_000, 0], FilterAction::Allow);
        check("socket", &[family, 3, 0], FilterAction::Fail(libc::EPERM));
    }
    check("socket", &[1, 5, 0], FilterAction::Allow);
    for family in [2, 10] {
        // TCP, UDP, ICMP, DCCP, SCTP, UDP-Lite, SMC and MPTCP.
        for protocol in [6, 17, 1, 33, 132, 136, 256, 262] {
            for (kind, own) in [(1, 6), (2, 17)] {
                let expected = match protocol == own {
                    true => FilterAction::Allow,
                    false => FilterAction::Fail(libc::EPROTONOSUPPORT),
                };
                check("socket", &[family, kind, protocol], expected);
            }
        }
        check(
            "socket",
            &[family, 5, 0],
            FilterAction::Fail(libc::EPROTONOSUPPORT),
        );
    }
    for family in (0..64).filter(|f| ![1, 2, 10].contains(f)) {
        check(
            "socket",
            &[family, 1, 0],
            FilterAction::Fail(libc::EAFNOSUPPORT),
        );
    }
    // The kernel takes the family as an int: high bits change nothing.
    check(
        "socket",
        &[38 | 1 << 32, 5, 0],
        FilterAction::Fail(libc::EAFNOSUPPORT),
    );
    check("socketpair", &[1, 1, 0], FilterAction::Allow);
    check("socketpair", &[40, 1, 0], FilterAction::Fail(libc::EAFNOSUPPORT));
}

#[test]
fn arguments_of_the_rest() {
    check("personality", &[0], FilterAction::Allow);
    check("personality", &[0xFFFF_FFFF], FilterAction::Allow);
    check("personality", &[0x0004_0000], FilterAction::Fail(libc::EPERM));
}

#[test]
fn limits_are_lowered_but_for_that_of_cores() {
    // RLIMIT_NOFILE of this process and another, to be asked for and set.
    for (pid, new) in [(0, 0), (2, 0), (0, 0x7000), (2, 0x7000)] {
        check("prlimit64", &[pid, 7, new], FilterAction::Allow);
    }
    check("setrlimit", &[7, 0x7000], FilterAction::Allow);
    for pid in [1, 1 | 1 << 32] {
        check("prlimit64", &[pid, 7, 0], FilterAction::Fail(libc::EPERM));
    }
    check("prlimit64", &[0, 4, 0], FilterAction::Allow);
    // The low half of the address of a struct can be 0.
    for new in [1, 0x7000, 1 << 32, 0x7FFF << 32, 1 << 63] {
        check("prlimit64", &[0, 4, new], FilterAction::Ignore);
        check("prlimit64", &[2, 4 | 1 << 32, new], FilterAction::Ignore);
    }
    check("setrlimit", &[4, 0x7000], FilterAction::Ignore);
    check("setrlimit", &[4 | 1 << 32, 0x7000], FilterAction::Ignore);
}

/// Returns the values that are allowed in an argument of a call, among those
/// from 0 to `max` and 2 to the 31st. All others are refused, or have no effect.
fn allowed(
    name: &str,
    max: u64,
    call: impl Fn(u64) -> Vec<u64>,
    refused: FilterAction,
) -> Vec<u64> {
    (0..=max)
        .chain([1 << 31])
        .filter(|&value| {
            let number = number(name).unwrap().unwrap();
            let verdict = judge(NATIVE, number, &call(value));
            let is_allowed = verdict == FilterAction::Allow.verdict();
            let others = [refused.verdict(), FilterAction::Ignore.verdict()];
            assert!(
                is_allowed || others.contains(&verdict),
                "{name} {value:#x}"
            );
            is_allowed
        })
        .collect()
}

#[test]
fn options_of_sockets() {
    let refused = FilterAction::Fail(libc::ENOPROTOOPT);
    // Buffers, time stamps, and queues of errors.
    for option in [7, 8, 29, 35, 63, 64] {
        check("setsockopt", &[3, 1, option, 0, 4], FilterAction::Ignore);
    }
    for (level, option) in [(0, 11), (41, 25)] {
        check("setsockopt", &[3, level, option, 0, 4], FilterAction::Ignore);
    }
    let of = |level: u64| {
        let call = move |option| vec![3, level, option];
        allowed("setsockopt", 256, call, refused)
    };
    // Filters (26, 50 to 52), forced buffers (32, 33), marks (36), time
    // stamps of what is sent (37, 65), busy polling (46), zero copy (60),
    // devices (25) and memory (70 to 72).
    let socket = [2, 5, 6, 9, 10, 12, 13, 15, 16, 18, 20, 21, 42, 66, 67];
    assert_eq!(of(1), socket);
    // IP_OPTIONS (4), policies (16, 17), memberships (35, 36), sources (37 to
    // 48) and tables (64).
    assert_eq!(of(0), [1, 2, 8, 10, 12, 13, 32, 33, 34]);
    assert_eq!(of(41), [16, 17, 18, 19, 23, 26, 49, 51, 66, 67]);
    // TCP_MD5SIG (14), repair (19 to 22), ULP (31), zero copy (35), AO (38).
    assert_eq!(of(6), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 18, 23, 30]);
    // UDP_ENCAP (100), and levels of protocols that do not exist here.
    for level in [17, 132, 136, 255, 263, 270, 282, 284, 0xFFFF_FFFF] {
        assert_eq!(of(level), [0; 0], "level {level}");
    }
    let asked = |option| vec![3, 1, option];
    let readable = allowed("getsockopt", 256, asked, refused);
    // Numbers of the host: of sockets (57) and network namespaces (71).
    let numbers = (0..256).filter(|option| !readable.contains(option));
    assert!(numbers.eq([57, 71]));
    check("getsockopt", &[3, 6, 35], refused);
}

#[test]
fn no_datagram_is_left_with_its_socket() {
    let refused = FilterAction::Fail(libc::EOPNOTSUPP);
    // MSG_DONTWAIT, alone and with MSG_MORE.
    for (flags, action) in [(0x40, FilterAction::Allow), (0x8040, refused)] {
        check("sendto", &[3, 0x7000, 1, flags], action);
        check("sendmmsg", &[3, 0x7000, 1, flags], action);
        check("sendmsg", &[3, 0x7000, flags], action);
    }
}

#[test]
fn requests_to_files_processes_and_memory() {
    let list = |name, call: fn(u64) -> Vec<u64>, error, some: &[u64]| {
        let found = allowed(name, 0x1_0000, call, FilterAction::Fail(error));
        for value in some {
            assert!(found.contains(value), "{name} {value:#x}");
        }
        found
    };
    // TCGETS, FIONREAD, FIONBIO, and interfaces.
    let some = [0x5401, 0x541B, 0x5421, 0x8912, 0x8933];
    let found = list("ioctl", |value| vec![0, value], libc::ENOTTY, &some);
    // TIOCSTI, TIOCLINUX, modules (bridges, VLANs), FICLONE's and FIEMAP's
    // group (0x94, 0x66), namespaces (0xB7).
    let none = |&value: &u64| {
        [0x5412, 0x541C, 0x8940, 0x8941, 0x8982, 0x8983, 0x89A0, 0x89A2]
            .contains(&value)
            || [0x66, 0x94, 0xB7].contains(&(value >> 8 & 0xFF))
    };
    assert!(!found.iter().any(none), "{found:x?}");
    // Locks (5 to 7), the size of pipes (1032), seals (1033).
    let some = [0, 1, 2, 3, 4, 6, 7, 1030, 1032, 1033];
    let found = list("fcntl", |value| vec![0, value], libc::EINVAL, &some);
    // Locks of open file descriptions, leases, notes, delegations, and other sizes
    // of pipes.
    let none = [36, 37, 38, 1024, 1025, 1026, 1031, 1039, 1040];
    assert!(!found.iter().any(|value| none.contains(value)));
    let some = [1, 4, 15, 36, 38];
    let found = list("prctl", |value| vec![value], libc::EINVAL, &some);
    // PR_SET_SECCOMP, PR_SET_MM, PR_SCHED_CORE, PR_SET_MEMORY_MERGE.
    assert!(!found.iter().any(|value| [22, 35, 62, 67, 78].contains(value)));
    check("prctl", &[0x5356_4D41], FilterAction::Fail(libc::EINVAL));
    let some = [4, 8, 14, 102];
    let found = list("madvise", |value| vec![0, 0, value], libc::EINVAL, &some);
    // MADV_MERGEABLE, MADV_COLD and MADV_PAGEOUT, and errors of memory.
    assert!(!found.iter().any(|value| [12, 20, 21, 100, 101].contains(value)));
}

#[test]
fn huge_pages_are_not_there() {
    let none = FilterAction::Fail(libc::ENOMEM);
    // MAP_PRIVATE and MAP_ANONYMOUS, with MAP_HUGETLB, of 2 MiB as well.
    check("mmap", &[0, 4096, 3, 0x22, u64::MAX, 0], FilterAction::Allow);
    check("mmap", &[0, 4096, 3, 0x4_0022, u64::MAX, 0], none);
    check("mmap", &[0, 4096, 3, 0x5404_0022, u64::MAX, 0], none);
    check("memfd_create", &[0, 3], FilterAction::Allow);
    check("memfd_create", &[0, 4], none);
    check("memfd_create", &[0, 0x5400_0005], none);
    check("shmget", &[0, 4096, 0o1600], FilterAction::Allow);
    check("shmget", &[0, 4096, 0o5600], none);
}

#[test]
fn other_calling_conventions() {
    // i386 and arm.
    for architecture in [0x4000_0003, 0x4000_0028] {
        let verdict = judge(architecture, 0, &[]);
        assert_eq!(verdict, libc::SECCOMP_RET_KILL_PROCESS);
    }
    for number in [9_999, 0x4000_0000, 0x4000_0001, u32::MAX] {
        let verdict = judge(NATIVE, number, &[]);
        assert_eq!(verdict, UNNAMED.verdict(), "{number:#x}");
    }
}

#[test]
fn a_misspelt_call_is_an_error() {
    assert!(number("opennat").is_err());
    assert!(number("open").is_ok());
}

#[test]
fn the_bytes_are_the_program() {
    let program = program().unwrap();
    let sent = to_bytes(&program);
    let came = from_bytes(&sent);
    assert_eq!(came.len(), program.len());
    for (one, other) in came.iter().zip(&program) {
        let fields = |of: &sock_filter| (of.code, of.jt, of.jf, of.k);
        assert_eq!(fields(one), fields(other));
    }
}

/// Every value that an allow list has, and no other.
#[test]
fn options_of_other_calls() {
    let check =
        |name, max, call: fn(u64) -> Vec<u64>, error, expected: &[u64]| {
            let found = allowed(name, max, call, FilterAction::Fail(error));
            assert_eq!(found, expected, "{name}");
        };
    let fcntl = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 1027, 1028, 1030, 1032,
        1033, 1034,
    ];
    check("fcntl", 2048, |it| vec![3, it], libc::EINVAL, &fcntl);
    let advice = [
        0, 1, 2, 3, 4, 8, 9, 10, 11, 14, 15, 16, 17, 18, 19, 22, 23, 24, 102,
        103,
    ];
    check("madvise", 256, |it| vec![0, 0, it], libc::EINVAL, &advice);
    let process = [
        1, 2, 3, 4, 7, 15, 16, 21, 23, 25, 26, 27, 29, 30, 36, 37, 38, 39, 40,
        41, 42, 47, 50, 51, 52, 54, 55, 56, 60, 61, 63, 64, 65, 66, 69, 70, 71,
        74, 75, 76,
    ];
    check("prctl", 256, |it| vec![it], libc::EINVAL, &process);
    let requests = [
        0x5401, 0x540F, 0x5411, 0x5413, 0x541B, 0x5421, 0x5429, 0x5450, 0x5451,
        0x5452, 0x8901, 0x8902, 0x8903, 0x8904, 0x8905, 0x8910, 0x8912, 0x8913,
        0x8915, 0x8917, 0x8919, 0x891B, 0x891D, 0x8921, 0x8927, 0x8933, 0x8942,
    ];
    check("ioctl", 0xFFFF, |it| vec![3, it], libc::ENOTTY, &requests);
}
