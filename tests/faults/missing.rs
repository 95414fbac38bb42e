//! Things that are taken away while the server serves, and brought back: its
//! images, the right to make control groups, the addresses of a proxy.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use libtest_mimic::Completion;
use tempfile::TempDir;

use crate::Fault;
use crate::holdings::Holdings;
use crate::servers::{
    Bystander, Reply, Server, assert_reported, assert_serves, at_rest,
    eventually, process, python, send, sleeper, start, start_under,
};
use sandpiper_testkit::image_folder;

pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("missing/image", image),
    ("missing/all-images", all_images),
    ("missing/control-groups", control_groups),
    ("missing/own-inodes", own_inodes),
    ("missing/addresses-of-a-proxy", addresses_of_a_proxy),
];

/// Returns a data folder that contains only the operator's Python image.
struct Images {
    data: TempDir,
    images: Vec<PathBuf>,
}

impl Images {
    fn copy() -> Self {
        let data = tempfile::tempdir().unwrap();
        // A server that root starts reads it as another user.
        let readable = Permissions::from_mode(0o755);
        fs::set_permissions(data.path(), readable).unwrap();
        let folder = data.path().join("images");
        fs::create_dir(&folder).unwrap();
        let mut images = Vec::new();
        for entry in fs::read_dir(image_folder()).unwrap().flatten() {
            let own = folder.join(entry.file_name());
            let is_python =
                entry.file_name().to_string_lossy().starts_with("python-");
            if !is_python || !entry.path().join("manifest.json").exists() {
                continue;
            }
            fs::create_dir(&own).unwrap();
            fs::copy(
                entry.path().join("manifest.json"),
                own.join("manifest.json"),
            )
            .unwrap();
            symlink(entry.path().join("rootfs"), own.join("rootfs")).unwrap();
            images.push(own);
        }
        assert!(!images.is_empty(), "the images are needed: `make images`");
        Self { data, images }
    }
}

fn image() -> Completion {
    let Images { data, images } = Images::copy();
    let aside = data.path().join("aside");
    fs::create_dir(&aside).unwrap();
    let away = |image: &PathBuf| aside.join(image.file_name().unwrap());
    taken_away(
        data,
        || images.iter().for_each(|it| fs::rename(it, away(it)).unwrap()),
        || images.iter().for_each(|it| fs::rename(away(it), it).unwrap()),
    )
}

fn all_images() -> Completion {
    let Images { data, .. } = Images::copy();
    let (images, aside) =
        (data.path().join("images"), data.path().join("aside"));
    taken_away(
        data,
        || fs::rename(&images, &aside).unwrap(),
        || fs::rename(&aside, &images).unwrap(),
    )
}

/// The image is removed: a run that has begun keeps it, later ones are refused with
/// the reason, and all is well when it is back.
fn taken_away(
    data: TempDir,
    take: impl Fn(),
    bring_back: impl Fn(),
) -> Completion {
    let folder = format!("--data-dir={}", data.path().display());
    let flags = ["--languages=python", "--allow-missing-limits", &folder];
    let server = start_under(&[], &flags, Some(data));
    assert_serves(&server);
    let before = at_rest(&server);
    let beside = Bystander::start(&server, "beside", 1);
    take();
    // The engine checks images each second; until then, runs find out.
    eventually("the engine has looked", || {
        let reply = server.compile(&python("print(1)"));
        assert_reported_why(&reply, "");
        reply.text().contains("its image has not been built")
    });
    assert_eq!(server.ask("GET", "/readyz").status, 503);
    assert_eq!(server.ask("GET", "/products").status, 200);
    beside.goes_on();
    bring_back();
    eventually("the engine has looked", || {
        server.ask("GET", "/readyz").status == 200
    });
    assert_serves(&server);
    assert_eq!(at_rest(&server), before);
    Completion::Completed
}

/// Executes the rest of its arguments in its own mounts. There, `$2` contains an
/// overlay of an overlay of `$1`, and the kernel refuses a third level.
const ON_OVERLAYS: &str = r#"
    set -eu; below=$1 place=$2; shift 2
    mount -t tmpfs none "$place"; cd "$place"; mkdir first second empty
    mount -t overlay first -o "lowerdir=$below:empty" first
    mount -t overlay second -o "lowerdir=first:empty" second
    cd /; exec "$@""#;

