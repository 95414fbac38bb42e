//! Listening sockets: one takes both IP versions, if the host has both.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use anyhow::Context;
use socket2::{Domain, Protocol, Socket, Type};

/// Connections that the kernel holds until the server accepts them.
const BACKLOG: i32 = 1_024;

/// Listens on `address`. The unspecified IPv6 address takes IPv4 as well, or
/// only IPv4 if IPv6 is disabled. `flag` is the flag that sets the address.
///
/// # Errors
/// The address cannot be bound. The message is for the operator.
pub(crate) fn listen(
    address: SocketAddr,
    flag: &str,
) -> anyhow::Result<TcpListener> {
    let every = address.is_ipv6() && address.ip().is_unspecified();
    bind(address)
        .or_else(|error| {
            if every && is_off(&error) {
                return bind((Ipv4Addr::UNSPECIFIED, address.port()).into());
            }
            Err(error)
        })
        .with_context(|| {
            format!("cannot listen on {address} (use {flag} for another)")
        })
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // The host's default may differ.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    // Otherwise connections of an earlier server that are still closing would
    // keep this one from starting.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Returns whether the host has no IPv6: neither the protocol nor an address.
fn is_off(error: &io::Error) -> bool {
    let no_protocol = rustix::io::Errno::AFNOSUPPORT.raw_os_error();
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(no_protocol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_client_reaches_the_ipv6_default() {
        let listener = listen("[::]:0".parse().unwrap(), "").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    }

    #[test]
    fn a_taken_port_is_reported() {
        let taken = listen("127.0.0.1:0".parse().unwrap(), "").unwrap();
        let address = taken.local_addr().unwrap();
        let error = format!("{:#}", listen(address, "--flag").unwrap_err());
        assert!(error.contains(&address.to_string()), "{error}");
        assert!(error.contains("(use --flag for another)"), "{error}");
        assert!(error.contains("in use"), "{error}");
    }

    #[test]
    fn errors_of_hosts_without_ipv6() {
        let check = |error: io::Error, expected| {
            assert_eq!(is_off(&error), expected, "{error}");
        };
        check(rustix::io::Errno::AFNOSUPPORT.into(), true);
        check(rustix::io::Errno::ADDRNOTAVAIL.into(), true);
        check(rustix::io::Errno::ADDRINUSE.into(), false);
        check(rustix::io::Errno::ACCESS.into(), false);
    }
}
