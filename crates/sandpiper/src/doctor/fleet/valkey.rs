//! The findings on one Valkey.

use std::time::{Duration, SystemTime};

use sandpiper_shared::{
    COMMANDS_OF_LIMITS, COMMANDS_OF_PRODUCTS, NoAnswer, Rights, ServerUrl,
    ValkeySettings, inspect, is_open, rights,
};
use tokio::time::Instant;

use super::super::{Finding, Grade};

/// Two clocks that differ by more than this are reported.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(1);
/// Memory of a Valkey in that of its products: it also keeps their order, the
/// answers of two minutes, and changes while it writes its file anew.
const MEMORY_FACTOR: u64 = 4;

/// The part of the service that a Valkey serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Limits,
    /// Of so many bytes (`--products-memory`).
    Products(u64),
}

impl Part {
    fn subject(self) -> &'static str {
        match self {
            Self::Limits => "shared limits",
            Self::Products(_) => "shared products",
        }
    }

    /// Returns the commands that a node needs.
    fn commands(self) -> &'static [&'static str] {
        match self {
            Self::Limits => &COMMANDS_OF_LIMITS,
            Self::Products(_) => &COMMANDS_OF_PRODUCTS,
        }
    }

    /// Returns the effect of a Valkey that nodes cannot use.
    fn effect(self) -> (Grade, &'static str) {
        match self {
            Self::Limits => (Grade::Weak, "each node counts for itself"),
            Self::Products(_) => {
                (Grade::Missing, "requests for products are answered 503")
            }
        }
    }
}

/// Asks a Valkey as the node does, and its settings and rights as the operator.
pub(super) async fn findings(
    part: Part,
    url: &ServerUrl,
    operator: Option<&ServerUrl>,
) -> Vec<Finding> {
    let facts = match inspect(url).await {
        Ok(facts) => facts,
        Err(reason) => return vec![unreachable(part, url, &reason)],
    };
    let found = format!("{url} is {}", facts.version);
    let mut findings = vec![
        Finding::good(part.subject(), found),
        clock(url, facts.clock, time_at(facts.clock_read)),
    ];
    let rights = match operator {
        None => Ok(None),
        Some(operator) => rights(operator, url, part.commands()).await,
    };
    let settings = match operator {
        None => Ok(facts.settings),
        Some(operator) => inspect(operator).await.map(|facts| facts.settings),
    };
    let subject = format!("users of {url}");
    findings.push(match (is_open(url).await, rights) {
        (Ok(is_open), Ok(rights)) => {
            let keeps_file = match &settings {
                Ok(Some(settings)) => settings.append_only,
                _ => false,
            };
            users(part, &subject, is_open, rights.as_ref(), keeps_file)
        }
        (Err(reason), _) | (_, Err(reason)) => not_checked(&subject, &reason),
    });
    let subject = format!("settings of {url}");
    findings.push(match settings {
        Ok(Some(settings)) => match part {
            Part::Limits => limits_settings(&subject, &settings),
            Part::Products(memory) => {
                products_settings(&subject, &settings, memory)
            }
        },
        Ok(None) => Finding::weak(
            &subject,
            "not checked: the user of this URL may not read them",
        )
        .fix("name a user who may run CONFIG GET, with --operator-url"),
        Err(reason) => not_checked(&subject, &reason),
    });
    findings
}

fn not_checked(subject: &str, reason: &NoAnswer) -> Finding {
    let otherwise = "check the user and password of --operator-url";
    Finding::weak(subject, format!("not checked: {reason}"))
        .fix(hint(reason, otherwise))
}

