//! Hello world over HTTP, against the stock command of the same image without
//! a sandbox, in turns in one run; and what a million lines cost, where ours
//! are handed over line by line.
//!
//! ```text
//! make bench        (or: cargo bench -p sandpiper --bench hello; needs images)
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

#[path = "../tests/api/reply.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more")]
mod reply;
#[path = "../tests/api/server.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more")]
mod server;

use server::Server;

const ADDRESS: &str = "SANDPIPER_BENCH_ADDRESS";
const IMAGES: &str = "SANDPIPER_BENCH_IMAGES";

/// A program and how a person would run it in the image.
struct Sample {
    name: &'static str,
    language: &'static str,
    image: &'static str,
    file: &'static str,
    source: &'static str,
    /// A line for sh, in the folder of the file.
    stock: &'static str,
    rounds: usize,
}

const SAMPLES: [Sample; 6] = [
    Sample {
        name: "python hello",
        language: "python",
        image: "python",
        file: "f.py",
        source: "print('hello')\n",
        stock: "exec python3 f.py",
        rounds: 40,
    },
    Sample {
        name: "c hello",
        language: "c",
        image: "native",
        file: "f.c",
        source: "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n",
        stock: "gcc -O1 f.c -o f && exec ./f",
        rounds: 30,
    },
    Sample {
        name: "cpp hello, <iostream>",
        language: "cpp",
        image: "native",
        file: "f.cpp",
        source: "#include <iostream>\n\
                 int main() { std::cout << \"hello\\n\"; }\n",
        stock: "g++ -O1 f.cpp -o f && exec ./f",
        rounds: 10,
    },
    Sample {
        name: "cpp hello, <bits/stdc++.h>",
        language: "cpp",
        image: "native",
        file: "f.cpp",
        source: "#include <bits/stdc++.h>\n\
                 int main() { std::cout << \"hello\\n\"; }\n",
        stock: "g++ -O1 f.cpp -o f && exec ./f",
        rounds: 5,
    },
    Sample {
        name: "c, a million lines",
        language: "c",
        image: "native",
        file: "f.c",
        source: "#include <stdio.h>\nint main(void) {\n\
                 for (int i = 0; i < 1000000; i++) printf(\"%d\\n\", i);\n}\n",
        stock: "gcc -O1 f.c -o f && exec ./f",
        rounds: 5,
    },
    Sample {
        name: "python, a million lines",
        language: "python",
        image: "python",
        file: "f.py",
        source: "for i in range(1000000): print(i)\n",
        stock: "exec python3 f.py",
        rounds: 5,
    },
];

fn main() {
    if let Some(address) = std::env::var_os(ADDRESS) {
        let address = address.to_str().unwrap().parse().unwrap();
        let images = std::env::var_os(IMAGES).unwrap();
        SAMPLES.iter().for_each(|s| measure(s, address, Path::new(&images)));
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
        .env(ADDRESS, server.address.to_string())
        .env(IMAGES, image_folder())
        .status();
    assert!(status.unwrap().success());
}

/// Where the images are, as `sandpiper` itself decides it.
fn image_folder() -> PathBuf {
    let data = std::env::var_os("SANDPIPER_DATA_DIR").map_or_else(
        || {
            let home = std::env::var_os("HOME").unwrap_or_default();
            let root = rustix::process::geteuid().is_root();
            if root {
                PathBuf::from("/var/lib/sandpiper")
            } else {
                Path::new(&home).join(".local/share/sandpiper")
            }
        },
        PathBuf::from,
    );
    data.join("images")
}

fn measure(sample: &Sample, address: SocketAddr, images: &Path) {
    let rootfs = rootfs(images, sample.image);
    let folder = rootfs.join("tmp");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "tmpfs"])
        .arg(&folder)
        .status();
    assert!(mounted.unwrap().success());
    fs::write(folder.join(sample.file), sample.source).unwrap();
    let mut bare = Vec::new();
    let mut ours = Vec::new();
    for _ in 0..sample.rounds {
        bare.push(time(|| run_stock(sample, &rootfs)));
        ours.push(time(|| run_over_http(sample, address)));
    }
    let unmounted = Command::new("umount").arg(&folder).status();
    assert!(unmounted.unwrap().success());
    let (bare, ours) = (median(&mut bare), median(&mut ours));
    println!(
        "{:<28} stock {bare:>8.1} ms   over HTTP {ours:>8.1} ms   {:.2} x",
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
    let script = format!("cd /tmp && {}", sample.stock);
    // The output is read, as ours is.
    let output = Command::new("chroot")
        .arg(rootfs)
        .args(["/bin/sh", "-c", &script])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(!output.stdout.is_empty());
}

fn run_over_http(sample: &Sample, address: SocketAddr) {
    let request = serde_json::json!({
        "language": sample.language,
        "entryFile": sample.file,
        "files": [{"path": sample.file, "content": sample.source}],
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
