//! Packages that an operator adds to an image: `<image>.toml`, and beside it the
//! lock with a hash for each package of pip and npm.

use serde::Deserialize;
use toml::Spanned;

use crate::error::ImageError;
use crate::lock::Lock;
use crate::recipe::{architecture, is_plain};

/// The additions to one image, checked.
#[derive(Clone, Debug)]
pub struct Addition {
    image: String,
    path: String,
    pub(crate) text: String,
    pub(crate) packages: Vec<Entry>,
    pub(crate) pip: Vec<Entry>,
    pub(crate) npm: Vec<Entry>,
    check: Option<Entry>,
    /// The text of the lock, and the lock. None if nothing needs one.
    pub(crate) lock: Option<(String, Lock)>,
}

/// A value, and the line of the file that it is in.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) text: String,
    line: usize,
}

/// The contents of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AdditionDefinition {
    /// Debian packages, of the image's suite.
    #[serde(default)]
    packages: Vec<Spanned<String>>,
    /// Packages for pip, as `name==version`.
    #[serde(default)]
    pip: Vec<Spanned<String>>,
    /// Packages of npm, as `name@version`.
    #[serde(default)]
    npm: Vec<Spanned<String>>,
    /// A program that must end with the exit code 0 in the finished image.
    check: Option<Spanned<String>>,
}

impl Addition {
    /// Reads the additions to `image` from the text of the file at `path`,
    /// without their lock.
    ///
    /// # Errors
    /// The text is wrong; the message says the file and the line.
    pub fn parse(
        image: &str,
        path: &str,
        text: &str,
    ) -> Result<Self, ImageError> {
        let line = |at: usize| text[..at].matches('\n').count() + 1;
        let definition: AdditionDefinition =
            toml::from_str(text).map_err(|error| {
                let at = error.span().map_or(0, |span| span.start);
                fault(path, line(at), error.message())
            })?;
        let entry = |value: Spanned<String>| Entry {
            line: line(value.span().start),
            text: value.into_inner(),
        };
        let entries = |values: Vec<Spanned<String>>| -> Vec<Entry> {
            values.into_iter().map(entry).collect()
        };
        let addition = Self {
            image: image.to_owned(),
            path: path.to_owned(),
            text: text.to_owned(),
            packages: entries(definition.packages),
            pip: entries(definition.pip),
            npm: entries(definition.npm),
            check: definition.check.map(entry),
            lock: None,
        };
        addition.check_names()?;
        Ok(addition)
    }

    /// Adds the lock, whose text is that of the file `<image>.lock`; `None` if
    /// there is no such file.
    ///
    /// # Errors
    /// The addition needs a lock and has none, or it is the lock of another one.
    /// The packages have to be locked anew.
    pub fn with_lock(mut self, text: Option<&str>) -> Result<Self, ImageError> {
        if !self.needs_lock() {
            return Ok(self);
        }
        let wrong = |reason: &str| {
            ImageError::Addition(format!("{}: {reason}", self.path))
        };
        let text =
            text.ok_or_else(|| wrong("its packages have no lock yet"))?;
        let lock: Lock = toml::from_str(text)
            .map_err(|_| wrong("its lock cannot be read"))?;
        if lock.for_pip != texts(&self.pip) || lock.for_npm != texts(&self.npm)
        {
            return Err(wrong("its lock is of other packages"));
        }
        if lock.architecture != architecture() {
            return Err(wrong("its lock is of another architecture"));
        }
        if let Some(name) = lock.without_hash() {
            return Err(wrong(&format!("its lock has no hash of {name}")));
        }
        self.lock = Some((text.to_owned(), lock));
        Ok(self)
    }

    /// Returns the name of the image.
    pub fn image(&self) -> &str {
        &self.image
    }

    /// Returns whether packages have to be resolved once, and locked.
    pub fn needs_lock(&self) -> bool {
        !self.pip.is_empty() || !self.npm.is_empty()
    }

    /// Returns the names of everything that is added.
    pub fn names(&self) -> Vec<String> {
        let all = self.entries();
        all.map(|entry| entry.text.clone()).collect()
    }

