//! Runs a process while perf records what the whole machine does, and reads
//! what it recorded.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::event::{Event, FIELDS, POINTS};
use crate::window::{Parents, Window, Windows};

/// Fails where this machine or this user has no perf, with words for whoever
/// started the benchmark.
pub(crate) fn can_be_had() -> Result<(), String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut record = record(file.path());
    let output = record.arg("true").output().map_err(|error| {
        format!("perf cannot be started ({error}): scripts/setup-bench")
    })?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "perf cannot trace this machine, which takes root and a kernel with \
         trace points:\n{}",
        why.trim()
    ))
}

/// What the process does between its marks.
pub(crate) fn windows(
    command: &mut Command,
    marks: usize,
    server: Option<i32>,
) -> Vec<Window> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let parents = parents();
    let mut record = record(file.path());
    record.arg(command.get_program()).args(command.get_args());
    assert!(record.status().unwrap().success(), "{record:?} failed");
    let mut script = Command::new("perf");
    script.args(["script", "--ns", "--fields", FIELDS, "--input"]);
    let mut script = script
        .arg(file.path())
        .stdout(Stdio::piped())
        // It says which kinds of events it has no text for.
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(script.stdout.take().unwrap());
    let mut found = Vec::new();
    let mut take = |window| found.push(window);
    let mut windows = Windows::new(marks, parents, server, &mut take);
    for line in output.lines() {
        if let Some(event) = Event::parse(&line.unwrap()) {
            windows.add(event);
        }
    }
    assert!(script.wait().unwrap().success(), "perf cannot read its record");
    found
}

fn record(file: &std::path::Path) -> Command {
    let mut command = Command::new("perf");
    command.args(["record", "--quiet", "--all-cpus", "--mmap-pages=8M"]);
    command.args(["--no-buildid", "--output"]).arg(file);
    // One list: the option behind it is for the last that is named. Without
    // it, what perf writes is recorded and gives it more to write.
    command.args(["--event", &POINTS.join(","), "--exclude-perf", "--"]);
    command
}

/// Those of the processes that are there already.
fn parents() -> Parents {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let of_entry = |entry: fs::DirEntry| {
        let process: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // Behind the name, which may hold anything: state, parent.
        let (_, rest) = stat.rsplit_once(')')?;
        Some((process, rest.split_whitespace().nth(1)?.parse().ok()?))
    };
    entries.filter_map(of_entry).collect::<BTreeMap<_, _>>()
}
