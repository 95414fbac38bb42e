//! The operator's view of runs: the metrics that each changes, and its one
//! line in the log, which holds nothing that was submitted or printed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Case;
use crate::service::Server;
use sandpiper_testkit::eventually;

/// A word that no line of the log may hold.
const MARK: &str = "m4rk3r";
/// An id that a client gives its run, so that it can be stopped.
const ID: &str = "5f1d4b8c0a9e4c1f8e7d6c5b4a392817";

/// A program that prints the mark, and how it ends.
struct Run {
    source: &'static str,
    outcome: &'static str,
    /// The field of its line beside the outcome.
    field: (&'static str, Value),
}

impl Run {
    /// The limits of the programs that are to reach a time. The server's are long:
    /// on a busy machine no other one ends by its time.
    fn limits(&self) -> Option<Value> {
        match self.outcome {
            "time" => Some(json!({"wall_ms": 4_000})),
            "cpu" => Some(json!({"cpu_ms": 2_000})),
            _ => None,
        }
    }
}

fn runs() -> [Run; 7] {
    let run = |source, outcome, field| Run { source, outcome, field };
    [
        run("pass", "ok", ("code", json!(0))),
        run("raise SystemExit(7)", "exit_code", ("code", json!(7))),
        run("os.kill(os.getpid(), 9)", "signal", ("signal", json!(9))),
        run("time.sleep(99)", "time", ("code", Value::Null)),
        run("while True: pass", "cpu", ("code", Value::Null)),
        run("x = bytearray(1 << 30)", "memory", ("code", Value::Null)),
        run("while True: print('x' * 99)", "output", ("code", Value::Null)),
    ]
}

fn request(source: &str) -> Value {
    let source = format!(
        "import os, sys, time\nprint('{MARK}' + input())\n\
         print('{MARK}', file=sys.stderr)\n{source}"
    );
    let names = [format!("{MARK}.py"), format!("{MARK}/{MARK}")];
    let files = [(names[0].as_str(), source.as_str()), (&names[1], MARK)];
    let case = Case::new("python", &files);
    case.stdin(&format!("{MARK}\n")).request()
}

fn ended(outcome: &str) -> String {
    format!("sandpiper_runs_total{{language=\"python\",outcome=\"{outcome}\"}}")
}

/// Returns the changes by a run that was answered.
fn expected(path: &str, outcome: &str) -> BTreeMap<String, f64> {
    let answered = format!(
        "sandpiper_http_requests_total{{route=\"{path}\",method=\"POST\",\
         status=\"200\"}}"
    );
    let cold = "sandpiper_run_boxes_total{language=\"python\",box=\"cold\"}";
    let mut changes = BTreeMap::from([
        (answered, 1.0),
        (ended(outcome), 1.0),
        (cold.to_owned(), 1.0),
        ("sandpiper_queue_wait_seconds_count".to_owned(), 1.0),
    ]);
    for stage in ["prepare", "run"] {
        let series = format!(
            "sandpiper_stage_seconds_count{{language=\"python\",\
             stage=\"{stage}\"}}"
        );
        changes.insert(series, 1.0);
    }
    if ["time", "cpu", "memory", "output"].contains(&outcome) {
        let series = format!(
            "sandpiper_limits_reached_total{{stage=\"run\",\
             limit=\"{outcome}\"}}"
        );
        changes.insert(series, 1.0);
    }
    changes
}

/// Without what is a matter of time.
fn countable(mut changes: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    changes.retain(|series, _| {
        !["process_", "sandpiper_connections", "sandpiper_boxes_in_use"]
            .iter()
            .any(|other| series.starts_with(other))
            && !["_age_seconds", "_seconds_sum", "_seconds_bucket", "_bytes"]
                .iter()
                .any(|other| series.contains(other))
    });
    changes
}

fn start(log_format: &str) -> Server {
    let server = Server::spawn(
        &[
            "--languages=python",
            // When others are made is a matter of time.
            "--warm-memory=0",
            "--compile-rate-limit=0",
            "--live-boxes=1",
            "--run-wall-time=600s",
            "--run-cpu-time=600s",
            "--memory=128MiB",
            "--log-level=trace",
            "--log-format",
            log_format,
        ],
        None,
    );
    server.wait_until_ready();
    server
}

#[test]
#[ignore = "needs the images: make test"]
fn every_run_has_its_series_and_its_line() {
    let server = start("json");
    let mut answers = Vec::new();
    let named = format!("Sandpiper-Run: {ID}");
    let headers = ["Content-Type: application/json", &named];
    for run in runs() {
        let mut asked = request(run.source);
        let mut path = "/api/compile";
        if let Some(limits) = run.limits() {
            asked["limits"] = limits;
            path = "/api/run";
        }
        let Run { outcome, field, .. } = run;
        let before = server.metrics();
        let reply = server.send("POST", path, &headers, asked.to_string());
        assert_eq!(reply.status, 200, "{outcome}: {}", reply.text());
        let changes = countable(server.metrics().since(&before));
        assert_eq!(changes, expected(path, outcome), "{}", reply.text());
        let id = reply.header("x-request-id").expect("an id").to_owned();
        answers.push((id, outcome, field));
    }
    let before = server.metrics();
    let body = request("time.sleep(99)").to_string();
    let leaving = server.begin("POST", "/api/compile", &headers, body);
    let in_use = || server.metrics().values["sandpiper_boxes_in_use"];
    eventually("the program runs", || in_use() == 1.0);
    drop(leaving);
    let gone = BTreeMap::from([(ended("client_gone"), 1.0)]);
    eventually("the run is given up", || {
        countable(server.metrics().since(&before)) == gone
    });
    eventually("the box is free", || in_use() == 0.0);
    let log = server.into_log();
    assert!(!log.contains(MARK) && !log.contains(ID), "{log}");
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .filter(|line: &Value| line["message"] == "run")
        .collect();
    assert_eq!(lines.len(), answers.len() + 1, "{log}");
    for (id, outcome, (name, value)) in &answers {
        // In whatever order: a line follows its answer.
        let line = lines.iter().find(|line| line["request"] == **id);
        let line = line.unwrap_or_else(|| panic!("no line of {id}: {log}"));
        assert_eq!(line["outcome"], *outcome, "{line}");
        assert_eq!(line[*name], *value, "{line}");
        assert_eq!(line["language"], "python", "{line}");
        assert_eq!(line["client"], "127.0.0.1", "{line}");
        let printed = line["stdout_bytes"].as_u64();
        // A busy machine may not get so far in its time.
        assert!(*outcome == "time" || printed > Some(MARK.len() as u64));
        for time in ["queue_ms", "prepare_ms", "run_ms"] {
            assert!(line[time].is_number(), "{time} of {line}");
        }
        assert_eq!(line["compile_ms"], Value::Null, "{line}");
    }
    assert!(lines.iter().any(|line| line["outcome"] == "client_gone"));
}

/// A client that knows the id of a live run could type into it.
#[test]
#[ignore = "needs the images: make test"]
fn a_live_run_leaves_neither_its_id_nor_its_words() {
    let server = start("json");
    let mut asked = request("input(sys.argv[1] + '? ')");
    asked["interactive"] = json!(true);
    asked["args"] = json!([MARK]);
    let mut events = server.stream(&[], &asked).unwrap();
    events.until("? ");
    assert_eq!(events.stdout, format!("{MARK}{MARK}\n{MARK}? "));
    let run = events.run.clone().unwrap();
    let input = json!({"text": MARK}).to_string();
    assert_eq!(server.tell(&run, "input", &input).status, 204);
    assert_eq!(server.tell(&run, "stop", "").status, 204);
    assert_eq!(events.end()["exit"], json!({"stopped": true}));
    assert_eq!(server.metrics().count(&ended("stopped")), 1);
    let line = server.line_of(&events.head);
    assert!(line.contains("\"outcome\":\"stopped\""), "{line}");
    let log = server.into_log();
    assert!(!log.contains(MARK) && !log.contains(&run), "{log}");
}

/// The line for people is one line, too.
#[test]
#[ignore = "needs the images: make test"]
fn lines_for_people_hold_nothing_that_was_submitted() {
    let server = start("text");
    let reply = server.compile(&request("print('\\x1b[31m\\n2026 INFO')"));
    let id = reply.header("x-request-id").expect("an id").to_owned();
    let log = server.into_log();
    let found = log.lines().filter(|line| line.contains(&id));
    let found: Vec<&str> =
        found.filter(|line| line.contains("INFO run ")).collect();
    assert_eq!(found.len(), 1, "{log}");
    assert!(found[0].contains("outcome=\"ok\""), "{}", found[0]);
    assert!(!log.contains(MARK) && !log.contains('\u{1b}'), "{log}");
}
