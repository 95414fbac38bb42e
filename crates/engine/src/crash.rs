//! The place of a crash: the innermost call in a submitted file.

use sandpiper_sandbox::{BoxFile, Inputs, SandboxError, StepSpec};

use crate::attachment::RunAttachment;
use crate::lease::Lease;

/// The working directory of every step.
const FOLDER: &str = "/box/";
/// The most that is read of the places. The first ones are of the innermost calls.
const MAX_OUTPUT: u64 = 64 << 10;

/// A line of a submitted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path of the file.
    pub path: String,
    /// From 1.
    pub line: u32,
}

/// Runs the command that prints the places of the calls that led to a crash.
/// Returns the first one in these files.
///
/// The command runs in the program's box with the program's rights, and a program
/// can write what it reads. So its answer is believed in one thing alone: which
/// of the submitted lines it names.
///
/// # Errors
///
/// Returns an error if the sandbox failed.
pub(crate) async fn place(
    lease: &mut Lease<'_>,
    command: StepSpec,
    attachment: &RunAttachment,
    files: &[BoxFile],
) -> Result<Option<Place>, SandboxError> {
    let command = StepSpec { output_bytes: MAX_OUTPUT, ..command };
    let mut part = attachment.aside();
    let ended = lease.run(&command, Inputs::default(), &mut part).await?;
    let places = String::from_utf8_lossy(&ended.stdout.bytes);
    Ok(places.lines().find_map(|line| in_files(line, files)))
}

/// Returns the place that a line such as `/box/main.c:7 (discriminator 2)` names,
/// if it is in one of these files.
fn in_files(text: &str, files: &[BoxFile]) -> Option<Place> {
    let text = text.split(" (discriminator ").next()?;
    let (path, line) = text.rsplit_once(':')?;
    let path = relative(path)?;
    let file = files.iter().find(|file| file.path == path)?;
    let line: u32 = line.parse().ok()?;
    let lines = file.content.split(|&byte| byte == b'\n').count();
    let is_there = (1..=lines).contains(&usize::try_from(line).ok()?);
    is_there.then_some(Place { path, line })
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
            let found = in_files(text, &files);
            let expected = expected
                .map(|(path, line)| Place { path: path.to_owned(), line });
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
    }
}
