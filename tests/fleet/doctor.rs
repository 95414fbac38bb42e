//! `doctor --fleet` asks Valkeys with the packaged settings and users.

use std::process::Command;

use sandpiper_testkit::program;

use crate::Test;
use crate::valkey::{OPERATOR, PASSWORD, Valkey};

pub(crate) const TESTS: &[(&str, Test)] =
    &[("doctor/asks-valkeys", asks_valkeys)];

fn asks_valkeys() {
    let limits = include_str!("../../packaging/fleet/limits.conf");
    let products = include_str!("../../packaging/fleet/products.conf");
    let valkeys = [limits, products].map(Valkey::packaged);
    let [limits, products] =
        valkeys.each_ref().map(|it| it.url().replace(&login(), ""));
    let ready = [
        format!("ok       shared limits: {limits} is valkey 8."),
        format!("ok       clock of {limits}: as on this machine\n"),
        format!("ok       shared products: {products} is valkey 8."),
    ];
    let seen = |lines: &[String], report: &str| {
        for line in ready.iter().chain(lines) {
            assert!(report.contains(line), "{line:?}: {report}");
        }
    };
    let unseen: Vec<String> = [&limits, &products]
        .iter()
        .flat_map(|url| {
            [
                format!("weak     settings of {url}: not checked: "),
                format!("weak     users of {url}: nobody gets in without a"),
            ]
        })
        .collect();
    seen(&unseen, &report(&valkeys, false));
    let good = [
        format!("ok       settings of {limits}: fit for limits\n"),
        format!(
            "ok       settings of {products}: each change is on the disk before"
        ),
        format!("ok       users of {limits}: nobody gets in without a"),
        format!("ok       users of {products}: nobody gets in without a"),
    ];
    seen(&good, &report(&valkeys, true));
    for valkey in &valkeys {
        valkey.ask(&["ACL", "SETUSER", "sandpiper", "-fcall"]);
    }
    valkeys[1].ask(&["CONFIG", "SET", "appendfsync", "everysec"]);
    let bad = [
        format!("weak     users of {limits}: nodes may not run: FCALL "),
        format!("MISSING  users of {products}: nodes may not run: FCALL "),
        format!("weak     settings of {products}: changes are written after"),
    ];
    seen(&bad, &report(&valkeys, true));
}

/// Returns the report of a node of these, of limits and of products.
fn report(valkeys: &[Valkey; 2], has_operator: bool) -> String {
    let mut command = Command::new(program());
    command.args(["doctor", "--fleet"]);
    let urls = valkeys.each_ref().map(Valkey::url);
    command.env("SANDPIPER_SHARED_LIMITS", &urls[0]);
    command.env("SANDPIPER_SHARED_PRODUCTS", &urls[1]);
    if has_operator {
        let urls = valkeys.each_ref().map(Valkey::operator_url);
        command.env("SANDPIPER_OPERATOR_URL", urls.join(","));
    }
    let output = command.output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    for word in [PASSWORD, OPERATOR] {
        assert!(!report.contains(word), "{report}");
    }
    report
}

/// The words in the URLs of nodes that the report leaves out.
fn login() -> String {
    format!("sandpiper:{PASSWORD}@")
}
