//! The service for an ordinary client during an attack.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use sandpiper_testkit::{Server, raise_open_files};

/// Attackers have this address.
pub(crate) const ATTACKER: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The ordinary client has another.
const ORDINARY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// How many requests a median is of.
const REQUESTS: usize = 41;
/// How much longer than unloaded a request may take.
const FACTOR: u32 = 20;
/// The least time that counts as unloaded: below it clocks, schedulers and
/// how well the build is optimised are measured.
const MIN_UNLOADED: Duration = Duration::from_millis(5);

/// A server that is attacked, and one beside it that is not: it shows how long
/// a request takes meanwhile, on a machine that attackers, and whatever else
/// runs there, keep busy.
pub(crate) struct Target {
    pub(crate) server: Server,
    unloaded: Server,
    _alone: MutexGuard<'static, ()>,
}

impl Target {
    pub(crate) fn start() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // A test has two thousand sockets.
        raise_open_files();
        let (server, unloaded) = (Server::start(), Server::start());
        for server in [&server, &unloaded] {
            let body = r#"{"name":"a","price":1}"#;
            assert_eq!(server.send("POST", "/products", &[], body).status, 201);
        }
        Self { server, unloaded, _alone: alone }
    }

    /// Fails if an ordinary client is kept waiting.
    pub(crate) fn assert_responsive(&self) {
        self.assert_responsive_from(ORDINARY);
    }

    /// The same for a client with this address.
    pub(crate) fn assert_responsive_from(&self, client: Ipv4Addr) {
        let (mut loaded, mut unloaded) = (Vec::new(), Vec::new());
        // In turns: the machine is as busy for one as for the other.
        for _ in 0..REQUESTS {
            loaded.push(time(self.server.address, client));
            unloaded.push(time(self.unloaded.address, client));
        }
        let (loaded, unloaded) = (median(loaded), median(unloaded));
        let most = unloaded.max(MIN_UNLOADED) * FACTOR;
        assert!(loaded <= most, "{loaded:?}, unloaded {unloaded:?}");
        println!("unloaded {unloaded:?}, under attack {loaded:?}");
    }

    /// Connections that the server says it has.
    pub(crate) fn connections(&self) -> usize {
        self.server.metrics().count("sandpiper_connections")
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

/// The time of a request on a connection of its own.
fn time(server: SocketAddr, client: Ipv4Addr) -> Duration {
    let request =
        b"GET /products/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let begun = Instant::now();
    let mut stream = connect(server, client);
    stream.write_all(request).expect("the server reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer in time");
    let took = begun.elapsed();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.ends_with(r#"{"id":1,"name":"a","price":1}"#));
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
