//! Rebuilds the binary when a file is added to the folders that it embeds, or
//! removed: the compiler watches only the files that it has embedded. Sets
//! `cfg(editor)` for the tests if the server's crate embeds the editor page.

use std::path::Path;

fn main() {
    for folder in ["languages", "images"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
    println!("cargo::rustc-check-cfg=cfg(editor)");
    if Path::new("../../web/dist/manifest.json").exists() {
        println!("cargo::rustc-cfg=editor");
        println!("cargo::rerun-if-changed=../../web/dist");
    } else {
        // Cargo takes a missing path for one that has just changed.
        println!("cargo::rerun-if-changed=../../web");
    }
}
