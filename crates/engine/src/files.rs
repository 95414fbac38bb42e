//! The files that a run returns.

use sandpiper_languages::SourceFile;
use sandpiper_sandbox::{FilesSpec, Fingerprint, LeftFile, LeftFiles};

use crate::limits::MAX_FILES;

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
        }
    }
}

/// Gives the displays that a runtime has only numbered the names that people
/// read: `figure-1.svg` and so on.
pub(crate) fn named(mut left: LeftFiles) -> LeftFiles {
    let displays = left.files.iter_mut().filter(|file| file.is_display);
    for (file, number) in displays.zip(1..) {
        name_display(file, number);
    }
    left
}

fn name_display(file: &mut LeftFile, number: usize) {
    if let Some((stem, extension)) = file.path.split_once('.')
        && stem.bytes().all(|byte| byte.is_ascii_digit())
    {
        file.path = format!("figure-{number}.{extension}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_get_names() {
        let file = |(path, is_display): &(&str, bool)| LeftFile {
            path: (*path).to_owned(),
            is_display: *is_display,
            content: Vec::new(),
        };
        let files = [
            ("002.svg", true),
            ("007.png", true),
            ("turtle.json", true),
            ("003.svg", false),
        ];
        let files = files.iter().map(file).collect();
        let left = named(LeftFiles { files, skipped: Vec::new() });
        let paths: Vec<_> = left.files.iter().map(|file| &*file.path).collect();
        let expected =
            ["figure-1.svg", "figure-2.png", "turtle.json", "003.svg"];
        assert_eq!(paths, expected);
    }
}
