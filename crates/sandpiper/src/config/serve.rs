//! The flags of `serve`, and the settings of the server and the engine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use clap::builder::BoolishValueParser;
use ipnet::IpNet;
use sandpiper_engine::{self as engine, EngineSettings, limits as default};
use sandpiper_server::{self as server, ServerSettings};

use super::shared::SharedUrl;
use super::values::{self, AddressOrOff};
use super::{SandboxArgs, UNITS, default_boxes, mebibytes, seconds, variable};

/// The port if neither `--listen` nor `PORT` is given.
const PORT: u16 = 8080;
/// The address of the metrics if `--admin-listen` is not given.
const ADMIN: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

/// Flags of `serve`.
#[derive(Args, Debug)]
#[command(after_help = UNITS)]
pub(crate) struct ServeArgs {
    /// Address and port to serve on [default: port 8080, or the one in the
    /// variable PORT, on every interface: IPv6 and IPv4, or only IPv4 if IPv6
    /// is disabled]
    #[arg(long, value_name = "HOST:PORT", value_parser = values::address)]
    listen: Option<SocketAddr>,

    /// Address and port of /metrics, or off [default: 127.0.0.1:9464]
    #[arg(long, value_name = "HOST:PORT",
        value_parser = values::address_or_off)]
    admin_listen: Option<AddressOrOff>,

    /// Compile requests that one client may send per minute; beyond this, it gets
    /// 429; 0: no limit
    #[arg(long, value_name = "N", value_parser = values::count(0_u32, u32::MAX),
        default_value_t = server::limits::COMPILE_REQUESTS_PER_MINUTE)]
    compile_rate_limit: u32,

    /// A different --compile-rate-limit for the clients of a network, such as a
    /// school behind one address (repeatable)
    #[arg(long, value_name = "CIDR=N", value_delimiter = ',',
        value_parser = values::rate_limit_for)]
    rate_limit_for: Vec<(IpNet, u32)>,

    /// Valkey that counts the compile requests of several servers: its URL, which
    /// begins with valkey or, for TLS, valkeys; or @PATH for the URL in a file
    /// (repeatable: the clients are spread over them) [default: none; this server
    /// counts its own]
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    shared_limits: Vec<SharedUrl>,

    /// Proxy whose --client-header is trusted: an address, a network, or a host
    /// name, whose addresses are looked up every 2 s (repeatable)
    #[arg(long, value_name = "PROXY", value_delimiter = ',')]
    trusted_proxy: Vec<server::TrustedProxy>,

    /// Header in which trusted proxies name the client, such as Forwarded or
    /// X-Real-IP
    #[arg(long, value_name = "NAME", value_parser = values::header_name,
        default_value = "X-Forwarded-For")]
    client_header: server::HeaderName,

    /// Take the id of a request from the header Sandpiper-Request of trusted
    /// proxies: up to four tries of a balancer count as one with --shared-limits,
    /// and create one product with --shared-products. Proxies must remove the
    /// header that their clients send. X-Request-Id is still the server's own
    #[arg(long, value_parser = BoolishValueParser::new())]
    request_id_from_proxy: bool,

    /// Status that a trusted proxy gets in place of 503 if another node may be
    /// able to run a request, so that the proxy asks that node. If too many runs
    /// wait, the status is 503 all the same
    #[arg(long, value_name = "STATUS",
        value_parser = values::elsewhere_status(), default_value = "503")]
    elsewhere_status: server::StatusCode,

    /// Name of this server in the ids of runs that it streams, such as n1, so that
    /// a balancer can send their input and their stop here: 1 to 16 lower case
    /// letters and digits [default: none]
    #[arg(long, value_name = "TAG")]
    node_tag: Option<server::NodeTag>,

    /// Host that requests may name, without port (repeatable); other requests
    /// get 421. --admin-listen accepts IP addresses, localhost and these hosts
    /// alone, also without this flag [default: every host]
    #[arg(long, value_name = "HOST", value_delimiter = ',',
        value_parser = values::host)]
    allowed_host: Vec<String>,

    /// Sites that may frame the editor page, as in a Content-Security-Policy
    #[arg(long, value_name = "SOURCES", default_value = "*")]
    frame_ancestors: server::FrameAncestors,

    /// Second origin of this server, from which the editor shows the documents
    /// of programs, so that a page that hangs cannot freeze the editor.
    /// --frame-ancestors, if given, must then name the editor's address
    /// [default: the editor's own origin]
    #[arg(long, value_name = "ORIGIN")]
    preview_origin: Option<server::PreviewOrigin>,

    /// Memory for all products; beyond this, creating one is answered with 507
    #[arg(long, value_name = "SIZE", value_parser = values::size,
        default_value = mebibytes(server::limits::PRODUCTS_BYTES))]
    products_memory: u64,

    /// Valkey that holds the products of several servers: its URL, which begins
    /// with valkey or, for TLS, valkeys; or @PATH for the URL in a file [default:
    /// none; this server has its own products]
    #[arg(long, value_name = "URL")]
    shared_products: Option<SharedUrl>,

    /// Languages to serve, separated by commas; "default" stands for those that
    /// are served unless you choose, "all" for every one that this program knows
    /// [default: default]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) languages: Option<Vec<String>>,

    /// Runs that may wait for a box; beyond this, they are answered with 503
    #[arg(long, value_name = "N", value_parser = values::count(0_usize, 100_000),
        default_value_t = default::QUEUE_LENGTH)]
    queue: usize,

    /// Time that a run may wait for a box; after that it is answered with 503
    #[arg(long, value_name = "TIME", value_parser = values::duration,
        default_value = seconds(default::QUEUE_WAIT))]
    queue_wait: Duration,

    /// Boxes (sandboxes) that run at once, one for each run; beyond this, runs
    /// wait [default: one per CPU core, at least two, at most 250]
    #[arg(long, value_name = "N", value_parser = values::boxes())]
    boxes: Option<usize>,

    /// Live runs at once, besides --boxes; a live run takes input while it goes
    /// on. One client may have half of them, rounded down, and at least one.
    /// Further ones are answered with 503; 0: none [default: as many as --boxes,
    /// but no more than fit into an eighth of this machine's memory, each with
    /// the larger of --memory and --compile-memory]
    #[arg(long, value_name = "N",
        value_parser = values::count(0_usize, engine::MAX_BOXES))]
    live_boxes: Option<usize>,

    /// Time from the last successful run of a language to its next test by its
    /// sample program, if a box is idle
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration,
        default_value = seconds(default::CHECK_INTERVAL))]
    check_interval: Duration,

    /// Memory for boxes that are started ahead of requests, so that programs
    /// start at once; 0: none [default: a quarter of this machine's memory, at
    /// most 2 GiB]
    #[arg(long, value_name = "SIZE",
        value_parser = values::size_or_none)]
    warm_memory: Option<u64>,

    /// Memory for compiled programs, which are reused if the same program is
    /// submitted again; beyond this, the least recently used are forgotten;
    /// 0: none
    #[arg(long, value_name = "SIZE", value_parser = values::size_or_none,
        default_value = mebibytes(default::COMPILE_CACHE_BYTES))]
    compile_cache: u64,

    /// Total size of the files that a run returns to a client that asks for them;
    /// the rest is listed as skipped; 0: none
    #[arg(long, value_name = "SIZE", value_parser = values::size_or_none,
        default_value = mebibytes(default::FILES_BYTES))]
    artifact_size: u64,

    /// Time for running requests to finish after SIGTERM, SIGINT or SIGHUP; live
    /// runs end at once
    #[arg(long, value_name = "TIME", value_parser = values::duration,
        default_value = "30s")]
    pub(crate) drain_time: Duration,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

