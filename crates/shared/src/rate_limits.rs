//! How often a client may ask, counted for all servers at once.

use std::net::IpAddr;
use std::time::Duration;

use redis::{Value, from_redis_value};
use sha2::{Digest, Sha256};

use crate::error::CallError;
use crate::library::Library;
use crate::link::{Link, LinkState, Observe};
use crate::url::ServerUrl;

/// The name of this part of the service in the log and in metrics.
const PART: &str = "limits";

/// The function that counts.
const ADMIT: &str = "sp2_admit";

/// Limits that several servers share. Each client is counted by one of the
/// Valkeys: the same one at all servers that name the same ones.
#[derive(Debug)]
pub struct RateLimits {
    /// Each with the name that all servers know it by.
    links: Vec<(String, Link)>,
    /// The longest time that a call may take.
    within: Duration,
}

/// A client, and how often it may ask.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimit {
    /// Its address.
    pub address: IpAddr,
    /// The requests that are admitted in a window.
    pub limit: u32,
    /// The /64 of an IPv6 address, and the limit of all its clients together.
    pub prefix: Option<(IpAddr, u32)>,
    /// The span in which requests are counted.
    pub window: Duration,
}

/// The answer of a Valkey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitDecision {
    /// Whether the request may pass.
    pub kind: LimitDecisionKind,
    /// Requests that would be admitted now.
    pub remaining: u32,
    /// Time until one more is admitted than now; zero if nothing is counted.
    pub reset: Duration,
}

/// Whether a request may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitDecisionKind {
    /// It may not.
    Refused,
    /// It may, and was counted, if that was asked for.
    Admitted,
    /// It may, since it was admitted before. It was not counted again.
    Repeated,
}

impl RateLimits {
    /// The functions that it calls.
    pub const CALLS: [&'static str; 1] = [ADMIT];

    /// Starts to connect to each Valkey, in tasks of the present runtime. A call
    /// may take as long as `within`.
    ///
    /// # Panics
    /// There is no runtime.
    #[must_use]
    pub fn start(
        urls: Vec<ServerUrl>,
        within: Duration,
        observe: &Observe,
    ) -> Self {
        let library = Library {
            part: PART,
            text: include_str!("rate_limits.lua"),
            open: "sp2_limits_open",
            epoch_key: "sp1:l:epoch",
            within,
            without: "until it answers, this server's own limit decides",
        };
        let start = |url: ServerUrl| {
            let observe = Observe::clone(observe);
            (url.to_string(), Link::start(url, library, observe))
        };
        Self { links: urls.into_iter().map(start).collect(), within }
    }

    /// Counts the request with this id, if it may pass. One id counts once for
    /// four tries.
    ///
    /// # Errors
    /// The client's Valkey gave no decision. The request may have been counted.
    pub async fn admit(
        &self,
        client: ClientLimit,
        id: &str,
    ) -> Result<LimitDecision, CallError> {
        self.ask(client, id, true).await
    }

    /// Returns the decision on a request that came now, and counts nothing.
    ///
    /// # Errors
    /// The client's Valkey gave no decision.
    pub async fn quota(
        &self,
        client: ClientLimit,
    ) -> Result<LimitDecision, CallError> {
        self.ask(client, "", false).await
    }

    /// Returns whether the client's Valkey has answered each call for a whole
    /// window, so that nothing in it was admitted without Valkey.
    #[must_use]
    pub fn has_whole_window(&self, client: ClientLimit) -> bool {
        let link = self.link(&tag(client));
        link.is_some_and(|link| {
            link.age().is_some_and(|age| age >= client.window)
        })
    }

    /// Returns when all Valkeys can be reached.
    pub async fn until_up(&self) {
        for (_, link) in &self.links {
            link.until_up().await;
        }
    }

    /// Returns the state of all Valkeys together.
    #[must_use]
    pub fn state(&self) -> LinkState {
        let links = || self.links.iter().map(|(_, link)| link);
        LinkState {
            part: PART,
            is_up: links().all(Link::is_up),
            failures: links().map(Link::failures).sum(),
        }
    }

    async fn ask(
        &self,
        client: ClientLimit,
        id: &str,
        counts: bool,
    ) -> Result<LimitDecision, CallError> {
        let tag = tag(client);
        let link = self.link(&tag).ok_or(CallError::Unreachable)?;
        let base = format!("sp1:l:{{{tag}}}");
        let mut id = id.to_owned();
        if client.prefix.is_some() {
            // One id of two addresses is two requests of the prefix.
            id = format!("{} {id}", client.address);
        }
        let mut keys = vec![format!("{base}:tries:{id}")];
        let mut limits = vec![client.limit];
        if let Some((_, limit)) = client.prefix {
            keys.push(format!("{base}:{}", client.address));
            limits.push(limit);
        }
        keys.push(base);
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let window = client.window.as_micros().to_string();
        let limits: Vec<String> =
            limits.iter().map(ToString::to_string).collect();
        let mut args =
            vec![id.as_str(), &window, if counts { "1" } else { "0" }];
        args.extend(limits.iter().map(String::as_str));
        let args: Vec<&[u8]> = args.into_iter().map(str::as_bytes).collect();
        let (answer, generation) =
            link.call_numbered(ADMIT, &keys, &args, self.within).await?;
        decision(answer).ok_or_else(|| link.refuse_value(generation))
    }

    fn link(&self, tag: &str) -> Option<&Link> {
        let names = self.links.iter().map(|(name, _)| name.as_str());
        let (_, link) = self.links.get(heaviest(names, tag)?)?;
        Some(link)
    }
}

/// Returns the place of the Valkey that counts the clients with this tag. If a
/// Valkey comes or goes, only its own clients move (rendezvous hashing).
fn heaviest<'a>(
    names: impl Iterator<Item = &'a str>,
    tag: &str,
) -> Option<usize> {
    let weight = |name: &str| Sha256::digest([name, " ", tag].concat());
    let heaviest = names.enumerate().max_by_key(|(_, name)| weight(name));
    heaviest.map(|(place, _)| place)
}

