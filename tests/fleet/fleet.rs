//! Nodes, a balancer and Valkeys that belong together.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process;

use sandpiper_testkit::{eventually, image};
use tempfile::TempDir;

use crate::balancer::HaProxy;
use crate::node::{Node, NodeCommand};
use crate::valkey::Valkey;

/// A service of several nodes.
pub(crate) struct Fleet {
    // They end in this order: nodes last, which have Valkeys' URLs.
    pub(crate) balancers: Vec<HaProxy>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) limits: Option<Valkey>,
    pub(crate) products: Option<Valkey>,
    pub(crate) folder: TempDir,
}

/// The options of a test.
#[derive(Clone, Copy, Default)]
pub(crate) struct Setup<'a> {
    /// Whether nodes count requests together.
    pub(crate) limits: bool,
    /// Whether nodes have one catalogue, and whether that is kept on disk.
    pub(crate) products: Option<bool>,
    /// The number of balancers; 0 counts as 1.
    pub(crate) balancers: usize,
    /// Further flags of each node.
    pub(crate) flags: &'a [&'a str],
}

/// The settings of the Valkeys with the limits and the products.
const LIMITS: &str = include_str!("../../packaging/fleet/limits.conf");
const PRODUCTS: &str = include_str!("../../packaging/fleet/products.conf");

const TAGS: [&str; 3] = ["a", "b", "c"];

impl Fleet {
    /// Starts three nodes with what they need.
    pub(crate) fn start(setup: Setup<'_>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let limits = setup.limits.then(|| Valkey::packaged(LIMITS));
        let products = setup.products.map(|keeps| match keeps {
            true => Valkey::packaged(PRODUCTS),
            false => Valkey::start(false),
        });
        let mut flags = usual(setup.flags);
        for (flag, valkey) in [("limits", &limits), ("products", &products)] {
            let Some(valkey) = valkey else { continue };
            let file = at(&format!("{flag}.url"));
            write_secret(&file, &valkey.url());
            flags.push(format!("--shared-{flag}=@{}", file.display()));
        }
        let nodes: Vec<Node> = TAGS
            .iter()
            .map(|tag| Node::start(tag, NodeCommand::with(flags.clone())))
            .collect();
        let balancers = (0..setup.balancers.max(1)).map(|number| {
            HaProxy::start(at(&format!("balancer{number}")), &nodes)
        });
        let balancers = balancers.collect();
        Self { balancers, nodes, limits, products, folder }
    }

    /// Returns the address of the service.
    pub(crate) fn address(&self) -> SocketAddr {
        self.balancers[0].address
    }

    /// Returns the sum of a metric over all nodes.
    pub(crate) fn count(&self, series: &str) -> usize {
        self.nodes.iter().map(|node| node.count(series)).sum()
    }

    /// Waits until exactly so many boxes are in use.
    pub(crate) fn wait_for_boxes(&self, count: usize) {
        eventually(&format!("{count} boxes are in use"), || {
            self.count("sandpiper_boxes_in_use") == count
        });
    }

    /// Returns the number of the node that runs a program of this name, once it
    /// waits; see [`waits`](crate::client::waits).
    pub(crate) fn runner_index(&self, name: &str) -> usize {
        let mut found = None;
        eventually(&format!("{name} waits"), || {
            let mut nodes = self.nodes.iter();
            found = nodes.position(|node| node.waiting(name).is_some());
            found.is_some()
        });
        found.unwrap()
    }

    /// Lets this program go on, which then ends.
    pub(crate) fn release(&self, name: &str) {
        self.nodes[self.runner_index(name)].release(name);
    }

    /// Waits until all balancers have found out whether this node answers.
    pub(crate) fn wait_until(&self, node: usize, is_up: bool) {
        for balancer in &self.balancers {
            balancer.wait_until(&self.nodes[node].tag, is_up);
        }
    }
}

/// Writes a file for its owner alone. Nodes read it before they give up root.
fn write_secret(path: &Path, text: &str) {
    let mut options = fs::File::options();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

/// Returns the flags of all nodes.
pub(crate) fn usual(more: &[&str]) -> Vec<String> {
    let usual = [
        "--languages=python,c,php",
        "--boxes=2",
        "--live-boxes=2",
        "--warm-memory=0",
        "--trusted-proxy=127.0.0.1",
        "--request-id-from-proxy",
        "--elsewhere-status=425",
        // On a busy machine nothing is to end by its time.
        "--queue-wait=120s",
        "--run-wall-time=120s",
        "--compile-wall-time=120s",
    ];
    usual.iter().chain(more).map(ToString::to_string).collect()
}

/// Makes a data folder that has these images alone, of links to the operator's.
pub(crate) fn data_with(images: &[&str]) -> TempDir {
    let sources: Vec<_> = images.iter().map(|name| image(name)).collect();
    let all = sources[0].parent().unwrap();
    // On the same filesystem, for the links.
    let data = tempfile::tempdir_in(all.parent().unwrap()).unwrap();
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(data.path(), open).unwrap();
    let folder = data.path().join("images");
    fs::create_dir(&folder).unwrap();
    for source in &sources {
        link(source, &folder);
    }
    data
}

fn link(source: &Path, folder: &Path) {
    let copied = process::Command::new("cp")
        .args(["--archive", "--link"])
        .args([source, &folder.join(source.file_name().unwrap())])
        .status()
        .unwrap();
    assert!(copied.success());
}
