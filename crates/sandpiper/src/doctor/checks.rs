//! The checks, which turn facts about the machine into findings.

mod kernel;
#[cfg(test)]
mod tests;

use std::fmt::Display;

use sandpiper_engine::{
    Controllers, Host, ImageState, NO_CORE, QUEUE_BYTES, QUEUED_SIGNALS,
};

use self::kernel::{
    accounting, interpreters, kernel, modules, user_namespaces,
};
use super::Finding;
use crate::machine::{HardLimits, Machine};

/// Returns the findings on the machine itself. `binary` is the path of this
/// program.
pub(crate) fn machine(machine: &Machine, binary: &str) -> Vec<Finding> {
    vec![
        kernel(machine),
        accounting(machine),
        modules(machine),
        interpreters(machine),
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

/// Checks whether each of the boxes that run at once can have its own limits on
/// message queues and queued signals. The kernel counts these for each user,
/// and so for all boxes of a user together.
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
             queued signals: one program can use them up"
        ),
    )
    .fix(
        "systemd unit: LimitMSGQUEUE=infinity and LimitSIGPENDING=infinity\n\
         limits.conf(5): USER hard msgqueue unlimited\n\
         limits.conf(5): USER hard sigpending unlimited",
    )
}

/// Checks whether the boxes that run at once, live ones included, fit into the
/// memory.
pub(crate) fn boxes_fit(
    boxes: usize,
    box_bytes: u64,
    memory_bytes: Option<u64>,
) -> Finding {
    const SUBJECT: &str = "memory";
    let needed = box_bytes.saturating_mul(boxes as u64);
    let each = box_bytes >> 20;
    let needs =
        format!("{boxes} boxes of {each} MiB can use {} MiB", needed >> 20);
    match memory_bytes {
        None => Finding::weak(
            SUBJECT,
            format!("{needs}; this machine's memory is unknown"),
        ),
        Some(has) if needed > has => {
            let fit = has / box_bytes.max(1);
            Finding::weak(
                SUBJECT,
                format!("{needs}, this machine has {} MiB", has >> 20),
            )
            .fix(format!(
                "lower --boxes and --live-boxes ({fit} fit together), or lower \
                 --compile-memory and --memory: otherwise the kernel may kill \
                 the server, or programs that are within their limits"
            ))
        }
        Some(has) => Finding::good(
            SUBJECT,
            format!("{needs}, this machine has {} MiB", has >> 20),
        ),
    }
}

/// Checks whether an image, which the command `build` builds, can be used.
pub(crate) fn image(name: &str, state: &ImageState, build: String) -> Finding {
    let subject = format!("image {name}");
    match state {
        ImageState::Ready(rootfs) => {
            Finding::good(&subject, rootfs.display().to_string())
        }
        ImageState::Building(progress) => {
            Finding::weak(&subject, format!("being built: {progress}"))
        }
        ImageState::Missing => {
            Finding::missing(&subject, "not built").fix(build)
        }
        ImageState::Broken(why) => {
            let why = why.trim_end();
            Finding::missing(&subject, format!("broken: {why}")).fix(build)
        }
    }
}

/// Returns the finding on a language, from its line of `images check`.
pub(crate) fn language(id: &str, found: &str) -> Finding {
    let subject = format!("language {id}");
    if found == "ok" {
        return Finding::good(&subject, "its sample program runs");
    }
    Finding::missing(&subject, found)
}

/// Returns the findings on a host that is set up, or why it could not be.
pub(crate) fn host(host: Result<&Host, &impl Display>) -> Vec<Finding> {
    const BOXES: &str = "boxes";
    let host = match host {
        Ok(host) => host,
        Err(error) => {
            return vec![
                Finding::missing(BOXES, format!("cannot be made: {error}"))
                    .fix("fix the MISSING items above, then run doctor again"),
            ];
        }
    };
    vec![
        Finding::good(BOXES, "namespaces can be created"),
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
        "boxes share the host's: a program that locks /dev/null blocks all \
         others that lock it, as C# does, on the host as well",
    )
    .fix("start the server as root with CAP_MKNOD and CAP_SYS_ADMIN")
}

