//! Turns a body of `/api/compile` into a plan.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sandpiper_fuzz::{PLANTED, check_plan, sources};
use sandpiper_languages::{Catalog, Plan, SourceFile};
use sandpiper_server::fuzzing::{self, Parts, text};
use serde_json::{Value, json};

static CATALOG: LazyLock<Catalog> =
    LazyLock::new(|| Catalog::load(sources()).expect("our languages"));

fuzz_target!(|body: &[u8]| {
    compare(body);
    let Some(parts) = compile_request(body) else { return };
    assert!((1..=200).contains(&parts.files.len()));
    let again = compile_request(&written(&parts)).expect("our own body");
    assert_eq!(again, parts);
    let Some((plan, entry_file, stdin)) = planned(parts) else { return };
    check_plan(&plan);
    let parts = Parts {
        language: plan.language.to_uppercase(),
        entry_file,
        files: plan.files.clone(),
        stdin,
    };
    let again = compile_request(&written(&parts)).and_then(planned);
    assert_eq!(again.expect("a body of a plan").0, plan);
});

/// Parses the body. The planted fault cuts long texts.
fn compile_request(body: &[u8]) -> Option<Parts> {
    let mut parts = fuzzing::compile_request(body)?;
    if PLANTED && parts.stdin.len() > 2 {
        parts.stdin.pop();
    }
    Some(parts)
}

/// Checks the plan, its entry file and its optional standard input.
fn planned(parts: Parts) -> Option<(Plan, String, String)> {
    let Parts { language, entry_file, files, stdin } = parts;
    let submission = CATALOG
        .submission(&language, entry_file, files, stdin, Vec::new())
        .ok()?;
    let entry = submission.entry_file().to_owned();
    assert!(submission.files().iter().any(|file| file.path == entry));
    let stdin = submission.stdin().to_owned();
    Some((submission.plan(), entry, stdin))
}

fn written(parts: &Parts) -> Vec<u8> {
    let file = |file: &SourceFile| json!({"path": file.path, "content": String::from_utf8_lossy(&file.content)});
    let files: Vec<Value> = parts.files.iter().map(file).collect();
    json!({
        "language": parts.language, "entryFile": parts.entry_file,
        "files": files, "stdin": parts.stdin,
    })
    .to_string()
    .into_bytes()
}

/// If the reader of serde_json accepts the text, ours must agree.
fn compare(body: &[u8]) {
    let Some(text) = text(body) else {
        assert!(std::str::from_utf8(body).is_err());
        return;
    };
    let Ok(value) = serde_json::from_str::<Value>(&text) else { return };
    // Written again, since our reader refuses duplicate keys.
    let plain = compile_request(value.to_string().as_bytes());
    assert_eq!(plain, expected(&value), "{text}");
    if let Some(parts) = compile_request(body) {
        assert_eq!(Some(parts), plain, "{text}");
    }
}

fn expected(value: &Value) -> Option<Parts> {
    let string = |value: &Value| value.as_str().map(str::to_owned);
    let files = value.get("files")?.as_array()?;
    let files: Option<Vec<_>> = files
        .iter()
        .map(|file| {
            Some(SourceFile {
                path: string(file.get("path")?)?,
                content: string(file.get("content")?)?.into(),
            })
        })
        .collect();
    let files = files.filter(|files| (1..=200).contains(&files.len()))?;
    Some(Parts {
        language: string(value.get("language")?)?,
        entry_file: string(value.get("entryFile")?)?,
        files,
        stdin: value.get("stdin").map_or(Some(String::new()), string)?,
    })
}
