//! Submissions that are accepted, and the errors of those that are not.

use sandpiper_languages::{SourceFile, Submission, SubmissionError};

use crate::catalog;

fn submit(
    language: &str,
    entry: &str,
    paths: &[&str],
) -> Result<Submission, SubmissionError> {
    let files = paths.iter().map(|path| SourceFile {
        path: (*path).to_owned(),
        content: format!("content of {path}").into(),
    });
    let (entry, stdin) = (entry.to_owned(), "input".to_owned());
    catalog().submission(language, entry, files.collect(), stdin, Vec::new())
}

fn message(language: &str, entry: &str, paths: &[&str]) -> String {
    submit(language, entry, paths).unwrap_err().to_string()
}

#[test]
fn what_was_checked_can_be_read() {
    let submission = submit("PY", "a.py", &["b/c.py", "a.py"]).unwrap();
    assert_eq!(submission.language().id(), "python");
    assert_eq!(submission.entry_file(), "a.py");
    assert_eq!(submission.stdin(), "input");
    let paths = submission.files().iter().map(|file| file.path.as_str());
    assert_eq!(paths.collect::<Vec<_>>(), ["b/c.py", "a.py"]);
    assert_eq!(submission.files()[1].content, b"content of a.py");
}

#[test]
fn good_paths() {
    let check = |path: &str| {
        assert!(submit("python", path, &[path]).is_ok(), "{path:?}");
    };
    check("main.py");
    check("a/b/c.py");
    check("...");
    check("a/..b/.c");
    check("~");
    check("-c");
    check("@x");
    check("two words.py");
    check("C:");
    check("größe/中文.py");
    check("%2e%2e/x");
    check(&"s".repeat(255));
    check(&"é".repeat(127));
    check(&format!("{}xxxx", "a/".repeat(510)));
}

#[test]
fn bad_paths() {
    let check = |path: &str, fault: &str| {
        let message = message("python", "ok.py", &["ok.py", path]);
        assert_eq!(message, format!("path {fault}"));
    };
    check("", r#""" is empty"#);
    check("/", r#""/" is absolute: drop the leading slash"#);
    check("/a.py", r#""/a.py" is absolute: drop the leading slash"#);
    check("//a", r#""//a" is absolute: drop the leading slash"#);
    check(".", r#""." has a "." segment"#);
    check("./a", r#""./a" has a "." segment"#);
    check("a/./b", r#""a/./b" has a "." segment"#);
    check("..", r#"".." has a ".." segment"#);
    check("a/../b", r#""a/../b" has a ".." segment"#);
    check("a/..", r#""a/.." has a ".." segment"#);
    check("a//b", r#""a//b" has an empty segment"#);
    check("a/", r#""a/" has an empty segment"#);
    check("a\0b", r#""a\0b" holds a NUL character"#);
    check("a\nb", r#""a\nb" holds a control character"#);
    check("a\u{7f}", r#""a\u{7f}" holds a control character"#);
    check("a\u{9b}b", r#""a\u{9b}b" holds a control character"#);
    check("a\\b", r#""a\\b" holds a backslash: put / between folders"#);
    check("/\u{202e}", r#""/\u{202e}" is absolute: drop the leading slash"#);
    check("ok.py", r#""ok.py" is given twice"#);

    let shortened = format!("\"{}…\" has", "s".repeat(80));
    let long = "has a segment of more than 255 bytes";
    check(&"s".repeat(256), &shortened.replace("has", long));
    let long = "has more than 1024 bytes";
    let shortened = format!("\"{}…\" {long}", "a/".repeat(40));
    check(&format!("{}xxxxx", "a/".repeat(510)), &shortened);
}

#[test]
fn a_file_is_nobodys_folder() {
    let check = |paths: &[&str], folder: Option<&str>| {
        let error = submit("python", paths[0], paths).err();
        let expected = folder.map(|folder| {
            let fault = "is a file, and also the folder of another file";
            format!("path \"{folder}\" {fault}")
        });
        assert_eq!(error.map(|error| error.to_string()), expected);
    };
    check(&["a", "a/b"], Some("a"));
    check(&["a/b", "a"], Some("a"));
    check(&["a/b/c/d", "x", "a/b"], Some("a/b"));
    check(&["a/b", "a/c", "b"], None);
    check(&["ab", "a/b", "a.b"], None);
}

#[test]
fn the_entry_file_is_one_of_the_files() {
    let check = |entry: &str, shown: &str| {
        let message = message("python", entry, &["main.py", "a/b.py"]);
        assert_eq!(
            message,
            format!("entryFile {shown} is not one of the files")
        );
    };
    check("x", "\"x\"");
    check("", "\"\"");
    check("Main.py", "\"Main.py\"");
    check("./main.py", "\"./main.py\"");
    check("a", "\"a\"");
    check("a\nb", r#""a\nb""#);
    let shortened = format!("\"{}…\"", "y".repeat(80));
    check(&"y".repeat(2_000_000), &shortened);
    let none = message("python", "main.py", &[]);
    assert_eq!(none, "entryFile \"main.py\" is not one of the files");
}

#[test]
fn the_first_error_is_reported() {
    let unknown = "unknown language \"pyhton\": the nearest is \"python\"; \
                   the languages are ada, c, cpp, python, zig";
    assert_eq!(message("pyhton", "x", &["/a"]), unknown);
    // Languages of the service that this catalog lacks are unknown as well.
    assert!(message("java", "x", &["x"]).starts_with("unknown language"));
    assert!(message("python", "x", &["/a"]).contains("is absolute"));
    assert!(message("python", "x", &["a"]).contains("entryFile"));
}
