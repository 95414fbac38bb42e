//! Embeds the editor page if it has been built, and sets `cfg(editor)` then.

use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(editor)");
    println!("cargo::rerun-if-changed=../../web/src/locales");
    if Path::new("../../web/dist/manifest.json").exists() {
        println!("cargo::rustc-cfg=editor");
        println!("cargo::rerun-if-changed=../../web/dist");
    } else {
        println!("cargo::warning=without the editor page: run `make web`");
        // Cargo takes a missing path for one that has just changed.
        println!("cargo::rerun-if-changed=../../web");
    }
}
