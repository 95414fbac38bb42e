//! `sandpiper doctor`: reports what this host supports, and how to fix what is
//! missing.

mod checks;
mod fleet;
mod languages;

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ExitCode, Stdio};

use sandpiper_engine::Host;
use tokio::runtime;
use tracing::Level;

use crate::config::{self, CommonArgs, DoctorArgs};
use crate::images;
use crate::logging::{self, Target};
use crate::machine::Machine;

pub(crate) use checks::boxes_fit;

/// Prints the report. Fails if something is missing that every program needs.
pub(crate) fn doctor(
    common: &CommonArgs,
    args: &DoctorArgs,
) -> anyhow::Result<ExitCode> {
    logging::start(common, Target::Stderr, Level::ERROR)?;
    let machine = Machine::read();
    let binary = std::env::current_exe()?;
    let mut findings = checks::machine(&machine, &binary.to_string_lossy());
    findings.extend(languages::languages(common, args)?);
    let boxes = args.all_boxes(machine.memory_bytes);
    findings.push(boxes_fit(
        boxes,
        args.box_memory_bytes(),
        machine.memory_bytes,
    ));
    findings.push(checks::queues_fit(boxes, &machine));
    if args.fleet.fleet {
        findings.extend(fleet::fleet(&args.fleet)?);
    }
    print(&findings)?;
    if args.programs {
        let cgroup = args.cgroup.as_deref();
        samples(common, cgroup, |finding| {
            print(std::slice::from_ref(&finding))?;
            findings.push(finding);
            Ok(())
        })?;
    }
    // Last, since it drops root.
    let settings =
        config::host_settings(common.data_dir()?, args.cgroup.clone(), 1, 0);
    let host = Host::set_up(&settings);
    let of_host = checks::host(host.as_ref());
    print(&of_host)?;
    findings.extend(of_host);
    if let Ok(host) = host {
        let runtime = runtime::Builder::new_current_thread().build()?;
        runtime.block_on(host.close());
    }

    let worst = findings.iter().map(|finding| finding.grade).max();
    Ok(match worst {
        Some(Grade::Missing) => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}

fn print(findings: &[Finding]) -> io::Result<()> {
    let text: String = findings.iter().map(ToString::to_string).collect();
    io::stdout().write_all(text.as_bytes())
}

/// Runs the sample programs of all languages whose images are built, and
/// reports each when it ends.
fn samples(
    common: &CommonArgs,
    cgroup: Option<&Path>,
    mut report: impl FnMut(Finding) -> io::Result<()>,
) -> anyhow::Result<()> {
    let data_dir = common.data_dir()?;
    let mut command = images::this_program(&data_dir, &common.folders());
    if let Some(cgroup) = cgroup {
        command.arg("--cgroup").arg(cgroup);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    for line in child.stdout.take().into_iter().flat_map(|pipe| {
        // The output of a program is quoted, so it contains no newline.
        BufReader::new(pipe).lines()
    }) {
        let line = line?;
        let (id, found) = line.split_once(": ").unwrap_or(("", &line));
        report(checks::language(id, found))?;
    }
    let output = child.wait_with_output()?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        let why = String::from_utf8_lossy(&output.stderr);
        report(Finding::missing("sample programs", why.trim()))?;
    }
    Ok(())
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grade {
    /// Nothing to do.
    Good,
    /// Programs run, but with weaker isolation or limits.
    Weak,
    /// Programs do not run.
    Missing,
}

/// One line of the report, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) grade: Grade,
    /// The part of the host, such as `control groups`.
    pub(crate) subject: String,
    /// The state of that part.
    pub(crate) found: String,
    /// Commands or advice, one per line; empty if there is nothing to fix.
    pub(crate) fix: String,
}

impl Finding {
    fn new(grade: Grade, subject: &str, found: impl Into<String>) -> Self {
        let (subject, found) = (subject.to_owned(), found.into());
        Self { grade, subject, found, fix: String::new() }
    }

    pub(crate) fn good(subject: &str, found: impl Into<String>) -> Self {
        Self::new(Grade::Good, subject, found)
    }

    pub(crate) fn weak(subject: &str, found: impl Into<String>) -> Self {
        Self::new(Grade::Weak, subject, found)
    }

    pub(crate) fn missing(subject: &str, found: impl Into<String>) -> Self {
        Self::new(Grade::Missing, subject, found)
    }

    /// Adds how to fix it.
    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grade = match self.grade {
            Grade::Good => "ok     ",
            Grade::Weak => "weak   ",
            Grade::Missing => "MISSING",
        };
        writeln!(f, "{grade}  {}: {}", self.subject, self.found)?;
        for line in self.fix.lines() {
            writeln!(f, "           {line}")?;
        }
        Ok(())
    }
}
