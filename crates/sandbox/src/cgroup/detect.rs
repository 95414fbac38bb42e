//! Finds the control group hierarchies, and the groups of this process in them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{During, Result};

/// A mounted hierarchy and the group of this process in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    /// Version 1 controllers of this mount; empty for version 2.
    pub(super) controllers: Vec<String>,
    pub(super) mount: PathBuf,
    /// The folder of the group of this process.
    pub(super) own: PathBuf,
}

/// Returns every hierarchy that is mounted here, version 2 first.
pub(super) fn hierarchies() -> Result<Vec<Hierarchy>> {
    let read = |path: &str| fs::read_to_string(path).during(path);
    Ok(parse(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?))
}

/// Returns the memory that this process may use, in bytes: the least limit of its
/// control group and of those above that are visible here.
pub fn memory_limit() -> Option<u64> {
    hierarchies().ok()?.iter().filter_map(least_memory).min()
}

fn least_memory(hierarchy: &Hierarchy) -> Option<u64> {
    let Hierarchy { controllers, mount, own } = hierarchy;
    let file = match &controllers[..] {
        [] => "memory.max",
        all if all.iter().any(|it| it == "memory") => "memory.limit_in_bytes",
        _ => return None,
    };
    let groups = own.ancestors().take_while(|group| group.starts_with(mount));
    let limits = groups.filter_map(|group| {
        let text = fs::read_to_string(group.join(file)).ok()?;
        text.trim().parse().ok()
    });
    limits.min()
}

/// Parses `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`) and
/// `/proc/self/cgroup` (cgroups(7)).
fn parse(mountinfo: &str, own_groups: &str) -> Vec<Hierarchy> {
    let mut found: Vec<_> = mountinfo
        .lines()
        .filter_map(|line| hierarchy(line, own_groups))
        .collect();
    found.sort_by_key(|hierarchy| !hierarchy.controllers.is_empty());
    found
}

fn hierarchy(line: &str, own_groups: &str) -> Option<Hierarchy> {
    let (mount_fields, fs_fields) = line.split_once(" - ")?;
    let mut fields = mount_fields.split(' ').skip(3);
    let (root, mount) = (fields.next()?, Path::new(fields.next()?));
    let mut fields = fs_fields.split(' ');
    let (kind, options) = (fields.next()?, fields.nth(1)?);
    let known = ["memory", "pids", "cpu", "cpuacct"];
    let controllers: Vec<String> = match kind {
        "cgroup2" => Vec::new(),
        "cgroup" => options
            .split(',')
            .filter(|option| known.contains(option))
            .map(str::to_owned)
            .collect(),
        _ => return None,
    };
    if kind == "cgroup" && controllers.is_empty() {
        return None;
    }
    let path = own_groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (names, path) = (fields.next()?, fields.next()?);
        let same = match controllers.first() {
            None => names.is_empty(),
            Some(first) => names.split(',').any(|name| name == first),
        };
        same.then_some(path)
    })?;
    // The group is outside of this cgroup namespace (cgroup_namespaces(7)), and
    // not visible here.
    if path.starts_with("/..") {
        return None;
    }
    // In a container the mount shows only a part of the hierarchy.
    let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
    let own = mount.join(below.strip_prefix("/").unwrap_or(below));
    // Joining an empty path leaves a slash at the end.
    let own = own.components().collect();
    Some(Hierarchy { controllers, mount: mount.to_owned(), own })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mountinfo: &str, own: &str, expected: &[(&str, &str)]) {
        let found: Vec<_> = parse(mountinfo, own)
            .into_iter()
            .map(|h| (h.controllers.join(","), h.own.display().to_string()))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(c, o)| ((*c).to_owned(), (*o).to_owned()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_least_limit_on_memory_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mount = folder.path().join("mount");
        let own = mount.join("a/b");
        fs::create_dir_all(&own).unwrap();
        let mut group = Hierarchy {
            controllers: Vec::new(),
            mount: mount.clone(),
            own: own.clone(),
        };
        fs::write(folder.path().join("memory.max"), "1").unwrap();
        assert_eq!(least_memory(&group), None);
        for (folder, limit) in [(&own, "max"), (&mount, "9")] {
            fs::write(folder.join("memory.max"), limit).unwrap();
        }
        assert_eq!(least_memory(&group), Some(9));
        fs::write(mount.join("a/memory.max"), "5\n").unwrap();
        assert_eq!(least_memory(&group), Some(5));
        fs::write(mount.join("a/memory.limit_in_bytes"), "7\n").unwrap();
        group.controllers = vec!["cpu".to_owned(), "memory".to_owned()];
        assert_eq!(least_memory(&group), Some(7));
        group.controllers.pop();
        assert_eq!(least_memory(&group), None);
    }

    #[test]
    fn version_2() {
        check(
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw",
            "0::/user.slice/user-1000.slice\n",
            &[("", "/sys/fs/cgroup/user.slice/user-1000.slice")],
        );
    }

    #[test]
    fn version_1_and_hybrid() {
        let mounts = "\
            35 31 0:32 / /cg/memory rw,relatime - cgroup cgroup rw,memory\n\
            36 31 0:33 / /cg/devices rw - cgroup cgroup rw,devices\n\
            37 31 0:34 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
            41 31 0:38 / /cg/unified rw,relatime - cgroup2 cgroup2 rw";
        check(
            mounts,
            "4:memory:/jobs/a\n2:cpu,cpuacct:/\n0::/\n",
            &[
                ("", "/cg/unified"),
                ("memory", "/cg/memory/jobs/a"),
                ("cpu,cpuacct", "/cg/cpu,cpuacct"),
            ],
        );
    }

    #[test]
    fn a_group_outside_of_the_namespace_is_none() {
        check(
            "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory",
            "4:memory:/../../elsewhere\n",
            &[],
        );
    }

    #[test]
    fn a_container_sees_its_part() {
        check(
            "35 31 0:32 /docker/ab /cg/memory rw - cgroup cgroup rw,memory",
            "4:memory:/docker/ab/inner\n",
            &[("memory", "/cg/memory/inner")],
        );
    }
}
