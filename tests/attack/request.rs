//! A request that attacks the server itself, before any program runs.

use std::collections::BTreeMap;

use sandpiper_testkit::text::{Repeat, Values, fill, repeat, with};
use serde::Deserialize;

use crate::servers::Reply;
use crate::suite::Suite;

/// The shape of a file. `@name@` in a text of it is a value of `set` or
/// `repeat`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    #[serde(default = "post")]
    method: String,
    #[serde(default = "compile")]
    target: String,
    #[serde(default = "json")]
    headers: Vec<String>,
    #[serde(default)]
    body: String,
    /// The whole request instead, line by line; `Content-Length` is not added.
    raw: Option<String>,
    #[serde(default)]
    set: Values,
    #[serde(default)]
    repeat: BTreeMap<String, Repeat>,
    /// A text that the control's answer holds and this one's does not.
    success: String,
    /// Any of these.
    status: Vec<u16>,
    #[serde(default)]
    has: Vec<String>,
    control: Control,
}

/// The difference of a request that is not refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Control {
    #[serde(default)]
    set: Values,
    #[serde(default)]
    repeat: BTreeMap<String, Repeat>,
    headers: Option<Vec<String>>,
}

fn post() -> String {
    "POST".to_owned()
}

fn compile() -> String {
    "/api/compile".to_owned()
}

fn json() -> Vec<String> {
    vec!["Content-Type: application/json".to_owned()]
}

impl Request {
    pub(crate) fn check(&self, suite: &Suite) -> Result<(), String> {
        let mut repeats = self.repeat.clone();
        let values = self.values(suite, &self.set, &repeats)?;
        let mut set = self.set.clone();
        set.extend(self.control.set.clone());
        repeats.extend(self.control.repeat.clone());
        let headers = self.control.headers.as_ref().unwrap_or(&self.headers);
        let other = self.values(suite, &set, &repeats)?;
        let control = self.send(suite, headers, &other)?;
        let success = fill(&self.success, &other)?;
        if !shown(&control).contains(&success) {
            return Err(format!("control: {}", shown(&control)));
        }
        let answer = self.send(suite, &self.headers, &values)?;
        let text = shown(&answer);
        let success = fill(&self.success, &values)?;
        if text.contains(&success) {
            return Err(format!("it succeeded: {text}"));
        }
        let is_expected = self.status.contains(&answer.status)
            && self.has.iter().all(|part| text.contains(part))
            && !text.contains(&values["secret"]);
        if is_expected { Ok(()) } else { Err(text) }
    }

    fn values(
        &self,
        suite: &Suite,
        set: &Values,
        repeats: &BTreeMap<String, Repeat>,
    ) -> Result<Values, String> {
        let mut values = with(suite.values(), set)?;
        repeat(&mut values, repeats);
        Ok(values)
    }

    fn send(
        &self,
        suite: &Suite,
        headers: &[String],
        values: &Values,
    ) -> Result<Reply, String> {
        let server = suite.main();
        if let Some(raw) = &self.raw {
            return Ok(server.raw(fill(&raw.replace('\n', "\r\n"), values)?));
        }
        let headers: Result<Vec<String>, String> =
            headers.iter().map(|header| fill(header, values)).collect();
        let headers = headers?;
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let target = fill(&self.target, values)?;
        let body = fill(&self.body, values)?;
        Ok(server.send(&self.method, &target, &headers, body))
    }
}

/// Status and body, as one text.
fn shown(reply: &Reply) -> String {
    format!("{} {}", reply.status, String::from_utf8_lossy(&reply.body))
}
