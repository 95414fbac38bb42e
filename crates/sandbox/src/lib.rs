//! One untrusted command in a Linux box.
//!
//! # Theory of operation
//!
//! A box is a process tree that shares nothing with the host but a read-only
//! image. The [`Host`] is prepared once, while the server may still be
//! privileged: control groups, user namespaces with host ids of their own, and
//! the server itself gives up root for good. After that a [`Sandbox`] is made
//! for each submission, used once and destroyed.
//!
//! ```text
//! server ── fork server ── fork ──> init, outer half ── fork ──> init, pid 1
//!    │                              joins groups, user          mounts, /proc, lo
//!    │                              and other namespaces        │
//!    └───────────── a socket: setup, files, commands ───────────┘── fork ──> program
//!                                                                   gives up all, execve
//! ```
//!
//! The fork server is a program of its own with one thread ([`init_main`]), so
//! all that happens between fork and execve is ordinary Rust. After the first
//! instruction of the program nothing outside the box opens, changes or
//! removes anything in it by name: output comes through pipes, and the files
//! vanish with the mount namespace.
//!
//! Limits are the kernel's: control groups for what the box uses together,
//! rlimits for what a process may do. The server watches the wall clock, the
//! CPU time and the pipes, and ends a box by killing its pid 1, with which the
//! kernel ends every process in it. Whatever else happens, pid 1 ends with the
//! socket, and so with the server.
//!
//! The crate knows no HTTP, no JSON and no language.

mod cgroup;
mod children;
mod control;
mod devices;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod identity;
mod ids;
mod init;
mod instance;
mod launchers;
mod live;
mod outcome;
mod output;
mod protocol;
mod remains;
mod rlimits;
mod seccomp;
mod signals;
mod spawner;
mod spec;
mod step;
mod streams;
#[expect(unsafe_code, reason = "the one file where system calls are argued")]
mod sys;
mod uncharged;

pub use cgroup::Controllers;
pub use error::{Result, SandboxError};
pub use host::{Host, HostSettings};
pub use identity::{Identity, MOST_BOXES};
pub use init::{INIT_NAME, init_main};
pub use live::Sandbox;
pub use outcome::{Outcome, Stop};
pub use rlimits::{NO_CORE, QUEUE_BYTES, QUEUED_SIGNALS};
pub use signals::{signal_name, signal_words};
pub use spec::{Artifact, BoxFile, BoxSpec, Inputs, StepSpec};
