//! The metrics against what docs/monitoring.md and the alerts say of them.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

use sandpiper_testkit::Exposition;

const MANUAL: &str = include_str!("../../../../docs/monitoring.md");
const ALERTS: &str = include_str!("../../../../packaging/alerts.yaml");

/// Returns the present value of one series.
pub(super) async fn value(server: &TestServer, series: &str) -> f64 {
    Exposition::parse(&server.app.metrics_text().await).values[series]
}

/// The alert for failures counts what a series grows by, so the first one must not
/// begin it.
#[tokio::test]
async fn failures_are_counted_from_0() {
    let server = TestServer::start().await;
    for (route, method) in [("/products", "GET"), ("/api/compile", "POST")] {
        for status in ["500", "other"] {
            let series = format!(
                "sandpiper_http_requests_total{{route=\"{route}\",\
                 method=\"{method}\",status=\"{status}\"}}"
            );
            assert_eq!(value(&server, &series).await, 0.0, "{series}");
        }
    }
}

/// Everything that there can be, after one request and one run. Metrics of shared
/// state are there if a Valkey is named, whether it can be reached or not.
async fn shown() -> Exposition {
    let settings = ServerSettings {
        shared_limits: vec!["valkey://127.0.0.1:1".parse().unwrap()],
        ..ServerSettings::default()
    };
    let server = TestServer::with(settings).await;
    server.compile("echo").await;
    Exposition::parse(&server.app.metrics_text().await)
}

/// The rows of the manual's table: a metric, its type and its labels.
fn table() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let rows = MANUAL.lines().filter(|line| {
        ["| `sandpiper_", "| `process_"]
            .iter()
            .any(|start| line.starts_with(start))
    });
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let bare = |text: &str| text.trim_matches('`').to_owned();
        let labels = cells[3].split(", ").filter(|label| !label.is_empty());
        let kind = cells[2].to_owned();
        (bare(cells[1]), (kind, labels.map(bare).collect()))
    })
    .collect()
}

/// Returns the name of a metric in queries.
fn queried(name: &str, kind: &str) -> String {
    match kind {
        "counter" => format!("{name}_total"),
        "info" => format!("{name}_info"),
        _ => name.to_owned(),
    }
}

#[tokio::test]
async fn the_manual_has_every_metric_and_no_other() {
    let shown = shown().await.families.into_iter().map(|(name, family)| {
        let name = queried(&name, &family.kind);
        (name, (family.kind, family.labels))
    });
    let shown: BTreeMap<_, _> = shown.collect();
    assert_eq!(shown, table());
    assert!(shown.len() > 20);
}

#[tokio::test]
async fn without_shared_valkeys_there_are_no_metrics_of_them() {
    let server = TestServer::start().await;
    let shown = Exposition::parse(&server.app.metrics_text().await);
    for name in ["shared_up", "limited_locally", "repeated"] {
        let name = format!("sandpiper_{name}");
        assert!(!shown.families.contains_key(&name), "{name}");
    }
}

#[tokio::test]
async fn alerts_ask_for_metrics_that_there_are() {
    let table = table();
    let is_part = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let named: BTreeSet<&str> = ALERTS
        .split(is_part)
        .filter(|word| {
            word.starts_with("sandpiper_") || word.starts_with("process_")
        })
        .collect();
    assert!(named.len() > 8, "{named:?}");
    for name in named {
        let plain = ["_bucket", "_count", "_sum"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .filter(|plain| table.contains_key(*plain));
        assert!(table.contains_key(plain.unwrap_or(name)), "{name}");
    }
}

#[tokio::test]
async fn what_is_measured_now_is_shown() {
    let before = date();
    let shown = shown().await;
    let check = |series: &str, value: f64| {
        assert_eq!(shown.values.get(series), Some(&value), "{series}");
    };
    check("sandpiper_boxes_in_use", 1.0);
    check("sandpiper_boxes", 2.0);
    check("sandpiper_live_boxes_in_use", 1.0);
    check("sandpiper_live_boxes", 2.0);
    check("sandpiper_runs_waiting", 3.0);
    check("sandpiper_queue_places", 4.0);
    check("sandpiper_boxes_ready{language=\"python\"}", 5.0);
    check("sandpiper_warm_memory_bytes", 6.0);
    check("sandpiper_warm_memory_limit_bytes", 7.0);
    check("sandpiper_run_boxes_total{language=\"echo\",box=\"cold\"}", 1.0);
    check("sandpiper_compile_cache_bytes", 8.0);
    check("sandpiper_compile_cache_limit_bytes", 9.0);
    check("sandpiper_runs_compiled_before_total{language=\"echo\"}", 1.0);
    check("sandpiper_shared_up{part=\"limits\"}", 0.0);
    check("sandpiper_limited_locally_total", 1.0);
    check("sandpiper_repeated_total", 0.0);
    check("sandpiper_products", 0.0);
    check("sandpiper_products_limit_bytes", f64::from(256 << 20));
    let most = "sandpiper_answer_memory_limit_bytes";
    check(&format!("{most}{{answers=\"products\"}}"), f64::from(512 << 20));
    check(&format!("{most}{{answers=\"others\"}}"), f64::from(256 << 20));
    check("sandpiper_language_ready{language=\"python\"}", 1.0);
    check("sandpiper_language_ready{language=\"c\"}", 0.0);
    let age = "sandpiper_language_proof_age_seconds{language=\"python\"}";
    assert!(shown.values.contains_key(age));
    assert!(!shown.values.contains_key(&age.replace("python", "c")));
    check("sandpiper_runs_total{language=\"echo\",outcome=\"exit_code\"}", 1.0);
    for (name, most) in [
        ("process_resident_memory_bytes", f64::from(1 << 30)),
        ("process_open_fds", 20_000.0),
        ("process_threads", 1_000.0),
    ] {
        let value = shown.values[name];
        assert!(value >= 1.0 && value < most, "{name} {value}");
    }
    let started = shown.values["process_start_time_seconds"];
    assert!((before..=date()).contains(&started));
}

/// In seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "what is shown is a date")]
fn date() -> f64 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64()
}
