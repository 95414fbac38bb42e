//! How the server ends.

use super::*;
use runs::Event;

#[tokio::test]
async fn running_requests_end_and_idle_connections_close() {
    let mut server = TestServer::with(Settings::default(), PATIENCE).await;
    let mut idle = server.connect().await;
    let mut busy = server.connect().await;
    busy.write_all(compile("hang", "").as_bytes()).await.unwrap();
    server.runs.started().await;
    server.stop();
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"");
    assert!(!server.ended.is_finished());
    server.runs.release();
    let reply = Reply::read(&mut busy).await;
    assert_eq!(reply.status, 200);
    server.ended.await.unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn a_run_that_outlasts_the_drain_is_killed() {
    let mut server =
        TestServer::with(Settings::default(), Duration::from_millis(50)).await;
    let mut busy = server.connect().await;
    busy.write_all(compile("hang", "").as_bytes()).await.unwrap();
    server.runs.started().await;
    server.stop();
    assert_eq!(server.runs.next().await, Event::Killed);
    server.ended.await.unwrap();
}
