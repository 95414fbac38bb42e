//! Many connections that stay open, each costing its owner next to nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use sandpiper_testkit::eventually;

use super::ordinary::{ATTACKER, Target, connect};

/// Connections of one attacker that each begin with `begun`.
fn connect_many(target: &Target, count: usize, begun: &str) -> Vec<TcpStream> {
    let one = |number: usize| {
        // If the server gets no CPU, its backlog fills. The kernel then drops
        // packets of new connections, and some never reach the server.
        if number.is_multiple_of(250) && number <= 1_000 {
            wait_for(target, number);
        }
        let mut stream = connect(target.server.address, ATTACKER);
        // The server may have closed it again.
        let _ = stream.write_all(begun.as_bytes());
        stream
    };
    (0..count).map(one).collect()
}

/// Waits until the server has that many connections.
fn wait_for(target: &Target, connections: usize) {
    eventually("all are connected", || target.connections() >= connections);
}

/// Every connection sends `piece` again and again, while `meanwhile` runs.
/// Gives how many pieces went out.
fn dribble(
    streams: &mut [TcpStream],
    piece: &[u8],
    meanwhile: impl FnOnce(),
) -> usize {
    let stop = AtomicBool::new(false);
    let (tell, begun) = channel();
    thread::scope(|scope| {
        let dribbling = scope.spawn(|| {
            let mut sent = 0;
            while !stop.load(Ordering::Relaxed) {
                for stream in &mut *streams {
                    sent += usize::from(stream.write_all(piece).is_ok());
                }
                let _ = tell.send(());
                thread::sleep(Duration::from_millis(20));
            }
            sent
        });
        begun.recv().unwrap();
        meanwhile();
        stop.store(true, Ordering::Relaxed);
        dribbling.join().unwrap()
    })
}

/// How many of these the server has closed or answered.
fn ended(streams: &mut [TcpStream]) -> usize {
    let is_ended = |stream: &mut TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let read = stream.read(&mut [0]);
        let waits =
            |error: &std::io::Error| error.kind() == ErrorKind::WouldBlock;
        !read.as_ref().is_err_and(waits)
    };
    streams
        .iter_mut()
        .filter_map(|stream| is_ended(stream).then_some(()))
        .count()
}

/// One client has all connections that it may have, and keeps the server
/// waiting on each.
fn wait_on_all_connections(begun: &str) {
    let target = Target::start();
    let mut waiting = connect_many(&target, 2_000, begun);
    // One client's share.
    wait_for(&target, 1_024);
    target.assert_responsive();
    // Its oldest connections go for its own new ones, when they had their place
    // for a second: no event tells that this time is over.
    thread::sleep(Duration::from_secs(1));
    target.assert_responsive_from(ATTACKER);
    assert!(target.connections() >= 1_000);
    // The share, and what waits for one.
    assert!(ended(&mut waiting) >= 2_000 - 1_024 - 64);
}

#[test]
fn idle_connections() {
    wait_on_all_connections("");
}

#[test]
fn bodies_that_do_not_come() {
    let begun = "POST /products HTTP/1.1\r\nHost: x\r\n\
                 Content-Length: 1048576\r\n\r\n";
    wait_on_all_connections(begun);
}

#[test]
fn slow_heads() {
    let target = Target::start();
    let begun = "GET / HTTP/1.1\r\nHost: x\r\nA: ";
    let mut slow = connect_many(&target, 500, begun);
    wait_for(&target, 500);
    let sent = dribble(&mut slow, b"b", || target.assert_responsive());
    assert!(sent >= 500, "{sent}");
    assert_eq!(ended(&mut slow), 0);
}

#[test]
fn slow_bodies() {
    for length in [1_000, 1 << 20] {
        let target = Target::start();
        let begun = format!(
            "POST /products HTTP/1.1\r\nHost: x\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        let mut slow = connect_many(&target, 500, &begun);
        wait_for(&target, 500);
        let sent = dribble(&mut slow, b"{", || {
            target.assert_responsive();
            let body = r#"{"name":"b"}"#;
            let reply = target.server.send("POST", "/products", &[], body);
            assert_eq!(reply.status, 201);
        });
        assert!(sent >= 500, "{sent}");
        assert_eq!(ended(&mut slow), 0);
    }
}

#[test]
fn slow_chunks() {
    let target = Target::start();
    let begun = "POST /products HTTP/1.1\r\nHost: x\r\n\
                 Transfer-Encoding: chunked\r\n\r\n";
    let mut slow = connect_many(&target, 500, begun);
    wait_for(&target, 500);
    let sent = dribble(&mut slow, b"1\r\n{\r\n", || target.assert_responsive());
    assert!(sent >= 500, "{sent}");
    assert_eq!(ended(&mut slow), 0);
}

#[test]
fn slow_readers() {
    let target = Target::start();
    let body = format!(r#"{{"name":"{}"}}"#, "x".repeat(1_000_000));
    for _ in 0..16 {
        let reply = target.server.send("POST", "/products", &[], &body);
        assert_eq!(reply.status, 201);
    }
    let list = "GET /products HTTP/1.1\r\nHost: x\r\n\r\n".repeat(10);
    let mut slow = connect_many(&target, 300, &list);
    wait_for(&target, 300);
    target.assert_responsive();
    assert!(target.connections() >= 300);
    for stream in &mut slow {
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
    }
}

#[test]
fn half_closed_clients() {
    let target = Target::start();
    let body = r#"{"name":"b"}"#;
    // Some end before the head does, some before the body does.
    let whole = format!(
        "POST /products HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for (begun, status) in [
        ("", ""),
        ("GET /prod", ""),
        (&whole[..whole.len() - 3], "HTTP/1.1 400"),
        (&whole, "HTTP/1.1 201"),
    ] {
        let streams = connect_many(&target, 500, begun);
        for stream in &streams {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        target.assert_responsive();
        for mut stream in streams {
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            assert_eq!(text.get(..12).unwrap_or_default(), status, "{begun}");
        }
    }
}
