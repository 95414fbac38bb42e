//! The crate against real Valkeys, each started by its test.

#![expect(clippy::unwrap_used, reason = "a failed test stops here")]

mod catalogue;
mod inspect;
mod link;
mod rate_limits;
mod tls;

use std::time::Duration;

/// Longer than anything here takes; reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(60);
