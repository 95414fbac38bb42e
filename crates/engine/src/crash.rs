//! The place of a crash: the innermost call in a submitted file.

use std::collections::HashMap;

use sandpiper_languages::{Plan, Step};
use sandpiper_sandbox::{BoxFile, Inputs, StepSpec};

use crate::Limits;
use crate::attachment::RunAttachment;
use crate::lease::Lease;
use crate::spec;

/// The working directory of every step.
const FOLDER: &str = "/box/";
/// Maximum bytes that are read of the places.
const MAX_OUTPUT: u64 = 64 << 10;
/// Maximum number of places that are looked at. The first ones are of the innermost
/// calls.
const MAX_PLACES: usize = 256;

/// A line of a submitted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The path of the file.
    pub path: String,
    /// From 1.
    pub line: u32,
}

/// Returns the step after a crash as the sandbox runs it.
pub(crate) fn step_spec(limits: &Limits, step: Step, plan: &Plan) -> StepSpec {
    StepSpec {
        output_bytes: MAX_OUTPUT,
        wall_time: limits.crash_time(),
        cpu_time: limits.crash_time(),
        ..spec::step_spec(limits, step, plan)
    }
}

/// Runs the command that prints the places of the calls that led to a crash.
/// Returns the first one in these files.
///
/// The command runs in the program's box with the program's rights, and a program
/// can write what it reads. So its answer is believed in one thing alone: which
/// of the submitted lines it names.
///
/// If the sandbox fails, there is no place: the end of the program is known.
pub(crate) async fn place(
    lease: &mut Lease<'_>,
    command: StepSpec,
    attachment: &RunAttachment,
    files: &[BoxFile],
) -> Option<SourceLine> {
    let mut part = attachment.aside();
    match lease.run(&command, Inputs::default(), &mut part).await {
        Ok(ended) => {
            let places = String::from_utf8_lossy(&ended.stdout.bytes);
            first_in_files(&places, files)
        }
        Err(error) => {
            tracing::error!(%error, "cannot find the line of a crash");
            None
        }
    }
}

/// Returns the first of these places, one a line, that is in one of these files.
fn first_in_files(places: &str, files: &[BoxFile]) -> Option<SourceLine> {
    if places.is_empty() {
        return None;
    }
    // Once: a file can be large, and every place can be in it.
    let lines = files.iter().map(|file| {
        let lines = file.content.split(|&byte| byte == b'\n').count();
        (file.path.as_str(), lines)
    });
    let lines = lines.collect();
    let mut places = places.lines().take(MAX_PLACES);
    places.find_map(|place| in_files(place, &lines))
}

/// Returns the place that a text such as `/box/main.c:7 (discriminator 2)` names,
/// if it is in one of the files, which have so many lines.
fn in_files(text: &str, lines: &HashMap<&str, usize>) -> Option<SourceLine> {
    let text = text.split(" (discriminator ").next()?;
    let (path, line) = text.rsplit_once(':')?;
    let path = relative(path)?;
    let line: u32 = line.parse().ok()?;
    let last = *lines.get(path.as_str())?;
    let is_there = (1..=last).contains(&usize::try_from(line).ok()?);
    is_there.then_some(SourceLine { path, line })
}

/// Returns the path relative to the working directory, without `.` and `..`.
fn relative(path: &str) -> Option<String> {
    let path = path.strip_prefix(FOLDER).unwrap_or(path);
    if path.starts_with('/') {
        return None;
    }
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()?),
            _ => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_submitted_file_is_a_place() {
        let check = |text: &str, expected: Option<(&str, u32)>| {
            let file = |path: &str| BoxFile {
                path: path.to_owned(),
                content: b"1\n2\n3".to_vec(),
            };
            let files = [file("main.c"), file("in/a b.h"), file("a:7")];
            let found = first_in_files(text, &files);
            let expected = expected
                .map(|(path, line)| SourceLine { path: path.to_owned(), line });
            assert_eq!(found, expected, "{text:?}");
        };
        check("/box/main.c:3", Some(("main.c", 3)));
        check("/box/./main.c:3", Some(("main.c", 3)));
        check("main.c:1", Some(("main.c", 1)));
        check("/box/main.c:3 (discriminator 12)", Some(("main.c", 3)));
        check("/box/src/../in/a b.h:2", Some(("in/a b.h", 2)));
        check("/box/a:7:1", Some(("a:7", 1)));
        // Lines that the file does not have, and places that are none.
        for text in [
            "",
            ":",
            "main.c",
            "main.c:",
            "main.c:0",
            "main.c:4",
            "main.c:-1",
            "main.c:?",
            "??:0",
            "??:?",
            "main.c:99999999999",
            "/main.c:1",
            "/usr/include/main.c:1",
            "../main.c:1",
            "/box/../box/main.c:1",
            "other.c:1",
            "main.c :1",
        ] {
            check(text, None);
        }
        // The first one counts, and of many only so many are looked at.
        check("??:0\nmain.c:9\nmain.c:2\nmain.c:1\n", Some(("main.c", 2)));
        let many = "main.c:9\n".repeat(MAX_PLACES - 1);
        check(&format!("{many}main.c:2\n"), Some(("main.c", 2)));
        check(&format!("{many}main.c:9\nmain.c:2\n"), None);
    }
}
