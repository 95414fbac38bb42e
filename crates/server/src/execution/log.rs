//! One line in the log for each run. It holds numbers and words of our own, and
//! nothing that a client wrote but the language, by our name for it.

use std::time::Duration;

use http::StatusCode;
use sandpiper_engine::{End, Outcome, Output};
use tracing::{debug, info};

use crate::metrics::RunEnd;

use super::RequestInfo;

/// Logs a run that ended, in whatever way.
pub(super) fn run_ended(
    request: &RequestInfo,
    language: &str,
    outcome: &Outcome,
) {
    let (code, signal) = match outcome.end {
        End::Exited(code) => (Some(code), None),
        End::Signaled(signal) => (None, Some(signal)),
        End::Limit(_) | End::Stopped => (None, None),
    };
    let timing = &outcome.timing;
    info!(
        request = %request.id,
        try_of = request.client_request.named_by_proxy(),
        client = %request.client,
        language,
        stage = outcome.stage.word(),
        outcome = RunEnd::of(outcome).word(),
        code,
        signal,
        r#box = outcome.start.map(|start| start.kind.word()),
        compiled_before =
            outcome.start.is_some_and(|it| it.is_compiled).then_some(true),
        queue_ms = milliseconds(timing.queue),
        prepare_ms = milliseconds(timing.prepare),
        compile_ms = timing.compile.map(milliseconds),
        run_ms = timing.run.map(milliseconds),
        stdout_bytes = bytes(&outcome.stdout),
        stderr_bytes = bytes(&outcome.stderr),
        "run"
    );
}

/// Logs a run without an outcome: the client went away, the sandbox failed, or the
/// server has ended.
pub(super) fn given_up(request: &RequestInfo, language: &str, end: RunEnd) {
    info!(
        request = %request.id,
        try_of = request.client_request.named_by_proxy(),
        client = %request.client,
        language,
        outcome = end.word(),
        "run"
    );
}

/// Logs a request that was not run. Mistakes of clients are logged at DEBUG
/// only, since nothing bounds how many they make.
pub(super) fn refused(
    request: &RequestInfo,
    reason: &'static str,
    status: StatusCode,
) {
    let is_own = status.is_server_error() || status == StatusCode::TOO_EARLY;
    let status = status.as_u16();
    let RequestInfo { id, client, client_request, .. } = request;
    let try_of = client_request.named_by_proxy();
    if is_own {
        info!(request = %id, try_of, %client, reason, status, "refused");
    } else {
        debug!(request = %id, try_of, %client, reason, status, "refused");
    }
}

/// Returns the bytes of a stream, with those that were sent before the end.
fn bytes(output: &Output) -> u64 {
    output.bytes_taken + output.bytes.len() as u64
}

/// Returns milliseconds, rounded to a tenth.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e4).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_to_a_tenth() {
        let check = |micros, expected: &str| {
            let time = milliseconds(Duration::from_micros(micros));
            assert_eq!(time.to_string(), expected);
        };
        check(0, "0");
        check(1_249, "1.2");
        check(10_000_060, "10000.1");
    }
}