impl ServeArgs {
    /// Returns the address to serve on.
    ///
    /// # Errors
    /// The variable `PORT` is not a port number.
    pub(crate) fn listen(&self) -> anyhow::Result<SocketAddr> {
        if let Some(address) = self.listen {
            return Ok(address);
        }
        let port = match variable("PORT") {
            None => PORT,
            Some(text) => text
                .to_str()
                .and_then(|text| text.parse().ok())
                .with_context(|| {
                    format!(
                        "the variable PORT is {text:?}; it must be a \
                             number from 0 to 65535"
                    )
                })?,
        };
        Ok((Ipv6Addr::UNSPECIFIED, port).into())
    }

    /// Returns the address of the metrics, and whether the operator chose it.
    pub(crate) fn admin_listen(&self) -> (Option<SocketAddr>, bool) {
        match self.admin_listen {
            Some(AddressOrOff(choice)) => (choice, true),
            None => (Some(ADMIN), false),
        }
    }

    /// Returns the settings of the HTTP server.
    ///
    /// # Errors
    /// The URL of a Valkey cannot be read.
    pub(crate) fn server_settings(&self) -> anyhow::Result<ServerSettings> {
        let shared_limits = self
            .shared_limits
            .iter()
            .map(|url| url.read("--shared-limits"))
            .collect::<anyhow::Result<_>>()?;
        let shared_products = self
            .shared_products
            .as_ref()
            .map(|url| url.read("--shared-products"))
            .transpose()?;
        Ok(ServerSettings {
            compile_rate_limit: self.compile_rate_limit,
            rate_limit_for: self.rate_limit_for.clone(),
            shared_limits,
            trusted_proxies: self.trusted_proxy.clone(),
            client_header: self.client_header.clone(),
            proxy_request_ids: self.request_id_from_proxy,
            elsewhere_status: self.elsewhere_status,
            node_tag: self.node_tag.clone(),
            allowed_hosts: self.allowed_host.clone(),
            products_bytes: self.products_memory,
            shared_products,
            frame_ancestors: self.frame_ancestors.clone(),
            preview_origin: self.preview_origin.clone(),
            artifact_bytes: self.artifact_size,
            ..ServerSettings::default()
        })
    }

