//! Parsers of the values of flags: times, sizes, addresses, networks.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ipnet::IpNet;
use sandpiper_server::{HeaderName, StatusCode};

/// The longest time that a flag takes.
const MAX_DURATION: Duration = Duration::from_secs(24 * 60 * 60);

/// Parses a time such as `10s`, `500ms` or `2m`; a bare number counts seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => humantime::parse_duration(text).ok(),
    };
    parsed.filter(|time| *time <= MAX_DURATION).ok_or_else(|| {
        "write a time of at most a day, such as 10s, 500ms or 2m".to_owned()
    })
}

/// Parses a time of at least a millisecond.
pub(super) fn positive_duration(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < Duration::from_millis(1) {
        return Err("write at least 1ms".to_owned());
    }
    Ok(time)
}

/// Parses a size such as `512MiB`, `64kB` or `1GiB`; a bare number counts bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let size = text
        .parse::<ByteSize>()
        .map_err(|_| "write a size such as 512MiB or 1GiB".to_owned())?;
    if size.as_u64() < 4096 {
        return Err(format!(
            "{size} is too small: write at least 4KiB; a bare number \
             counts bytes, so 512 MiB is 512MiB"
        ));
    }
    Ok(size.as_u64())
}

/// Parses a size, or 0 for none.
pub(super) fn size_or_none(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { size(text) }
}

/// Parses the memory limit of a box. With less than 16 MiB nothing starts.
pub(super) fn memory(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if bytes < 16 << 20 {
        return Err("write at least 16MiB".to_owned());
    }
    Ok(bytes)
}

/// Returns a parser of whole numbers from `min` to `max`.
pub(super) fn count<T>(
    min: T,
    max: T,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok();
        number
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| format!("write a whole number from {min} to {max}"))
    }
}

/// Returns a parser of the number of boxes that run at once.
pub(super) fn boxes()
-> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    count(1, sandpiper_engine::MAX_BOXES)
}

/// Parses `HOST:PORT`; the host is an address or `localhost`. Other names are
/// refused, so that the bound address does not depend on a resolver.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    if let Some(port) = text.strip_prefix("localhost:")
        && let Ok(port) = port.parse()
    {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        "write HOST:PORT with an address as host, such as 127.0.0.1:8080, \
         0.0.0.0:8080 or [::]:8080"
            .to_owned()
    })
}

/// An address, or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressOrOff(pub(super) Option<SocketAddr>);

/// Parses `HOST:PORT`, or `off`.
pub(super) fn address_or_off(text: &str) -> Result<AddressOrOff, String> {
    if text.eq_ignore_ascii_case("off") {
        return Ok(AddressOrOff(None));
    }
    let address = address(text);
    address
        .map(|address| AddressOrOff(Some(address)))
        .map_err(|error| format!("{error}, or off"))
}

/// Parses a host without port: a name, or an address with or without brackets.
/// The result has no brackets.
pub(super) fn host(text: &str) -> Result<String, String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let host = bare.unwrap_or(text);
    let is_name = |text: &str| {
        let fits =
            |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        !text.is_empty() && text.bytes().all(fits)
    };
    if host.parse::<IpAddr>().is_ok() || is_name(text) {
        return Ok(host.to_owned());
    }
    Err("write a host without scheme and port, such as code.example".to_owned())
}

/// Parses the name of a header.
pub(super) fn header_name(text: &str) -> Result<HeaderName, String> {
    text.parse().map_err(|_| {
        "write the name of a header, such as X-Forwarded-For".to_owned()
    })
}

/// Returns a parser of the statuses that make balancers try another node.
pub(super) fn elsewhere_status() -> impl TypedValueParser<Value = StatusCode> {
    PossibleValuesParser::new(["425", "502", "503"])
        .try_map(|text| text.parse::<StatusCode>())
}

/// Parses a network and its rate limit.
pub(super) fn rate_limit_for(text: &str) -> Result<(IpNet, u32), String> {
    let parts = text.split_once('=').and_then(|(cidr, limit)| {
        let address = cidr.parse::<IpAddr>().map(IpNet::from);
        let network = address.or_else(|_| cidr.parse::<IpNet>());
        Some((network.ok()?, limit.parse().ok()?))
    });
    parts.ok_or_else(|| {
        "write CIDR=N, such as 192.0.2.0/24=600 (0: no limit)".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check = |text: &str, milliseconds: Option<u64>| {
            let expected = milliseconds.map(Duration::from_millis);
            assert_eq!(duration(text).ok(), expected, "{text:?}");
        };
        check("10", Some(10_000));
        check("0", Some(0));
        check("10s", Some(10_000));
        check("500ms", Some(500));
        check("2m", Some(120_000));
        check("1m 30s", Some(90_000));
        check("24h", Some(86_400_000));
        check("25h", None);
        check("", None);
        check("-1", None);
        check("1.5", None);
        check("ten", None);
        assert!(positive_duration("0").is_err());
        assert!(positive_duration("1ms").is_ok());
    }

    #[test]
    fn sizes() {
        let check = |text: &str, bytes: Option<u64>| {
            assert_eq!(size(text).ok(), bytes, "{text:?}");
        };
        check("512MiB", Some(512 << 20));
        check("512 MiB", Some(512 << 20));
        check("1GiB", Some(1 << 30));
        check("64kB", Some(64_000));
        check("65536", Some(65_536));
        check("512", None);
        check("0", None);
        check("-5MiB", None);
        check("lots", None);
        assert!(memory("16MiB").is_ok());
        assert!(memory("15MiB").is_err());
    }

    #[test]
    fn counts() {
        let check = |text: &str, expected: Option<u32>| {
            assert_eq!(count(4, 100)(text).ok(), expected, "{text:?}");
        };
        check("4", Some(4));
        check("100", Some(100));
        check("3", None);
        check("101", None);
        check("-4", None);
        check("99999999999", None);
        check("", None);
        let error = count(4, 100)("many").unwrap_err();
        assert_eq!(error, "write a whole number from 4 to 100");
    }

    #[test]
    fn addresses() {
        let check = |text: &str, expected: Option<&str>| {
            let shown = address(text).ok().map(|found| found.to_string());
            assert_eq!(shown.as_deref(), expected, "{text:?}");
        };
        check("127.0.0.1:8080", Some("127.0.0.1:8080"));
        check("localhost:0", Some("127.0.0.1:0"));
        check("[::]:80", Some("[::]:80"));
        check("8080", None);
        check(":8080", None);
        check("example.org:80", None);
        check("127.0.0.1:99999", None);
        assert_eq!(address_or_off("OFF"), Ok(AddressOrOff(None)));
        assert!(address_or_off("127.0.0.1:1").is_ok_and(|on| on.0.is_some()));
        assert!(address_or_off("no").is_err());
    }

    #[test]
    fn networks() {
        let check = |text: &str, expected: Option<(&str, u32)>| {
            let shown = rate_limit_for(text).ok();
            let shown = shown.map(|(cidr, limit)| (cidr.to_string(), limit));
            let expected = expected.map(|(cidr, n)| (cidr.to_owned(), n));
            assert_eq!(shown, expected, "{text:?}");
        };
        check("10.0.0.0/8=600", Some(("10.0.0.0/8", 600)));
        check("192.0.2.7=0", Some(("192.0.2.7/32", 0)));
        check("2001:db8::/32=5", Some(("2001:db8::/32", 5)));
        check("10.0.0.0/33=5", None);
        check("10.0.0.0/8", None);
        check("10.0.0.0/8=-1", None);
        check("=5", None);
    }
}
