//! Runs that their clients stop, in a box or in the queue.

use std::net::TcpStream;

use sandpiper_testkit::traces::shows;
use sandpiper_testkit::{Events, eventually};
use serde_json::{Value, json};

use crate::live::python;
use crate::results::request;
use crate::service::{Reply, Server, start_python};

/// Sends a run that can be stopped under this id.
fn named(server: &Server, path: &str, id: &str, asked: &Value) -> TcpStream {
    named_with(&[], server, path, id, asked)
}

fn named_with(
    headers: &[&str],
    server: &Server,
    path: &str,
    id: &str,
    asked: &Value,
) -> TcpStream {
    let name = format!("Sandpiper-Run: {id}");
    let own = ["Content-Type: application/json", &name];
    let headers = [&own, headers].concat();
    server.begin("POST", path, &headers, asked.to_string())
}

pub(crate) fn a_stopped_run_keeps_its_output(server: &Server) {
    // A shell of this name runs when the output has left the program.
    let name = format!("stopped-{}", std::process::id());
    let source = format!(
        "print('begun', flush=True)\nprint('x' * (1 << 17), flush=True)\n\
         os.execlp('sh', '{name}', '-c', 'sleep 999; exit 1')"
    );
    for path in ["/api/compile", "/api/run"] {
        let id = "0123456789abcdef0123456789abcdef";
        let reply = named(server, path, id, &python(&source));
        eventually("it has printed", || shows(server.pid(), &name));
        // Another run of this name has none.
        let other = named(server, path, id, &python(""));
        let other = Reply::read(&mut { other });
        assert_eq!(other.status, 200, "{}", other.text());
        assert_eq!(server.tell(id, "stop", "").status, 204);
        assert!(stopped(reply).text().contains("begun\\n"));
        assert_eq!(server.tell(id, "stop", "").status, 404);
    }
}

/// The compile step is stopped as the run step is.
pub(crate) fn a_compiler_is_stopped(server: &Server) {
    // The compiler works on each of these values for seconds.
    let source = "constexpr int f(int n) {\n\
                  for (int i = 0; i < 5000; ++i)\n\
                  for (int j = 0; j < 1000; ++j) n ^= j;\n return n; }\n\
                  template <int N> constexpr int v = f(N) + v<N - 1>;\n\
                  template <> constexpr int v<0> = 0;\n\
                  constexpr int all = v<200>;\nint main() {}";
    let asked = request("cpp", "m.cpp", source, &json!({}));
    for path in ["/api/compile", "/api/run"] {
        let id = "0123456789abcdef0123456789abcdef";
        let mut reply = named(server, path, id, &asked);
        eventually("it compiles", || shows(server.pid(), "cc1plus"));
        assert_eq!(server.tell(id, "stop", "").status, 204);
        let reply = Reply::read(&mut reply);
        let end = reply.header("sandpiper-exit");
        assert_eq!(end, Some("stage=compile; stopped=true"), "{reply:?}");
        if path == "/api/run" {
            assert_eq!(reply.json()["run"], Value::Null);
            let exit = &reply.json()["compile"]["exit"];
            assert_eq!(*exit, json!({"stopped": true}));
        }
    }
}

/// Reads the answer to a run that was stopped.
fn stopped(mut stream: TcpStream) -> Reply {
    let reply = Reply::read(&mut stream);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("sandpiper-exit"), Some("stage=run; stopped=true"));
    reply
}

#[test]
#[ignore = "needs the images: make test"]
fn a_run_that_waits_is_stopped() {
    let server =
        start_python(&["--boxes=1", "--queue-wait=120s", "--live-boxes=0"]);
    let [first, second, third] = ["a", "b", "c"].map(|digit| digit.repeat(32));
    let sleeper = python("print('begun', flush=True)\ntime.sleep(999)");
    let has = |gauge: &str, count| {
        eventually("its place", || server.metrics().count(gauge) == count);
    };
    let running = named(&server, "/api/compile", &first, &sleeper);
    has("sandpiper_boxes_in_use", 1);
    let waiting = named(&server, "/api/compile", &second, &sleeper);
    has("sandpiper_runs_waiting", 1);
    let events = ["Accept: text/event-stream"];
    let streamed = named_with(&events, &server, "/api/run", &third, &sleeper);
    has("sandpiper_runs_waiting", 2);
    let stop = |id: &str| assert_eq!(server.tell(id, "stop", "").status, 204);
    stop(&third);
    let ends: Vec<_> = Events::read(streamed).unwrap().collect();
    // It had no box, so it never began.
    assert_eq!((ends.len(), &*ends[0].name), (1, "end"), "{ends:?}");
    assert_eq!(ends[0].data["exit"], json!({"stopped": true}));
    for time in ["wall_ms", "cpu_ms", "memory_peak_kib"] {
        assert_eq!(ends[0].data.get(time), Some(&Value::Null), "{ends:?}");
    }
    // No stop before there is output.
    for (id, reply) in [(second, waiting), (first, running)] {
        stop(&id);
        stopped(reply);
    }
    let mut asked = python("");
    asked["interactive"] = json!(true);
    let refused = server.stream(&[], &asked).unwrap_err();
    refused.assert_failure(400, "live runs are off on this server");
}
