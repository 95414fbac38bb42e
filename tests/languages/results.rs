//! `POST /api/run`: the full result of a run, its arguments, limits and files.

use std::thread::scope;

use sandpiper_testkit::eventually;
use serde_json::{Value, json};

use crate::Case;
use crate::at_once::{SAMPLES, Sample};
use crate::live;
use crate::options;
use crate::service::{self, Reply, Server, compile};

const JSON: &str = "Content-Type: application/json";

pub(crate) fn send(server: &Server, request: &Value) -> Reply {
    server.send("POST", "/api/run", &[JSON], request.to_string())
}

/// Returns the request of a program of one file with further fields.
pub(crate) fn request(
    language: &'static str,
    file: &str,
    source: &str,
    more: &Value,
) -> Value {
    let mut request = Case::new(language, &[(file, source)]).request();
    let fields = request.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    request
}

pub(crate) fn python(source: &str, more: &Value) -> Value {
    let source = format!("import os, sys, time\n{source}");
    request("python", "main.py", &source, more)
}

pub(crate) fn result(server: &Server, request: &Value) -> Value {
    let reply = send(server, request);
    assert_eq!(reply.status, 200, "{request} {}", reply.text());
    reply.json()
}

/// With one server, since it takes its time until all languages are ready. It is
/// asked for several things at once, since one leaves cores idle.
#[test]
#[ignore = "needs the images: make test"]
fn every_language_gives_results_and_talks() {
    let server =
        service::start(&["--live-boxes=8", "--boxes=8", service::COLD]);
    let document = server.ask("GET", "/openapi.json").json();
    let schemas = &document["components"]["schemas"];
    scope(|scope| {
        scope.spawn(|| {
            for sample in &SAMPLES {
                check_sample(&server, schemas, sample);
            }
        });
        scope.spawn(|| options::warnings_are_returned(&server));
        scope.spawn(|| live::prompts_are_answered(&server));
        options::programs_get_arguments(&server);
        options::programs_leave_files(&server);
        a_failed_compile_step_is_reported(&server);
        live::refuses_input(&server);
    });
}

fn check_sample(server: &Server, schemas: &Value, sample: &Sample) {
    let source = sample.source.replace("MARK", "a ñ");
    let more = json!({"artifacts": true, "args": []});
    let asked = request(sample.language, sample.file, &source, &more);
    let stdout = check_result(server, schemas, &asked);
    let streamed = check_events(server, &asked);
    assert_eq!(streamed, stdout);
    if sample.language == "python" {
        // The same fields change nothing beside it.
        compile(server, &asked).prints(&stdout);
    }
}

fn check_result(server: &Server, schemas: &Value, asked: &Value) -> String {
    let reply = send(server, asked);
    let text = reply.text();
    assert_eq!(reply.status, 200, "{text}");
    for (name, expected) in
        [("sandpiper-exit", "stage=run; code=0"), ("server-timing", "run")]
    {
        let value = reply.header(name);
        assert!(value.is_some_and(|it| it.contains(expected)), "{reply:?}");
    }
    let answer = reply.json();
    let run = &answer["run"];
    assert_eq!(answer["language"], asked["language"]);
    assert_eq!(run["exit"], json!({"code": 0}), "{text}");
    for (value, expected) in [
        (&answer["compile"], Value::Null),
        (&answer["skipped"], json!([])),
        (&run["message"], Value::Null),
        (&run["truncated"], json!([])),
        (&run["stderr"], json!("")),
    ] {
        assert_eq!(*value, expected, "{text}");
    }
    let artifacts = answer["artifacts"].as_array().unwrap();
    assert_eq!(artifacts.len(), displays(asked), "{text}");
    let times = &answer["timings"];
    for (object, name) in
        [(&answer, "RunResponse"), (run, "StepResult"), (times, "Timings")]
    {
        let described = keys(&schemas[name]["properties"]);
        assert_eq!(keys(object), described, "{name}");
    }
    for measured in [&times["queue_ms"], &times["prepare_ms"]] {
        assert!(measured.as_f64().is_some(), "{text}");
    }
    for name in ["wall_ms", "cpu_ms", "memory_peak_kib"] {
        assert!(run[name].as_f64() > Some(0.0), "{name}: {text}");
    }
    run["stdout"].as_str().unwrap().to_owned()
}

fn keys(object: &Value) -> Vec<&String> {
    object.as_object().unwrap().keys().collect()
}

/// Returns how many displays a sample has: the results of its statements.
fn displays(asked: &Value) -> usize {
    usize::from(asked["language"] == "mysql")
}

