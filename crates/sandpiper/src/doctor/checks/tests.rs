//! Findings on machines that lack one thing each.

use std::path::PathBuf;

use super::*;
use crate::doctor::Grade;

/// The machine of an ordinary user that lacks nothing.
fn good() -> Machine {
    Machine {
        is_root: false,
        user: "ada".to_owned(),
        kernel: "6.12.48".to_owned(),
        max_user_namespaces: Some(15_000),
        unprivileged_userns_clone: None,
        apparmor_restricts_userns: None,
        apparmor_profile: None,
        seccomp_actions: Some("kill_process trap errno".to_owned()),
        security_modules: Some("lockdown,capability,landlock".to_owned()),
        has_overlay: true,
        proc_is_masked: false,
        proc_is_read_only: false,
        has_subordinate_ids: true,
        first_free_id: 165_536,
        has_newuidmap: true,
        missing_packages: Vec::new(),
        has_certificates: true,
        memory_bytes: Some(4 << 30),
        may_raise_limits: false,
        tstamp_allow_data: Some(0),
        high_order_alloc_disable: Some(1),
        core_pattern: "core\n".to_owned(),
        modprobe: String::new(),
        open_interpreters: Vec::new(),
        has_ipv6: true,
        command_line: "quiet\n".to_owned(),
        overcommit_memory: Some(0),
        hard_limits: HardLimits::default(),
    }
}

#[test]
fn a_core_handler_is_weak_if_the_limit_is_0() {
    let check = |pattern: &str, hard, may_raise_limits, expected: Grade| {
        let core_pattern = pattern.to_owned();
        let hard_limits = HardLimits { core: hard, ..HardLimits::default() };
        let facts =
            Machine { core_pattern, hard_limits, may_raise_limits, ..good() };
        let found = core_handler(&facts);
        assert_eq!(found.grade, expected, "{found}");
    };
    check("|/lib/systemd/systemd-coredump %P", Some(0), false, Grade::Weak);
    check("|/lib/systemd/systemd-coredump %P", Some(1), false, Grade::Good);
    check("|/lib/systemd/systemd-coredump %P", None, false, Grade::Good);
    check("|/lib/systemd/systemd-coredump %P", Some(0), true, Grade::Good);
    check("core", Some(0), false, Grade::Good);
    check("@/run/cores.socket", Some(1), true, Grade::Weak);
}

#[test]
fn queues_are_for_all_boxes_together() {
    let check = |queues, signals, may_raise_limits, expected: Grade| {
        let hard_limits = HardLimits { queues, signals, core: None };
        let facts = Machine { hard_limits, may_raise_limits, ..good() };
        let found = queues_fit(4, &facts);
        assert_eq!(found.grade, expected, "{found}");
    };
    check(None, None, false, Grade::Good);
    check(Some(4 * 819_200), Some(4 * 1024), false, Grade::Good);
    check(Some(4 * 819_200 - 1), None, false, Grade::Weak);
    check(None, Some(4 * 1024 - 1), false, Grade::Weak);
    check(Some(819_200), Some(1024), true, Grade::Good);
}

#[test]
fn a_good_machine_needs_no_fix() {
    let root = Machine { is_root: true, has_newuidmap: false, ..good() };
    for facts in [good(), root] {
        for finding in machine(&facts, "/usr/bin/sandpiper") {
            assert_eq!(finding.grade, Grade::Good, "{finding}");
            assert!(finding.fix.is_empty(), "{finding}");
        }
    }
}

