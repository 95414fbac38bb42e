//! The messages of a box's init, and those to it.

#![no_main]

use std::alloc::System;
use std::io;

use cap::Cap;
use libfuzzer_sys::fuzz_target;
use sandpiper_fuzz::PLANTED;
use sandpiper_sandbox::fuzzing::{self, reply};

/// Fails an allocation beyond its limit, which ends the target.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes of memory for a byte of input: an empty string is one byte there and
/// 24 here, and a list that grows has twice the room.
const FACTOR: usize = 64;
/// The memory of an error and of the first item of a list.
const LEAST: usize = 8 << 10;

fuzz_target!(|bytes: &[u8]| {
    check(bytes, request);
    check(bytes, reply);
});

/// Reads a message; with the fault, bytes behind it are passed over.
fn request(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let read = fuzzing::request(bytes);
    match bytes.split_last() {
        Some((_, first)) if PLANTED && read.is_err() => fuzzing::request(first),
        _ => read,
    }
}

fn check(bytes: &[u8], again: fn(&[u8]) -> io::Result<Vec<u8>>) {
    let limit = MEMORY.allocated() + FACTOR * bytes.len() + LEAST;
    MEMORY.set_limit(limit).expect("a limit above what is used");
    let read = again(bytes);
    MEMORY.set_limit(usize::MAX).expect("no limit");
    let Ok(first) = read else { return };
    assert!(first.len() <= bytes.len(), "written again it is longer");
    let second = again(&first).expect("what we write can be read");
    assert_eq!(first, second);
    // A message ends where it ends.
    let more = [&first[..], &[0]].concat();
    assert!(again(&more).is_err(), "with a byte too many");
    let less = &first[..first.len() - 1];
    assert!(again(less).is_err(), "with a byte too few");
}
