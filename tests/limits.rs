//! The table of limits that people read is that of the code.

use std::fs;
use std::path::Path;

use sandpiper_engine::{Limits, limits};
use sandpiper_server::limits as http;

#[test]
fn the_readme_has_the_limits_as_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = root.join("README.md");
    let text = fs::read_to_string(readme).unwrap();
    let table = text.split("## Limits").nth(1).unwrap();
    let table = table.split("##").next().unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let mut expected = expected_limits();
    expected.extend(expected_limits_of_connections());
    assert_eq!(rows.len(), expected.len(), "a row more, or one missing");
    for (row, (name, default)) in rows.iter().zip(expected) {
        let [limit, shown, reached, flag] = row[..] else {
            panic!("a row has four columns: {row:?}");
        };
        let flag = flag.trim_matches('`');
        assert_eq!(if flag.is_empty() { limit } else { flag }, name);
        assert_eq!(shown, default, "{name}");
        // What the client reads names the limit as well.
        if let Some((_, message)) = reached.split_once("exceeded: ") {
            assert_eq!(message.trim_end_matches('`'), default, "{name}");
        }
    }
}

/// The limits of the README's table in its order: the flag, or else the name,
/// and the default as the table writes it.
fn expected_limits() -> Vec<(&'static str, String)> {
    let seconds = |time: std::time::Duration| format!("{} s", time.as_secs());
    let mebibytes = |bytes: u64| format!("{} MiB", bytes / limits::MIB);
    let of_run = Limits::default();
    let boxes = format!("one per CPU core, at least {}", limits::MIN_BOXES);
    let warm_memory = format!(
        "a quarter of the machine's, at most {}",
        mebibytes(limits::WARM_MEMORY_BYTES)
    );
    vec![
        ("--run-wall-time", seconds(of_run.run_wall_time)),
        ("--run-cpu-time", seconds(of_run.run_cpu_time)),
        ("--compile-wall-time", seconds(of_run.compile_wall_time)),
        ("--memory", mebibytes(of_run.memory_bytes)),
        ("--compile-memory", mebibytes(of_run.compile_memory_bytes)),
        ("--processes", of_run.processes.to_string()),
        ("--file-size", mebibytes(of_run.file_bytes)),
        ("--disk-size", mebibytes(of_run.disk_bytes)),
        ("--inodes", of_run.inodes.to_string()),
        ("--open-files", of_run.open_files.to_string()),
        ("--output-size", mebibytes(of_run.output_bytes)),
        ("body of a compile request", mebibytes(http::COMPILE_BODY_BYTES)),
        ("files in it", http::COMPILE_FILES.to_string()),
        ("--boxes", boxes),
        ("--queue", limits::QUEUE_LENGTH.to_string()),
        ("--queue-wait", seconds(limits::QUEUE_WAIT)),
        ("--compile-rate-limit", http::COMPILE_REQUESTS_PER_MINUTE.to_string()),
        ("body of a products request", mebibytes(http::PRODUCT_BODY_BYTES)),
        ("--products-memory", mebibytes(http::PRODUCTS_BYTES)),
        ("making a box", seconds(limits::PREPARE_TIME)),
        ("--warm-memory", warm_memory),
        ("--artifact-cache", mebibytes(limits::ARTIFACTS_BYTES)),
        (
            "boxes made ahead, besides 4 for each that may run",
            limits::WARM_BOXES.to_string(),
        ),
        ("those of one kind", limits::WARM_BOXES_PER_KEY.to_string()),
        ("age of one that waits", seconds(limits::WARM_BOX_AGE)),
        ("preparing one", seconds(limits::PREPARE_AHEAD_TIME)),
    ]
}

/// The rest of them: the limits of the connections.
fn expected_limits_of_connections() -> Vec<(&'static str, String)> {
    let seconds = |time: std::time::Duration| format!("{} s", time.as_secs());
    let mebibytes = |bytes: u64| format!("{} MiB", bytes / limits::MIB);
    vec![
        ("connections", http::CONNECTIONS.to_string()),
        ("connections of a client", http::CLIENT_CONNECTIONS.to_string()),
        ("head of a request", format!("{} KiB", http::HEAD_BYTES >> 10)),
        ("time for a head, the wait for it included", seconds(http::HEAD_TIME)),
        ("time for a body", seconds(http::BODY_TIME)),
        ("all larger bodies at once", mebibytes(http::BODIES_BYTES)),
        (
            "time to take an answer, and 1 s for each 64 KiB",
            seconds(http::ANSWER_TIME),
        ),
        (
            "large answers that clients have not taken",
            mebibytes(http::ANSWERS_BYTES),
        ),
        (
            "clients that the rate limit knows",
            http::RATE_LIMIT_CLIENTS.to_string(),
        ),
    ]
}
