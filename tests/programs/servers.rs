//! The servers that programs are sent to, one for each way that a run can
//! start.

use sandpiper_testkit::{Reply, Server, eventually};

/// How a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// As the service starts it: in a box that was ready, if there is one.
    Usual,
    /// Likewise, where times are short.
    Short,
    /// In a box made then, and everything compiled.
    Cold,
    /// In a box that was ready, and everything compiled.
    Warm,
    /// With what was kept when the same was compiled before.
    Kept,
}

/// Running servers. They end with the thread that started them.
pub(crate) struct Servers {
    /// Keeps nothing that was compiled.
    usual: Server,
    short: Option<Server>,
    cold: Option<Server>,
    kept: Option<Server>,
}

impl Servers {
    /// Starts those that runs of these languages need, and of these kinds.
    pub(crate) fn start(languages: &[&str], starts: &[Start]) -> Self {
        let spawn = |flags: &[&str]| {
            let only = format!("--languages={}", languages.join(","));
            let usual = [
                "--compile-rate-limit=0",
                "--boxes=4",
                "--queue=1000",
                "--queue-wait=600s",
                &only,
            ];
            Server::spawn(&[&usual, flags].concat(), None)
        };
        let need = |start: Start, flags: &[&str]| {
            starts.contains(&start).then(|| spawn(flags))
        };
        Self {
            usual: spawn(&["--artifact-cache=0"]),
            short: need(
                Start::Short,
                &["--run-wall-time=3s", "--run-cpu-time=3s"],
            ),
            cold: need(Start::Cold, &["--warm-memory=0", "--artifact-cache=0"]),
            kept: need(Start::Kept, &["--warm-memory=0"]),
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
            Start::Usual | Start::Warm => Some(&self.usual),
            Start::Short => self.short.as_ref(),
            Start::Cold => self.cold.as_ref(),
            Start::Kept => self.kept.as_ref(),
        };
        let server = server.ok_or("no server was started")?;
        server.wait_until_ready_for(&[language]);
        match start {
            Start::Warm => self.run_warm(language, send),
            Start::Kept => {
                send(server)?;
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
            Start::Usual | Start::Short | Start::Cold => send(server),
        }
    }

    /// Sends it when a box is ready, until it has run in such a one: a box may
    /// be given up for its age or for memory, or another run takes it.
    fn run_warm(
        &self,
        language: &str,
        send: impl Fn(&Server) -> Result<Reply, String>,
    ) -> Result<Reply, String> {
        for _ in 0..10 {
            eventually("a box is ready", || {
                self.usual.metrics().ready(language) > 0
            });
            let reply = send(&self.usual)?;
            if !self.usual.line_of(&reply).contains("box=\"cold\"") {
                return Ok(reply);
            }
        }
        Err("it never ran in a box that was ready".to_owned())
    }
}
