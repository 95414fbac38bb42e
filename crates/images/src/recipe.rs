//! Recipes of images: `image.toml` and the files that it names, and the hash
//! that names the image.

use std::collections::BTreeMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::ImageError;
use crate::addition::Addition;

/// The version of the builder. It must change if the builder makes a different
/// image from the same recipe.
const FORMAT: &str = "sandpiper image 1";

/// The contents of one image.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) definition: ImageDefinition,
    /// The absolute path in the image and the contents of every added file.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// The script that runs in the image after its packages are installed.
    pub(crate) build_script: Option<Vec<u8>>,
    /// The packages that an operator adds, and the hash of the recipe without
    /// them.
    pub(crate) addition: Option<(Addition, String)>,
}

/// The contents of `image.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageDefinition {
    /// The code name of the Debian release.
    pub(crate) suite: String,
    /// Debian's names of the architectures that have all packages.
    architectures: Vec<String>,
    /// Debian packages of the image.
    pub(crate) packages: Vec<String>,
    /// Debian packages that only the build script needs. They are removed after
    /// it, with the dependencies that no other package needs.
    #[serde(default)]
    pub(crate) build_packages: Vec<String>,
    /// Patterns of paths that dpkg leaves out, in addition to the builder's.
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
    /// The path in the repository of a shell script that runs in the image, in
    /// `/build`. It installs to `/opt/sandpiper`. If it prints a line that
    /// begins with `==> `, the rest of that line is shown as progress.
    build: Option<String>,
    /// For each toolchain a shell command that runs in the finished image, and
    /// whose first line of output is the version.
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, String>,
    /// Files that are added before the script runs: the absolute path in the
    /// image, and the path in the repository. `/build` is removed in the end. It
    /// is the script's home, with the host's settings of pip and npm.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

impl Recipe {
    /// Reads the recipe of the image `name` from the text of its `image.toml`.
    /// `read` returns the contents of a file by its path in the repository, such
    /// as `images/python/build.sh`.
    ///
    /// # Errors
    /// The text is no valid recipe, or names a file that does not exist.
    pub fn parse(
        name: &str,
        text: &str,
        read: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, ImageError> {
        let wrong = |reason: String| ImageError::Recipe {
            image: name.to_owned(),
            reason,
        };
        let definition: ImageDefinition =
            toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        definition.check(name).map_err(wrong)?;
        let open = |path: &String| {
            read(path).ok_or_else(|| wrong(format!("there is no file {path}")))
        };
        let files = definition
            .files
            .iter()
            .map(|(target, source)| Ok((target.clone(), open(source)?)))
            .collect::<Result<Vec<_>, ImageError>>()?;
        let build_script = definition.build.as_ref().map(open).transpose()?;
        let hash = hash(name, text, &files, build_script.as_deref());
        Ok(Self {
            name: name.to_owned(),
            hash,
            definition,
            files,
            build_script,
            addition: None,
        })
    }

    /// Returns the image's name, as languages refer to it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns twelve hexadecimal digits of the hash over the name, the recipe,
    /// its files, the architecture and the builder's version.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the name of the image's folder in the store.
    pub(crate) fn folder(&self) -> String {
        format!("{}-{}", self.name, self.hash)
    }

    /// Returns whether the packages exist for this architecture.
    pub(crate) fn serves(&self, architecture: &str) -> bool {
        self.definition.architectures.iter().any(|name| name == architecture)
    }
}

impl ImageDefinition {
    fn check(&self, image: &str) -> Result<(), String> {
        if !is_plain(image) || image.contains(':') {
            return Err("its name is not a plain word".to_owned());
        }
        let names = [&self.packages, &self.build_packages, &self.architectures]
            .into_iter()
            .flatten()
            .chain([&self.suite]);
        for name in names {
            if !is_plain(name) {
                return Err(format!("{name:?} is not a plain word"));
            }
        }
        for target in self.files.keys() {
            let mut segments = target.split('/');
            if segments.next() != Some("")
                || segments.any(|part| matches!(part, "" | "." | ".."))
            {
                return Err(format!("{target:?} is not an absolute path"));
            }
        }
        for name in self.versions.keys() {
            if name.is_empty() || name.contains(char::is_control) {
                return Err(format!("{name:?} is not the name of a toolchain"));
            }
        }
        for pattern in &self.exclude {
            if !pattern.starts_with('/') || pattern.contains('\n') {
                return Err(format!("{pattern:?} is not a path pattern"));
            }
        }
        Ok(())
    }
}

/// Returns whether a name has no character that could mean something to apt or to
/// a shell.
pub(crate) fn is_plain(text: &str) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_alphanumeric() || b"+-.:".contains(&byte);
    !text.is_empty() && text.bytes().all(fits) && !text.starts_with(['-', '.'])
}

