//! One client of the service that waits for each answer.

use std::io::Write;
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use sandpiper_testkit::{Reply, connect, metrics};

use crate::row::since;

/// The longest time that a box may take to be ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// The machine counts as idle if no box was made for this time.
const QUIET: Duration = Duration::from_millis(200);

/// The server that steps share.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
}

impl Target {
    /// Sends a run. Returns its standard output, and the milliseconds from the first
    /// byte sent to the end of the answer. Each client has its own address, since one
    /// client may use only half of the boxes.
    pub(crate) fn run(self, client: usize, request: &str) -> (String, f64) {
        let is_full = request.contains("\"artifacts\":true");
        let path = if is_full { "run" } else { "compile" };
        let request = format!(
            "POST /api/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             X-Forwarded-For: 192.0.2.{client}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n\
             {request}",
            request.len()
        );
        let mut stream = connect(self.address);
        stream.set_nodelay(true).unwrap();
        let begun = Instant::now();
        stream.write_all(request.as_bytes()).unwrap();
        let reply = Reply::read(&mut stream);
        let time = since(begun);
        let exit = reply.header("sandpiper-exit");
        let is_right = reply.status == 200 && exit == Some("stage=run; code=0");
        assert!(is_right, "{} {exit:?}: {}", reply.status, reply.text());
        let answer = reply.json();
        let run = if is_full { &answer["run"] } else { &answer };
        assert_ne!(answer["artifacts"], serde_json::json!([]));
        (run["stdout"].as_str().unwrap().to_owned(), time)
    }

    /// Waits until a box of the language is ready and the machine is idle.
    pub(crate) fn wait_for_box(self, language: &str) {
        let begun = Instant::now();
        let (mut since, mut last) = (begun, (0, 0));
        while last.0 == 0 || since.elapsed() < QUIET {
            assert!(
                begun.elapsed() < PATIENCE,
                "no box of {language} is ready"
            );
            sleep(QUIET / 10);
            let counted = metrics(self.admin);
            let now = (counted.ready(language), counted.all_ready());
            if now != last {
                (since, last) = (Instant::now(), now);
            }
        }
    }
}
