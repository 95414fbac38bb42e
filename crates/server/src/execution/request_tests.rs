//! Every shape of a compile request's body.

use super::*;

fn check(text: &str, expected: &Result<CompileRequest, RequestError>) {
    assert_eq!(&CompileRequest::parse(text), expected, "{text:.120}");
}

fn check_ok(text: &str, stdin: &str) {
    let file = |path: &str, content: &str| SourceFile {
        path: path.to_owned(),
        content: content.into(),
    };
    let request = CompileRequest {
        language: "python".to_owned(),
        entry_file: "main.py".to_owned(),
        files: vec![file("main.py", "print(1)\n"), file("a/b.py", "")],
        stdin: stdin.to_owned(),
    };
    check(text, &Ok(request));
}

fn check_message(text: &str, message: &str) {
    let error = CompileRequest::parse(text).unwrap_err();
    assert_eq!(error.to_string(), message, "{text:.120}");
}

const FILES_TEXT: &str = r#""files":[{"path":"main.py","content":"print(1)\n"},
    {"content":"","path":"a/b.py"}]"#;

/// A request with `extra` fields behind the required ones.
fn with(extra: &str) -> String {
    format!(
        r#"{{"language":"python","entryFile":"main.py",{FILES_TEXT}{extra}}}"#
    )
}

#[test]
fn complete_requests_are_read() {
    check_ok(&with(""), "");
    check_ok(&with(r#","stdin":"1\n2""#), "1\n2");
    check_ok(&with(r#","stdin":"a","stdin":"b""#), "b");
    check_ok(&with(r#","other":{"files":3},"x":1e999"#), "");
    check_ok(&with(&format!(",{FILES_TEXT}")), "");
    check_ok(&format!(" {}\r\n\t", with("")), "");
    for depth in [10_000, 100_000] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        check_ok(&with(&format!(",\"x\":{open}{close}")), "");
    }
}

#[test]
fn what_is_no_json_object_is_invalid() {
    for text in [
        "",
        "null",
        "[]",
        "1",
        "\"a\"",
        "{",
        "{}x",
        "{} {}",
        "{\"a\":}",
        "{\"language\":\"a\nb\"}",
        "{\"language\":\"\\q\"}",
        "\u{feff}{}",
    ] {
        check(text, &Err(RequestError::NotAnObject));
    }
    check(&with(",\"x\":[1,]"), &Err(RequestError::NotAnObject));
    check(&with(",\"x\":\"\t\""), &Err(RequestError::NotAnObject));
    // The whole body is read before any field is judged.
    check("{\"language\":5,\"x\":nul}", &Err(RequestError::NotAnObject));
}

#[test]
fn too_many_files_come_before_fields() {
    let files = |count: usize| {
        let files = vec![r#"{"path":"a","content":""}"#; count].join(",");
        format!(r#"{{"language":5,"files":[{files}]}}"#)
    };
    check_message(&files(200), "language must be a string");
    let message = "a submission must not have more than 200 files";
    check_message(&files(201), message);
    let ones = vec!["1"; 201].join(",");
    check_message(&format!("{{\"files\":[{ones}]}}"), message);
    check_message(&format!("{{\"files\":[{ones}],\"files\":1}}"), message);
}

#[test]
fn fields_are_named() {
    check_message("{}", "language is missing; it must be a string");
    check_message(r#"{"language":null}"#, "language must be a string");
    check_message(r#"{"language":1e999}"#, "language must be a string");
    check_message(r#"{"language":{"a":[]}}"#, "language must be a string");
    check_message(
        r#"{"language":"c"}"#,
        "entryFile is missing; it must be a string",
    );
    check_message(
        r#"{"language":"c","entryfile":"a"}"#,
        "entryFile is missing; it must be a string",
    );
    check_message(
        r#"{"language":"c","entryFile":["a"]}"#,
        "entryFile must be a string",
    );
    check_message(
        r#"{"language":"c","entryFile":"a"}"#,
        "files is missing; it must be an array of objects with path and content",
    );
    check_message(&with(r#","stdin":null"#), "stdin must be a string");
    check_message(&with(r#","stdin":7,"stdin":"7""#), "stdin must be a string");
    check_message(
        &with(r#","language":7,"language":"c""#),
        "language must be a string",
    );
}

#[test]
fn files_are_named_by_their_index() {
    let files = |files: &str, message: &str| {
        let text =
            format!(r#"{{"language":"c","entryFile":"a","files":{files}}}"#);
        check_message(&text, message);
    };
    let array = "files must be an array of objects with path and content";
    for value in ["null", "{}", "\"a\"", "7", "true"] {
        files(value, array);
    }
    files("[]", "files must hold at least one file");
    let object = "files[0] must be an object with path and content";
    for value in ["[null]", "[1]", "[\"a\"]", "[[]]"] {
        files(value, object);
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    files(&deep, object);
    files("[{}]", "files[0].path is missing; it must be a string");
    files(r#"[{"path":1}]"#, "files[0].path must be a string");
    files(
        r#"[{"path":"a"}]"#,
        "files[0].content is missing; it must be a string",
    );
    files(
        r#"[{"path":"a","content":""},{"path":"b","content":null}]"#,
        "files[1].content must be a string",
    );
    files(
        r#"[{"path":"a","content":1,"content":"x"}]"#,
        "files[0].content must be a string",
    );
    files(
        r#"[], "files":[{"path":"a","content":""}]"#,
        "files must hold at least one file",
    );
}
