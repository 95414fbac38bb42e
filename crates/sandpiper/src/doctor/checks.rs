//! The checks: from facts to findings.

use std::fmt::Display;

use sandpiper_engine::{Controllers, Host, ImageState};

use super::Finding;
use crate::machine::Machine;

/// What the machine's own files tell. `binary` is the path of this program.
pub(crate) fn machine(machine: &Machine, binary: &str) -> Vec<Finding> {
    vec![
        Finding::good("kernel", format!("Linux {}", machine.kernel)),
        user(machine),
        user_namespaces(machine),
        apparmor(machine, binary),
        proc(machine),
        seccomp(machine),
        mmdebstrap(machine),
    ]
}

/// Whether as many boxes as run at once fit into the memory.
pub(crate) fn boxes_fit(
    boxes: usize,
    box_bytes: u64,
    memory_bytes: Option<u64>,
) -> Finding {
    const SUBJECT: &str = "memory";
    let needed = box_bytes.saturating_mul(boxes as u64);
    let each = box_bytes >> 20;
    let needs =
        format!("{boxes} boxes of {each} MiB can take {} MiB", needed >> 20);
    match memory_bytes {
        None => Finding::weak(
            SUBJECT,
            format!("{needs}; this machine's memory is not known"),
        ),
        Some(has) if needed > has => {
            let fit = has / box_bytes.max(1);
            Finding::weak(
                SUBJECT,
                format!("{needs}, this machine has {} MiB", has >> 20),
            )
            .mend(format!(
                "lower --boxes ({fit} fit) or --memory: else the kernel may \
                 kill programs that are within their limits, or the server"
            ))
        }
        Some(has) => Finding::good(
            SUBJECT,
            format!("{needs}, this machine has {} MiB", has >> 20),
        ),
    }
}

/// Whether an image can be used.
pub(crate) fn image(name: &str, state: &ImageState) -> Finding {
    let subject = format!("image {name}");
    let build = format!("sandpiper images build {name}");
    match state {
        ImageState::Ready(rootfs) => {
            Finding::good(&subject, rootfs.display().to_string())
        }
        ImageState::Building(progress) => {
            Finding::weak(&subject, format!("being built: {progress}"))
        }
        ImageState::Missing => {
            Finding::missing(&subject, "not built").mend(build)
        }
        ImageState::Broken(why) => {
            let why = why.trim_end();
            Finding::missing(&subject, format!("broken: {why}")).mend(build)
        }
    }
}

/// What a prepared host offers, or why it could not be prepared.
pub(crate) fn host(host: Result<&Host, &impl Display>) -> Vec<Finding> {
    const BOXES: &str = "boxes";
    let host = match host {
        Ok(host) => host,
        Err(error) => {
            return vec![
                Finding::missing(BOXES, format!("cannot be made: {error}"))
                    .mend("mend what is MISSING above, and look again"),
            ];
        }
    };
    vec![
        Finding::good(BOXES, "namespaces can be made"),
        control_groups(host.controllers(), &host.describe_groups()),
    ]
}

fn control_groups(controllers: Controllers, groups: &str) -> Finding {
    const SUBJECT: &str = "limits";
    let Controllers { memory, processes, cpu_share, cpu_time } = controllers;
    let parts = [
        ("memory", memory),
        ("processes", processes),
        ("CPU shares", cpu_share),
        ("CPU time", cpu_time),
    ];
    let lacking: Vec<&str> = parts
        .iter()
        .filter(|(_, there)| !there)
        .map(|(name, _)| *name)
        .collect();
    if lacking.is_empty() {
        return Finding::good(SUBJECT, groups);
    }
    let found = format!("{groups}; no limits on {}", lacking.join(", "));
    let finding = if memory && processes {
        Finding::weak(SUBJECT, found)
    } else {
        Finding::missing(SUBJECT, found)
    };
    finding.mend(
        "start as root; or have groups delegated, which --cgroup can name:\n\
         systemd-run --user --scope -p Delegate=yes sandpiper serve\n\
         systemd unit: Delegate=yes\n\
         container: --cgroupns=private and a writable /sys/fs/cgroup",
    )
}

