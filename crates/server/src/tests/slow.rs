//! Clients that are slow to send, or to take what they asked for.

use crate::limits::{ANSWER_TIME, BODY_TIME, HEAD_TIME};

use super::*;

/// Of the output of `big`.
const BIG_BYTES: u64 = 8 << 20;
/// Bytes that a client must take in a second.
const SLOWEST_RATE: u64 = 64 * 1024;

#[tokio::test(start_paused = true)]
async fn requests_in_a_row_are_answered_in_order() {
    let mut server = TestServer::in_memory(ServerSettings::default()).await;
    let mut stream = server.connect().await;
    let close = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{CLOSE}\r\n");
    let requests = compile("echo", "") + &compile("hang", "") + &close;
    stream.write_all(requests.as_bytes()).await.unwrap();
    server.runs.started().await;
    server.runs.started().await;
    sleep(Duration::from_secs(5)).await;
    server.runs.release();
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 3, "{text}");
    assert_eq!(text.matches("HTTP/1.").count(), 3, "{text}");
    assert_eq!(text.matches(r#"{"stdout":"é","stderr":""}"#).count(), 2);
    assert!(text.ends_with(r#"{"status":"ok"}"#), "{text}");
}

/// Sends `begun`, and then `piece` every two seconds, until the server answers
/// or closes. Gives how long that took, and what came first.
async fn dribble(
    server: &TestServer,
    begun: &str,
    piece: &str,
) -> (Duration, String) {
    let (mut reading, mut writing) = server.connect().await.into_split();
    writing.write_all(begun.as_bytes()).await.unwrap();
    let start = tokio::time::Instant::now();
    let dribbling = async {
        loop {
            sleep(Duration::from_secs(2)).await;
            if writing.write_all(piece.as_bytes()).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let mut answer = [0; 1024];
    let count = tokio::select! {
        read = reading.read(&mut answer) => read.unwrap_or(0),
        () = dribbling => 0,
        () = sleep(PATIENCE) => 0,
    };
    let text = String::from_utf8_lossy(&answer[..count]).into_owned();
    (start.elapsed(), text)
}

#[tokio::test(start_paused = true)]
async fn deadlines_are_of_the_whole_not_of_each_read() {
    let server = TestServer::in_memory(ServerSettings::default()).await;
    let check = async |deadline: Duration, begun: &str, piece: &str| {
        let (time, text) = dribble(&server, begun, piece).await;
        assert_eq!(time.as_secs(), deadline.as_secs(), "{begun} {piece}");
        text
    };
    let head = async |begun: &str, piece: &str| {
        let text = check(HEAD_TIME, begun, piece).await;
        assert_eq!(text, "", "{begun} {piece}");
    };
    head("", "").await;
    head("G", "E").await;
    head("GET / HTTP/1.1\r\nHost: x\r\nA: ", "b").await;
    head("GET / HTTP/1.1\r\nHost: x\r\n", "A: b\r\n").await;
    let body = async |head: &str, piece: &str| {
        let begun = format!("POST /products HTTP/1.1\r\nHost: x\r\n{head}");
        let text = check(BODY_TIME, &begun, piece).await;
        let message = "the request body took longer than 30 s";
        Reply::parse(text.as_bytes()).assert_failure(408, message);
    };
    let known = "Content-Length: 100\r\n\r\n";
    body(known, "").await;
    body(known, "{").await;
    let chunked = "Transfer-Encoding: chunked\r\n\r\n";
    body(chunked, "1\r\n{\r\n").await;
    // Within the head of a chunk nothing comes of what is read.
    body(chunked, "0").await;
    body(&format!("{chunked}0\r\n"), "A: b\r\n").await;
}

/// A run whose answer begins before its end; that of `stalls` is large then.
fn streamed(language: &str) -> String {
    let headers = format!("Accept: text/event-stream\r\n{CLOSE}");
    compile(language, &headers).replace("/compile", "/run")
}

/// Whether the whole of a large answer comes to a client that takes the first
/// of it after a `pause`, and then so many bytes a second.
async fn comes_whole(
    server: &TestServer,
    request: &str,
    pause: Duration,
    rate: u64,
) -> bool {
    let mut stream = server.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    sleep(pause).await;
    let mut taken = 0;
    loop {
        let mut second = (&mut stream).take(rate);
        match tokio::io::copy(&mut second, &mut tokio::io::sink()).await {
            Ok(0) | Err(_) => return taken > BIG_BYTES,
            Ok(count) => taken += count,
        }
        sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_taken_in_time_or_not_at_all() {
    let server = TestServer::in_memory(ServerSettings::default()).await;
    let check = async |pause: Duration, rate: u64, expected: bool| {
        let request = compile("big", CLOSE);
        let whole = comes_whole(&server, &request, pause, rate).await;
        assert_eq!(whole, expected, "{pause:?}, {rate} bytes a second");
    };
    let moment = Duration::from_secs(5);
    check(ANSWER_TIME - moment, u64::MAX, true).await;
    check(ANSWER_TIME + moment, u64::MAX, false).await;
    check(Duration::ZERO, SLOWEST_RATE, true).await;
    // Each read would be in time.
    check(Duration::ZERO, SLOWEST_RATE / 2, false).await;
}

/// A run has ended, and its reader takes nothing: the rest of its answer counts
/// as memory of answers, and no program waits for that reader.
#[tokio::test(start_paused = true)]
async fn an_ended_run_counts_until_it_is_read() {
    let server = TestServer::in_memory(ServerSettings::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(streamed("stalls").as_bytes()).await.unwrap();
    let held = async || {
        let name = "sandpiper_answer_memory_bytes{answers=\"others\"} ";
        let text = server.app.metrics_text().await;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().parse::<u64>().unwrap()
    };
    sleep(ANSWER_TIME / 2).await;
    let held_now = held().await;
    assert!(held_now >= BIG_BYTES, "{held_now}");
    drop(stream);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(held().await, 0);
}

/// A client that goes on taking a little keeps neither the connection nor the
/// memory.
#[tokio::test(start_paused = true)]
async fn the_rest_of_an_ended_run_is_taken_in_time() {
    let server = TestServer::in_memory(ServerSettings::default()).await;
    let check = async |rate: u64, expected: bool| {
        let request = streamed("stalls");
        let whole = comes_whole(&server, &request, Duration::ZERO, rate).await;
        assert_eq!(whole, expected, "{rate} bytes a second");
    };
    check(2 * SLOWEST_RATE, true).await;
    check(SLOWEST_RATE / 4, false).await;
}

/// The answer's status is 200 by then.
#[tokio::test]
async fn the_stream_of_a_run_that_fails_says_so() {
    let server = TestServer::start().await;
    let reply = server.ask(streamed("fail")).await;
    let text = reply.text();
    assert!(text.contains("event: begin\n"), "{text}");
    let (_, last) = text.rsplit_once("event: ").unwrap();
    let error = "error\ndata: {\"error\":\"internal error\"}\n\n";
    assert!(last.starts_with(error), "{text}");
}

/// However long it takes, and however little it prints.
#[tokio::test(start_paused = true)]
async fn a_stream_lasts_as_long_as_its_run() {
    let mut server = TestServer::in_memory(ServerSettings::default()).await;
    let mut stream = server.connect().await;
    let request = streamed("hang");
    stream.write_all(request.as_bytes()).await.unwrap();
    server.runs.started().await;
    sleep(10 * ANSWER_TIME).await;
    server.runs.release();
    let reply = Reply::read(&mut stream).await;
    assert!(reply.text().contains("\n:\n\n"), "{reply:?}");
    assert!(reply.text().contains("event: end\n"), "{reply:?}");
}