/// The kernel refuses overlays of the images: the log says so once, and programs run.
fn own_inodes() -> Completion {
    if let Some(not_seen) = crate::needs_root() {
        return not_seen;
    }
    const LOGGED: &str = "share the inodes of their image";
    let place = tempfile::tempdir().unwrap();
    let readable = Permissions::from_mode(0o755);
    fs::set_permissions(place.path(), readable).unwrap();
    let folder = place.path().to_str().unwrap().to_owned();
    let data = format!("--data-dir={folder}/second");
    let images = image_folder();
    let starter = ["unshare", "--mount", "--propagation=private", "sh", "-c"];
    let script = [
        ON_OVERLAYS,
        "sh",
        images.parent().unwrap().to_str().unwrap(),
        &folder,
    ];
    let starter = [&starter[..], &script].concat();
    let flags = ["--languages=python", &data];
    let server = start_under(&starter, &flags, Some(place));
    assert_serves(&server);
    assert_serves(&server);
    let reports = |server: Server| {
        // The first box may be made before the server listens.
        let log = server.begun.clone() + &server.into_log();
        log.matches(LOGGED).count()
    };
    assert_eq!(reports(server), 1);
    // On an ordinary file system, boxes have overlays, and the log says nothing.
    let server = start(&[]);
    assert_serves(&server);
    assert_eq!(reports(server), 0);
    Completion::Completed
}

fn assert_reported_why(reply: &Reply, words: &str) {
    reply.assert_failure_about(503, &[words]);
    assert!(!reply.text().contains('/'), "{reply:?}");
}

/// The groups of boxes cannot be created: new runs fail, since nothing may run
/// without limits, and those that have begun go on.
fn control_groups() -> Completion {
    let server = start(&[]);
    assert_serves(&server);
    let before = at_rest(&server);
    let (file, request) = sleeper("groups");
    let run = send(&server, &request, 1);
    eventually("the program runs", || process(&server, &file).is_some());
    let held = Holdings::of(&server);
    let above = held.groups.keys().map(|group| group.parent().unwrap());
    let above: Vec<&Path> = above.collect();
    let set = |mode| {
        for folder in &above {
            let mode = Permissions::from_mode(mode);
            fs::set_permissions(folder, mode).unwrap();
        }
    };
    set(0o555);
    for turn in 0..5 {
        let reply = server.compile(&python("print(1)"));
        // The engine checks the language, too, and takes no run after that.
        if turn > 0 && reply.status == 503 {
            assert_reported_why(&reply, "cannot run here");
        } else {
            assert_reported(&reply, 500);
        }
    }
    assert!(process(&server, &file).is_some(), "the one that ran was hit");
    set(0o755);
    eventually("the engine has looked", || {
        server.ask("GET", "/readyz").status == 200
    });
    assert_serves(&server);
    drop(run);
    assert_eq!(at_rest(&server), before);
    held.await_groups_end();
    let log = server.into_log();
    assert!(log.contains("make group"), "{log}");
    Completion::Completed
}

/// Executes the rest of its arguments. There, names of hosts are those in the folder
/// `$1`.
const WITH_HOSTS: &str = r#"
    set -eu; folder=$1; shift
    for name in hosts nsswitch.conf; do
        mount --bind "$folder/$name" "/etc/$name"
    done
    exec "$@""#;

/// The name of a proxy has no address for a while, and then another one.
fn addresses_of_a_proxy() -> Completion {
    if let Some(not_seen) = crate::needs_root() {
        return not_seen;
    }
    let place = tempfile::tempdir().unwrap();
    let set = |name: &str, text: &str| {
        fs::write(place.path().join(name), text).unwrap();
    };
    set("nsswitch.conf", "hosts: files\n");
    set("hosts", "127.0.0.1 proxy.example\n");
    let folder = place.path().to_str().unwrap();
    let starter = ["unshare", "--mount", "--propagation=private", "sh", "-c"];
    let starter = [&starter[..], &[WITH_HOSTS, "sh", folder]].concat();
    // No image is here, so that another node is needed, which only a proxy can ask.
    let data = format!("--data-dir={folder}");
    let flags = [
        "--trusted-proxy=proxy.example",
        "--elsewhere-status=425",
        "--compile-rate-limit=0",
        "--allow-missing-limits",
        &data,
    ];
    let server = Server::spawn_under(&starter, &flags, None);
    let status = || server.compile(&python("print(1)")).status;
    assert_eq!(status(), 425);
    set("hosts", "");
    server.line_with("proxy.example cannot be looked up");
    assert_eq!(status(), 425, "the last addresses count");
    set("hosts", "192.0.2.7 proxy.example\n");
    eventually("the first address is no proxy's", || status() == 503);
    server.line_with("proxy.example has the addresses [192.0.2.7]");
    Completion::Completed
}
