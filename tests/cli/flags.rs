//! Flags, their variables, and wrong values.

use crate::{Sandpiper, text};

/// Checks that the help of a command lists exactly these flags.
fn check_flags(command: &[&str], flags: &[&str]) {
    let args: Vec<&str> = command.iter().chain(&["--help"]).copied().collect();
    let help = Sandpiper::new(&args).output();
    assert!(help.status.success());
    let help = text(&help.stdout);
    for flag in flags {
        let variable = flag.to_uppercase().replace('-', "_");
        let name = format!("--{flag} <");
        let switch = format!("--{flag}\n");
        let listed = help.contains(&name) || help.contains(&switch);
        assert!(listed, "--{flag}: {help}");
        let variable = format!("[env: SANDPIPER_{variable}]");
        assert!(help.contains(&variable), "{variable}: {help}");
    }
    let listed = help.matches("[env: SANDPIPER_").count();
    assert_eq!(listed, flags.len(), "a flag more than {flags:?}: {help}");
}

const COMMON: [&str; 5] =
    ["data-dir", "languages-dir", "image-additions", "log-format", "log-level"];
const SANDBOX: [&str; 15] = [
    "cgroup",
    "allow-missing-limits",
    "run-wall-time",
    "live-wall-time",
    "live-idle-time",
    "run-cpu-time",
    "compile-wall-time",
    "memory",
    "compile-memory",
    "processes",
    "file-size",
    "disk-size",
    "inodes",
    "open-files",
    "output-size",
];

#[test]
fn help_lists_every_flag_and_its_variable() {
    check_flags(&[], &COMMON);
    let serve = [
        "listen",
        "admin-listen",
        "compile-rate-limit",
        "rate-limit-for",
        "shared-limits",
        "shared-products",
        "trusted-proxy",
        "client-header",
        "request-id-from-proxy",
        "elsewhere-status",
        "node-tag",
        "allowed-host",
        "frame-ancestors",
        "preview-origin",
        "products-memory",
        "languages",
        "queue",
        "queue-wait",
        "boxes",
        "live-boxes",
        "check-interval",
        "drain-time",
        "warm-memory",
        "compile-cache",
        "artifact-size",
    ];
    check_flags(&["serve"], &[&serve[..], &SANDBOX, &COMMON].concat());
    let run = ["language", "entry", "interactive", "artifacts", "arg"];
    check_flags(&["run"], &[&run[..], &SANDBOX, &COMMON].concat());
    let images = |command, flags: &[&str]| {
        check_flags(&["images", command], &[flags, &COMMON].concat());
    };
    images("build", &["languages", "mirror", "jobs", "skip-check"]);
    images("lock", &["mirror"]);
    images("list", &["verbose"]);
    images("check", &["cgroup"]);
    images("export", &[]);
    images("import", &["skip-check"]);
    images("remove", &["unused"]);
    let doctor = [
        "cgroup",
        "boxes",
        "live-boxes",
        "memory",
        "compile-memory",
        "languages",
        "programs",
        "fleet",
        "shared-limits",
        "shared-products",
        "operator-url",
        "products-memory",
        "trusted-proxy",
        "request-id-from-proxy",
        "elsewhere-status",
        "node-tag",
    ];
    check_flags(&["doctor"], &[&doctor[..], &COMMON].concat());
}

#[test]
fn the_url_of_a_valkey_is_never_repeated() {
    let serve = ["serve", "--listen=127.0.0.1:0", "--admin-listen=off"];
    let check = |value: &str, expected: &str| {
        let flag = [&serve[..], &["--shared-limits", value]].concat();
        let by_flag = Sandpiper::new(&flag).output();
        let by_variable =
            Sandpiper::new(&serve).env("SANDPIPER_SHARED_LIMITS", value);
        for output in [by_flag, by_variable.output()] {
            let shown = [text(&output.stdout), text(&output.stderr)].concat();
            assert!(!output.status.success(), "{value}: {shown}");
            assert!(shown.contains(expected), "{value}: {shown}");
            assert!(!shown.contains("secret"), "{value}: {shown}");
        }
    };
    check("redis://a:secret@b", "--shared-limits has no URL: it must be like");
    check("valkey://a,valkey://b:secret", "--shared-limits has no URL");
    check("@/nowhere/url", "--shared-limits: cannot read /nowhere/url: ");
}

#[test]
fn an_error_names_a_right_value() {
    let check = |flag: &str, value: &str, expected: &str| {
        let argument = format!("{flag}={value}");
        let by_flag = Sandpiper::new(&["serve", &argument]).output();
        let name = flag.trim_start_matches('-').to_uppercase();
        let name = format!("SANDPIPER_{}", name.replace('-', "_"));
        let by_variable = Sandpiper::new(&["serve"]).env(&name, value).output();
        for output in [by_flag, by_variable] {
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{stderr}");
            assert!(stderr.contains(expected), "{flag} {value}: {stderr}");
            assert!(stderr.contains(flag), "{flag} {value}: {stderr}");
        }
    };
    check("--listen", "8080", "such as 127.0.0.1:8080");
    check("--listen", "example.org:80", "an address as host");
    check("--listen", "127.0.0.1:65536", "such as 127.0.0.1:8080");
    check("--admin-listen", "yes", "or off");
    check("--rate-limit-for", "10.0.0.0/8", "192.0.2.0/24=600");
    check("--rate-limit-for", "10.0.0.0/40=5", "192.0.2.0/24=600");
    check("--trusted-proxy", "10.0.0.256", "such as proxy.example");
    check("--client-header", "X-Real-IP:", "such as X-Forwarded-For");
    check("--elsewhere-status", "429", "425, 502, 503");
    check("--node-tag", "n-1", "such as n1");
    check("--allowed-host", "http://a.example", "such as code.example");
    check("--allowed-host", "a.example:8080", "such as code.example");
    check("--compile-rate-limit", "-1", "a whole number from 0");
    check("--products-memory", "much", "512MiB");
    check("--products-memory", "256", "256 B is too small");
    check("--warm-memory", "256", "256 B is too small");
    check("--frame-ancestors", "*; script-src *", "without `;`");
    check("--queue", "many", "a whole number from 0");
    check("--queue-wait", "soon", "10s, 500ms or 2m");
    check("--boxes", "0", "number from 1 to 500");
    check("--run-wall-time", "0", "at least 1ms");
    check("--run-cpu-time", "ten", "10s, 500ms or 2m");
    check("--memory", "1MiB", "at least 16MiB");
    check("--compile-memory", "1MiB", "at least 16MiB");
    check("--processes", "1", "number from 4 to 32768");
    check("--inodes", "1", "number from 64");
    check("--open-files", "1", "number from 16");
    check("--output-size", "0", "too small");
    check("--log-format", "xml", "text, json");
    check("--log-level", "loud", "loud");
}

#[test]
fn a_wrong_setting_is_reported() {
    let check = |output: std::process::Output, expected: &str| {
        let stderr = text(&output.stderr);
        assert!(!output.status.success(), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    };
    let serve = || Sandpiper::new(&["serve"]);
    check(serve().env("PORT", "http").output(), "0 to 65535");
    check(serve().env("PORT", "70000").output(), "0 to 65535");
    let languages = Sandpiper::new(&["serve", "--languages", "cobol"]);
    check(languages.output(), "the languages are python");
    let switch = serve().env("SANDPIPER_ALLOW_MISSING_LIMITS", "perhaps");
    check(switch.output(), "--allow-missing-limits");
    check(Sandpiper::new(&[]).output(), "Usage: sandpiper");
    check(Sandpiper::new(&["server"]).output(), "serve");
}
