//! Recipes with the packages that an operator adds.

use crate::ImageError;
use crate::addition::{Addition, texts};
use crate::recipe::{Recipe, hash};

/// The build script of an image with packages of pip or npm that an operator
/// adds, and the one that resolves them.
const ADD: &str = include_str!("add.sh");
const LOCK: &str = include_str!("lock.sh");
/// The files in the repository that define npm for both: the name there, and the
/// path.
const NPM: [(&str, &str); 2] =
    [("node.txt", "images/node.txt"), ("npm.sh", "images/npm.sh")];

impl Recipe {
    /// Returns the recipe with the packages of `addition`. `read` is that of
    /// [`Recipe::parse`].
    ///
    /// # Errors
    /// The image has no Python, and pip would add packages of it.
    pub fn with(
        &self,
        addition: Addition,
        read: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, ImageError> {
        let mut recipe = self.clone();
        recipe.add_packages(&addition)?;
        if let Some((text, lock)) = &addition.lock {
            let own = recipe.build_script.replace(ADD.as_bytes().to_vec());
            let own = own.map(|script| ("recipe.sh", script));
            let pip = lock.pip.join("\n") + "\n";
            let files = [
                (!lock.pip.is_empty()).then(|| ("pip.txt", pip.into_bytes())),
                (!lock.npm.is_empty())
                    .then(|| ("package-lock.json", lock.npm.clone().into())),
            ];
            recipe.add_files(files.into_iter().flatten(), &addition, &read)?;
            let own = own.into_iter();
            let own = own.map(|(name, text)| (format!("/build/{name}"), text));
            recipe.files.extend(own);
            let script = recipe.build_script.as_deref();
            recipe.hash = hash(&self.hash, text, &recipe.files, script);
        }
        recipe.hash = hash(&recipe.hash, &addition.text, &[], None);
        recipe.addition = Some((addition, self.hash.clone()));
        Ok(recipe)
    }

    /// Returns the recipe of a root filesystem in which the packages of pip and
    /// npm that `addition` names are resolved.
    ///
    /// # Errors
    /// As those of [`Recipe::with`].
    pub(crate) fn resolving(
        &self,
        addition: &Addition,
        read: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, ImageError> {
        let mut recipe = self.clone();
        recipe.files.clear();
        recipe.definition.build_packages.clear();
        recipe.definition.versions.clear();
        recipe.add_packages(addition)?;
        let pip = texts(&addition.pip).join("\n") + "\n";
        let pip = (!addition.pip.is_empty()).then_some(("pip.txt", pip));
        let files = pip.map(|(name, text)| (name, text.into_bytes()));
        recipe.add_files(files.into_iter(), addition, &read)?;
        recipe.build_script = Some(LOCK.as_bytes().to_vec());
        recipe.hash = hash(&self.hash, LOCK, &recipe.files, None);
        Ok(recipe)
    }

    /// Adds Debian's packages, and those that pip and npm need in the build.
    fn add_packages(&mut self, addition: &Addition) -> Result<(), ImageError> {
        let definition = &mut self.definition;
        let added = texts(&addition.packages);
        definition.build_packages.retain(|name| !added.contains(name));
        definition.packages.extend(added);
        if !addition.needs_lock() {
            return Ok(());
        }
        let has_python =
            definition.packages.iter().any(|it| it.starts_with("python3"));
        if !addition.pip.is_empty() && !has_python {
            let place = addition.place_of(&addition.pip[0].text);
            let reason = "the image has no Python";
            return Err(ImageError::Addition(format!("{place}: {reason}")));
        }
        for name in ["ca-certificates", "python3-pip"] {
            let is_there = [&definition.packages, &definition.build_packages]
                .iter()
                .any(|names| names.iter().any(|own| own == name));
            if !is_there {
                definition.build_packages.push(name.to_owned());
            }
        }
        Ok(())
    }

    /// Adds files of the folder that pip and npm work in.
    fn add_files(
        &mut self,
        files: impl Iterator<Item = (&'static str, Vec<u8>)>,
        addition: &Addition,
        read: &impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<(), ImageError> {
        let files: Vec<_> = files.collect();
        let mut add = |name: &str, text: Vec<u8>| {
            self.files.push((format!("/build/addition/{name}"), text));
        };
        for (name, text) in files {
            add(name, text);
        }
        if !addition.npm.is_empty() {
            for (name, path) in NPM {
                let text = read(path).ok_or_else(|| {
                    ImageError::Addition(format!("there is no file {path}"))
                })?;
                add(name, text);
            }
            add("package.json", addition.package_json().into_bytes());
        }
        Ok(())
    }

    /// Returns the packages that an operator added.
    pub fn addition(&self) -> Option<&Addition> {
        self.addition.as_ref().map(|(addition, _)| addition)
    }

    /// Returns the hash of the recipe without what an operator added.
    pub(crate) fn base(&self) -> &str {
        self.addition.as_ref().map_or(&self.hash, |(_, base)| base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        suite = "trixie"
        architectures = ["amd64"]
        packages = ["libstdc++-14-dev"]
        build_packages = ["gcc"]
        build = "build.sh"
    "#;

    #[test]
    fn an_addition_changes_the_hash_and_the_packages() {
        let base =
            Recipe::parse("native", GOOD, |_| Some(b"make".to_vec())).unwrap();
        let with = |text: &str| {
            let addition = Addition::parse("native", "/d/native.toml", text);
            base.with(addition.unwrap(), |_| None)
        };
        let one = with("packages = [\"jq\", \"gcc\"]").unwrap();
        let other = with("packages = [\"jq\"]").unwrap();
        assert_eq!(one.hash().len(), 12);
        for (a, b) in [(&one, &base), (&one, &other), (&other, &base)] {
            assert_ne!(a.hash(), b.hash());
        }
        assert_eq!(one.base(), base.hash());
        assert_eq!(one.build_script, base.build_script);
        assert_eq!(one.definition.packages, ["libstdc++-14-dev", "jq", "gcc"]);
        // It is not removed after the build, and no package is installed twice.
        assert!(one.definition.build_packages.is_empty());
        let error = with("\npip = [\"attrs==1\"]").unwrap_err().to_string();
        let expected = "/d/native.toml:2: attrs==1: the image has no Python";
        assert_eq!(error, expected);
    }
}
