//! Compiles the seccomp policy (`seccomp.toml`) to a filter program of the
//! kernel.

use std::collections::BTreeMap;

use libc::{c_int, sock_filter};
use serde::Deserialize;
use syscalls::Sysno;
use syscalls::aarch64::Sysno as ArmCall;
use syscalls::riscv64::Sysno as RiscvCall;
use syscalls::x86_64::Sysno as IntelCall;

use crate::error::{Result, SandboxError};

const POLICY: &str = include_str!("seccomp.toml");

/// Bytes of one instruction.
const INSTRUCTION_BYTES: usize = 8;

/// Returns the filter of every program, for the architecture of this machine.
pub(crate) fn program() -> Result<Vec<sock_filter>> {
    let policy: Policy = toml::from_str(POLICY).map_err(|error| {
        SandboxError::other("seccomp policy", error.to_string())
    })?;
    compile(&policy)
}

/// Returns the bytes of a filter, for another process of this machine.
pub(crate) fn to_bytes(program: &[sock_filter]) -> Vec<u8> {
    let bytes = |&sock_filter { code, jt, jf, k }: &sock_filter| {
        let [code_0, code_1] = code.to_ne_bytes();
        let [k_0, k_1, k_2, k_3] = k.to_ne_bytes();
        [code_0, code_1, jt, jf, k_0, k_1, k_2, k_3]
    };
    program.iter().flat_map(bytes).collect()
}

/// Returns the filter that these bytes hold.
pub(crate) fn from_bytes(bytes: &[u8]) -> Vec<sock_filter> {
    let (instructions, _) = bytes.as_chunks::<INSTRUCTION_BYTES>();
    let read = |bytes: &[u8; INSTRUCTION_BYTES]| {
        let [code_0, code_1, jt, jf, k_0, k_1, k_2, k_3] = *bytes;
        let code = u16::from_ne_bytes([code_0, code_1]);
        let k = u32::from_ne_bytes([k_0, k_1, k_2, k_3]);
        sock_filter { code, jt, jf, k }
    };
    instructions.iter().map(read).collect()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    rule: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// The reason, for readers of the policy.
    #[serde(rename = "why")]
    _why: String,
    calls: Vec<String>,
    #[serde(default)]
    when: Vec<Condition>,
    action: FilterAction,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    arg: u32,
    #[serde(default = "all_bits")]
    mask: u32,
    #[serde(default)]
    bits: Bits,
    is: Vec<u32>,
}

/// The part of an argument that a condition checks.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(try_from = "u32")]
enum Bits {
    /// Only the low half: the kernel takes the argument as an int.
    #[default]
    Low,
    /// The low half, and the high half must be 0.
    All,
}

impl TryFrom<u32> for Bits {
    type Error = &'static str;

    fn try_from(number: u32) -> std::result::Result<Self, Self::Error> {
        match number {
            32 => Ok(Self::Low),
            64 => Ok(Self::All),
            _ => Err("an argument has 32 or 64 bits"),
        }
    }
}

fn all_bits() -> u32 {
    u32::MAX
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
enum FilterAction {
    Allow,
    /// The call does nothing and succeeds.
    Ignore,
    /// The call fails with this error number.
    Fail(c_int),
}

impl TryFrom<String> for FilterAction {
    type Error = String;

    fn try_from(name: String) -> std::result::Result<Self, Self::Error> {
        Ok(match &*name {
            "allow" => Self::Allow,
            "ignore" => Self::Ignore,
            "EAFNOSUPPORT" => Self::Fail(libc::EAFNOSUPPORT),
            "EINVAL" => Self::Fail(libc::EINVAL),
            "ENOMEM" => Self::Fail(libc::ENOMEM),
            "ENOPROTOOPT" => Self::Fail(libc::ENOPROTOOPT),
            "ENOSYS" => Self::Fail(libc::ENOSYS),
            "ENOTTY" => Self::Fail(libc::ENOTTY),
            "EOPNOTSUPP" => Self::Fail(libc::EOPNOTSUPP),
            "EPERM" => Self::Fail(libc::EPERM),
            "EPROTONOSUPPORT" => Self::Fail(libc::EPROTONOSUPPORT),
            _ => return Err(format!("no action is named {name:?}")),
        })
    }
}

impl FilterAction {
    fn verdict(self) -> u32 {
        let error = |number: c_int| {
            libc::SECCOMP_RET_ERRNO | u32::try_from(number).unwrap_or(0)
        };
        match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Ignore => error(0),
            Self::Fail(number) => error(number),
        }
    }
}

/// The action for calls that no rule names.
const UNNAMED: FilterAction = FilterAction::Fail(libc::ENOSYS);

// Offsets of fields in struct seccomp_data (linux/seccomp.h).
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xC000_00B7;

/// The bit that marks a call of the x32 ABI, which has the architecture number
/// of x86-64.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Compiles the filter: a check of the architecture, then a binary search for
/// the number of the call. Every path is short, because each start of a program
/// pays for it. Since 5.11 the kernel then runs the filter once for every
/// number, to find the calls that are allowed by number alone.
fn compile(policy: &Policy) -> Result<Vec<sock_filter>> {
    let mut by_call: BTreeMap<u32, Vec<&Rule>> = BTreeMap::new();
    for rule in &policy.rule {
        for name in &rule.calls {
            if let Some(number) = number(name)? {
                by_call.entry(number).or_default().push(rule);
            }
        }
    }
    let mut program = vec![
        load(ARCHITECTURE),
        jump(libc::BPF_JEQ, NATIVE, 1, 0),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([jump(libc::BPF_JGE, X32, 0, 1), answer(UNNAMED.verdict())]);
    program.extend(search(&ranges(by_call))?);
    Ok(program)
}

/// How the action for a call is found.
enum Decision<'a> {
    /// By the number alone.
    Always(FilterAction),
    /// By these rules, from the first.
    Rules(Vec<&'a Rule>),
}

/// Calls with consecutive numbers and the same decision.
struct CallRange<'a> {
    first: u32,
    decision: Decision<'a>,
}

