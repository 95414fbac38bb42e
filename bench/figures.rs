//! What a benchmark found, written where its document has a place for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the documents.
pub(crate) fn documents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Puts `text` in the place that the document has for what is called so, such
/// as `figures`.
pub(crate) fn replace(
    document: &Path,
    name: &str,
    text: &str,
) -> Result<(), std::io::Error> {
    let begin = format!("<!-- {name}: written by the benchmark -->\n");
    let end = format!("<!-- end of the {name} -->\n");
    let old = fs::read_to_string(document)?;
    let no_place =
        || std::io::Error::other(format!("it has no place for {name}"));
    let (before, rest) = old.split_once(&begin).ok_or_else(no_place)?;
    let (_, after) = rest.split_once(&end).ok_or_else(no_place)?;
    let text = text.trim();
    fs::write(document, format!("{before}{begin}\n{text}\n\n{end}{after}"))
}

/// When, on what and of which build these figures are.
pub(crate) fn origin() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let date = output(Command::new("date").args(["-u", "+%Y-%m-%d"]));
    let kernel = output(Command::new("uname").arg("-r"));
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let cpu = cpu.unwrap_or_default().trim_start_matches(['\t', ' ', ':']);
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let busy = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let busy = busy.split(' ').next().unwrap_or_default();
    format!(
        "{date}, {build} build, {cores} cores ({cpu}), Linux {kernel}, load \
         average {busy} before"
    )
}

fn output(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout);
    String::from_utf8_lossy(&output.unwrap_or_default()).trim().to_owned()
}
