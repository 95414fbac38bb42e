//! How the server ends.

use tokio::sync::oneshot;

use super::*;
use runs::Event;

/// A server that ends when the sender sends.
async fn stoppable(
    drain: Duration,
) -> (TestServer, oneshot::Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = oneshot::channel();
    let shutdown = async {
        let _ = stopped.await;
    };
    let (server, ended) = TestServer::until(shutdown, drain).await;
    (server, stop, ended)
}

#[tokio::test]
async fn running_requests_end_and_idle_connections_close() {
    let (mut server, stop, ended) = stoppable(PATIENCE).await;
    let mut idle = server.connect().await;
    let mut busy = server.hanging("").await;
    stop.send(()).unwrap();
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"");
    assert!(!ended.is_finished());
    server.runs.release();
    let reply = Reply::read(&mut busy).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("connection"), Some("close"));
    ended.await.unwrap();
    let Listener::Tcp(address) = server.listener else { panic!("a listener") };
    assert!(TcpStream::connect(address).await.is_err());
}

/// The listener has gone by then, so only a request that had begun is served.
#[tokio::test(start_paused = true)]
async fn a_server_that_stops_is_alive_but_not_ready() {
    let check = async |path: &str, status: u16, error: Option<&str>| {
        let server = TestServer::in_memory(ServerSettings::default()).await;
        let Listener::Memory(memory) = &server.listener else { panic!() };
        let mut stream = server.connect().await;
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        memory.stop();
        stream.write_all(b"\r\n").await.unwrap();
        let reply = Reply::read(&mut stream).await;
        assert_eq!(reply.status, status, "{path}");
        assert_eq!(reply.header("connection"), Some("close"));
        let body: serde_json::Value =
            serde_json::from_str(reply.text()).unwrap();
        assert_eq!(body["error"].as_str(), error, "{path}");
        assert_eq!(body["languages"].is_array(), error.is_some(), "{path}");
    };
    check("/healthz", 200, None).await;
    check("/readyz", 503, Some("stopping")).await;
}

/// It could wait for its person for minutes.
#[tokio::test]
async fn an_interactive_run_ends_at_once() {
    let (mut server, stop, ended) = stoppable(PATIENCE).await;
    let mut stream = server.connect().await;
    let body = r#"{"language":"stops","entryFile":"a","interactive":true,
        "files":[{"path":"a","content":""}]}"#;
    let headers = format!("{JSON}Accept: text/event-stream\r\n");
    let request = post("/api/run", &headers, body);
    stream.write_all(request.as_bytes()).await.unwrap();
    server.runs.started().await;
    stop.send(()).unwrap();
    let reply = Reply::read(&mut stream).await;
    let (_, end) = reply.text().split_once("event: end\n").unwrap();
    let data = end.lines().next().unwrap().strip_prefix("data: ").unwrap();
    let end: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(end["exit"], serde_json::json!({ "stopped": true }));
    assert_eq!(end["message"], "The server stopped");
    ended.await.unwrap();
}

#[tokio::test]
async fn a_run_that_outlasts_the_drain_is_killed() {
    let drain = Duration::from_millis(50);
    let (mut server, stop, ended) = stoppable(drain).await;
    let _busy = server.hanging("").await;
    stop.send(()).unwrap();
    assert_eq!(server.runs.next().await, Event::Killed);
    ended.await.unwrap();
    let series = "sandpiper_runs_total{language=\"none\",outcome=\"stopped\"}";
    assert_eq!(metrics::value(&server, series).await, 1.0);
}
