//! The findings on one node of several: its settings, and what it shares.

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use ipnet::IpNet;
use sandpiper_shared::{Facts, ServerUrl, ValkeySettings, inspect};
use tokio::runtime;

use super::{Finding, Grade};
use crate::config::FleetArgs;

/// Two clocks that differ by more than this are reported.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(1);
/// A network with more addresses than this has more in it than balancers.
const MAX_PROXIES: u32 = 256;

/// The part of the service that a Valkey serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Limits,
    Products,
}

/// Returns the findings. Asks each Valkey.
///
/// # Errors
/// The URL of a Valkey cannot be read.
pub(super) fn fleet(args: &FleetArgs) -> anyhow::Result<Vec<Finding>> {
    let urls = args.urls()?;
    let mut findings = vec![
        proxies(&args.trusted_proxy),
        request_ids(args.request_id_from_proxy),
        elsewhere(args.elsewhere_status.as_u16()),
        node_tag(args.node_tag.is_some()),
    ];
    let limits = urls.limits.iter().map(|url| (Part::Limits, url));
    let products = urls.products.iter().map(|url| (Part::Products, url));
    let runtime =
        runtime::Builder::new_current_thread().enable_all().build()?;
    for part in [Part::Limits, Part::Products] {
        let own = limits.clone().chain(products.clone());
        if !own.clone().any(|(of, _)| of == part) {
            findings.push(part.not_shared());
        }
    }
    for (part, url) in limits.chain(products) {
        let place = url.to_string();
        let as_operator =
            urls.operator.iter().find(|it| it.to_string() == place);
        findings.extend(runtime.block_on(valkey(part, url, as_operator)));
    }
    Ok(findings)
}

impl Part {
    fn subject(self) -> &'static str {
        match self {
            Self::Limits => "shared limits",
            Self::Products => "shared products",
        }
    }

    fn not_shared(self) -> Finding {
        let (effect, flag) = match self {
            Self::Limits => (
                "each node counts for itself, so a client has the rate limit \
                 of every node",
                "--shared-limits",
            ),
            Self::Products => {
                ("each node has its own products", "--shared-products")
            }
        };
        Finding::weak(self.subject(), format!("none: {effect}"))
            .fix(format!("name the Valkey of all nodes with {flag}"))
    }
}

/// Asks a Valkey as the node does, and its settings as the operator.
async fn valkey(
    part: Part,
    url: &ServerUrl,
    as_operator: Option<&ServerUrl>,
) -> Vec<Finding> {
    let facts = match inspect(url).await {
        Ok(facts) => facts,
        Err(reason) => return vec![unreachable(part, url, &reason)],
    };
    let now = now();
    let mut findings = vec![Finding::good(
        part.subject(),
        format!("{url} is {}", facts.version),
    )];
    findings.push(clock(url, facts.clock, now));
    let settings = match as_operator {
        None => Ok(facts),
        Some(operator) => inspect(operator).await,
    };
    let subject = format!("settings of {url}");
    findings.push(match settings {
        Ok(Facts { settings: Some(settings), .. }) => match part {
            Part::Limits => limits_settings(&subject, &settings),
            Part::Products => products_settings(&subject, &settings),
        },
        Ok(_) => Finding::weak(
            &subject,
            "not checked: the user of this URL may not read them",
        )
        .fix("name a user who may run CONFIG GET, with --operator-url"),
        Err(reason) => {
            Finding::weak(&subject, format!("not checked: {reason}"))
                .fix("check the user and password of --operator-url")
        }
    });
    findings
}

fn unreachable(
    part: Part,
    url: &ServerUrl,
    reason: &sandpiper_shared::NoAnswer,
) -> Finding {
    let (grade, effect) = match part {
        Part::Limits => (Grade::Weak, "each node counts for itself"),
        Part::Products => {
            (Grade::Missing, "requests for products are answered 503")
        }
    };
    let found = format!("{url} cannot be reached: {reason}; {effect}");
    Finding::new(grade, part.subject(), found).fix(
        "check that Valkey runs, that its `bind` and firewalls let this \
         machine in, and the user and password of the URL",
    )
}

/// Returns the time of this machine since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock of a Valkey is compared with that of this machine"
)]
fn now() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default()
}

