//! Facts about this machine, from /proc, /sys and /etc.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use sandpiper_engine::{SubordinateIds, memory_limit};

/// Facts that decide whether boxes can be made here. If a file is missing, its fact
/// is `None`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// Whether this process is root.
    pub(crate) is_root: bool,
    /// The name of the user, or its number.
    pub(crate) user: String,
    /// The kernel's release, such as `6.12.48`.
    pub(crate) kernel: String,
    /// `user.max_user_namespaces`.
    pub(crate) max_user_namespaces: Option<u64>,
    /// Debian's `kernel.unprivileged_userns_clone`.
    pub(crate) unprivileged_userns_clone: Option<u64>,
    /// Ubuntu's `kernel.apparmor_restrict_unprivileged_userns`.
    pub(crate) apparmor_restricts_userns: Option<u64>,
    /// The AppArmor profile that this process runs under, if any.
    pub(crate) apparmor_profile: Option<String>,
    /// The actions that seccomp filters may use.
    pub(crate) seccomp_actions: Option<String>,
    /// The kernel's security modules.
    pub(crate) security_modules: Option<String>,
    /// Whether the kernel has overlayfs, or can load it.
    pub(crate) has_overlay: bool,
    /// Whether something is mounted over parts of /proc.
    pub(crate) proc_is_masked: bool,
    /// Whether /proc is mounted read-only.
    pub(crate) proc_is_read_only: bool,
    /// Ids that the user may map, from /etc/subuid and /etc/subgid.
    pub(crate) has_subordinate_ids: bool,
    /// The first id from which on no user may map any.
    pub(crate) first_free_id: u64,
    /// Whether newuidmap and newgidmap are installed.
    pub(crate) has_newuidmap: bool,
    /// The Debian packages that builds of images lack.
    pub(crate) missing_packages: Vec<&'static str>,
    /// Whether root certificates are installed.
    pub(crate) has_certificates: bool,
    /// The memory that this process can use, in bytes.
    pub(crate) memory_bytes: Option<u64>,
    /// Whether this process may raise its hard limits.
    pub(crate) may_raise_limits: bool,
    /// `net.core.tstamp_allow_data`.
    pub(crate) tstamp_allow_data: Option<u64>,
    /// `net.core.high_order_alloc_disable`. Network namespaces do not show it.
    pub(crate) high_order_alloc_disable: Option<u64>,
    /// `kernel.core_pattern`.
    pub(crate) core_pattern: String,
    /// `kernel.modprobe`. Empty if the kernel loads no modules.
    pub(crate) modprobe: String,
    /// The handlers of `binfmt_misc` whose interpreter the host has opened.
    pub(crate) open_interpreters: Vec<String>,
    /// Whether the kernel has IPv6.
    pub(crate) has_ipv6: bool,
    /// The kernel's command line.
    pub(crate) command_line: String,
    /// `vm.overcommit_memory`.
    pub(crate) overcommit_memory: Option<u64>,
    /// Hard limits of this process.
    pub(crate) hard_limits: HardLimits,
}

/// Hard limits, as in getrlimit(2); `None` is unlimited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HardLimits {
    pub(crate) core: Option<u64>,
    /// Bytes in message queues.
    pub(crate) queues: Option<u64>,
    /// Queued signals.
    pub(crate) signals: Option<u64>,
}

