//! The version of the kernel, on which one of the walls depends.

use crate::doctor::Finding;
use crate::machine::Machine;

const SUBJECT: &str = "kernel";

/// Checks whether a program is kept below 64 MiB of kernel memory that no group is
/// charged for. Linux 6.12 lets init have a short time slice, so that it ends the
/// other processes in time. Linux 6.13 ends the copies of datagrams that come back
/// with a time stamp.
pub(super) fn kernel(machine: &Machine) -> Finding {
    let release = format!("Linux {}", machine.kernel);
    let version = version(&machine.kernel);
    if version.is_none_or(|it| it >= (6, 13)) {
        return Finding::good(SUBJECT, release);
    }
    let has_slices = version.is_some_and(|it| it >= (6, 12));
    let returns_data = machine.tstamp_allow_data != Some(0);
    if has_slices && !returns_data {
        return Finding::good(SUBJECT, release);
    }
    let newer = "use Linux 6.13 or newer";
    let setting = "sudo sysctl -w net.core.tstamp_allow_data=0\n\
        echo 'net.core.tstamp_allow_data=0' | \
        sudo tee /etc/sysctl.d/61-sandpiper.conf";
    let fix = match (has_slices, returns_data) {
        (_, false) => newer.to_owned(),
        (true, true) => format!("{newer}, or:\n{setting}"),
        (false, true) => format!("{newer}; until then:\n{setting}"),
    };
    Finding::weak(
        SUBJECT,
        format!(
            "{release}: a program can hold more than 64 MiB of kernel memory \
             beside its limit, by sockets"
        ),
    )
    .fix(fix)
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
    fn older_kernels_are_weak_unless_a_setting_helps() {
        let check = |release: &str, tstamp_allow_data, fixes: &[&str]| {
            let kernel = release.to_owned();
            let facts =
                Machine { kernel, tstamp_allow_data, ..Machine::default() };
            let found = super::kernel(&facts);
            let is_good = found.grade == Grade::Good;
            assert_eq!(is_good, fixes.is_empty(), "{release}: {found}");
            for fix in fixes {
                assert!(found.fix.contains(fix), "{release}: {found}");
            }
        };
        let (newer, setting) = ("Linux 6.13", "tstamp_allow_data=0");
        check("6.13.0", Some(1), &[]);
        check("7.0-rc1", None, &[]);
        check("6.12.48+deb13-amd64", Some(0), &[]);
        check("6.12.48+deb13-amd64", Some(1), &[newer, "or:\n", setting]);
        check("6.12.48+deb13-amd64", None, &[setting]);
        check("6.1.0-41-amd64", Some(0), &[newer]);
        check("6.1.0-41-amd64", Some(1), &[newer, "until then:\n", setting]);
        check("5.15.0", None, &[newer, setting]);
        // An unknown form says nothing of what the kernel has.
        check("", None, &[]);
    }
}
