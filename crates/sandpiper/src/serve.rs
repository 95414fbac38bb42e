//! `sandpiper serve`: binds, sets the host up, serves, and shuts down.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use sandpiper_engine::{Engine, Readiness};
use sandpiper_server::{Server, ServerSettings};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tracing::{Level, info, warn};

use crate::config::{self, CommonArgs, ServeArgs};
use crate::data::{Definitions, EngineImages};
use crate::doctor::{Grade, boxes_fit};
use crate::engine_runtime::EngineRuntime;
use crate::error;
use crate::listen::listen;
use crate::logging::{self, Target};
use crate::machine;

/// Serves until a signal ends it.
pub(crate) fn serve(
    common: &CommonArgs,
    args: &ServeArgs,
) -> anyhow::Result<ExitCode> {
    logging::start(common, Target::Stdout, Level::INFO)?;
    let unknown = config::unknown_variables();
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        warn!(
            "ignoring unknown environment variables (see `sandpiper serve \
             --help`): {names}"
        );
    }
    let definitions = Definitions::load(&common.folders())?;
    let catalog = definitions.served(args.languages.as_deref())?;
    let settings = args.engine_settings();
    let boxes = settings.boxes + settings.live_boxes;
    let box_bytes = settings.limits.box_memory_bytes();
    // In the groups of the boxes, the server would find their limits.
    let memory = machine::memory_bytes();
    // Before root is dropped: only root may bind ports below 1,024.
    let listener = listen(args.listen()?, "--listen or PORT")?;
    let admin = admin_listener(args)?;
    // The files of URLs may be readable for root alone.
    let server = args.server_settings()?;
    let images =
        Arc::new(EngineImages::open(&common.data_dir()?, &definitions));
    for note in images.notes() {
        warn!("{note}");
    }
    let runtime = EngineRuntime::start(
        common.data_dir()?,
        args.sandbox.cgroup.clone(),
        settings,
        catalog,
        images,
        true,
    )?;
    let offer = runtime.offer().clone();
    let announce = move |address| {
        info!("listening on {}", url(address));
        if offer.is_whole {
            info!("{}", offer.text);
        } else {
            warn!("{}", offer.text);
        }
        let fit = boxes_fit(boxes, box_bytes, memory);
        if fit.grade != Grade::Good {
            warn!("{}: {}", fit.found, fit.fix);
        }
    };
    let drain = args.drain_time;
    runtime.block_on(async |engine| {
        serve_with(engine, server, listener, admin, drain, announce).await
    })?;
    info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Returns the listener of the metrics. If the operator did not choose the
/// address and it is in use, the server starts without metrics.
fn admin_listener(args: &ServeArgs) -> anyhow::Result<Option<TcpListener>> {
    let (address, chosen) = args.admin_listen();
    let Some(address) = address else { return Ok(None) };
    match listen(address, "--admin-listen") {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if chosen => Err(error),
        Err(error) => {
            let error = error::describe(&error);
            warn!("/metrics is not served: {error}");
            Ok(None)
        }
    }
}

/// Returns a URL that a browser can open. An unspecified address is reached by
/// `localhost` as well.
fn url(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        let port = address.port();
        return format!("http://localhost:{port} (every interface)");
    }
    format!("http://{address}")
}

async fn serve_with(
    engine: &Engine,
    settings: ServerSettings,
    listener: TcpListener,
    admin: Option<TcpListener>,
    drain: Duration,
    announce: impl FnOnce(SocketAddr),
) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let address = listener.local_addr()?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let admin = admin.map(tokio::net::TcpListener::from_std).transpose()?;
    let (stop, stopped) = watch::channel(false);
    let server = Server::new(engine.clone(), settings);

    announce(address);
    if let Some(admin) = &admin {
        info!("metrics on http://{}/metrics", admin.local_addr()?);
    }
    let serving =
        server.clone().serve(vec![listener], until(stopped.clone()), drain);
    let serving_admin = async {
        if let Some(admin) = admin {
            server.serve_admin(admin, until(stopped)).await;
        }
    };
    let ending = async {
        signals.next().await;
        info!(
            "stopping: running requests have {} s to finish; a second signal \
             ends them at once",
            drain.as_secs_f64()
        );
        stop.send_replace(true);
        // A terminal that closes can send several.
        while signals.next().await == SignalKind::hangup() {}
        warn!("stopping at once");
    };
    let both = async { tokio::join!(serving, serving_admin) };
    tokio::select! {
        _ = both => {}
        () = ending => {}
        // Ends only with the engine.
        () = report_readiness(engine) => {}
    }
    Ok(())
}