    /// Returns the program that must run in the image, and its place in the
    /// file.
    pub fn check(&self) -> Option<(&str, String)> {
        let Entry { text, line } = self.check.as_ref()?;
        Some((text, format!("{}:{line}", self.path)))
    }

    /// Returns the place of the first entry that a build's messages name; the
    /// file alone if they name none.
    pub(crate) fn place_of(&self, messages: &str) -> String {
        let named = |entry: &&Entry| messages.contains(bare(&entry.text));
        self.entries().find(named).map_or_else(
            || self.path.clone(),
            |entry| format!("{}:{}: {}", self.path, entry.line, entry.text),
        )
    }

    /// Returns the file that names the packages of npm to npm.
    pub(crate) fn package_json(&self) -> String {
        let packages = self.npm.iter().filter_map(|entry| {
            let (name, version) = entry.text.rsplit_once('@')?;
            Some((name.to_owned(), version.into()))
        });
        let packages: serde_json::Map<_, _> = packages.collect();
        serde_json::json!({"private": true, "dependencies": packages})
            .to_string()
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.packages.iter().chain(&self.pip).chain(&self.npm)
    }

    /// Checks that each value is a name or a name with one version, so that none
    /// is an option, a range or an address.
    fn check_names(&self) -> Result<(), ImageError> {
        let check = |entries: &[Entry], is_right: fn(&str) -> bool, what| {
            let wrong = entries.iter().find(|entry| !is_right(&entry.text));
            wrong.map_or(Ok(()), |Entry { text, line }| {
                let reason = format!("{text:?} is not {what}");
                Err(fault(&self.path, *line, &reason))
            })
        };
        check(&self.packages, is_plain, "a plain word")?;
        check(&self.pip, is_pip, "a name and a version, as in attrs==25.3.0")?;
        check(&self.npm, is_npm, "a name and a version, as in lodash@4.17.21")?;
        if self.entries().next().is_none() {
            return Err(fault(&self.path, 1, "it adds no packages"));
        }
        Ok(())
    }
}

pub(crate) fn texts(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| entry.text.clone()).collect()
}

fn fault(path: &str, line: usize, reason: &str) -> ImageError {
    ImageError::Addition(format!("{path}:{line}: {reason}"))
}

/// Returns the name of a package, without its version.
fn bare(entry: &str) -> &str {
    let end = entry
        .find(['=', '['])
        .or_else(|| entry[1..].find('@').map(|at| at + 1));
    &entry[..end.unwrap_or(entry.len())]
}

/// Returns whether the text begins with a letter or a digit and has no other
/// characters than these and `extra`.
fn is_word(text: &str, extra: &[u8]) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || extra.contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(fits)
}

/// `name==version` or `name[extra,extra]==version`.
pub(crate) fn is_pip(text: &str) -> bool {
    let Some((name, version)) = text.split_once("==") else { return false };
    let (name, extras) = match name.split_once('[') {
        None => (name, None),
        Some((name, rest)) => (name, Some(rest)),
    };
    let are_right = extras.is_none_or(|extras| {
        extras
            .strip_suffix(']')
            .is_some_and(|list| list.split(',').all(|it| is_word(it, b"-_.")))
    });
    is_word(name, b"-_.") && are_right && is_word(version, b"-_.+!")
}

