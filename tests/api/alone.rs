//! A server that shares nothing with others has no connection but those of its
//! clients.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use sandpiper_testkit::traces::outside;
use sandpiper_testkit::{Server, eventually};

#[test]
fn a_server_alone_connects_to_nobody() {
    let server = Server::start();
    ask_all(&server);
    assert_eq!(other_sockets(&server), 0);

    // Connections to a Valkey would be seen.
    let valkey = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("valkey://{}", valkey.local_addr().unwrap());
    for flag in ["--shared-limits", "--shared-products"] {
        let server = Server::with(&[flag, &url]);
        eventually("it connects", || other_sockets(&server) == 1);
    }
}

/// Asks for all that several servers may share.
fn ask_all(server: &Server) {
    for (method, target, body) in [
        ("POST", "/products", r#"{"name":"a pencil","price":1}"#),
        ("GET", "/products", ""),
        ("GET", "/products/1", ""),
        ("PUT", "/products/1", r#"{"name":"a pen","price":2}"#),
        ("DELETE", "/products/1", ""),
    ] {
        let json = ["Content-Type: application/json"];
        let reply = server.send(method, target, &json, body);
        assert!(reply.status < 300, "{method} {target}: {reply:?}");
    }
    let reply = server.send("POST", "/api/compile", &[], "");
    assert_eq!(reply.header("ratelimit"), Some(r#""compile";r=19;t=60"#));
}

/// Returns the number of sockets of the server that are not at its own ports.
fn other_sockets(server: &Server) -> usize {
    let files = outside(server.pid()).into_iter().flat_map(|pid| {
        fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten()
    });
    // A file may be closed meanwhile.
    let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    let targets: BTreeSet<PathBuf> = targets.collect();
    let own = [server.address, server.admin].map(|it| it.port());
    let tables = ["tcp", "tcp6", "udp", "udp6"].into_iter().map(|table| {
        fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default()
    });
    let is_other = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, port) = fields[1].split_once(':').expect("a port");
        let port = u16::from_str_radix(port, 16).expect(port);
        let socket = PathBuf::from(format!("socket:[{}]", fields[9]));
        targets.contains(&socket) && !own.contains(&port)
    };
    let counts =
        tables.map(|table| table.lines().skip(1).filter(is_other).count());
    counts.sum()
}