fn user(machine: &Machine) -> Finding {
    const SUBJECT: &str = "user ids";
    let Machine { user, .. } = machine;
    if machine.is_root {
        return Finding::good(
            SUBJECT,
            "started as root: each box gets ids of its own, and the server \
             drops root",
        );
    }
    match (machine.has_subordinate_ids, machine.has_newuidmap) {
        (true, true) => Finding::good(
            SUBJECT,
            format!("{user} has subordinate ids: each box gets its own"),
        ),
        (ids, programs) => {
            let mut mend = Vec::new();
            if !programs {
                mend.push("sudo apt-get install uidmap".to_owned());
            }
            if !ids {
                mend.push(format!(
                    "sudo usermod --add-subuids 100000-165535 \
                     --add-subgids 100000-165535 {user}"
                ));
            }
            let found = format!(
                "boxes share the user id of {user}, the server's own: \
                 namespaces alone keep them apart"
            );
            Finding::weak(SUBJECT, found).mend(mend.join("\n"))
        }
    }
}

fn user_namespaces(machine: &Machine) -> Finding {
    const SUBJECT: &str = "user namespaces";
    let permanent = |setting: &str| {
        format!(
            "sudo sysctl -w {setting}\n\
             echo '{setting}' | sudo tee /etc/sysctl.d/60-sandpiper.conf"
        )
    };
    if machine.max_user_namespaces.is_none() {
        return Finding::missing(SUBJECT, "the kernel has none")
            .mend("use a kernel with CONFIG_USER_NS=y");
    }
    if machine.max_user_namespaces == Some(0) {
        return Finding::missing(SUBJECT, "user.max_user_namespaces is 0")
            .mend(permanent("user.max_user_namespaces=15000"));
    }
    // Where root starts the server, its boxes' namespaces are still made by
    // a process that has dropped root.
    if machine.unprivileged_userns_clone == Some(0) {
        let found = "kernel.unprivileged_userns_clone is 0";
        return Finding::missing(SUBJECT, found)
            .mend(permanent("kernel.unprivileged_userns_clone=1"));
    }
    Finding::good(SUBJECT, "allowed")
}

fn apparmor(machine: &Machine, binary: &str) -> Finding {
    const SUBJECT: &str = "AppArmor";
    let profile = machine.apparmor_profile.as_deref().unwrap_or("unconfined");
    if profile.starts_with("docker-") || profile.starts_with("containers-") {
        return Finding::missing(
            SUBJECT,
            format!("the container's profile {profile:?} forbids mounting"),
        )
        .mend("start the container with --security-opt apparmor=unconfined");
    }
    // A program with a profile of its own is ruled by that.
    let ruled = machine.apparmor_restricts_userns.is_some_and(|on| on != 0);
    if !ruled || profile != "unconfined" {
        return Finding::good(SUBJECT, "does not restrict user namespaces");
    }
    Finding::missing(
        SUBJECT,
        "takes all rights away in user namespaces \
         (kernel.apparmor_restrict_unprivileged_userns is 1)",
    )
    .mend(format!(
        "sudo tee /etc/apparmor.d/sandpiper <<'END'\n\
         abi <abi/4.0>,\n\
         include <tunables/global>\n\
         profile sandpiper {binary} flags=(unconfined) {{\n\
         \x20 userns,\n\
         }}\n\
         END\n\
         sudo apparmor_parser -r /etc/apparmor.d/sandpiper"
    ))
}

fn proc(machine: &Machine) -> Finding {
    const SUBJECT: &str = "/proc";
    if machine.proc_is_masked {
        return Finding::missing(
            SUBJECT,
            "parts of it are masked, so boxes cannot have one of their own",
        )
        .mend(
            "container: start it with --security-opt systempaths=unconfined\n\
             systemd unit: leave out ProtectKernelTunables, \
             ProtectKernelLogs and ProtectControlGroups",
        );
    }
    Finding::good(SUBJECT, "whole")
}

fn seccomp(machine: &Machine) -> Finding {
    const SUBJECT: &str = "seccomp";
    let actions = machine.seccomp_actions.as_deref().unwrap_or_default();
    let has = |action| actions.split(' ').any(|name| name == action);
    if has("errno") && has("kill_process") {
        Finding::good(SUBJECT, "filters are there")
    } else {
        Finding::missing(SUBJECT, "the kernel has no filters")
            .mend("use a kernel with CONFIG_SECCOMP_FILTER=y")
    }
}

