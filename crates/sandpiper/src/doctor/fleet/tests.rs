//! Findings on nodes and Valkeys that differ in one thing each.

use super::*;

fn check(finding: &Finding, grade: Grade, part: &str) {
    assert_eq!(finding.grade, grade, "{finding}");
    assert!(finding.found.contains(part), "{part:?}: {finding}");
    assert_eq!(finding.fix.is_empty(), grade == Grade::Good, "{finding}");
}

/// The settings of packaging/fleet/products.conf.
fn durable() -> ValkeySettings {
    ValkeySettings {
        append_only: true,
        append_fsync: "always".to_owned(),
        save: String::new(),
        max_memory: 1 << 30,
        max_memory_policy: "noeviction".to_owned(),
    }
}

#[test]
fn products_are_on_the_disk_before_an_answer() {
    let check = |settings: ValkeySettings, grade, part| {
        check(&products_settings("settings", &settings), grade, part);
    };
    check(durable(), Grade::Good, "before it is answered");
    let fsync = "everysec".to_owned();
    let later = ValkeySettings { append_fsync: fsync, ..durable() };
    check(later, Grade::Weak, "appendfsync everysec");
    let memory = ValkeySettings { append_only: false, ..durable() };
    check(memory.clone(), Grade::Weak, "nothing is kept");
    let save = "3600 1".to_owned();
    check(ValkeySettings { save, ..memory }, Grade::Weak, "snapshots");
    let policy = "volatile-ttl".to_owned();
    let evicts = ValkeySettings { max_memory_policy: policy, ..durable() };
    check(evicts.clone(), Grade::Missing, "removes products (volatile-ttl)");
    let unbounded = ValkeySettings { max_memory: 0, ..evicts };
    check(unbounded, Grade::Good, "before it is answered");
}

#[test]
fn limits_wait_for_no_disk() {
    let check = |settings: ValkeySettings, grade, part| {
        check(&limits_settings("settings", &settings), grade, part);
    };
    check(durable(), Grade::Weak, "waits for its disk");
    let memory = ValkeySettings { append_only: false, ..durable() };
    check(memory.clone(), Grade::Weak, "memory is used up");
    let policy = "volatile-ttl".to_owned();
    let evicts = ValkeySettings { max_memory_policy: policy, ..memory.clone() };
    check(evicts, Grade::Good, "fit");
    check(ValkeySettings { max_memory: 0, ..memory }, Grade::Good, "fit");
}

#[test]
fn clocks_may_differ_by_a_second() {
    let url: ServerUrl = "valkey://user:secret@h".parse().unwrap();
    let check = |theirs: u64, grade, part| {
        let theirs = Duration::from_millis(theirs);
        let found = clock(&url, theirs, Duration::from_secs(100));
        check(&found, grade, part);
        assert!(!found.to_string().contains("secret"), "{found}");
    };
    check(100_000, Grade::Good, "as on this machine");
    check(99_000, Grade::Good, "as on this machine");
    check(98_800, Grade::Weak, "1.2 s behind this machine's");
    check(112_500, Grade::Weak, "12.5 s ahead of this machine's");
}

#[test]
fn a_network_has_more_than_balancers_in_it() {
    let check = |named: &[&str], grade, part| {
        let named: Vec<IpNet> =
            named.iter().map(|text| text.parse().unwrap()).collect();
        check(&proxies(&named), grade, part);
    };
    check(&[], Grade::Weak, "none");
    check(&["10.0.0.1/32", "2001:db8::1/128"], Grade::Good, "10.0.0.1/32, 2");
    check(&["10.0.0.0/24"], Grade::Good, "10.0.0.0/24");
    check(&["10.0.0.1/32", "10.244.0.0/16"], Grade::Weak, "10.244.0.0/16");
    check(&["2001:db8::/64"], Grade::Weak, "any address");
    check(&["::/0"], Grade::Weak, "any address");
}
