//! The progress of a build, read from the output of mmdebstrap.

use std::fmt;

/// The current part of a build, an export or an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for other images of the same builder.
    Queued,
    /// Waiting for another process that builds the same image.
    Waiting,
    /// Choosing the mirror and reading its package lists.
    ReadingLists,
    /// Downloading and installing the packages of every Debian system.
    BaseSystem,
    /// Downloading and installing the recipe's packages.
    Packages,
    /// Running the recipe's build script, and removing the packages that only it
    /// needs.
    Script,
    /// Writing the files into the store.
    Writing,
    /// Compressing the image for an export.
    Packing,
    /// Unpacking the image for an import.
    Unpacking,
    /// Removing traces of the host, and waiting for the disk.
    Finishing,
    /// Running the sample programs of the languages that use the image.
    Checking,
}

/// The progress of a build, an export or an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageProgress {
    /// The current part.
    pub phase: Phase,
    /// The number of finished steps of this part.
    pub done: u32,
    /// The number of all steps of this part; 0 if unknown.
    pub total: u32,
    /// The last message of the build script; may be empty.
    pub step: String,
}

impl ImageProgress {
    pub(crate) fn start(phase: Phase) -> Self {
        Self { phase, done: 0, total: 0, step: String::new() }
    }

    /// Returns the progress after `done` of `total` bytes, in percent.
    pub(crate) fn part(phase: Phase, done: u64, total: u64) -> Self {
        let percent = done.min(total) * 100 / total.max(1);
        let done = u32::try_from(percent).unwrap_or(100);
        Self { done, total: 100, ..Self::start(phase) }
    }
}

impl fmt::Display for ImageProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.phase {
            Phase::Queued => "queued",
            Phase::Waiting => "waiting for another process that builds it",
            Phase::ReadingLists => "reading package lists",
            Phase::BaseSystem => "installing the base system",
            Phase::Packages => "installing packages",
            Phase::Script => "running the build script",
            Phase::Writing => "writing files",
            Phase::Packing => "packing",
            Phase::Unpacking => "unpacking",
            Phase::Finishing => "finishing",
            Phase::Checking => "running the sample programs",
        })?;
        if !self.step.is_empty() {
            write!(f, ": {}", self.step)?;
        }
        match self.total {
            0 => Ok(()),
            total => write!(f, ", {} %", self.done * 100 / total),
        }
    }
}

/// Reads mmdebstrap's verbose output, line by line.
#[derive(Debug)]
pub(crate) struct Tracker {
    progress: ImageProgress,
}

impl Tracker {
    pub(crate) fn new() -> Self {
        Self { progress: ImageProgress::start(Phase::ReadingLists) }
    }

    /// Reads one line. Returns the progress if it changed.
    pub(crate) fn line(&mut self, line: &str) -> Option<ImageProgress> {
        let before = self.progress.clone();
        if let Some(message) = line.strip_prefix("I: ") {
            self.phase(message);
        } else if let Some(packages) = newly_installed(line) {
            // Each package is downloaded, unpacked and set up.
            self.progress.done = 0;
            self.progress.total = packages * 3;
        } else if let Some(step) = line.strip_prefix("==> ")
            && self.progress.phase == Phase::Script
        {
            step.clone_into(&mut self.progress.step);
        } else if ["Get:", "Unpacking ", "Setting up "]
            .iter()
            .any(|step| line.starts_with(step))
        {
            let ImageProgress { done, total, .. } = &mut self.progress;
            *done = (*done + 1).min(*total);
        }
        (self.progress != before).then(|| self.progress.clone())
    }

    fn phase(&mut self, message: &str) {
        let begins = |prefix: &str| message.starts_with(prefix);
        let phase = if begins("downloading packages with apt") {
            Phase::BaseSystem
        } else if begins("installing remaining packages") {
            Phase::Packages
        } else if begins("running special hook: tar-in")
            || begins("running --customize-hook")
        {
            Phase::Script
        } else if begins("creating tarball") {
            Phase::Writing
        } else {
            return;
        };
        if phase != self.progress.phase {
            self.progress = ImageProgress::start(phase);
        }
    }
}

/// Returns the second number of apt's `0 upgraded, 59 newly installed, …`.
fn newly_installed(line: &str) -> Option<u32> {
    let (before, _) = line.split_once(" newly installed, ")?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_a_build() {
        let mut tracker = Tracker::new();
        let mut check = |line: &str, expected: Option<&str>| {
            let text = tracker.line(line).map(|now| now.to_string());
            assert_eq!(text.as_deref(), expected, "{line}");
        };
        check("I: running apt-get update...", None);
        check("Get:1 http://host/debian trixie InRelease [140 kB]", None);
        check(
            "I: downloading packages with apt...",
            Some("installing the base system"),
        );
        check(
            "0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.",
            Some("installing the base system, 0 %"),
        );
        check("Get:1 http://host/x", Some("installing the base system, 16 %"));
        check("Reading package lists...", None);
        check(
            "Unpacking libc6:amd64 (2.41-12) ...",
            Some("installing the base system, 33 %"),
        );
        check(
            "I: installing remaining packages inside the chroot...",
            Some("installing packages"),
        );
        check(
            "0 upgraded, 1 newly installed, 0 to remove and 0 not upgraded.",
            Some("installing packages, 0 %"),
        );
        check("Setting up gcc (4:14) ...", Some("installing packages, 33 %"));
        check(
            "I: running --customize-hook in shell: sh -c 'x' exec /tmp/y",
            Some("running the build script"),
        );
        check("I: running --customize-hook in shell: again", None);
        check(
            "==> fetching wheels",
            Some("running the build script: fetching wheels"),
        );
        check("I: running --customize-hook in shell: again", None);
        check("I: creating tarball...", Some("writing files"));
    }
}