    /// Returns the settings of the engine.
    pub(crate) fn engine_settings(&self) -> EngineSettings {
        let machine = crate::machine::memory_bytes().unwrap_or(0);
        let pool_memory_bytes = self
            .warm_memory
            .unwrap_or_else(|| (machine / 4).min(default::POOL_MEMORY_BYTES));
        let boxes = self.boxes.unwrap_or_else(default_boxes);
        let limits = self.sandbox.limits.limits();
        let live_boxes = self.live_boxes.unwrap_or_else(|| {
            default_live_boxes(machine, boxes, limits.box_memory_bytes())
        });
        EngineSettings {
            limits,
            boxes,
            live_boxes,
            queue_length: self.queue,
            queue_wait: self.queue_wait,
            allow_missing_limits: self.sandbox.allow_missing_limits,
            check_interval: self.check_interval,
            pool_memory_bytes,
            compile_cache_bytes: self.compile_cache,
        }
    }
}

/// Returns as many as `boxes`, but no more than an eighth of the machine's memory
/// holds, and no more than there can be besides. A compile step may take more than a
/// run, and holds the box as well.
pub(super) fn default_live_boxes(
    machine_bytes: u64,
    boxes: usize,
    box_bytes: u64,
) -> usize {
    let fitting = machine_bytes / 8 / box_bytes.max(1);
    let left = engine::MAX_BOXES.saturating_sub(boxes);
    boxes.min(left).min(usize::try_from(fitting).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_boxes_fit_into_an_eighth_of_the_memory() {
        let box_bytes = engine::Limits::default().box_memory_bytes();
        let check = |gib: u64, boxes, expected| {
            let found = default_live_boxes(gib << 30, boxes, box_bytes);
            assert_eq!(found, expected, "{gib} GiB, {boxes} boxes");
        };
        check(1, 2, 0);
        check(4, 4, 0);
        check(7, 8, 0);
        check(8, 8, 1);
        check(64, 16, 8);
        check(64, 4, 4);
        check(16384, 400, 100);
    }

    #[test]
    fn ordinary_boxes_leave_room_for_live_ones() {
        let check = |cores, expected| {
            let found = crate::config::boxes_for(cores);
            assert_eq!(found, expected, "{cores} cores");
        };
        check(1, 2);
        check(8, 8);
        check(768, 250);
    }
}
