//! Runs that are read and typed into while they go on. No test waits for a time:
//! a program that is not answered does not end.

use std::io::Write;

use serde_json::{Value, json};

use crate::results::{self, request, send};
use crate::service::{self, Reply, Server, start_python};
use crate::stop;
use sandpiper_testkit::Events;

/// Programs that ask for a name without an end of line, and read it.
const PROMPTS: [(&str, &str, &str); 15] = [
    (
        "c",
        "scanf.c",
        "#include <stdio.h>\nint main(void) { char n[9]; printf(\"Name? \");\n\
         scanf(\"%8s\", n); printf(\"Hi %s\\n\", n); }",
    ),
    (
        "c",
        "fgets.c",
        "#include <stdio.h>\nint main(void) { char n[9]; printf(\"Name? \");\n\
         fgets(n, 9, stdin); printf(\"Hi %s\", n); }",
    ),
    (
        "c",
        "getchar.c",
        "#include <stdio.h>\nint main(void) { printf(\"Name? \");\n\
         int a = getchar(), b = getchar(), c = getchar();\n\
         printf(\"Hi %c%c%c\\n\", a, b, c); }",
    ),
    (
        "cpp",
        "cin.cpp",
        "#include <iostream>\nint main() { std::string n; std::cout << \"Name? \";\n\
         std::cin >> n; std::cout << \"Hi \" << n << \"\\n\"; }",
    ),
    (
        "cpp",
        "scanf.cpp",
        "#include <cstdio>\nint main() { char n[9]; std::printf(\"Name? \");\n\
         std::scanf(\"%8s\", n); std::printf(\"Hi %s\\n\", n); }",
    ),
    ("python", "input.py", "print('Hi', input('Name? '))"),
    ("python", "end.py", "print('Name? ', end='')\nprint('Hi', input())"),
    (
        "python",
        "print.py",
        "import sys\nprint('Name? ', end='', flush=True)\n\
         print('Hi', sys.stdin.readline(), end='')",
    ),
    (
        "java",
        "M.java",
        "import java.util.Scanner;\nclass M { public static void main(String[] a) {\n\
         System.out.print(\"Name? \"); var in = new Scanner(System.in);\n\
         System.out.println(\"Hi \" + in.nextLine()); } }",
    ),
    (
        "java",
        "R.java",
        "import java.io.*;\nclass R { public static void main(String[] a) throws IOException {\n\
         var in = new BufferedReader(new InputStreamReader(System.in));\n\
         System.out.print(\"Name? \"); System.out.println(\"Hi \" + in.readLine()); } }",
    ),
    (
        "java",
        "I.java",
        "void main() { IO.println(\"Hi \" + IO.readln(\"Name? \")); }",
    ),
    ("php", "fgets.php", "<?php echo 'Name? '; echo 'Hi ', fgets(STDIN);"),
    (
        "php",
        "readline.php",
        "<?php $n = readline('Name? '); echo \"Hi $n\\n\";",
    ),
    (
        "csharp",
        "write.cs",
        "Console.Write(\"Name? \"); Console.WriteLine($\"Hi {Console.ReadLine()}\");",
    ),
    (
        "csharp",
        "read.cs",
        "Console.Write(\"Name? \"); var n = \"\"; int c;\n\
         while ((c = Console.Read()) != '\\n') n += (char)c;\n\
         Console.WriteLine($\"Hi {n}\");",
    ),
];

/// A conversation with a program.
pub(crate) struct Dialogue<'a> {
    server: &'a Server,
    pub(crate) events: Events,
}

impl<'a> Dialogue<'a> {
    pub(crate) fn start(server: &'a Server, asked: &Value) -> Self {
        let mut asked = asked.clone();
        asked["interactive"] = json!(true);
        let events = server.stream(&[], &asked);
        let events = events.expect("a stream");
        Self { server, events }
    }

    fn python(server: &'a Server, source: &str) -> Self {
        Self::start(server, &python(source))
    }

    fn id(&self) -> &str {
        self.events.run.as_deref().expect("an id")
    }

    pub(crate) fn tell(&self, what: &str, body: &Value) -> Reply {
        self.server.tell(self.id(), what, &body.to_string())
    }

    /// Waits for this output, and answers it.
    fn answer(&mut self, prompt: &str, text: &str) {
        self.events.until(prompt);
        assert_eq!(self.tell("input", &json!({"text": text})).status, 204);
    }
}

pub(crate) fn python(source: &str) -> Value {
    let source = format!("import os, sys, time\n{source}");
    request("python", "main.py", &source, &json!({}))
}

pub(crate) fn prompts_are_answered(server: &Server) {
    for (language, file, source) in PROMPTS {
        let asked = request(language, file, source, &json!({}));
        let mut dialogue = Dialogue::start(server, &asked);
        dialogue.answer("Name? ", "Ann\n");
        let end = dialogue.events.end();
        let Events { stdout, stderr, .. } = &dialogue.events;
        assert_eq!(stdout, "Name? Hi Ann\n", "{file}: {stderr}");
        assert_eq!((&end["exit"], stderr.as_str()), (&json!({"code": 0}), ""));
    }
}

