//! Requests without end, as fast as they can be written.

use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use sandpiper_testkit::eventually;

use super::ordinary::{ATTACKER, Target, connect};

/// As many as can keep a small machine busy.
const ATTACKERS: usize = 2;

/// Attackers write `bytes` again and again, on new connections if theirs
/// have ended, and read what comes; an ordinary client is answered in time meanwhile.
/// Of the answers each must begin with `status`.
fn flood(bytes: &[u8], status: &str) {
    let target = Target::start();
    let stop = AtomicBool::new(false);
    let answers: [AtomicUsize; ATTACKERS] = Default::default();
    thread::scope(|scope| {
        let attacks = answers.iter().map(|answers| {
            let (target, stop) = (&target, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    attack_once(target, bytes, status, answers, stop);
                }
            })
        });
        let attacks: Vec<_> = attacks.collect();
        // A failure here must not leave the attackers running.
        let responsive =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                eventually("every attacker is answered", || {
                    attacks.iter().any(ScopedJoinHandle::is_finished)
                        || answers.iter().all(|it| load(it) > 0)
                });
                target.assert_responsive();
            }));
        stop.store(true, Ordering::Relaxed);
        attacks.into_iter().for_each(|attack| attack.join().unwrap());
        if let Err(failure) = responsive {
            std::panic::resume_unwind(failure);
        }
    });
    println!("{} answers", answers.iter().map(load).sum::<usize>());
}

fn load(count: &AtomicUsize) -> usize {
    count.load(Ordering::Relaxed)
}

/// One connection to its end; counts the answers that it has.
fn attack_once(
    target: &Target,
    bytes: &[u8],
    status: &str,
    answers: &AtomicUsize,
    stop: &AtomicBool,
) {
    let mut stream = connect(target.server.address, ATTACKER);
    stream.set_nonblocking(true).unwrap();
    let mut written = 0;
    let mut buffer = vec![0; 64 * 1024];
    let mut tail = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let sent = match stream.write(&bytes[written..]) {
            Ok(count) => {
                written = (written + count) % bytes.len();
                true
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(_) => break,
        };
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                // Answers may be cut anywhere.
                tail.extend_from_slice(&buffer[..count]);
                let text = String::from_utf8_lossy(&tail);
                let found = text.matches("HTTP/1.").count();
                let expected = text.matches(status).count();
                assert!(found <= expected + 1, "{text}");
                answers.fetch_add(expected, Ordering::Relaxed);
                let kept = tail.len().min(status.len() - 1);
                tail.drain(..tail.len() - kept);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if !sent {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Err(_) => break,
        }
    }
}

#[test]
fn pipelined_requests() {
    flood(
        "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".repeat(500).as_bytes(),
        "HTTP/1.1 200",
    );
}

#[test]
fn pipelined_writes() {
    let one = "POST /products HTTP/1.1\r\nHost: x\r\n\
               Content-Length: 12\r\n\r\n{\"name\":\"b\"}";
    flood(one.repeat(200).as_bytes(), "HTTP/1.1 201");
}

#[test]
fn huge_heads() {
    let line = format!("A: {}\r\n", "b".repeat(1_000));
    let lines = line.repeat(40);
    let head = format!("GET /nowhere HTTP/1.1\r\nHost: x\r\n{lines}\r\n");
    flood(head.as_bytes(), "HTTP/1.1 404");
    flood(line.repeat(100).as_bytes(), "HTTP/1.1 4");
}

#[test]
fn tiny_chunks() {
    let head = "POST /products HTTP/1.1\r\nHost: x\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    let chunks = "1;a=b\r\n \r\n".repeat(1_000);
    flood(format!("{head}{chunks}0\r\n\r\n").as_bytes(), "HTTP/1.1 400");
}

#[test]
fn bodies_that_are_refused() {
    let head = "POST /products HTTP/1.1\r\nHost: x\r\n\
                Content-Length: 1048577\r\n\r\n";
    let body = "[".repeat(1_048_577);
    flood(format!("{head}{body}").as_bytes(), "HTTP/1.1 413");
    let head = head.replace("48577", "48576");
    flood(format!("{head}{}", &body[1..]).as_bytes(), "HTTP/1.1 400");
}

#[test]
fn smuggled_requests() {
    let request = "POST /products HTTP/1.1\r\nHost: x\r\n\
                   Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n\
                   0\r\n\r\nGET /products/1 HTTP/1.1\r\nHost: x\r\n\r\n";
    flood(request.as_bytes(), "HTTP/1.1 400");
}

#[test]
fn old_requests() {
    flood(b"GET /products/1 HTTP/1.0\r\n\r\n", "HTTP/1.0 200");
}

#[test]
fn garbage() {
    // No line of it begins a request.
    let mut state = 1_u32;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0] | 0x80
    };
    let garbage: Vec<u8> = (0..10_000).map(|_| random()).collect();
    flood(&garbage, "HTTP/1.1 400");
}
