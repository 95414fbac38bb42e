//! How the server ends.

use tokio::sync::oneshot;

use super::*;
use runs::Event;

/// A server that ends when this is told.
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
    ended.await.unwrap();
    let Listener::Tcp(address) = server.listener else { panic!("a listener") };
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_run_that_outlasts_the_drain_is_killed() {
    let drain = Duration::from_millis(50);
    let (mut server, stop, ended) = stoppable(drain).await;
    let _busy = server.hanging("").await;
    stop.send(()).unwrap();
    assert_eq!(server.runs.next().await, Event::Killed);
    ended.await.unwrap();
}
