//! The version of the kernel and its settings, on which some of the isolation depends.

use crate::doctor::Finding;
use crate::machine::Machine;

const SUBJECT: &str = "kernel";
const DISABLE: &str = "net.core.high_order_alloc_disable=1";
const ALLOW_DATA: &str = "net.core.tstamp_allow_data=0";

/// Checks the settings that bound the kernel memory of sockets, which no group is
/// charged for. Linux 6.13 ends the copies of datagrams that come back with a time
/// stamp. Without large pages for networks, a byte that waits in a socket keeps
/// 4 KiB and not 32.
pub(super) fn kernel(machine: &Machine) -> Finding {
    let release = format!("Linux {}", machine.kernel);
    let is_new = version(&machine.kernel).is_none_or(|it| it >= (6, 13));
    let mut settings = vec![(
        DISABLE,
        machine.high_order_alloc_disable.map(|value| value == 1),
    )];
    if !is_new {
        settings.push((
            ALLOW_DATA,
            machine.tstamp_allow_data.map(|value| value == 0),
        ));
    }
    let all = names(&settings);
    settings.retain(|(_, is_set)| *is_set != Some(true));
    if settings.is_empty() {
        return Finding::good(SUBJECT, release);
    }
    let is_known = settings.iter().any(|(_, is_set)| is_set.is_some());
    let names = names(&settings);
    let unless = if is_known {
        String::new()
    } else {
        format!(
            ", unless the host has {names}, which a network namespace (as that \
             of a container) does not show"
        )
    };
    Finding::weak(
        SUBJECT,
        format!(
            "{release}: a program can hold hundreds of MiB of kernel memory \
             beside its limit, by sockets{unless}"
        ),
    )
    // A file of the same name as the package's would hide it. Of two files that
    // have a setting, the last one by name counts.
    .fix(format!(
        "on the host:\n\
         sudo sysctl -w {names}\n\
         printf '%s\\n' {all} | sudo tee /etc/sysctl.d/99-zz-sandpiper.conf"
    ))
}

fn names(settings: &[(&str, Option<bool>)]) -> String {
    let names: Vec<&str> = settings.iter().map(|(name, _)| *name).collect();
    names.join(" ")
}

pub(super) fn user_namespaces(machine: &Machine) -> Finding {
    const SUBJECT: &str = "user namespaces";
    // The file may have the other setting already.
    let permanent = |setting: &str| {
        format!(
            "sudo sysctl -w {setting}\n\
             echo '{setting}' | sudo tee -a /etc/sysctl.d/99-zz-sandpiper-namespaces.conf"
        )
    };
    if machine.max_user_namespaces.is_none() {
        return Finding::missing(SUBJECT, "this kernel does not support them")
            .fix("use a kernel with CONFIG_USER_NS=y");
    }
    if machine.max_user_namespaces == Some(0) {
        return Finding::missing(SUBJECT, "user.max_user_namespaces is 0")
            .fix(permanent("user.max_user_namespaces=15000"));
    }
    // Even if root starts the server, the namespaces of boxes are created by a
    // process that has dropped root.
    if machine.unprivileged_userns_clone == Some(0) {
        let found = "kernel.unprivileged_userns_clone is 0";
        return Finding::missing(SUBJECT, found)
            .fix(permanent("kernel.unprivileged_userns_clone=1"));
    }
    Finding::good(SUBJECT, "allowed")
}

/// Checks for handlers of `binfmt_misc` with the flag `F`. The kernel opened their
/// interpreters on the host and starts them in boxes, too, where a parent of such a
/// process reads its file (/proc/PID/exe).
pub(super) fn interpreters(machine: &Machine) -> Finding {
    const SUBJECT: &str = "foreign programs";
    if machine.open_interpreters.is_empty() {
        return Finding::good(SUBJECT, "the host opens no file for boxes");
    }
    let names = machine.open_interpreters.join(", ");
    Finding::weak(
        SUBJECT,
        format!(
            "programs can read and lock the interpreters that the host has \
             opened for files of other kinds ({names}: binfmt_misc, flag F)"
        ),
    )
    .fix(
        "remove those that nothing needs:\n\
         echo -1 | sudo tee /proc/sys/fs/binfmt_misc/NAME",
    )
}

/// Checks whether the kernel charges the memory that a program takes to its box.
pub(super) fn accounting(machine: &Machine) -> Finding {
    const SUBJECT: &str = "memory accounting";
    let words = machine.command_line.split_ascii_whitespace();
    let mut off = words
        .filter_map(|word| word.strip_prefix("cgroup.memory="))
        .flat_map(|value| value.split(','))
        .filter(|part| ["nokmem", "nosocket"].contains(part));
    if let Some(part) = off.next() {
        let found = format!(
            "off in part (cgroup.memory={part}): a program can take memory of \
             the kernel beside its limit"
        );
        return Finding::weak(SUBJECT, found)
            .fix("remove this from the kernel's command line");
    }
    // Then the kernel also counts memory that is reserved and never used.
    if machine.overcommit_memory == Some(2) {
        return Finding::weak(
            SUBJECT,
            "vm.overcommit_memory is 2: one program can reserve the memory of \
             the whole host",
        )
        .fix("sudo sysctl -w vm.overcommit_memory=0");
    }
    Finding::good(SUBJECT, "a box is charged for its memory")
}

