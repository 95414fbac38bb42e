//! A program of a language, and how a person would run it without us: a file
//! of bench/languages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// `ROUND` in any text of it is another number each time, so that nothing can
/// have been compiled before.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) language: String,
    pub(crate) image: String,
    /// How often each way is timed.
    pub(crate) rounds: usize,
    pub(crate) entry: String,
    pub(crate) files: BTreeMap<String, String>,
    /// The whole output, where it is always the same.
    pub(crate) stdout: Option<String>,
    /// What the output holds in any case.
    #[serde(default)]
    pub(crate) contains: Vec<String>,
    /// A script for sh, in the folder of the files, with /proc and /dev there.
    /// Without it, the sample is compared with boxes.
    pub(crate) stock: Option<String>,
    /// A folder of this project whose packages of npm the script needs, in
    /// `node_modules` beside the files.
    pub(crate) packages: Option<PathBuf>,
    /// How much of the script's time it may take.
    pub(crate) times: Option<f64>,
    /// The same, when the same source comes again.
    pub(crate) again_times: Option<f64>,
    /// How many times that of a box which is not ready it may take, and how
    /// many milliseconds more.
    pub(crate) cold_boxes: Option<f64>,
    #[serde(default)]
    pub(crate) more_ms: f64,
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
            toml::from_str(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        paths.iter().map(read).collect()
    }

    /// The one of this name.
    pub(crate) fn named(name: &str) -> Self {
        let mut all = Self::all().into_iter();
        all.find(|sample| sample.name == name).expect("the sample")
    }

    /// The files of one round.
    pub(crate) fn files(&self, round: &str) -> BTreeMap<String, String> {
        let of_round = |(path, text): (&String, &String)| {
            (path.clone(), text.replace("ROUND", round))
        };
        self.files.iter().map(of_round).collect()
    }

    /// The body of a request to run it.
    pub(crate) fn request(&self, round: &str) -> String {
        let file = |(path, content): (String, String)| serde_json::json!({"path": path, "content": content});
        let files = self.files(round).into_iter().map(file);
        serde_json::json!({
            "language": self.language,
            "entryFile": self.entry,
            "files": files.collect::<Vec<_>>(),
        })
        .to_string()
    }

    /// Fails where that is not what the program prints.
    pub(crate) fn check(&self, round: &str, stdout: &str) {
        if let Some(expected) = &self.stdout {
            assert_eq!(
                stdout,
                expected.replace("ROUND", round),
                "{}",
                self.name
            );
        }
        assert!(self.stdout.is_some() || !self.contains.is_empty());
        for part in &self.contains {
            let part = part.replace("ROUND", round);
            let name = &self.name;
            assert!(stdout.contains(&part), "{name}: no {part:?} in {stdout}");
        }
    }
}

/// The folder of the whole project.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
