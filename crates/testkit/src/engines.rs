//! The programs that several servers stand between: HAProxy, nginx and Valkey of
//! Debian 13.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Returns a command of this program, which ends with the thread that starts it.
pub fn engine(name: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(folder().join("bin").join(name));
    command
}

/// Returns the folder of the programs, which the first test makes.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let made = Command::new(root.join("scripts/engines"))
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(made.status.success(), "scripts/engines failed");
        String::from_utf8(made.stdout).unwrap().trim().into()
    })
}