/// Runs a program that succeeds. Returns its output.
fn check_events(server: &Server, asked: &Value) -> String {
    let mut events = server.stream(&["Accept-Encoding: gzip"], asked).unwrap();
    for (name, expected) in [
        ("cache-control", Some("no-store")),
        ("x-accel-buffering", Some("no")),
        ("access-control-allow-origin", Some("*")),
        ("content-encoding", None),
        ("content-length", None),
    ] {
        assert_eq!(events.head.header(name), expected, "{:?}", events.head);
    }
    let all: Vec<_> = events.by_ref().collect();
    let mut names: Vec<&str> =
        all.iter().map(|event| event.name.as_str()).collect();
    names.dedup_by(|next, last| next == last && *last == "output");
    let stages = all.iter().filter(|event| event.name == "stage");
    let stages: Vec<_> =
        stages.map(|it| it.data["stage"].as_str().unwrap()).collect();
    assert!(matches!(stages[..], ["run"] | ["compile", "run"]), "{stages:?}");
    let stages = vec!["stage"; stages.len()];
    let artifacts = vec!["artifact"; displays(asked)];
    let expected =
        [&["begin"], &stages[..], &["output"], &artifacts[..], &["end"]]
            .concat();
    assert_eq!(names, expected, "{all:?}");
    assert_eq!(all[0].data["language"], asked["language"]);
    assert_eq!(all[0].data["run"], Value::Null);
    let end = &all[all.len() - 1].data;
    assert_eq!(end["exit"], json!({"code": 0}));
    assert_eq!(end["stage"], "run");
    assert_eq!(events.stderr, "");
    events.stdout
}

fn a_failed_compile_step_is_reported(server: &Server) {
    let asked = request("c", "m.c", "int main(void) { x; }", &json!({}));
    let reply = send(server, &asked);
    let end = reply.header("sandpiper-exit");
    assert_eq!(end, Some("stage=compile; code=1"), "{reply:?}");
    let answer = reply.json();
    let compile = &answer["compile"];
    assert_eq!(answer["run"], Value::Null);
    assert_eq!(compile["exit"], json!({"code": 1}));
    assert!(compile["stderr"].as_str().unwrap().contains("m.c:1:"), "{answer}");
}

#[test]
#[ignore = "needs the images: make test"]
fn runs_have_results() {
    let server = service::start_python(&["--memory=256MiB", "--warm-memory=0"]);
    ends(&server);
    limits_are_only_lowered(&server);
    arguments_have_limits(&server);
    files_are_bytes(&server);
    least_limits(&server);
}

fn ends(server: &Server) {
    let check = |source: &str, more: &Value, exit: &Value, message: &str| {
        let answer = result(server, &python(source, more));
        let run = &answer["run"];
        assert_eq!(run["exit"], *exit, "{source}: {answer}");
        assert_eq!(run["message"].as_str().unwrap_or(""), message);
        run.clone()
    };
    let own = &json!({});
    let run =
        check("print('out')\nsys.exit('err')", own, &json!({"code": 1}), "");
    assert_eq!(
        (&run["stdout"], &run["stderr"]),
        (&json!("out\n"), &json!("err\n"))
    );
    let segv = json!({"signal": "SIGSEGV"});
    check("os.kill(os.getpid(), 11)", own, &segv, "Segmentation fault");
    let limit = |limits: Value| json!({"limits": limits});
    // It is doubled until the program has printed: a slow machine takes longer.
    let mut wall_ms = 700;
    let run = loop {
        let run = check(
            "print('begun', flush=True)\ntime.sleep(99)",
            &limit(json!({"wall_ms": wall_ms})),
            &json!({"limit": "time"}),
            &format!("Time limit exceeded: {} s", f64::from(wall_ms) / 1000.0),
        );
        wall_ms *= 2;
        if run["stdout"] != "" || wall_ms > 60_000 {
            break run;
        }
    };
    assert_eq!(run["stdout"], "begun\n");
    assert_eq!(run["stderr"], "");
    let cpu = limit(json!({"cpu_ms": 200}));
    let reached = json!({"limit": "cpu"});
    let run = check(
        "while 1: pass",
        &cpu,
        &reached,
        "CPU time limit exceeded: 0.2 s",
    );
    assert!(run["cpu_ms"].as_f64() >= Some(200.0), "{run}");
    check(
        "x = b'x' * (100 << 20)",
        &limit(json!({"memory_mib": 64})),
        &json!({"limit": "memory"}),
        "Memory limit exceeded: 64 MiB",
    );
    let run = check("x = b'x' * (100 << 20)", own, &json!({"code": 0}), "");
    assert!(run["memory_peak_kib"].as_u64() > Some(100 << 10), "{run}");
    let run = check(
        "print('e', file=sys.stderr)\nprint('é' * 3000)",
        &limit(json!({"output_kib": 1})),
        &json!({"limit": "output"}),
        "Output limit exceeded: 1 KiB",
    );
    assert_eq!(run["truncated"], json!(["stdout"]));
    assert_eq!(run["stdout"], "é".repeat(512));
}

fn limits_are_only_lowered(server: &Server) {
    for (name, max) in [
        ("wall_ms", 120_000_u64),
        ("cpu_ms", 120_000),
        ("output_kib", 1024),
        ("memory_mib", 256),
    ] {
        let asked = |value| python("", &json!({"limits": {name: value}}));
        run_is(
            server,
            &asked(max + 1),
            &format!("limits.{name} is at most {max}"),
        );
        assert_eq!(send(server, &asked(max)).status, 200, "{name}");
    }
}

