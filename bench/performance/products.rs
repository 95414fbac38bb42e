//! The product catalogue: CPU time of the server for one request, beside hyper
//! alone.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use sandpiper_testkit::{Server, traces};

use crate::row::{Asked, Row, Series};
use crate::{Ground, bare_hyper};

/// How often each server is measured, and for how long.
const ROUNDS: usize = 21;
const TIME: Duration = Duration::from_millis(200);
/// Connections that stay, each of which asks when it has its answer.
const CLIENTS: usize = 16;
/// Products in the list.
const PRODUCTS: usize = 1_000;

/// A server that is asked.
struct Asking {
    process: i32,
    address: SocketAddr,
}

pub(crate) fn measure(ground: &Ground) -> Vec<Row> {
    // The client has a processor of its own, if there are several: else it and
    // the servers take turns as chance has it.
    let all = sched_getaffinity(None).unwrap();
    let mut cpus: Vec<usize> =
        (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect();
    let own = cpus.pop();
    stay_on(&cpus);
    let server = Server::with(&[]);
    let ours = Asking { process: server.pid(), address: server.address };
    fill(&ours);
    let requests = [get("/products/500"), get("/products"), creation(0)];
    for (name, request) in bare_hyper::ANSWERS.iter().zip(&requests) {
        let answer = Client::connect(&ours).once(request);
        fs::write(ground.folder.join(name), answer).unwrap();
    }
    let hyper = start_hyper(&ground.folder);
    if !cpus.is_empty() {
        stay_on(own.as_slice());
    }
    let row = |(request, name): (&String, &str)| {
        let mut figures = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            figures[0].push(cost(request, &ours));
            figures[1].push(cost(request, &hyper));
        }
        Row {
            name: format!("{name} / bare hyper"),
            unit: "µs CPU",
            other: Series::new("bare hyper", &figures[1]),
            ours: Series::new("sandpiper", &figures[0]),
            asked: Asked::Times(1.15),
        }
    };
    let names = ["GET one", "GET 1,000", "POST"];
    requests.iter().zip(names).map(row).collect()
}

/// Keeps this process, and those it starts from now on, on these processors;
/// anywhere if there are none.
fn stay_on(cpus: &[usize]) {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    if !cpus.is_empty() {
        sched_setaffinity(None, &set).unwrap();
    }
}

/// Starts hyper with these answers; it ends with the step.
fn start_hyper(answers: &Path) -> Asking {
    let mut command = Command::new("/proc/self/exe");
    command.arg("--bare-hyper").arg(answers);
    #[expect(clippy::zombie_processes, reason = "it ends with the step")]
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    let process = i32::try_from(child.id()).unwrap();
    Asking { process, address: line.trim().parse().unwrap() }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// The same products for everyone.
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

fn fill(server: &Asking) {
    let mut client = Client::connect(server);
    for number in 0..PRODUCTS {
        client.once(&creation(number));
    }
}

/// CPU time of the server for one request, in microseconds.
fn cost(request: &str, server: &Asking) -> f64 {
    let mut clients = [(); CLIENTS].map(|()| Client::connect(server));
    let before = cpu_time(server.process);
    clients.iter_mut().for_each(|client| client.send(request));
    let begun = Instant::now();
    let (mut count, mut open) = (0_u32, CLIENTS);
    // It never sleeps: the kernel charges whoever answers a client that sleeps
    // for waking it, and the slower the answers, the more it sleeps.
    while open > 0 {
        for client in &mut clients {
            if client.has_answer().is_none() {
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

/// CPU time of a process and all below it, to the nanosecond; threads that
/// have ended are not in it.
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

/// A connection that stays.
struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    fn connect(server: &Asking) -> Self {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        Self { stream, received: Vec::with_capacity(128 << 10) }
    }

    /// The body of one answer.
    fn once(&mut self, request: &str) -> Vec<u8> {
        self.send(request);
        loop {
            if let Some(body) = self.has_answer() {
                return self.received.split_off(body);
            }
        }
    }

    /// A request is small: the socket takes it as a whole.
    fn send(&mut self, request: &str) {
        self.received.clear();
        self.stream.write_all(request.as_bytes()).unwrap();
    }

    /// Where its body begins, if the answer is there.
    fn has_answer(&mut self) -> Option<usize> {
        let mut buffer = [0; 16 << 10];
        let count = match self.stream.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            read => read.unwrap(),
        };
        assert!(count > 0, "the server closed");
        self.received.extend_from_slice(&buffer[..count]);
        let mut places = self.received.windows(4);
        let body = places.position(|four| four == b"\r\n\r\n")? + 4;
        let head = std::str::from_utf8(&self.received[..body]).unwrap();
        assert!(head.starts_with("HTTP/1.1 20"), "{head}");
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then_some(value)
        });
        let length: usize = length.expect("a length").parse().unwrap();
        (self.received.len() == body + length).then_some(body)
    }
}
