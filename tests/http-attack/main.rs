//! Black-box tests of the server under attack: clients that are slow, many,
//! greedy or broken, while an ordinary one asks. No image is needed.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failed step fails the test, which says what it measured"
)]

mod connections;
mod floods;
mod ordinary;
