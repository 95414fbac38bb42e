//! The version of the kernel, on which one of the walls depends.

use crate::doctor::Finding;
use crate::machine::Machine;

const SUBJECT: &str = "kernel";

/// Checks whether a program is kept below 64 MiB of kernel memory that no group is
/// charged for. Linux 6.13 ends the copies of datagrams that come back with a time
/// stamp.
pub(super) fn kernel(machine: &Machine) -> Finding {
    let release = format!("Linux {}", machine.kernel);
    let is_new = version(&machine.kernel).is_none_or(|it| it >= (6, 13));
    if is_new || machine.tstamp_allow_data == Some(0) {
        return Finding::good(SUBJECT, release);
    }
    Finding::weak(
        SUBJECT,
        format!(
            "{release}: a program can hold more than 64 MiB of kernel memory \
             beside its limit, by sockets"
        ),
    )
    .fix(
        "use Linux 6.13 or newer, or:\n\
         sudo sysctl -w net.core.tstamp_allow_data=0\n\
         echo 'net.core.tstamp_allow_data=0' | \
         sudo tee /etc/sysctl.d/61-sandpiper.conf",
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
    fn older_kernels_are_weak_unless_a_setting_helps() {
        let check = |release: &str, tstamp_allow_data, expected: bool| {
            let kernel = release.to_owned();
            let facts =
                Machine { kernel, tstamp_allow_data, ..Machine::default() };
            let found = super::kernel(&facts);
            let is_good = found.grade == Grade::Good;
            assert_eq!(is_good, expected, "{release}: {found}");
        };
        check("6.13.0", Some(1), true);
        check("7.0-rc1", None, true);
        check("6.12.48+deb13-amd64", Some(0), true);
        check("6.12.48+deb13-amd64", Some(1), false);
        check("6.12.48+deb13-amd64", None, false);
        check("6.1.0-41-amd64", Some(0), true);
        check("5.15.0", None, false);
        // An unknown form says nothing of what the kernel has.
        check("", None, true);
    }
}
