//! Control groups of a test's own: to limit a server and its boxes together,
//! or to keep them apart from other servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use sandpiper_testkit::eventually;

/// A control group in one or more hierarchies, which is removed on drop.
pub(crate) struct Group {
    name: String,
    folders: Vec<PathBuf>,
}

impl Group {
    /// Creates a group with these controllers.
    pub(crate) fn of(controllers: &[&str]) -> Self {
        let mount = Path::new("/sys/fs/cgroup");
        static GROUPS: AtomicU32 = AtomicU32::new(0);
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let name = format!("faults-{}-{number}", std::process::id());
        let v1 =
            |controller| Some(mount.join(controller)).filter(|v1| v1.exists());
        let mut hierarchies: Vec<_> = controllers
            .iter()
            .map(|controller| v1(controller).unwrap_or_else(|| mount.into()))
            // Two controllers can be in one hierarchy.
            .map(|hierarchy| fs::canonicalize(hierarchy).unwrap())
            .collect();
        hierarchies.sort();
        hierarchies.dedup();
        let folders: Vec<_> =
            hierarchies.iter().map(|it| it.join(&name)).collect();
        folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        Self { name, folders }
    }

    /// Returns its path relative to the mount of each hierarchy.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the first of these files that exists.
    pub(crate) fn file(&self, names: &[&str]) -> PathBuf {
        let folders = self.folders.iter();
        let mut files =
            folders.flat_map(|folder| names.iter().map(|it| folder.join(it)));
        files.find(|file| file.exists()).unwrap()
    }

    pub(crate) fn set(&self, names: &[&str], value: u64) {
        fs::write(self.file(names), value.to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            eventually("the group is empty", || fs::remove_dir(folder).is_ok());
        }
    }
}
