//! The findings on one node of several: its settings, and what it shares.

#[cfg(test)]
mod tests;
mod valkey;

use std::collections::BTreeSet;
use std::io;
use std::net::ToSocketAddrs;

use ipnet::IpNet;
use sandpiper_server::TrustedProxy;
use sandpiper_shared::ServerUrl;
use tokio::runtime;

use super::Finding;
use crate::config::FleetArgs;
use valkey::Part;

const PROXIES: &str = "named proxies";
/// A network with more free bits than these has more in it than balancers.
const MAX_PROXY_BITS: u8 = 8;

/// Returns the findings. Asks each Valkey.
///
/// # Errors
/// The URL of a Valkey cannot be read.
pub(super) fn fleet(args: &FleetArgs) -> anyhow::Result<Vec<Finding>> {
    let urls = args.urls()?;
    let mut findings = proxies(&args.trusted_proxy);
    findings.extend([
        request_ids(args.request_id_from_proxy),
        elsewhere(args.elsewhere_status.as_u16()),
        node_tag(args.node_tag.is_some()),
    ]);
    let limits = urls.limits.iter().map(|url| (Part::Limits, url));
    let products_memory = args.products_memory;
    let products = urls.products.iter();
    let products = products.map(|url| (Part::Products(products_memory), url));
    let valkeys: Vec<(Part, &ServerUrl)> = limits.chain(products).collect();
    if urls.limits.is_empty() {
        findings.push(limits_not_shared());
    }
    if urls.products.is_none() {
        findings.push(products_not_shared());
    }
    let runtime =
        runtime::Builder::new_current_thread().enable_all().build()?;
    let is_at = |url: &ServerUrl, other: &ServerUrl| {
        url.to_string() == other.to_string()
    };
    for (part, url) in &valkeys {
        let operator = urls.operator.iter().find(|it| is_at(it, url));
        let asked = valkey::findings(*part, url, operator);
        findings.extend(runtime.block_on(asked));
    }
    let other = urls.operator.iter().filter(|operator| {
        !valkeys.iter().any(|(_, url)| is_at(url, operator))
    });
    findings.extend(other.map(operator_of_another));
    Ok(findings)
}

fn limits_not_shared() -> Finding {
    let found = "none: each node counts for itself, so a client has the rate \
                 limit of every node";
    Finding::weak("shared limits", found)
        .fix("name the Valkey of all nodes with --shared-limits")
}

fn products_not_shared() -> Finding {
    let found = "none: each node has its own products";
    Finding::weak("shared products", found)
        .fix("name the Valkey of all nodes with --shared-products")
}

fn operator_of_another(url: &ServerUrl) -> Finding {
    let found = format!("{url} is no Valkey of this node, so it was not asked");
    Finding::weak("operator's URL", found).fix(
        "write host and port in --operator-url as in --shared-limits or \
         --shared-products",
    )
}

fn proxies(named: &[TrustedProxy]) -> Vec<Finding> {
    if named.is_empty() {
        return vec![
            Finding::weak(
                PROXIES,
                "none: all clients behind the balancer share one rate limit",
            )
            .fix("name the balancer with --trusted-proxy"),
        ];
    }
    let networks: Vec<&IpNet> = named
        .iter()
        .filter_map(|proxy| match proxy {
            TrustedProxy::Network(network) => Some(network),
            TrustedProxy::Host(_) => None,
        })
        .collect();
    let mut findings = Vec::new();
    if !networks.is_empty() {
        findings.push(proxy_networks(&networks));
    }
    for proxy in named {
        if let TrustedProxy::Host(name) = proxy {
            findings.push(proxy_host(name));
        }
    }
    findings
}

fn proxy_networks(networks: &[&IpNet]) -> Finding {
    let list: Vec<String> = networks.iter().map(ToString::to_string).collect();
    let list = list.join(", ");
    let bits = |it: &IpNet| it.max_prefix_len() - it.prefix_len();
    if networks.iter().all(|network| bits(network) <= MAX_PROXY_BITS) {
        return Finding::good(PROXIES, list);
    }
    let found = format!(
        "{list}: everyone there who reaches this node can claim any address"
    );
    Finding::weak(PROXIES, found).fix(
        "name the balancers' addresses alone, or a host name that has them, or \
         let no other machine of these networks reach the node",
    )
}

fn proxy_host(name: &str) -> Finding {
    match addresses(name) {
        Ok(addresses) => Finding::good(PROXIES, format!("{name}: {addresses}")),
        Err(error) => {
            let found = format!(
                "{name} has no address ({error}): all clients behind it share \
                 one rate limit"
            );
            Finding::weak(PROXIES, found)
                .fix(format!("see that `getent ahosts {name}` finds it"))
        }
    }
}

/// Returns the addresses of a host as a list.
fn addresses(name: &str) -> io::Result<String> {
    let found = (name, 0).to_socket_addrs()?;
    let found: BTreeSet<String> =
        found.map(|it| it.ip().to_canonical().to_string()).collect();
    Ok(Vec::from_iter(found).join(", "))
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
        return Finding::good(SUBJECT, "in the ids of runs");
    }
    Finding::weak(
        SUBJECT,
        "none: the balancer cannot tell where input for a run belongs",
    )
    .fix("give each node a --node-tag of its own, as the balancer names it")
}
