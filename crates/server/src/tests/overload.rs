//! The limits that clients share: connections, and the memory of bodies and
//! of answers.

use crate::limits::HEAD_TIME;

use super::metrics::value;
use super::*;

const HEALTH: &str =
    "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

const OVER_LIMIT: &str = "too many responses are still being sent";

const SECOND: Duration = Duration::from_secs(1);

/// A run that hangs, on a connection of its own.
async fn hang_from(client: &str, server: &mut TestServer) -> TcpStream {
    let stream = server.connect_from(client);
    server.hang(stream, CLOSE).await
}

/// A connection on which this was sent.
async fn begin_from(
    client: &str,
    server: &TestServer,
    sent: &str,
) -> TcpStream {
    let mut stream = server.connect_from(client);
    stream.write_all(sent.as_bytes()).await.unwrap();
    stream
}

async fn ask_from(client: &str, server: &TestServer) -> Reply {
    Reply::read(&mut begin_from(client, server, HEALTH).await).await
}

/// Returns whether the server closes within a second, whatever it sends.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    let end = tokio::time::timeout(SECOND, stream.read_to_end(&mut rest));
    // A reset is an end as well.
    end.await.is_ok()
}

async fn is_left_waiting(stream: &mut TcpStream) -> bool {
    !is_closed(stream).await
}

