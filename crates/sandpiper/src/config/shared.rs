//! The URLs of the Valkeys that several servers share. They can hold a password.

use std::convert::Infallible;
use std::fmt;
use std::fs;
use std::str::FromStr;

use anyhow::Context;
use sandpiper_shared::ServerUrl;

/// The value of a flag: a URL, or `@PATH` for the one that is in a file. Neither
/// messages nor `Debug` show it.
#[derive(Clone)]
pub(crate) struct SharedUrl(String);

impl SharedUrl {
    /// Returns the URL, which may have to be read from a file first.
    ///
    /// # Errors
    /// The file cannot be read, or the text is no URL.
    pub(crate) fn read(&self, flag: &str) -> anyhow::Result<ServerUrl> {
        let text = match self.0.strip_prefix('@') {
            None => self.0.clone(),
            Some(path) => fs::read_to_string(path)
                .with_context(|| format!("{flag}: cannot read {path}"))?,
        };
        text.trim().parse().with_context(|| format!("{flag} has no URL"))
    }
}

impl FromStr for SharedUrl {
    // The command line would repeat a text that it refuses.
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for SharedUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedUrl")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let url = text.parse::<SharedUrl>().unwrap();
        let read = url.read("--flag").map_err(|error| format!("{error:#}"));
        assert!(!format!("{url:?} {read:?}").contains("secret"), "{text}");
        match (read, expected) {
            (Ok(url), Ok(expected)) => assert_eq!(url.to_string(), expected),
            (Err(error), Err(expected)) => {
                assert!(error.starts_with(expected), "{error}");
            }
            (read, _) => panic!("{text}: {read:?}"),
        }
    }

    #[test]
    fn a_url_is_given_or_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("url");
        let given = format!("@{}", path.display());
        let missing = format!("--flag: cannot read {}: ", path.display());
        check(&given, Err(&missing));
        fs::write(&path, "valkey://user:secret@host\n").unwrap();
        check(&given, Ok("valkey://host:6379"));
        fs::write(&path, "secret").unwrap();
        let invalid = "--flag has no URL: it must be like valkey://";
        check(&given, Err(invalid));
        check("valkey://user:secret@host:7", Ok("valkey://host:7"));
        check("redis://user:secret@host", Err(invalid));
        check("", Err(invalid));
    }
}
