//! Clients that half-close, go away, wait, or are slow.

use std::net::Shutdown;

use socket2::SockRef;

use super::*;
use runs::Event;

/// A connection whose run hangs.
async fn hanging(server: &mut TestServer, headers: &str) -> TcpStream {
    let mut stream = server.connect().await;
    let request = compile("hang", headers);
    stream.write_all(request.as_bytes()).await.unwrap();
    server.runs.started().await;
    stream
}

fn half_close(stream: &TcpStream) {
    SockRef::from(stream).shutdown(Shutdown::Write).unwrap();
}

#[tokio::test]
async fn a_client_that_half_closes_gets_the_whole_answer() {
    let mut server = TestServer::start().await;
    for headers in ["", CLOSE, "Accept-Encoding: gzip\r\n"] {
        let mut stream = hanging(&mut server, headers).await;
        half_close(&stream);
        // The first byte comes ahead, to find out who is there.
        let mut bytes = vec![0];
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes, b"H");
        assert!(server.runs.is_quiet());
        server.runs.release();
        let rest = stream.read_to_end(&mut bytes);
        tokio::time::timeout(PATIENCE, rest).await.unwrap().unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert_eq!(text.matches("HTTP/1.").count(), 1, "{text}");
        let reply = Reply::parse(&bytes);
        assert_eq!(reply.status, 200);
        assert_eq!(reply.text(), r#"{"stdout":"é","stderr":""}"#);
    }
}

