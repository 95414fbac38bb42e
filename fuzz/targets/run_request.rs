//! Reads bodies of `/api/run`, and of input for a run.

#![no_main]

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use libfuzzer_sys::fuzz_target;
use sandpiper_fuzz::PLANTED;
use sandpiper_server::fuzzing::{
    RunParts, compile_request, input_request, run_request, text,
};
use serde_json::{Value, json};

fuzz_target!(|body: &[u8]| {
    compare_input(body);
    let Some(run) = run_request(body) else { return };
    if let Some(files) = &run.options.files {
        let patterns = &files.patterns;
        assert!(patterns.len() <= 16);
        assert!(patterns.iter().all(|it| (1..=256).contains(&it.len())));
    }
    let limits = &run.options.limits;
    // These were cut at 64 bits.
    if [limits.output_bytes, limits.memory_bytes].contains(&Some(u64::MAX)) {
        return;
    }
    assert_eq!(run_request(&written(&run)).as_ref(), Some(&run));
    // Without an encoding, the fields that both have are read in one way.
    if let Some(parts) = compile_request(body)
        && !body
            .windows(8)
            .any(|part| part == b"encoding" || part.contains(&b'\\'))
    {
        assert_eq!(parts, run.parts);
    }
});

fn written(run: &RunParts) -> Vec<u8> {
    let RunParts { parts, args, options, interactive } = run;
    let file = |file: &sandpiper_languages::SourceFile| {
        let content = BASE64_STANDARD.encode(&file.content);
        json!({"path": file.path, "content": content, "encoding": "base64"})
    };
    let files: Vec<Value> = parts.files.iter().map(file).collect();
    let milliseconds = |time: std::time::Duration| time.as_millis();
    let limits = &options.limits;
    let all = [
        ("wall_ms", limits.wall_time.map(milliseconds)),
        ("cpu_ms", limits.cpu_time.map(milliseconds)),
        (
            "output_kib",
            limits.output_bytes.map(|bytes| u128::from(bytes >> 10)),
        ),
        (
            "memory_mib",
            limits.memory_bytes.map(|bytes| u128::from(bytes >> 20)),
        ),
    ];
    let given = all.into_iter().filter_map(|(name, value)| {
        Some((name.to_owned(), json!(u64::try_from(value?).ok()?)))
    });
    let artifacts = match &options.files {
        None => json!(false),
        Some(files) if files.patterns.is_empty() => json!(true),
        Some(files) => json!({"paths": files.patterns}),
    };
    // The planted fault forgets the last argument.
    let args = &args[..args.len() - usize::from(PLANTED && args.len() > 1)];
    json!({
        "language": parts.language, "entryFile": parts.entry_file,
        "files": files, "stdin": parts.stdin, "args": args,
        "limits": given.collect::<serde_json::Map<_, _>>(),
        "artifacts": artifacts, "warnings": options.warnings,
        "interactive": interactive,
    })
    .to_string()
    .into_bytes()
}

/// If the reader of serde_json accepts the text, ours must agree.
fn compare_input(body: &[u8]) {
    let Some(text) = text(body) else { return };
    let Ok(value) = serde_json::from_str::<Value>(&text) else { return };
    let expected = value.as_object().and_then(|fields| {
        let text = fields.get("text").map_or(Some(""), Value::as_str)?;
        let end = fields.get("end").map_or(Some(false), Value::as_bool)?;
        Some((text.to_owned(), end))
    });
    // Written again, since a key that comes twice must be right each time.
    assert_eq!(input_request(value.to_string().as_bytes()), expected);
}
