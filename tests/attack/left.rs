//! Files that a run leaves so that whoever reads them reads others.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::thread::scope;

use rustix::fs::{Mode, OFlags, open};
use sandpiper_testkit::eventually;
use serde_json::{Value, json};

use crate::live::{JSON, python, start};

/// Links out of the working directory, and in place of a display; and what does
/// not end, or is large or deep.
const LEFT: &str = "
os.symlink('/etc/passwd', 'a')
os.symlink('/etc', 'b')
os.symlink('../../../../../../etc/passwd', 'c')
os.makedirs('d' + '/d' * 50)
open('d' + '/d' * 50 + '/deep', 'w').write('deep')
os.makedirs('e')
os.symlink('/etc/passwd', 'e/f')
os.symlink('e', 'g')
os.mkfifo('h')
open('i', 'w').truncate(5 << 20)
os.makedirs('/tmp/.display', exist_ok=True)
for path in '/tmp/.display/001.svg', '/tmp/.display/002.png':
    os.path.lexists(path) or os.symlink('/etc/passwd', path)
";
/// Words of that file.
const SECRET: &str = "root:";

/// A run that leaves such files returns none of them, and ends.
pub(crate) fn left_files() {
    // A program that follows them gets the file.
    let folder = tempfile::tempdir().unwrap();
    let source = LEFT.replace("/tmp/.display", "display");
    let made = Command::new("python3")
        .args(["-c", &format!("import os\n{source}")])
        .current_dir(folder.path())
        .status();
    assert!(made.unwrap().success());
    for path in ["a", "b/passwd", "e/f", "g/f", "display/001.svg"] {
        assert!(naive(&folder.path().join(path)).contains(SECRET), "{path}");
    }
    let deep = format!("d{}/deep", "/d".repeat(50));
    assert_eq!(naive(&folder.path().join(deep)), "deep");
    assert_eq!(naive(&folder.path().join("i")).len(), 5 << 20);
    waits_at_a_pipe(&folder.path().join("h"));
    let server = start(&[]);
    for wanted in [json!(true), json!({"paths": ["**", "b/passwd", "g/f"]})] {
        let asked = python(LEFT, &json!({"artifacts": wanted}));
        let body = asked.to_string();
        let reply = server.send("POST", "/api/run", &[JSON], body);
        let answer = reply.json();
        assert_eq!(answer["run"]["exit"], json!({"code": 0}), "{answer}");
        assert_eq!(answer["artifacts"], json!([]), "{answer}");
        assert!(!answer.to_string().contains(SECRET), "{answer}");
        let skipped = answer["skipped"].as_array().unwrap().iter();
        let skipped: Vec<_> = skipped
            .map(|it| (text(&it["path"]), text(&it["reason"])))
            .collect();
        let depth = "d/".repeat(8) + "d";
        let expected = [
            ("001.svg", "link"),
            ("002.png", "link"),
            ("a", "link"),
            ("b", "link"),
            ("c", "link"),
            (depth.as_str(), "too-deep"),
            ("e/f", "link"),
            ("g", "link"),
            ("h", "not-a-file"),
            ("i", "too-large"),
        ];
        assert_eq!(skipped, expected, "{wanted}");
    }
}

/// A reader that opens a pipe like a file waits until somebody writes.
fn waits_at_a_pipe(path: &Path) {
    let reading = scope(|scope| {
        let reading = scope.spawn(|| naive(path));
        // Without a reader it cannot be opened so.
        let mut writing = None;
        eventually("it waits", || {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK;
            writing = open(path, flags, Mode::empty()).map(File::from).ok();
            writing.is_some()
        });
        writing.unwrap().write_all(b"late").unwrap();
        reading.join().unwrap()
    });
    assert_eq!(reading, "late");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Reads a file as a service would that takes no care.
fn naive(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