/// The signals that end the server.
struct Signals(Vec<(SignalKind, Signal)>);

impl Signals {
    fn new() -> io::Result<Self> {
        let mut kinds = vec![SignalKind::terminate(), SignalKind::interrupt()];
        // A handler would undo the work of `nohup`.
        if !machine::ignores_hangup() {
            kinds.push(SignalKind::hangup());
        }
        let handled = |kind| Ok((kind, signal(kind)?));
        let signals: io::Result<_> = kinds.into_iter().map(handled).collect();
        Ok(Self(signals?))
    }

    async fn next(&mut self) -> SignalKind {
        poll_fn(|context| {
            let mut signals = self.0.iter_mut();
            let came = signals.find_map(|(kind, it)| {
                it.poll_recv(context).is_ready().then_some(*kind)
            });
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// Resolves when the value is `true`, or can no longer become so.
async fn until(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Logs every change of a language's state.
async fn report_readiness(engine: &Engine) {
    let mut languages = engine.watch_languages();
    // `None` for a language that was not checked yet.
    let mut reported: BTreeMap<String, Option<Readiness>> = BTreeMap::new();
    loop {
        for state in languages.borrow_and_update().iter() {
            let (id, now) = (&state.id, &state.readiness);
            let last = reported.get(id).map(Option::as_ref);
            if is_news(last, now) {
                report(id, now);
                reported.insert(id.clone(), Some(now.clone()));
            } else {
                reported.entry(id.clone()).or_default();
            }
        }
        if languages.changed().await.is_err() {
            return;
        }
    }
}

/// Returns whether to log a line. The first state of a language is not logged
/// if it is still building, nor is each step of a build: `/readyz` and the
/// builder report those.
fn is_news(last: Option<Option<&Readiness>>, now: &Readiness) -> bool {
    use Readiness::Building;
    match (last, now) {
        (None | Some(Some(Building(_))), Building(_)) => false,
        (last, now) => last.flatten() != Some(now),
    }
}

fn report(id: &str, readiness: &Readiness) {
    match readiness {
        Readiness::Ready => info!("language {id}: ready"),
        Readiness::Building(progress) => {
            info!("language {id}: building: {progress}");
        }
        Readiness::Missing(why) => warn!("language {id}: missing: {why}"),
        Readiness::Broken(why) => warn!("language {id}: broken: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news() {
        use Readiness::{Broken, Building, Missing, Ready};
        let building = |progress: &str| Building(progress.to_owned());
        let check = |last: Option<Option<Readiness>>, now, expected| {
            let found = is_news(last.as_ref().map(Option::as_ref), &now);
            assert_eq!(found, expected, "{last:?} {now:?}");
        };
        check(None, building("not looked at yet"), false);
        check(None, Ready, true);
        check(None, Missing(String::new()), true);
        check(Some(None), building("a"), true);
        check(Some(Some(Ready)), Ready, false);
        check(Some(Some(Ready)), Broken(String::new()), true);
        check(Some(Some(Ready)), building("a"), true);
        check(Some(Some(building("a"))), Ready, true);
        check(Some(Some(building("a"))), building("b"), false);
    }

    #[test]
    fn urls_can_be_opened() {
        let check = |address: &str, expected: &str| {
            assert_eq!(url(address.parse().unwrap()), expected);
        };
        check("127.0.0.1:80", "http://127.0.0.1:80");
        check("[::1]:80", "http://[::1]:80");
        check("[::]:80", "http://localhost:80 (every interface)");
        check("0.0.0.0:80", "http://localhost:80 (every interface)");
    }
}
