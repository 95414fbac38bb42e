//! Findings on Valkeys that differ in one thing each.

use super::super::tests::check;
use super::*;

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
        check(
            &products_settings("settings", &settings, 256 << 20),
            grade,
            part,
        );
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
    check(unbounded, Grade::Weak, "all memory of its machine");
    let small = ValkeySettings { max_memory: (1 << 30) - 1, ..durable() };
    check(small, Grade::Weak, "1023 MiB, less than four times");
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
    let unbounded = ValkeySettings { max_memory: 0, ..memory };
    check(unbounded, Grade::Weak, "all memory of its machine");
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

/// The moment of the answer counts, however late the finding is made.
#[test]
fn a_clock_is_compared_as_it_was_read() {
    let late = Duration::from_secs(10);
    let then = Instant::now() - late;
    let passed = time_at(then + late) - time_at(then);
    assert!(passed.abs_diff(late) < MAX_CLOCK_DIFFERENCE, "{passed:?}");
}

#[test]
fn users_have_the_rights_that_they_need() {
    let check_of = |of, is_open, rights, keeps_file, grade, part| {
        let found = users(of, "users", is_open, rights, keeps_file);
        check(&found, grade, part);
    };
    let check = |is_open, rights, keeps_file, grade, part| {
        check_of(Part::Limits, is_open, rights, keeps_file, grade, part);
    };
    let packaged = Rights { can_replay: true, ..Rights::default() };
    let lossy = Rights { can_replay: false, ..packaged.clone() };
    let needless = vec!["FLUSHALL", "KEYS x"];
    let wide = Rights { needless, ..packaged.clone() };
    check(false, Some(&packaged), true, Grade::Good, "nothing but their work");
    check(true, Some(&packaged), true, Grade::Weak, "whoever reaches it");
    check(false, None, true, Grade::Weak, "not checked");
    check(false, Some(&lossy), true, Grade::Missing, "loses all data");
    check(false, Some(&lossy), false, Grade::Good, "nothing but their work");
    check(false, Some(&wide), true, Grade::Weak, "run: FLUSHALL, KEYS x");
    let lacking = vec!["FCALL x 1 sp1:x"];
    let narrow = Some(&Rights { lacking, ..wide.clone() });
    check(false, narrow, true, Grade::Weak, "FCALL x 1 sp1:x; each node");
    let products = Part::Products(1);
    check_of(products, false, narrow, true, Grade::Missing, "answered 503");
}

/// Of these, the user and password are right.
#[test]
fn a_busy_valkey_is_waited_for() {
    let url: ServerUrl = "valkey://user:secret@h".parse().unwrap();
    let check = |is_busy, part| {
        let reason = "it answered LOADING".to_owned();
        let reason = NoAnswer { reason, is_busy };
        for finding in [
            not_checked("users", &reason),
            unreachable(Part::Limits, &url, &reason),
        ] {
            check(&finding, Grade::Weak, "it answered LOADING");
            assert!(finding.fix.contains(part), "{part:?}: {}", finding.fix);
        }
    };
    check(true, "wait until it has read its file");
    check(false, "the user and password of");
}
