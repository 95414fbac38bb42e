//! The tables of docs/limits.md and the code have the same limits.

use std::time::Duration;

use sandpiper_engine::{Limits, languages, limits};
use sandpiper_sandbox as sandbox;
use sandpiper_server::limits as http;
use sandpiper_testkit::read;

#[test]
fn the_page_has_the_limits_as_they_are() {
    let rows = rows("docs/limits.md");
    let mut expected = limits_of_runs();
    expected.extend(limits_of_requests());
    expected.extend(limits_of_connections());
    expected.extend(limits_of_the_server());
    assert_eq!(rows.len(), expected.len(), "a row more, or one missing");
    for (row, (name, default)) in rows.iter().zip(expected) {
        check(row, name, &default);
    }
}

#[test]
fn the_readme_has_some_of_them() {
    let page = rows("docs/limits.md");
    let readme = rows("README.md");
    assert_eq!(readme.len(), 6, "the limits that people meet");
    for [limit, default, _, flag] in readme {
        let found = page.iter().find(|row| row[3] == flag && row[0] == limit);
        let found = found.unwrap_or_else(|| panic!("no such row: {limit}"));
        assert_eq!(found[1], default, "{limit}");
    }
}

/// The rows of all tables of a page whose first column is a limit.
fn rows(page: &str) -> Vec<[String; 4]> {
    let text = read(page);
    let mut rows = Vec::new();
    for table in text.split("\n| limit |").skip(1) {
        // The lines of the heading are the first two.
        let table = table.lines().skip(2);
        rows.extend(table.map_while(|line| line.strip_prefix("| ")).map(row));
    }
    assert!(!rows.is_empty(), "{page}: no table of limits");
    rows
}

fn row(line: &str) -> [String; 4] {
    let cells = line.trim_end_matches('|').split('|');
    let cells: Vec<String> = cells.map(|cell| cell.trim().to_owned()).collect();
    cells.try_into().expect("four columns in each row")
}

fn check(
    [limit, shown, reached, flag]: &[String; 4],
    name: &str,
    default: &str,
) {
    let flag = flag.trim_matches('`');
    assert_eq!(if flag.is_empty() { limit } else { flag }, name);
    assert_eq!(shown, default, "{name}");
    // The lines that a client reads name the limit as well.
    for message in reached.split("exceeded: ").skip(1) {
        let (named, _) = message.split_once('`').expect("its end");
        assert_eq!(named, default, "{name}");
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes / limits::MIB)
}

fn bytes(bytes: usize) -> String {
    format!("{bytes} bytes")
}

fn kibibytes(bytes: u64) -> String {
    format!("{} KiB", bytes >> 10)
}

/// The rows in the page's order: the flag, or else the name, and the default as
/// the page writes it.
fn limits_of_runs() -> Vec<(&'static str, String)> {
    let limits = Limits::default();
    vec![
        ("--run-wall-time", seconds(limits.run_wall_time)),
        ("--run-cpu-time", seconds(limits.run_cpu_time)),
        ("--compile-wall-time", seconds(limits.compile_wall_time)),
        (
            "wall clock and CPU time of finding the line of a crash",
            format!(
                "a quarter of that of the compile step: {}",
                seconds(limits.crash_time())
            ),
        ),
        ("--memory", mebibytes(limits.memory_bytes)),
        ("--compile-memory", mebibytes(limits.compile_memory_bytes)),
        ("--processes", limits.processes.to_string()),
        ("--file-size", mebibytes(limits.file_bytes)),
        ("--disk-size", mebibytes(limits.disk_bytes)),
        ("--inodes", limits.inodes.to_string()),
        ("--open-files", limits.open_files.to_string()),
        ("--live-wall-time", seconds(limits.live_wall_time)),
        ("--live-idle-time", seconds(limits.live_idle_time)),
        ("--output-size", mebibytes(limits.output_bytes)),
        ("files that a run returns", limits::MAX_FILES.to_string()),
        ("--artifact-size", mebibytes(limits::FILES_BYTES)),
        ("wall clock of reading these files", seconds(limits::FILES_TIME)),
        ("files that are listed as skipped", sandbox::MAX_SKIPPED.to_string()),
        (
            "sockets that are not Unix sockets, such as those of TCP and UDP",
            sandbox::MAX_SOCKETS.to_string(),
        ),
        ("Unix sockets", sandbox::MAX_UNIX_SOCKETS.to_string()),
        ("locks of files", sandbox::MAX_LOCKS.to_string()),
        (
            "memory that the kernel takes for open files, mappings and the like",
            mebibytes(sandbox::MAX_KERNEL_BYTES),
        ),
    ]
}

