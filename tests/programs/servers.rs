//! The servers that programs are sent to, by how a run is to start.

use std::collections::BTreeSet;

use sandpiper_testkit::{Reply, Server, eventually};

/// How a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// In a box made then, and everything compiled.
    Cold,
    /// After [`Self::Cold`], with what was kept when the same was compiled.
    Kept,
    /// In a box that was ready, and everything compiled.
    Warm,
}

/// Running servers, each with the languages that are sent to it. They end with
/// the thread that started them.
pub(crate) struct Servers {
    /// Makes boxes ahead, each of which takes more than many runs, and keeps
    /// nothing that was compiled.
    warm: Option<Server>,
    cold: Option<Server>,
}

impl Servers {
    /// Starts those that runs of these languages need, started in these ways.
    pub(crate) fn start(runs: &[(&str, Start)]) -> Self {
        let spawn = |starts: &[Start], flags: &[&str]| {
            let runs = runs.iter().filter(|(_, start)| starts.contains(start));
            let ids: BTreeSet<&str> = runs.map(|(id, _)| *id).collect();
            let ids: Vec<&str> = ids.into_iter().collect();
            let only = format!("--languages={}", ids.join(","));
            let usual = [
                // On a busy machine nothing is to end by its time.
                "--run-wall-time=120s",
                "--run-cpu-time=120s",
                "--compile-wall-time=120s",
                "--compile-rate-limit=0",
                "--boxes=4",
                "--queue=1000",
                "--queue-wait=600s",
                &only,
            ];
            let flags = [&usual, flags].concat();
            (!ids.is_empty()).then(|| Server::spawn(&flags, None))
        };
        Self {
            warm: spawn(&[Start::Warm], &["--compile-cache=0"]),
            cold: spawn(&[Start::Cold, Start::Kept], &["--warm-memory=0"]),
        }
    }

    /// Has a run of `language` start in this way.
    pub(crate) fn run(
        &self,
        language: &str,
        start: Start,
        send: impl Fn(&Server) -> Result<Reply, String>,
    ) -> Result<Reply, String> {
        let server = match start {
            Start::Warm => &self.warm,
            Start::Cold | Start::Kept => &self.cold,
        };
        let server = server.as_ref().ok_or("no server was started")?;
        server.wait_until_ready_for(&[language]);
        match start {
            Start::Warm => run_warm(server, language, send),
            Start::Kept => {
                let reply = send(server)?;
                let line = server.line_of(&reply);
                // A program that does not compile is compiled again.
                let is_kept = line.contains("compiled_before=true");
                if is_kept == line.contains("stage=\"run\"") {
                    Ok(reply)
                } else {
                    Err(format!("it was compiled again: {line}"))
                }
            }
            Start::Cold => send(server),
        }
    }
}

/// Sends it when a box is ready, until it has run in such a one: a box may be
/// given up for its age or for memory, or another run takes it.
fn run_warm(
    server: &Server,
    language: &str,
    send: impl Fn(&Server) -> Result<Reply, String>,
) -> Result<Reply, String> {
    for _ in 0..10 {
        eventually("a box is ready", || server.metrics().ready(language) > 0);
        let reply = send(server)?;
        if !server.line_of(&reply).contains("box=\"cold\"") {
            return Ok(reply);
        }
    }
    Err("it never ran in a box that was ready".to_owned())
}
