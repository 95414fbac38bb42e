//! What an ordinary client sees meanwhile.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

use sandpiper_testkit::Server;

/// Attackers have this address.
pub(crate) const ATTACKER: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The ordinary client has another.
const ORDINARY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// How many requests a median is of.
const REQUESTS: usize = 41;
/// How much longer than unloaded a request may take.
const FACTOR: u32 = 20;
/// What counts as the unloaded time at least: below it clocks, schedulers and
/// how well the build is optimised are measured.
const LEAST: Duration = Duration::from_millis(5);

/// A server that is attacked, alone on the machine but for other programs.
pub(crate) struct Target {
    pub(crate) server: Server,
    unloaded: Duration,
    _alone: MutexGuard<'static, ()>,
}

impl Target {
    pub(crate) fn start() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        raise_open_files();
        let server = Server::start();
        let body = r#"{"name":"a","price":1}"#;
        assert_eq!(server.send("POST", "/products", &[], body).status, 201);
        let unloaded = median(server.address, ORDINARY);
        Self { server, unloaded, _alone: alone }
    }

    /// Fails where an ordinary client is kept waiting.
    pub(crate) fn assert_at_ease(&self) {
        self.assert_at_ease_from(ORDINARY);
    }

    /// The same for a client with this address.
    pub(crate) fn assert_at_ease_from(&self, client: Ipv4Addr) {
        let loaded = median(self.server.address, client);
        let most = self.unloaded.max(LEAST) * FACTOR;
        let unloaded = self.unloaded;
        assert!(loaded <= most, "{loaded:?}, unloaded {unloaded:?}");
        println!("unloaded {unloaded:?}, under attack {loaded:?}");
    }

    /// Connections that the server says it has.
    pub(crate) fn connections(&self) -> usize {
        let mut stream = connect(self.server.admin, ORDINARY);
        let text = answer(&mut stream, "/metrics");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("sandpiper_connections "));
        line.expect("a gauge").parse().expect("a number")
    }
}

/// A connection from `client`, with a bound on every read and write.
pub(crate) fn connect(server: SocketAddr, client: Ipv4Addr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((client, 0)).into()).unwrap();
    socket.connect(&server.into()).expect("the server listens");
    let stream = TcpStream::from(socket);
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).unwrap();
    stream.set_write_timeout(patience).unwrap();
    stream
}

/// The median time of a request on a connection of its own.
fn median(server: SocketAddr, client: Ipv4Addr) -> Duration {
    let mut times: Vec<Duration> = (0..REQUESTS)
        .map(|_| {
            let begun = Instant::now();
            let mut stream = connect(server, client);
            let text = answer(&mut stream, "/products/1");
            assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
            assert!(text.ends_with(r#"{"id":1,"name":"a","price":1}"#));
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[REQUESTS / 2]
}

fn answer(stream: &mut TcpStream, path: &str) -> String {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer in time");
    text
}

/// A test has two thousand sockets.
fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("the soft limit can be raised");
}
