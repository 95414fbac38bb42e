//! A submission of an attack, the request that sends it, and its result.

use std::collections::BTreeMap;
use std::net::TcpStream;

use sandpiper_testkit::text::{Values, fill};
use serde::Deserialize;
use serde_json::json;

use crate::servers::{Reply, Server, client};

/// The time of a program that only ends when its time is up, in milliseconds.
/// The server gives sample programs more: on a slow machine they need it.
const SHORT_MS: u32 = 3_000;

/// A submission as it stands in a file.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Source {
    /// May be missing if there is one file.
    pub(crate) entry: Option<String>,
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) stdin: String,
    /// Whether it is sent with short limits.
    #[serde(skip)]
    pub(crate) is_short: bool,
}

/// The result of a program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// As the header says it, or the exit code if there is none.
    pub(crate) exit: String,
}

impl Source {
    pub(crate) fn filled(&self, values: &Values) -> Result<Self, String> {
        let file = |(path, text): (&String, &String)| {
            Ok((fill(path, values)?, fill(text, values)?))
        };
        let files: Result<_, String> = self.files.iter().map(file).collect();
        let entry = self.entry.as_ref().map(|entry| fill(entry, values));
        Ok(Self {
            entry: entry.transpose()?,
            files: files?,
            stdin: fill(&self.stdin, values)?,
            is_short: self.is_short,
        })
    }

    pub(crate) fn entry(&self) -> Result<&str, String> {
        match (&self.entry, self.files.keys().next()) {
            (Some(entry), _) => Ok(entry),
            (None, Some(only)) if self.files.len() == 1 => Ok(only),
            _ => Err("several files need an `entry`".to_owned()),
        }
    }
}

impl Ending {
    pub(crate) fn of(reply: &Reply) -> Self {
        let answer = reply.json();
        // `/api/run` has the result of each step, and the message by itself.
        let steps = [&answer["run"], &answer["compile"]];
        let step = steps.into_iter().find(|step| step.is_object());
        let texts = step.unwrap_or(&answer);
        let text = |name: &str| texts[name].as_str().unwrap_or_default();
        let stderr = [text("stderr"), text("message")].concat();
        let exit = reply.header("sandpiper-exit").unwrap().to_owned();
        Self { stdout: text("stdout").to_owned(), stderr, exit }
    }
}

/// Sends it to the server as this client, and reads the answer.
pub(crate) fn sent(
    server: &Server,
    language: &str,
    source: &Source,
    number: u8,
) -> Result<Reply, String> {
    let reply = Reply::read(&mut begin(server, language, source, number)?);
    if reply.status != 200 {
        return Err(format!("{}: {}", reply.status, reply.text()));
    }
    Ok(reply)
}

/// Sends it to the server as this client, whose answer is to be read.
pub(crate) fn begin(
    server: &Server,
    language: &str,
    source: &Source,
    number: u8,
) -> Result<TcpStream, String> {
    let (path, limits) = if source.is_short {
        ("/api/run", json!({"wall_ms": SHORT_MS, "cpu_ms": SHORT_MS}))
    } else {
        ("/api/compile", json!({}))
    };
    let files = source.files.iter();
    let files =
        files.map(|(path, content)| json!({"path": path, "content": content}));
    let request = json!({
        "language": language,
        "entryFile": source.entry()?,
        "files": files.collect::<Vec<_>>(),
        "stdin": source.stdin,
        "limits": limits,
    });
    let headers = ["Content-Type: application/json", &client(number)];
    let body = request.to_string();
    Ok(server.begin("POST", path, &headers, body))
}
