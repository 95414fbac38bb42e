//! Why a run of mmdebstrap failed, in words for the operator.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use crate::error::READ_ONLY;
use crate::mmdebstrap::ExitStatuses;

/// Returns why a run failed, if it did, from its end and the last lines of its log.
/// mmdebstrap makes the image in the folder `work`, tar unpacks it in `scratch`.
pub(crate) fn fault(
    result: &io::Result<ExitStatuses>,
    tail: &VecDeque<String>,
    [work, scratch]: [&Path; 2],
) -> Option<String> {
    match result {
        Ok(ExitStatuses { mmdebstrap, tar }) if mmdebstrap.success() => {
            if tar.success() {
                return None;
            }
            let fault = || format!("tar could not unpack the image: {tar}");
            Some(hint(tail, scratch).unwrap_or_else(fault))
        }
        Ok(ExitStatuses { mmdebstrap, .. }) => {
            let fault = || format!("mmdebstrap failed: {mmdebstrap}");
            Some(hint(tail, work).unwrap_or_else(fault))
        }
        // The log is on the disk of `scratch`.
        Err(error) if error.kind() == io::ErrorKind::StorageFull => {
            Some(full(scratch))
        }
        Err(error) => Some(format!("cannot run mmdebstrap: {error}")),
    }
}

fn full(folder: &Path) -> String {
    format!("the disk of {} is full", folder.display())
}

/// Returns advice for the operator if the log of a program that worked in `work` shows
/// a known cause.
fn hint(tail: &VecDeque<String>, work: &Path) -> Option<String> {
    let full = full(work);
    let read_only = format!("{} cannot be written{READ_ONLY}", work.display());
    let known = [
        (
            "NO_PUBKEY",
            "the host's archive keyring is too old for this suite; update it \
             with `apt-get install debian-archive-keyring`",
        ),
        ("No space left on device", full.as_str()),
        ("Read-only file system", read_only.as_str()),
        (
            "Temporary failure resolving",
            "the mirror's name cannot be resolved; check the network",
        ),
        (
            "Failed to fetch",
            "a file could not be fetched from the mirror; use --mirror to \
             name another one",
        ),
        (
            "invalid idmap",
            "this user has no range in /etc/subuid and /etc/subgid; `sandpiper \
             doctor` says how to add one",
        ),
    ];
    known.into_iter().find_map(|(sign, hint)| {
        let is_known = tail.iter().any(|line| line.contains(sign));
        is_known.then(|| hint.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn knows_common_causes() {
        let check = |line: &str, part: Option<&str>| {
            let tail = VecDeque::from([line.to_owned()]);
            let found = hint(&tail, Path::new("/a"));
            assert_eq!(found.is_some(), part.is_some(), "{line}");
            let found = found.unwrap_or_default();
            assert!(found.contains(part.unwrap_or("")), "{found}");
        };
        check(
            "W: GPG error: … the public key is not available: NO_PUBKEY 6ED",
            Some("debian-archive-keyring"),
        );
        check(
            "tar: ./usr: No space left on device",
            Some("disk of /a is full"),
        );
        check(
            "Could not create directory /a/b: Read-only file system at /c",
            Some("/a cannot be written"),
        );
        check("E: Failed to fetch http://a/b  404", Some("--mirror"));
        check("E: something else", None);
    }

    #[test]
    fn a_full_disk_is_named() {
        let check =
            |result: io::Result<[i32; 2]>, line: &str, expected: &str| {
                let status = |code: i32| ExitStatus::from_raw(code << 8);
                let result = result.map(|[mmdebstrap, tar]| ExitStatuses {
                    mmdebstrap: status(mmdebstrap),
                    tar: status(tar),
                });
                let tail = VecDeque::from([line.to_owned()]);
                let folders = ["/work", "/data"].map(Path::new);
                let found = fault(&result, &tail, folders).unwrap_or_default();
                assert_eq!(found, expected);
            };
        let full = "tar: ./a: Cannot write: No space left on device";
        let failed = "tar could not unpack the image: exit status: 2";
        check(Ok([0, 0]), full, "");
        check(Ok([0, 2]), full, "the disk of /data is full");
        check(Ok([0, 2]), "tar: ./a: Cannot open", failed);
        check(Ok([25, 2]), full, "the disk of /work is full");
        check(Ok([25, 2]), "", "mmdebstrap failed: exit status: 25");
        let error = |kind: io::ErrorKind| Err(kind.into());
        let kind = io::ErrorKind::StorageFull;
        check(error(kind), "", "the disk of /data is full");
        let kind = io::ErrorKind::NotFound;
        let expected = "cannot run mmdebstrap: entity not found";
        check(error(kind), "", expected);
    }
}
