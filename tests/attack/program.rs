//! A program that attacks, and what must come of it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use sandpiper_testkit::eventually;
use sandpiper_testkit::text::{Repeat, Values, fill, repeat, with};
use sandpiper_testkit::traces::shows;
use serde::Deserialize;

use crate::canaries;
use crate::control::{self, Control, Place};
use crate::servers::Server;
use crate::source::{Ending, Source, begin, sent};
use crate::suite::Suite;

/// The shape of a file. `@name@` in a text of it is a canary's place, or a
/// value of `set`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    pub(crate) language: String,
    /// Ways in.
    #[serde(default = "over_http")]
    via: Vec<Way>,
    #[serde(flatten)]
    source: Source,
    /// Values of this attack, which its control may have otherwise.
    #[serde(default)]
    pub(crate) set: Values,
    #[serde(default)]
    repeat: BTreeMap<String, Repeat>,
    /// A text that the output holds if the attack succeeds: that of the
    /// control does, and this one's does not. The secret is never in it.
    #[serde(default = "secret")]
    pub(crate) success: String,
    /// All of stdout.
    stdout: Option<String>,
    #[serde(default)]
    stdout_has: Vec<String>,
    #[serde(default)]
    stderr_has: Vec<String>,
    /// The `Sandpiper-Exit` header; any of these.
    #[serde(default = "exited")]
    exit: Vec<String>,
    /// Another program, that leaves something for this one to find.
    writer: Option<Writer>,
    /// Sent twice: nothing is compiled for the second, which is the same.
    #[serde(default)]
    again: bool,
    /// It races with the server, which looks from time to time. A host with much
    /// else to do can let it win once, but not three times.
    #[serde(default)]
    race: bool,
    /// The test whose promise it repeats, in another language or another place:
    /// it runs with `FULL=1` alone.
    pub(crate) repeats: Option<String>,
    /// To run with short limits.
    #[serde(default)]
    pub(crate) short: bool,
    pub(crate) control: Control,
    /// The result of the control, which is the same however a box starts.
    #[serde(skip)]
    shown: OnceLock<Result<Shown, String>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Way {
    Http,
    /// `sandpiper run`.
    Run,
}

/// It must print `written`. If it is to be met, it stays, and has a process
/// with `@id@` in its command line, or a file of that name open, when it has
/// written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Writer {
    when: When,
    #[serde(flatten)]
    source: Source,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum When {
    /// Its run is over when the attack begins.
    Before,
    /// It runs as long as the attack does.
    Meanwhile,
}

/// Whether the control showed that a success would be seen.
#[derive(Clone, Debug)]
pub(crate) enum Shown {
    Yes,
    No(String),
}

fn over_http() -> Vec<Way> {
    vec![Way::Http]
}

fn secret() -> String {
    "@secret@".to_owned()
}

fn exited() -> Vec<String> {
    vec!["stage=run; code=0".to_owned()]
}

impl Program {
    /// Shows that a success would be seen; or says why it could not be shown
    /// on this host.
    pub(crate) fn control(&self, suite: &Suite) -> Result<Shown, String> {
        self.shown.get_or_init(|| self.run_control(suite)).clone()
    }

    fn run_control(&self, suite: &Suite) -> Result<Shown, String> {
        let mut values = self.values(suite, &self.control.set)?;
        if let Some(writer) = &self.writer {
            let when = format!("{:?}", writer.when).to_lowercase();
            values.insert("when".to_owned(), when);
        }
        let writer = self.writer.as_ref().map(|writer| &writer.source);
        let source = self.control.source(&self.source, writer);
        let source = source.filled(&values)?;
        let ending = match self.control.on {
            Place::Host | Place::Namespace => {
                control::bare(&self.language, &source, self.control.on)
            }
            Place::Image => {
                let script = self.control.script(&values)?;
                control::in_image(&self.language, &source, &script)
            }
            Place::Box => self.over(suite, suite.main(), &source, 1),
        };
        let ending = ending.map_err(|error| format!("control: {error}"))?;
        let success = fill(&self.success, &values)?;
        let is_seen = ending.stdout.contains(&success)
            || ending.stderr.contains(&success)
            || suite.canaries.heard(&values["id"]);
        match &self.control.unless {
            _ if is_seen => Ok(Shown::Yes),
            Some(reason) => Ok(Shown::No(reason.clone())),
            None => Err(format!("control: {ending:#?}")),
        }
    }

    /// The attack, on every way; if it races, until it loses.
    pub(crate) fn attack(&self, suite: &Suite) -> Result<(), String> {
        let tries = if self.race { 3 } else { 1 };
        let mut won = Vec::new();
        for _ in 0..tries {
            match self.attempt(suite) {
                Ok(()) => return Ok(()),
                Err(fault) => won.push(fault),
            }
        }
        Err(won.join("\n"))
    }

