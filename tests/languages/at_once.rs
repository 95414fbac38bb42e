//! Every language at once, many times: each answer belongs to its request, and
//! no run leaves anything behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::scope;

use serde_json::{Value, json};

use crate::service::{self, Server};
use sandpiper_testkit::is_full;
use sandpiper_testkit::traces::at_rest;

/// Submissions of each language.
const EACH: usize = 3;

/// A program of one file that shows `MARK`, which stands for a word of its
/// own.
pub(crate) struct Sample {
    pub(crate) language: &'static str,
    pub(crate) file: &'static str,
    pub(crate) source: &'static str,
    /// All of stdout; `None` if that is a document that holds the mark.
    stdout: Option<&'static str>,
}

const fn prints(
    language: &'static str,
    file: &'static str,
    source: &'static str,
) -> Sample {
    Sample { language, file, source, stdout: Some("MARK\n") }
}

pub(crate) const SAMPLES: [Sample; 11] = [
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

/// A submission, and the stdout that is expected, if it is known to the byte.
struct Program {
    language: String,
    entry: String,
    files: Vec<(String, String)>,
    stdout: Option<String>,
}

impl Program {
    fn of(sample: &Sample) -> Self {
        let entry = sample.file.to_owned();
        Self {
            language: sample.language.to_owned(),
            files: vec![(entry.clone(), sample.source.to_owned())],
            entry,
            stdout: sample.stdout.map(str::to_owned),
        }
    }

    /// The starter of a language without a sample.
    fn starter(language: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../languages");
        let folder = Path::new(folder).join(language);
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        let definition = read(&folder.join("language.toml"));
        let definition: toml::Table = definition.parse().unwrap();
        let starter = definition["starter"].as_table().unwrap();
        let is_exact = !starter.contains_key("expected");
        let stdout = read(&folder.join("starter-expected.txt"));
        let files = fs::read_dir(folder.join("starter")).unwrap();
        let file = |path: PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            (name.to_owned(), read(&path))
        };
        Self {
            language: language.to_owned(),
            entry: starter["entry"].as_str().unwrap().to_owned(),
            files: files.map(|entry| file(entry.unwrap().path())).collect(),
            stdout: is_exact.then_some(stdout),
        }
    }
}

/// With `FULL=1` also of those that have to be chosen, and in boxes made ahead.
#[test]
#[ignore = "needs the images: make test"]
fn three_of_each_language_at_once() {
    let usual = ["--queue-wait=600s", "--trusted-proxy=127.0.0.1"];
    let more = if is_full() { "--languages=all" } else { service::COLD };
    let server = service::start(&[&usual[..], &[more]].concat());
    let programs = programs_of(&server);
    let before = at_rest(&server);
    let _turn = service::turn();
    scope(|scope| {
        for number in 0..EACH {
            for (client, program) in (1..).zip(&programs) {
                let server = &server;
                scope.spawn(move || ask(server, program, client, number));
            }
        }
    });
    assert_eq!(at_rest(&server), before);
}

/// A program of each language that the server has.
fn programs_of(server: &Server) -> Vec<Program> {
    let answer = server.ask("GET", "/readyz").json();
    let languages = answer["languages"].as_array().unwrap();
    let program = |language: &Value| {
        let id = language["id"].as_str().unwrap();
        let sample = SAMPLES.iter().find(|sample| sample.language == id);
        sample.map_or_else(|| Program::starter(id), Program::of)
    };
    languages.iter().map(program).collect()
}

/// One submission, as a client of its own: the queue is fair by client.
fn ask(server: &Server, program: &Program, client: usize, number: usize) {
    let mark = format!("m{client:02}-{number:03}");
    let Program { language, entry, files, stdout } = program;
    let files: Vec<Value> = files
        .iter()
        .map(|(path, text)| {
            json!({"path": path, "content": text.replace("MARK", &mark)})
        })
        .collect();
    let request =
        json!({"language": language, "entryFile": entry, "files": files});
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