/// One of two connections that use up what there is, and a further one of
/// `client`, which gets a place when that is over.
async fn check_that_two_are_most(settings: ServerSettings, client: &str) {
    let mut server = TestServer::in_memory(settings).await;
    let mut first = hang_from("2001:db8::1", &mut server).await;
    let _second = hang_from("2001:db8::2", &mut server).await;
    let mut third = begin_from(client, &server, HEALTH).await;
    assert!(is_left_waiting(&mut third).await);
    server.runs.release();
    assert_eq!(Reply::read(&mut first).await.status, 200);
    assert_eq!(Reply::read(&mut third).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn connections_are_bounded() {
    let settings =
        ServerSettings { connections: 2, ..ServerSettings::default() };
    check_that_two_are_most(settings, "192.0.2.1").await;
}

#[tokio::test(start_paused = true)]
async fn one_client_has_only_its_share() {
    let settings =
        ServerSettings { client_connections: 2, ..ServerSettings::default() };
    check_that_two_are_most(settings, "2001:db8::3").await;
}

#[tokio::test(start_paused = true)]
async fn the_share_of_one_client_is_in_nobodys_way() {
    let settings =
        ServerSettings { client_connections: 1, ..ServerSettings::default() };
    let mut server = TestServer::in_memory(settings).await;
    let _first = hang_from("2001:db8::1", &mut server).await;
    let _second = begin_from("2001:db8::1", &server, HEALTH).await;
    for other in ["2001:db8:0:1::1", "192.0.2.1"] {
        assert_eq!(ask_from(other, &server).await.status, 200, "{other}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_place_for_too_long_is_closed() {
    let settings =
        ServerSettings { connections: 1, ..ServerSettings::default() };
    let mut server = TestServer::in_memory(settings).await;
    let _first = hang_from("192.0.2.1", &mut server).await;
    let mut second = begin_from("192.0.2.2", &server, HEALTH).await;
    sleep(HEAD_TIME - 2 * SECOND).await;
    assert!(is_left_waiting(&mut second).await);
    sleep(SECOND).await;
    assert!(is_closed(&mut second).await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_opens_far_too_many_is_closed() {
    let settings =
        ServerSettings { client_connections: 1, ..ServerSettings::default() };
    let mut server = TestServer::in_memory(settings).await;
    let _first = hang_from("192.0.2.1", &mut server).await;
    let connect = || server.connect_from("192.0.2.1");
    let mut waiting: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
    assert!(is_closed(&mut connect()).await);
    assert!(is_left_waiting(&mut waiting[63]).await);
    // A socket that waits for a permit is no connection yet, and not refused.
    assert_eq!(value(&server, "sandpiper_connections").await, 1.0);
    assert_eq!(
        value(&server, "sandpiper_connections_refused_total").await,
        1.0
    );
}

#[tokio::test(start_paused = true)]
async fn a_trusted_proxy_has_no_share() {
    let settings = ServerSettings {
        client_connections: 1,
        trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()],
        ..ServerSettings::default()
    };
    let mut server = TestServer::in_memory(settings).await;
    let _first = hang_from("127.0.0.1", &mut server).await;
    let _second = hang_from("127.0.0.1", &mut server).await;
}

/// `begun` is what the connections that wait have sent.
async fn check_that_who_waits_makes_room(
    settings: ServerSettings,
    begun: &str,
) {
    const CLIENT: &str = "192.0.2.1";
    let mut server = TestServer::in_memory(settings).await;
    let mut busy = hang_from(CLIENT, &mut server).await;
    let start = tokio::time::Instant::now();
    let mut first = begin_from(CLIENT, &server, begun).await;
    sleep(SECOND / 2).await;
    let mut second = begin_from(CLIENT, &server, begun).await;
    assert_eq!(ask_from(CLIENT, &server).await.status, 200);
    // So long it had its place for sure.
    assert_eq!(start.elapsed().as_secs(), 1, "{begun}");
    assert!(is_closed(&mut first).await, "{begun}");
    // The second, of which all was read that the server had to say, and `busy`.
    is_closed(&mut second).await;
    assert_eq!(value(&server, "sandpiper_connections").await, 2.0, "{begun}");
    server.runs.release();
    assert_eq!(Reply::read(&mut busy).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn who_only_waits_makes_room_for_others() {
    let check = async |begun: &str| {
        let of_all =
            ServerSettings { connections: 3, ..ServerSettings::default() };
        check_that_who_waits_makes_room(of_all, begun).await;
        let own = ServerSettings {
            client_connections: 3,
            ..ServerSettings::default()
        };
        check_that_who_waits_makes_room(own, begun).await;
    };
    // Heads.
    check("").await;
    check("GET / HTTP/1.1\r\nHost: x\r\nA: b").await;
    // Bodies that are read, that nobody needs, and that are too long.
    let post = |path: &str, length: u64| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{{"
        )
    };
    check(&post("/products", 10)).await;
    check(&post("/nowhere", 10)).await;
    check(&post("/products", 2 << 20)).await;
    // The answer to what is no request.
    check("?\r\n\r\n").await;
    // An answer that is not taken.
    check(&compile("big", "")).await;
}

#[tokio::test(start_paused = true)]
async fn who_has_most_makes_room_first() {
    let settings =
        ServerSettings { connections: 3, ..ServerSettings::default() };
    let server = TestServer::in_memory(settings).await;
    let mut oldest = server.connect_from("192.0.2.1");
    sleep(2 * SECOND).await;
    let mut own = [(); 2].map(|()| server.connect_from("192.0.2.2"));
    sleep(2 * SECOND).await;
    assert_eq!(ask_from("192.0.2.3", &server).await.status, 200);
    assert!(is_left_waiting(&mut oldest).await);
    assert!(is_closed(&mut own[0]).await);
    assert!(is_left_waiting(&mut own[1]).await);
}

#[tokio::test(start_paused = true)]
async fn a_connection_waits_again_after_its_answer() {
    let settings =
        ServerSettings { connections: 1, ..ServerSettings::default() };
    let server = TestServer::in_memory(settings).await;
    let request = HEALTH.replace("close", "keep-alive");
    let mut first = begin_from("192.0.2.1", &server, &request).await;
    assert!(first.read(&mut [0; 1024]).await.unwrap() > 0);
    assert_eq!(ask_from("192.0.2.2", &server).await.status, 200);
    assert!(is_closed(&mut first).await);
}

/// For each client of `slow`, as many bodies as all of the memory holds: of
/// each comes so much, and then nothing. Returns whether a large body of another
/// client waits until one of those was refused. Small ones never wait.
async fn has_a_large_body_to_wait(slow: &[&str], begun: usize) -> bool {
    let server = TestServer::in_memory(ServerSettings::default()).await;
    let head = format!("Content-Length: {}\r\n\r\n", 1 << 20);
    let head = format!("POST /products HTTP/1.1\r\nHost: x\r\n{head}");
    let sent = head + &"x".repeat(begun);
    let mut streams = Vec::new();
    for client in slow {
        for _ in 0..256 {
            streams.push(begin_from(client, &server, &sent).await);
        }
    }
    let time_of = async |length: usize| {
        let start = tokio::time::Instant::now();
        let body = format!(r#"{{"name":"{}"}}"#, "x".repeat(length));
        let reply = server.ask(post("/products", CLOSE, &body)).await;
        assert_eq!(reply.status, 201, "{length} bytes");
        start.elapsed()
    };
    assert!(time_of(10).await < SECOND);
    let waits = time_of(100_000).await >= SECOND;
    let first = &mut streams[0];
    assert!(!waits || !is_left_waiting(first).await);
    waits
}

#[tokio::test(start_paused = true)]
async fn large_bodies_share_their_memory() {
    const BEGUN: usize = (64 << 10) + 1;
    let check = async |slow: &[&str], begun: usize, expected: bool| {
        let waits = has_a_large_body_to_wait(slow, begun).await;
        assert_eq!(waits, expected, "{slow:?} {begun}");
    };
    let (one, other) = ("192.0.2.1", "192.0.2.2");
    // A length alone takes nothing.
    check(&[one, other], 0, false).await;
    check(&["127.0.0.1"], 0, false).await;
    // One client has half of the memory at most.
    check(&[one], BEGUN, false).await;
    check(&["127.0.0.1"], BEGUN, true).await;
    check(&[one, other], BEGUN, true).await;
}

#[tokio::test(start_paused = true)]
async fn outputs_that_nobody_takes_share_their_memory() {
    let settings =
        ServerSettings { answers_bytes: 1 << 20, ..ServerSettings::default() };
    let server = TestServer::in_memory(settings).await;
    // Its output is larger than that.
    let mut slow =
        begin_from("192.0.2.1", &server, &compile("big", CLOSE)).await;
    slow.read_exact(&mut [0; 12]).await.unwrap();
    server.compile("echo").await.assert_failure(503, OVER_LIMIT);
    let refused = "sandpiper_compile_refused_total{reason=\"answer_memory\"}";
    assert_eq!(value(&server, refused).await, 1.0);
    let list = format!("GET /products HTTP/1.1\r\nHost: x\r\n{CLOSE}\r\n");
    assert_eq!(server.ask(list).await.status, 200);
    // Until slow clients are closed.
    sleep(5 * SECOND).await;
    assert_eq!(server.compile("echo").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn lists_that_nobody_takes_share_their_memory() {
    const PRODUCTS: usize = 24;
    const NAME_BYTES: usize = 125_000;
    let settings = ServerSettings {
        products_bytes: 7 << 20,
        answers_bytes: 2 << 20,
        ..ServerSettings::default()
    };
    let server = TestServer::in_memory(settings).await;
    let write = async |method: &str, path: &str| {
        let body = format!(r#"{{"name":"{}"}}"#, "x".repeat(NAME_BYTES));
        let request = post(path, CLOSE, &body).replacen("POST", method, 1);
        let reply = server.ask(request).await;
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
    let reply = server.ask(&list).await;
    reply.assert_failure(503, OVER_LIMIT);
    assert_eq!(reply.header("retry-after"), Some("2"));
    assert_eq!(server.compile("echo").await.status, 200);
    let shown = async || {
        value(&server, "sandpiper_answer_memory_bytes{answers=\"products\"}")
            .await
    };
    let most = "sandpiper_answer_memory_limit_bytes{answers=\"products\"}";
    let most = value(&server, most).await;
    let held = shown().await;
    assert!(held > most, "{held} of {most}");
    assert_eq!(server.ask(HEALTH).await.status, 200);
    sleep(20 * SECOND).await;
    assert_eq!(server.ask(&list).await.status, 200);
    sleep(20 * SECOND).await;
    let held = shown().await;
    assert!(held <= most, "{held} of {most}");
    // Those that were ended first made room.
    let mut whole = 0;
    for mut stream in slow {
        let mut rest = Vec::new();
        let read = stream.read_to_end(&mut rest).await;
        let all = rest.len() > PRODUCTS * NAME_BYTES;
        whole += usize::from(read.is_ok() && all);
    }
    assert!(whole < 3);
}
