//! Runs the compiled policy in a small interpreter of the filter language.

use super::*;

/// What the compiled policy answers to a call.
fn judge(architecture: u32, number: u32, arguments: &[u64]) -> u32 {
    let mut data = [0_u8; 64];
    data[0..4].copy_from_slice(&number.to_ne_bytes());
    data[4..8].copy_from_slice(&architecture.to_ne_bytes());
    for (index, argument) in arguments.iter().enumerate() {
        let at = 16 + 8 * index;
        data[at..at + 8].copy_from_slice(&argument.to_ne_bytes());
    }
    let program = program().unwrap();
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

fn check(name: &str, arguments: &[u64], expected: Action) {
    let number = number(name).unwrap().expect("a call of this machine");
    assert_eq!(
        judge(NATIVE, number, arguments),
        expected.verdict(),
        "{name} {arguments:x?}"
    );
}

#[test]
fn calls_by_number() {
    check("read", &[], Action::Allow);
    check("execve", &[], Action::Allow);
    check("io_uring_setup", &[], Action::NoSuchCall);
    check("keyctl", &[], Action::NoSuchCall);
    check("ptrace", &[], Action::NotPermitted);
    check("mount", &[], Action::NotPermitted);
    check("setns", &[], Action::NotPermitted);
    check("sync", &[], Action::Ignore);
    check("fadvise64", &[], Action::Ignore);
    check("clone3", &[], Action::NoSuchCall);
    check("vmsplice", &[], Action::NoSuchCall);
}

#[test]
fn the_page_cache_is_not_asked() {
    check("cachestat", &[], Action::NoSuchCall);
    check("preadv2", &[0, 0, 0, 0, 0, 0], Action::Allow);
    // RWF_HIPRI and RWF_NOWAIT.
    check("preadv2", &[0, 0, 0, 0, 0, 1], Action::Allow);
    check("preadv2", &[0, 0, 0, 0, 0, 8], Action::NoSuchCall);
    check("preadv2", &[0, 0, 0, 0, 0, 9], Action::NoSuchCall);
}

#[test]
fn every_namespace_flag_is_refused() {
    for bit in [17, 25, 26, 27, 28, 29, 30] {
        check("clone", &[1 << bit | 17], Action::NotPermitted);
        check("unshare", &[1 << bit], Action::NotPermitted);
    }
    check("unshare", &[0x80], Action::NotPermitted);
    check("unshare", &[0x400], Action::Allow);
    // What fork and pthread_create pass.
    check("clone", &[0x0120_0011], Action::Allow);
    check("clone", &[0x003D_0F00], Action::Allow);
    // Bits above the flags' 32 do not hide them.
    check("clone", &[0xFFFF_FFFF_1000_0011], Action::NotPermitted);
}

#[test]
fn socket_families() {
    for family in [1, 2, 10] {
        check("socket", &[family, 1, 0], Action::Allow);
        check("socket", &[family, 2 | 0o2_000_000, 0], Action::Allow);
        check("socket", &[family, 3, 0], Action::NotPermitted);
    }
    check("socket", &[1, 5, 0], Action::Allow);
    for family in [2, 10] {
        for protocol in [6, 17] {
            check("socket", &[family, 1, protocol], Action::Allow);
        }
        // ICMP, DCCP, SCTP, UDP-Lite, SMC and MPTCP.
        for protocol in [1, 33, 132, 136, 256, 262] {
            let call = [family, 1, protocol];
            check("socket", &call, Action::NoSuchProtocol);
        }
        check("socket", &[family, 5, 0], Action::NoSuchProtocol);
    }
    check("socket", &[16, 3, 0], Action::Allow);
    check("socket", &[16, 3, 15], Action::NoSuchFamily);
    for family in (0..64).filter(|f| ![1, 2, 10, 16].contains(f)) {
        check("socket", &[family, 1, 0], Action::NoSuchFamily);
    }
    // The kernel takes the family as an int: high bits change nothing.
    check("socket", &[38 | 1 << 32, 5, 0], Action::NoSuchFamily);
    check("socketpair", &[1, 1, 0], Action::Allow);
    check("socketpair", &[40, 1, 0], Action::NoSuchFamily);
}

#[test]
fn arguments_of_the_rest() {
    check("ioctl", &[0, 0x5412], Action::NotPermitted);
    check("ioctl", &[0, 0x541C | 1 << 32], Action::NotPermitted);
    check("ioctl", &[0, 0x5401], Action::Allow);
    check("fcntl", &[0, 1024], Action::NotPermitted);
    check("fcntl", &[0, 6], Action::Allow);
    check("prlimit64", &[0, 7], Action::Allow);
    check("prlimit64", &[2, 7], Action::Allow);
    check("prlimit64", &[1, 7], Action::NotPermitted);
    check("prlimit64", &[1 | 1 << 32, 7], Action::NotPermitted);
    check("personality", &[0], Action::Allow);
    check("personality", &[0xFFFF_FFFF], Action::Allow);
    check("personality", &[0x0004_0000], Action::NotPermitted);
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
        assert_eq!(verdict, Action::NoSuchCall.verdict(), "{number:#x}");
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
