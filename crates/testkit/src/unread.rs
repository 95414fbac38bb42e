//! What a server has not read yet.

use std::fs;
use std::net::{SocketAddr, SocketAddrV4};

/// Returns the most bytes that have come on one connection of a server that listens
/// there, an address of version 4, and that it has not read.
#[must_use]
pub fn unread(address: SocketAddr) -> usize {
    let own: SocketAddrV4 = address.to_string().parse().unwrap();
    let ip = u32::from_ne_bytes(own.ip().octets());
    let own = format!("{ip:08X}:{:04X}", own.port());
    let connections = fs::read_to_string("/proc/net/tcp").unwrap();
    let unread = |line: &str| {
        // Number, near end, far end, state, sent and received bytes.
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, received) = fields[4].split_once(':')?;
        let received = usize::from_str_radix(received, 16).unwrap();
        (fields[1] == own).then_some(received)
    };
    connections.lines().filter_map(unread).max().unwrap_or(0)
}
