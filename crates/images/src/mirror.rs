//! The Debian mirror that packages are downloaded from: the one that the host's
//! apt uses.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The keys that verify Debian's packages.
pub(crate) const KEYRING: &str =
    "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The options of the host's apt that builds use: how to reach a mirror, and how
/// old its lists may be. None of them disables the check of signatures.
const FORWARDED_OPTIONS: &[&str] = &[
    "Acquire::http::",
    "Acquire::https::",
    "Acquire::Check-Valid-Until ",
    "Acquire::Check-Date ",
    "Acquire::Max-ValidTime",
    "Acquire::Min-ValidTime",
    "Acquire::Retries ",
    "Acquire::ForceIPv4 ",
    "Acquire::ForceIPv6 ",
];

/// Returns the lines of a `sources.list` for `suite`, its updates and its
/// security updates. Each is taken from the first archive that has it: first
/// `mirror`, if the operator names one, then the archives that the host's apt
/// uses. Returns nothing if no archive has the suite; then mmdebstrap's default
/// is right. `scratch` is a folder for downloads.
pub(crate) fn sources(
    suite: &str,
    mirror: Option<&str>,
    scratch: &Path,
) -> Vec<String> {
    let host = output("apt-get", &["--print-uris", "update"]);
    let mut archives: Vec<String> = mirror
        .map(|url| url.trim_end_matches('/').to_owned())
        .into_iter()
        .collect();
    for archive in host.lines().filter_map(main_archive) {
        if !archives.iter().any(|known| known == archive) {
            archives.push(archive.to_owned());
        }
    }
    let line = |name: &str| {
        let archive =
            archives.iter().find(|url| has_suite(url, name, scratch))?;
        Some(format!("deb [signed-by={KEYRING}] {archive} {name} main"))
    };
    let named = mirror.map(|_| {
        format!("deb [signed-by={KEYRING}] {} {suite} main", archives[0])
    });
    let Some(base) = named.or_else(|| line(suite)) else {
        return Vec::new();
    };
    let more = ["updates", "security"];
    let more = more.iter().filter_map(|kind| line(&format!("{suite}-{kind}")));
    [base].into_iter().chain(more).collect()
}

/// Returns the host's settings for reaching mirrors, in apt's syntax.
pub(crate) fn apt_options() -> Vec<String> {
    forwarded(&output("apt-config", &["dump", "Acquire"]))
}

/// Returns the archives that a `sources.list` names, without passwords.
pub(crate) fn origins(sources_list: &str) -> Vec<String> {
    sources_list
        .lines()
        .filter_map(|line| {
            let rest = line.strip_prefix("deb ")?;
            let options = rest.strip_prefix('[');
            let rest = options.map_or(Some(rest), |options| {
                Some(options.split_once(']')?.1)
            })?;
            let mut fields = rest.split_whitespace();
            let (url, suite) = (fields.next()?, fields.next()?);
            Some(format!("{} {suite}", without_password(url)))
        })
        .collect()
}

fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let host = rest.find('/').unwrap_or(rest.len());
    let start = rest[..host].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[start..])
}

/// Returns the archive in a line of `apt-get --print-uris update`, if the line is
/// about a package list of the component `main`.
fn main_archive(line: &str) -> Option<&str> {
    let uri = line.strip_prefix('\'')?.split('\'').next()?;
    let (archive, list) = uri.split_once("/dists/")?;
    let is_http = uri.starts_with("http://") || uri.starts_with("https://");
    (is_http && list.contains("/main/binary-")).then_some(archive)
}

/// Returns whether `archive` has Debian's `suite`. This only chooses a mirror;
/// apt checks the signature when it downloads from it.
fn has_suite(archive: &str, suite: &str, scratch: &Path) -> bool {
    let file = scratch.join("InRelease");
    let found = Command::new("/usr/lib/apt/apt-helper")
        .args(["-oAcquire::Retries=1", "-oAcquire::http::Timeout=10"])
        .args(["-oAcquire::https::Timeout=10", "download-file"])
        .arg(format!("{archive}/dists/{suite}/InRelease"))
        .arg(&file)
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.success());
    let release = fs::read_to_string(&file).unwrap_or_default();
    // Otherwise the next call could read this file if its download fails.
    let _ = fs::remove_file(&file);
    found && is_debian(&release, suite)
}

fn is_debian(release: &str, suite: &str) -> bool {
    let mut lines = release.lines();
    lines.clone().any(|line| line == "Origin: Debian")
        && lines.any(|line| line.strip_prefix("Codename: ") == Some(suite))
}

fn forwarded(dump: &str) -> Vec<String> {
    dump.lines()
        .filter(|line| !line.ends_with(" \"\";"))
        .filter(|line| {
            FORWARDED_OPTIONS.iter().any(|option| line.starts_with(option))
        })
        .map(str::to_owned)
        .collect()
}

/// Returns the standard output of a program; nothing if it cannot run, as on a
/// host without apt.
fn output(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_archive_of_a_package_list() {
        let check = |line: &str, archive: Option<&str>| {
            assert_eq!(main_archive(line), archive, "{line}");
        };
        let list = "dists/bookworm/main/binary-amd64/Packages.xz' name 0";
        check(&format!("'http://a/debian/{list}"), Some("http://a/debian"));
        check(&format!("'https://a/{list}"), Some("https://a"));
        check(&format!("'file:/srv/debian/{list}"), None);
        check("'http://a/debian/dists/bookworm/InRelease' name 0", None);
        check("'http://a/dists/x/contrib/binary-amd64/Packages' n 0", None);
        check("E: no lists", None);
    }

    #[test]
    fn recognises_debian_by_its_release_file() {
        let release = "Hash: SHA256\n\nOrigin: Debian\nCodename: trixie\n";
        assert!(is_debian(release, "trixie"));
        assert!(!is_debian(release, "trixie-updates"));
        assert!(!is_debian(&release.replace("Debian", "Other"), "trixie"));
    }

    #[test]
    fn forwards_how_to_reach_a_mirror_but_no_weaker_check() {
        let dump = "Acquire \"\";\n\
                    Acquire::http::Proxy \"http://proxy:3142\";\n\
                    Acquire::http::Proxy::host \"DIRECT\";\n\
                    Acquire::Check-Valid-Until \"false\";\n\
                    Acquire::Retries \"\";\n\
                    Acquire::AllowInsecureRepositories \"1\";\n\
                    Acquire::AllowWeakRepositories \"1\";\n\
                    Acquire::Languages:: \"none\";\n";
        let expected = [
            "Acquire::http::Proxy \"http://proxy:3142\";",
            "Acquire::http::Proxy::host \"DIRECT\";",
            "Acquire::Check-Valid-Until \"false\";",
        ];
        assert_eq!(forwarded(dump), expected);
    }

    #[test]
    fn origins_hold_no_password() {
        let check = |line: &str, origin: &[&str]| {
            assert_eq!(origins(line), origin, "{line}");
        };
        check("deb http://a/debian trixie main\n", &["http://a/debian trixie"]);
        check(
            "deb [signed-by=/k.gpg] https://u:p@a/d@b trixie-updates main",
            &["https://a/d@b trixie-updates"],
        );
        check("deb [ arch=amd64 ] http://a trixie main", &["http://a trixie"]);
        check("# deb http://a trixie main", &[]);
    }
}
