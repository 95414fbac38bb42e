//! Packages that an operator adds to an image. If they cannot be added, the image
//! of before stays in use.

use std::path::Path;

use serde_json::json;

use crate::added::{documented, images, put};
use crate::service::{compile, start};

/// Builds the image of Lua with these additions. Returns what it printed.
fn build(flags: &[&str], folder: &Path, additions: &str) -> String {
    put(folder, "images/lua.toml", additions);
    let output = images(&[&["build", "lua"], flags].concat());
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
#[ignore = "needs the images: make test"]
fn packages_are_added_and_a_mistake_leaves_the_image_of_before() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (path, text) in documented() {
        put(root, &format!("languages/{path}"), &text);
    }
    let flag = |name: &str, path: &str| {
        format!("--{name}={}", root.join(path).display())
    };
    let flags = [
        flag("data-dir", "data"),
        flag("languages-dir", "languages"),
        flag("image-additions", "images"),
    ];
    let flags = flags.each_ref().map(String::as_str);

    let good = "packages = [\"lua-cjson\"]\ncheck = \"require 'cjson'\"\n";
    let said = build(&flags, root, good);
    assert!(said.contains("lua: ready: "), "{said}");
    let check = |from: &str, to: &str, expected: &str| {
        let said = build(&flags, root, &good.replace(from, to));
        let file = root.join("images/lua.toml").display().to_string();
        let expected = expected.replace("FILE", &file);
        assert!(said.contains(&expected), "{expected}: {said}");
    };
    let failed =
        "FILE:2: the check failed: /usr/bin/lua5.4: main.lua:1: module 'no'";
    check("require 'cjson'", "require 'no'", failed);
    check("lua-cjson", "no-such-one", "FILE:1: no-such-one: ");
    check("lua-cjson", "--x", "FILE:1: \"--x\" is not a plain word");

    let listed = images(&[&["list"], &flags[..]].concat());
    let listed = String::from_utf8(listed.stdout).unwrap();
    let row = listed.lines().find(|line| line.contains("+1"));
    assert!(row.is_some_and(|row| row.ends_with("Lua 5.4.7")), "{listed}");

    let server = start(&[&flags[..], &["--languages=lua"]].concat());
    assert!(server.begun.contains("image lua stays as it was: "));
    let code = "print(require('cjson').encode({1, 2}))";
    let files = json!([{"path": "a.lua", "content": code}]);
    let request =
        json!({"language": "lua", "entryFile": "a.lua", "files": files});
    assert_eq!(compile(&server, &request).stdout, "[1,2]\n");
}
