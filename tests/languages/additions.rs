//! Packages that an operator adds to an image: that of the language that `added`
//! adds, since it takes its time until an image is built.

use std::path::Path;

use sandpiper_testkit::is_full;
use serde_json::json;

use crate::added::{LUA, images, put};
use crate::service::{compile, start};

/// Additions that fit.
const GOOD: &str = "packages = [\"lua-cjson\"]\ncheck = \"require 'cjson'\"\n";

const BUILD: [&str; 2] = ["build", "--languages=own-lua"];

/// Builds the image of Lua with [`GOOD`], which is put into `folder`. Returns its
/// root filesystem.
pub(crate) fn build(flags: &[&str], folder: &Path) -> String {
    put(folder, "images/own-lua.toml", GOOD);
    let said = said(&[&BUILD, flags].concat());
    let (_, place) = said.split_once("own-lua: ready: ").expect(&said);
    place.lines().next().unwrap().to_owned()
}

/// Runs a command on images. Returns what it printed.
fn said(arguments: &[&str]) -> String {
    let output = images(arguments);
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Checks that packages which cannot be added leave the image with [`GOOD`],
/// which has this root filesystem, in use.
pub(crate) fn mistakes_leave_the_image_of_before(
    flags: &[&str],
    folder: &Path,
    rootfs: &str,
) {
    let check = |command: &[&str], from: &str, to: &str, expected: &str| {
        put(folder, "images/own-lua.toml", &GOOD.replace(from, to));
        let said = said(&[command, flags].concat());
        let file = folder.join("images/own-lua.toml").display().to_string();
        let expected = expected.replace("FILE", &file);
        assert!(said.contains(&expected), "{expected}: {said}");
    };
    let failed =
        "FILE:2: the check failed: /usr/bin/lua5.4: main.lua:1: module 'no'";
    // As the build runs it when all else is done. A failure refuses the image
    // (crates/images/tests/transfer.rs).
    let check_built = ["check", LUA, "--rootfs", rootfs];
    check(&check_built, "require 'cjson'", "require 'no'", failed);
    if is_full() {
        check(&BUILD, "require 'cjson'", "require 'no'", failed);
        check(&BUILD, "lua-cjson", "no-such-one", "FILE:1: no-such-one: ");
    }
    check(&BUILD, "lua-cjson", "--x", "FILE:1: \"--x\" is not a plain word");

    let listed = said(&[&["list"], flags].concat());
    let mut rows = listed.lines().filter(|line| line.starts_with("own-lua "));
    let is_it = |row: &str| row.contains("+1") && row.ends_with("Lua 5.4.7");
    assert!(rows.any(is_it), "{listed}");

    let server = start(&[flags, &["--languages=own-lua"]].concat());
    assert!(server.begun.contains("image own-lua stays as it was: "));
    let code = "print(require('cjson').encode({1, 2}))";
    let files = json!([{"path": "a.lua", "content": code}]);
    let request =
        json!({"language": LUA, "entryFile": "a.lua", "files": files});
    assert_eq!(compile(&server, &request).stdout, "[1,2]\n");
}