/// The default of `ServeArgs::engine_settings`, which depends on the machine.
const LIVE_BOXES: &str = "as many as `--boxes`, but no more than fit into an \
                          eighth of the machine's memory. Each counts with \
                          the larger of `--memory` and `--compile-memory`";

fn limits_of_requests() -> Vec<(&'static str, String)> {
    let boxes = format!(
        "one per CPU core, at least {}, at most {}",
        limits::MIN_BOXES,
        limits::MAX_DEFAULT_BOXES
    );
    vec![
        ("body of a compile request", mebibytes(http::COMPILE_BODY_BYTES)),
        ("files in it", http::COMPILE_FILES.to_string()),
        ("path of a file", bytes(languages::MAX_PATH_BYTES)),
        (
            "a segment of this path, between slashes",
            bytes(languages::MAX_SEGMENT_BYTES),
        ),
        ("arguments of the program", languages::MAX_ARGS.to_string()),
        ("one argument", bytes(languages::MAX_ARG_BYTES)),
        ("all arguments together", bytes(languages::MAX_ARGS_BYTES)),
        ("patterns of files to return", http::ARTIFACT_PATTERNS.to_string()),
        ("one of these patterns", bytes(http::ARTIFACT_PATTERN_BYTES)),
        ("--compile-rate-limit", http::COMPILE_REQUESTS_PER_MINUTE.to_string()),
        ("--boxes", boxes),
        ("--queue", limits::QUEUE_LENGTH.to_string()),
        ("--queue-wait", seconds(limits::QUEUE_WAIT)),
        ("--live-boxes", LIVE_BOXES.to_owned()),
        (
            "body of a request that sends input to a run",
            kibibytes(http::LIVE_INPUT_BODY_BYTES),
        ),
        (
            "input that waits for a run, besides its pipe",
            kibibytes(http::LIVE_INPUT_WAITING as u64),
        ),
        ("requests that send input to one run", http::LIVE_INPUTS.to_string()),
        (
            "all input that is sent to one run",
            mebibytes(http::LIVE_INPUT_BYTES as u64),
        ),
        ("body of a products request", mebibytes(http::PRODUCT_BODY_BYTES)),
        ("--products-memory", mebibytes(http::PRODUCTS_BYTES)),
    ]
}

fn limits_of_connections() -> Vec<(&'static str, String)> {
    let answers = mebibytes(http::ANSWERS_BYTES);
    vec![
        ("connections", http::CONNECTIONS.to_string()),
        ("connections of a client", http::CLIENT_CONNECTIONS.to_string()),
        (
            "connections of a client that wait, besides these",
            http::CLIENT_CONNECTIONS_WAITING.to_string(),
        ),
        ("head of a request", kibibytes(http::HEAD_BYTES as u64)),
        ("headers of a request", http::HEADERS.to_string()),
        ("time for a head, the wait for it included", seconds(http::HEAD_TIME)),
        ("time for a body", seconds(http::BODY_TIME)),
        ("all bodies over 64 KiB at once", mebibytes(http::BODIES_BYTES)),
        (
            "time to read an answer, and 1 s for each 64 KiB that was read",
            seconds(http::ANSWER_TIME),
        ),
        (
            "large answers of products that clients have not read",
            format!("{answers}, and `--products-memory` besides"),
        ),
        ("other large answers that clients have not read", answers),
        (
            "clients that the rate limit knows",
            http::RATE_LIMIT_CLIENTS.to_string(),
        ),
        (
            "admitted requests that the rate limit knows, of all clients",
            http::RATE_LIMIT_REQUESTS.to_string(),
        ),
    ]
}

fn limits_of_the_server() -> Vec<(&'static str, String)> {
    let warm_memory = format!(
        "a quarter of the machine's, at most {}",
        mebibytes(limits::POOL_MEMORY_BYTES)
    );
    vec![
        ("boxes in all", sandbox::MAX_BOXES.to_string()),
        ("time to make a box", seconds(limits::MAKE_TIME)),
        ("--warm-memory", warm_memory),
        (
            "boxes made ahead, besides 4 for each that may run",
            limits::POOL_BOXES.to_string(),
        ),
        (
            "boxes of one kind made ahead",
            limits::POOL_BOXES_PER_KEY.to_string(),
        ),
        ("age of a box made ahead", seconds(limits::POOL_BOX_AGE)),
        ("time to make a box ahead", seconds(limits::MAKE_AHEAD_TIME)),
        ("--compile-cache", mebibytes(limits::COMPILE_CACHE_BYTES)),
    ]
}
