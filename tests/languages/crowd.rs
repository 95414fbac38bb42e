//! Every language at once, many times: each answer its own, and nothing of
//! any run left behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use serde_json::{Value, json};

use crate::image_folder::image_folder;
use crate::life::{eventually, groups_of};
use crate::service::{self, Server};

/// Submissions of each language.
const EACH: usize = 10;

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
fn ten_of_each_language_at_once() {
    let flags =
        ["--boxes=4", "--queue=200", "--queue-wait=120s", "--trusted-proxy"];
    let server = service::start(&[&flags[..], &["127.0.0.1"]].concat());
    let samples = samples_of(&server);
    let before = Traces::of(&server);
    let seen = watched(&server, || {
        scope(|scope| {
            for number in 0..EACH {
                for (client, sample) in (1..).zip(&samples) {
                    let server = &server;
                    scope.spawn(move || ask(server, sample, client, number));
                }
            }
        });
    });
    assert!(seen.len() >= samples.len(), "no box was seen: {seen:?}");
    eventually("every process and group of a run is gone", || {
        descendants(server.pid()) == before.processes
            && !seen.iter().any(|group| group.exists())
    });
    assert_eq!(Traces::of(&server), before);
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

/// What a run could leave on the host.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    processes: BTreeSet<i32>,
    /// What each of them has mounted.
    mounts: String,
    /// What there is in the folders of the images that boxes mount on.
    files: Vec<PathBuf>,
}

impl Traces {
    fn of(server: &Server) -> Self {
        let processes = descendants(server.pid());
        let mounts = |pid: &i32| {
            fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap()
        };
        let entries = |folder: PathBuf| {
            fs::read_dir(folder).into_iter().flatten().flatten()
        };
        let folders = entries(image_folder()).flat_map(|image| {
            let rootfs = image.path().join("rootfs");
            ["tmp", "box", "artifacts", "dev", "proc"].map(|f| rootfs.join(f))
        });
        let files = folders.flat_map(entries).map(|entry| entry.path());
        Self {
            mounts: processes.iter().map(mounts).collect(),
            files: files.collect(),
            processes,
        }
    }
}

/// The processes below `pid`, by asking every process for its parent.
fn descendants(pid: i32) -> BTreeSet<i32> {
    let parents: Vec<(i32, i32)> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // Behind the name, which may hold anything: state, parent.
            let (_, rest) = stat.rsplit_once(')')?;
            let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut found = BTreeSet::from([pid]);
    loop {
        let more = parents.iter().filter(|(pid, parent)| {
            found.contains(parent) && !found.contains(pid)
        });
        let more: Vec<i32> = more.map(|(pid, _)| *pid).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Does `what`, and gives every control group that its boxes were seen in.
fn watched(server: &Server, what: impl FnOnce()) -> BTreeSet<PathBuf> {
    let is_done = AtomicBool::new(false);
    scope(|scope| {
        let watcher = scope.spawn(|| {
            let own = descendants(server.pid());
            let own: BTreeSet<PathBuf> =
                own.into_iter().flat_map(groups_of).collect();
            let mut seen = BTreeSet::new();
            while !is_done.load(Ordering::Relaxed) {
                let now = descendants(server.pid());
                seen.extend(now.into_iter().flat_map(groups_of));
                sleep(Duration::from_millis(50));
            }
            &seen - &own
        });
        what();
        is_done.store(true, Ordering::Relaxed);
        watcher.join().unwrap()
    })
}
