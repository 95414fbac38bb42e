//! The files that a run returns.

use std::collections::HashSet;

use sandpiper_languages::SourceFile;
use sandpiper_sandbox::{
    FilesSpec, Fingerprint, LeftFile, LeftFiles, SkippedFile,
};

use crate::limits::{FILES_TIME, MAX_FILES};

/// The files that a run is to return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesWanted {
    /// Patterns of paths; see [`FilesSpec::patterns`].
    pub patterns: Vec<String>,
    /// Maximum bytes of all files.
    pub max_bytes: u64,
}

impl FilesWanted {
    /// Returns the files of a run whose submission has `submitted`.
    pub(crate) fn spec(&self, submitted: &[SourceFile]) -> FilesSpec {
        let submitted = submitted
            .iter()
            .map(|file| Fingerprint::of(&file.path, &file.content));
        FilesSpec {
            patterns: self.patterns.clone(),
            submitted: submitted.collect(),
            max_files: MAX_FILES,
            max_bytes: self.max_bytes,
            wall_time: FILES_TIME,
        }
    }
}

/// A file that a run left, as its client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFile {
    /// The path below the working directory. A display that its runtime has only
    /// numbered is `figure-1.svg` and so on. No two files have the same path.
    pub path: String,
    /// The number of the display, from 1. The files of one display have the same
    /// number: a picture, and the recording of how it was drawn.
    pub display: Option<usize>,
    /// All bytes.
    pub content: Vec<u8>,
}

/// The files that a run left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFiles {
    /// The displays in their order, then the others by path.
    pub files: Vec<RunFile>,
    /// Files and folders that were left out: the first of them.
    pub skipped: Vec<SkippedFile>,
}

impl From<LeftFiles> for RunFiles {
    fn from(left: LeftFiles) -> Self {
        let mut last = (String::new(), 0);
        let files = left.files.into_iter().map(|file| number(file, &mut last));
        let mut files: Vec<_> = files.collect();
        rename_displays(&mut files);
        Self { files, skipped: left.skipped }
    }
}

/// Gives each display a path that no other file has.
fn rename_displays(files: &mut [RunFile]) {
    let others = files.iter().filter(|file| file.display.is_none());
    let mut taken: HashSet<_> = others.map(|file| file.path.clone()).collect();
    for display in files.iter_mut().filter(|file| file.display.is_some()) {
        while !taken.insert(display.path.clone()) {
            display.path.insert_str(0, "display-");
        }
    }
}

/// Returns a file with its number. `last` has the stem and the number of the
/// display before.
fn number(file: LeftFile, last: &mut (String, usize)) -> RunFile {
    let LeftFile { path, is_display, content } = file;
    if !is_display {
        return RunFile { path, display: None, content };
    }
    let (stem, extension) = path.split_once('.').unwrap_or((&path, ""));
    if last.1 == 0 || last.0 != stem {
        *last = (stem.to_owned(), last.1 + 1);
    }
    let display = last.1;
    let is_number = stem.bytes().all(|byte| byte.is_ascii_digit());
    let path = if is_number && !extension.is_empty() {
        format!("figure-{display}.{extension}")
    } else {
        path
    };
    RunFile { path, display: Some(display), content }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_get_numbers_and_names() {
        let check = |left: &[&str], expected: &[(&str, usize)]| {
            let files = left.iter().map(|path| LeftFile {
                path: (*path).to_owned(),
                is_display: true,
                content: Vec::new(),
            });
            let left =
                LeftFiles { files: files.collect(), skipped: Vec::new() };
            let files = RunFiles::from(left).files;
            let found = files.iter().map(|file| {
                (file.path.as_str(), file.display.unwrap_or_default())
            });
            assert_eq!(found.collect::<Vec<_>>(), expected, "{expected:?}");
        };
        check(&[], &[]);
        check(&["002.svg"], &[("figure-1.svg", 1)]);
        check(
            &["002.svg", "007.png"],
            &[("figure-1.svg", 1), ("figure-2.png", 2)],
        );
        // A drawing and its recording.
        check(
            &["001.json", "001.svg", "002.svg"],
            &[("figure-1.json", 1), ("figure-1.svg", 1), ("figure-2.svg", 2)],
        );
        check(&["a.svg", "1", ""], &[("a.svg", 1), ("1", 2), ("", 3)]);
    }

    #[test]
    fn other_files_keep_their_names() {
        let check = |displays: &[&str], others: &[&str], expected: &[&str]| {
            let file = |path: &str, is_display| {
                let path = path.to_owned();
                LeftFile { path, is_display, content: vec![1] }
            };
            let displays = displays.iter().map(|path| file(path, true));
            let others = others.iter().map(|path| file(path, false));
            let files = displays.chain(others).collect();
            let left = LeftFiles { files, skipped: Vec::new() };
            let files = RunFiles::from(left).files;
            let found: Vec<_> = files.iter().map(|file| &file.path).collect();
            assert_eq!(found, expected, "{expected:?}");
        };
        check(&[], &["001.svg"], &["001.svg"]);
        check(
            &["001.svg"],
            &["display-figure-1.svg", "figure-1.svg"],
            &[
                "display-display-figure-1.svg",
                "display-figure-1.svg",
                "figure-1.svg",
            ],
        );
        check(
            &["001.svg", "figure-1.svg"],
            &[],
            &["figure-1.svg", "display-figure-1.svg"],
        );
    }
}
