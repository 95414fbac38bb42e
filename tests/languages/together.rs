//! What holds for every language: limits, walls, and runs beside each other.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use crate::service::{self, compile};
use crate::{Case, run};

fn python(source: &str) -> Case {
    Case::new("python", &[("main.py", source)])
}

fn c(source: &str) -> Case {
    Case::new("c", &[("main.c", source)])
}

#[test]
fn every_path_that_is_allowed_fits() {
    // Many more folders than a program may make.
    let deep = |name: usize| format!("{name}/{}x.py", "d/".repeat(500));
    let deep: Vec<_> = (0..60).map(deep).collect();
    let mut files = vec![("main.py", "print('all there')")];
    files.extend(deep.iter().map(|path| (path.as_str(), "")));
    run(&Case::new("python", &files)).prints("all there\n");
}

#[test]
fn signals_that_look_like_limits_are_none() {
    let itself = "import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)";
    run(&python(itself)).ends("stage=run; signal=SIGXCPU");
}

#[test]
fn streams_can_be_opened_by_name() {
    let copy = "open('/dev/stdout', 'w').write(open('/dev/stdin').read())";
    run(&python(copy).stdin("a line\n")).prints("a line\n");
}

#[test]
fn output_over_the_limit_is_cut_and_kept() {
    let flood = "while True:\n    print('å' * 999)";
    let answer = run(&python(flood));
    answer.ends("stage=run; limit=output");
    answer.stderr_ends("Output limit exceeded: 1 MiB");
    // Cut within a character: the half goes.
    let cut = (1 << 20) - answer.stdout.len();
    assert!(cut <= 1, "{} bytes", answer.stdout.len());
    assert!(!answer.stdout.contains('\u{FFFD}'));
    let answer = run(&c("#include <stdio.h>\nint main(void) { for (;;) \
                         fprintf(stderr, \"flood\\n\"); }"));
    answer.stdout("").ends("stage=run; limit=output");
    assert!(answer.stderr.len() > 1 << 20);
}

#[test]
fn bytes_that_are_no_text() {
    run(&python("import sys\nsys.stdout.buffer.write(b'a\\xff\\xc3b\\n')"))
        .stdout("a\u{FFFD}\u{FFFD}b\n");
}

#[test]
fn memory_is_limited() {
    run(&python("print('before')\nx = bytearray(2 << 30)\nprint(len(x))"))
        .stdout("before\n")
        .stderr_ends("Memory limit exceeded: 512 MiB")
        .ends("stage=run; limit=memory");
    run(&c("#include <stdlib.h>\n#include <string.h>\nint main(void) { \
            for (;;) memset(malloc(1 << 20), 1, 1 << 20); }"))
    .stderr("Memory limit exceeded: 512 MiB\n");
}

#[test]
fn a_fork_bomb_stays_in_its_box() {
    let bomb = c("#include <unistd.h>\nint main(void) { for (;;) fork(); }");
    let answer = run(&bomb);
    assert!(answer.exit.starts_with("stage=run; limit="), "{answer:?}");
    run(&python("print('alive')")).prints("alive\n");
}

#[test]
fn cpu_time_of_all_threads_counts() {
    // Two cores spin: the CPU time runs out before the wall clock.
    let answer = run(&c("#include <unistd.h>\nint main(void) { \
                         fork(); for (;;); }"));
    assert!(
        ["stage=run; limit=cpu", "stage=run; limit=time"]
            .contains(&answer.exit.as_str()),
        "{answer:?}"
    );
}

#[test]
fn the_host_cannot_be_read() {
    let canary =
        tempfile::Builder::new().prefix("sandpiper-canary").tempfile().unwrap();
    canary.as_file().write_all(b"secret").unwrap();
    let path = canary.path().display();
    // The control: the file is there.
    assert_eq!(std::fs::read_to_string(canary.path()).unwrap(), "secret");
    run(&python(&format!("open('{path}').read()"))).stderr_ends(&format!(
        "FileNotFoundError: [Errno 2] No such file or directory: '{path}'"
    ));
    run(&python(
        "import os\n\
         for path in ['/etc/shadow', '/proc/1/environ', '/sys', '/root',\n        \
         '/proc/kcore', '/proc/cpuinfo', '/dev/sda', '/dev/tty', '/run',\n        \
         '/home', '/proc/sys']:\n    \
             try:\n        \
                 os.listdir(path) if os.path.isdir(path) else open(path).read(1)\n        \
                 print(path, os.listdir(path))\n    \
             except OSError: pass",
    ))
    .stderr("");
}

