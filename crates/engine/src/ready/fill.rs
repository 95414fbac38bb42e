//! Fills the shelves, one box after another.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandpiper_sandbox::{Host, Sandbox, SandboxError};
use tokio::time::timeout;

use super::{ReadyBoxes, Work};
use crate::admission::Admission;
use crate::kind::Kind;
use crate::limits::PREPARE_AHEAD_TIME;

/// How often it is asked anew what is wanted, where nothing changes: demand
/// fades.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// The same while runs wait for a box.
pub(super) const LOOK_AGAIN_SOON: Duration = Duration::from_millis(100);

/// Makes what is missing and destroys what is too much, for ever. Several may
/// do so at once.
pub(crate) async fn fill(
    ready: ReadyBoxes,
    host: Arc<Host>,
    admission: Admission,
) {
    loop {
        let mut changed = pin!(ready.shared.changed.notified());
        // What changes from here on is noticed.
        changed.as_mut().enable();
        match ready.next(Instant::now(), admission.is_contended()) {
            Work::Make(kind) => {
                let started = Instant::now();
                let made = timeout(PREPARE_AHEAD_TIME, make(&host, &kind))
                    .await
                    .map_err(|_| "it took too long".to_owned())
                    .and_then(|made| made.map_err(|error| error.to_string()));
                ready.made(&kind, made, started.elapsed());
            }
            Work::Destroy(sandbox) => sandbox.destroy().await,
            Work::Wait(time) => {
                // Whether it was the change or the time is all the same.
                let _ = timeout(time, changed).await;
            }
        }
    }
}

async fn make(host: &Arc<Host>, kind: &Kind) -> Result<Sandbox, SandboxError> {
    let mut sandbox = Sandbox::make_ahead(host, &kind.spec).await?;
    for launcher in &kind.launchers {
        sandbox.prepare(launcher.clone()).await?;
    }
    Ok(sandbox)
}
