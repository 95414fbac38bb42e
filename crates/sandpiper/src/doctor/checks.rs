//! The checks: from facts to findings.

#[cfg(test)]
mod tests;

use std::fmt::Display;

use sandpiper_engine::{
    Controllers, Host, ImageState, NO_CORE, QUEUE_BYTES, QUEUED_SIGNALS,
};

use super::Finding;
use crate::machine::{HardLimits, Machine};

/// What the machine's own files tell. `binary` is the path of this program.
pub(crate) fn machine(machine: &Machine, binary: &str) -> Vec<Finding> {
    vec![
        Finding::good("kernel", format!("Linux {}", machine.kernel)),
        user(machine),
        user_namespaces(machine),
        apparmor(machine, binary),
        proc(machine),
        seccomp(machine),
        landlock(machine),
        overlay(machine),
        mmdebstrap(machine),
        core_handler(machine),
    ]
}

/// Whether as many boxes as run at once can each have their own limits of what
/// the kernel counts for all boxes of a user together.
pub(crate) fn queues_fit(boxes: usize, machine: &Machine) -> Finding {
    const SUBJECT: &str = "queues";
    let fits = |each: u64, limit: Option<u64>| {
        machine.may_raise_limits
            || limit
                .is_none_or(|hard| each.saturating_mul(boxes as u64) <= hard)
    };
    let HardLimits { queues, signals, .. } = machine.hard_limits;
    if fits(QUEUE_BYTES, queues) && fits(QUEUED_SIGNALS, signals) {
        return Finding::good(SUBJECT, "each box has its own limits");
    }
    Finding::weak(
        SUBJECT,
        format!(
            "{boxes} boxes share this user's limits on message queues and \
             queued signals: one program can leave the others none"
        ),
    )
    .mend(
        "systemd unit: LimitMSGQUEUE=infinity and LimitSIGPENDING=infinity\n\
         limits.conf(5): USER hard msgqueue unlimited, and sigpending",
    )
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
                "lower --boxes ({fit} fit), or --compile-memory and --memory: \
                 else the kernel may kill programs that are within their \
                 limits, or the server"
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

/// What came of a language's sample program, as `images check` says it.
pub(crate) fn language(id: &str, found: &str) -> Finding {
    let subject = format!("language {id}");
    if found == "ok" {
        return Finding::good(&subject, "its sample program runs");
    }
    Finding::missing(&subject, found)
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
        devices(host.has_own_devices()),
    ]
}

fn devices(are_own: bool) -> Finding {
    const SUBJECT: &str = "device nodes";
    if are_own {
        return Finding::good(SUBJECT, "each box has its own");
    }
    Finding::weak(
        SUBJECT,
        "boxes have the host's: a program that locks /dev/null keeps others \
         from running that lock it, as C# does, on the host as well",
    )
    .mend("start as root, which can make nodes")
}

/// A crash in a box is no affair of the host's.
fn core_handler(machine: &Machine) -> Finding {
    const SUBJECT: &str = "core dumps";
    let has_handler = machine.core_pattern.starts_with('|');
    let is_too_low = machine.hard_limits.core.is_some_and(|it| it < NO_CORE);
    if !has_handler || !is_too_low || machine.may_raise_limits {
        return Finding::good(SUBJECT, "no program's crash is seen outside");
    }
    Finding::weak(
        SUBJECT,
        "the hard limit on core files is 0: each crash of a program starts \
         the host's core handler, as root (kernel.core_pattern)",
    )
    .mend("systemd unit: LimitCORE=1\nlimits.conf(5): USER hard core 1")
}

fn control_groups(controllers: Controllers, groups: &str) -> Finding {
    const SUBJECT: &str = "limits";
    let parts = controllers.by_name().into_iter();
    let lacking: Vec<&str> = parts
        .filter(|&(_, is_there)| !is_there)
        .map(|(name, _)| name)
        .collect();
    if lacking.is_empty() {
        return Finding::good(SUBJECT, groups);
    }
    let found = format!("{groups}; no limits on {}", lacking.join(", "));
    let finding = if controllers.memory && controllers.processes {
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

/// A wall inside a box: MySQL's client is locked up with it.
fn landlock(machine: &Machine) -> Finding {
    const SUBJECT: &str = "Landlock";
    let Some(modules) = machine.security_modules.as_deref() else {
        return Finding::weak(
            SUBJECT,
            "not known, as /sys/kernel/security/lsm cannot be read",
        )
        .mend("mount -t securityfs securityfs /sys/kernel/security");
    };
    if modules.split(',').any(|module| module == "landlock") {
        return Finding::good(SUBJECT, "on");
    }
    Finding::weak(
        SUBJECT,
        "off: in its box, MySQL's client can read the server's files",
    )
    .mend(
        "use a kernel with CONFIG_SECURITY_LANDLOCK=y, and name landlock in \
         its lsm= parameter",
    )
}

/// With it, the files of an image are each box's own but for their content.
fn overlay(machine: &Machine) -> Finding {
    const SUBJECT: &str = "overlayfs";
    if machine.has_overlay {
        return Finding::good(SUBJECT, "there");
    }
    Finding::weak(
        SUBJECT,
        "not there: a program can lock files of its image, and keep others \
         that lock them from running",
    )
    .mend("modprobe overlay, or a kernel with CONFIG_OVERLAY_FS=y")
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
    // With which pip and npm check where they download from.
    if !machine.has_certificates {
        packages.push("ca-certificates");
    }
    // mmdebstrap makes its own user namespace when it is not root.
    if !machine.is_root && !machine.has_newuidmap {
        packages.push("uidmap");
    }
    if packages.is_empty() {
        return Finding::good(
            SUBJECT,
            "mmdebstrap, Debian's keys and certificates are there",
        );
    }
    let packages = packages.join(" ");
    Finding::weak(SUBJECT, format!("images cannot be built without {packages}"))
        .mend(format!("sudo apt-get install {packages}"))
}
