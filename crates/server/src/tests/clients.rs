//! Clients that go away, or wait.

use super::*;
use runs::Event;

#[tokio::test]
async fn a_client_that_closes_its_sending_side_has_its_run_killed() {
    let mut server = TestServer::start().await;
    for headers in ["", CLOSE, "Accept-Encoding: gzip\r\n"] {
        let mut stream = server.hanging(headers).await;
        half_close(&stream);
        assert_eq!(server.runs.next().await, Event::Killed);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"");
    }
}

#[tokio::test]
async fn a_half_close_before_a_quick_answer_changes_nothing() {
    let server = TestServer::start().await;
    let requests = [
        compile("echo", ""),
        compile("fail", ""),
        post("/products", "", r#"{"name":"a","price":1}"#),
        "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
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
    drop(server.hanging("").await);
    assert_eq!(server.runs.next().await, Event::Killed);
}

#[tokio::test]
async fn a_client_that_resets_has_its_run_killed() {
    let mut server = TestServer::start().await;
    let stream = server.hanging("").await;
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    assert_eq!(server.runs.next().await, Event::Killed);
}

#[tokio::test]
async fn unread_bytes_do_not_hide_that_a_client_went_away() {
    let mut server = TestServer::start().await;
    let mut stream = server.hanging("").await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    drop(stream);
    assert_eq!(server.runs.next().await, Event::Killed);
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
