//! Packages that an operator adds to an image: that of the language that `added`
//! adds, since it takes its time until an image is built.

use std::path::Path;

use sandpiper_testkit::is_full;
use serde_json::json;

use crate::added::{images, put};
use crate::service::{compile, start};

/// Additions that fit.
pub(crate) const GOOD: &str =
    "packages = [\"lua-cjson\"]\ncheck = \"require 'cjson'\"\n";

/// Builds the image of Lua with these additions, which are in `folder`. Returns
/// what it printed.
pub(crate) fn build(flags: &[&str], folder: &Path, additions: &str) -> String {
    put(folder, "images/lua.toml", additions);
    let output = images(&[&["build", "--languages=lua"], flags].concat());
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Checks that packages which cannot be added leave the image with [`GOOD`] in
/// use.
pub(crate) fn mistakes_leave_the_image_of_before(
    flags: &[&str],
    folder: &Path,
) {
    let check = |from: &str, to: &str, expected: &str| {
        let said = build(flags, folder, &GOOD.replace(from, to));
        let file = folder.join("images/lua.toml").display().to_string();
        let expected = expected.replace("FILE", &file);
        assert!(said.contains(&expected), "{expected}: {said}");
    };
    let failed =
        "FILE:2: the check failed: /usr/bin/lua5.4: main.lua:1: module 'no'";
    check("require 'cjson'", "require 'no'", failed);
    if is_full() {
        check("lua-cjson", "no-such-one", "FILE:1: no-such-one: ");
    }
    check("lua-cjson", "--x", "FILE:1: \"--x\" is not a plain word");

    let listed = images(&[&["list"], flags].concat());
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut rows = listed.lines().filter(|line| line.starts_with("lua "));
    let is_it = |row: &str| row.contains("+1") && row.ends_with("Lua 5.4.7");
    assert!(rows.any(is_it), "{listed}");

    let server = start(&[flags, &["--languages=lua"]].concat());
    assert!(server.begun.contains("image lua stays as it was: "));
    let code = "print(require('cjson').encode({1, 2}))";
    let files = json!([{"path": "a.lua", "content": code}]);
    let request =
        json!({"language": "lua", "entryFile": "a.lua", "files": files});
    assert_eq!(compile(&server, &request).stdout, "[1,2]\n");
}
