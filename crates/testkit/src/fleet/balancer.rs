//! The balancers in front of nodes, with the packaged configuration.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::{Reply, begin, engine, eventually};

use super::node::Node;
use super::process::{Process, free};

const HAPROXY: &str = include_str!("../../../../packaging/fleet/haproxy.cfg");
const NODES: &str = include_str!("../../../../packaging/fleet/nodes.cfg");
const NGINX: &str = include_str!("../../../../packaging/fleet/nginx.conf");

/// The file that has the packaged one in it, as nginx.conf of Debian has.
const NGINX_MAIN: &str = "
daemon off;
master_process off;
pid nginx.pid;
events { }
http {
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include sandpiper.conf;
}
";

/// An HAProxy.
#[derive(Debug)]
pub struct HaProxy {
    /// The address of the service.
    pub address: SocketAddr,
    /// The address of its metrics.
    metrics: SocketAddr,
    folder: PathBuf,
    process: Process,
}

impl HaProxy {
    /// Starts an HAProxy in front of these nodes, each with its tag.
    pub fn start(folder: PathBuf, nodes: &[Node]) -> Self {
        Self::start_with(folder, nodes, &[])
    }

    /// Starts one whose clients say in a line of the PROXY protocol which address
    /// they have.
    pub fn start_with_proxy_protocol(folder: PathBuf, nodes: &[Node]) -> Self {
        let bind = "bind :::8080 v4v6";
        let taken = format!("{bind} accept-proxy");
        Self::start_with(folder, nodes, &[(bind, &taken)])
    }

    /// Starts one with these words of its configuration replaced.
    pub fn start_with(
        folder: PathBuf,
        nodes: &[Node],
        words: &[(&str, &str)],
    ) -> Self {
        fs::create_dir(&folder).unwrap();
        let (address, metrics) = (free(), free());
        let times = ["timeout client 60s", "timeout server 60s"];
        let text = replaced(
            &patient(HAPROXY, &times, words),
            &[
                ("bind :::8080 v4v6", &format!("bind {address}")),
                ("bind 127.0.0.1:8405", &format!("bind {metrics}")),
            ],
        );
        fs::write(folder.join("haproxy.cfg"), text).unwrap();
        fs::write(folder.join("nodes.cfg"), servers(nodes)).unwrap();
        let mut haproxy =
            Self { address, metrics, process: spawn(&folder), folder };
        haproxy.process.wait(address);
        haproxy
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again after it was killed.
    pub fn restart(&mut self) {
        self.process = spawn(&self.folder);
        self.process.wait(self.address);
    }

    /// Waits until it has found out whether this node answers.
    pub fn wait_until(&self, node: &str, is_up: bool) {
        let state = if is_up { "UP" } else { "DOWN" };
        let line = format!(
            "haproxy_server_status{{proxy=\"nodes\",server=\"{node}\",\
             state=\"{state}\"}} 1"
        );
        eventually(&line, || self.shows(&line));
    }

    /// Returns whether this node has one request of a client.
    pub fn has_request(&self, node: &str) -> bool {
        self.shows(&format!(
            "haproxy_server_current_sessions{{proxy=\"nodes\",\
             server=\"{node}\"}} 1"
        ))
    }

    /// Returns its log so far.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Returns whether its metrics have this line.
    fn shows(&self, line: &str) -> bool {
        let mut stream = begin(self.metrics, "GET", "/metrics", &[], "");
        let reply = Reply::read(&mut stream);
        reply.text().lines().any(|it| it == line)
    }
}

fn spawn(folder: &Path) -> Process {
    let mut command = engine("haproxy");
    command.arg("-db").arg("-f").arg(folder.join("haproxy.cfg"));
    command.arg("-f").arg(folder.join("nodes.cfg"));
    Process::start(&mut command, folder.join("log"))
}

/// Returns the packaged list of nodes with these in it: each backend has one line
/// for each node, in the form of its first.
fn servers(nodes: &[Node]) -> String {
    let mut text = String::new();
    let mut is_first = true;
    let retries = format!("retries {}", nodes.len() - 1);
    let packaged = replaced(NODES, &[("retries 1", &retries)]);
    for line in packaged.lines() {
        let Some(server) = line.strip_prefix("    server ") else {
            is_first |= line.starts_with("backend ");
            text += &format!("{line}\n");
            continue;
        };
        if !std::mem::take(&mut is_first) {
            continue;
        }
        let options: Vec<_> = server.split(' ').skip(2).collect();
        for Node { tag, address, .. } in nodes {
            text +=
                &format!("    server {tag} {address} {}\n", options.join(" "));
        }
    }
    text
}

/// An nginx.
#[derive(Debug)]
pub struct Nginx {
    /// The address of the service.
    pub address: SocketAddr,
    folder: PathBuf,
    process: Process,
}

impl Nginx {
    /// Starts an nginx in front of these nodes.
    pub fn start(folder: PathBuf, nodes: &[Node]) -> Self {
        Self::start_with(folder, nodes, &[])
    }

