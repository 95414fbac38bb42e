//! Every language at once, many times: each answer its own, and nothing of
//! any run left behind.

use std::thread::scope;

use serde_json::{Value, json};

use crate::service::{self, Server};
use sandpiper_testkit::traces::at_rest;

/// Submissions of each language.
const EACH: usize = 3;

/// A program of one file that shows `MARK`, which stands for a word of its
/// own.
struct Sample {
    language: &'static str,
    file: &'static str,
    source: &'static str,
    /// All of stdout; or none where that is a document that holds the mark.
    stdout: Option<&'static str>,
}

const fn prints(
    language: &'static str,
    file: &'static str,
    source: &'static str,
) -> Sample {
    Sample { language, file, source, stdout: Some("MARK\n") }
}

const SAMPLES: [Sample; 11] = [
    prints("python", "m.py", "print('MARK')"),
    prints(
        "c",
        "m.c",
        "#include <stdio.h>\nint main(void) { puts(\"MARK\"); }",
    ),
    prints(
        "cpp",
        "m.cpp",
        "#include <cstdio>\nint main() { std::puts(\"MARK\"); }",
    ),
    prints("java", "M.java", "void main() { IO.println(\"MARK\"); }"),
    prints("php", "m.php", "<?php echo \"MARK\\n\";"),
    prints("csharp", "m.cs", "Console.WriteLine(\"MARK\");"),
    Sample {
        language: "mysql",
        file: "m.sql",
        source: "SELECT 'MARK' AS m;",
        stdout: Some(
            "+---------+\n| m       |\n+---------+\n| MARK |\n+---------+\n",
        ),
    },
    prints("mongodb", "m.js", "print('MARK')"),
    Sample {
        language: "web",
        file: "m.html",
        source: "<!doctype html><p>MARK</p>",
        stdout: None,
    },
    Sample {
        language: "react",
        file: "m.jsx",
        source: "export default () => <p>MARK</p>",
        stdout: None,
    },
    Sample {
        language: "vue",
        file: "m.vue",
        source: "<template><p>MARK</p></template>",
        stdout: None,
    },
];

#[test]
#[ignore = "needs the images: make test"]
fn three_of_each_language_at_once() {
    let flags = ["--queue-wait=120s", "--trusted-proxy"];
    let server = service::start(&[&flags[..], &["127.0.0.1"]].concat());
    let samples = samples_of(&server);
    let before = at_rest(&server);
    scope(|scope| {
        for number in 0..EACH {
            for (client, sample) in (1..).zip(&samples) {
                let server = &server;
                scope.spawn(move || ask(server, sample, client, number));
            }
        }
    });
    assert_eq!(at_rest(&server), before);
}

/// The samples of all languages that the server has.
fn samples_of(server: &Server) -> Vec<&'static Sample> {
    let answer = server.ask("GET", "/readyz").json();
    let languages = answer["languages"].as_array().unwrap();
    let sample = |language: &Value| {
        let id = language["id"].as_str().unwrap();
        let sample = SAMPLES.iter().find(|sample| sample.language == id);
        assert!(sample.is_some(), "no sample of {id}");
        sample.unwrap()
    };
    languages.iter().map(sample).collect()
}

/// One submission, as a client of its own: the queue is fair by client.
fn ask(server: &Server, sample: &Sample, client: usize, number: usize) {
    let mark = format!("m{client:02}-{number:03}");
    let Sample { language, file, source, stdout } = sample;
    let source = source.replace("MARK", &mark);
    let request = json!({
        "language": language,
        "entryFile": file,
        "files": [{"path": file, "content": source}],
    });
    let from = format!("X-Forwarded-For: 192.0.2.{client}");
    let headers = ["Content-Type: application/json", &from];
    let body = request.to_string();
    let reply = server.send("POST", "/api/compile", &headers, body);
    let answer = reply.json();
    let field = |name: &str| answer[name].as_str().unwrap_or_default();
    assert_eq!(field("stderr"), "", "{language}: {answer}");
    let own = match stdout {
        Some(text) => field("stdout") == text.replace("MARK", &mark),
        None => field("stdout").contains(&mark),
    };
    assert!(own, "{language}: not {mark} but {}", shortened(&answer));
}

fn shortened(answer: &Value) -> String {
    answer.to_string().chars().take(500).collect()
}
