//! Writes the files of a command into the box, with the program's rights.

use std::os::fd::AsFd;

use super::context::{become_undumpable, follow_parent};
use super::mounts::Tree;
use super::{compile_artifacts, files};
use crate::error::{During, Result};
use crate::ids::{self, INIT_ID, PROGRAM_ID};
use crate::protocol::UserNamespace;
use crate::{BoxFile, CompileArtifact};

/// Returns the number of inodes that these need.
pub(super) fn inodes(
    files: &[BoxFile],
    compile_artifacts: &[CompileArtifact],
) -> u64 {
    files::inodes(files) + compile_artifacts.len() as u64
}

/// Writes them all. Call it with the program's rights.
pub(super) fn write(
    files: &[BoxFile],
    compile_artifacts: &[CompileArtifact],
    tree: &Tree,
) -> Result<()> {
    files::write(files, tree.files.as_fd())?;
    compile_artifacts::write(compile_artifacts, tree.artifacts.as_fd())
}

/// Has init act with the program's ids.
pub(super) fn as_program<T>(
    user_namespace: UserNamespace,
    act: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match user_namespace {
        // Init has the same ids.
        UserNamespace::Make => act(),
        UserNamespace::Join => {
            ids::set_effective(PROGRAM_ID, PROGRAM_ID)
                .during("become the program")?;
            let written = act();
            ids::set_effective(INIT_ID, INIT_ID).during("become init again")?;
            // The change of ids above cleared both.
            follow_parent()?;
            become_undumpable()?;
            written
        }
    }
}
