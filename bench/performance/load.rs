//! Clients with connections that stay, each of which sends its next request
//! when it has the answer to the last.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinSet, yield_now};

/// The same load, whoever serves it.
const CLIENTS: usize = 16;

/// A request as bytes, and what the first line of its answer must hold.
#[derive(Clone)]
pub(crate) struct Load {
    request: Arc<[u8]>,
    status: &'static str,
}

impl Load {
    pub(crate) fn get(path: &str) -> Self {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        Self { request: request.into_bytes().into(), status: " 200 " }
    }

    pub(crate) fn post(path: &str, body: &str) -> Self {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n\
             {body}",
            body.len()
        );
        Self { request: request.into_bytes().into(), status: " 201 " }
    }

    /// The body of one answer.
    pub(crate) async fn once(&self, server: SocketAddr) -> Vec<u8> {
        let mut client = Client::connect(server).await;
        let body = client.exchange(self).await;
        client.received.split_off(body)
    }

    /// How many answers came within about this time.
    pub(crate) async fn run(&self, server: SocketAddr, time: Duration) -> u64 {
        // The kernel charges whoever answers a client that sleeps for waking
        // it, and the slower the answers, the more it sleeps: this one never
        // does.
        let awake = tokio::spawn(async {
            loop {
                yield_now().await;
            }
        });
        let begun = Instant::now();
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let load = self.clone();
            clients.spawn(async move {
                let mut client = Client::connect(server).await;
                let mut count = 0;
                while begun.elapsed() < time {
                    client.exchange(&load).await;
                    count += 1;
                }
                count
            });
        }
        let counts: Vec<u64> = clients.join_all().await;
        awake.abort();
        counts.into_iter().sum()
    }
}

/// A connection that stays.
struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    async fn connect(server: SocketAddr) -> Self {
        let stream = TcpStream::connect(server).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, received: Vec::new() }
    }

    /// Sends a request and reads its answer, whose body begins there.
    async fn exchange(&mut self, load: &Load) -> usize {
        self.stream.write_all(&load.request).await.unwrap();
        self.received.clear();
        let mut whole = None;
        loop {
            let count = self.stream.read_buf(&mut self.received).await;
            assert!(count.unwrap() > 0, "the server closed");
            whole = whole.or_else(|| self.extent(load));
            let Some((body, end)) = whole else { continue };
            if self.received.len() >= end {
                assert_eq!(self.received.len(), end, "more than an answer");
                return body;
            }
        }
    }

    /// Where the body begins and ends, when the head is there.
    fn extent(&self, load: &Load) -> Option<(usize, usize)> {
        let mut places = self.received.windows(4);
        let body = places.position(|four| four == b"\r\n\r\n")? + 4;
        let head = std::str::from_utf8(&self.received[..body]).unwrap();
        let mut lines = head.lines();
        let first = lines.next().unwrap_or_default();
        assert!(first.contains(load.status), "{head}");
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then_some(value)
        });
        let length: usize = length.expect("a length").parse().unwrap();
        Some((body, body + length))
    }
}
