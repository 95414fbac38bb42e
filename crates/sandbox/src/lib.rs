//! Runs one untrusted command in an isolated Linux box.
//!
//! # Theory of operation
//!
//! A box is a process tree that shares only a read-only image with the host.
//! The [`Host`] is set up once, while the server may still be privileged: it
//! makes control groups, and user namespaces with host ids of their own. Then
//! the server gives up root for good. After that a [`Sandbox`] is made for
//! each submission, used once and destroyed.
//!
//! ```text
//! server ── fork server ── fork ──> init, outer half ── fork ──> init, pid 1
//!    │                              joins groups, user          mounts, /proc, lo
//!    │                              and other namespaces        │
//!    └───────────── a socket: setup, files, commands ───────────┘── fork ──> program
//!                                                             drops all rights, execve
//! ```
//!
//! The fork server is a program of its own with one thread ([`init_main`]).
//! Everything between fork and execve is therefore ordinary Rust. Pid 1 reads
//! every request of the server. It forks the process of the next program ahead
//! and sends it the command through a socket pair.
//!
//! After the first instruction of the program nothing outside the box opens,
//! changes or removes anything in it by name. Output comes through pipes, and
//! the files vanish with the mount namespace.
//!
//! The kernel enforces the limits: control groups limit the box as a whole,
//! rlimits limit each process. The server watches the wall clock, the CPU time
//! and the pipes. It ends a box by killing pid 1, and the kernel then ends
//! every process in it. Pid 1 also ends when its socket to the server closes,
//! and so with the server.
//!
//! The crate knows no HTTP, no JSON and no language.

mod attachment;
mod cgroup;
mod children;
mod devices;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod identity;
mod ids;
mod init;
mod init_socket;
mod instance_lock;
mod launchers;
mod limit_watch;
mod outcome;
mod output;
mod pattern;
mod process_handles;
mod protocol;
mod rlimits;
mod sandbox;
mod seccomp;
mod signals;
mod spawner;
mod spec;
mod step;
mod streams;
mod subordinate_ids;
#[expect(unsafe_code, reason = "the only file with unsafe system calls")]
mod sys;
mod uncharged;

pub use attachment::{
    Attachment, InputError, InputReceiver, InputSender, OutputChunk,
    OutputStream, input_queue,
};
pub use cgroup::{Controllers, memory_limit};
pub use error::{Result, SandboxError};
pub use host::{Host, HostSettings};
pub use identity::{Identity, MAX_BOXES};
pub use init::{INIT_NAME, MAX_SKIPPED, init_main};
pub use limit_watch::MAX_KERNEL_BYTES;
pub use outcome::{
    LeftFile, LeftFiles, Output, SkipReason, SkippedFile, StepEnd, StepOutcome,
};
pub use rlimits::{NO_CORE, QUEUE_BYTES, QUEUED_SIGNALS};
pub use sandbox::Sandbox;
pub use signals::{signal_name, signal_words};
pub use spec::{
    BoxFile, BoxSpec, CompileArtifact, FilesSpec, Fingerprint, Inputs, StepSpec,
};
pub use subordinate_ids::SubordinateIds;
pub use uncharged::{MAX_LOCKS, MAX_SOCKETS, MAX_UNIX_SOCKETS};
