//! Which languages can run now: their images, and their own starter programs
//! as the test.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Whether an image can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageState {
    /// The root filesystem is complete at this path.
    Ready(PathBuf),
    /// It is being built; the text says how far.
    Building(String),
    /// Nobody has built it.
    Missing,
    /// Its build failed, or what is there cannot be used; the text says why.
    Broken(String),
}

/// Where the engine asks for images; the binary answers.
pub trait Images: Send + Sync + std::fmt::Debug {
    /// The state of the image of this name now. Called often: must be cheap.
    fn state(&self, image: &str) -> ImageState;
}

/// Whether a language can run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It runs: its starter program printed what it should.
    Ready,
    /// Its image is being built or checked; the text says how far.
    Building(String),
    /// Its image has not been built; the text says what the operator can do.
    Missing(String),
    /// It cannot run; the text says why.
    Broken(String),
}

/// What is known of every language's starter program.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    /// By language: the root filesystem it was checked in, and the failure.
    done: BTreeMap<String, (PathBuf, Option<String>)>,
}

/// What follows from an image's state and the checks so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This is how it is.
    Known(Readiness),
    /// The starter program has to be run in this root filesystem.
    Check(PathBuf),
}

impl Checks {
    /// Records what the starter program of `language` did in `rootfs`.
    pub(crate) fn record(
        &mut self,
        language: &str,
        rootfs: PathBuf,
        failure: Option<String>,
    ) {
        self.done.insert(language.to_owned(), (rootfs, failure));
    }

    /// The readiness of `language`, whose image is called `image`.
    pub(crate) fn next(
        &self,
        language: &str,
        image: &str,
        state: ImageState,
    ) -> Next {
        Next::Known(match state {
            ImageState::Ready(rootfs) => match self.done.get(language) {
                Some((checked, failure)) if *checked == rootfs => match failure
                {
                    None => Readiness::Ready,
                    Some(why) => Readiness::Broken(why.clone()),
                },
                _ => return Next::Check(rootfs),
            },
            ImageState::Building(progress) => Readiness::Building(progress),
            ImageState::Missing => Readiness::Missing(format!(
                "its image has not been built; \
                 run `sandpiper images build {image}`"
            )),
            ImageState::Broken(why) => Readiness::Broken(why),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(state: ImageState, expected: Next) {
        let mut checks = Checks::default();
        checks.record("good", "/a".into(), None);
        checks.record("bad", "/b".into(), Some("no".to_owned()));
        let language = if state == ImageState::Ready("/b".into()) {
            "bad"
        } else {
            "good"
        };
        assert_eq!(checks.next(language, "image", state), expected);
    }

    #[test]
    fn a_starter_is_checked_once_for_each_root_filesystem() {
        check(ImageState::Ready("/a".into()), Next::Known(Readiness::Ready));
        check(
            ImageState::Ready("/b".into()),
            Next::Known(Readiness::Broken("no".to_owned())),
        );
        check(ImageState::Ready("/c".into()), Next::Check("/c".into()));
    }

    #[test]
    fn an_image_that_is_not_there_says_so() {
        check(
            ImageState::Building("3 of 9".to_owned()),
            Next::Known(Readiness::Building("3 of 9".to_owned())),
        );
        check(
            ImageState::Broken("disk full".to_owned()),
            Next::Known(Readiness::Broken("disk full".to_owned())),
        );
        let Next::Known(Readiness::Missing(text)) =
            Checks::default().next("c", "native", ImageState::Missing)
        else {
            panic!("a missing image is missing");
        };
        assert!(text.contains("images build native"), "{text}");
    }
}
