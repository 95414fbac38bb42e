//! Sends the output of a program as events.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sandpiper_fuzz::PLANTED;
use sandpiper_server::fuzzing::{OutputEvents, OutputStream};
use serde_json::Value;

const STREAMS: [OutputStream; 2] = [OutputStream::Stdout, OutputStream::Stderr];

fuzz_target!(|input: &[u8]| {
    let mut output = OutputEvents::default();
    let mut written = [Vec::new(), Vec::new()];
    let mut texts = [String::new(), String::new()];
    let mut rest = input;
    // Each piece begins with its stream and its length.
    while let Some((&[which, length], more)) = rest.split_first_chunk() {
        let (piece, more) = more.split_at(more.len().min(length.into()));
        let stream = usize::from(which) % 2;
        written[stream].extend_from_slice(piece);
        let mut events = output.push(STREAMS[stream], piece);
        // The planted fault cuts characters.
        if PLANTED {
            events.extend(output.finish(STREAMS[stream], b""));
        }
        add(&events, &mut texts);
        rest = more;
    }
    for stream in STREAMS {
        add(&output.finish(stream, b""), &mut texts);
    }
    for (text, bytes) in texts.iter().zip(&written) {
        assert_eq!(*text, String::from_utf8_lossy(bytes));
    }
});

/// Reads events as a browser does, which breaks lines at CR and LF.
fn add(events: &[u8], texts: &mut [String; 2]) {
    let events = str::from_utf8(events).expect("UTF-8");
    for event in events.split_terminator("\n\n") {
        let lines: Vec<&str> = event.split(['\r', '\n']).collect();
        let ["event: output", data] = lines[..] else { panic!("{event:?}") };
        let data = data.strip_prefix("data: ").expect("data");
        let data: Value = serde_json::from_str(data).expect("JSON");
        let text = data["text"].as_str().expect("a text");
        assert!((1..=16 << 10).contains(&text.len()), "{}", text.len());
        texts[usize::from(data["stream"] == "stderr")] += text;
    }
}