pub(crate) fn refuses_input(server: &Server) {
    for language in ["mysql", "mongodb", "web", "react", "vue"] {
        let asked = request(language, "m", "", &json!({"interactive": true}));
        let message = format!("language {language} takes no input");
        server.stream(&[], &asked).unwrap_err().assert_failure(400, &message);
    }
    let asked = request("python", "m", "", &json!({"interactive": true}));
    let message = "interactive needs Accept: text/event-stream";
    send(server, &asked).assert_failure(400, message);
}

#[test]
#[ignore = "needs the images: make test"]
fn a_run_is_talked_to() {
    // One client may have half of the boxes, and uses two of them at once.
    let server = service::start(&[
        "--languages=python,c,cpp",
        "--live-boxes=16",
        "--boxes=4",
    ]);
    input_ends(&server);
    input_follows_stdin(&server);
    characters_are_whole(&server);
    a_compile_error_is_an_end(&server);
    output_has_a_limit(&server);
    cpu_time_has_a_limit(&server);
    begin_has_the_limits_of_the_run(&server);
    ids_are_those_of_live_runs(&server);
    old_clients_are_answered(&server);
    stop::a_stopped_run_keeps_its_output(&server);
    stop::a_compiler_is_stopped(&server);
    results::lower_memory_takes_a_new_box(&server);
}

fn input_ends(server: &Server) {
    let mut one = Dialogue::python(server, "print(sys.stdin.read(), 'end')");
    one.events.next();
    let input = |more| assert_eq!(one.tell("input", &more).status, 204);
    input(json!({"text": "a\0"}));
    input(json!({}));
    input(json!({"text": "ñ", "end": true}));
    // Nothing comes behind the end.
    let refused = one.tell("input", &json!({"text": "b"}));
    refused.assert_failure(404, "no such run");
    assert_eq!(one.events.end()["exit"], json!({"code": 0}));
    assert_eq!(one.events.stdout, "a\0ñ end\n");
    let mut two = Dialogue::python(server, "input('? ')");
    two.events.until("? ");
    assert_eq!(two.tell("input", &json!({"end": true})).status, 204);
    assert_eq!(two.events.end()["exit"], json!({"code": 1}));
    assert!(two.events.stderr.contains("EOFError"), "{:?}", two.events);
}

/// More than a pipe holds.
fn input_follows_stdin(server: &Server) {
    let source = "n = len(sys.stdin.readline())\nprint(n, input('? '))";
    let mut asked = python(source);
    asked["stdin"] = json!("x".repeat(300_000) + "\n");
    let mut one = Dialogue::start(server, &asked);
    one.answer("? ", "last\n");
    one.events.end();
    assert_eq!(one.events.stdout, "? 300001 last\n");
}

fn characters_are_whole(server: &Server) {
    let source = "out = sys.stdout.buffer\n\
                  for part in b'a\\xf0', b'\\x9f', b'\\x98\\x80b', b'\\xff\\xc3':\n\
                  \x20   out.write(part)\n\x20   out.flush()\n\
                  \x20   print('?', end='', file=sys.stderr, flush=True)\n\
                  \x20   sys.stdin.readline()";
    let mut one = Dialogue::python(server, source);
    for asked in 1..=4 {
        while one.events.stderr.len() < asked {
            one.events.next().unwrap();
        }
        assert_eq!(one.tell("input", &json!({"text": "\n"})).status, 204);
    }
    one.events.end();
    assert_eq!(one.events.stdout, "a😀b\u{fffd}\u{fffd}");
}

fn a_compile_error_is_an_end(server: &Server) {
    let asked = request("c", "m.c", "int main(void) { x; }", &json!({}));
    let mut one = Dialogue::start(server, &asked);
    let names: Vec<_> =
        one.events.by_ref().map(|it| (it.name, it.data)).collect();
    let (begin, stage, end) = (&names[0], &names[1], names.last().unwrap());
    assert_eq!((&*begin.0, &*stage.0, &*end.0), ("begin", "stage", "end"));
    assert_eq!(stage.1["stage"], "compile");
    assert_eq!(end.1["stage"], "compile");
    assert_eq!(end.1["exit"], json!({"code": 1}));
    assert!(one.events.stderr.contains("m.c:1:"), "{:?}", one.events);
    // It has ended, and nobody can type into it.
    one.tell("input", &json!({})).assert_failure(404, "no such run");
}

