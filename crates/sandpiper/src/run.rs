//! `sandpiper run`: local files through the engine, without HTTP.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use sandpiper_engine::languages::{Catalog, Language, SourceFile, Submission};
use sandpiper_engine::{
    End, FilesWanted, ImageState, Images, LanguageState, LimitReached,
    Readiness, Refusal, RunAttachment, RunFiles, RunOptions, SkippedFile,
    limits,
};
use tracing::Level;

use crate::artifacts::Writer;
use crate::config::{CommonArgs, RunArgs};
use crate::data::{Definitions, EngineImages};
use crate::engine_runtime::EngineRuntime;
use crate::error;
use crate::logging::{self, Target};
use crate::terminal::Terminal;

/// The exit code after a time limit, as for timeout(1).
const TIMED_OUT: u8 = 124;
/// The exit code if the program could not be run, as for timeout(1).
const NOT_RUN: u8 = 125;
/// The longest time that the engine may take to check the language.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);
/// The client that local runs belong to.
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Shells add this to the number of the signal that killed a program.
const SIGNALED: i32 = 128;
/// SIGKILL, with which the sandbox ends a program that exceeds a limit.
const KILLED: u8 = 137;

/// Runs the files. The exit code says how the program ended.
pub(crate) fn run(
    common: &CommonArgs,
    args: &RunArgs,
) -> anyhow::Result<ExitCode> {
    logging::start(common, Target::Stderr, Level::WARN)?;
    Ok(ExitCode::from(try_run(common, args).unwrap_or_else(|error| {
        // If this fails, there is nowhere else to report the error.
        let _ =
            writeln!(io::stderr(), "sandpiper: {}", error::describe(&error));
        NOT_RUN
    })))
}

fn try_run(common: &CommonArgs, args: &RunArgs) -> anyhow::Result<u8> {
    let definitions = Definitions::load(&common.folders())?;
    let submission = submission(args, &definitions.languages)?;
    let images = EngineImages::open(&common.data_dir()?, &definitions);
    check(&submission, args.interactive, &images)?;
    // The engine checks every language of its catalog: give it only one.
    let id = submission.language().id();
    let catalog = definitions.languages.only(|language| language.id() == id);
    let settings = args.sandbox.engine_settings();
    let images = Arc::new(images);
    let writer = args.artifacts.as_deref().map(Writer::start).transpose()?;
    let runtime = EngineRuntime::start(
        common.data_dir()?,
        args.sandbox.cgroup.clone(),
        settings,
        catalog,
        images,
        !args.interactive,
    )?;
    let files = args.artifacts.as_ref().map(|_| FilesWanted {
        patterns: Vec::new(),
        max_bytes: limits::FILES_BYTES,
    });
    let options = RunOptions { files, ..RunOptions::default() };
    let outcome = runtime.block_on(async |engine| {
        let mut languages = engine.watch_languages();
        let checked = languages.wait_for(|all| {
            let building = |state: &LanguageState| {
                matches!(state.readiness, Readiness::Building(_))
            };
            !all.iter().any(building)
        });
        // If the language is not ready by then, `execute` says why.
        let _ = tokio::time::timeout(CHECK_TIMEOUT, checked).await;
        if args.interactive {
            let (attachment, terminal) = Terminal::attach();
            let engine = engine.clone();
            // In a task of its own: its limits hold even if writing blocks.
            let run = tokio::spawn(async move {
                engine.execute(submission, options, attachment, CLIENT).await
            });
            terminal.show().await;
            run.await.unwrap_or(Err(Refusal::Failed))
        } else {
            let attachment = RunAttachment::default();
            engine.execute(submission, options, attachment, CLIENT).await
        }
    })?;
    // In `run | head` the reader goes first. That is no failure.
    let _ = io::stdout().write_all(&outcome.stdout.bytes);
    let _ = io::stderr().write_all(outcome.stderr_with_message().as_bytes());
    if let Some((writer, left)) = writer.zip(outcome.files.as_ref()) {
        keep_files(writer, left)?;
    }
    Ok(exit_code(outcome.end))
}

/// Refuses a submission that cannot be run as it was asked.
fn check(
    submission: &Submission,
    is_interactive: bool,
    images: &EngineImages,
) -> anyhow::Result<()> {
    let language = submission.language();
    let name = language.name();
    if is_interactive && !language.takes_stdin() {
        bail!("{name} programs take no input: leave out --interactive");
    }
    let image = language.image();
    if images.state(image) == ImageState::Missing {
        bail!(
            "the image of {name} is not built: run `{}`",
            images.build_command(image)
        );
    }
    Ok(())
}

