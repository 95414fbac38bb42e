//! The servers under attack.

use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) use sandpiper_testkit::{Reply, Server, program};
use sandpiper_testkit::{is_default_language, is_full};

use crate::case::Case;

/// Languages whose boxes are made ahead in little time. A box of another takes
/// more than the attack in it.
const QUICK: [&str; 3] = ["c", "php", "python"];

/// Makes a request one of this client's; the queue is fair by client.
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
    /// Ready before it comes, with its launchers if its language has some.
    Warm,
}

impl Start {
    /// Those that a case is tested with. Unless all is asked for, programs that
    /// want too much have a server that makes nothing ahead, which is at rest
    /// again soon. Those that repeat a promise, and languages that have to be
    /// chosen, have none.
    pub(crate) fn of(case: &Case) -> &'static [Self] {
        let Some(program) = case.program() else {
            return &[Self::Usual];
        };
        let is_quick = QUICK.contains(&program.language.as_str());
        if is_full() {
            &[Self::Cold, Self::Warm]
        } else if program.repeats.is_some()
            || !is_default_language(&program.language)
        {
            &[]
        } else if matches!(case, Case::Program(_)) && is_quick {
            &[Self::Usual]
        } else {
            &[Self::Cold]
        }
    }

    /// The name of a case that starts so, among all that start otherwise.
    pub(crate) fn name(self, case: &str) -> String {
        match self {
            Self::Cold if is_full() => format!("cold/{case}"),
            Self::Warm => format!("warm/{case}"),
            Self::Usual | Self::Cold => case.to_owned(),
        }
    }

    /// Waits for a box that is ready, if one is to be. If none is made
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
            "--queue=200",
            "--queue-wait=120s",
            "--trusted-proxy=127.0.0.1",
        ],
        flags,
    ];
    Server::spawn(&flags.concat(), None)
}
