//! A program of a language, and how a person would run it without us: a file
//! of bench/languages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

/// `ROUND` in any text of it is another number each time, so that nothing can
/// have been compiled before.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) language: String,
    pub(crate) image: String,
    /// How often each way is timed.
    pub(crate) rounds: usize,
    entry: String,
    files: BTreeMap<String, String>,
    /// The whole output, if it is always the same.
    pub(crate) stdout: Option<String>,
    /// A text that the output holds in any case.
    #[serde(default)]
    contains: Vec<String>,
    /// A script for sh, in the folder of the files, with /proc and /dev there.
    pub(crate) stock: Option<String>,
    /// The script builds this program once, and starting it is what is timed.
    pub(crate) program: Option<String>,
    /// A folder of this project whose packages of npm the script needs, in
    /// `node_modules` beside the files.
    pub(crate) packages: Option<PathBuf>,
    /// In place of a script: so many boxes that are not ready.
    pub(crate) cold_boxes: Option<u32>,
    /// How much of the other way's time it may take.
    pub(crate) times: Option<f64>,
    /// The same, when the same source comes again.
    pub(crate) again_times: Option<f64>,
    /// Or how many milliseconds more.
    pub(crate) more_ms: Option<f64>,
}

impl Sample {
    /// Every sample, in the order of their files' names.
    pub(crate) fn all() -> Vec<Self> {
        let folder = repository().join("bench/languages");
        let entries = fs::read_dir(folder).unwrap();
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let read = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            let sample = toml::from_str(&text);
            sample.map_err(|error| format!("{}: {error}", path.display()))
        };
        paths.iter().map(read).collect::<Result<_, _>>().unwrap()
    }

    /// The one of this name.
    pub(crate) fn named(name: &str) -> Self {
        let mut all = Self::all().into_iter();
        all.find(|sample| sample.name == name).expect("the sample")
    }

    /// The files of one round.
    pub(crate) fn files(
        &self,
        round: &str,
    ) -> impl Iterator<Item = (&str, String)> {
        let files = self.files.iter();
        files.map(move |(path, text)| (&**path, text.replace("ROUND", round)))
    }

    /// The body of a request to run it.
    pub(crate) fn request(&self, round: &str) -> String {
        let files = self.files(round);
        let files: Vec<_> = files
            .map(|(path, content)| json!({"path": path, "content": content}))
            .collect();
        let (language, entry) = (&self.language, &self.entry);
        json!({"language": language, "entryFile": entry, "files": files})
            .to_string()
    }

    /// Fails if that is not what the program prints.
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

/// The folder of the whole project.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
