//! A server for each language under test, so that one language that is not
//! ready fails its own programs alone.

use std::collections::BTreeMap;

#[path = "../api/reply.rs"]
#[allow(dead_code, reason = "shared with the api tests, which use more")]
mod reply;
#[path = "../api/server.rs"]
#[allow(dead_code, reason = "shared with the api tests, which use more")]
mod server;

pub(crate) use server::Server;

/// Running servers, by language. They end with the thread that started them.
pub(crate) struct Servers(BTreeMap<String, Server>);

impl Servers {
    pub(crate) fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// Starts one for each of `languages`.
    pub(crate) fn start<'a>(languages: impl Iterator<Item = &'a str>) -> Self {
        let mut servers = BTreeMap::new();
        for language in languages {
            let start = || {
                let only = format!("--languages={language}");
                let flags = [
                    "--compile-rate-limit=0",
                    "--boxes=4",
                    "--queue=1000",
                    "--queue-wait=600s",
                    &only,
                ];
                Server::spawn(&flags, None)
            };
            servers.entry(language.to_owned()).or_insert_with(start);
        }
        Self(servers)
    }

    /// The server of `language`, when that language is ready.
    pub(crate) fn of(&self, language: &str) -> Result<&Server, String> {
        let server = self.0.get(language).ok_or("no server was started")?;
        server.wait_until_ready();
        Ok(server)
    }
}
