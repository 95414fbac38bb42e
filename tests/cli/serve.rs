//! The addresses of the server, its log, and its end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use rustix::process::Signal;

use crate::Sandpiper;

const ANYWHERE: &str = "127.0.0.1:0";

/// Returns `serve` without metrics, so that tests can run in parallel.
fn sandpiper(args: &[&str]) -> Sandpiper {
    let args: Vec<&str> = ["serve"].iter().chain(args).copied().collect();
    Sandpiper::new(&args).env("SANDPIPER_ADMIN_LISTEN", "off")
}

/// Returns a port that is free, and that the kernel gives to nobody who asks for
/// any: those begin at 32,768 (`ip_local_port_range` in ip-sysctl.rst).
fn free_port() -> u16 {
    let first = 10_000 + (std::process::id() % 20_000) as u16;
    let is_free = |port: &u16| TcpListener::bind(("0.0.0.0", *port)).is_ok();
    (first..32_768).find(is_free).unwrap()
}

#[test]
fn the_address_comes_from_the_flag_then_the_variable_then_port() {
    let check = |sandpiper: Sandpiper, expected: Option<u16>| {
        let server = sandpiper.serve();
        let port = server.address.port();
        assert!(server.get("/healthz").starts_with("HTTP/1.1 200 OK\r\n"));
        match expected {
            Some(expected) => assert_eq!(port, expected),
            None => assert_ne!(port, 0),
        }
    };
    check(sandpiper(&["--listen", ANYWHERE]), None);
    check(sandpiper(&[]).env("SANDPIPER_LISTEN", ANYWHERE), None);
    let port = free_port();
    check(sandpiper(&[]).env("PORT", &port.to_string()), Some(port));
    let port = free_port();
    let empty = sandpiper(&[]).env("SANDPIPER_LISTEN", "");
    check(empty.env("PORT", &port.to_string()), Some(port));
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let both = sandpiper(&["--listen", &address]);
    check(both.env("SANDPIPER_LISTEN", ANYWHERE).env("PORT", "1"), Some(port));
}

#[test]
fn a_taken_port_is_reported() {
    let taken = TcpListener::bind(ANYWHERE).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let listen = sandpiper(&["--listen", &address]);
    let admin = sandpiper(&["--listen", ANYWHERE])
        .env("SANDPIPER_ADMIN_LISTEN", &address);
    for sandpiper in [listen, admin] {
        let output = sandpiper.output();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(&format!("listen on {address}")), "{stderr}");
    }
}

#[test]
fn a_misspelt_variable_is_reported() {
    let mut server = sandpiper(&["--listen", ANYWHERE])
        .env("SANDPIPER_TRUSTED_PROXIES", "127.0.0.1")
        .env("SANDPIPER_TRUSTED_PROXY", "127.0.0.1")
        // Of another command, since commands may share a file of settings.
        .env("SANDPIPER_MIRROR", "http://deb.test")
        .serve();
    server.signal(Signal::TERM);
    server.wait_for("stopped\n");
    let mut lines = server.seen.lines();
    let line = lines
        .find(|line| line.contains("unknown environment"))
        .unwrap_or_default();
    assert!(line.contains("WARN"), "{}", server.seen);
    assert!(line.ends_with(": SANDPIPER_TRUSTED_PROXIES"), "{line}");
}

#[test]
fn variables_set_what_flags_set() {
    let server = sandpiper(&["--listen", ANYWHERE])
        .env("SANDPIPER_LANGUAGES", "c,python")
        .env("SANDPIPER_COMPILE_RATE_LIMIT", "7")
        .serve();
    let ready = server.get("/readyz");
    assert!(ready.contains("\"python\"") && ready.contains("\"c\""));
    assert!(!ready.contains("\"cpp\""), "{ready}");

    let mut stream = TcpStream::connect(server.address).unwrap();
    let request = "POST /api/compile HTTP/1.1\r\nHost: test\r\n\
                   Connection: close\r\nContent-Length: 0\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"compile\";q=7;w=60"), "{answer}");
}

#[test]
fn it_says_what_the_host_limits_and_which_languages_are_ready() {
    let mut server = sandpiper(&["--listen", ANYWHERE])
        .env("SANDPIPER_MEMORY", "1000TiB")
        .env("SANDPIPER_ALLOW_MISSING_LIMITS", "yes")
        .serve();
    server.wait_for("control groups");
    server.wait_for("lower --boxes");
    server.wait_for("language python: missing");
    server.wait_for("sandpiper images build python");
}

#[test]
fn the_log_can_be_json() {
    let server = sandpiper(&["--listen", ANYWHERE, "--log-format", "json"]);
    let mut server = server.serve();
    server.wait_for("language python");
    server.signal(Signal::TERM);
    let (_, log) = server.end();
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["message"].is_string(), "{line}");
        assert!(line["timestamp"].is_string(), "{line}");
    }
}

#[test]
fn a_signal_ends_it_in_order() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let server = sandpiper(&["--listen", ANYWHERE]).serve();
        let address = server.address;
        server.signal(signal);
        let (status, log) = server.end();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.ends_with("stopped\n"), "{log}");
        assert!(TcpStream::connect(address).is_err());
    }
}

#[test]
fn the_end_of_its_terminal_does_not_end_it_after_nohup() {
    let args = ["serve", "--listen", ANYWHERE, "--admin-listen", "off"];
    let server = Sandpiper::by_nohup(&args).serve();
    server.signal(Signal::HUP);
    assert!(server.get("/healthz").starts_with("HTTP/1.1 200 OK\r\n"));
    server.signal(Signal::TERM);
    let (status, log) = server.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("stopping at once"), "{log}");
}

/// Sends a request without its body.
fn begin_request(server: &crate::Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let request = "POST /products HTTP/1.1\r\nHost: test\r\n\
                   Connection: close\r\nContent-Length: 24\r\n\
                   Expect: 100-continue\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    // By asking for the body, the server shows that it works on this request.
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

#[test]
fn a_running_request_is_still_answered() {
    // A terminal that closes can send more than one SIGHUP.
    for signals in [&[Signal::TERM][..], &[Signal::HUP, Signal::HUP]] {
        let mut server = sandpiper(&["--listen", ANYWHERE]).serve();
        let streams = [(); 16].map(|()| begin_request(&server));
        for &signal in signals {
            server.signal(signal);
            server.wait_for("stopping");
        }
        // Amid the answers, the last signal is noticed.
        for mut stream in streams {
            stream.write_all(br#"{"name":"tea","price":1}"#).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
        }
        let (status, log) = server.end();
        assert_eq!(status.code(), Some(0), "{log}");
    }
}

#[test]
fn running_requests_have_a_bounded_time() {
    let server = sandpiper(&["--listen", ANYWHERE, "--drain-time", "10ms"]);
    let server = server.serve();
    let _stream = begin_request(&server);
    server.signal(Signal::TERM);
    let (status, log) = server.end();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let server = sandpiper(&["--listen", ANYWHERE, "--drain-time", "24h"]);
    let mut server = server.serve();
    let _stream = begin_request(&server);
    server.signal(Signal::TERM);
    server.wait_for("stopping");
    server.signal(Signal::TERM);
    server.wait_for("stopping at once");
    let (status, log) = server.end();
    assert_eq!(status.code(), Some(0), "{log}");
}