fn mmdebstrap(machine: &Machine) -> Finding {
    const SUBJECT: &str = "image builder";
    let mut packages = Vec::new();
    if !machine.has_mmdebstrap {
        packages.push("mmdebstrap");
    }
    if !machine.has_debian_keyring {
        packages.push("debian-archive-keyring");
    }
    // mmdebstrap makes its own user namespace when it is not root.
    if !machine.is_root && !machine.has_newuidmap {
        packages.push("uidmap");
    }
    if packages.is_empty() {
        return Finding::good(
            SUBJECT,
            "mmdebstrap and Debian's keys are there",
        );
    }
    let packages = packages.join(" ");
    Finding::weak(SUBJECT, format!("images cannot be built without {packages}"))
        .mend(format!("sudo apt-get install {packages}"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::doctor::Grade;

    /// An ordinary user's machine on which everything is right.
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
            proc_is_masked: false,
            has_subordinate_ids: true,
            has_newuidmap: true,
            has_mmdebstrap: true,
            has_debian_keyring: true,
            memory_bytes: Some(4 << 30),
        }
    }

    #[test]
    fn nothing_is_said_against_a_good_machine() {
        let root = Machine { is_root: true, has_newuidmap: false, ..good() };
        for facts in [good(), root] {
            for finding in machine(&facts, "/usr/bin/sandpiper") {
                assert_eq!(finding.grade, Grade::Good, "{finding}");
                assert!(finding.mend.is_empty(), "{finding}");
            }
        }
    }

    #[test]
    fn each_fault_is_told_once_with_its_cure() {
        let check = |spoil: &dyn Fn(&mut Machine), grade: Grade, cure: &str| {
            let mut facts = good();
            spoil(&mut facts);
            let mut bad = machine(&facts, "/srv/sandpiper");
            bad.retain(|finding| finding.grade != Grade::Good);
            assert_eq!(bad.len(), 1, "{bad:?}");
            assert_eq!(bad[0].grade, grade, "{}", bad[0]);
            assert!(bad[0].mend.contains(cure), "{}", bad[0]);
        };
        use Grade::{Missing, Weak};
        check(&|m| m.max_user_namespaces = None, Missing, "CONFIG_USER_NS");
        let cure = "sysctl -w user.max_user_namespaces=15000";
        check(&|m| m.max_user_namespaces = Some(0), Missing, cure);
        let cure = "sysctl -w kernel.unprivileged_userns_clone=1";
        check(&|m| m.unprivileged_userns_clone = Some(0), Missing, cure);
        let cure = "profile sandpiper /srv/sandpiper flags=(unconfined) {";
        check(&|m| m.apparmor_restricts_userns = Some(1), Missing, cure);
        let docker = |m: &mut Machine| {
            m.apparmor_profile = Some("docker-default (enforce)".to_owned());
        };
        check(&docker, Missing, "apparmor=unconfined");
        check(&|m| m.proc_is_masked = true, Missing, "systempaths=unconfined");
        check(&|m| m.seccomp_actions = None, Missing, "SECCOMP_FILTER");
        check(&|m| m.has_subordinate_ids = false, Weak, "--add-subuids");
        check(&|m| m.has_mmdebstrap = false, Weak, "install mmdebstrap");
        check(
            &|m| m.has_debian_keyring = false,
            Weak,
            "debian-archive-keyring",
        );
    }

    #[test]
    fn a_profile_of_our_own_lifts_the_restriction() {
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
        assert!(finding.mend.contains("(4 fit)"), "{finding}");
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
            let mends = finding.mend.contains("Delegate=yes");
            assert_eq!(mends, grade != Grade::Good, "{finding}");
        };
        check("", Grade::Good);
        check("cpu_share", Grade::Weak);
        check("cpu_share cpu_time", Grade::Weak);
        check("memory", Grade::Missing);
        check("processes", Grade::Missing);
        check("memory processes cpu_share cpu_time", Grade::Missing);
    }

    #[test]
    fn images_have_states() {
        let check = |state: ImageState, grade: Grade, line: &str| {
            let finding = image("native", &state);
            assert_eq!(finding.grade, grade);
            assert!(finding.to_string().contains(line), "{finding}");
        };
        let rootfs = PathBuf::from("/data/rootfs");
        check(ImageState::Ready(rootfs), Grade::Good, "native: /data/rootfs");
        let progress = "unpacking".to_owned();
        let line = "being built: unpacking";
        check(ImageState::Building(progress), Grade::Weak, line);
        let line = "sandpiper images build native";
        check(ImageState::Missing, Grade::Missing, line);
        let why = "no space\n".to_owned();
        check(ImageState::Broken(why), Grade::Missing, "broken: no space\n");
    }
}