/// A box that is ready has the memory of the server's own limit.
pub(crate) fn lower_memory_takes_a_new_box(server: &Server) {
    let source = "x = b'x' * (100 << 20)";
    for (more, exit, kind) in [
        (
            json!({"limits": {"memory_mib": 64}}),
            json!({"limit": "memory"}),
            "cold",
        ),
        (json!({}), json!({"code": 0}), "warm"),
    ] {
        eventually("a box is ready", || server.metrics().ready("python") > 0);
        let reply = send(server, &python(source, &more));
        assert_eq!(reply.json()["run"]["exit"], exit, "{}", reply.text());
        let line = server.line_of(&reply);
        assert!(line.contains(&format!("box=\"{kind}\"")), "{line}");
    }
}

/// Fails unless the request is refused with this message.
pub(crate) fn run_is(server: &Server, asked: &Value, message: &str) {
    send(server, asked).assert_failure(400, message);
}

fn arguments_have_limits(server: &Server) {
    let asked = |args: &[String]| {
        let source = "print(len(sys.argv), sum(map(len, sys.argv[1:])))";
        python(source, &json!({"args": args}))
    };
    let takes = |args: &[String], printed: &str| {
        assert_eq!(result(server, &asked(args))["run"]["stdout"], printed);
    };
    let refuses = |args: &[String], part: &str| {
        send(server, &asked(args)).assert_failure_about(400, &[part]);
    };
    takes(&vec!["a".to_owned(); 64], "65 64\n");
    refuses(&vec!["a".to_owned(); 65], "64");
    takes(&vec!["a".repeat(4 << 10); 8], "9 32768\n");
    refuses(&["a".repeat((4 << 10) + 1)], "4096 bytes each");
    refuses(
        &[vec!["a".repeat(4 << 10); 8], vec!["a".to_owned()]].concat(),
        "32768 bytes",
    );
    refuses(&["a\0b".to_owned()], "NUL");
}

fn files_are_bytes(server: &Server) {
    let mut asked = python(
        "print(open('data', 'rb').read(), open('t').read())",
        &json!({"artifacts": true}),
    );
    let files = asked["files"].as_array_mut().unwrap();
    let encoded =
        json!({"path": "data", "content": "/wAKw7E=", "encoding": "base64"});
    files.push(encoded);
    files.push(json!({"path": "t", "content": "ñ", "encoding": "utf8"}));
    let answer = result(server, &asked);
    let printed = "b'\\xff\\x00\\n\\xc3\\xb1' ñ\n";
    assert_eq!(answer["run"]["stdout"], printed);
    assert_eq!(answer["artifacts"], json!([]));
    asked["files"][1]["content"] = json!("/wAKw7E");
    run_is(server, &asked, "files[1].content must be base64");
}

/// A limit under which nothing can run ends the program, and the language is as
/// ready as before.
fn least_limits(server: &Server) {
    let names = ["wall_ms", "cpu_ms", "output_kib", "memory_mib"];
    for name in names {
        for _ in 0..3 {
            let asked = python("print(1)", &json!({"limits": {name: 1}}));
            let answer = result(server, &asked);
            assert!(answer["run"]["exit"].is_object(), "{name}: {answer}");
        }
    }
    let ready = server.ask("GET", "/readyz");
    assert_eq!(ready.status, 200, "{}", ready.text());
    let beside = compile(server, &python("print(1)", &json!({})));
    beside.prints("1\n");
}

#[test]
#[ignore = "needs the images: make test"]
fn one_window_counts_all_runs() {
    let flags =
        ["--languages=python", "--compile-rate-limit=5", "--live-boxes=1"];
    let server = Server::spawn(&flags, None);
    server.wait_until_ready();
    let asked = python("print(1)", &json!({}));
    let compile = || server.compile(&asked);
    assert_eq!(compile().status, 200);
    assert_eq!(send(&server, &asked).status, 200);
    assert_eq!(
        server.stream(&[], &asked).unwrap().end()["exit"],
        json!({"code": 0})
    );
    // A live run counts once, whatever is sent to it.
    let live = python("sys.stdin.read()", &json!({"interactive": true}));
    let mut live = server.stream(&[], &live).unwrap();
    live.next();
    let run = live.run.clone().unwrap();
    for _ in 0..5 {
        let input = server.tell(&run, "input", r#"{"text":"a"}"#);
        assert_eq!(input.status, 204, "{input:?}");
    }
    assert_eq!(server.tell(&run, "stop", "").status, 204);
    assert_eq!(live.end()["exit"], json!({"stopped": true}));
    // A refusal counts as well.
    assert_eq!(send(&server, &json!({})).status, 400);
    let streamed = server.stream(&[], &asked).unwrap_err();
    for refused in [compile(), send(&server, &asked), streamed] {
        refused.assert_failure_about(429, &[]);
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
    }
}
