//! The soak: sends every language's starter and every attack to one server, again
//! and again, to find leaks. In each round it also talks to a program, has a file
//! returned, and leaves an event stream unread. Prints the figures of docs/soak.md.

use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use sandpiper_testkit::{Events, Reply, Server, Usage};
use serde_json::{Value, json};

use crate::Settings;
use crate::programs::{self, Program};

/// With short limits, more attacks fit into the time.
const FLAGS: [&str; 5] = [
    "--languages=all",
    "--compile-rate-limit=0",
    "--run-wall-time=5s",
    "--run-cpu-time=5s",
    "--live-boxes=2",
];
/// The client of every ninth program leaves before the answer.
const LEAVES: usize = 9;
const LEAVES_AFTER: Duration = Duration::from_millis(300);
/// Memory may grow by this: an allocator does not return everything.
const MAX_GROWTH_KIB: u64 = 6 << 10;
/// Threads that wait for work end after ten seconds.
const IDLE: Duration = Duration::from_secs(12);
/// The longest time until the server is at rest.
const REST_TIMEOUT: Duration = Duration::from_secs(900);
const JSON: &str = "Content-Type: application/json";
const EVENTS: &str = "Accept: text/event-stream";

/// Sends everything for these minutes after a first round. Returns whether nothing
/// has grown, every answer was right, and the log has no error.
pub(crate) fn soak(settings: &Settings) -> Vec<bool> {
    let minutes = settings.minutes;
    let lasts = Duration::from_secs_f64(minutes * 60.0);
    let programs = programs::all();
    let server = Server::spawn(&FLAGS, None);
    server.wait_until_ready();
    let mut soak = Soak { server, sent: 0, wrong: 0 };
    // In the first round the server may still grow.
    soak.round(&programs);
    let before = soak.at_rest();
    let begun = Instant::now();
    while begun.elapsed() < lasts {
        soak.round(&programs);
    }
    let after = soak.at_rest();
    let Soak { server, sent, wrong } = soak;
    let log = server.into_log();
    let errors = log.lines().filter(|line| line.contains(" ERROR "));
    let errors = errors.inspect(|line| eprintln!("{line}")).count();
    println!(
        "{sent} programs were sent; wrong answers: {wrong}; errors in the log: \
         {errors}.\n"
    );
    println!(
        "| at rest | after the first round | {minutes} minutes later | |\n\
         |---|---|---|---|"
    );
    let mut kept = of_usage(&before, &after);
    kept.extend([wrong == 0, errors == 0]);
    kept
}

/// Prints a row for each resource. Returns whether it has not grown.
fn of_usage(before: &Usage, after: &Usage) -> Vec<bool> {
    let row = |name: &str, before: u64, after: u64, more: u64| {
        let has_grown = after > before + more;
        let verdict = if has_grown { "**grown**" } else { "" };
        println!("| {name} | {before} | {after} | {verdict} |");
        !has_grown
    };
    let memory = [before, after].map(|usage| usage.memory_kib);
    let mut kept =
        vec![row("memory, KiB", memory[0], memory[1], MAX_GROWTH_KIB)];
    let counts = before.counts().into_iter().zip(after.counts());
    kept.extend(
        counts.map(|((name, before), (_, after))| row(name, before, after, 0)),
    );
    kept
}

/// A server under soak.
struct Soak {
    server: Server,
    /// Programs that were sent.
    sent: usize,
    /// Answers that were wrong.
    wrong: usize,
}

impl Soak {
    /// Sends each program once.
    fn round(&mut self, programs: &[Program]) {
        let endless = python("while True: print('x' * 4096)").to_string();
        // Nobody reads it while the others run.
        let unread = self.begin("/api/run", &[JSON, EVENTS], &endless);
        if !talks(&self.server) {
            self.note("a dialogue");
        }
        if !returns_a_file(&self.server) {
            self.note("a file");
        }
        self.sent += 3;
        for program in programs {
            self.send(program);
        }
        // An error has another type, too.
        let (Ok(Events { head, .. }) | Err(head)) = Events::read(unread);
        let kind = head.header("content-type");
        if (head.status, kind) != (200, Some("text/event-stream")) {
            self.note(&format!("an event stream: {}", head.status));
        }
        eprintln!("{} sent: {:?}", self.sent, Usage::of(self.server.pid()));
    }

    fn send(&mut self, program: &Program) {
        let Program { name, is_attack, body } = program;
        self.sent += 1;
        let mut stream = self.begin("/api/compile", &[JSON], body);
        if self.sent.is_multiple_of(LEAVES) {
            sleep(LEAVES_AFTER);
            return;
        }
        let reply = Reply::read(&mut stream);
        let exit = reply.header("sandpiper-exit");
        let is_right = *is_attack || exit == Some("stage=run; code=0");
        if reply.status != 200 || !is_right {
            let status = reply.status;
            let answer = String::from_utf8_lossy(&reply.body);
            let answer: String = answer.chars().take(500).collect();
            self.note(&format!("{name}: {status}, {exit:?}: {answer}"));
        }
    }

    fn begin(&self, path: &str, headers: &[&str], body: &str) -> TcpStream {
        self.server.begin("POST", path, headers, body)
    }

    /// Counts a wrong answer, and says at once which it is.
    fn note(&mut self, answer: &str) {
        self.wrong += 1;
        eprintln!("{answer}");
    }

    /// Returns the usage when the server is idle and one box of each language is
    /// ready.
    fn at_rest(&self) -> Usage {
        let answer = self.server.ask("GET", "/readyz").json();
        let languages = answer["languages"].as_array().unwrap().iter();
        let ids: Vec<&str> =
            languages.map(|one| one["id"].as_str().unwrap()).collect();
        let begun = Instant::now();
        loop {
            sleep(IDLE);
            let metrics = self.server.metrics();
            if ids.iter().all(|id| metrics.ready(id) == 1) {
                return Usage::of(self.server.pid());
            }
            let is_in_time = begun.elapsed() < REST_TIMEOUT;
            assert!(is_in_time, "never: one box of each language");
        }
    }
}

/// Types into a program. Returns whether it ended as it should.
fn talks(server: &Server) -> bool {
    let mut asked = python("print('Hello', input('? '))");
    asked["interactive"] = true.into();
    let Ok(mut events) = server.stream(&[], &asked) else { return false };
    let mut last = Value::Null;
    while let Some(event) = events.next() {
        last = event.data;
        let is_asking =
            last["text"].as_str().is_some_and(|text| text.ends_with("? "));
        if is_asking && let Some(run) = &events.run {
            server.tell(run, "input", r#"{"text":"Ada\n"}"#);
        }
    }
    last["exit"] == json!({"code": 0})
        && (&*events.stdout, &*events.stderr) == ("? Hello Ada\n", "")
}

fn returns_a_file(server: &Server) -> bool {
    let mut asked = python("open('a.txt', 'w').write('a')");
    asked["artifacts"] = true.into();
    let body = asked.to_string();
    let answer = server.send("POST", "/api/run", &[JSON], body).json();
    let files = answer["artifacts"].as_array();
    files.is_some_and(|files| files.len() == 1 && files[0]["content"] == "a")
}

fn python(source: &str) -> Value {
    json!({
        "language": "python",
        "entryFile": "main.py",
        "files": [{"path": "main.py", "content": source}],
    })
}