#[tokio::test]
async fn a_half_close_before_a_quick_answer_changes_nothing() {
    let server = TestServer::start().await;
    let requests = [
        compile("echo", ""),
        compile("fail", ""),
        post("/products", "", r#"{"name":"a","price":1}"#),
        "GET /embed HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        "GET /nowhere HTTP/1.0\r\n\r\n".to_owned(),
    ];
    let statuses = [200, 500, 201, 200, 404];
    for (request, status) in requests.iter().zip(statuses) {
        let mut stream = server.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        half_close(&stream);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches("HTTP/1.").count(), 1, "{text}");
        assert_eq!(text[9..12], status.to_string(), "{text}");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_has_its_run_killed() {
    let mut server = TestServer::start().await;
    drop(hanging(&mut server, "").await);
    assert_eq!(server.runs.next().await, Event::Killed);
}

#[tokio::test]
async fn a_client_that_resets_has_its_run_killed() {
    let mut server = TestServer::start().await;
    let stream = hanging(&mut server, "").await;
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    assert_eq!(server.runs.next().await, Event::Killed);
}

#[tokio::test]
async fn a_client_that_half_closes_and_then_goes_away_is_noticed() {
    let mut server = TestServer::start().await;
    let mut stream = hanging(&mut server, "").await;
    half_close(&stream);
    stream.read_exact(&mut [0]).await.unwrap();
    assert!(server.runs.is_quiet());
    // Nothing is sent by this: the next byte of the answer finds it out.
    drop(stream);
    assert_eq!(server.runs.next().await, Event::Killed);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_half_closes_may_wait_for_long() {
    let mut server = TestServer::start().await;
    let mut stream = hanging(&mut server, CLOSE).await;
    half_close(&stream);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(server.runs.is_quiet());
    server.runs.release();
    let reply = Reply::read(&mut stream).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.text(), r#"{"stdout":"é","stderr":""}"#);
}

#[tokio::test]
async fn unread_bytes_do_not_hide_that_a_client_went_away() {
    let mut server = TestServer::start().await;
    let mut stream = hanging(&mut server, "").await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    drop(stream);
    assert_eq!(server.runs.next().await, Event::Killed);
}

#[tokio::test]
async fn requests_in_a_row_are_answered_in_order() {
    let mut server = TestServer::start().await;
    let mut stream = server.connect().await;
    let close = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{CLOSE}\r\n");
    let requests = compile("echo", "") + &compile("hang", "") + &close;
    stream.write_all(requests.as_bytes()).await.unwrap();
    half_close(&stream);
    server.runs.started().await;
    server.runs.started().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    server.runs.release();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 3, "{text}");
    assert_eq!(text.matches("HTTP/1.").count(), 3, "{text}");
    assert_eq!(text.matches(r#"{"stdout":"é","stderr":""}"#).count(), 2);
    assert!(text.ends_with(r#"{"status":"ok"}"#), "{text}");
}

#[tokio::test]
async fn a_client_may_wait_for_100_continue() {
    let server = TestServer::start().await;
    let mut stream = server.connect().await;
    let request =
        compile("echo", "Expect: 100-continue\r\nConnection: close\r\n");
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await.unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).await.unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).await.unwrap();
    assert_eq!(Reply::read(&mut stream).await.status, 200);
}

#[tokio::test]
async fn a_client_that_waits_in_vain_is_refused_at_once() {
    let server = TestServer::start().await;
    let check = async |path: &str, headers: &str, status: u16| {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\
             {headers}\r\n"
        );
        let reply = server.ask(request).await;
        assert_eq!(reply.status, status, "{path}");
        assert_eq!(reply.header("connection"), Some("close"));
    };
    check("/api/compile", "Content-Length: 9\r\n", 415).await;
    check("/products/1", "Content-Length: 9\r\n", 405).await;
    check("/nowhere", "Content-Length: 9\r\n", 404).await;
    let long = "Content-Length: 99999999\r\n";
    check("/products", long, 413).await;
    check("/api/compile", &format!("{JSON}{long}"), 413).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_nothing_is_closed() {
    let server = TestServer::start().await;
    for begun in ["", "GET / HTT", "GET / HTTP/1.1\r\nHost: x\r\nA: b"] {
        let mut stream = server.connect().await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"", "{begun}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_end_is_refused() {
    let server = TestServer::start().await;
    let head = "Content-Length: 100\r\n\r\n{\"name\"";
    let request = format!("POST /products HTTP/1.1\r\nHost: x\r\n{head}");
    let reply = server.ask(request).await;
    reply.assert_failure(408, "the request body took longer than 30 s");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_take_its_answer_is_dropped() {
    let server = TestServer::start().await;
    let mut stream = server.connect().await;
    // Many times what the sockets' buffers hold.
    for _ in 0..20 {
        stream.write_all(compile("big", "").as_bytes()).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let mut bytes = Vec::new();
    let ended = stream.read_to_end(&mut bytes).await;
    assert!(ended.is_err() || bytes.len() < 20 * (8 << 20));
}

/// Sends `piece` every two seconds, until the server answers or closes. Gives
/// how long that took, and what came.
async fn dribble(begun: &str, piece: &str) -> (Duration, String) {
    let server = TestServer::start().await;
    let stream = server.connect().await;
    let (mut reading, mut writing) = stream.into_split();
    writing.write_all(begun.as_bytes()).await.unwrap();
    let start = tokio::time::Instant::now();
    let dribbling = async {
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            if writing.write_all(piece.as_bytes()).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let mut byte = [0; 12];
    let ended = tokio::select! {
        read = reading.read(&mut byte) => read.unwrap_or(0),
        () = dribbling => 0,
    };
    let text = String::from_utf8_lossy(&byte[..ended]).into_owned();
    (start.elapsed(), text)
}

#[tokio::test(start_paused = true)]
async fn deadlines_are_of_the_whole_not_of_each_read() {
    let check = async |begun: &str, piece: &str, expected: &str| {
        let (time, text) = dribble(begun, piece).await;
        let seconds = time.as_secs();
        assert!((29..=34).contains(&seconds), "{begun}: {seconds} s");
        assert_eq!(text, expected, "{begun}");
    };
    check("G", "E", "").await;
    check("GET / HTTP/1.1\r\nHost: x\r\nA: ", "b", "").await;
    check("GET / HTTP/1.1\r\nHost: x\r\n", "A: b\r\n", "").await;
    let post = "POST /products HTTP/1.1\r\nHost: x\r\n";
    let known = format!("{post}Content-Length: 100\r\n\r\n");
    check(&known, "{", "HTTP/1.1 408").await;
    let chunked = format!("{post}Transfer-Encoding: chunked\r\n\r\n");
    check(&chunked, "1\r\n{\r\n", "HTTP/1.1 408").await;
    // Within the head of a chunk nothing comes of what is read.
    check(&chunked, "0", "HTTP/1.1 408").await;
    let trailers = format!("{chunked}0\r\n");
    check(&trailers, "A: b\r\n", "HTTP/1.1 408").await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_taken_in_time_or_not_at_all() {
    let server = TestServer::start().await;
    let mut stream = server.connect().await;
    for _ in 0..20 {
        stream.write_all(compile("big", "").as_bytes()).await.unwrap();
    }
    // A little at a time: each read would be in time.
    let (mut total, mut buffer) = (0, vec![0; 16 * 1024]);
    for _ in 0..3_600 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => total += count,
        }
    }
    panic!("{total} bytes");
}
