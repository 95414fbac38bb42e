//! The fields that only a request of `/api/run` has. Those that `/api/compile`
//! has, too, are read by the same code.

use super::*;

/// A request with `extra` fields behind the required ones.
fn parse(extra: &str) -> Result<RunRequest, RequestError> {
    RunRequest::parse(&format!(
        r#"{{"language":"python","entryFile":"a","files":[{{"path":"a","content":""}}]{extra}}}"#
    ))
}

fn check_message(extra: &str, message: &str) {
    assert_eq!(parse(extra).unwrap_err().to_string(), message, "{extra}");
}

#[test]
fn without_its_own_fields_it_is_a_compile_request() {
    let text = r#"{"language":"c","entryFile":"a","files":[{"path":"a","content":"b"}],"stdin":"i"}"#;
    let compile = CompileRequest::parse(text).unwrap();
    assert_eq!(RunRequest::parse(text), Ok(compile.into()));
}

#[test]
fn every_field_is_read() {
    let request = parse(
        r#","args":["a",""],"limits":{"wall_ms":1,"cpu_ms":2,"output_kib":3,
            "memory_mib":4,"other":-1},"artifacts":{"paths":["*.png"]},
            "warnings":true"#,
    );
    let request = request.unwrap();
    assert_eq!(request.args, ["a", ""]);
    let options = request.options(7).unwrap();
    let expected = RunOptions {
        limits: LowerLimits {
            wall_time: Some(Duration::from_millis(1)),
            cpu_time: Some(Duration::from_millis(2)),
            output_bytes: Some(3 << 10),
            memory_bytes: Some(4 << 20),
        },
        files: Some(FilesWanted {
            patterns: vec!["*.png".to_owned()],
            max_bytes: 7,
        }),
        warnings: true,
        crash: true,
        measure_memory: true,
    };
    assert_eq!(options, expected);
}

#[test]
fn artifacts_are_all_some_or_none() {
    let check = |value: &str, expected: Option<&[&str]>| {
        let request = parse(&format!(",\"artifacts\":{value}")).unwrap();
        let found = request.artifacts;
        let expected = expected.map(|patterns| {
            patterns.iter().map(ToString::to_string).collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "{value}");
    };
    check("false", None);
    check("true", Some(&[]));
    check(r#"{"paths":["a","**"]}"#, Some(&["a", "**"]));
    check("true,\"artifacts\":false", None);
}

#[test]
fn a_server_without_artifacts_returns_none() {
    let options = |extra| parse(extra).unwrap().options(0);
    assert!(options("").is_ok());
    assert!(options(",\"artifacts\":false").is_ok());
    let refused = Err(RequestError::ArtifactsOff);
    assert_eq!(options(",\"artifacts\":true"), refused);
}

#[test]
fn files_may_be_base64() {
    let content = |file: &str| {
        let text = format!(
            r#"{{"language":"c","entryFile":"a","files":[{{"path":"a",{file}}}]}}"#
        );
        let parsed = RunRequest::parse(&text);
        parsed.map(|mut request| request.files.remove(0).content)
    };
    let check = |file: &str, expected: &[u8]| {
        assert_eq!(content(file).unwrap(), expected, "{file}");
    };
    check(r#""content":"aGk=","encoding":"base64""#, b"hi");
    check(r#""content":"","encoding":"base64""#, b"");
    check(r#""content":"/wA=","encoding":"base64""#, b"\xff\0");
    check(r#""content":"aGk=","encoding":"utf8""#, b"aGk=");
    let check = |file: &str, expected: &str| {
        assert_eq!(content(file).unwrap_err().to_string(), expected, "{file}");
    };
    let base64 = "files[0].content must be base64";
    check(r#""content":"aGk","encoding":"base64""#, base64);
    check(r#""content":"a b=","encoding":"base64""#, base64);
    let encoding = "files[0].encoding must be \"utf8\" or \"base64\"";
    check(r#""content":"","encoding":"hex""#, encoding);
    check(r#""content":"","encoding":null"#, encoding);
}

#[test]
fn wrong_fields_are_named() {
    let args = "args must be an array of strings";
    check_message(",\"args\":\"a\"", args);
    check_message(",\"args\":[1]", args);
    check_message(",\"args\":null", args);
    check_message(",\"limits\":1", "limits must be an object");
    let wall = "limits.wall_ms must be an integer from 1";
    for value in ["0", "-1", "1.5", "\"1\"", "null"] {
        check_message(&format!(",\"limits\":{{\"wall_ms\":{value}}}"), wall);
    }
    let artifacts = "artifacts must be true, false or an object with paths";
    check_message(",\"artifacts\":1", artifacts);
    check_message(",\"artifacts\":null", artifacts);
    check_message(
        ",\"artifacts\":{}",
        "artifacts.paths is missing; it must be an array of 1 to 16 strings of \
         1 to 256 bytes",
    );
    let paths =
        "artifacts.paths must be an array of 1 to 16 strings of 1 to 256 bytes";
    let long = format!("[\"{}\"]", "a".repeat(257));
    let many = format!("[{}]", vec!["\"a\""; 17].join(","));
    for value in ["[]", "[\"\"]", "\"a\"", "[1]", &long, &many] {
        let extra = format!(",\"artifacts\":{{\"paths\":{value}}}");
        check_message(&extra, paths);
    }
    check_message(",\"warnings\":1", "warnings must be true or false");
    let framework = "framework must be \"inline\" or \"external\"";
    for value in ["\"External\"", "true", "null"] {
        check_message(&format!(",\"framework\":{value}"), framework);
    }
}

#[test]
fn limits_only_lower() {
    let own = Limits::default();
    let check = |limits: &str, expected: Result<(), &str>| {
        let request = parse(&format!(",\"limits\":{{{limits}}}")).unwrap();
        let found = request.limits.check(&own);
        let found = found.map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{limits}");
    };
    check("", Ok(()));
    check("\"wall_ms\":10000", Ok(()));
    check("\"wall_ms\":10001", Err("limits.wall_ms is at most 10000"));
    check("\"cpu_ms\":10001", Err("limits.cpu_ms is at most 10000"));
    check("\"output_kib\":1025", Err("limits.output_kib is at most 1024"));
    check("\"memory_mib\":513", Err("limits.memory_mib is at most 512"));
    let max = u64::MAX;
    let above = format!("\"memory_mib\":{max}");
    check(&above, Err("limits.memory_mib is at most 512"));
}