/// `name@version` or `@scope/name@version`.
fn is_npm(text: &str) -> bool {
    let Some((name, version)) = text.rsplit_once('@') else { return false };
    let has_number = version.starts_with(|first: char| first.is_ascii_digit());
    let is_name = match name.strip_prefix('@') {
        None => is_word(name, b"-_."),
        Some(rest) => rest.split_once('/').is_some_and(|(scope, name)| {
            is_word(scope, b"-_.") && is_word(name, b"-_.")
        }),
    };
    is_name && has_number && is_word(version, b"-.+")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "packages = [\n  \"python3-six\",\n]\n\
                        pip = [\"attrs==25.3.0\"]\n\
                        npm = [\"lodash@4.17.21\", \"@vue/shared@3.5.1\"]\n\
                        check = \"import attrs\"\n";

    fn parse(text: &str) -> Result<Addition, ImageError> {
        Addition::parse("python", "/d/python.toml", text)
    }

    #[test]
    fn says_the_line_of_what_is_wrong() {
        let check = |from: &str, to: &str, expected: &str| {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD);
            let error = parse(&text).unwrap_err().to_string();
            let expected = format!("/d/python.toml:{expected}");
            assert!(error.starts_with(&expected), "{error}");
        };
        check("python3-six", "--hook", "2: \"--hook\" is not a plain word");
        check("python3-six", "a b", "2: \"a b\" is not a plain word");
        check("python3-six", "http://x/y", "2: \"http://x/y\" is not");
        let pip = "4: \"";
        for wrong in [
            "attrs",
            "attrs>=1",
            "-r==1",
            "--pre==1",
            "attrs==1 --pre",
            "attrs==",
            "a @ http://x==1",
            "a[==1",
            "a[--x]==1",
            "git+x==1",
        ] {
            check("attrs==25.3.0", wrong, pip);
        }
        for wrong in [
            "lodash",
            "lodash@latest",
            "lodash@^4",
            "--x@1",
            "@a@1",
            "x@http://y",
            "../x@1",
            "x@1 y",
        ] {
            check("lodash@4.17.21", wrong, "5: \"");
        }
        check("pip", "pypi", "4: unknown field `pypi`");
        check("\"attrs==25.3.0\"", "1", "4: invalid type");
        check("[\n", "[[\n", "");
        let nothing = parse("\n").unwrap_err().to_string();
        assert_eq!(nothing, "/d/python.toml:1: it adds no packages");
        for right in ["a[b,c]==1!2.0+x", "A_b.c==1.post1"] {
            assert!(parse(&format!("pip = [\"{right}\"]")).is_ok(), "{right}");
        }
    }

    #[test]
    fn a_lock_belongs_to_its_packages() {
        let hash = "0".repeat(64);
        let lock = Lock {
            architecture: architecture().to_owned(),
            for_pip: vec!["attrs==25.3.0".to_owned()],
            for_npm: ["lodash@4.17.21", "@vue/shared@3.5.1"]
                .map(str::to_owned)
                .to_vec(),
            pip: vec![format!("attrs==25.3.0 --hash=sha256:{hash}")],
            npm: r#"{"packages": {"": {}, "node_modules/lodash":
                {"version": "4.17.21", "integrity": "sha512-AAAA"}}}"#
                .to_owned(),
        };
        let text = lock.text().unwrap();
        let locked = parse(GOOD).unwrap().with_lock(Some(&text)).unwrap();
        assert_eq!(locked.lock.unwrap().1, lock);
        let check = |from: &str, to: &str, reason: &str| {
            let text = text.replace(from, to);
            let lock = (!to.is_empty()).then_some(text.as_str());
            let error = parse(GOOD).unwrap().with_lock(lock).unwrap_err();
            let expected = format!("/d/python.toml: {reason}");
            assert_eq!(error.to_string(), expected);
        };
        check("", "", "its packages have no lock yet");
        check("[\"attrs==25.3.0\"]", "[]", "its lock is of other packages");
        check(architecture(), "pdp11", "its lock is of another architecture");
        let unhashed =
            format!("its lock has no hash of attrs==25.3.0 --x=sha256:{hash}");
        check(" --hash", " --x", &unhashed);
        let unhashed = "its lock has no hash of node_modules/lodash";
        check(", \"integrity\": \"sha512-AAAA\"", " ", unhashed);
        check("sha512-", "rot13-", unhashed);
        check(
            "packages\"",
            "package\"",
            "its lock has no hash of the packages of npm",
        );
        check("for_pip", "for_pipe", "its lock cannot be read");
        let without = parse("packages = [\"x\"]").unwrap();
        assert!(without.with_lock(None).is_ok());
    }

    #[test]
    fn finds_the_entry_that_messages_name() {
        let addition = parse(GOOD).unwrap();
        let check = |messages: &str, expected: &str| {
            let expected = format!("/d/python.toml{expected}");
            assert_eq!(addition.place_of(messages), expected);
        };
        check("E: Unable to locate package python3-six", ":2: python3-six");
        check("no version of attrs", ":4: attrs==25.3.0");
        check("404 @vue/shared", ":5: @vue/shared@3.5.1");
        check("the disk is full", "");
    }
}