/// Divides all numbers into ranges.
fn ranges(by_call: BTreeMap<u32, Vec<&Rule>>) -> Vec<CallRange<'_>> {
    let mut ranges: Vec<CallRange<'_>> = Vec::new();
    let mut next = 0;
    let mut add = |first, decision| match (ranges.last(), &decision) {
        (
            Some(CallRange { decision: Decision::Always(last), .. }),
            Decision::Always(action),
        ) if last == action => {}
        _ => ranges.push(CallRange { first, decision }),
    };
    for (number, rules) in by_call {
        if next < number {
            add(next, Decision::Always(UNNAMED));
        }
        next = number + 1;
        add(
            number,
            if rules[0].when.is_empty() {
                Decision::Always(rules[0].action)
            } else {
                Decision::Rules(rules)
            },
        );
    }
    add(next, Decision::Always(UNNAMED));
    ranges
}

/// Returns code that finds the range of the loaded number, and decides.
fn search(ranges: &[CallRange<'_>]) -> Result<Vec<sock_filter>> {
    if let [CallRange { decision, .. }] = ranges {
        return decide(decision);
    }
    let (below, from) = ranges.split_at(middle(ranges));
    let first = from[0].first;
    let below = search(below)?;
    // A conditional jump can skip at most 255 instructions.
    let mut code = match u8::try_from(below.len()) {
        Ok(length) => vec![jump(libc::BPF_JGE, first, length, 0)],
        Err(_) => vec![
            jump(libc::BPF_JGE, first, 0, 1),
            statement(libc::BPF_JMP | libc::BPF_JA, length(&below)?),
        ],
    };
    code.extend(below);
    code.extend(search(from)?);
    Ok(code)
}

/// Returns the index that divides the numbers, and not the ranges, in halves:
/// the kernel runs the filter once for each number.
fn middle(ranges: &[CallRange<'_>]) -> usize {
    let first = |at: usize| ranges[at].first;
    let twice_the_mean = first(0) + first(ranges.len() - 1);
    (1..ranges.len())
        .min_by_key(|&at| (2 * first(at)).abs_diff(twice_the_mean))
        .unwrap_or(1)
}

fn decide(decision: &Decision<'_>) -> Result<Vec<sock_filter>> {
    let rules = match decision {
        Decision::Always(action) => return Ok(vec![answer(action.verdict())]),
        Decision::Rules(rules) => rules,
    };
    let mut code = Vec::new();
    for rule in rules {
        code.extend(rule_code(&rule.when, rule.action)?);
    }
    // A rule without conditions is the last that can be reached.
    if rules.iter().all(|rule| !rule.when.is_empty()) {
        code.push(answer(UNNAMED.verdict()));
    }
    Ok(code)
}

/// Returns the code of one rule. A condition that holds falls through to the
/// next one. One that does not hold leaves the rule. The last instruction of the
/// rule is its verdict.
fn rule_code(
    conditions: &[Condition],
    action: FilterAction,
) -> Result<Vec<sock_filter>> {
    let mut code = vec![answer(action.verdict())];
    for condition in conditions.iter().rev() {
        let at = ARGUMENTS + 8 * condition.arg;
        let mask = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
        let mut test =
            vec![load(at + LOW_HALF), statement(mask, condition.mask)];
        for (index, &value) in condition.is.iter().enumerate() {
            let left = condition.is.len() - 1 - index;
            // The last value that does not match leaves the rule.
            let miss = if left == 0 { skip(code.len())? } else { 0 };
            test.push(jump(libc::BPF_JEQ, value, skip(left)?, miss));
        }
        test.append(&mut code);
        if condition.bits == Bits::All {
            let miss = skip(test.len())?;
            let high = [load(at + HIGH_HALF), jump(libc::BPF_JEQ, 0, 0, miss)];
            test.splice(0..0, high);
        }
        code = test;
    }
    Ok(code)
}

// Offsets in an argument. Every supported machine is little-endian.
const LOW_HALF: u32 = 0;
const HIGH_HALF: u32 = 4;

/// Returns the number of a call on this architecture. Returns `None` if only
/// other architectures have the call.
fn number(name: &str) -> Result<Option<u32>> {
    if let Ok(call) = name.parse::<Sysno>() {
        return Ok(u32::try_from(call.id()).ok());
    }
    let elsewhere = name.parse::<IntelCall>().is_ok()
        || name.parse::<ArmCall>().is_ok()
        || name.parse::<RiscvCall>().is_ok();
    if elsewhere {
        return Ok(None);
    }
    let reason = format!("no architecture has a call named {name:?}");
    Err(SandboxError::other("seccomp policy", reason))
}

fn skip(instructions: usize) -> Result<u8> {
    u8::try_from(instructions).map_err(|_| {
        SandboxError::other("seccomp policy", "a rule is too long")
    })
}

fn length(code: &[sock_filter]) -> Result<u32> {
    u32::try_from(code.len())
        .map_err(|_| SandboxError::other("seccomp policy", "too many rules"))
}

fn load(offset: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn answer(verdict: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, verdict)
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code_bits(code), jt: 0, jf: 0, k }
}

fn jump(test: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    let code = code_bits(libc::BPF_JMP | test | libc::BPF_K);
    sock_filter { code, jt, jf, k }
}

fn code_bits(code: u32) -> u16 {
    u16::try_from(code).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
