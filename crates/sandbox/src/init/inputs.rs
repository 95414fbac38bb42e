//! Writes what comes with a command into the box, as the program.

use std::os::fd::AsFd;

use super::context::{become_undumpable, follow_parent};
use super::mounts::Tree;
use super::{artifacts, files};
use crate::error::{During, Result};
use crate::ids::{self, INIT_ID, PROGRAM_ID};
use crate::protocol::UserNamespace;
use crate::{Artifact, BoxFile};

/// How many inodes they need.
pub(super) fn inodes(files: &[BoxFile], artifacts: &[Artifact]) -> u64 {
    files::inodes(files) + artifacts.len() as u64
}

/// Writes them all. To be called as the program.
pub(super) fn write(
    files: &[BoxFile],
    artifacts: &[Artifact],
    tree: &Tree,
) -> Result<()> {
    files::write(files, tree.files.as_fd())?;
    artifacts::write(artifacts, tree.artifacts.as_fd())
}

/// Lets init act with the program's id.
pub(super) fn as_program<T>(
    user_namespace: UserNamespace,
    act: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match user_namespace {
        // Init shares it.
        UserNamespace::Make => act(),
        UserNamespace::Join => {
            ids::set_effective(PROGRAM_ID, PROGRAM_ID)
                .during("become the program")?;
            let written = act();
            ids::set_effective(INIT_ID, INIT_ID).during("become init again")?;
            // The kernel took both back with the first change of ids.
            follow_parent()?;
            become_undumpable()?;
            written
        }
    }
}
