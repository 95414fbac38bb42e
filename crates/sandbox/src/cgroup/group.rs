//! The control group of one box: made with its limits, joined by the processes
//! of the box, read, and removed.

use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::files::{
    counter, has_counted, named, open, open_to_write, read_again, write,
    write_again,
};
use super::folder::make;
use super::memory_limit::MemoryLimit;
use super::out_of_memory::OutOfMemory;
use crate::BoxSpec;
use crate::error::{During, Result};

/// The processes of a box that are not programs: the two halves of init.
const OWN_PROCESSES: u32 = 2;

/// Maximum memory in the TCP and UDP sockets of a box.
const SOCKET_BYTES: &str = "16777216";

/// The group of one box. The owner must remove it ([`Group::try_remove`]), which
/// works only when every process of the box is gone.
#[derive(Debug)]
pub(crate) struct Group {
    folders: Vec<PathBuf>,
    joins: Vec<OwnedFd>,
    out_of_memory: Option<OutOfMemory>,
    cpu_time: Option<CpuTime>,
    /// The file of the CPU share, and the values for it.
    share: Option<(PathBuf, Shares)>,
    /// Present once the share was lowered.
    lowered: Option<LoweredShare>,
    /// `memory.stat`, and its keys for memory outside of the page cache.
    memory: Option<(PathBuf, [&'static str; 2])>,
    /// The file of the memory that the kernel keeps for the box, and its key.
    kernel_memory: Option<(File, &'static str)>,
    memory_limit: Option<MemoryLimit>,
    /// The file of the highest memory since the last reset.
    memory_peak: Option<PathBuf>,
}

/// Values for the file of the CPU share.
#[derive(Clone, Copy, Debug)]
struct Shares {
    usual: &'static str,
    min: &'static str,
}

const SHARES_V1: Shares = Shares { usual: "1024", min: "2" };
const SHARES_V2: Shares = Shares { usual: "100", min: "1" };

/// A lowered share, which can be raised again. The file is open already because
/// a run waits while the share is raised. It is closed with the group.
#[derive(Debug)]
struct LoweredShare {
    file: File,
    usual: &'static str,
    is_raised: AtomicBool,
}

/// The highest memory of a group since it was restarted.
#[derive(Debug)]
pub(crate) struct MemoryPeak(File);

impl MemoryPeak {
    /// Returns the bytes, or `None` if the group is gone.
    pub(crate) fn bytes(&self) -> Option<u64> {
        read_again(&self.0)?.trim().parse().ok()
    }
}

#[derive(Debug)]
enum CpuTime {
    /// `cpuacct.usage`: nanoseconds.
    V1(File),
    /// `cpu.stat`: `usage_usec` microseconds.
    V2(File),
}

impl Group {
    /// Returns a group that limits nothing, for a host without groups.
    pub(crate) fn none() -> Self {
        Self {
            folders: Vec::new(),
            joins: Vec::new(),
            out_of_memory: None,
            cpu_time: None,
            share: None,
            lowered: None,
            memory: None,
            kernel_memory: None,
            memory_limit: None,
            memory_peak: None,
        }
    }

    /// Returns a group that has this folder alone.
    #[cfg(test)]
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folders: vec![folder], ..Self::none() }
    }

    pub(super) fn make_v1(
        roots: &[(Vec<String>, PathBuf)],
        name: &str,
        spec: &BoxSpec,
    ) -> Result<Self> {
        let mut group = Self::none();
        for (controllers, root) in roots {
            let folder = root.join(name);
            let filled = group.add_v1(controllers, &folder, spec);
            if let Err(error) = filled {
                group.remove();
                return Err(error);
            }
        }
        Ok(group)
    }

    fn add_v1(
        &mut self,
        controllers: &[String],
        folder: &Path,
        spec: &BoxSpec,
    ) -> Result<()> {
        make(folder)?;
        self.folders.push(folder.to_owned());
        for controller in controllers {
            match controller.as_str() {
                "memory" => self.limit_memory_v1(folder, spec)?,
                "pids" => limit_processes(folder, spec)?,
                "cpuacct" => {
                    let usage = open(&folder.join("cpuacct.usage"))?;
                    self.cpu_time = Some(CpuTime::V1(usage));
                }
                // Equal shares are the default.
                "cpu" => {
                    self.share = Some((folder.join("cpu.shares"), SHARES_V1));
                }
                _ => {}
            }
        }
        // `tasks` and not `cgroup.procs`: the process that joins has only one
        // thread, and `tasks` does not lock all processes.
        self.joins.push(open_to_write(&folder.join("tasks"))?.into());
        Ok(())
    }

    fn limit_memory_v1(&mut self, folder: &Path, spec: &BoxSpec) -> Result<()> {
        let bytes = spec.memory_bytes.to_string();
        let memory = folder.join("memory.limit_in_bytes");
        write(&memory, &bytes)?;
        let mut limits = vec![memory];
        // Memory and swap together. It is absent if the kernel counts no swap.
        let with_swap = folder.join("memory.memsw.limit_in_bytes");
        if with_swap.exists() {
            write(&with_swap, &bytes)?;
            limits.push(with_swap);
        } else {
            write(&folder.join("memory.swappiness"), "0")?;
        }
        self.memory_limit = Some(MemoryLimit::new(limits, spec.memory_bytes));
        // Version 1 counts the memory of TCP and UDP sockets separately, and
        // version 2 with the rest. It is absent if the kernel does not count it.
        let of_sockets = folder.join("memory.kmem.tcp.limit_in_bytes");
        if of_sockets.exists() {
            write(&of_sockets, SOCKET_BYTES)?;
        }
        self.out_of_memory = Some(OutOfMemory::watch_v1(folder)?);
        self.memory_peak = Some(folder.join("memory.max_usage_in_bytes"));
        let (stat, keys) = ("memory.stat", ["total_rss ", "total_shmem "]);
        self.memory = Some((folder.join(stat), keys));
        // It is absent if the kernel does not charge its own memory.
        let of_kernel = folder.join("memory.kmem.usage_in_bytes");
        self.kernel_memory = File::open(of_kernel).ok().map(|file| (file, ""));
        Ok(())
    }

    pub(super) fn make_v2(
        folder: &Path,
        controllers: &[String],
        spec: &BoxSpec,
    ) -> Result<Self> {
        make(folder)?;
        let mut group = Self::none();
        group.folders.push(folder.to_owned());
        match group.fill_v2(folder, controllers, spec) {
            Ok(()) => Ok(group),
            Err(error) => {
                group.remove();
                Err(error)
            }
        }
    }

    fn fill_v2(
        &mut self,
        folder: &Path,
        controllers: &[String],
        spec: &BoxSpec,
    ) -> Result<()> {
        if controllers.iter().any(|c| c == "memory") {
            let bytes = spec.memory_bytes.to_string();
            let memory = folder.join("memory.max");
            write(&memory, &bytes)?;
            let limit = MemoryLimit::new(vec![memory], spec.memory_bytes);
            self.memory_limit = Some(limit);
            // It is absent if the kernel has no swap.
            let swap = folder.join("memory.swap.max");
            if swap.exists() {
                write(&swap, "0")?;
            }
            write(&folder.join("memory.oom.group"), "1")?;
            let events = open(&folder.join("memory.events"))?;
            self.out_of_memory = Some(OutOfMemory::V2(events));
            self.memory_peak = Some(folder.join("memory.peak"));
            let stat = folder.join("memory.stat");
            self.memory = Some((stat.clone(), ["anon ", "shmem "]));
            self.kernel_memory = Some((open(&stat)?, "slab_unreclaimable "));
        }
        if controllers.iter().any(|c| c == "cpu") {
            self.share = Some((folder.join("cpu.weight"), SHARES_V2));
        }
        if controllers.iter().any(|c| c == "pids") {
            limit_processes(folder, spec)?;
        }
        // Version 2 counts CPU time without the controller.
        self.cpu_time = Some(CpuTime::V2(open(&folder.join("cpu.stat"))?));
        self.joins.push(open_to_write(&folder.join("cgroup.procs"))?.into());
        Ok(())
    }

    /// Changes the memory limit. Returns `false` if more memory is in use and
    /// cannot be freed.
    pub(crate) fn limit_memory(&mut self, bytes: u64) -> Result<bool> {
        let limit = self.memory_limit.as_mut();
        limit.map_or(Ok(true), |limit| limit.set(bytes))
    }

    /// Raises the memory limit by this many bytes.
    pub(crate) fn add_memory(&mut self, bytes: u64) -> Result<()> {
        let limit = self.memory_limit.as_mut();
        limit.map_or(Ok(()), |limit| limit.add(bytes))
    }

    /// Returns the files to which a process writes `0` to move itself in.
    pub(crate) fn joins(
        &self,
    ) -> impl ExactSizeIterator<Item = BorrowedFd<'_>> {
        self.joins.iter().map(AsFd::as_fd)
    }