impl Machine {
    /// Reads the facts.
    pub(crate) fn read() -> Self {
        let SubordinateIds { user, has_ids, first_free, has_newuidmap } =
            SubordinateIds::read();
        let kernel = |name: &str| number(&format!("/proc/sys/kernel/{name}"));
        let release = text("/proc/sys/kernel/osrelease").trim().to_owned();
        let modules = format!("/lib/modules/{release}/modules.dep");
        let mounts = text("/proc/self/mountinfo");
        Self {
            is_root: rustix::process::geteuid().is_root(),
            kernel: release,
            max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            unprivileged_userns_clone: kernel("unprivileged_userns_clone"),
            apparmor_restricts_userns: kernel(
                "apparmor_restrict_unprivileged_userns",
            ),
            apparmor_profile: filled(text("/proc/self/attr/apparmor/current")),
            seccomp_actions: filled(text(
                "/proc/sys/kernel/seccomp/actions_avail",
            )),
            security_modules: filled(text("/sys/kernel/security/lsm")),
            has_overlay: has_overlay(
                &text("/proc/filesystems"),
                &text(&modules),
            ),
            proc_is_masked: is_masked(&mounts),
            proc_is_read_only: is_read_only(&mounts),
            has_subordinate_ids: has_ids,
            first_free_id: first_free,
            has_newuidmap,
            missing_packages: missing_packages(),
            has_certificates: Path::new("/etc/ssl/certs/ca-certificates.crt")
                .exists(),
            memory_bytes: memory_bytes(),
            may_raise_limits: may_raise_limits(),
            tstamp_allow_data: number("/proc/sys/net/core/tstamp_allow_data"),
            high_order_alloc_disable: number(
                "/proc/sys/net/core/high_order_alloc_disable",
            ),
            open_interpreters: open_interpreters(&mounts),
            core_pattern: text("/proc/sys/kernel/core_pattern"),
            modprobe: text("/proc/sys/kernel/modprobe"),
            has_ipv6: Path::new("/proc/net/if_inet6").exists(),
            command_line: text("/proc/cmdline"),
            overcommit_memory: number("/proc/sys/vm/overcommit_memory"),
            hard_limits: hard_limits(),
            user,
        }
    }
}

/// Returns the memory that this process can use, in bytes: that of the machine, or
/// the limit of its control group or of one above.
pub(crate) fn memory_bytes() -> Option<u64> {
    let machine = memory_total(&text("/proc/meminfo"));
    [machine, memory_limit()].into_iter().flatten().min()
}

/// Returns whether this process was started so that it ignores SIGHUP, as `nohup`
/// does it.
pub(crate) fn ignores_hangup() -> bool {
    let status = text("/proc/self/status");
    let ignored = status.lines().find_map(|line| {
        let signals = line.strip_prefix("SigIgn:")?.trim();
        u64::from_str_radix(signals, 16).ok()
    });
    // The lowest bit is that of signal 1.
    ignored.is_some_and(|signals| signals & 1 == 1)
}

/// Returns whether this process may raise its hard limits. That needs a capability
/// in the machine's initial user namespace; one in a container's is not enough.
fn may_raise_limits() -> bool {
    let map = text("/proc/self/uid_map");
    let is_initial = map.split_whitespace().eq(["0", "0", "4294967295"]);
    is_initial
        && capabilities(None).is_ok_and(|sets| {
            sets.effective.contains(CapabilitySet::SYS_RESOURCE)
        })
}