/// Checks whether a program can make the kernel start modprobe. Before Linux 6.14
/// it does so for each file that is executed and has an unknown format. Without
/// IPv6 it does so for each socket of it.
pub(super) fn modules(machine: &Machine) -> Finding {
    const SUBJECT: &str = "modules";
    let is_old = version(&machine.kernel).is_some_and(|it| it < (6, 14));
    let way = match (is_old, machine.has_ipv6) {
        (true, _) => "files of an unknown format (before Linux 6.14)",
        (false, false) => "sockets of IPv6, which this host does not have",
        (false, true) => {
            return Finding::good(
                SUBJECT,
                "no program makes the host load one",
            );
        }
    };
    if machine.modprobe.trim().is_empty() {
        return Finding::good(SUBJECT, "the host loads none");
    }
    Finding::weak(
        SUBJECT,
        format!(
            "a program can start modprobe as root again and again, by {way}"
        ),
    )
    .fix(
        "if the host needs no more modules until its next start (those of \
         firewalls, mounts and containers load at their first use):\n\
         echo | sudo tee /proc/sys/kernel/modprobe",
    )
}

/// Returns the first two numbers of a release such as `6.12.48+deb13-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Grade;

    #[test]
    fn settings_that_a_kernel_needs() {
        let check = |release: &str, allow_data, disable, fix: &str| {
            let facts = Machine {
                kernel: release.to_owned(),
                tstamp_allow_data: allow_data,
                high_order_alloc_disable: disable,
                ..Machine::default()
            };
            let found = kernel(&facts);
            let is_good = found.grade == Grade::Good;
            assert_eq!(is_good, fix.is_empty(), "{release}: {found}");
            assert!(found.fix.contains(fix), "{release}: {found}");
            // Its file may replace one with the other setting, and others of
            // the host may come after the package's.
            let file = found.fix.rsplit("printf ").next().unwrap();
            let is_old = release.starts_with(['5', '6']) && release != "6.13.0";
            let has_all = file.contains(DISABLE)
                && file.contains(ALLOW_DATA) == is_old
                && file.contains("/99-zz-");
            assert!(is_good || has_all, "{release}: {file}");
        };
        const PAGES: &str = "-w net.core.high_order_alloc_disable=1\n";
        const DATA: &str = "-w net.core.tstamp_allow_data=0\n";
        const BOTH: &str = "-w net.core.high_order_alloc_disable=1 \
                            net.core.tstamp_allow_data=0\n";
        check("6.13.0", Some(1), Some(1), "");
        check("6.13.0", Some(1), Some(0), PAGES);
        check("7.0-rc1", None, None, PAGES);
        check("7.0-rc1", None, Some(1), "");
        check("6.12.48+deb13-amd64", Some(0), Some(1), "");
        check("6.12.48+deb13-amd64", Some(1), Some(1), DATA);
        check("6.12.48+deb13-amd64", Some(1), Some(0), BOTH);
        check("6.12.48+deb13-amd64", None, None, BOTH);
        check("6.1.0-41-amd64", Some(0), None, PAGES);
        check("6.1.0-41-amd64", Some(0), Some(1), "");
        check("5.15.0", Some(0), Some(0), PAGES);
        // An unknown form says nothing of what the kernel has.
        check("", None, Some(1), "");
    }

    #[test]
    fn a_setting_that_a_container_hides() {
        let check = |allow_data, disable, is_hidden: bool| {
            let facts = Machine {
                kernel: "6.12.0".to_owned(),
                tstamp_allow_data: allow_data,
                high_order_alloc_disable: disable,
                ..Machine::default()
            };
            let found = kernel(&facts).to_string();
            assert_eq!(found.contains("unless the host"), is_hidden, "{found}");
        };
        check(None, None, true);
        check(Some(0), None, true);
        check(Some(1), None, false);
        check(None, Some(0), false);
    }

    #[test]
    fn memory_is_charged() {
        let check = |command_line: &str, overcommit, expected: Grade| {
            let facts = Machine {
                command_line: command_line.to_owned(),
                overcommit_memory: overcommit,
                ..Machine::default()
            };
            let found = accounting(&facts);
            assert_eq!(found.grade, expected, "{found}");
        };
        check("quiet root=/dev/vda\n", Some(1), Grade::Good);
        check("quiet cgroup.memory=nobpf", None, Grade::Good);
        check("cgroup.memory=nokmem quiet", Some(0), Grade::Weak);
        check("cgroup.memory=nobpf,nosocket\n", Some(0), Grade::Weak);
        check("", Some(2), Grade::Weak);
    }

    #[test]
    fn interpreters_of_the_host() {
        let check = |names: &[&str], expected: Grade| {
            let names = names.iter().map(ToString::to_string);
            let open_interpreters = names.collect();
            let facts = Machine { open_interpreters, ..Machine::default() };
            let found = interpreters(&facts);
            assert_eq!(found.grade, expected, "{found}");
        };
        check(&[], Grade::Good);
        check(&["qemu-aarch64"], Grade::Weak);
    }

    #[test]
    fn modules_for_unknown_files() {
        let check = |release: &str, has_ipv6, modprobe: &str, expected| {
            let facts = Machine {
                kernel: release.to_owned(),
                has_ipv6,
                modprobe: modprobe.to_owned(),
                ..Machine::default()
            };
            let found = modules(&facts);
            assert_eq!(found.grade, expected, "{found}");
        };
        check("6.12.48+deb13-amd64", true, "/sbin/modprobe\n", Grade::Weak);
        check("6.12.48+deb13-amd64", true, "\n", Grade::Good);
        check("6.14.0", true, "/sbin/modprobe\n", Grade::Good);
        check("6.14.0", false, "/sbin/modprobe\n", Grade::Weak);
        check("6.1.0-41-amd64", true, "", Grade::Good);
    }
}
