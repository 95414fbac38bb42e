//! A program of each language over HTTP, against the bare toolchain of the same
//! image without a sandbox, in turns in one run.
//!
//! ```text
//! make bench     (or: cargo bench -p sandpiper --bench languages [-- FILTER];
//!                 needs the images)
//! ```
//!
//! Prints medians in milliseconds and their ratios; asserts nothing of them.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a failed step ends the benchmark")]
#![expect(
    clippy::disallowed_methods,
    reason = "the inner process is told by a variable where the server is"
)]

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[path = "../tests/image_folder.rs"]
mod image_folder;
#[path = "../tests/api/reply.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more")]
mod reply;
#[path = "../tests/api/server.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more")]
mod server;

use image_folder::image_folder;
use serde::Deserialize;
use server::Server;

const ADDRESS: &str = "SANDPIPER_BENCH_ADDRESS";

/// A program and how a person would run it in the image: a file of
/// bench/languages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    name: String,
    language: String,
    image: String,
    /// How often each of the two is timed.
    rounds: usize,
    file: String,
    /// `ROUND` in it is another number in every round: nothing can have been
    /// compiled before.
    source: String,
    /// A script for sh, in the folder of the file, with /proc and /dev there.
    stock: String,
}

fn main() {
    let filter = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    if let Some(address) = std::env::var_os(ADDRESS) {
        let address = address.to_str().unwrap().parse().unwrap();
        let is_chosen = |sample: &Sample| {
            filter.as_ref().is_none_or(|part| sample.name.contains(part))
        };
        for sample in samples().iter().filter(|sample| is_chosen(sample)) {
            measure(sample, address);
        }
        return;
    }
    let flags = ["--compile-rate-limit=0", "--output-size=64MiB"];
    let server = Server::spawn(&flags, None);
    server.wait_until_ready();
    // A mount namespace of its own, in which the stock commands get a /tmp
    // inside the image.
    let is_root = rustix::process::geteuid().is_root();
    let user: &[&str] =
        if is_root { &[] } else { &["--user", "--map-root-user"] };
    let status = Command::new("unshare")
        .args(user)
        .arg("--mount")
        .arg(std::env::current_exe().unwrap())
        .args(filter)
        .env(ADDRESS, server.address.to_string())
        .status();
    assert!(status.unwrap().success());
}

/// Every sample, in the order of their files' names.
fn samples() -> Vec<Sample> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/languages");
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        toml::from_str(&text).expect("a sample")
    };
    paths.iter().map(read).collect()
}

fn measure(sample: &Sample, address: SocketAddr) {
    let rootfs = rootfs(&image_folder(), &sample.image);
    let folder = rootfs.join("tmp");
    let mounts = [
        (&["-t", "tmpfs", "tmpfs"][..], "tmp"),
        (&["-t", "tmpfs", "tmpfs"], "artifacts"),
        (&["--rbind", "/proc"], "proc"),
        (&["--rbind", "/dev"], "dev"),
    ];
    for (what, on) in mounts {
        let mut mount = Command::new("mount");
        let mounted = mount.args(what).arg(rootfs.join(on)).status();
        assert!(mounted.unwrap().success());
    }
    let mut bare = Vec::new();
    let mut ours = Vec::new();
    for round in 0..sample.rounds {
        let source = |kind: &str| {
            let number = format!("{}{round}{kind}", std::process::id());
            sample.source.replace("ROUND", &number)
        };
        fs::write(folder.join(&sample.file), source("1")).unwrap();
        bare.push(time(|| run_stock(sample, &rootfs)));
        let source = source("2");
        ours.push(time(|| run_over_http(sample, &source, address)));
    }
    for (_, on) in mounts {
        let mut unmount = Command::new("umount");
        let unmounted = unmount.arg("--lazy").arg(rootfs.join(on)).status();
        assert!(unmounted.unwrap().success());
    }
    let (bare, ours) = (median(&mut bare), median(&mut ours));
    println!(
        "{:<28} bare {bare:>8.1} ms   over HTTP {ours:>8.1} ms   {:.2} x",
        sample.name,
        ours / bare
    );
}

/// The newest root filesystem of an image: the one that the server uses.
fn rootfs(images: &Path, name: &str) -> PathBuf {
    let folders = fs::read_dir(images).unwrap().flatten();
    let of_image = folders.filter(|folder| {
        let file_name = folder.file_name();
        let image = file_name.to_str().and_then(|n| n.rsplit_once('-'));
        image.is_some_and(|(image, _)| image == name)
            && folder.path().join("rootfs").is_dir()
    });
    let newest = of_image.max_by_key(|folder| {
        folder.metadata().and_then(|meta| meta.modified()).unwrap()
    });
    newest.expect("an image").path().join("rootfs")
}

fn run_stock(sample: &Sample, rootfs: &Path) {
    let script = format!("cd /tmp\n{}", sample.stock);
    // The output is read, as ours is.
    let output = Command::new("chroot")
        .arg(rootfs)
        // What a login gives.
        .args(["/usr/bin/env", "-i", "HOME=/tmp", "LANG=C.UTF-8"])
        .arg(
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        )
        .args(["/bin/sh", "-euc", &script])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!output.stdout.is_empty(), "{output:?}");
}

fn run_over_http(sample: &Sample, source: &str, address: SocketAddr) {
    let request = serde_json::json!({
        "language": sample.language,
        "entryFile": sample.file,
        "files": [{"path": sample.file, "content": source}],
    })
    .to_string();
    let mut stream = server::connect(address);
    let head = format!(
        "POST /api/compile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        request.len()
    );
    std::io::Write::write_all(&mut stream, (head + &request).as_bytes())
        .unwrap();
    let reply = reply::Reply::read(&mut stream);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("sandpiper-exit"), Some("stage=run; code=0"));
}

fn time(what: impl FnOnce()) -> Duration {
    let started = Instant::now();
    what();
    started.elapsed()
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}
