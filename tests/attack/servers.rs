//! The servers under attack.

use std::thread::sleep;
use std::time::{Duration, Instant};

use sandpiper_testkit::is_full;
pub(crate) use sandpiper_testkit::{Reply, Server, program};

/// What makes a request one of this client's; the queue is fair by client.
pub(crate) fn client(number: u8) -> String {
    format!("X-Forwarded-For: 192.0.2.{number}")
}

/// How the box is that a program finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// As the service has it: ready, if one is.
    Usual,
    /// Made when the program comes.
    Cold,
    /// Ready before it comes, with its launchers where its language has some.
    Warm,
}

impl Start {
    /// Those that are to be tested.
    pub(crate) fn chosen() -> Vec<Self> {
        if is_full() { vec![Self::Cold, Self::Warm] } else { vec![Self::Usual] }
    }

    /// The name of a case that starts so.
    pub(crate) fn name(self, case: &str) -> String {
        match self {
            Self::Usual => case.to_owned(),
            Self::Cold => format!("cold/{case}"),
            Self::Warm => format!("warm/{case}"),
        }
    }

    /// Waits for a box that is ready, where one is to be. Where none is made
    /// soon, others are asked for more: a run changes that.
    pub(crate) fn wait(self, server: &Server, language: &str) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self == Self::Warm && Instant::now() < deadline {
            if server.metrics().ready(language) > 0 {
                return;
            }
            sleep(Duration::from_millis(50));
        }
    }

    /// Whether the run that was answered so found its box like that.
    pub(crate) fn was_of(self, server: &Server, reply: &Reply) -> bool {
        let is_cold = || server.line_of(reply).contains("box=\"cold\"");
        self == Self::Usual || is_cold() == (self == Self::Cold)
    }
}

/// Starts a server for attacks, with further flags.
pub(crate) fn start(start: Start, flags: &[&str]) -> Server {
    let off: &[&str] = match start {
        Start::Cold => &["--warm-memory=0"],
        Start::Usual | Start::Warm => &[],
    };
    let flags = [
        off,
        &[
            "--compile-rate-limit=0",
            "--boxes=4",
            "--queue=200",
            "--queue-wait=120s",
            "--trusted-proxy=127.0.0.1",
        ],
        flags,
    ];
    Server::spawn(&flags.concat(), None)
}