#[test]
fn the_environment_is_clean() {
    run(&python(
        "import os\nfor key in sorted(os.environ): print(key, os.environ[key])",
    ))
    .prints(
        "HOME /box\nLANG C.UTF-8\n\
         PATH /usr/local/bin:/usr/bin:/bin\nTZ UTC\n",
    );
}

#[test]
fn there_is_no_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    run(&python(&format!(
        "import socket\n\
         for host, port in [('127.0.0.1', {port}), ('192.0.2.1', 80)]:\n    \
             try: socket.create_connection((host, port), 2)\n    \
             except OSError as error: print(error.errno)\n\
         server = socket.create_server(('127.0.0.1', 0))\n\
         socket.create_connection(server.getsockname())\n\
         print('own loopback')"
    )))
    .prints("111\n101\nown loopback\n");
}

#[test]
fn nothing_stays_for_the_next_run() {
    let leave = python(
        "import os\n\
         for folder in ['/tmp', '/dev/shm', '/box']:\n    \
             print(sorted(os.listdir(folder)))\n    \
             open(folder + '/left', 'w').write('x')\n\
         if os.fork() == 0:\n    \
             os.setsid()\n    \
             os.execvp('sleep', ['sleep', '1000'])",
    );
    for _ in 0..3 {
        run(&leave).prints("[]\n[]\n['main.py']\n");
    }
}

#[test]
fn only_the_work_folders_can_be_written() {
    run(&python(
        "import os\n\
         for path in ['/x', '/usr/x', '/etc/x', '/artifacts/x', '/dev/x',\n        \
         '/proc/x', '/opt/sandpiper/x', '/var/tmp/x']:\n    \
             try: open(path, 'w'); print(path)\n    \
             except OSError: pass",
    ))
    .prints("");
}

#[test]
fn two_at_once_do_not_meet() {
    let meet = |name: &'static str| {
        python(&format!(
            "import os, time\n\
             for place in ['/tmp/', '/dev/shm/', '/box/']:\n    \
                 open(place + '{name}', 'w').write('x')\n\
             time.sleep(1)\n\
             seen = [p for p in os.listdir('/proc') if p.isdigit()]\n\
             print(sorted(os.listdir('/tmp') + os.listdir('/dev/shm')),\n    \
                 len(seen))"
        ))
    };
    std::thread::scope(|scope| {
        for name in ["one", "two"] {
            scope.spawn(move || {
                run(&meet(name)).prints(&format!("['{name}', '{name}'] 1\n"));
            });
        }
    });
}

#[test]
fn timings_name_the_stages() {
    let answer = run(&c("int main(void) {}"));
    for stage in ["queue;dur=", "prepare;dur=", "compile;dur=", "run;dur="] {
        assert!(answer.timing.contains(stage), "{answer:?}");
    }
    assert!(!run(&python("")).timing.contains("compile"));
}

#[test]
fn aliases_and_letter_case() {
    for language in ["py", "PYTHON", "Python3"] {
        let request = serde_json::json!({
            "language": language,
            "entryFile": "m.py",
            "files": [{"path": "m.py", "content": "print(1)"}],
        });
        compile(service::shared(), &request).prints("1\n");
    }
}

/// A client that goes away has its run killed: a server with one box then has
/// it free for the next. Were it not killed, the next would be refused: the
/// program runs longer than a run may wait.
#[test]
fn a_client_that_goes_away_frees_its_box() {
    let server = service::start(&[
        "--boxes=1",
        "--run-wall-time=120s",
        "--queue-wait=60s",
    ]);
    let sleeper = python("import time\ntime.sleep(100)").request();
    for _ in 0..2 {
        let gone = service::send_and_leave(&server, &sleeper);
        std::thread::sleep(Duration::from_millis(300));
        drop(gone);
    }
    compile(&server, &python("print('next')").request()).prints("next\n");
}
