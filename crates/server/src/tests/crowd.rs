//! What is shared out among clients: connections, and the memory of bodies and
//! of answers.

use tokio::net::TcpSocket;

use super::metrics::value;
use super::*;

const HEALTH: &str =
    "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// A connection from another address of this machine.
async fn connect_from(address: &str, server: &TestServer) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
    socket.connect(server.address).await.unwrap()
}

/// A run that hangs, on a connection of its own.
async fn hang_from(address: &str, server: &mut TestServer) -> TcpStream {
    let mut stream = connect_from(address, server).await;
    stream.write_all(compile("hang", CLOSE).as_bytes()).await.unwrap();
    server.runs.started().await;
    stream
}

async fn ask_from(address: &str, server: &TestServer) -> Reply {
    let mut stream = connect_from(address, server).await;
    stream.write_all(HEALTH.as_bytes()).await.unwrap();
    Reply::read(&mut stream).await
}

/// Whether the server closes the connection within a second.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut byte = [0];
    let read = stream.read(&mut byte);
    let read = tokio::time::timeout(Duration::from_secs(1), read).await;
    // A reset is an end as well.
    read.is_ok_and(|read| read.unwrap_or(0) == 0)
}

#[tokio::test]
async fn connections_are_bounded() {
    let settings = Settings { connections: 1, ..Settings::default() };
    let mut server = TestServer::with(settings, Duration::ZERO).await;
    let mut first = server.connect().await;
    let request = compile("hang", CLOSE);
    first.write_all(request.as_bytes()).await.unwrap();
    server.runs.started().await;
    let mut second = server.connect().await;
    second.write_all(compile("echo", CLOSE).as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(server.runs.is_quiet());
    server.runs.release();
    assert_eq!(Reply::read(&mut first).await.status, 200);
    assert_eq!(Reply::read(&mut second).await.status, 200);
}

#[tokio::test]
async fn one_client_has_only_its_share() {
    let settings = Settings {
        connections: 8,
        client_connections: 2,
        ..Settings::default()
    };
    let mut server = TestServer::with(settings, Duration::ZERO).await;
    let mut first = hang_from("127.0.0.1", &mut server).await;
    let _second = hang_from("127.0.0.1", &mut server).await;
    let mut third = connect_from("127.0.0.1", &server).await;
    third.write_all(HEALTH.as_bytes()).await.unwrap();
    assert_eq!(ask_from("127.0.0.2", &server).await.status, 200);
    assert!(!is_closed(&mut third).await);
    server.runs.release();
    assert_eq!(Reply::read(&mut first).await.status, 200);
}

#[tokio::test]
async fn a_client_that_waits_for_its_share_gets_it() {
    let settings = Settings { client_connections: 1, ..Settings::default() };
    let mut server = TestServer::with(settings, Duration::ZERO).await;
    let mut first = hang_from("127.0.0.1", &mut server).await;
    let mut second = connect_from("127.0.0.1", &server).await;
    second.write_all(HEALTH.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.runs.release();
    assert_eq!(Reply::read(&mut first).await.status, 200);
    assert_eq!(Reply::read(&mut second).await.status, 200);
}

#[tokio::test]
async fn a_client_that_opens_far_too_many_is_closed() {
    let settings = Settings { client_connections: 1, ..Settings::default() };
    let mut server = TestServer::with(settings, Duration::ZERO).await;
    let _first = hang_from("127.0.0.1", &mut server).await;
    let mut waiting = Vec::new();
    for _ in 0..64 {
        waiting.push(server.connect().await);
    }
    let mut last = server.connect().await;
    assert!(is_closed(&mut last).await);
    assert!(!is_closed(&mut waiting[63]).await);
    // Who waits for a place is no connection yet, and was not refused.
    assert_eq!(value(&server, "sandpiper_connections"), 1.0);
    assert_eq!(value(&server, "sandpiper_connections_refused_total"), 1.0);
}

#[tokio::test]
async fn a_trusted_proxy_has_no_share() {
    let settings = Settings {
        client_connections: 1,
        trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()],
        ..Settings::default()
    };
    let mut server = TestServer::with(settings, Duration::ZERO).await;
    let _first = hang_from("127.0.0.1", &mut server).await;
    let _second = hang_from("127.0.0.1", &mut server).await;
}

/// `begun` is what the connections that wait have sent.
async fn check_that_who_waits_makes_room(settings: Settings, begun: &str) {
    let mut server = TestServer::with(settings, Duration::ZERO).await;
    let mut busy = hang_from("127.0.0.1", &mut server).await;
    let mut first = server.connect().await;
    first.write_all(begun.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut second = server.connect().await;
    second.write_all(begun.as_bytes()).await.unwrap();
    let reply = ask_from("127.0.0.1", &server).await;
    assert_eq!(reply.status, 200);
    assert!(is_closed(&mut first).await);
    assert!(!is_closed(&mut second).await);
    server.runs.release();
    assert_eq!(Reply::read(&mut busy).await.status, 200);
}

#[tokio::test]
async fn who_only_waits_makes_room_for_others() {
    for begun in ["", "GET / HTTP/1.1\r\nHost: x\r\nA: b"] {
        let of_all = Settings { connections: 3, ..Settings::default() };
        check_that_who_waits_makes_room(of_all, begun).await;
        let own = Settings { client_connections: 3, ..Settings::default() };
        check_that_who_waits_makes_room(own, begun).await;
    }
}

#[tokio::test]
async fn a_connection_waits_again_after_its_answer() {
    let settings = Settings { connections: 1, ..Settings::default() };
    let server = TestServer::with(settings, Duration::ZERO).await;
    let mut first = server.connect().await;
    let request = HEALTH.replace("close", "keep-alive");
    first.write_all(request.as_bytes()).await.unwrap();
    assert!(first.read(&mut [0; 1024]).await.unwrap() > 0);
    assert_eq!(ask_from("127.0.0.2", &server).await.status, 200);
    assert!(is_closed(&mut first).await);
}

#[tokio::test(start_paused = true)]
async fn large_bodies_share_their_memory() {
    let server = TestServer::start().await;
    let begin = async |length: u32| {
        let mut stream = server.connect().await;
        let request = format!(
            "POST /products HTTP/1.1\r\nHost: x\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    };
    // As many as the memory holds; none of them ends.
    let mut slow = Vec::new();
    for _ in 0..256 {
        slow.push(begin(1 << 20).await);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let small = server.ask(post("/products", CLOSE, r#"{"name":"a"}"#)).await;
    assert_eq!(small.status, 201);
    let body = format!(r#"{{"name":"{}"}}"#, "x".repeat(100_000));
    let begun = tokio::time::Instant::now();
    let large = server.ask(post("/products", CLOSE, &body)).await;
    assert_eq!(large.status, 201);
    // Not before the slow ones were refused, which made room.
    assert!(begun.elapsed() > Duration::from_secs(20));
    Reply::read(&mut slow.remove(0))
        .await
        .assert_failure(408, "the request body took longer than 30 s");
}

#[tokio::test(start_paused = true)]
async fn answers_that_nobody_takes_share_their_memory() {
    const PRODUCTS: usize = 24;
    let settings = Settings {
        products_bytes: 32 << 20,
        answers_bytes: 40 << 20,
        ..Settings::default()
    };
    let server = TestServer::with(settings, Duration::ZERO).await;
    let write = async |method: &str, path: &str| {
        let body = format!(r#"{{"name":"{}"}}"#, "x".repeat(1_000_000));
        let request = post(path, CLOSE, &body).replacen("POST", method, 1);
        let reply = server.ask_at_once(request).await;
        assert!(reply.status < 300, "{}", reply.text());
    };
    let list = format!("GET /products HTTP/1.1\r\nHost: x\r\n{CLOSE}\r\n");
    for _ in 0..PRODUCTS {
        write("POST", "/products").await;
    }
    // Each pins another state of the store.
    let mut slow = Vec::new();
    for _ in 0..3 {
        let mut stream = server.connect().await;
        stream.write_all(list.as_bytes()).await.unwrap();
        stream.read_exact(&mut [0; 12]).await.unwrap();
        slow.push(stream);
        for id in 1..=PRODUCTS {
            write("PUT", &format!("/products/{id}")).await;
        }
    }
    let message = "too many answers are not taken yet";
    let reply = server.ask(&list).await;
    reply.assert_failure(503, message);
    assert_eq!(reply.header("retry-after"), Some("2"));
    server.compile("echo").await.assert_failure(503, message);
    let shown = || value(&server, "sandpiper_answer_memory_bytes");
    let most = value(&server, "sandpiper_answer_memory_limit_bytes");
    assert!(shown() > most, "{} of {most}", shown());
    let refused = "sandpiper_compile_refused_total{reason=\"answer_memory\"}";
    assert_eq!(value(&server, refused), 1.0);
    assert_eq!(server.ask(HEALTH).await.status, 200);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(server.ask(&list).await.status, 200);
    assert_eq!(server.compile("echo").await.status, 200);
    assert!(shown() <= most, "{} of {most}", shown());
    // Those that were ended first made room.
    let mut whole = 0;
    for mut stream in slow {
        let mut rest = Vec::new();
        let read = stream.read_to_end(&mut rest).await;
        let all = rest.len() > PRODUCTS * 1_000_000;
        whole += usize::from(read.is_ok() && all);
    }
    assert!(whole < 3);
}