/// Returns the advice on a Valkey that does not answer.
fn hint(reason: &NoAnswer, otherwise: &'static str) -> &'static str {
    if reason.is_busy {
        "wait until it has read its file or ended its function, and run this \
         again"
    } else {
        otherwise
    }
}

/// Returns whether others than nodes get in, whether nodes can do their work,
/// and whether one that somebody took over could do more than that.
fn users(
    part: Part,
    subject: &str,
    is_open: bool,
    rights: Option<&Rights>,
    keeps_file: bool,
) -> Finding {
    /// The first line of packaging/fleet/users.acl.
    const DEFAULT: &str = "user default off allkeys allchannels allcommands";
    if is_open {
        return Finding::weak(subject, "it serves whoever reaches it").fix(
            DEFAULT.to_owned() + "\nand give the nodes a user and a password",
        );
    }
    let Some(rights) = rights else {
        let found = "nobody gets in without a password; the rights of nodes \
                     are not checked";
        return Finding::weak(subject, found)
            .fix("name a user who may run ACL DRYRUN, with --operator-url");
    };
    if keeps_file && !rights.can_replay {
        let found = "at its next start it loses all data: it reads its file as \
                     the user default, which may not run the commands in it";
        return Finding::missing(subject, found).fix(DEFAULT);
    }
    if !rights.lacking.is_empty() {
        let (grade, effect) = part.effect();
        let list = rights.lacking.join(", ");
        let found = format!("nodes may not run: {list}; {effect}");
        return Finding::new(grade, subject, found)
            .fix("give the user of the nodes all rights in users.acl");
    }
    if !rights.needless.is_empty() {
        let found = format!(
            "whoever takes a node over may also run: {}",
            rights.needless.join(", ")
        );
        return Finding::weak(subject, found)
            .fix("give the user of the nodes only the rights in users.acl");
    }
    Finding::good(
        subject,
        "nobody gets in without a password, and nodes may do nothing but their work",
    )
}

fn unreachable(part: Part, url: &ServerUrl, reason: &NoAnswer) -> Finding {
    let (grade, effect) = part.effect();
    let found = format!("{url} cannot be reached: {reason}; {effect}");
    let otherwise = "check that Valkey runs, that its `bind` and firewalls let \
                     this machine in, and the user and password of the URL";
    Finding::new(grade, part.subject(), found).fix(hint(reason, otherwise))
}

/// Returns the time of this machine at a moment, since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock of a Valkey is compared with that of this machine"
)]
fn time_at(moment: Instant) -> Duration {
    let since = moment.elapsed();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().saturating_sub(since)
}

fn clock(url: &ServerUrl, theirs: Duration, own: Duration) -> Finding {
    let subject = format!("clock of {url}");
    let difference = theirs.abs_diff(own);
    if difference <= MAX_CLOCK_DIFFERENCE {
        return Finding::good(&subject, "as on this machine");
    }
    let side = if theirs > own { "ahead of" } else { "behind" };
    let found = format!(
        "{:.1} s {side} this machine's: if it is corrected, the limits of \
         clients end that much too early or too late",
        difference.as_secs_f64()
    );
    Finding::weak(&subject, found).fix(
        "run chrony on both machines, which corrects a clock in small steps",
    )
}

fn limits_settings(subject: &str, settings: &ValkeySettings) -> Finding {
    if settings.append_only && settings.append_fsync == "always" {
        return Finding::weak(subject, "each run waits for its disk").fix(
            "appendonly no: limits look back one minute, and may be lost",
        );
    }
    if settings.max_memory == 0 {
        let found = "it may use all memory of its machine";
        return Finding::weak(subject, found)
            .fix("maxmemory 512mb\nmaxmemory-policy volatile-ttl");
    }
    if settings.max_memory_policy == "noeviction" {
        let found = "when its memory is used up, nodes count for themselves";
        return Finding::weak(subject, found)
            .fix("maxmemory-policy volatile-ttl");
    }
    Finding::good(subject, "fit for limits")
}

fn products_settings(
    subject: &str,
    settings: &ValkeySettings,
    products_memory: u64,
) -> Finding {
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
        (true, "always") => {
            memory_of_products(subject, settings, products_memory)
                .unwrap_or_else(|| {
                    let found =
                        "each change is on the disk before it is answered";
                    Finding::good(subject, found)
                })
        }
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

/// Returns the finding if the products may lack memory, or others may.
fn memory_of_products(
    subject: &str,
    settings: &ValkeySettings,
    products_memory: u64,
) -> Option<Finding> {
    let max = settings.max_memory;
    let needed = products_memory.saturating_mul(MEMORY_FACTOR);
    let found = if max == 0 {
        "it may use all memory of its machine".to_owned()
    } else if max < needed {
        format!(
            "maxmemory is {} MiB, less than four times --products-memory: \
             products can be refused before they fill that",
            max >> 20
        )
    } else {
        return None;
    };
    let fix = format!("maxmemory {}mb", needed.div_ceil(1 << 20));
    Some(Finding::weak(subject, found).fix(fix))
}

#[cfg(test)]
mod tests;