    /// Starts one with these words of its configuration replaced.
    pub fn start_with(
        folder: PathBuf,
        nodes: &[Node],
        words: &[(&str, &str)],
    ) -> Self {
        fs::create_dir(&folder).unwrap();
        let address = free();
        let listen = "listen [::]:8080 ipv6only=off";
        let own = format!("listen {address}");
        let log = "/var/log/nginx/access.log";
        let text = &[(listen, own.as_str()), (log, "access.log")];
        let text = replaced(&upstreams(nodes), text);
        let times =
            ["proxy_read_timeout 60s", "proxy_next_upstream_timeout 50s"];
        let text = patient(&text, &times, words);
        fs::write(folder.join("sandpiper.conf"), text).unwrap();
        fs::write(folder.join("nginx.conf"), NGINX_MAIN).unwrap();
        let mut nginx = Self { address, process: spawn_nginx(&folder), folder };
        nginx.process.wait(address);
        nginx
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again after it was killed.
    pub fn restart(&mut self) {
        self.process = spawn_nginx(&self.folder);
        self.process.wait(self.address);
    }

    /// Returns its logs of errors and of requests so far.
    pub fn log(&self) -> String {
        let requests = fs::read_to_string(self.folder.join("access.log"));
        self.process.log() + &requests.unwrap()
    }
}

/// The lines of nginx.conf for each node, one node after the other.
const OF_NODES: [&str; 4] = [
    "    server ADDRESS weight=4 max_fails=0;\n",
    "    server ADDRESS max_fails=0;\n",
    "upstream node-TAG {\n    server ADDRESS;\n}\n",
    "    ~^/api/run/TAG-  node-TAG;\n",
];

/// Returns the packaged configuration of nginx with these nodes in it.
fn upstreams(nodes: &[Node]) -> String {
    let packaged = [("a", "10.0.0.11:8080"), ("b", "10.0.0.12:8080")];
    let mut text = NGINX.to_owned();
    for part in OF_NODES {
        let of = |tag: &str, address: &str| {
            part.replace("TAG", tag).replace("ADDRESS", address)
        };
        let old = packaged.map(|(tag, address)| of(tag, address)).concat();
        let new = nodes.iter().map(|it| of(&it.tag, &it.address.to_string()));
        text = replaced(&text, &[(&old, &new.collect::<String>())]);
    }
    text
}

fn spawn_nginx(folder: &Path) -> Process {
    let mut command = engine("nginx");
    command.args(["-e", "stderr", "-p"]).arg(folder);
    command.args(["-c", "nginx.conf"]);
    Process::start(&mut command, folder.join("log"))
}

/// Returns the packaged text with these words replaced. These times are ten times as
/// long, if the words do not replace them: on a busy machine nothing is to end by its
/// time.
fn patient(packaged: &str, times: &[&str], words: &[(&str, &str)]) -> String {
    let mut text = replaced(packaged, words);
    for time in times {
        assert!(packaged.contains(time), "the configuration lacks {time:?}");
        text = text.replace(time, &time.replace("0s", "00s"));
    }
    text
}

/// Returns the text with each of these words replaced, which must be there.
fn replaced(text: &str, words: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (word, other) in words {
        assert!(text.contains(word), "the configuration lacks {word:?}");
        text = text.replace(word, other);
    }
    text
}
