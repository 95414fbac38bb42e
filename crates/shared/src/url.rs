//! The address of a Valkey server, with the words to log in there.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo,
    IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo, RedisError,
};

/// The user if the URL names none.
pub(crate) const DEFAULT_USER: &str = "default";

/// The port if the URL names none.
const PORT: u16 = 6379;

/// `valkey://[[user]:password@]host[:port]`, or `valkeys://` for TLS. User and
/// password are percent-encoded. `Display` and `Debug` show neither.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl {
    is_tls: bool,
    user: Option<String>,
    password: Option<String>,
    /// An IPv6 address has no brackets here.
    host: String,
    port: u16,
}

/// The text is no URL of a Valkey server. It is not repeated: it may hold a
/// password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it must be like valkey://user:password@host:6379, or valkeys:// for TLS; \
     percent-encode user and password"
)]
pub struct InvalidServerUrl;

impl ServerUrl {
    /// Returns the user that Valkey takes whoever has this URL for.
    pub(crate) fn user(&self) -> &str {
        self.user.as_deref().unwrap_or(DEFAULT_USER)
    }

    /// Returns the URL of the same server, without the words to log in.
    pub(crate) fn without_login(&self) -> Self {
        Self { user: None, password: None, ..self.clone() }
    }

    /// Connects to the server. Callers bound the time, of this and of answers.
    pub(crate) async fn connect(
        &self,
    ) -> Result<MultiplexedConnection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let client = self.client()?;
        client.get_multiplexed_async_connection_with_config(&config).await
    }

    fn client(&self) -> Result<Client, RedisError> {
        let (host, port) = (self.host.clone(), self.port);
        let address = if self.is_tls {
            let tls_params = None;
            ConnectionAddr::TcpTls { host, port, insecure: false, tls_params }
        } else {
            ConnectionAddr::Tcp(host, port)
        };
        let mut login = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP2)
            .set_lib_name("sandpiper", env!("CARGO_PKG_VERSION"));
        if let Some(user) = &self.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.password {
            login = login.set_password(password);
        }
        let info: ConnectionInfo = address.into_connection_info()?;
        let settings = TcpSettings::default()
            // A call is one small packet that should not wait for another.
            .set_nodelay(true)
            // The kernel must not go on sending the calls of a connection that was
            // given up: a change could be made after later ones of this node.
            .set_linger_time(Duration::ZERO);
        let info = info.set_redis_settings(login).set_tcp_settings(settings);
        Client::open(info)
    }
}

impl FromStr for ServerUrl {
    type Err = InvalidServerUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or(InvalidServerUrl)
    }
}

fn parse(text: &str) -> Option<ServerUrl> {
    let (scheme, rest) = text.split_once("://")?;
    let is_tls = match scheme {
        "valkey" => false,
        "valkeys" => true,
        _ => return None,
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (login, server) = match rest.rsplit_once('@') {
        Some((login, server)) => (Some(login), server),
        None => (None, rest),
    };
    let (user, password) = match login {
        Some(login) => {
            let (user, password) = login.split_once(':')?;
            let user = Some(decode(user)?).filter(|user| !user.is_empty());
            (user, Some(decode(password)?))
        }
        None => (None, None),
    };
    if password.as_ref().is_some_and(String::is_empty) {
        return None;
    }
    let (host, port) = if let Some(rest) = server.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        let port =
            if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
        (host, port)
    } else {
        match server.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (server, None),
        }
    };
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
    if host.is_empty() || !host.chars().all(is_in_name) {
        return None;
    }
    let port = match port {
        Some(port) => port.parse().ok().filter(|port| *port != 0)?,
        None => PORT,
    };
    Some(ServerUrl { is_tls, user, password, host: host.to_owned(), port })
}

fn decode(text: &str) -> Option<String> {
    let text = percent_decode_str(text).decode_utf8().ok()?;
    // These end a line of the protocol, or a message in the log.
    (!text.chars().any(char::is_control)).then(|| text.into_owned())
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "valkeys" } else { "valkey" };
        let (host, port) = (&self.host, self.port);
        if host.contains(':') {
            write!(formatter, "{scheme}://[{host}]:{port}")
        } else {
            write!(formatter, "{scheme}://{host}:{port}")
        }
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let check = |text: &str, expected: Option<(&str, &str, &str)>| {
            let url = text.parse::<ServerUrl>().ok();
            let found = url.map(|url| {
                let shown = url.to_string();
                let word = |word: Option<String>| word.unwrap_or_default();
                (shown, word(url.user), word(url.password))
            });
            let expected = expected.map(|(shown, user, password)| {
                (shown.to_owned(), user.to_owned(), password.to_owned())
            });
            assert_eq!(found, expected, "{text}");
        };
        check("valkey://h", Some(("valkey://h:6379", "", "")));
        check("valkey://h/", Some(("valkey://h:6379", "", "")));
        check("valkeys://h.example:7", Some(("valkeys://h.example:7", "", "")));
        check("valkey://[::1]", Some(("valkey://[::1]:6379", "", "")));
        check("valkey://[::1]:7", Some(("valkey://[::1]:7", "", "")));
        check("valkey://:pw@h", Some(("valkey://h:6379", "", "pw")));
        check("valkey://u:p%40:/@h", Some(("valkey://h:6379", "u", "p@:/")));
        for text in [
            "",
            "h",
            "valkey://",
            "valkey:h",
            "redis://h",
            "valkey://u@h",
            "valkey://u:@h",
            "valkey://u:%0d@h",
            "valkey://u:%ff@h",
            "valkey://h:0",
            "valkey://h:65536",
            "valkey://h:",
            "valkey://h/1",
            "valkey://h?x",
            "valkey://h h",
            "valkey://[h]",
            "valkey://[::1]x",
            "valkey://::1",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn nothing_shows_the_password() {
        let url: ServerUrl = "valkey://user:secret@h".parse().unwrap();
        let client = url.client().unwrap();
        let shown = format!("{url} {url:?} {client:?}");
        assert!(shown.contains("valkey://h:6379"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
