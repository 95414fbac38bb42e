//! Servers for each language under test, so that one language that is not
//! ready fails its own programs alone: for each way that a run can start.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) use sandpiper_testkit::Reply;
pub(crate) use sandpiper_testkit::Server;

/// How long a box may take to be made ahead.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a run starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A box made then, and everything compiled.
    Cold,
    /// A box that was ready, and everything compiled.
    Warm,
    /// What was kept when the same was compiled before.
    Kept,
}

/// The servers of one language.
struct OfLanguage {
    cold: Server,
    warm: Server,
    /// Where programs are compiled.
    kept: Option<Server>,
    /// Whoever runs with a box that was ready: nobody else takes it.
    turn: Mutex<()>,
}

/// Running servers, by language. They end with the thread that started them.
pub(crate) struct Servers(BTreeMap<String, OfLanguage>);

impl Servers {
    pub(crate) fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// Starts those of each of `languages`.
    pub(crate) fn start<'a>(languages: impl Iterator<Item = &'a str>) -> Self {
        let mut servers = BTreeMap::new();
        for id in languages {
            let of = || OfLanguage::start(id);
            servers.entry(id.to_owned()).or_insert_with(of);
        }
        Self(servers)
    }

    /// Has a run of `language` start in this way, when that language is
    /// ready; none where there is no such way.
    pub(crate) fn run(
        &self,
        language: &str,
        start: Start,
        send: impl Fn(&Server) -> Result<Reply, String>,
    ) -> Result<Option<Reply>, String> {
        let servers = self.0.get(language).ok_or("no server was started")?;
        let _turn = (start == Start::Warm).then(|| {
            servers.turn.lock().unwrap_or_else(PoisonError::into_inner)
        });
        let Some(server) = servers.of(start) else { return Ok(None) };
        server.wait_until_ready();
        match start {
            Start::Cold => {}
            Start::Warm => await_box(server, language)?,
            Start::Kept => drop(send(server)?),
        }
        let reply = send(server)?;
        let line = server.line_of(&reply);
        let is_cold = line.contains("box=\"cold\"");
        if is_cold != (start != Start::Warm) {
            return Err(format!("it was to be {start:?}: {line}"));
        }
        let is_compiled = line.contains("compiled_before=true");
        let is_run = line.contains("stage=\"run\"");
        if is_compiled != (start == Start::Kept && is_run) {
            return Err(format!("it was to be {start:?}: {line}"));
        }
        Ok(Some(reply))
    }
}

impl OfLanguage {
    fn start(language: &str) -> Self {
        let start = |flags: &[&str]| {
            let only = format!("--languages={language}");
            let usual = [
                "--compile-rate-limit=0",
                "--boxes=4",
                "--queue=1000",
                "--queue-wait=600s",
                &only,
            ];
            Server::spawn(&[&usual, flags].concat(), None)
        };
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../languages")
            .join(language)
            .join("language.toml");
        let definition = fs::read_to_string(path).unwrap();
        let kept = definition.contains("\n[compile]\n");
        Self {
            cold: start(&["--warm-memory=0", "--artifact-cache=0"]),
            warm: start(&["--artifact-cache=0"]),
            kept: kept.then(|| start(&["--warm-memory=0"])),
            turn: Mutex::new(()),
        }
    }

    fn of(&self, start: Start) -> Option<&Server> {
        match start {
            Start::Cold => Some(&self.cold),
            Start::Warm => Some(&self.warm),
            Start::Kept => self.kept.as_ref(),
        }
    }
}

/// Waits until a box is ready for a run.
fn await_box(server: &Server, language: &str) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    while server.metrics().ready(language) == 0 {
        if Instant::now() > deadline {
            return Err("no box was ever ready".to_owned());
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}
