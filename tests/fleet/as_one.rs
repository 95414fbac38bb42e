//! A fleet that is started and ended like one server, for tests of a server: they
//! start this program in the place of it (scripts/test-fleet).

use std::io::Write;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::balancer::HaProxy;
use crate::node::{Node, NodeCommand};
use crate::valkey::Valkey;

/// Serves with the flags of `sandpiper serve`, but for the addresses, until SIGTERM.
pub(crate) fn serve(flags: &[String]) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut end = signal(SignalKind::terminate()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let valkey = Valkey::start(false);
        let url = folder.path().join("url");
        std::fs::write(&url, valkey.url()).unwrap();
        let mut all = vec![
            "--trusted-proxy=127.0.0.1".to_owned(),
            "--request-id-from-proxy".to_owned(),
            "--elsewhere-status=425".to_owned(),
            format!("--shared-limits=@{}", url.display()),
            format!("--shared-products=@{}", url.display()),
        ];
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            // Each node has addresses of its own.
            if ["--listen", "--admin-listen"].contains(&flag.as_str()) {
                flags.next();
            } else {
                all.push(flag.clone());
            }
        }
        // No image is there, so no node is ever ready.
        let start = |tag| {
            let usual = NodeCommand::with(all.clone());
            Node::start(tag, NodeCommand { language: None, ..usual })
        };
        let nodes = ["a", "b", "c"].map(start);
        let balancer = HaProxy::start(folder.path().join("h"), &nodes);
        println!("listening on http://{}", balancer.address);
        println!("metrics on http://{}", nodes[0].admin);
        std::io::stdout().flush().unwrap();
        end.recv().await;
    });
}