/// Returns Debian's name of this machine's architecture.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "i386",
        "powerpc64" => "ppc64el",
        other => other,
    }
}

/// Hashes every part after its length, so that two different recipes never hash
/// the same bytes.
pub(crate) fn hash(
    name: &str,
    text: &str,
    files: &[(String, Vec<u8>)],
    build_script: Option<&[u8]>,
) -> String {
    let head = [FORMAT, architecture(), name, text];
    let mut parts: Vec<&[u8]> = head.map(str::as_bytes).to_vec();
    for (target, content) in files {
        parts.push(target.as_bytes());
        parts.push(content);
    }
    parts.extend(build_script);
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        suite = "trixie"
        architectures = ["amd64", "arm64"]
        packages = ["gcc", "libstdc++-14-dev"]
        build = "build.sh"
        [files]
        "/build/cc.c" = "cc.c"
    "#;

    fn read(path: &str) -> Option<Vec<u8>> {
        matches!(path, "build.sh" | "cc.c").then(|| path.as_bytes().to_vec())
    }

    fn refused(name: &str, text: &str, reason: &str) {
        let message = Recipe::parse(name, text, read).unwrap_err().to_string();
        assert!(message.contains(reason), "{message:?} lacks {reason:?}");
    }

    #[test]
    fn reads_files_and_script() {
        let recipe = Recipe::parse("native", GOOD, read).unwrap();
        assert_eq!(recipe.folder(), format!("native-{}", recipe.hash()));
        assert_eq!(recipe.hash().len(), 12);
        assert_eq!(recipe.files[0].0, "/build/cc.c");
        assert_eq!(recipe.build_script.as_deref(), Some(&b"build.sh"[..]));
        assert!(recipe.serves("arm64") && !recipe.serves("riscv64"));
    }

    #[test]
    fn every_input_changes_the_hash() {
        let hash = |text: &str, suffix: &str| {
            let read = |path: &str| {
                Some([path.as_bytes(), suffix.as_bytes()].concat())
            };
            Recipe::parse("native", text, read).unwrap().hash
        };
        let base = hash(GOOD, "");
        assert_eq!(base, hash(GOOD, ""));
        assert_ne!(base, hash(GOOD, "x"), "contents");
        assert_ne!(base, hash(&GOOD.replace("gcc", "clang"), ""), "text");
    }

    #[test]
    fn says_what_is_wrong() {
        refused("native", "", "missing field");
        refused("native", &format!("extra = 1\n{GOOD}"), "unknown field");
        refused("../native", GOOD, "not a plain word");
        refused("native", &GOOD.replace("trixie", "a b"), "\"a b\" is not");
        refused("native", &GOOD.replace("gcc", "--hook"), "not a plain");
        refused("native", &GOOD.replace("gcc", "a,b"), "not a plain");
        refused("native", &GOOD.replace("\"cc.c\"", "\"x.c\""), "no file x.c");
        refused("native", &GOOD.replace("build.sh", "b.sh"), "no file b.sh");
        refused("native", &GOOD.replace("/build/cc", "build/cc"), "absolute");
        refused("native", &GOOD.replace("/build/cc", "/b/../cc"), "absolute");
        let pattern = format!("exclude = [\"usr/*\"]\n{GOOD}");
        refused("native", &pattern, "not a path pattern");
    }
}