    /// Returns the event source for a box that is out of memory.
    pub(crate) fn out_of_memory(&self) -> Option<&OutOfMemory> {
        self.out_of_memory.as_ref()
    }

    /// Returns whether the kernel has killed in this group because memory was
    /// used up: that of the group, of a group above it, or of the host.
    pub(crate) fn killed_for_memory(&self) -> bool {
        self.out_of_memory.as_ref().is_some_and(OutOfMemory::has_killed)
    }

    /// Returns whether the group has reached its own memory limit.
    pub(crate) fn reached_memory_limit(&self) -> bool {
        /// The kernel charges 64 pages at a time, of up to 64 KiB each. So the
        /// highest count can be this far below the limit.
        const MAX_CHARGE: u64 = 4 << 20;
        match &self.out_of_memory {
            Some(OutOfMemory::V2(events)) => has_counted(events, "oom "),
            // Version 1 does not count how often the limit of memory and swap
            // together is reached (Linux 6.18).
            Some(OutOfMemory::V1(..)) => {
                let peak = self.memory_peak.as_ref().and_then(|path| {
                    fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
                });
                let limit = self.memory_limit.as_ref().map(MemoryLimit::bytes);
                peak.zip(limit)
                    .is_some_and(|(peak, limit)| peak + MAX_CHARGE >= limit)
            }
            None => false,
        }
    }

