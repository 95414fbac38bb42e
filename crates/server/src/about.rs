//! `/embed/about/{language}`: a language as it is here, for the editor page.

use std::time::Duration;

use http::StatusCode;
use sandpiper_engine::{Limits, LowerLimits};
use schemars::JsonSchema;
use serde::Serialize;

use crate::execution::Runner;
use crate::http::{Answer, failure, json};

/// Answers with the language of this id.
pub(crate) fn answer(runner: &impl Runner, id: &str) -> Answer {
    let mut languages = runner.catalog().languages();
    let Some(language) = languages.find(|language| language.id() == id) else {
        return failure(StatusCode::NOT_FOUND, "not found");
    };
    let versions = runner.versions(id);
    let mut versions: Vec<Version<'_>> = versions
        .iter()
        .map(|(name, version)| Version { name, version })
        .collect();
    // The language itself is the first.
    let order =
        |it: &Version<'_>| (it.name != language.name(), it.name.to_lowercase());
    versions.sort_by_key(order);
    let about = About {
        title: language.title(),
        versions,
        limits: LimitsOfRun::of(&runner.limits(
            id,
            false,
            &LowerLimits::default(),
        )),
    };
    match serde_json::to_string(&about) {
        Ok(body) => json(StatusCode::OK, body),
        Err(_) => failure(StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
    }
}

/// The answer of `/embed/about/{language}`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct About<'a> {
    /// The name of the language, for people.
    title: &'a str,
    /// Tools and libraries; that of the language's own name is the first.
    versions: Vec<Version<'a>>,
    limits: LimitsOfRun,
}

#[derive(Serialize, JsonSchema)]
struct Version<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct LimitsOfRun {
    /// Wall clock of the program.
    wall_ms: u64,
    /// CPU time of all its processes.
    cpu_ms: u64,
    /// Wall clock of the compiler, if there is one.
    compile_wall_ms: u64,
    /// Memory of all processes and files.
    memory_mib: u64,
    /// stdout and stderr, each.
    output_kib: u64,
    /// One file.
    file_mib: u64,
    /// All files that are written.
    disk_mib: u64,
    /// Processes and threads.
    processes: u32,
}

impl LimitsOfRun {
    fn of(limits: &Limits) -> Self {
        let mib = |bytes| bytes >> 20;
        Self {
            wall_ms: ms(limits.run_wall_time),
            cpu_ms: ms(limits.run_cpu_time),
            compile_wall_ms: ms(limits.compile_wall_time),
            memory_mib: mib(limits.memory_bytes),
            output_kib: limits.output_bytes >> 10,
            file_mib: mib(limits.file_bytes),
            disk_mib: mib(limits.disk_bytes),
            processes: limits.processes,
        }
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