#[test]
fn each_fault_is_reported_once_with_its_fix() {
    let check = |spoil: &dyn Fn(&mut Machine), grade: Grade, cure: &str| {
        let mut facts = good();
        spoil(&mut facts);
        let mut bad = machine(&facts, "/srv/sandpiper");
        bad.retain(|finding| finding.grade != Grade::Good);
        assert_eq!(bad.len(), 1, "{bad:?}");
        assert_eq!(bad[0].grade, grade, "{}", bad[0]);
        assert!(bad[0].fix.contains(cure), "{}", bad[0]);
    };
    use Grade::{Missing, Weak};
    check(&|m| m.max_user_namespaces = None, Missing, "CONFIG_USER_NS");
    let cure = "sysctl -w user.max_user_namespaces=15000";
    check(&|m| m.max_user_namespaces = Some(0), Missing, cure);
    let cure = "sysctl -w kernel.unprivileged_userns_clone=1";
    check(&|m| m.unprivileged_userns_clone = Some(0), Missing, cure);
    let cure = "profile sandpiper /srv/sandpiper flags=(unconfined) {";
    check(&|m| m.apparmor_restricts_userns = Some(1), Missing, cure);
    for of_runtime in ["docker-default", "cri-containerd.apparmor.d"] {
        let profile = Some(format!("{of_runtime} (enforce)"));
        let confined = |m: &mut Machine| m.apparmor_profile = profile.clone();
        check(&confined, Missing, "apparmor=unconfined");
    }
    check(&|m| m.proc_is_masked = true, Missing, "systempaths=unconfined");
    check(&|m| m.proc_is_read_only = true, Missing, "remount,rw /proc");
    check(&|m| m.seccomp_actions = None, Missing, "SECCOMP_FILTER");
    check(&|m| m.security_modules = None, Weak, "mount -t securityfs");
    let yama = |m: &mut Machine| {
        m.security_modules = Some("capability,yama".to_owned());
    };
    check(&yama, Weak, "CONFIG_SECURITY_LANDLOCK");
    check(&|m| m.has_overlay = false, Weak, "CONFIG_OVERLAY_FS");
    let ids = "--add-subuids 165536-231071 --add-subgids 165536-231071 ada";
    check(&|m| m.has_subordinate_ids = false, Weak, ids);
    let no_builder = |m: &mut Machine| m.missing_packages = vec!["mmdebstrap"];
    check(&no_builder, Weak, "install mmdebstrap");
    check(&|m| m.has_certificates = false, Weak, "ca-certificates");
}

#[test]
fn the_profile_of_sandpiper_lifts_the_restriction() {
    let facts = Machine {
        apparmor_restricts_userns: Some(1),
        apparmor_profile: Some("sandpiper (unconfined)".to_owned()),
        ..good()
    };
    assert_eq!(apparmor(&facts, "").grade, Grade::Good);
}

#[test]
fn boxes_must_fit() {
    let check = |boxes, mib: u64, has: Option<u64>, grade: Grade| {
        let has = has.map(|mib| mib << 20);
        let finding = boxes_fit(boxes, mib << 20, has);
        assert_eq!(finding.grade, grade, "{finding}");
    };
    check(2, 512, Some(1_024), Grade::Good);
    check(2, 512, Some(1_023), Grade::Weak);
    check(2, 512, None, Grade::Weak);
    check(usize::MAX, 512, Some(1_024), Grade::Weak);
    let finding = boxes_fit(8, 512 << 20, Some(2 << 30));
    assert!(finding.fix.contains("(4 fit together)"), "{finding}");
}

#[test]
fn control_groups_limit_what_counts() {
    let check = |lacking: &str, grade: Grade| {
        let has = |name| !lacking.split(' ').any(|other| other == name);
        let controllers = Controllers {
            memory: has("memory"),
            processes: has("processes"),
            cpu_share: has("cpu_share"),
            cpu_time: has("cpu_time"),
        };
        let finding = control_groups(controllers, "version 2");
        assert_eq!(finding.grade, grade, "{finding}");
        assert!(finding.found.starts_with("version 2"), "{finding}");
        let has_fix = finding.fix.contains("Delegate=yes");
        assert_eq!(has_fix, grade != Grade::Good, "{finding}");
    };
    check("", Grade::Good);
    check("cpu_share", Grade::Weak);
    check("cpu_share cpu_time", Grade::Weak);
    check("memory", Grade::Missing);
    check("processes", Grade::Missing);
    check("memory processes cpu_share cpu_time", Grade::Missing);
}

#[test]
fn device_nodes_of_the_host_are_weak() {
    let check = |are_own, grade: Grade, cure: &str| {
        let finding = devices(are_own);
        assert_eq!(finding.grade, grade, "{finding}");
        assert_eq!(finding.subject, "device nodes");
        assert_eq!(finding.fix, cure);
    };
    check(true, Grade::Good, "");
    let cure = "start the server as root with CAP_MKNOD and CAP_SYS_ADMIN";
    check(false, Grade::Weak, cure);
}

#[test]
fn images_have_states() {
    let check = |state: ImageState, grade: Grade, line: &str| {
        let finding = image("native", &state, "build it".to_owned());
        assert_eq!(finding.grade, grade);
        assert!(finding.to_string().contains(line), "{finding}");
    };
    let rootfs = PathBuf::from("/data/rootfs");
    check(ImageState::Ready(rootfs), Grade::Good, "native: /data/rootfs");
    let progress = "unpacking".to_owned();
    let line = "being built: unpacking";
    check(ImageState::Building(progress), Grade::Weak, line);
    check(ImageState::Missing, Grade::Missing, "build it");
    let why = "no space\n".to_owned();
    check(ImageState::Broken(why), Grade::Missing, "broken: no space\n");
}
