//! The engine: takes a submission through admission, a box and its steps.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sandpiper_languages::{Catalog, Submission};

use crate::{Limits, Outcome};

/// Settings of the engine, from the operator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What one run may use.
    pub limits: Limits,
    /// Boxes running at once.
    pub boxes: usize,
    /// Runs that may wait for a box.
    pub queue_length: usize,
    /// How long a run may wait.
    pub queue_wait: Duration,
}

/// Whether an image can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageState {
    /// The root filesystem is complete at this path.
    Ready(PathBuf),
    /// It is being built; the text says how far.
    Building(String),
    /// Nobody has built it.
    Missing,
    /// Its build failed, or what is there cannot be used; the text says why.
    Broken(String),
}

/// Where the engine asks for images; the binary answers.
pub trait Images: Send + Sync + std::fmt::Debug {
    /// The state of the image of this name now. Called often: must be cheap.
    fn state(&self, image: &str) -> ImageState;
}

/// Whether a language can run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It runs.
    Ready,
    /// Its image is being built or checked; the text says how far.
    Building(String),
    /// Its image has not been built; the text says what the operator can do.
    Missing(String),
    /// It cannot run; the text says why.
    Broken(String),
}

/// Why a submission was not run. The text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// More work is waiting than the queue holds, or the wait was too long.
    #[error("{message}")]
    Busy {
        /// What the client reads.
        message: String,
        /// When to come back.
        retry_after: Duration,
    },
    /// The language cannot run here, or not yet.
    #[error("{message}")]
    Unavailable {
        /// Why, and what the operator can do.
        message: String,
        /// When to come back, where waiting helps.
        retry_after: Option<Duration>,
    },
    /// The sandbox itself failed; the reason is in the log.
    #[error("the sandbox failed; the operator's log says why")]
    Failed,
}

/// Runs submissions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Engine {
    catalog: Arc<Catalog>,
}

impl Engine {
    /// The languages it knows.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Every language of the catalogue and whether it can run, in the
    /// catalogue's order.
    pub fn readiness(&self) -> Vec<(String, Readiness)> {
        Vec::new()
    }

    /// Runs `submission` for `client`. Dropping the future kills the run.
    pub async fn execute(
        &self,
        _submission: Submission,
        _client: IpAddr,
    ) -> Result<Outcome, Refusal> {
        Err(Refusal::Failed)
    }
}
