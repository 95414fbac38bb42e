//! The log: its destination and its format.

use std::io::{self, IsTerminal};

use tracing::Level;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{CommonArgs, LogFormat};

/// The destination of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Standard output, for a server.
    Stdout,
    /// Standard error, for a command whose result is its standard output.
    Stderr,
}

/// Starts the log. Its minimum level is `usual`, unless the operator sets
/// another.
pub(crate) fn start(
    args: &CommonArgs,
    target: Target,
    usual: Level,
) -> anyhow::Result<()> {
    let level = args.log_level.unwrap_or(usual);
    match target {
        Target::Stdout => {
            let terminal = io::stdout().is_terminal();
            write_to(io::stdout, terminal, level, args.log_format)
        }
        Target::Stderr => {
            let terminal = io::stderr().is_terminal();
            write_to(io::stderr, terminal, level, args.log_format)
        }
    }
}

fn write_to<W>(
    writer: W,
    is_terminal: bool,
    level: Level,
    format: LogFormat,
) -> anyhow::Result<()>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let log = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::from_level(level))
        .with_writer(writer)
        .with_ansi(is_terminal)
        // These errors go to standard error, in a way that panics if that
        // cannot be written either, for example if both are on one full disk.
        .log_internal_errors(false)
        .with_target(false);
    match format {
        LogFormat::Text => log.finish().try_init()?,
        LogFormat::Json => {
            log.json().flatten_event(true).finish().try_init()?
        }
    }
    Ok(())
}
