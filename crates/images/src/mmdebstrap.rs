//! One run of mmdebstrap, whose output is unpacked while it runs.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::addition::Addition;
use crate::downloads::{DownloadSettings, Downloads, ENVIRONMENT};
use crate::fault::fault;
use crate::mirror;
use crate::progress::{ImageProgress, Tracker};
use crate::recipe::{ImageDefinition, Recipe};

/// Options of dpkg that leave out files that no program needs. Licences require
/// the copyright files.
const PATH_OPTIONS: &[&str] = &[
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/lintian/*",
    "path-exclude=/usr/share/bug/*",
];

/// The start of a shell command that runs in the image with a clean environment.
const IN_IMAGE: &str = "chroot \"$1\" /usr/bin/env -i LC_ALL=C.UTF-8 \
     PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive";

/// Puts the packages of pip and npm that an operator adds in place (add.sh). It is
/// the last program in the image, as the next one could run their code.
const UNPACK_ADDITION: &str = "tar --extract --file=/build/addition.tar \
     --directory=/ --keep-directory-symlink --no-overwrite-dir";

/// The folder in which mmdebstrap makes the image of an ordinary user, if `TMPDIR`
/// names no other. `/tmp` may be in memory. The data folder may be in a home that is
/// closed to the ids of the user namespace.
const WORK_FOLDER: &str = "/var/tmp";

/// The number of log lines that an error shows.
const TAIL_LINES: usize = 20;

/// The inputs of a run.
pub(crate) struct Invocation<'a> {
    pub(crate) recipe: &'a Recipe,
    /// The lines of `sources.list`; empty for mmdebstrap's default.
    pub(crate) sources: &'a [String],
    /// The settings with which the build script downloads.
    pub(crate) settings: &'a DownloadSettings,
    pub(crate) as_root: bool,
    /// The folder with [`FILES`].
    pub(crate) scratch: &'a Path,
    /// The folder in which mmdebstrap makes the image.
    pub(crate) work: &'a Path,
    /// The empty folder for the root filesystem.
    pub(crate) rootfs: &'a Path,
}

/// The archive of the recipe's files, in the scratch folder.
pub(crate) const FILES: &str = "files.tar";

/// The folder of the recipe's version commands, during the build. Each is a
/// script named by its number, and the file `<number>.out` is its output.
pub(crate) const VERSIONS: &str = "/build/versions";

/// Why a run failed.
#[derive(Debug)]
pub(crate) struct MmdebstrapError {
    pub(crate) reason: String,
    /// The last lines of the log.
    pub(crate) tail: String,
}

/// Runs mmdebstrap to its end. Its output goes to `log`.
pub(crate) fn run(
    invocation: &Invocation<'_>,
    log: &mut File,
    report: &mut dyn FnMut(ImageProgress),
) -> Result<(), MmdebstrapError> {
    let mut tail = VecDeque::new();
    let result = pipeline(invocation, log, &mut tail, report);
    let folders = [invocation.work, invocation.scratch];
    let Some(reason) = fault(&result, &tail, folders) else {
        return Ok(());
    };
    Err(MmdebstrapError { reason, tail: Vec::from(tail).join("\n") })
}

pub(crate) struct ExitStatuses {
    pub(crate) mmdebstrap: ExitStatus,
    pub(crate) tar: ExitStatus,
}

fn pipeline(
    invocation: &Invocation<'_>,
    log: &mut File,
    tail: &mut VecDeque<String>,
    report: &mut dyn FnMut(ImageProgress),
) -> io::Result<ExitStatuses> {
    let mut mmdebstrap = KillOnDrop(command(invocation).spawn()?);
    let archive = mmdebstrap.0.stdout.take();
    let messages = mmdebstrap.0.stderr.take();
    // In memory: the log's disk may be full. Nobody reads a pipe meanwhile.
    let complaints = memfd_create("tar", MemfdFlags::CLOEXEC)?;
    let mut tar = KillOnDrop(
        tar_command(invocation)
            .stdin(archive.map_or_else(Stdio::null, Stdio::from))
            .stderr(complaints.try_clone()?)
            .spawn()?,
    );
    let mut tracker = Tracker::new();
    for line in
        messages.into_iter().flat_map(|pipe| BufReader::new(pipe).split(b'\n'))
    {
        let line = String::from_utf8_lossy(&line?).trim_end().to_owned();
        let line = invocation.settings.conceal(line);
        writeln!(log, "{line}")?;
        if let Some(progress) = tracker.line(&line) {
            report(progress);
        }
        add_line(tail, line);
    }
    let ends =
        ExitStatuses { mmdebstrap: mmdebstrap.0.wait()?, tar: tar.0.wait()? };
    let mut complaints = File::from(complaints);
    complaints.rewind()?;
    for line in BufReader::new(complaints).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        writeln!(log, "{line}")?;
        // Else it only says that the archive of mmdebstrap is not whole.
        if ends.mmdebstrap.success() {
            add_line(tail, line);
        }
    }
    Ok(ends)
}

fn add_line(tail: &mut VecDeque<String>, line: String) {
    if tail.len() == TAIL_LINES {
        tail.pop_front();
    }
    tail.push_back(line);
}

/// A child process that is killed and reaped when this is dropped.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // Both fail without effect if the child was already reaped.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the folder in which mmdebstrap makes the image.
pub(crate) fn work_folder(
    as_root: bool,
    scratch: &Path,
    downloads: &Downloads,
) -> PathBuf {
    if as_root {
        return scratch.to_owned();
    }
    downloads.path("TMPDIR").unwrap_or_else(|| WORK_FOLDER.into())
}

fn command(invocation: &Invocation<'_>) -> Command {
    let recipe = invocation.recipe;
    let definition = &recipe.definition;
    let mut command = Command::new("setpriv");
    if invocation.as_root {
        // It gets its own namespaces. When the builder is killed, every process
        // and mount of the unfinished image then ends at once, before the next
        // build removes the folder.
        command.args(["--pdeathsig", "KILL", "unshare", "--mount-proc"]);
        command.args(["--pid", "--fork", "--kill-child", "mmdebstrap"]);
        command.arg("--mode=root");
    } else {
        // This mode creates such namespaces itself.
        command.args(["--pdeathsig", "TERM", "mmdebstrap", "--mode=unshare"]);
    }
    command.args(["--verbose", "--variant=minbase"]);
    command.args(["--format=tar", "--skip=output/dev"]);
    let apt =
        ["Apt::Install-Recommends \"false\";", "Acquire::Languages \"none\";"];
    for option in mirror::apt_options().iter().map(String::as_str).chain(apt) {
        command.arg(format!("--aptopt={option}"));
    }
    let excluded = definition.exclude.iter();
    let excluded = excluded.map(|pattern| format!("path-exclude={pattern}"));
    for option in PATH_OPTIONS.iter().map(ToString::to_string).chain(excluded) {
        command.arg(format!("--dpkgopt={option}"));
    }
    let packages =
        [&definition.packages[..], &definition.build_packages[..]].concat();
    command.arg(format!("--include={}", packages.join(",")));
    // Without this folder, update-alternatives fails on the man pages that are
    // left out.
    command.arg("--setup-hook=mkdir -p \"$1/usr/share/man/man1\"");
    command.arg(format!("--customize-hook=tar-in {FILES} /"));
    if recipe.build_script.is_some() {
        command.arg(format!(
            "--customize-hook={IN_IMAGE} \
             sh -c '. {ENVIRONMENT} && cd /build && exec sh -eu ./build.sh'"
        ));
    }
    if !definition.build_packages.is_empty() {
        // Those stay that a package of the image needs, too.
        command.arg(format!(
            "--customize-hook={IN_IMAGE} apt-mark auto {}",
            definition.build_packages.join(" ")
        ));
        command.arg(format!(
            "--customize-hook={IN_IMAGE} apt-get --yes \
             -oAPT::AutoRemove::RecommendsImportant=false \
             -oAPT::AutoRemove::SuggestsImportant=false \
             autoremove --purge"
        ));
    }
    if !definition.versions.is_empty() {
        command.arg(format!("--customize-hook={}", ask_versions(definition)));
    }
    let is_locked = |addition: &Addition| addition.lock.is_some();
    if recipe.addition().is_some_and(is_locked) {
        command.arg(format!("--customize-hook={IN_IMAGE} {UNPACK_ADDITION}"));
    }
    // Removes what the script downloaded, so that it is not packed.
    command.arg(
        "--customize-hook=find \"$1/build\" -mindepth 1 -maxdepth 1 \
         ! -name versions -exec rm -rf {} +",
    );
    command.args([&definition.suite, "-"]).args(invocation.sources);
    command.current_dir(invocation.scratch).env("TMPDIR", invocation.work);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns a hook that runs each command in [`VERSIONS`] and stores its output.
fn ask_versions(definition: &ImageDefinition) -> String {
    let last = definition.versions.len() - 1;
    format!(
        "for n in $(seq 0 {last}); do \
         {IN_IMAGE} sh -c \"sh -eu {VERSIONS}/$n >{VERSIONS}/$n.out\" || \
         {{ echo \"this failed:\"; cat \"$1{VERSIONS}/$n\"; exit 1; }}; done"
    )
}

fn tar_command(invocation: &Invocation<'_>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "tar"]);
    command.args(["--extract", "--file=-", "--numeric-owner", "--directory"]);
    command.arg(invocation.rootfs);
    command.args(if invocation.as_root {
        ["--same-owner", "--same-permissions"]
    } else {
        ["--no-same-owner", "--same-permissions"]
    });
    command.stdout(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::architecture;

    #[test]
    fn nothing_runs_after_an_operators_packages_are_in_place() {
        let text = "suite = \"trixie\"\narchitectures = [\"amd64\"]\n\
                    packages = [\"python3\"]\nbuild = \"build.sh\"\n\
                    versions.Python = \"python3 --version\"";
        let read = |_: &str| Some(b"true".to_vec());
        let recipe = Recipe::parse("py", text, read).unwrap();
        let file = "npm = [\"lodash@4.17.21\"]";
        let lock = format!(
            "architecture = \"{}\"\nfor_pip = []\n\
             for_npm = [\"lodash@4.17.21\"]\npip = []\nnpm = '{}'",
            architecture(),
            r#"{"packages": {"node_modules/lodash": {"integrity": "sha1-A"}}}"#
        );
        let addition = Addition::parse("py", "py.toml", file).unwrap();
        let addition = addition.with_lock(Some(&lock)).unwrap();
        let recipe = recipe.with(addition, read).unwrap();
        let invocation = Invocation {
            recipe: &recipe,
            sources: &[],
            settings: &Downloads::default().settings(),
            as_root: false,
            scratch: Path::new("/"),
            work: Path::new("/"),
            rootfs: Path::new("/"),
        };
        let command = command(&invocation);
        let work = command.get_envs().find(|(name, _)| *name == "TMPDIR");
        assert_eq!(work.unwrap().1, Some("/".as_ref()));
        let hooks = command.get_args().map(|it| it.to_string_lossy());
        let in_image: Vec<_> =
            hooks.filter(|hook| hook.contains("chroot ")).collect();
        let last = in_image.last().unwrap();
        assert!(last.ends_with(UNPACK_ADDITION), "{in_image:?}");
        // Besides it the build script, the two steps that remove pip, and the
        // question for versions.
        assert_eq!(in_image.len(), 5, "{in_image:?}");
    }

    /// A file system in memory would be full of the image.
    #[test]
    fn images_are_made_on_a_disk() {
        let check = |as_root, chosen: Option<&str>, expected: &str| {
            let variables =
                chosen.map(|path| ("TMPDIR".into(), path.into())).into_iter();
            let downloads = Downloads {
                variables: variables.collect(),
                ..Downloads::default()
            };
            let found = work_folder(as_root, Path::new("/data"), &downloads);
            assert_eq!(found, Path::new(expected), "{as_root} {chosen:?}");
        };
        check(true, Some("/mine"), "/data");
        check(false, Some("/mine"), "/mine");
        check(false, Some(""), "/var/tmp");
        check(false, None, "/var/tmp");
    }
}
