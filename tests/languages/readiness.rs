//! Languages that break while the server runs, and recover: `/readyz` and
//! `/api/compile` report it, on an image of the test's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::Case;
use crate::service::{Reply, Server, compile};
use sandpiper_testkit::eventually;
use sandpiper_testkit::image;

/// A data folder with PHP's image alone, of links to the operator's files.
struct Image {
    data: TempDir,
    /// The file that every run of PHP starts with.
    launcher: PathBuf,
}

impl Image {
    fn copied() -> Self {
        let image = image("php");
        let all = image.parent().unwrap();
        let name = image.file_name().unwrap();
        // On the same filesystem, for the links.
        let data = tempfile::tempdir_in(all.parent().unwrap()).unwrap();
        // The server becomes another user.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(data.path(), open).unwrap();
        let images = data.path().join("images");
        fs::create_dir(&images).unwrap();
        let copied = Command::new("cp")
            .args(["--archive", "--link"])
            .args([&image, &images.join(name)])
            .status()
            .unwrap();
        assert!(copied.success());
        let launcher = images.join(name).join("rootfs/opt/sandpiper/php");
        assert!(launcher.is_file());
        Self { data, launcher }
    }

    /// The link goes, or comes back; the file is the operator's too.
    fn set_broken(&self, broken: bool) {
        let away = self.launcher.with_extension("away");
        let (from, to) = match broken {
            true => (&self.launcher, &away),
            false => (&away, &self.launcher),
        };
        fs::rename(from, to).unwrap();
    }

    fn serve(&self, check_interval: &str) -> Server {
        let folder = self.data.path().to_str().unwrap();
        // A box that was made ahead has what the image had then.
        let flags =
            ["--languages=php", "--compile-rate-limit=0", "--warm-memory=0"];
        let own = ["--data-dir", folder, "--check-interval", check_interval];
        let server = Server::spawn(&[&flags[..], &own].concat(), None);
        server.wait_until_ready();
        server
    }
}

/// Returns the entry of PHP in `/readyz`.
fn php(server: &Server) -> Value {
    let answer = server.ask("GET", "/readyz");
    let report = answer.json();
    let language = report["languages"][0].clone();
    let is_ready = language["state"] == "ready";
    assert_eq!(answer.status, if is_ready { 200 } else { 503 }, "{report}");
    assert_eq!(report.get("error").is_none(), is_ready, "{report}");
    language
}

fn age_ms(language: &Value, name: &str) -> u64 {
    language[name].as_u64().expect(name)
}

/// Whether something ran correctly since the language is in its state.
fn has_new_success(server: &Server) -> bool {
    let php = php(server);
    age_ms(&php, "proof_age_ms") < age_ms(&php, "state_age_ms")
}

fn ask(server: &Server, source: &str) -> Reply {
    let request = Case::new("php", &[("m.php", source)]).request();
    server.compile(&request)
}

fn runs(server: &Server) {
    let case = Case::new("php", &[("m.php", "<?php echo 6 * 7, \"\\n\";")]);
    compile(server, &case.request()).prints("42\n");
}

/// It is broken: both paths say so, and why.
fn is_reported(server: &Server) {
    eventually("it is broken", || php(server)["state"] == "broken");
    let php = php(server);
    assert!(
        age_ms(&php, "proof_age_ms") >= age_ms(&php, "state_age_ms"),
        "{php}"
    );
    let why = php["reason"].as_str().expect("a reason");
    ask(server, "").assert_failure_about(503, &["PHP cannot run here", why]);
}

#[test]
#[ignore = "needs the images: make test"]
fn a_language_is_checked_again_and_again() {
    let image = Image::copied();
    let server = image.serve("100ms");
    eventually("it is checked again", || has_new_success(&server));
    // Nobody asks for a run.
    image.set_broken(true);
    is_reported(&server);
    image.set_broken(false);
    eventually("it is ready", || php(&server)["state"] == "ready");
    runs(&server);
}

#[test]
#[ignore = "needs the images: make test"]
fn runs_tell_what_a_language_can() {
    let image = Image::copied();
    let server = image.serve("24h");
    assert_eq!(ask(&server, "<?php exit(3);").status, 200);
    assert!(!has_new_success(&server), "exit code 3 is no success");
    runs(&server);
    assert!(has_new_success(&server), "exit code 0 is a success");
    // The next run finds out, and the next check is not a day away.
    image.set_broken(true);
    let failed = ask(&server, "");
    failed.assert_failure(500, "internal error");
    is_reported(&server);
    let shown = server.metrics().values;
    let run = "sandpiper_runs_total{language=\"php\",outcome=\"failed\"}";
    assert_eq!(shown.get(run), Some(&1.0));
    let ready = "sandpiper_language_ready{language=\"php\"}";
    assert_eq!(shown.get(ready), Some(&0.0));
    image.set_broken(false);
    eventually("it is ready", || php(&server)["state"] == "ready");
    assert_eq!(server.metrics().values.get(ready), Some(&1.0));
    runs(&server);
    // The sandbox's line about that run has the id that its client has.
    let id = failed.header("x-request-id").expect("an id").to_owned();
    let log = server.into_log();
    let logged = |level: &str, words: &str| {
        let mut lines = log.lines().filter(|line| line.contains(&id));
        lines.any(|line| line.contains(level) && line.contains(words))
    };
    assert!(logged("ERROR", "the sandbox failed"), "{log}");
    assert!(logged("INFO", "outcome=\"failed\""), "{log}");
}
