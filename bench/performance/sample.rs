//! A program of a language, and how to run it without a sandbox: a file of
//! bench/languages.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use sandpiper_testkit::{checkout, entries};
use serde::Deserialize;
use serde_json::json;

/// In its texts `ROUND` is replaced by a new number each time, so that no result is
/// cached.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) language: String,
    pub(crate) image: String,
    /// The number of measurements of each way.
    pub(crate) rounds: usize,
    entry: String,
    files: BTreeMap<String, String>,
    /// The whole output, if it is always the same.
    pub(crate) stdout: Option<String>,
    /// A text that the output must contain.
    #[serde(default)]
    contains: Vec<String>,
    /// A script for sh that runs in the folder of the files, with /proc and /dev.
    pub(crate) stock: Option<String>,
    /// The script builds this program once, and only the program is timed.
    pub(crate) program: Option<String>,
    /// A folder of the repository whose npm packages the script needs, in
    /// `node_modules` beside the files.
    pub(crate) packages: Option<PathBuf>,
    /// Instead of a script: compares with this number of cold boxes.
    pub(crate) cold_boxes: Option<u32>,
    /// Whether it leaves artifacts, which are asked for.
    #[serde(default)]
    pub(crate) artifacts: bool,
    /// The largest allowed ratio to the other way.
    pub(crate) times: Option<f64>,
    /// The largest allowed ratio if the same source is sent again.
    pub(crate) again_times: Option<f64>,
    /// The largest allowed difference to the other way, in milliseconds.
    pub(crate) more_ms: Option<f64>,
}

impl Sample {
    /// Returns all samples, sorted by file name.
    pub(crate) fn all() -> Vec<Self> {
        let paths = entries(&checkout().join("bench/languages"));
        let read = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            let sample = toml::from_str(&text);
            sample.map_err(|error| format!("{}: {error}", path.display()))
        };
        paths.iter().map(read).collect::<Result<_, _>>().unwrap()
    }

    /// Returns the sample with this name.
    pub(crate) fn named(name: &str) -> Self {
        let mut all = Self::all().into_iter();
        all.find(|sample| sample.name == name).expect("the sample")
    }

    /// Returns the files of one round.
    pub(crate) fn files(
        &self,
        round: &str,
    ) -> impl Iterator<Item = (&str, String)> {
        let files = self.files.iter();
        files.map(move |(path, text)| (&**path, text.replace("ROUND", round)))
    }

    /// Returns the body of a request that runs it.
    pub(crate) fn request(&self, round: &str) -> String {
        let files = self.files(round);
        let files: Vec<_> = files
            .map(|(path, content)| json!({"path": path, "content": content}))
            .collect();
        json!({"language": self.language, "entryFile": self.entry, "files": files,
               "artifacts": self.artifacts})
        .to_string()
    }

    /// Fails if this is not the expected output.
    pub(crate) fn check(&self, round: &str, stdout: &str) {
        let of_round = |text: &String| text.replace("ROUND", round);
        if let Some(expected) = &self.stdout {
            assert_eq!(stdout, of_round(expected));
        }
        assert!(self.stdout.is_some() || !self.contains.is_empty());
        for part in self.contains.iter().map(of_round) {
            assert!(stdout.contains(&part), "no {part:?} in {stdout}");
        }
    }
}
