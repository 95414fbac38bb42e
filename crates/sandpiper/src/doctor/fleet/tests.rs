//! Findings on nodes that differ in one thing each.

use super::super::Grade;
use super::*;

pub(super) fn check(finding: &Finding, grade: Grade, part: &str) {
    assert_eq!(finding.grade, grade, "{finding}");
    assert!(finding.found.contains(part), "{part:?}: {finding}");
    assert_eq!(finding.fix.is_empty(), grade == Grade::Good, "{finding}");
}

#[test]
fn a_network_has_more_than_balancers_in_it() {
    let check = |named: &[&str], grade, part| {
        let named: Vec<TrustedProxy> =
            named.iter().map(|text| text.parse().unwrap()).collect();
        // The last one is about a host, if one is named.
        check(proxies(&named).last().unwrap(), grade, part);
    };
    check(&[], Grade::Weak, "none");
    check(&["10.0.0.1/32", "2001:db8::1/128"], Grade::Good, "10.0.0.1/32, 2");
    check(&["10.0.0.0/24"], Grade::Good, "10.0.0.0/24");
    check(&["10.0.0.1/32", "10.244.0.0/16"], Grade::Weak, "10.244.0.0/16");
    check(&["2001:db8::/64"], Grade::Weak, "any address");
    check(&["::/0"], Grade::Weak, "any address");
    check(&["10.0.0.1", "localhost"], Grade::Good, "localhost: 127.0.0.1");
    // No label of a name is so long, so nobody is asked for it.
    check(&[&"a".repeat(64), "10.0.0.0/8"], Grade::Weak, "has no address");
}

#[test]
fn an_operators_url_is_of_a_valkey_of_the_node() {
    let url: ServerUrl = "valkey://operator:secret@h".parse().unwrap();
    let found = operator_of_another(&url);
    check(&found, Grade::Weak, "valkey://h:6379 is no Valkey of this node");
    assert!(!found.to_string().contains("secret"), "{found}");
}
