//! The product catalogue: CPU time of the server for one request, compared with
//! the same catalogue by Go's net/http (`products.go`).

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use sandpiper_testkit::{Server, checkout, traces};

use crate::Context;
use crate::row::{Asked, Row, Series};

/// The number of measurements of each server, and the time of one.
const ROUNDS: usize = 21;
const TIME: Duration = Duration::from_millis(200);
/// The number of persistent connections. Each sends its next request after the
/// answer to the last.
const CLIENTS: usize = 16;
/// The number of products in the list.
const PRODUCTS: usize = 1_000;

/// A server that is measured.
struct Measured {
    process: i32,
    address: SocketAddr,
}

pub(crate) fn measure(context: &Context) -> Vec<Row> {
    // If there are several processors, the client has its own; otherwise chance
    // would decide when the client and the servers run.
    let all = sched_getaffinity(None).unwrap();
    let mut cpus: Vec<usize> =
        (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect();
    let own = cpus.pop();
    stay_on(&cpus);
    let server = Server::with(&[]);
    let ours = Measured { process: server.pid(), address: server.address };
    let go = start_go(&context.folder);
    fill(&ours);
    fill(&go);
    let requests = [get("/products/500"), get("/products"), creation(0)];
    if !cpus.is_empty() {
        stay_on(own.as_slice());
    }
    let row = |(request, name): (&String, &str)| {
        let mut figures = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            figures[0].push(cost(request, &ours));
            figures[1].push(cost(request, &go));
        }
        Row {
            name: format!("{name} / net/http"),
            unit: "µs CPU",
            other: Series::new("Go", &figures[1]),
            ours: Series::new("sandpiper", &figures[0]),
            asked: Asked::Times(1.0),
        }
    };
    let names = ["GET one", "GET 1,000", "POST"];
    requests.iter().zip(names).map(row).collect()
}

/// Binds this process, and those that it starts from now on, to these processors.
/// Does nothing if there are none.
fn stay_on(cpus: &[usize]) {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    if !cpus.is_empty() {
        sched_setaffinity(None, &set).unwrap();
    }
}

/// Builds the server in Go in `folder`, and starts it. It ends with the step.
fn start_go(folder: &Path) -> Measured {
    let program = folder.join("products");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program);
    build.arg(checkout().join("bench/performance/products.go"));
    let built = build.status();
    let built = built.expect("go is missing: run scripts/setup-bench");
    assert!(built.success(), "go build: {built}");
    let mut command = Command::new(program);
    #[expect(clippy::zombie_processes, reason = "it ends with the step")]
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    let process = i32::try_from(child.id()).unwrap();
    Measured { process, address: line.trim().parse().unwrap() }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// Returns the request that creates product `number`.
fn creation(number: usize) -> String {
    let (whole, cents) = (number % 90 + 10, number * 7 % 100);
    let body = format!(
        r#"{{"name":"product number {number}","price":{whole}.{cents:02}}}"#
    );
    format!(
        "POST /products HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn fill(server: &Measured) {
    let mut client = Client::connect(server);
    for number in 0..PRODUCTS {
        client.once(&creation(number));
    }
}

/// Returns the CPU time of the server for one request, in microseconds.
fn cost(request: &str, server: &Measured) -> f64 {
    let mut clients = [(); CLIENTS].map(|()| Client::connect(server));
    let before = cpu_time(server.process);
    clients.iter_mut().for_each(|client| client.send(request));
    let begun = Instant::now();
    let (mut count, mut open) = (0_u32, CLIENTS);
    // The client never sleeps. If it did, the kernel would charge the server for
    // waking it, and a slower server more often.
    while open > 0 {
        for client in &mut clients {
            if !client.has_answer() {
                continue;
            }
            count += 1;
            if begun.elapsed() < TIME {
                client.send(request);
            } else {
                client.received.clear();
                open -= 1;
            }
        }
    }
    let used = cpu_time(server.process) - before;
    used.as_secs_f64() * 1e6 / f64::from(count)
}

/// Returns the CPU time of a process and its descendants, without threads that have
/// ended.
fn cpu_time(process: i32) -> Duration {
    let of_thread = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    let threads = traces::descendants(process).into_iter().flat_map(|one| {
        fs::read_dir(format!("/proc/{one}/task")).into_iter().flatten()
    });
    Duration::from_nanos(threads.flatten().filter_map(of_thread).sum())
}

/// A persistent connection.
struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    fn connect(server: &Measured) -> Self {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        Self { stream, received: Vec::with_capacity(128 << 10) }
    }

    /// Sends the request, and waits for the answer.
    fn once(&mut self, request: &str) {
        self.send(request);
        while !self.has_answer() {}
    }

    /// A request is small, so the socket takes it in one write.
    fn send(&mut self, request: &str) {
        self.received.clear();
        self.stream.write_all(request.as_bytes()).unwrap();
    }

    /// Returns whether the whole answer has arrived.
    fn has_answer(&mut self) -> bool {
        let mut buffer = [0; 16 << 10];
        let count = match self.stream.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return false;
            }
            read => read.unwrap(),
        };
        assert!(count > 0, "the server closed");
        self.received.extend_from_slice(&buffer[..count]);
        let mut places = self.received.windows(4);
        let Some(end) = places.position(|four| four == b"\r\n\r\n") else {
            return false;
        };
        let body = end + 4;
        let head = std::str::from_utf8(&self.received[..body]).unwrap();
        assert!(head.starts_with("HTTP/1.1 20"), "{head}");
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then_some(value)
        });
        let length: usize = length.expect("a length").parse().unwrap();
        self.received.len() == body + length
    }
}
