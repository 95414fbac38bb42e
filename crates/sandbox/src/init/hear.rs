//! The process of a program hears the server itself, as long as it is the only
//! one of its box.

use std::borrow::Cow;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use serde_bytes::ByteBuf;

use super::exec::Around;
use super::told::{Begun, Given, Heard, Told};
use super::{inputs, mounts};
use crate::error::{During, Result, SandboxError};
use crate::protocol::{self, Program, Request, Run};
use crate::sys::Turn;
use crate::{Artifact, BoxFile};

/// Hears the server's next request in init's place. A run that takes none of
/// init's rights is begun here: one change of process less, and the program it
/// is already who its files are to belong to. All else is left to init.
pub(super) fn hear(told: &Told, turn: &Turn, around: Around) -> Result<Given> {
    let step = "hear a request";
    let request = protocol::receive(around.socket).during(step)?;
    let Some((request, descriptors)) = request else {
        told.tell(Heard::Nothing);
        return Err(SandboxError::other(step, "none came"));
    };
    let asked = Instant::now();
    match request {
        Request::Run(Run {
            files,
            artifacts,
            give_up: 0,
            program: Program::New(command),
            gate: None,
            artifacts_writable: false,
            keep_artifacts,
        }) if inputs::inodes(&files, &artifacts) <= mounts::INODES_AHEAD => {
            inputs::write(&files, &artifacts, around.tree)?;
            // What the program may use is what the box has left.
            drop((files, artifacts));
            let fill_time = asked.elapsed();
            let started = Instant::now();
            told.tell(Heard::Begun(Begun {
                fill_time,
                started,
                artifacts_writable: false,
                keep_artifacts,
            }));
            Ok(Given { command, descriptors })
        }
        request => {
            told.tell(Heard::Request(request, descriptors));
            turn.pass();
            let none = || SandboxError::other(step, "no command came");
            told.given().ok_or_else(none)
        }
    }
}

/// Hears a request, of no effect: every page of a fork that is read is mapped
/// first, and every page that is written to is copied, and that then happens
/// while nobody waits.
pub(super) fn rehearse() -> io::Result<()> {
    let file = BoxFile { path: "a".repeat(8), content: "a".repeat(8 << 10) };
    let artifact = Artifact {
        path: "a".repeat(8),
        mode: 0,
        content: Some(ByteBuf::from(vec![1; 8 << 10])),
    };
    let run = Run {
        files: Cow::Owned(vec![file]),
        artifacts: Cow::Owned(vec![artifact]),
        give_up: 0,
        program: Program::Prepared,
        gate: None,
        artifacts_writable: false,
        keep_artifacts: None,
    };
    let (near, far) = UnixStream::pair()?;
    // Nobody reads while it writes.
    near.set_nonblocking(true)?;
    far.set_nonblocking(true)?;
    protocol::send(&near, &Request::Run(run), &[])?;
    protocol::receive::<Request<'_>>(&far)?;
    // The clock has pages of its own.
    let _ = Instant::now().elapsed();
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_request_can_be_rehearsed() {
        super::rehearse().unwrap();
    }
}
