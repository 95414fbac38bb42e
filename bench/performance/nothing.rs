//! A static program that does nothing, in a ready box over HTTP. No language
//! links statically, so a server with one more is put together here, as the
//! service's own is.

use std::collections::BTreeMap;
use std::future::pending;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandpiper_engine::languages::{Catalog, Source};
use sandpiper_engine::{
    CHECK_INTERVAL, Engine, Host, HostSettings, ImageState, Images, Limits,
    Settings, limits,
};
use sandpiper_server as http;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;

use crate::client::Asked;
use crate::floor::Floor;
use crate::itself;
use crate::row::{Bound, Row, Series, Unit};
use sandpiper_testkit::{Server, program};

const ROUNDS: usize = 100;
/// What it may take on top of starting the program.
const READY_BOX_MS: f64 = 0.5;

/// The language's name, and its image's.
pub(crate) const NAME: &str = "nothing";
/// The file that is sent: the program reads none.
const ENTRY: &str = "f";
/// The starter's entry begins with a 1, which the program prints then.
const DEFINITION: &str = r#"
name = "Nothing"
image = "nothing"

[run]
command = ["/bin/nothing", "{entry}"]

[starter]
entry = "1"
"#;

/// The root filesystem that [`crate::boxes::make_rootfs`] made.
#[derive(Debug)]
struct Rootfs(PathBuf);

impl Images for Rootfs {
    fn state(&self, _: &str) -> ImageState {
        ImageState::Ready(self.0.clone())
    }
}

/// Serves until SIGTERM. No thread may exist yet.
pub(crate) fn serve(rootfs: &Path) {
    tracing_subscriber::fmt().with_ansi(false).with_target(false).init();
    let [listener, admin] = [(); 2]
        .map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
        .map(|listener| {
            listener.set_nonblocking(true).unwrap();
            listener
        });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let settings = Settings {
        limits: Limits::default(),
        boxes: cores.max(limits::LEAST_BOXES),
        queue_length: limits::QUEUE_LENGTH,
        queue_wait: limits::QUEUE_WAIT,
        allow_missing_limits: false,
        check_interval: CHECK_INTERVAL,
        warm_memory_bytes: limits::WARM_MEMORY_BYTES,
        artifact_bytes: limits::ARTIFACTS_BYTES,
    };
    // As root, this returns in a process that is no longer root.
    let host = Host::prepare(&HostSettings {
        init: program(),
        cgroup: None,
        boxes: settings.boxes,
        besides: settings.boxes_besides(),
    });
    let images = Arc::new(Rootfs(rootfs.to_owned()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let engine = Engine::new(settings, host, catalog(), images);
        let server = http::Server::new(
            engine.clone(),
            http::Settings { compile_rate_limit: 0, ..Default::default() },
        );
        let [listener, admin] = [listener, admin]
            .map(|one| tokio::net::TcpListener::from_std(one).unwrap());
        info!("listening on http://{}", listener.local_addr().unwrap());
        info!("metrics on http://{}", admin.local_addr().unwrap());
        let mut end = signal(SignalKind::terminate()).unwrap();
        tokio::select! {
            () = server.clone().serve(vec![listener], pending(), Duration::ZERO)
                => {}
            () = server.serve_admin(admin, pending()) => {}
            _ = end.recv() => {}
        }
        engine.close().await;
    });
    runtime.shutdown_background();
}

fn catalog() -> Catalog {
    let files = [
        ("language.toml", DEFINITION),
        ("starter/1", "1\n"),
        ("starter-expected.txt", "1\n"),
    ];
    let files: BTreeMap<String, Vec<u8>> = files
        .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
        .into();
    Catalog::load([Source { id: NAME.to_owned(), files }]).unwrap()
}

/// A server that runs it, in a process of its own.
pub(crate) fn server(rootfs: &Path) -> Server {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM"]).arg(itself());
    command.arg("--serve-nothing").arg(rootfs);
    let server = Server::started(&mut command, None);
    server.wait_until_ready();
    server
}

/// What to ask the server.
pub(crate) fn request() -> String {
    serde_json::json!({
        "language": NAME,
        "entryFile": ENTRY,
        "files": [{ "path": ENTRY, "content": "\n" }],
    })
    .to_string()
}

/// The program over HTTP, beside starting it and handing it over; and HTTP
/// alone.
pub(crate) fn measure(rootfs: &Path) -> [Row; 3] {
    let floor = Floor::start(rootfs);
    let server = server(rootfs);
    let asked = Asked::of(&server);
    let request = request();
    let nothing = rootfs.join("bin/nothing");
    let mut bare = Vec::new();
    let mut ours = Vec::new();
    let mut http = Vec::new();
    let mut handed_over = Vec::new();
    // The first of each fills the host's caches.
    for _ in 0..=ROUNDS {
        asked.wait_for_box(NAME);
        let begun = Instant::now();
        let output = Command::new(&nothing).arg(ENTRY).output().unwrap();
        bare.push(begun.elapsed());
        assert!(output.status.success() && output.stdout.is_empty());
        asked.wait_for_box(NAME);
        let (stdout, time) = asked.run(&request, || ());
        ours.push(time);
        assert_eq!(stdout, "");
        asked.wait_for_box(NAME);
        http.push(asked.get("/healthz", || ()));
        let rest = || asked.wait_for_box(NAME);
        handed_over.push(floor.run_in_ready_box(rest));
    }
    let row = Row {
        name: "a program that does nothing, box ready".to_owned(),
        unit: Unit::Milliseconds,
        ours: Series::of_times("over HTTP", &ours[1..]),
        other: Some(Series::of_times("fork and exec", &bare[1..])),
        bound: Bound::More(READY_BOX_MS),
    };
    let alone = Series::of_times("the hand-overs, in C", &handed_over[1..]);
    let beside_floor =
        Row { other: Some(alone), bound: Bound::Nothing, ..row.clone() };
    let http = Row {
        name: "of it, HTTP".to_owned(),
        ours: Series::of_times("/healthz", &http[1..]),
        other: None,
        bound: Bound::Nothing,
        ..row.clone()
    };
    [row, beside_floor, http]
}
