//! The subordinate ids of the user who starts the server (subuid(5)), and the
//! programs that map them.

use std::fs;
use std::path::Path;

use crate::ids::IDS_PER_SERVER;

/// The user who starts the server, and whether boxes can have ids of their own
/// without root.
#[derive(Clone, Debug, Default)]
pub struct SubordinateIds {
    /// The name of the user, or the number if it has no name.
    pub user: String,
    /// Whether /etc/subuid and /etc/subgid give the user ids for a server.
    pub has_ids: bool,
    /// The first id from which on all are free.
    pub first_free: u64,
    /// Whether newuidmap and newgidmap, which map the ids, are installed.
    pub has_newuidmap: bool,
}

impl SubordinateIds {
    /// Reads /etc/passwd, /etc/subuid and /etc/subgid. A file that cannot be
    /// read counts as empty.
    pub fn read() -> Self {
        let (user, uid) = own_user();
        let files = ["/etc/subuid", "/etc/subgid"].map(text);
        let has_ids =
            files.iter().all(|text| first_id(text, &user, uid, 0).is_some());
        let first_free = first_free(&files.concat());
        Self { user, has_ids, first_free, has_newuidmap: has_newuidmap() }
    }
}

/// Returns the first user id and the first group id of the server that may use
/// the user's subordinate ids from `offset` on.
pub(crate) fn find(offset: u32) -> Option<(u32, u32)> {
    let (user, uid) = own_user();
    let first = |path| first_id(&text(path), &user, uid, offset);
    first("/etc/subuid").zip(first("/etc/subgid"))
}

/// Returns whether newuidmap and newgidmap are in one of the folders where
/// packages of distributions put them.
pub(crate) fn has_newuidmap() -> bool {
    let folders = ["/usr/bin", "/bin", "/usr/local/bin"];
    ["newuidmap", "newgidmap"].iter().all(|program| {
        folders.iter().any(|folder| Path::new(folder).join(program).exists())
    })
}

fn own_user() -> (String, u32) {
    let uid = rustix::process::getuid().as_raw();
    (user_name(&text("/etc/passwd"), uid), uid)
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Returns the name of a user in the text of passwd(5), or else its number.
fn user_name(passwd: &str, uid: u32) -> String {
    let uid = uid.to_string();
    let line = passwd.lines().find(|line| line.split(':').nth(2) == Some(&uid));
    let name = line.and_then(|line| line.split(':').next());
    name.map_or_else(|| uid.clone(), str::to_owned)
}

/// Returns the first of a server's ids in the text of subuid(5). The line must
/// be of this user and hold the ids of a server from `offset` on.
fn first_id(subuid: &str, user: &str, uid: u32, offset: u32) -> Option<u32> {
    let uid = uid.to_string();
    ranges(subuid).find_map(|(owner, first, count)| {
        let is_own = owner == user || owner == uid;
        let fits = offset.checked_add(IDS_PER_SERVER)? <= count;
        (is_own && fits).then_some(first + offset)
    })
}

/// Returns the first id after all in the text of subuid(5), but none below the first
/// that useradd(8) gives.
fn first_free(subuid: &str) -> u64 {
    let ends = ranges(subuid)
        .map(|(_, first, count)| u64::from(first) + u64::from(count));
    ends.fold(100_000, u64::max)
}

/// Returns the owner, the first id and the count of each range.
fn ranges(subuid: &str) -> impl Iterator<Item = (&str, u32, u32)> {
    subuid.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let owner = fields.next()?;
        let first = fields.next()?.trim().parse().ok()?;
        let count = fields.next()?.trim().parse().ok()?;
        Some((owner, first, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names() {
        let passwd = "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/:/bin/sh\n";
        assert_eq!(user_name(passwd, 1000), "ada");
        assert_eq!(user_name(passwd, 0), "root");
        assert_eq!(user_name(passwd, 7), "7");
    }

    #[test]
    fn ids_of_a_server() {
        let check = |text: &str, offset, expected| {
            let found = first_id(text, "ada", 1000, offset);
            assert_eq!(found, expected, "{text}");
        };
        check("ada:100000:65536\n", 0, Some(100_000));
        check("bob:1:65536\n1000:165536:65536\n", 0, Some(165_536));
        check("ada:100000:65536", 1024, Some(101_024));
        check("ada:100000:1000", 0, None);
        check("bob:100000:65536", 0, None);
        check("ada:100000", 0, None);
        check("not a line", 0, None);
        check("", 0, None);
    }

    #[test]
    fn ids_that_nobody_has() {
        let check = |text: &str, expected| {
            assert_eq!(first_free(text), expected, "{text}");
        };
        check("", 100_000);
        check("bob:1:10\nnot a line\n", 100_000);
        check("bob:165536:65536\nada:100000:65536\n", 231_072);
        check("bob:1:4294967295", 4_294_967_296);
    }
}
