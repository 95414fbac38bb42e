//! One program and what is expected of it, as a file of tests/programs.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, value};

use sandpiper_testkit::{Reply, Server};

use crate::servers::{Servers, Start};

/// How a program ends that does nothing wrong.
const EXITED: &str = "stage=run; code=0";

/// The wall times of programs that end by it, in milliseconds.
const FIRST_WALL_MS: u32 = 1_000;
const MAX_WALL_MS: u32 = 60_000;

/// No word of these may be in what a program's user reads.
const OURS: [&str; 4] = ["/box/", "/artifacts", "/opt/sandpiper", "/tmp/"];

/// The shape of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    /// May be missing if there is one file.
    entry: Option<String>,
    files: BTreeMap<String, String>,
    /// How often the text of a file is sent, if not once.
    #[serde(default)]
    files_repeat: BTreeMap<String, usize>,
    #[serde(default)]
    stdin: String,
    /// How often `stdin` is sent.
    #[serde(default = "once")]
    stdin_repeat: usize,
    #[serde(default)]
    stdout: String,
    /// How often `stdout` is expected.
    #[serde(default = "once")]
    stdout_repeat: usize,
    /// In place of `stdout`, if that cannot be exact.
    stdout_has: Option<Vec<String>>,
    #[serde(default)]
    stderr: String,
    /// In place of `stderr`, if that cannot be exact.
    stderr_has: Option<Vec<String>>,
    /// The `Sandpiper-Exit` header.
    #[serde(default = "exited")]
    exit: String,
    /// The reason why its output differs each time, if it does. Otherwise it is
    /// the same in a box made then, in one that was ready, and from kept compile artifacts.
    differs: Option<String>,
    /// Ends by its wall time, which is short.
    #[serde(default)]
    pub(crate) short: bool,
    /// Looks at what its launcher may have left: runs in every way.
    #[serde(default)]
    pub(crate) sees_start: bool,
    /// The test whose promise it repeats, in another language or another place:
    /// it runs with `FULL=1` alone.
    pub(crate) repeats: Option<String>,
    /// Stdout is a document: web/e2e/programs looks at it, by this table.
    pub(crate) page: Option<IgnoredAny>,
}

/// The answer of the server.
struct Answer {
    stdout: String,
    stderr: String,
    exit: String,
}

fn once() -> usize {
    1
}

fn exited() -> String {
    EXITED.to_owned()
}

impl Program {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
        if !text.starts_with("# ") {
            return Err("the first line does not say what it shows".to_owned());
        }
        toml::from_str(&text).map_err(|error| error.to_string())
    }

    /// Whether it compiles, if its language is compiled.
    pub(crate) fn is_run(&self) -> bool {
        self.exit.starts_with("stage=run")
    }

    /// Runs the program in each of these ways and compares; or writes down
    /// what it did.
    pub(crate) fn check(
        &self,
        language: &str,
        servers: &Servers,
        starts: &[Start],
        path: &Path,
    ) -> Result<(), String> {
        let run = |start| self.run(language, servers, start);
        let (first, others) = starts.split_first().ok_or("no way to run")?;
        let answer = run(*first)?;
        #[expect(clippy::disallowed_methods, reason = "a switch of the tests")]
        let is_update = env::var_os("UPDATE_EXPECT").is_some();
        if is_update {
            return self.update(&answer, path);
        }
        let mut faults = self.faults(&answer);
        for &start in others {
            let other = run(start)?;
            if self.differs.is_some() {
                let of_other = self.faults(&other);
                let with_start = |fault| format!("{start:?}: {fault}");
                faults.extend(of_other.into_iter().map(with_start));
            } else {
                faults.extend(answer.differences(&other, start));
            }
        }
        if faults.is_empty() {
            return Ok(());
        }
        let Answer { mut stdout, stderr, exit } = answer;
        if self.page.is_some() {
            stdout = format!("a document of {} bytes", stdout.len());
        }
        Err(format!(
            "{}\n--- stdout\n{}\n--- stderr\n{}\n--- {exit}",
            faults.join("\n"),
            shortened(&stdout),
            shortened(&stderr),
        ))
    }

    /// Everything that is not as it should be.
    fn faults(&self, answer: &Answer) -> Vec<String> {
        let stdout = self.stdout.repeat(self.stdout_repeat);
        let any: Option<&[String]> = self.page.is_some().then_some(&[]);
        let has =
            (self.stdout_has.as_deref().or(any), self.stderr_has.as_deref());
        let faults = [
            compare("stdout", has.0, &stdout, &answer.stdout),
            compare("stderr", has.1, &self.stderr, &answer.stderr),
            compare("exit", None, &self.exit, &answer.exit),
        ];
        faults.into_iter().flatten().collect()
    }

    /// Runs it in one way.
    fn run(
        &self,
        language: &str,
        servers: &Servers,
        start: Start,
    ) -> Result<Answer, String> {
        let request = self.request(language)?;
        if self.short {
            return self.run_until_it_speaks(request, |asked| {
                servers.run(language, start, |it| send(it, "/api/run", asked))
            });
        }
        let reply = servers.run(language, start, |server| {
            send(server, "/api/compile", &request)
        })?;
        Ok(Answer::of(&reply, &reply.json()))
    }

    /// Runs a program that does not end by itself. Its wall time is doubled until
    /// its output is there: a slow machine takes longer to start it.
    fn run_until_it_speaks(
        &self,
        mut request: Value,
        run: impl Fn(&Value) -> Result<Reply, String>,
    ) -> Result<Answer, String> {
        let mut wall_ms = FIRST_WALL_MS;
        loop {
            request["limits"] = json!({"wall_ms": wall_ms});
            let reply = run(&request)?;
            let answer = Answer::of(&reply, &reply.json()["run"]);
            wall_ms *= 2;
            if self.faults(&answer).is_empty() || wall_ms > MAX_WALL_MS {
                return Ok(answer);
            }
        }
    }

    fn request(&self, language: &str) -> Result<Value, String> {
        let entry = match (&self.entry, self.files.keys().next()) {
            (Some(entry), _) => entry,
            (None, Some(only)) if self.files.len() == 1 => only,
            _ => return Err("several files need an `entry`".to_owned()),
        };
        let files: Vec<_> = self
            .files
            .iter()
            .map(|(path, content)| {
                let times = self.files_repeat.get(path).copied();
                let content = content.repeat(times.unwrap_or(1));
                json!({"path": path, "content": content})
            })
            .collect();
        Ok(json!({
            "language": language,
            "entryFile": entry,
            "files": files,
            "stdin": self.stdin.repeat(self.stdin_repeat),
        }))
    }

    /// Writes what came back into the file, if it is to be exact.
    fn update(&self, answer: &Answer, path: &Path) -> Result<(), String> {
        let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
        // It would stay with the first table, below the keys set here.
        let (comment, rest) = opening_comment(&text);
        let mut document: DocumentMut =
            rest.parse().map_err(|error| format!("{error}"))?;
        let repeats = self.stdout_repeat > 1;
        let is_page = self.page.is_some();
        if self.stdout_has.is_none() && !repeats && !is_page {
            set(&mut document, "stdout", &answer.stdout, "");
        }
        if self.stderr_has.is_none() {
            set(&mut document, "stderr", &answer.stderr, "");
        }
        set(&mut document, "exit", &answer.exit, EXITED);
        let text = format!("{comment}{document}");
        fs::write(path, text).map_err(|e| e.to_string())
    }
}

