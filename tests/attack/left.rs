//! Files that a run leaves so that whoever reads them reads others.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::live::{JSON, python, start};

/// Links out of the working directory, and in place of a display.
const LINKS: &str = "
os.symlink('/etc/passwd', 'a')
os.symlink('/etc', 'b')
os.symlink('../../../../../../etc/passwd', 'c')
os.makedirs('e')
os.symlink('/etc/passwd', 'e/f')
os.symlink('e', 'g')
os.makedirs('/tmp/.display', exist_ok=True)
for path in '/tmp/.display/001.svg', '/tmp/.display/002.png':
    os.path.lexists(path) or os.symlink('/etc/passwd', path)
";
/// Words of that file.
const SECRET: &str = "root:";

/// A run that leaves links to files returns none of them.
pub(crate) fn left_links() {
    // A program that follows them gets the file.
    let folder = tempfile::tempdir().unwrap();
    let source = LINKS.replace("/tmp/.display", "display");
    let made = Command::new("python3")
        .args(["-c", &format!("import os\n{source}")])
        .current_dir(folder.path())
        .status();
    assert!(made.unwrap().success());
    for path in ["a", "b/passwd", "e/f", "g/f", "display/001.svg"] {
        assert!(naive(&folder.path().join(path)).contains(SECRET), "{path}");
    }
    let server = start(&[]);
    for wanted in [json!(true), json!({"paths": ["**", "b/passwd", "g/f"]})] {
        let asked = python(LINKS, &json!({"artifacts": wanted}));
        let body = asked.to_string();
        let reply = server.send("POST", "/api/run", &[JSON], body);
        let answer = reply.json();
        assert_eq!(answer["run"]["exit"], json!({"code": 0}), "{answer}");
        assert_eq!(answer["artifacts"], json!([]), "{answer}");
        assert!(!answer.to_string().contains(SECRET), "{answer}");
        let skipped = answer["skipped"].as_array().unwrap().iter();
        let skipped: Vec<(&Value, &Value)> =
            skipped.map(|it| (&it["path"], &it["reason"])).collect();
        let paths = ["001.svg", "002.png", "a", "b", "c", "e/f", "g"];
        let link = json!("link");
        let paths = paths.map(Value::from);
        let expected: Vec<_> = paths.iter().map(|path| (path, &link)).collect();
        assert_eq!(skipped, expected, "{wanted}");
    }
}

/// Reads a file as a service would that takes no care.
fn naive(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