    /// Returns the CPU time of all processes that were ever in the group.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        match self.cpu_time.as_ref()? {
            CpuTime::V1(file) => {
                read_again(file)?.trim().parse().ok().map(Duration::from_nanos)
            }
            CpuTime::V2(file) => counter(&read_again(file)?, "usage_usec ")
                .map(Duration::from_micros),
        }
    }

    /// Lowers the group's share of the CPU to the minimum, if the host has
    /// shares.
    pub(crate) fn lower_share(&mut self) -> Result<()> {
        let Some((path, shares)) = &self.share else { return Ok(()) };
        let file = open_to_write(path)?;
        write_again(&file, shares.min).during(&named("write", path))?;
        self.lowered = Some(LoweredShare {
            file,
            usual: shares.usual,
            is_raised: AtomicBool::new(false),
        });
        Ok(())
    }

    /// Gives the group its usual share again, if it was lowered.
    pub(crate) fn raise_share(&self) -> Result<()> {
        let Some(lowered) = &self.lowered else { return Ok(()) };
        if lowered.is_raised.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        write_again(&lowered.file, lowered.usual).during("raise the CPU share")
    }

    /// Returns the memory of the group's processes and files in bytes, without
    /// the page cache.
    pub(crate) fn memory_bytes(&self) -> Option<u64> {
        let (file, keys) = self.memory.as_ref()?;
        let text = fs::read_to_string(file).ok()?;
        Some(keys.iter().filter_map(|key| counter(&text, key)).sum())
    }

    /// Returns the memory that the kernel keeps for open files, mappings and the
    /// like; in version 1 for page tables and names of files, too. Returns `None`
    /// if the host does not count it.
    pub(crate) fn kernel_bytes(&self) -> Option<u64> {
        let (file, key) = self.kernel_memory.as_ref()?;
        let found = read_again(file).and_then(|text| counter(&text, key));
        // Memory that cannot be read counts as too much.
        Some(found.unwrap_or(u64::MAX))
    }

    /// Begins to measure the highest memory of the group. Returns `None` if the
    /// host does not measure it.
    pub(crate) fn restart_peak(&self) -> Option<MemoryPeak> {
        let path = self.memory_peak.as_ref()?;
        // Version 2 can be reset since Linux 6.12, for each open file alone.
        let reset = File::options().read(true).write(true).open(path);
        let reset = reset.and_then(|file| {
            write_again(&file, "0")?;
            Ok(file)
        });
        reset.or_else(|_| File::open(path)).ok().map(MemoryPeak)
    }

    /// Removes the group, of which every process has ended. After an error it can
    /// be tried again.
    pub(crate) fn try_remove(&mut self) -> Result<()> {
        // An open eventfd registration keeps a version 1 group half alive.
        self.out_of_memory = None;
        self.joins.clear();
        let mut removed = Ok(());
        self.folders.retain(|folder| {
            let result =
                fs::remove_dir(folder).during(&named("remove", folder));
            let is_left = result.is_err();
            if is_left {
                removed = result;
            }
            is_left
        });
        removed
    }

    /// Removes the group, which no process has entered yet. Failure is logged.
    pub(crate) fn remove(&mut self) {
        if let Err(error) = self.try_remove() {
            tracing::warn!(%error, "cannot remove a box's group");
        }
    }
}

fn limit_processes(folder: &Path, spec: &BoxSpec) -> Result<()> {
    let max = spec.processes.saturating_add(OWN_PROCESSES);
    write(&folder.join("pids.max"), &max.to_string())
}