impl Answer {
    /// Returns the texts of this part of the answer.
    fn of(reply: &Reply, part: &Value) -> Self {
        let text = |name: &str| part[name].as_str().unwrap().to_owned();
        let exit = reply.header("sandpiper-exit").unwrap().to_owned();
        Self { stdout: text("stdout"), stderr: text("stderr"), exit }
    }

    /// Returns how the answer differs from that of another way.
    fn differences(&self, other: &Self, start: Start) -> Vec<String> {
        let streams = [
            ("stdout", &self.stdout, &other.stdout),
            ("stderr", &self.stderr, &other.stderr),
            ("exit", &self.exit, &other.exit),
        ];
        let differ = streams.into_iter().filter_map(|(name, cold, found)| {
            let difference = first_difference(cold, found)?;
            Some(format!("{start:?}, and before: {name}: {difference}"))
        });
        differ.collect()
    }
}

/// Sends a run, which must be answered.
fn send(server: &Server, path: &str, request: &Value) -> Result<Reply, String> {
    let json = ["Content-Type: application/json"];
    let reply = server.send("POST", path, &json, request.to_string());
    if reply.status == 200 {
        return Ok(reply);
    }
    Err(format!("{}: {}", reply.status, reply.text()))
}

/// The comment that a file opens with, and what follows it.
fn opening_comment(text: &str) -> (&str, &str) {
    let lines = text.split_inclusive('\n');
    let comment = lines.take_while(|line| line.starts_with('#'));
    text.split_at(comment.map(str::len).sum())
}

/// Returns the fault of a stream, if there is one.
fn compare(
    what: &str,
    parts: Option<&[String]>,
    expected: &str,
    found: &str,
) -> Option<String> {
    let Some(parts) = parts else {
        return first_difference(expected, found)
            .map(|difference| format!("{what}: {difference}"));
    };
    let missing = parts.iter().find(|part| !found.contains(*part));
    let ours = OURS.iter().find(|ours| found.contains(*ours));
    missing
        .map(|part| format!("{what} lacks {part:?}"))
        .or_else(|| ours.map(|ours| format!("{what} holds {ours:?}")))
}

fn first_difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let (mut ours, mut theirs) = (expected.lines(), found.lines());
    for number in 1.. {
        match (ours.next(), theirs.next()) {
            (None, None) => break,
            (expected, found) if expected == found => {}
            (expected, found) => {
                return Some(format!(
                    "line {number} is {found:?}, not {expected:?}"
                ));
            }
        }
    }
    Some("the newline at the end differs".to_owned())
}

/// Sets a key that is not at its default, and removes it else.
fn set(document: &mut DocumentMut, key: &str, now: &str, default: &str) {
    if now == default {
        document.remove(key);
    } else if document.get(key).and_then(Item::as_str) != Some(now) {
        document[key] = value(now);
    }
}

/// Enough of a text to see what it is.
fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 4_000;
    match text.char_indices().nth(MAX_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
    }
}
