//! An engine on a host that is set up, and the runtime that it runs in.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use sandpiper_engine::languages::Catalog;
use sandpiper_engine::{
    Engine, EngineSettings, Host, HostError, HostSettings, Identity, Images,
};
use tokio::runtime::{self, Runtime};

use crate::config;

/// Maximum number of threads for blocking work, which looks up the host names of
/// Valkeys and proxies, and compresses frameworks. Each look-up may take many seconds.
const BLOCKING_THREADS: usize = 64;
/// The longest time that the last boxes may take to be removed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The words that a client reads if nothing can run. The log has the reason.
const NO_SANDBOX: &str = "this host has no safe sandbox: the operator's log \
                          says why, and `sandpiper doctor` how to fix it";

/// An engine, ready to run submissions.
#[derive(Debug)]
pub(crate) struct EngineRuntime {
    runtime: Runtime,
    engine: Engine,
    offer: Offer,
}

/// The limits and the isolation that the host offers.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    /// The limits that it enforces, and how it separates boxes.
    pub(crate) text: String,
    /// Whether it offers everything.
    pub(crate) is_whole: bool,
    /// Why nothing can run; `None` if programs can run.
    pub(crate) nothing_runs: Option<String>,
}

impl EngineRuntime {
    /// Sets the host up and starts the engine. `leave_terminal` is that of
    /// [`HostSettings`]. This drops root, so everything
    /// that needs root must be done before, and no thread may exist yet.
    ///
    /// # Errors
    /// Root could not be dropped, or the runtime could not be started. A host
    /// that cannot make boxes is no error: its engine refuses every run with
    /// the reason.
    pub(crate) fn start(
        data: PathBuf,
        cgroup: Option<PathBuf>,
        settings: EngineSettings,
        catalog: Catalog,
        images: Arc<dyn Images>,
        leave_terminal: bool,
    ) -> anyhow::Result<Self> {
        let host = config::host_settings(
            data,
            cgroup,
            settings.boxes,
            settings.boxes_besides(),
        );
        let host = Host::set_up(&HostSettings { leave_terminal, ..host });
        if host.is_err() && rustix::process::geteuid().is_root() {
            bail!("cannot drop root here; start as an ordinary user");
        }
        let offer = host.as_ref().map_or_else(
            |error| Offer {
                text: error.to_string(),
                is_whole: false,
                nothing_runs: Some(error.to_string()),
            },
            offer,
        );
        let runtime = start_runtime().context("cannot start the runtime")?;
        let engine = {
            let _inside = runtime.enter();
            let describe = |_: &HostError| NO_SANDBOX.to_owned();
            Engine::new(settings, host, catalog, images, describe)
        };
        if let Some(error) = engine.host_error() {
            let why = in_log(error);
            tracing::error!(
                "nothing can run: {why}; `sandpiper doctor` says how to fix it"
            );
        }
        Ok(Self { runtime, engine, offer })
    }

    /// Returns what the host offers.
    pub(crate) fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Runs `work` to its end, then waits until the last boxes are removed and
    /// removes what was made on the host.
    pub(crate) fn block_on<T>(self, work: impl AsyncFnOnce(&Engine) -> T) -> T {
        let Self { runtime, engine, .. } = self;
        let result = runtime.block_on(async {
            let result = work(&engine).await;
            let closed = tokio::time::timeout(CLOSE_TIMEOUT, engine.close());
            if closed.await.is_err() {
                tracing::warn!(
                    "some boxes were not removed within {} s; the next start \
                     removes them",
                    CLOSE_TIMEOUT.as_secs()
                );
            }
            result
        });
        // Tasks that still run must not keep the process alive.
        runtime.shutdown_background();
        result
    }
}

/// Starts a runtime that always has a thread for blocking work. If it had none,
/// and the host gave it none later, work of a client would panic.
fn start_runtime() -> io::Result<Runtime> {
    let runtime = runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_keep_alive(Duration::MAX)
        .build()?;
    // This starts the first thread.
    runtime.spawn_blocking(|| ());
    Ok(runtime)
}

/// Returns the reason why nothing can run, for the operator's log.
fn in_log(error: &HostError) -> String {
    match error {
        HostError::NoSandbox(_) => error.to_string(),
        HostError::MissingLimits(_) => {
            format!("{error}, and --allow-missing-limits was not given")
        }
    }
}

fn offer(host: &Host) -> Offer {
    let parts = host.controllers().by_name();
    let names = |wanted: bool| {
        let names = parts.iter().filter(|(_, there)| *there == wanted);
        names.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    };
    let limits = match (names(true), names(false)) {
        (there, lacking) if lacking.is_empty() => format!("limits on {there}"),
        (there, lacking) if there.is_empty() => {
            format!("no limit on {lacking}")
        }
        (there, lacking) => format!("limits on {there}, but not on {lacking}"),
    };
    let identity = match host.identity() {
        Identity::Range => "each box has its own user ids",
        Identity::Single => "boxes share the server's user id (weaker)",
    };
    Offer {
        text: format!("{limits}; {identity}; {}", host.describe_groups()),
        is_whole: names(false).is_empty() && host.identity() == Identity::Range,
        nothing_runs: None,
    }
}