fn output_has_a_limit(server: &Server) {
    for (stream, is_live) in [
        ("stdout", true),
        ("stdout", false),
        ("stderr", true),
        ("stderr", false),
    ] {
        let source = format!("while 1: sys.{stream}.write('é' * 5000)");
        let mut asked = python(&source);
        asked["interactive"] = json!(is_live);
        let mut events = server.stream(&[], &asked).unwrap();
        let end = events.end();
        assert_eq!(end["exit"], json!({"limit": "output"}));
        assert_eq!(end["truncated"], json!([stream]));
        assert_eq!(end["message"], "Output limit exceeded: 1 MiB");
        // The other one has nothing.
        let text = events.stdout + &events.stderr;
        assert!(text == "é".repeat(512 << 10), "{}", text.len());
        // The log counts all of it, too.
        let line = server.line_of(&events.head);
        assert!(line.contains(&format!("{stream}_bytes=1048576")), "{line}");
    }
}

fn cpu_time_has_a_limit(server: &Server) {
    // Two processes: it is the sum that counts.
    let mut asked = python("os.fork()\nwhile 1: print(end='')");
    asked["limits"] = json!({"cpu_ms": 200});
    let end = Dialogue::start(server, &asked).events.end();
    assert_eq!(end["exit"], json!({"limit": "cpu"}), "{end}");
    assert!(end["cpu_ms"].as_f64() >= Some(200.0), "{end}");
}

fn begin_has_the_limits_of_the_run(server: &Server) {
    let check = |asked: &Value, expected: Value| {
        let mut events = server.stream(&[], asked).unwrap();
        assert_eq!(events.next().unwrap().data["limits"], expected, "{asked}");
        events.end();
    };
    let mut asked = python("");
    let own = |wall, idle: Value, output| json!({"wall_ms": wall, "idle_ms": idle, "cpu_ms": 120_000, "output_kib": output});
    check(&asked, own(120_000, Value::Null, 1_024));
    asked["limits"] = json!({"wall_ms": 70_000, "output_kib": 3});
    check(&asked, own(70_000, Value::Null, 3));
    asked["interactive"] = json!(true);
    check(&asked, own(70_000, json!(60_000), 3));
    asked["limits"] = json!({});
    check(&asked, own(300_000, json!(60_000), 1_024));
}

fn ids_are_those_of_live_runs(server: &Server) {
    let mut one = Dialogue::python(server, "input('? ')");
    one.events.until("? ");
    let id = one.id().to_owned();
    assert!(id.len() == 32 && id.bytes().all(|it| it.is_ascii_hexdigit()));
    // The program goes on until it is stopped.
    assert_eq!(one.tell("stop", &json!({})).status, 204);
    assert_eq!(one.events.end()["exit"], json!({"stopped": true}));
    for what in ["input", "stop"] {
        let reply = server.tell(&id, what, "{}");
        reply.assert_failure(404, "no such run");
    }
}

/// There is no queue in which the next run could wait for it.
#[test]
#[ignore = "needs the images: make test"]
fn a_box_is_free_before_the_end_of_its_run() {
    let server = start_python(&["--live-boxes=1"]);
    for _ in 0..10 {
        // The end of the other processes takes the box some time.
        let source = "for _ in range(9):\n    if os.fork() == 0:\n\
                      \x20       time.sleep(999)";
        let mut one = Dialogue::python(&server, source);
        assert_eq!(one.events.end()["exit"], json!({"code": 0}));
    }
}

/// Proxies ask in HTTP/1.0 by default.
fn old_clients_are_answered(server: &Server) {
    let mut asked = python("input('? ')\nprint('end')");
    asked["interactive"] = json!(true);
    let body = asked.to_string();
    let mut stream = server.connect();
    let head = format!(
        "POST /api/run HTTP/1.0\r\nHost: x\r\nAccept: text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let events = Events::read(stream).unwrap();
    assert_eq!(events.head.header("transfer-encoding"), None);
    let mut one = Dialogue { server, events };
    one.answer("? ", "\n");
    assert_eq!(one.events.end()["exit"], json!({"code": 0}));
}

/// Neither output nor input for that long. The time is doubled until the program
/// has printed: a slow machine takes longer to start it.
#[test]
#[ignore = "needs the images: make test"]
fn a_run_that_nobody_types_into_is_ended() {
    let mut seconds = 1;
    loop {
        let idle_time = format!("--live-idle-time={seconds}s");
        let server = start_python(&["--live-boxes=2", &idle_time]);
        let source = "print('begun', flush=True)\ntime.sleep(999)";
        let mut one = Dialogue::python(&server, source);
        let end = one.events.end();
        assert_eq!(end["exit"], json!({"limit": "idle"}));
        assert_eq!(end["message"], format!("Nobody typed for {seconds} s"));
        assert!(end["wall_ms"].as_f64() >= Some(1e3 * f64::from(seconds)));
        let ended =
            "sandpiper_runs_total{language=\"python\",outcome=\"idle\"}";
        assert_eq!(server.metrics().count(ended), 1);
        seconds *= 2;
        if one.events.stdout == "begun\n" {
            break;
        }
        assert!(seconds < 60, "{}", one.events.stdout);
    }
}
