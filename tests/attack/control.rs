//! Programs run elsewhere than on a server: bare on the host, where an attack
//! can succeed, and by `sandpiper run`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use sandpiper_testkit::text::{Values, fill};
use serde::Deserialize;

use crate::image;
use crate::servers::program;
use crate::source::{Ending, Source};

/// The same program in a place in which it succeeds. It shows that success is
/// seen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Control {
    #[serde(default)]
    pub(crate) on: Place,
    /// Values in place of the attack's.
    #[serde(default)]
    pub(crate) set: Values,
    /// Why it may fail on a host as it should be; that is then said aloud.
    pub(crate) unless: Option<String>,
    entry: Option<String>,
    /// The script for `sh` in the image; `image_words.sh` has more.
    run: Option<String>,
    /// Files more, or in place of the attack's.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Place {
    /// A box as the attack's, with something in it that may be reached.
    #[default]
    Box,
    /// The host, as whoever runs these tests.
    Host,
    /// Namespaces of its own on the host, as their root, for programs that
    /// would harm the host elsewhere.
    Namespace,
    /// The language's image, entered in such namespaces: its toolchain, free
    /// to do what it is kept from in a box.
    Image,
}

/// It could be one that never ends.
const TIMEOUT: [&str; 2] = ["--kill-after=5", "120"];

/// Namespaces whose processes all end with the first.
const NAMESPACES: [&str; 10] = [
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "--net",
    "--ipc",
    "--uts",
    "--pid",
    "--fork",
    "--kill-child",
];

/// Runs the writer beside the attack, in one box: there they meet. It has
/// written before the attack begins, which could else find a half of it.
const BOTH: (&str, &str) = (
    "both.py",
    "import subprocess, sys\n\
     writer = [sys.executable, '-u', 'writer.py']\n\
     writer = subprocess.Popen(writer, stdout=subprocess.PIPE)\n\
     writer.stdout.readline()\n\
     if '@when@' == 'before': writer.wait()\n\
     subprocess.run([sys.executable, 'reader.py'])\n\
     writer.kill()\n",
);

impl Control {
    /// Returns the script for the image, with its places filled.
    pub(crate) fn script(&self, values: &Values) -> Result<String, String> {
        let script = self.run.as_ref().ok_or("an image needs a `run`")?;
        fill(script, values)
    }

    /// The attack's program with what the control has otherwise; the writer's
    /// files are in it, too.
    pub(crate) fn source(
        &self,
        attack: &Source,
        writer: Option<&Source>,
    ) -> Source {
        let mut source = attack.clone();
        if let Some(writer) = writer {
            source.files.extend(writer.files.clone());
        }
        if writer.is_some() && self.entry.is_none() {
            source.entry = Some(BOTH.0.to_owned());
            source.files.insert(BOTH.0.to_owned(), BOTH.1.to_owned());
        }
        source.files.extend(self.files.clone());
        source.entry = self.entry.clone().or(source.entry);
        source
    }
}

/// Runs a program bare, as a service would that takes no care.
pub(crate) fn bare(
    language: &str,
    source: &Source,
    place: Place,
) -> Result<Ending, String> {
    let folder = written(source)?;
    let entry = source.entry()?;
    let command: Vec<&str> = match language {
        "c" => {
            let mut compiler = vec!["-w", "-O1", "-pthread", "-o", "program"];
            let files = source.files.keys().map(String::as_str);
            compiler.extend(files.filter(|path| path.ends_with(".c")));
            let built = run(folder.path(), "cc", &compiler, "")?;
            if built.exit != "0" {
                return Ok(built);
            }
            vec!["./program"]
        }
        "python" => vec!["python3", entry],
        _ => return Err(format!("{language} does not run on the host")),
    };
    let mut arguments = TIMEOUT.to_vec();
    if matches!(place, Place::Namespace) {
        arguments.extend(NAMESPACES);
        arguments.extend(["--mount-proc", "--"]);
    }
    arguments.extend(command);
    run(folder.path(), "timeout", &arguments, &source.stdin)
}

/// Runs what a control has for the image of its language.
pub(crate) fn in_image(
    language: &str,
    source: &Source,
    script: &str,
) -> Result<Ending, String> {
    let folder = written(source)?;
    let rootfs = image::rootfs(language)?;
    let rootfs = rootfs.to_str().ok_or("an image's path is no text")?;
    let script = format!("{}{script}", image::WORDS);
    let mut arguments = TIMEOUT.to_vec();
    arguments.extend(NAMESPACES);
    arguments.extend(["--", "sh", "-c", image::ENTER, "sh", rootfs, &script]);
    run(folder.path(), "timeout", &arguments, &source.stdin)
}

/// Runs a program by `sandpiper run`.
pub(crate) fn command(
    language: &str,
    source: &Source,
) -> Result<Ending, String> {
    let folder = written(source)?;
    let mut arguments = vec!["run", "--language", language];
    arguments.extend(["--entry", source.entry()?, "--"]);
    arguments.extend(source.files.keys().map(String::as_str));
    run(folder.path(), program(), &arguments, &source.stdin)
}

/// The exit code of `sandpiper run` for an end that the header describes so.
pub(crate) fn exit_code(header: &str) -> String {
    let (_, end) = header.split_once("; ").unwrap_or_default();
    let code = match end.split_once('=') {
        Some(("code", code)) => code,
        Some(("limit", "time" | "cpu")) => "124",
        Some(("limit", _)) | Some(("signal", "SIGKILL")) => "137",
        Some(("signal", "SIGSEGV")) => "139",
        Some(("signal", "SIGSYS")) => "159",
        _ => "unknown",
    };
    code.to_owned()
}

/// A folder with the files of a program.
fn written(source: &Source) -> Result<tempfile::TempDir, String> {
    let write = || {
        let folder = tempfile::tempdir()?;
        for (path, text) in &source.files {
            let path = folder.path().join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, text)?;
        }
        Ok(folder)
    };
    write().map_err(|error: std::io::Error| error.to_string())
}

fn run(
    folder: &Path,
    program: impl AsRef<OsStr>,
    arguments: &[&str],
    stdin: &str,
) -> Result<Ending, String> {
    let run = || {
        let mut child = Command::new(&program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().unwrap();
        // It may end without having read it.
        let _ = input.write_all(stdin.as_bytes());
        drop(input);
        child.wait_with_output()
    };
    let output =
        run().map_err(|error| format!("{:?}: {error}", program.as_ref()))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = output.status.code();
    Ok(Ending {
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        exit: code.map_or("none".to_owned(), |code| code.to_string()),
    })
}
