//! Says what to do where the editor page has not been built: its files are
//! embedded in the binary.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=../../web/dist");
    if Path::new("../../web/dist/manifest.json").exists() {
        return ExitCode::SUCCESS;
    }
    println!("cargo:error=the editor page has not been built: run `make web`");
    ExitCode::FAILURE
}
