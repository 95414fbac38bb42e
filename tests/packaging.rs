//! Checks the files of packaging/ against the code and the pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use sandpiper_testkit::read;

/// The metrics that a text names, without the endings of histograms.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let words = text.split(|c| !is_part(c));
    let names = words.filter(|word| {
        word.starts_with("sandpiper_") || word.starts_with("process_")
    });
    let whole = |name: &str| {
        let endings = ["_bucket", "_sum", "_count"];
        let bare = endings.iter().find_map(|end| name.strip_suffix(end));
        bare.unwrap_or(name).to_owned()
    };
    names.map(whole).collect()
}

#[test]
fn alerts_and_dashboard_use_metrics_that_there_are() {
    let page = read("docs/monitoring.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let known: BTreeSet<String> =
        rows.filter_map(|row| Some(row.split_once('`')?.0.into())).collect();
    let check = |path: &str, min: usize| {
        let used = metrics(&read(path));
        assert!(used.len() >= min, "{path} uses more than {used:?}");
        let unknown: Vec<_> = used.difference(&known).collect();
        assert!(unknown.is_empty(), "{path}: no metrics: {unknown:?}");
    };
    check("packaging/alerts.yaml", 12);
    check("packaging/grafana.json", 30);
}

/// A person who takes a node over can do no more in Valkey than the node does.
#[test]
fn nodes_may_use_the_commands_of_their_functions_alone() {
    let mut called = BTreeSet::new();
    for library in ["rate_limits", "catalogue"] {
        let text = read(&format!("crates/shared/src/{library}.lua"));
        let calls = text.split("call('").skip(1);
        called.extend(
            calls.map(|rest| {
                rest.split('\'').next().unwrap().to_ascii_lowercase()
            }),
        );
    }
    assert!(called.len() > 10, "{called:?}");
    // Those of the connection, and the clock that `doctor --fleet` reads.
    let others = ["client|setinfo", "function|load", "fcall", "time"];
    called.extend(others.map(str::to_owned));
    let users = read("packaging/fleet/users.acl");
    let node = users.lines().find(|user| user.starts_with("user sandpiper "));
    let words = node.unwrap().split(' ');
    let allowed: BTreeSet<String> =
        words.filter_map(|word| Some(word.strip_prefix('+')?.into())).collect();
    assert_eq!(allowed, called);
}

/// The files of docs/scale.md hold passwords, so they do not outlive the package.
#[test]
fn a_purge_removes_the_urls_and_nothing_else_of_the_operator() {
    let page = read("docs/scale.md");
    let urls = ["limits-url", "limits-url-2", "products-url"];
    for name in urls {
        let path = format!("@/etc/sandpiper/{name}");
        assert!(page.contains(&path), "{path}");
    }
    let root = tempfile::tempdir().unwrap();
    let path = |path: &str| root.path().join(path);
    // It finds no other program, and no file of this machine.
    fs::create_dir(path("bin")).unwrap();
    symlink("/bin/rmdir", path("bin/rmdir")).unwrap();
    // The data folder is a mount, which rm empties and cannot remove.
    let rm = "#!/bin/sh\n/bin/rm \"$@\" || exit\n\
              case $* in *var/lib/sandpiper*) exit 1 ;; esac\n";
    fs::write(path("bin/rm"), rm).unwrap();
    fs::set_permissions(path("bin/rm"), Permissions::from_mode(0o755)).unwrap();
    let script = read("packaging/debian/postrm");
    let script = script.replace(" /", &format!(" {}/", root.path().display()));
    let downloads = path("etc/default/sandpiper-images");
    let purge = |kept: &[&str]| {
        fs::create_dir_all(path("etc/sandpiper")).unwrap();
        fs::create_dir_all(path("etc/default")).unwrap();
        fs::write(&downloads, "").unwrap();
        for name in urls.iter().chain(kept) {
            fs::write(path("etc/sandpiper").join(name), "").unwrap();
        }
        let purged = Command::new("/bin/sh")
            .args(["-c", &script, "postrm", "purge"])
            .env("PATH", path("bin"))
            .output()
            .unwrap();
        assert!(purged.status.success(), "{purged:?}");
        assert!(!downloads.exists());
        let left = fs::read_dir(path("etc/sandpiper"));
        let left = left.into_iter().flatten();
        left.map(|it| it.unwrap().file_name()).collect::<Vec<_>>()
    };
    assert_eq!(purge(&["other"]), ["other"]);
    fs::remove_file(path("etc/sandpiper/other")).unwrap();
    assert!(purge(&[]).is_empty());
    assert!(!path("etc/sandpiper").exists());
}

/// Returns the rest of each line that begins so.
fn rests(path: &str, first: &str) -> Vec<String> {
    let text = read(path);
    let lines = text.lines().map(str::trim_start);
    let rests = lines.filter_map(|line| line.strip_prefix(first));
    rests.map(|rest| rest.trim_end_matches(';').to_owned()).collect()
}

/// Returns the nodes of the fleet's files, by their addresses.
fn nodes() -> BTreeMap<String, String> {
    let servers = rests("packaging/fleet/nodes.cfg", "server ");
    let node = |server: &String| {
        let words: Vec<&str> = server.split(' ').collect();
        (words[1].to_owned(), words[0].to_owned())
    };
    let nodes: BTreeMap<_, _> = servers.iter().map(node).collect();
    assert_eq!(servers.len(), 3 * nodes.len(), "{servers:?}");
    nodes
}

/// An operator changes the nodes in all files.
#[test]
fn balancers_have_the_same_nodes() {
    let nodes = nodes();
    let retries = rests("packaging/fleet/nodes.cfg", "retries ");
    assert_eq!(retries, [(nodes.len() - 1).to_string()]);
    let number = |name: &str, first: &str| -> usize {
        let path = format!("packaging/fleet/{name}");
        rests(&path, first).concat().parse().unwrap()
    };
    assert_eq!(
        number("kubernetes/nodes.cfg", "retries ") + 1,
        number("kubernetes/nodes.yaml", "replicas: ")
    );
    // Each node has a line in three backends.
    let compose = rests("packaging/fleet/compose-nodes.cfg", "server ");
    assert_eq!(
        3 * (number("compose-nodes.cfg", "retries ") + 1),
        compose.len()
    );
    let path = "packaging/fleet/nginx.conf";
    let servers = rests(path, "server ");
    let addresses = servers.iter().filter(|server| *server != "{");
    let addresses = addresses.map(|it| it.split(' ').next().unwrap());
    let found: BTreeSet<&str> = addresses.collect();
    assert!(found.into_iter().eq(nodes.keys()), "{servers:?}");
    for (address, tag) in &nodes {
        let own =
            format!("upstream node-{tag} {{\n    server {address};\n}}\n");
        assert!(read(path).contains(&own), "{own}");
    }
}

/// The rules of the firewall have the addresses and ports of the other files.
#[test]
fn nodes_and_valkeys_are_closed_to_others() {
    let nodes = nodes();
    let nodes = nodes.keys().map(|address| address.split_once(':').unwrap());
    let (hosts, ports): (Vec<_>, BTreeSet<_>) = nodes.unzip();
    let [limits, products] = ["limits", "products"].map(|name| {
        let path = format!("packaging/fleet/{name}.conf");
        ["bind ", "port "].map(|first| rests(&path, first).concat())
    });
    let front = &limits[0];
    assert_eq!(&products[0], front);
    let closed = ["nodes", "valkey"].map(|name| {
        let path = format!("packaging/fleet/{name}.nft");
        ["ip saddr ", "tcp dport "].map(|first| rests(&path, first).concat())
    });
    let valkeys = [&limits[1], &products[1]].map(String::as_str);
    let list = |words: &[&str]| match words {
        [word] => (*word).to_owned(),
        words => format!("{{ {} }}", words.join(", ")),
    };
    let rules = |hosts: &[&str], ports: &[&str]| {
        [format!("{} accept", list(hosts)), format!("{} drop", list(ports))]
    };
    let ports: Vec<&str> = ports.into_iter().collect();
    assert_eq!(closed, [rules(&[front], &ports), rules(&hosts, &valkeys)]);
    let page = read("docs/scale.md");
    for line in [
        format!("secrets {front}:{} {front}:{}", valkeys[0], valkeys[1]),
        format!("SANDPIPER_LISTEN={}:{}", hosts[0], ports[0]),
        format!("SANDPIPER_TRUSTED_PROXY={front}"),
    ] {
        assert!(page.contains(&format!("{line}\n")), "{line}");
    }
}

/// The kernel counts queues and signals by user: those of all boxes are the service's.
/// The doctor of the pages runs as the service does.
#[test]
fn the_unit_raises_what_boxes_share() {
    for limit in ["LimitMSGQUEUE=", "LimitSIGPENDING="] {
        let path = "packaging/sandpiper.service";
        assert_eq!(rests(path, limit), ["infinity"], "{limit}");
        for path in ["docs/deploy.md", "docs/scale.md"] {
            let page = read(path);
            let doctor = page.split("sudo systemd-run --pipe").nth(1).unwrap();
            let doctor = doctor.split("\n\n").next().unwrap();
            let raised = format!(" -p {limit}infinity ");
            assert!(doctor.contains(&raised), "{path}: {doctor}");
        }
    }
}

/// Runs have 30 s to finish (`--drain-time`).
#[test]
fn whatever_stops_a_server_waits_for_its_runs() {
    let check = |path: &str, first: &str| {
        let waits = read(path);
        let waits = waits.split(first).nth(1).unwrap_or_default();
        assert!(waits.starts_with("40"), "{path}: {first}");
    };
    check("packaging/sandpiper.service", "\nTimeoutStopSec=");
    check("packaging/pod.yaml", " terminationGracePeriodSeconds: ");
    check("packaging/fleet/compose.yaml", " stop_grace_period: ");
    check("docs/deploy.md", " --detach --name sandpiper --stop-timeout ");
}

/// Neither sudo nor runuser reads the settings of the service, among which are the
/// folders of images and of what the operator adds to them.
#[test]
fn commands_on_images_have_the_settings_of_their_unit() {
    let files = rests("packaging/sandpiper-images.service", "EnvironmentFile=");
    assert_eq!(files.len(), 2);
    for path in ["docs/deploy.md", "crates/sandpiper/src/data/advice.rs"] {
        let text = read(path);
        for file in &files {
            let option = format!(" -p EnvironmentFile={file} ");
            assert!(text.contains(&option), "{path}: {option}");
        }
    }
    for path in ["docs/deploy.md", "docs/languages.md", "docs/scale.md"] {
        let page = read(path);
        assert!(!page.contains("sudo -u sandpiper"), "{path}");
        assert!(!page.contains("sudo sandpiper"), "{path}");
    }
}

/// The server, which strangers attack, has no use for the passwords of downloads.
#[test]
fn the_builder_alone_gets_the_settings_of_downloads() {
    let shared = "-/etc/default/sandpiper";
    let of = |name: &str| {
        let path = format!("packaging/{name}.service");
        rests(&path, "EnvironmentFile=")
    };
    assert_eq!(of("sandpiper"), [shared]);
    let own = "-/etc/default/sandpiper-images";
    assert_eq!(of("sandpiper-images"), [shared, own]);
    assert!(read("docs/languages.md").contains(&own[1..]));
}

/// With a hard limit of 0, a crash in a box starts the core handler of the host.
#[test]
fn units_keep_crashes_from_the_core_handler() {
    for name in ["sandpiper", "sandpiper-images"] {
        let path = format!("packaging/{name}.service");
        assert_eq!(rests(&path, "LimitCORE="), ["1"], "{path}");
    }
}