    fn attempt(&self, suite: &Suite) -> Result<(), String> {
        for way in &self.via {
            let values = self.values(suite, &Values::new())?;
            let mut source = self.source.filled(&values)?;
            source.is_short = self.short;
            let attempt = || match way {
                Way::Http => self.over(suite, suite.server(self), &source, 2),
                Way::Run => control::command(&self.language, &source),
            };
            let ending = match &self.writer {
                None => attempt()?,
                Some(writer) => {
                    let writer = (writer.when, writer.source.filled(&values)?);
                    self.after_writer(suite, &writer, &values["id"], attempt)?
                }
            };
            let mut faults = self.faults(&ending, *way, suite, &values)?;
            if self.again {
                let second = self.run_again(suite, &source)?;
                let of_second = self.faults(&second, *way, suite, &values)?;
                faults.extend(of_second);
                if second != ending {
                    faults.push(format!("and again: {second:#?}"));
                }
            }
            if !faults.is_empty() {
                let faults = faults.join("\n");
                return Err(format!("{way:?}: {faults}\n{ending:#?}"));
            }
        }
        Ok(())
    }

    /// The attack behind the writer, or beside it.
    fn after_writer(
        &self,
        suite: &Suite,
        (when, writer): &(When, Source),
        id: &str,
        attempt: impl FnOnce() -> Result<Ending, String>,
    ) -> Result<Ending, String> {
        if *when == When::Before {
            let written = self.over(suite, suite.server(self), writer, 3)?;
            if !written.stdout.contains("written") {
                return Err(format!("writer: {written:#?}"));
            }
            return attempt();
        }
        let server = suite.server(self);
        suite.start.wait(server, &self.language);
        // It runs until the connection is closed.
        let _writer = begin(server, &self.language, writer, 3)?;
        let has_written = || shows(server.pid(), id);
        eventually("the writer has written", has_written);
        let ending = attempt()?;
        if !has_written() {
            return Err("the writer ended before the attack".to_owned());
        }
        Ok(ending)
    }

    /// Sends it as this client, until its box was as the suite wants it:
    /// another run may have taken the one that was ready.
    fn over(
        &self,
        suite: &Suite,
        server: &Server,
        source: &Source,
        number: u8,
    ) -> Result<Ending, String> {
        for _ in 0..10 {
            suite.start.wait(server, &self.language);
            let reply = sent(server, &self.language, source, number)?;
            if suite.start.was_of(server, &reply) {
                return Ok(Ending::of(&reply));
            }
        }
        Err(format!("its box was never {:?}", suite.start))
    }

    /// The same once more, for which nothing may be compiled.
    fn run_again(
        &self,
        suite: &Suite,
        source: &Source,
    ) -> Result<Ending, String> {
        let server = suite.server(self);
        let reply = sent(server, &self.language, source, 2)?;
        let line = server.line_of(&reply);
        if line.contains("compiled_before=true") {
            return Ok(Ending::of(&reply));
        }
        Err(format!("it was compiled again: {line}"))
    }

    fn values(&self, suite: &Suite, more: &Values) -> Result<Values, String> {
        let mut values = suite.values().clone();
        // A word of this attempt alone.
        values.insert("id".to_owned(), canaries::random());
        repeat(&mut values, &self.repeat);
        with(&with(&values, &self.set)?, more)
    }

    fn faults(
        &self,
        ending: &Ending,
        way: Way,
        suite: &Suite,
        values: &Values,
    ) -> Result<Vec<String>, String> {
        let mut faults = Vec::new();
        for success in [&fill(&self.success, values)?, &values["secret"]] {
            if ending.stdout.contains(success)
                || ending.stderr.contains(success)
            {
                faults.push(format!("it succeeded: {success:?} is there"));
            }
        }
        if suite.canaries.heard(&values["id"]) {
            faults.push("it succeeded: the host got a message".to_owned());
        }
        let stdout = &ending.stdout;
        if self.stdout.as_ref().is_some_and(|expected| expected != stdout) {
            faults.push("stdout is another".to_owned());
        }
        for (parts, found) in [
            (&self.stdout_has, &ending.stdout),
            (&self.stderr_has, &ending.stderr),
        ] {
            let parts = parts.iter().filter(|part| !found.contains(*part));
            faults.extend(parts.map(|part| format!("{part:?} is missing")));
        }
        let is_expected = self.exit.iter().any(|exit| match way {
            Way::Http => *exit == ending.exit,
            Way::Run => control::exit_code(exit) == ending.exit,
        });
        if !is_expected {
            faults.push(format!("it ended otherwise: {}", ending.exit));
        }
        Ok(faults)
    }
}
