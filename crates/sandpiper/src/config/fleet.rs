//! The flags of `doctor --fleet`. All but two are flags of `serve`, so that the
//! variables of a service are enough.

use clap::Args;
use clap::builder::BoolishValueParser;
use sandpiper_server::{NodeTag, StatusCode, TrustedProxy};
use sandpiper_shared::ServerUrl;

use super::shared::SharedUrl;
use super::{mebibytes, values};

/// The settings of one node of several.
#[derive(Args, Debug)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct FleetArgs {
    /// Also check the settings of a node, and the Valkeys that it shares
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) fleet: bool,

    /// Valkey that counts the compile requests of several servers, as given to
    /// serve (repeatable)
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    shared_limits: Vec<SharedUrl>,

    /// Valkey that holds the products of several servers, as given to serve
    #[arg(long, value_name = "URL")]
    shared_products: Option<SharedUrl>,

    /// URL of one of these Valkeys with a user who may read its settings and
    /// rights; or @PATH for the URL in a file (repeatable)
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    operator_url: Vec<SharedUrl>,

    /// Memory for all products, as given to serve
    #[arg(long, value_name = "SIZE", value_parser = values::size,
        default_value = mebibytes(sandpiper_server::limits::PRODUCTS_BYTES))]
    pub(crate) products_memory: u64,

    /// Proxy whose --client-header is trusted, as given to serve (repeatable)
    #[arg(long, value_name = "PROXY", value_delimiter = ',')]
    pub(crate) trusted_proxy: Vec<TrustedProxy>,

    /// Take the id of a request from trusted proxies, as given to serve
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) request_id_from_proxy: bool,

    /// Status that a trusted proxy gets if another node may be able to run a
    /// request, as given to serve
    #[arg(long, value_name = "STATUS",
        value_parser = values::elsewhere_status(), default_value = "503")]
    pub(crate) elsewhere_status: StatusCode,

    /// Name of this server in the ids of runs, as given to serve
    #[arg(long, value_name = "TAG")]
    pub(crate) node_tag: Option<NodeTag>,
}

/// The URLs of what nodes share.
pub(crate) struct SharedUrls {
    pub(crate) limits: Vec<ServerUrl>,
    pub(crate) products: Option<ServerUrl>,
    /// The same Valkeys, with users who may read their settings.
    pub(crate) operator: Vec<ServerUrl>,
}

impl FleetArgs {
    /// Returns the URLs, some of which are in files.
    ///
    /// # Errors
    /// A file cannot be read, or a text is no URL.
    pub(crate) fn urls(&self) -> anyhow::Result<SharedUrls> {
        let read = |urls: &[SharedUrl], flag| {
            let urls = urls.iter().map(|url| url.read(flag));
            urls.collect::<anyhow::Result<Vec<_>>>()
        };
        let products = self.shared_products.as_ref();
        Ok(SharedUrls {
            limits: read(&self.shared_limits, "--shared-limits")?,
            products: products
                .map(|url| url.read("--shared-products"))
                .transpose()?,
            operator: read(&self.operator_url, "--operator-url")?,
        })
    }
}