fn clock(url: &ServerUrl, theirs: Duration, own: Duration) -> Finding {
    let subject = format!("clock of {url}");
    let difference = theirs.abs_diff(own);
    if difference <= MAX_CLOCK_DIFFERENCE {
        return Finding::good(&subject, "as on this machine");
    }
    let side = if theirs > own { "ahead of" } else { "behind" };
    let found = format!(
        "{:.1} s {side} this machine's: rate limits are wrong for a minute \
         when it is set",
        difference.as_secs_f64()
    );
    Finding::weak(&subject, found).fix(
        "run chrony on both machines, which corrects a clock in small steps",
    )
}

fn limits_settings(subject: &str, settings: &ValkeySettings) -> Finding {
    let is_bounded = settings.max_memory != 0;
    if settings.append_only && settings.append_fsync == "always" {
        return Finding::weak(subject, "each run waits for its disk").fix(
            "appendonly no: limits look back one minute, and may be lost",
        );
    }
    if is_bounded && settings.max_memory_policy == "noeviction" {
        let found = "when its memory is used up, nodes count for themselves";
        return Finding::weak(subject, found)
            .fix("maxmemory-policy volatile-ttl");
    }
    Finding::good(subject, "fit for limits")
}

fn products_settings(subject: &str, settings: &ValkeySettings) -> Finding {
    let is_bounded = settings.max_memory != 0;
    if is_bounded && settings.max_memory_policy != "noeviction" {
        let found = format!(
            "when its memory is used up, it removes products ({})",
            settings.max_memory_policy
        );
        return Finding::missing(subject, found)
            .fix("maxmemory-policy noeviction");
    }
    let durable = "appendonly yes\nappendfsync always";
    match (settings.append_only, settings.append_fsync.as_str()) {
        (true, "always") => Finding::good(
            subject,
            "each change is on the disk before it is answered",
        ),
        (true, when) => Finding::weak(
            subject,
            format!(
                "changes are written after they are answered (appendfsync \
                 {when}): the last ones can be lost, and their ids given again"
            ),
        )
        .fix(durable),
        (false, _) if settings.save.is_empty() => Finding::weak(
            subject,
            "nothing is kept on a disk: products end with this Valkey",
        )
        .fix(durable),
        (false, _) => Finding::weak(
            subject,
            "only snapshots are kept: the changes since the last one can be \
             lost, and their ids given again",
        )
        .fix(durable),
    }
}

fn proxies(named: &[IpNet]) -> Finding {
    const SUBJECT: &str = "named proxies";
    if named.is_empty() {
        return Finding::weak(
            SUBJECT,
            "none: all clients behind the balancer share one rate limit",
        )
        .fix("name the balancer's address with --trusted-proxy");
    }
    let list: Vec<String> = named.iter().map(ToString::to_string).collect();
    let list = list.join(", ");
    let addresses = |network: &IpNet| {
        let bits = network.max_prefix_len() - network.prefix_len();
        2_u32.checked_pow(bits.into()).unwrap_or(u32::MAX)
    };
    if named.iter().all(|network| addresses(network) <= MAX_PROXIES) {
        return Finding::good(SUBJECT, list);
    }
    Finding::weak(
        SUBJECT,
        format!(
            "{list}: everyone there who reaches this node can claim any \
             address"
        ),
    )
    .fix(
        "name the balancer's addresses alone, or let no other machine of \
         these networks reach the node",
    )
}

fn request_ids(are_taken: bool) -> Finding {
    const SUBJECT: &str = "request ids";
    if are_taken {
        return Finding::good(
            SUBJECT,
            "from named proxies, which must remove those of their clients",
        );
    }
    Finding::weak(
        SUBJECT,
        "of this node alone: a request that the balancer repeats counts \
         twice, and can create two products",
    )
    .fix("--request-id-from-proxy, if the balancer sends Sandpiper-Request")
}

fn elsewhere(status: u16) -> Finding {
    const SUBJECT: &str = "requests for another node";
    if status == 503 {
        return Finding::weak(
            SUBJECT,
            "503: a client reads that this node cannot run a language, though \
             another node may",
        )
        .fix(
            "--elsewhere-status 425 behind HAProxy, --elsewhere-status 502 \
             behind nginx",
        );
    }
    Finding::good(SUBJECT, format!("{status}: the balancer tries the next"))
}

fn node_tag(is_set: bool) -> Finding {
    const SUBJECT: &str = "node tag";
    if is_set {
        return Finding::good(SUBJECT, "in the ids of interactive runs");
    }
    Finding::weak(
        SUBJECT,
        "none: the balancer cannot tell where input for a run belongs",
    )
    .fix("give each node a --node-tag of its own, as the balancer names it")
}