/// Checks whether a crash in a box starts a program on the host.
fn core_handler(machine: &Machine) -> Finding {
    const SUBJECT: &str = "core dumps";
    if machine.core_pattern.starts_with('@') {
        return Finding::weak(
            SUBJECT,
            "kernel.core_pattern names a socket: each crash of a program \
             connects to it, whatever the limit on core files is",
        )
        .fix("name a program (`|`) or a file in kernel.core_pattern");
    }
    let has_handler = machine.core_pattern.starts_with('|');
    let is_too_low = machine.hard_limits.core.is_some_and(|it| it < NO_CORE);
    if !has_handler || !is_too_low || machine.may_raise_limits {
        return Finding::good(SUBJECT, "crashes of programs stay in their box");
    }
    Finding::weak(
        SUBJECT,
        "the hard limit on core files is 0: each crash of a program starts \
         the host's core handler as root (kernel.core_pattern)",
    )
    .fix("systemd unit: LimitCORE=1\nlimits.conf(5): USER hard core 1")
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
    finding.fix(
        "start as root, or delegate a control group and name it with \
         --cgroup:\n\
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
            "started as root: each box gets its own user ids, and the server \
             drops root",
        );
    }
    match (machine.has_subordinate_ids, machine.has_newuidmap) {
        (true, true) => Finding::good(
            SUBJECT,
            format!(
                "{user} has subordinate ids: each box gets its own user ids"
            ),
        ),
        (ids, programs) => {
            let mut fixes = Vec::new();
            if !programs {
                fixes.push("sudo apt-get install uidmap".to_owned());
            }
            if !ids {
                let first = machine.first_free_id;
                let range = format!("{first}-{}", first + 65_535);
                fixes.push(format!(
                    "sudo usermod --add-subuids {range} --add-subgids {range} \
                     {user}"
                ));
            }
            let found = format!(
                "boxes share the server's user id, {user}: only namespaces \
                 separate them"
            );
            Finding::weak(SUBJECT, found).fix(fixes.join("\n"))
        }
    }
}

fn apparmor(machine: &Machine, binary: &str) -> Finding {
    const SUBJECT: &str = "AppArmor";
    let profile = machine.apparmor_profile.as_deref().unwrap_or("unconfined");
    // Of Docker, podman, and containerd in Kubernetes.
    let of_runtimes = ["docker-", "containers-", "cri-containerd"];
    if of_runtimes.iter().any(|it| profile.starts_with(it)) {
        return Finding::missing(
            SUBJECT,
            format!("the container's profile {profile:?} forbids mounting"),
        )
        .fix("start it with apparmor=unconfined, a pod with appArmorProfile Unconfined");
    }
    // A program that has its own profile is subject only to that.
    let restricts = machine.apparmor_restricts_userns.is_some_and(|on| on != 0);
    if !restricts || profile != "unconfined" {
        return Finding::good(SUBJECT, "does not restrict user namespaces");
    }
    Finding::missing(
        SUBJECT,
        "removes all capabilities in user namespaces \
         (kernel.apparmor_restrict_unprivileged_userns is 1)",
    )
    .fix(format!(
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
            "parts of it are masked, so boxes cannot mount their own",
        )
        .fix(
            "container: start it with --security-opt systempaths=unconfined\n\
             systemd unit: remove ProtectKernelTunables, \
             ProtectKernelLogs and ProtectControlGroups",
        );
    }
    if machine.proc_is_read_only {
        return Finding::missing(
            SUBJECT,
            "read-only, so boxes cannot map their ids",
        )
        .fix("mount -o remount,rw /proc");
    }
    Finding::good(SUBJECT, "not masked")
}

fn seccomp(machine: &Machine) -> Finding {
    const SUBJECT: &str = "seccomp";
    let actions = machine.seccomp_actions.as_deref().unwrap_or_default();
    let has = |action| actions.split(' ').any(|name| name == action);
    if has("errno") && has("kill_process") {
        Finding::good(SUBJECT, "supported")
    } else {
        Finding::missing(SUBJECT, "this kernel does not support filters")
            .fix("use a kernel with CONFIG_SECCOMP_FILTER=y")
    }
}

/// Checks for Landlock, which isolates compilers and the MySQL client in their box.
fn landlock(machine: &Machine) -> Finding {
    const SUBJECT: &str = "Landlock";
    let Some(modules) = machine.security_modules.as_deref() else {
        return Finding::weak(
            SUBJECT,
            "unknown: /sys/kernel/security/lsm cannot be read",
        )
        .fix("mount -t securityfs securityfs /sys/kernel/security");
    };
    if modules.split(',').any(|module| module == "landlock") {
        return Finding::good(SUBJECT, "enabled");
    }
    Finding::weak(
        SUBJECT,
        "disabled: a MySQL client can read its server's files, and programs \
         can find out when somebody else compiled the same source",
    )
    .fix(
        "use a kernel with CONFIG_SECURITY_LANDLOCK=y, and name landlock in \
         its lsm= parameter",
    )
}

/// Checks for overlayfs, which gives each box its own inodes of image files.
fn overlay(machine: &Machine) -> Finding {
    const SUBJECT: &str = "overlayfs";
    if machine.has_overlay {
        return Finding::good(SUBJECT, "available");
    }
    Finding::weak(
        SUBJECT,
        "not available: a program that locks files of its image blocks all \
         others that lock them",
    )
    .fix("modprobe overlay, or use a kernel with CONFIG_OVERLAY_FS=y")
}

fn mmdebstrap(machine: &Machine) -> Finding {
    const SUBJECT: &str = "image builder";
    let mut packages = machine.missing_packages.clone();
    // pip and npm need these to verify the hosts that they download from.
    if !machine.has_certificates {
        packages.push("ca-certificates");
    }
    if packages.is_empty() {
        return Finding::good(
            SUBJECT,
            "mmdebstrap, Debian's keys and certificates are installed",
        );
    }
    let packages = packages.join(" ");
    Finding::weak(SUBJECT, format!("images cannot be built without {packages}"))
        .fix(format!("sudo apt-get install {packages}"))
}
