//! One client of the service that waits for each answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use sandpiper_testkit::Reply;
use sandpiper_testkit::{Server, connect};

/// How long boxes may take to be ready.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often to look whether they are.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long nothing is made any more before the machine counts as idle.
const QUIET: Duration = Duration::from_millis(200);

/// A server, and where its metrics are.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
}

impl Asked {
    pub(crate) fn of(server: &Server) -> Self {
        Self { address: server.address, admin: server.admin }
    }

    /// Runs what `request` asks for; its standard output, and the time on a
    /// connection that stands. Calls `passed` before and after that time.
    pub(crate) fn run(self, request: &str, passed: fn()) -> (String, Duration) {
        let head = format!(
            "POST /api/compile HTTP/1.1\r\nHost: x\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            request.len()
        );
        let (reply, time) = self.exchange(&(head + request), passed);
        let body = reply.json();
        let exit = reply.header("sandpiper-exit");
        assert_eq!(exit, Some("stage=run; code=0"), "{body}");
        (body["stdout"].as_str().unwrap().to_owned(), time)
    }

    /// Asks for a page; otherwise the same.
    pub(crate) fn get(self, path: &str, passed: fn()) -> Duration {
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        self.exchange(&head, passed).1
    }

    fn exchange(self, request: &str, passed: fn()) -> (Reply, Duration) {
        let mut stream = connect(self.address);
        stream.set_nodelay(true).unwrap();
        passed();
        let begun = Instant::now();
        stream.write_all(request.as_bytes()).unwrap();
        let answer = read(&mut stream);
        let time = begun.elapsed();
        passed();
        let reply = Reply::read(&mut &answer[..]);
        assert_eq!(reply.status, 200, "{}", reply.text());
        (reply, time)
    }

    /// Waits until a box is ready for the language and none is being made, for
    /// the machine is to be idle; not where none are made ahead.
    pub(crate) fn wait_for_box(self, language: &str) {
        let begun = Instant::now();
        let mut since = begun;
        let mut last = self.boxes_ready();
        while begun.elapsed() < PATIENCE {
            let own = last.iter().find(|(name, _)| name == language);
            match own {
                None => return,
                Some((_, count)) if *count > 0 && since.elapsed() >= QUIET => {
                    return;
                }
                Some(_) => sleep(LOOK_AGAIN),
            }
            let now = self.boxes_ready();
            if now != last {
                (since, last) = (Instant::now(), now);
            }
        }
        eprintln!("no box of {language} is ready: a cold one is measured");
    }

    /// How many boxes wait for a run of the language.
    pub(crate) fn ready(self, language: &str) -> u64 {
        let boxes = self.boxes_ready().into_iter();
        boxes.filter(|(name, _)| name == language).map(|(_, count)| count).sum()
    }

    /// How many runs of the language found no box ready.
    pub(crate) fn cold_runs(self, language: &str) -> u64 {
        let metric = format!(
            "sandpiper_run_boxes_total{{language=\"{language}\",box=\"cold\"}} "
        );
        let metrics = self.metrics();
        let mut lines = metrics.lines();
        let value = lines.find_map(|line| line.strip_prefix(&metric));
        value.map_or(0, |value| value.parse().unwrap())
    }

    /// How many wait, by language.
    fn boxes_ready(self) -> Vec<(String, u64)> {
        let metric = "sandpiper_boxes_ready{language=\"";
        let of_line = |line: &str| {
            let (language, count) =
                line.strip_prefix(metric)?.split_once("\"} ")?;
            Some((language.to_owned(), count.parse().ok()?))
        };
        self.metrics().lines().filter_map(of_line).collect()
    }

    fn metrics(self) -> String {
        let mut stream = connect(self.admin);
        let request =
            b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request).unwrap();
        Reply::read(&mut stream).text().to_owned()
    }
}

/// One answer, as far as its length says.
fn read(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the server closed");
        answer.extend_from_slice(&buffer[..count]);
        let Some(body) = answer.windows(4).position(|four| four == b"\r\n\r\n")
        else {
            continue;
        };
        let head = std::str::from_utf8(&answer[..body]).unwrap();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then_some(value.parse::<usize>())
        });
        let length = length.expect("a length").unwrap();
        if answer.len() >= body + 4 + length {
            return answer;
        }
    }
}