fn hard_limits() -> HardLimits {
    let hard = |resource| getrlimit(resource).maximum;
    HardLimits {
        core: hard(Resource::Core),
        queues: hard(Resource::Msgqueue),
        signals: hard(Resource::Sigpending),
    }
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn filled(text: String) -> Option<String> {
    // AppArmor's text ends with a newline or a NUL.
    let text = text.trim_matches(['\n', '\0', ' ']);
    (!text.is_empty()).then(|| text.to_owned())
}

fn number(path: &str) -> Option<u64> {
    text(path).trim().parse().ok()
}

fn memory_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Returns whether overlayfs is among the filesystems, or the modules.
fn has_overlay(filesystems: &str, modules: &str) -> bool {
    filesystems.split_whitespace().any(|name| name == "overlay")
        || modules.contains("/overlay.ko")
}

/// The folders of /proc that are for mounts, and are empty without one. So a mount
/// there hides nothing (`proc_create_mount_point` in the kernel's source).
const PROC_MOUNT_POINTS: [&str; 4] = [
    "/proc/fs/nfsd",
    "/proc/openprom",
    "/proc/sys/fs/binfmt_misc",
    "/proc/xen",
];

/// Returns whether something is mounted over a part of /proc, as in containers.
/// The kernel then refuses to mount a new proc in a user namespace.
fn is_masked(mountinfo: &str) -> bool {
    mountinfo.lines().any(|line| {
        let point = line.split(' ').nth(4).unwrap_or_default();
        point.starts_with("/proc/") && !PROC_MOUNT_POINTS.contains(&point)
    })
}

/// Returns whether /proc cannot be written. Of several mounts, the last one counts.
fn is_read_only(mountinfo: &str) -> bool {
    let options = mountinfo.lines().rev().find_map(|line| {
        let mut fields = line.split(' ').skip(4);
        (fields.next()? == "/proc").then(|| fields.next())?
    });
    options.is_some_and(|it| it.split(',').any(|option| option == "ro"))
}

/// Returns the names of handlers whose interpreter was opened when they were made.
fn open_interpreters(mountinfo: &str) -> Vec<String> {
    // To look there would mount it, if systemd has an automount there.
    if !mountinfo.contains(" - binfmt_misc ") {
        return Vec::new();
    }
    let entries = fs::read_dir("/proc/sys/fs/binfmt_misc");
    let entries = entries.into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| {
            let handler = fs::read_to_string(entry.path());
            handler.is_ok_and(|text| is_open(&text))
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Returns whether a handler is enabled and has the flag `F`.
fn is_open(handler: &str) -> bool {
    let mut lines = handler.lines();
    lines.next() == Some("enabled")
        && lines
            .filter_map(|line| line.strip_prefix("flags:"))
            .any(|flags| flags.contains('F'))
}

fn missing_packages() -> Vec<&'static str> {
    let missing = sandpiper_images::missing_prerequisites();
    let mut packages: Vec<_> = missing.iter().map(|it| it.package).collect();
    packages.dedup();
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_this_machine() {
        let machine = Machine::read();
        assert!(machine.kernel.starts_with(|first: char| first.is_numeric()));
        assert!(machine.memory_bytes.is_some_and(|bytes| bytes > 1 << 20));
        assert!(!machine.user.is_empty());
    }

    #[test]
    fn memory_is_counted_in_kibibytes() {
        let meminfo = "MemFree: 1 kB\nMemTotal:        2048 kB\n";
        assert_eq!(memory_total(meminfo), Some(2 << 20));
        assert_eq!(memory_total(""), None);
    }

    #[test]
    fn overlay_is_there_or_can_be() {
        let check = |filesystems: &str, modules: &str, expected: bool| {
            assert_eq!(has_overlay(filesystems, modules), expected);
        };
        check("nodev\tproc\nnodev\toverlay\n", "", true);
        let module = "kernel/fs/overlayfs/overlay.ko.xz: kernel/x.ko.xz\n";
        check("nodev\tproc\n", module, true);
        check("nodev\tproc\n\text4\n", "kernel/fs/fuse/fuse.ko:\n", false);
        check("", "", false);
    }

    #[test]
    fn interpreters_that_are_open() {
        let check = |handler: &str, expected: bool| {
            assert_eq!(is_open(handler), expected, "{handler}");
        };
        check("enabled\ninterpreter /usr/bin/qemu\nflags: POCF\n", true);
        check("disabled\ninterpreter /usr/bin/qemu\nflags: POCF\n", false);
        check("enabled\ninterpreter /F\nflags: PO\noffset 0\n", false);
        check("enabled\n", false);
        check("", false);
    }

    #[test]
    fn masks_of_proc() {
        let check = |point: &str, expected: bool| {
            let line = format!("22 1 0:21 / {point} rw - proc proc rw\n");
            assert_eq!(is_masked(&line), expected, "{point}");
        };
        check("/proc", false);
        check("/proc/kcore", true);
        check("/proc/sys", true);
        check("/proc/sys/fs/binfmt_misc", false);
        check("/proc/fs/nfsd", false);
        check("/proc/fs", true);
        check("/proc/xen", false);
        check("/process", false);
    }

    #[test]
    fn proc_that_cannot_be_written() {
        let check = |mounts: &[(&str, &str)], expected: bool| {
            let line = |(point, options): &(&str, &str)| {
                format!("22 1 0:21 / {point} {options} - proc proc rw\n")
            };
            let lines: String = mounts.iter().map(line).collect();
            assert_eq!(is_read_only(&lines), expected, "{lines}");
        };
        check(&[("/proc", "rw,nosuid")], false);
        check(&[("/proc", "nosuid,ro")], true);
        check(&[("/proc", "ro"), ("/proc", "rw")], false);
        check(&[("/proc/sys", "ro")], false);
        check(&[], false);
    }
}
