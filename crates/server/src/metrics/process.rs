//! The figures that every process gives Prometheus, under the names that are
//! usual: read anew for each scrape. Boxes are other processes.

use std::fmt;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// This process.
#[derive(Debug)]
pub(super) struct Process {
    /// In seconds since 1970.
    started: f64,
}

impl Process {
    /// Takes the present for the start of the process.
    #[expect(clippy::disallowed_methods, reason = "Prometheus asks for a date")]
    pub(super) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self { started: since.unwrap_or_default().as_secs_f64() }
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let cpu = ConstCounter::new(cpu_seconds());
        let metric = encoder.encode_descriptor(
            "process_cpu",
            "CPU time of the server, boxes not included.",
            Some(&Unit::Seconds),
            cpu.metric_type(),
        )?;
        cpu.encode(metric)?;
        let started = ConstGauge::new(self.started);
        let metric = encoder.encode_descriptor(
            "process_start_time",
            "When the server started, since 1970.",
            Some(&Unit::Seconds),
            started.metric_type(),
        )?;
        started.encode(metric)?;
        let status = fs::read_to_string("/proc/self/status");
        let status = status.unwrap_or_default();
        let bytes = |name| field(&status, name).map(|kibi| kibi << 10);
        // Not the one that counts them.
        let open = fs::read_dir("/proc/self/fd")
            .ok()
            .map(|entries| entries.count().saturating_sub(1) as u64);
        let values = [
            (
                "process_resident_memory",
                Some(Unit::Bytes),
                bytes("VmRSS:"),
                "Memory of the server that is not swapped out, boxes not included.",
            ),
            (
                "process_virtual_memory",
                Some(Unit::Bytes),
                bytes("VmSize:"),
                "Address space of the server.",
            ),
            (
                "process_threads",
                None,
                field(&status, "Threads:"),
                "Threads of the server.",
            ),
            ("process_open_fds", None, open, "File descriptors in use."),
            (
                "process_max_fds",
                None,
                getrlimit(Resource::Nofile).current,
                "File descriptors that may be in use.",
            ),
        ];
        for (name, unit, value, help) in values {
            // Figures that the host does not give are left out.
            let Some(value) = value else { continue };
            let gauge = ConstGauge::new(value);
            let kind = gauge.metric_type();
            let metric =
                encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
            gauge.encode(metric)?;
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds fit")]
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the number behind a name in `/proc/self/status`.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_the_number_behind_its_name() {
        let status = "Name:\tVmRSS: 7\nVmRSS:\t  4242 kB\nThreads:\t3\n";
        let check = |name, expected| {
            assert_eq!(field(status, name), expected, "{name}");
        };
        check("VmRSS:", Some(4242));
        check("Threads:", Some(3));
        check("Name:", None);
        check("VmSize:", None);
    }
}