/// Returns the submission that the command line describes.
fn submission(args: &RunArgs, catalog: &Catalog) -> anyhow::Result<Submission> {
    let entry = args.entry.as_ref().unwrap_or(&args.files[0]);
    let mut paths: Vec<&PathBuf> = vec![entry];
    paths.extend(args.files.iter().filter(|path| *path != entry));
    let names = names(&paths)?;
    let files = paths
        .iter()
        .zip(&names)
        .map(|(path, name)| {
            let shown = path.display();
            let content = fs::read(path)
                .with_context(|| format!("cannot read {shown}"))?;
            Ok(SourceFile { path: name.clone(), content })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let language = match &args.language {
        Some(language) => language.clone(),
        None => language_of(entry, catalog)?,
    };
    let [entry_file, ..] = &names[..] else { bail!("no file to run") };
    let entry_file = entry_file.clone();
    let stdin =
        if args.interactive { String::new() } else { standard_input()? };
    Ok(catalog.submission(
        &language,
        entry_file,
        files,
        stdin,
        args.args.clone(),
    )?)
}

/// Has the files that a run left written, and names those that it does not
/// have.
fn keep_files(writer: Writer, left: &RunFiles) -> anyhow::Result<()> {
    writer.write(left)?;
    for SkippedFile { path, reason } in &left.skipped {
        let reason = reason.word();
        let _ =
            writeln!(io::stderr(), "sandpiper: not written: {path} ({reason})");
    }
    Ok(())
}

fn exit_code(end: End) -> u8 {
    match end {
        End::Exited(code) => u8::try_from(code).unwrap_or(u8::MAX),
        End::Signaled(signal) => {
            u8::try_from(SIGNALED + signal).unwrap_or(u8::MAX)
        }
        End::Limit(
            LimitReached::WallTime(_)
            | LimitReached::CpuTime(_)
            | LimitReached::Idle(_),
        ) => TIMED_OUT,
        End::Limit(LimitReached::Memory(_) | LimitReached::Output(_))
        | End::Stopped => KILLED,
    }
}

/// Returns the paths in the box: the paths as typed if they are all inside the
/// current folder, otherwise the paths relative to the first file's folder.
fn names(paths: &[&PathBuf]) -> anyhow::Result<Vec<String>> {
    let typed: Option<Vec<String>> =
        paths.iter().map(|path| plain(path)).collect();
    if let Some(names) = typed {
        return Ok(names);
    }
    let folder = paths[0].parent().unwrap_or(Path::new(""));
    let below = |path: &&PathBuf| {
        let name = path.strip_prefix(folder).ok().and_then(plain);
        name.with_context(|| {
            format!(
                "{} is not inside {}: run this command in a folder that \
                 contains all the files, and give their paths from there",
                path.display(),
                folder.display()
            )
        })
    };
    paths.iter().map(below).collect()
}

/// Returns a relative path without `.`, or `None` if it is absolute or has a
/// `..`.
fn plain(path: &Path) -> Option<String> {
    let mut segments = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(segment) => segments.push(segment.to_str()?),
            Component::Prefix(_)
            | Component::RootDir
            | Component::ParentDir => {
                return None;
            }
        }
    }
    Some(segments.join("/"))
}

/// Returns the language of a file. A language that is served by default comes
/// before one that has to be chosen.
fn language_of(entry: &Path, catalog: &Catalog) -> anyhow::Result<String> {
    let default = catalog.only(Language::is_default);
    let path = entry.to_str().unwrap_or_default();
    let found = default.by_path(path).or_else(|| catalog.by_path(path));
    let Some(language) = found else {
        let ids: Vec<&str> = catalog.languages().map(Language::id).collect();
        bail!(
            "cannot tell the language of {} from its extension; pass \
             --language (one of: {})",
            entry.display(),
            ids.join(", ")
        );
    };
    Ok(language.id().to_owned())
}

fn standard_input() -> anyhow::Result<String> {
    let mut text = String::new();
    if !io::stdin().is_terminal() {
        io::stdin()
            .read_to_string(&mut text)
            .context("cannot read standard input")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_box() {
        let check = |paths: &[&str], expected: Option<&[&str]>| {
            let typed: Vec<PathBuf> = paths.iter().map(Into::into).collect();
            let found = names(&typed.iter().collect::<Vec<_>>()).ok();
            let expected = expected
                .map(|names| names.iter().map(ToString::to_string).collect());
            assert_eq!(found, expected, "{paths:?}");
        };
        check(&["main.py"], Some(&["main.py"]));
        check(&["./main.py", "a//b.py"], Some(&["main.py", "a/b.py"]));
        check(&["src/main.py", "lib.py"], Some(&["src/main.py", "lib.py"]));
        check(&["/home/x/main.py"], Some(&["main.py"]));
        check(&["/x/main.py", "/x/a/b.py"], Some(&["main.py", "a/b.py"]));
        check(&["../x/main.py", "../x/b.py"], Some(&["main.py", "b.py"]));
        check(&["/x/main.py", "/y/b.py"], None);
        check(&["../x/main.py", "b.py"], None);
        check(&["/x/main.py", "/x/../b.py"], None);
    }

    #[test]
    fn exit_codes() {
        let second = Duration::from_secs(1);
        let check = |end: End, expected: u8| {
            assert_eq!(exit_code(end), expected, "{end:?}");
        };
        check(End::Exited(0), 0);
        check(End::Exited(3), 3);
        check(End::Exited(255), 255);
        check(End::Signaled(11), 139);
        check(End::Limit(LimitReached::WallTime(second)), 124);
        check(End::Limit(LimitReached::CpuTime(second)), 124);
        check(End::Limit(LimitReached::Memory(1)), 137);
        check(End::Limit(LimitReached::Output(1)), 137);
    }
}
