//! `sandpiper images check`: runs the sample programs of the languages in their
//! images. It is a process of its own, since making boxes drops root.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use sandpiper_engine::languages::{Language, OutputKind, SourceFile};
use sandpiper_engine::{
    End, Engine, ImageState, Images, LanguageState, Readiness, RunAttachment,
    RunOptions,
};
use sandpiper_images::{Addition, Recipe};
use tracing::Level;

use crate::config::{self, CheckArgs, CommonArgs, Folders};
use crate::data::{self, Definitions, EngineImages, build_command};
use crate::engine_runtime::EngineRuntime;
use crate::logging::{self, Target};

/// The exit code if this host cannot run programs in any image.
const NOT_RUN: u8 = 125;
/// The longest time that all sample programs may take together.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Prints a line for each language. Fails if the sample program of one does not
/// do what it should.
pub(super) fn check(
    common: &CommonArgs,
    args: &CheckArgs,
) -> anyhow::Result<ExitCode> {
    logging::start(common, Target::Stderr, Level::WARN)?;
    let definitions = definitions(common, args)?;
    let images = images(common, args, &definitions)?;
    let data = common.data_dir()?;
    let chosen = chosen(&images, &definitions, &args.names, &data)?;
    let is_chosen = |language: &Language| chosen.contains(language.image());
    let catalog = definitions.languages.only(is_chosen);
    let settings = config::check_settings();
    let cgroup = args.cgroup.clone();
    let runtime =
        EngineRuntime::start(data, cgroup, settings, catalog, images, true)?;
    if let Some(why) = &runtime.offer().nothing_runs {
        let line = format!("sandpiper: no box can be made: {why}\n");
        let _ = io::stderr().write_all(line.as_bytes());
        return Ok(ExitCode::from(NOT_RUN));
    }
    // The operator's additions are in an image that is being built with it.
    let mut recipes = definitions.recipes.iter();
    let recipe =
        recipes.find(|it| args.rootfs.is_some() && it.name() == args.names[0]);
    let program = recipe.and_then(Recipe::addition).and_then(Addition::check);
    let right = runtime.block_on(async |engine| {
        let printed = tokio::time::timeout(TIMEOUT, print_states(engine));
        let right = printed.await.unwrap_or(Ok(false))?;
        match program.filter(|_| right) {
            Some((program, place)) => {
                print_check(engine, program, &place).await
            }
            None => Ok(right),
        }
    })?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Why an image failed its check.
#[derive(Debug)]
pub(super) enum CheckError {
    /// This host cannot make boxes, so nothing ran.
    NotRun(String),
    /// Sample programs did not do what they should: one line for each.
    Programs(String),
}

/// Runs `command`, which is this one, in a child process, for the image that is
/// being built at `rootfs`. Blocks until the child ends.
pub(super) fn check_unfinished(
    mut command: Command,
    image: &str,
    rootfs: &Path,
) -> Result<(), CheckError> {
    command.arg(image).arg("--rootfs").arg(rootfs);
    let output = command.output();
    let process::Output { status, stdout, stderr } =
        output.map_err(|error| CheckError::NotRun(error.to_string()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match status.code() {
        Some(0) => Ok(()),
        Some(1) if !stdout.is_empty() => {
            let lines = text(&stdout);
            let failed = lines.lines().filter(|line| !line.ends_with(": ok"));
            let failed: Vec<_> = failed.collect();
            Err(CheckError::Programs(failed.join("\n")))
        }
        _ => Err(CheckError::NotRun(text(&stderr))),
    }
}

/// Returns the command `images check` of this program. It works even if the
/// program's file was removed.
pub(crate) fn this_program(data_dir: &Path, folders: &Folders) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM"]);
    command.arg(format!("/proc/{}/exe", process::id()));
    command.args(["images", "check", "--data-dir"]).arg(data_dir);
    for (flag, dir) in [
        ("--languages-dir", &folders.languages),
        ("--image-additions", &folders.additions),
    ] {
        command
            .args(dir.iter().flat_map(|dir| [flag.as_ref(), dir.as_os_str()]));
    }
    command.stdin(Stdio::null());
    command
}

/// Returns the languages to check. One of this program's images that is being
/// built needs only its languages: a mistake in one of the operator's must not
/// stop the others.
fn definitions(
    common: &CommonArgs,
    args: &CheckArgs,
) -> anyhow::Result<Definitions> {
    let folders = common.folders();
    if args.rootfs.is_some() {
        let folders = Folders { languages: None, ..folders.clone() };
        let own = Definitions::load(&folders)?;
        if args.names.iter().all(|name| own.has_image(name)) {
            return Ok(own);
        }
    }
    Definitions::load(&folders)
}

fn images(
    common: &CommonArgs,
    args: &CheckArgs,
    definitions: &Definitions,
) -> anyhow::Result<Arc<dyn Images>> {
    match (&args.rootfs, &args.names[..]) {
        (Some(rootfs), [name]) => Ok(Arc::new(Unfinished {
            name: name.clone(),
            rootfs: rootfs.clone(),
            data_dir: common.data_dir()?,
        })),
        (Some(_), _) => bail!("--rootfs is for one image"),
        (None, _) => {
            Ok(Arc::new(EngineImages::open(&common.data_dir()?, definitions)))
        }
    }
}

/// Returns the images with these names, or all that are built if no name is
/// given.
fn chosen(
    images: &Arc<dyn Images>,
    definitions: &Definitions,
    names: &[String],
    data_dir: &Path,
) -> anyhow::Result<BTreeSet<String>> {
    let recipes = super::chosen(definitions, names)?;
    let mut chosen = BTreeSet::new();
    for name in recipes.iter().map(|recipe| recipe.name().to_owned()) {
        match images.state(&name) {
            ImageState::Ready(_) => {
                chosen.insert(name);
            }
            _ if names.is_empty() => {}
            ImageState::Building(_) => bail!("image {name} is being built"),
            ImageState::Missing => bail!(
                "image {name} is not built: run `{}`",
                build_command(data_dir, Some(&name))
            ),
            ImageState::Broken(why) => bail!("image {name} is broken: {why}"),
        }
    }
    Ok(chosen)
}

/// Prints the result of each language when it is known. Returns whether all
/// are ready.
async fn print_states(engine: &Engine) -> io::Result<bool> {
    let languages = engine.catalog().languages();
    let mut left: BTreeSet<&str> = languages.map(Language::id).collect();
    let mut right = true;
    let mut changes = engine.watch_languages();
    while !left.is_empty() {
        let all = changes.borrow_and_update().clone();
        for LanguageState { id, readiness, .. } in &all {
            let found = match readiness {
                Readiness::Building(_) => continue,
                Readiness::Ready => "ok",
                Readiness::Missing(why) | Readiness::Broken(why) => why,
            };
            if left.remove(id.as_str()) {
                right &= *readiness == Readiness::Ready;
                let line = format!("{id}: {found}\n");
                io::stdout().write_all(line.as_bytes())?;
            }
        }
        if !left.is_empty() && changes.changed().await.is_err() {
            return Ok(false);
        }
    }
    Ok(right)
}

/// Runs the operator's program for the packages that were added to an image, in
/// the first of its languages that prints text. Prints why it failed, if it did,
/// and returns whether it did not.
async fn print_check(
    engine: &Engine,
    program: &str,
    place: &str,
) -> io::Result<bool> {
    let catalog = engine.catalog();
    let prints_text = |it: &&Language| it.output() != OutputKind::Document;
    let language = catalog.languages().find(prints_text);
    let language = language.or_else(|| catalog.languages().next());
    let id = language.map(Language::id).unwrap_or_default();
    let Some(starter) = catalog.starter(id) else { return Ok(true) };
    let path = starter.submission.entry_file().to_owned();
    let content = program.as_bytes().to_vec();
    let files = vec![SourceFile { path: path.clone(), content }];
    let submission =
        catalog.submission(id, path, files, String::new(), Vec::new());
    let why = match submission {
        Err(error) => error.to_string(),
        Ok(submission) => {
            let (options, attachment) =
                (RunOptions::default(), RunAttachment::default());
            let client = IpAddr::V4(Ipv4Addr::LOCALHOST);
            let run = engine.execute(submission, options, attachment, client);
            match run.await {
                Ok(outcome) if outcome.end == End::Exited(0) => {
                    return Ok(true);
                }
                Ok(outcome) => outcome.stderr_with_message().into_owned(),
                Err(refusal) => refusal.to_string(),
            }
        }
    };
    let why = why.trim_end();
    let line = format!("{place}: the check failed: {why}\n");
    io::stdout().write_all(line.as_bytes())?;
    Ok(false)
}

/// An image that is not in the store yet.
#[derive(Debug)]
struct Unfinished {
    name: String,
    rootfs: PathBuf,
    data_dir: PathBuf,
}

impl Images for Unfinished {
    fn state(&self, image: &str) -> ImageState {
        if image == self.name {
            ImageState::Ready(self.rootfs.clone())
        } else {
            ImageState::Missing
        }
    }

    fn describe(&self, image: &str, state: &ImageState) -> String {
        data::describe(state, || build_command(&self.data_dir, Some(image)))
    }

    fn versions(&self, _image: &str) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn open_file(&self, image: &str, path: &str) -> io::Result<File> {
        data::open_in(&self.state(image), path)
    }
}