/// Returns the part of a client's keys that decides where they are: they are
/// all at one Valkey, and in one slot of it.
fn tag(client: ClientLimit) -> String {
    let address = client.prefix.map_or(client.address, |(prefix, _)| prefix);
    address.to_string()
}

fn decision(answer: Value) -> Option<LimitDecision> {
    let (kind, remaining, reset): (i64, i64, i64) =
        from_redis_value(answer).ok()?;
    let kind = match kind {
        0 => LimitDecisionKind::Refused,
        1 => LimitDecisionKind::Admitted,
        2 => LimitDecisionKind::Repeated,
        _ => return None,
    };
    Some(LimitDecision {
        kind,
        remaining: remaining.try_into().ok()?,
        reset: Duration::from_micros(reset.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valkey_that_goes_moves_its_own_clients_alone() {
        let names = ["valkey://a:1", "valkey://b:1", "valkey://c:1"];
        let mut counts = [0; 3];
        for number in 0..3_000_u32 {
            let tag = std::net::Ipv4Addr::from(number).to_string();
            let with_all = heaviest(names.into_iter(), &tag).unwrap();
            let without_last =
                heaviest(names.into_iter().take(2), &tag).unwrap();
            counts[with_all] += 1;
            assert!(with_all == 2 || with_all == without_last, "{tag}");
            let backwards = heaviest(names.into_iter().rev(), &tag).unwrap();
            assert_eq!(names[with_all], names[2 - backwards], "{tag}");
        }
        assert!(counts.iter().all(|count| *count > 800), "{counts:?}");
    }

    #[test]
    fn answers_of_another_form_are_none() {
        let check = |answer: Vec<i64>, expected: bool| {
            let answer = answer.into_iter().map(Value::Int).collect();
            let found = decision(Value::Array(answer));
            assert_eq!(found.is_some(), expected, "{found:?}");
        };
        check(vec![0, 0, 60_000_000], true);
        check(vec![2, 19, 0], true);
        check(vec![3, 19, 0], false);
        check(vec![1, -1, 0], false);
        check(vec![1, 19], false);
    }
}
