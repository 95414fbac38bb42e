//! The address that a client's share is counted by.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the address that stands for all addresses of one client: an IPv4
/// address itself, and the /64 of an IPv6 address.
///
/// A subscriber to IPv6 gets a whole /64, and could send each request from
/// another address of it.
pub fn client_prefix(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V4(_) => client,
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_ipv4_address_or_an_ipv6_network() {
        let check = |client: &str, expected: &str| {
            let prefix = client_prefix(client.parse().unwrap());
            assert_eq!(prefix.to_string(), expected, "{client}");
        };
        check("192.0.2.7", "192.0.2.7");
        check("2001:db8::1", "2001:db8::");
        check("2001:db8::ffff:0:0:2", "2001:db8::");
        check("2001:db8:0:1::1", "2001:db8:0:1::");
    }
}
