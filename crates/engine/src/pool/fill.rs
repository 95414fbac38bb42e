//! The task that fills the pool, one box after another.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandpiper_sandbox::{Host, Sandbox, SandboxError};
use tokio::time::timeout;

use super::key::PoolKey;
use super::{BoxPool, Work};
use crate::admission::Admission;
use crate::limits::MAKE_AHEAD_TIME;

/// The longest time between two looks at the demand, because demand fades.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(10);
/// The time between two looks while runs wait for a box.
pub(super) const CONTENDED_WAIT: Duration = Duration::from_millis(100);

/// Makes boxes that are missing and destroys those that are too many, for ever.
/// Several tasks may do so at once.
pub(crate) async fn fill(pool: BoxPool, host: Arc<Host>, admission: Admission) {
    loop {
        let mut changed = pin!(pool.inner.changed.notified());
        // Before the look at the pool, so that no change is missed between.
        changed.as_mut().enable();
        match pool.next_work(Instant::now(), admission.is_contended()) {
            Work::Make(key) => {
                let started = Instant::now();
                let made = timeout(MAKE_AHEAD_TIME, make(&host, &key))
                    .await
                    .map_err(|_| "it took too long".to_owned())
                    .and_then(|made| made.map_err(|error| error.to_string()));
                pool.add(&key, made, started.elapsed());
            }
            Work::Destroy(sandbox) => sandbox.destroy().await,
            Work::Wait(time) => {
                // A change and the end of the time both lead to another look.
                let _ = timeout(time, changed).await;
            }
        }
    }
}

async fn make(
    host: &Arc<Host>,
    key: &PoolKey,
) -> Result<Sandbox, SandboxError> {
    let mut sandbox = Sandbox::make_ahead(host, &key.spec).await?;
    for launcher in &key.launchers {
        sandbox.prepare(launcher.clone()).await?;
    }
    Ok(sandbox)
}
