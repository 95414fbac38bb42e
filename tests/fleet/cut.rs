//! Cables are cut: that of a node, and the one between a node and a Valkey. The node
//! has a network namespace of its own, so only root can run these.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Completion;
use sandpiper_testkit::{Reply, eventually};
use serde_json::json;
use tempfile::TempDir;

use crate::balancer::HaProxy;
use crate::client::{Client, ask_again, printed, prints, read, waits, word};
use crate::dispatch::RUNS;
use crate::fleet::usual;
use crate::limits::UP;
use crate::node::{Node, NodeCommand};
use crate::valkey::Valkey;

/// A test, which is ignored unless root runs it.
type Test = fn() -> Completion;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("cut/node-from-balancer", node_from_balancer),
    ("cut/between-requests", between_requests),
    ("cut/node-from-valkey", node_from_valkey),
];

/// After this time of silence the packaged balancer gives up a node.
const SERVER_TIMEOUT: Duration = Duration::from_secs(60);
/// Addresses that are for tests of networks.
const NETWORK: &str = "198.18.0.0/15";

/// A network namespace, which goes with its cables when this is dropped.
struct Namespace {
    process: Child,
}

impl Namespace {
    fn new() -> Self {
        let mut process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare", "--net"])
            .args(["sh", "-c", "echo; exec sleep 1000000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The namespace is there when it writes.
        let mut ready = process.stdout.take().unwrap();
        ready.read_exact(&mut [0]).unwrap();
        Self { process }
    }

    /// Returns the command that starts programs in the namespace.
    fn starter(&self) -> Vec<String> {
        let path = format!("--net=/proc/{}/ns/net", self.process.id());
        vec!["nsenter".to_owned(), path]
    }

    /// Returns whether the kernel still sends bytes of closed connections there.
    fn sends_after_close(&self, to: Ipv4Addr) -> bool {
        const FIN_WAIT1: &str = "04";
        let path = format!("/proc/{}/net/tcp", self.process.id());
        let to = format!("{:08X}:", u32::from_ne_bytes(to.octets()));
        std::fs::read_to_string(path).unwrap().lines().any(|socket| {
            let mut fields = socket.split_whitespace().skip(2);
            let is_there = fields.next().is_some_and(|it| it.starts_with(&to));
            is_there && fields.next() == Some(FIN_WAIT1)
        })
    }

    /// Returns a cable between the host and the namespace.
    fn cable(&self) -> Cable {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Of two runs of this suite, each has its own.
        let group = std::process::id() % (1 << 11);
        let network = 0xc612_0000 | group << 6 | number << 2;
        let [near, far] =
            [1, 2].map(|host| Ipv4Addr::from_bits(network | host));
        let name = format!("sandpiper{group:x}-{number}");
        let namespace = self.process.id();
        let ends = [
            format!("link add {name} type veth peer {name} netns {namespace}"),
            format!("address add {near}/30 dev {name}"),
            format!("link set {name} up"),
        ];
        ends.iter().for_each(|words| ip(&[], words));
        let inside = self.starter();
        ip(&inside, &format!("address add {far}/30 dev {name}"));
        let cable = Cable { name, inside, near, far };
        cable.set("up");
        cable
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A cable, and the addresses of its ends.
struct Cable {
    name: String,
    /// The command that starts programs at its far end.
    inside: Vec<String>,
    near: Ipv4Addr,
    far: Ipv4Addr,
}

impl Cable {
    /// Cuts the cable (`down`), or repairs it (`up`).
    fn set(&self, state: &str) {
        ip(&self.inside, &format!("link set {} {state}", self.name));
    }
}

fn ip(starter: &[String], words: &str) {
    let mut all = starter.to_vec();
    all.push("ip".to_owned());
    all.extend(words.split(' ').map(str::to_owned));
    let status = Command::new(&all[0]).args(&all[1..]).status();
    assert!(status.unwrap().success(), "{all:?}");
}

/// Starts a node on the host, and one at the far end of the cable.
fn nodes(cable: &Cable, flags: &[&str]) -> [Node; 2] {
    let proxy = format!("--trusted-proxy={NETWORK}");
    let flags = usual(&[flags, &[&proxy]].concat());
    let near = NodeCommand::with(flags.clone());
    let far = NodeCommand {
        starter: cable.inside.clone(),
        address: SocketAddr::from((cable.far, 8080)),
        ..NodeCommand::with(flags)
    };
    [Node::start("near", near), Node::start("far", far)]
}

/// A service of two nodes, one of which is at the far end of a cable.
struct CableFleet {
    // They end in this order.
    balancer: HaProxy,
    nodes: [Node; 2],
    cable: Cable,
    _namespace: Namespace,
    _folder: TempDir,
}

impl CableFleet {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let namespace = Namespace::new();
        let cable = namespace.cable();
        let nodes = nodes(&cable, &["--compile-rate-limit=0"]);
        let balancer = HaProxy::start(folder.path().join("h"), &nodes);
        Self { balancer, nodes, cable, _namespace: namespace, _folder: folder }
    }
}

/// Returns the reason for which a test is ignored unless root runs it.
fn needs_root() -> Option<Completion> {
    let is_root = rustix::process::geteuid().is_root();
    (!is_root).then(|| Completion::ignored_with("needs root"))
}

/// The runs of a node that answers no longer begin again on another.
fn node_from_balancer() -> Completion {
    if let Some(ignored) = needs_root() {
        return ignored;
    }
    let service = CableFleet::start();
    let CableFleet { balancer, nodes, cable, .. } = &service;
    let to = balancer.address;
    let names = [word(), word()];
    let mut runs =
        names.clone().map(|name| Client::new().begin_run(to, &waits(&name)));
    let at = |node: &Node, name: &str| node.waiting(name).is_some();
    eventually("each node has a run", || {
        let has = |node| names.iter().filter(|name| at(node, name)).count();
        has(&nodes[0]) == 1 && has(&nodes[1]) == 1
    });
    cable.set("down");
    let cut = Instant::now();
    eventually("one node has both runs", || {
        names.iter().all(|name| at(&nodes[0], name))
    });
    let elapsed = cut.elapsed();
    println!("began elsewhere {:.1} s after the cut", elapsed.as_secs_f64());
    // Its keepalives take 5 s on any machine. A busy one may need some more to begin
    // the run, but not so much.
    assert!(elapsed < SERVER_TIMEOUT / 2, "{elapsed:?}");
    for (name, stream) in names.iter().zip(&mut runs) {
        nodes[0].release(name);
        let reply = read(stream).unwrap();
        assert!(printed(&reply, name), "{reply:?}");
    }
    balancer.wait_until("far", false);
    cable.set("up");
    balancer.wait_until("far", true);
    for number in 0..6 {
        let word = word();
        let reply = Client::new().run(to, &prints(&word, number));
        assert!(printed(&reply, &word), "{reply:?}");
    }
    Completion::Completed
}

/// The next requests on connections that clients keep have answers.
fn between_requests() -> Completion {
    if let Some(ignored) = needs_root() {
        return ignored;
    }
    let service = CableFleet::start();
    let CableFleet { balancer, nodes, cable, .. } = &service;
    let mut kept: Vec<TcpStream> =
        (0..4).map(|_| Client::new().keep(balancer.address)).collect();
    let mut ask_all = || {
        for stream in &mut kept {
            let word = word();
            let reply = ask_again(stream, &prints(&word, 0));
            assert!(printed(&reply, &word), "{reply:?}");
        }
    };
    ask_all();
    let runs = nodes.each_ref().map(|node| node.count(RUNS));
    assert!(!runs.contains(&0), "{runs:?}");
    cable.set("down");
    ask_all();
    Completion::Completed
}

/// The node goes on by itself, but for the catalogue. The other node is the same.
fn node_from_valkey() -> Completion {
    if let Some(ignored) = needs_root() {
        return ignored;
    }
    let namespace = Namespace::new();
    let (to_balancer, to_valkey) = (namespace.cable(), namespace.cable());
    // Both parts are in one Valkey.
    let valkey = Valkey::start_at(to_valkey.near, false);
    let url = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&url, valkey.url()).unwrap();
    let [limits, products] = ["limits", "products"]
        .map(|part| format!("--shared-{part}=@{}", url.path().display()));
    let [near, far] = nodes(&to_balancer, &[&limits, &products]);
    let create = |node: &Node| {
        let body = json!({"name": "tea"}).to_string();
        node.server().send("POST", "/products", &[], body)
    };
    let created = |reply: Reply, id: u64| {
        let body = format!(r#"{{"id":{id},"name":"tea","price":0}}"#);
        reply.assert_json(201, &body);
    };
    let run = |node: &Node| {
        let word = word();
        let reply = node.server().compile(&prints(&word, 0));
        assert!(printed(&reply, &word), "{reply:?}");
    };
    let ups = [UP.to_owned(), UP.replace("limits", "products")];
    let wait = |count: usize| {
        for up in &ups {
            let is_so =
                || [&near, &far].map(|node| node.count(up)) == [1, count];
            eventually("the far node reaches the Valkey, or not", is_so);
        }
    };
    wait(1);
    created(create(&far), 1);
    to_valkey.set("down");
    for _ in 0..2 {
        run(&far);
        let reply = create(&far);
        reply.assert_failure_about(503, &["catalogue"]);
        assert!(reply.header("retry-after").is_some(), "{reply:?}");
    }
    created(create(&near), 2);
    run(&near);
    wait(0);
    to_valkey.set("up");
    wait(1);
    run(&far);
    // None of the two that were answered with 503 is done after that.
    eventually("nothing is sent on connections that were closed", || {
        !namespace.sends_after_close(to_valkey.near)
    });
    created(create(&far), 3);
    Completion::Completed
}
