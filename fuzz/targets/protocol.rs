//! The messages between the server and the init of a box.

#![no_main]

use std::alloc::System;
use std::io;

use cap::Cap;
use libfuzzer_sys::fuzz_target;
use sandpiper_fuzz::PLANTED;
use sandpiper_sandbox::fuzzing::{self, reply};

/// Aborts the target if an allocation exceeds the limit.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// The memory in bytes that a byte of input may take: an empty string is one byte of
/// input and 24 of memory, and a list that grows allocates twice that.
const FACTOR: usize = 64;
/// The memory of an error and of the first element of a list.
const BASE_BYTES: usize = 8 << 10;

fuzz_target!(|bytes: &[u8]| {
    check(bytes, request);
    check(bytes, reply);
});

/// Decodes a message. The planted fault ignores bytes after it.
fn request(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let read = fuzzing::request(bytes);
    match bytes.split_last() {
        Some((_, first)) if PLANTED && read.is_err() => fuzzing::request(first),
        _ => read,
    }
}

fn check(bytes: &[u8], again: fn(&[u8]) -> io::Result<Vec<u8>>) {
    let limit = MEMORY.allocated() + FACTOR * bytes.len() + BASE_BYTES;
    MEMORY.set_limit(limit).expect("a limit above what is used");
    let read = again(bytes);
    MEMORY.set_limit(usize::MAX).expect("no limit");
    let Ok(first) = read else { return };
    // Nanoseconds of a duration that are a second and more are added to its seconds,
    // which then may take a byte more. No message has two durations.
    assert!(first.len() <= bytes.len() + 1, "written again it is longer");
    let second = again(&first).expect("what we write can be read");
    assert_eq!(first, second);
    // Bytes after a message are an error.
    let more = [&first[..], &[0]].concat();
    assert!(again(&more).is_err(), "with a byte too many");
    let less = &first[..first.len() - 1];
    assert!(again(less).is_err(), "with a byte too few");
}
