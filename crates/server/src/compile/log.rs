//! One line in the log for each run. It holds numbers and words of our own:
//! nothing that a client wrote but the language it chose, by our name for it.

use std::net::IpAddr;
use std::time::Duration;

use http::StatusCode;
use sandpiper_engine::{End, Outcome, Stage, Start, Timing};
use tracing::{debug, info};

use crate::metrics::{RunEnd, stage_word};

use super::request_id::RequestId;

/// The line of a run that ended, in whatever way. It is written when this is
/// dropped: the client need not wait for it, nor a task be woken.
#[derive(Debug)]
pub(super) struct RunLine {
    request: RequestId,
    client: IpAddr,
    language: String,
    stage: Stage,
    end: End,
    word: &'static str,
    start: Start,
    timing: Timing,
    stdout_bytes: usize,
    stderr_bytes: usize,
}

impl RunLine {
    pub(super) fn new(
        request: RequestId,
        client: IpAddr,
        language: String,
        outcome: &Outcome,
    ) -> Self {
        Self {
            request,
            client,
            language,
            stage: outcome.stage,
            end: outcome.end,
            word: RunEnd::of(outcome).word(),
            start: outcome.start,
            timing: outcome.timing,
            stdout_bytes: outcome.stdout.len(),
            stderr_bytes: outcome.stderr.len(),
        }
    }
}

impl Drop for RunLine {
    fn drop(&mut self) {
        let (code, signal) = match self.end {
            End::Exited(code) => (Some(code), None),
            End::Signaled(signal) => (None, Some(signal)),
            End::Limit(_) => (None, None),
        };
        info!(
            request = %self.request,
            client = %self.client,
            language = self.language,
            stage = stage_word(self.stage),
            outcome = self.word,
            code,
            signal,
            r#box = self.start.kind.word(),
            compiled_before = self.start.is_compiled.then_some(true),
            queue_ms = milliseconds(self.timing.queue),
            prepare_ms = milliseconds(self.timing.prepare),
            compile_ms = self.timing.compile.map(milliseconds),
            run_ms = self.timing.run.map(milliseconds),
            stdout_bytes = self.stdout_bytes,
            stderr_bytes = self.stderr_bytes,
            "run"
        );
    }
}

/// A run without an outcome: the client went away, or the sandbox failed.
pub(super) fn given_up(
    request: RequestId,
    client: IpAddr,
    language: &str,
    end: RunEnd,
) {
    info!(%request, %client, language, outcome = end.word(), "run");
}

/// A request that was not run. What clients do wrong is no news, and there is
/// no bound on how often they do it.
pub(super) fn refused(
    request: RequestId,
    client: IpAddr,
    reason: &'static str,
    status: StatusCode,
) {
    let status = status.as_u16();
    if status >= 500 {
        info!(%request, %client, reason, status, "refused");
    } else {
        debug!(%request, %client, reason, status, "refused");
    }
}

/// To a tenth of a millisecond.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e4).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_to_a_tenth() {
        let check = |micros, expected: &str| {
            let time = milliseconds(Duration::from_micros(micros));
            assert_eq!(time.to_string(), expected);
        };
        check(0, "0");
        check(1_249, "1.2");
        check(10_000_060, "10000.1");
    }
}
