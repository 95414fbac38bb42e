//! The `sandpiper` binary: serve, run, images, doctor.
#![forbid(unsafe_code)]

fn main() {}
