//! The host's settings of pip and npm (proxies, indexes, certificates), which the
//! build script uses. They are copied to `/build` in the image, which is removed
//! at the end of the build.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The home of the build script, in the image.
const HOME: &str = "/build";

/// The host's certificates, if no variable names another file.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The variables that name the copy of the certificates to programs.
const CERTIFICATE_VARIABLES: &[&str] = &[
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "npm_config_cafile",
];

/// The variables that are forwarded, in lower case: proxies, and the options of
/// pip and npm that say how to reach packages. Their other options change what
/// they do, or name folders of the host.
const FORWARDED: &[&str] = &[
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "npm_config_ca",
    "npm_config_fetch_retries",
    "npm_config_fetch_timeout",
    "npm_config_http_proxy",
    "npm_config_https_proxy",
    "npm_config_noproxy",
    "npm_config_proxy",
    "npm_config_registry",
    "npm_config_strict_ssl",
    "pip_default_timeout",
    "pip_extra_index_url",
    "pip_index_url",
    "pip_proxy",
    "pip_retries",
    "pip_timeout",
    "pip_trusted_host",
];

/// Variables for a build without a terminal. They override the host's files.
const FIXED: &[(&str, &str)] = &[
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_NO_INDEX", "0"),
    ("PIP_NO_INPUT", "1"),
    ("PIP_PROGRESS_BAR", "off"),
    ("PIP_REQUIRE_VIRTUALENV", "0"),
    ("PIP_ROOT_USER_ACTION", "ignore"),
    ("npm_config_audit", "false"),
    ("npm_config_fund", "false"),
    ("npm_config_progress", "false"),
    ("npm_config_update_notifier", "false"),
];

/// The sources of the downloads of a build.
#[derive(Clone, Default)]
pub struct Downloads {
    /// The URL of a Debian archive to use instead of the host's.
    pub mirror: Option<String>,
    /// The environment of the builder. Only `TMPDIR` and the variables that
    /// say how to reach packages are used.
    pub variables: Vec<(OsString, OsString)>,
}

// The environment may contain secrets, so it is not shown.
impl std::fmt::Debug for Downloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Downloads")
            .field("mirror", &self.mirror)
            .finish_non_exhaustive()
    }
}

/// The files that the image has while its build script runs.
#[derive(Default)]
pub(crate) struct DownloadSettings {
    /// The absolute path in the image, and the contents.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    secrets: Vec<String>,
}

/// The path in the image of a shell script that sets the build's variables.
pub(crate) const ENVIRONMENT: &str = "/build/.environment";

impl Downloads {
    /// Reads the host's settings.
    pub(crate) fn settings(&self) -> DownloadSettings {
        let mut environment = vec![("HOME".to_owned(), HOME.to_owned())];
        let mut settings = DownloadSettings::default();
        for (name, value) in self.texts() {
            if FORWARDED.contains(&name.to_ascii_lowercase().as_str()) {
                environment.push((name.to_owned(), value.to_owned()));
            }
        }
        self.add_client_files(&mut settings, &mut environment);
        let certificates =
            self.path("SSL_CERT_FILE").unwrap_or(CERTIFICATES.into());
        if let Ok(bundle) = fs::read(certificates) {
            let copy = format!("{HOME}/.ca-certificates.crt");
            for name in CERTIFICATE_VARIABLES {
                environment.push(((*name).to_owned(), copy.clone()));
            }
            settings.files.push((copy, bundle));
        }
        let fixed = FIXED.iter();
        environment.extend(
            fixed.map(|(name, value)| ((*name).into(), (*value).into())),
        );
        let text = script(&environment);
        settings.secrets.extend(secrets(&text));
        settings.files.push((ENVIRONMENT.to_owned(), text.into_bytes()));
        settings
    }

    /// Copies the host's configuration files of pip and npm into the home of the
    /// build script. The environment overrides them.
    fn add_client_files(
        &self,
        settings: &mut DownloadSettings,
        environment: &mut Vec<(String, String)>,
    ) {
        let home = |path: &str| Some(self.path("HOME")?.join(path));
        let config = self.path("XDG_CONFIG_HOME").or_else(|| home(".config"));
        let mut add = |target: &str, source: Option<PathBuf>| {
            let text = fs::read_to_string(source?).ok()?;
            settings.secrets.extend(secrets(&text));
            let target = format!("{HOME}/{target}");
            settings.files.push((target, text.clone().into_bytes()));
            Some(text)
        };
        // In increasing priority: the machine's file, the user's, and the one
        // that the environment names.
        add(".pip/pip.conf", Some("/etc/pip.conf".into()));
        let pip = config.map(|folder| folder.join("pip/pip.conf"));
        let pip = pip.filter(|path| path.exists());
        add(".config/pip/pip.conf", pip.or(home(".pip/pip.conf")));
        if add("pip.conf", self.path("PIP_CONFIG_FILE")).is_some() {
            let path = format!("{HOME}/pip.conf");
            environment.push(("PIP_CONFIG_FILE".to_owned(), path));
        }
        let userconfig = |(name, value): (&str, &str)| {
            name.eq_ignore_ascii_case("npm_config_userconfig")
                .then(|| PathBuf::from(value))
        };
        let npmrc = self.texts().find_map(userconfig).or(home(".npmrc"));
        let npmrc = add(".npmrc", npmrc).unwrap_or_default();
        // npm replaces `${NAME}` in this file by the variable, for example a
        // password.
        for (name, value) in self.texts() {
            if npmrc.contains(&format!("${{{name}}}")) {
                settings.secrets.push(value.to_owned());
                environment.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    /// Returns the variables that are not empty and valid UTF-8.
    fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.variables.iter();
        texts
            .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
            .filter(|(_, value)| !value.is_empty())
    }

    /// Returns the absolute path that a variable names.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        let value = self.texts().find(|(other, _)| *other == name)?.1;
        Path::new(value).is_absolute().then(|| value.into())
    }
}

impl DownloadSettings {
    /// Returns a line of a log without the passwords of the settings.
    pub(crate) fn conceal(&self, line: String) -> String {
        self.secrets
            .iter()
            .fold(line, |line, secret| line.replace(secret.as_str(), "…"))
    }
}

/// Returns a shell script that exports the variables whose names are valid in a
/// shell.
fn script(variables: &[(String, String)]) -> String {
    let is_name = |name: &str| {
        !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let variables = variables.iter().filter(|(name, _)| is_name(name));
    variables.fold(String::new(), |mut text, (name, value)| {
        let value = value.replace('\'', r"'\''");
        let _ = writeln!(text, "export {name}='{value}'");
        text
    })
}

/// Returns the passwords in URLs, and the values of npm's secret options.
fn secrets(text: &str) -> Vec<String> {
    let in_urls = text.split("://").skip(1).filter_map(|rest| {
        let host = rest.split(['/', ' ', '\'', '"', '\n']).next()?;
        let (user, _) = host.rsplit_once('@')?;
        Some(user.split_once(':').map_or(user, |(_, password)| password))
    });
    let of_npm = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        let key = key.trim_end();
        let is_secret = ["_auth", "_authToken", "_password"]
            .iter()
            .any(|name| key.ends_with(name));
        is_secret.then(|| value.trim().trim_matches('"'))
    });
    let found = in_urls.chain(of_npm).map(str::to_owned);
    // `${NAME}` is no secret, and an empty text would match every line.
    found.filter(|it| !it.is_empty() && !it.starts_with("${")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn downloads(variables: &[(&str, &str)]) -> Downloads {
        let variables = variables.iter();
        let variables =
            variables.map(|(name, value)| (name.into(), value.into()));
        Downloads { mirror: None, variables: variables.collect() }
    }

    fn file(settings: &DownloadSettings, path: &str) -> String {
        let mut files = settings.files.iter();
        let found = files.find(|(target, _)| target == path);
        let found = found.map(|(_, text)| text.clone()).unwrap_or_default();
        String::from_utf8(found).unwrap()
    }

    #[test]
    fn forwards_how_to_reach_packages_and_nothing_else() {
        let settings = downloads(&[
            ("PIP_INDEX_URL", "https://me:pw1@index/simple"),
            ("PIP_FIND_LINKS", "/opt/wheels"),
            ("PIP_CERT", "/host/ca.crt"),
            ("PIP_TARGET", "/host"),
            ("https_proxy", "http://it's:3128"),
            ("NO_PROXY", "localhost"),
            ("NPM_CONFIG_REGISTRY", "https://npm.example/"),
            ("npm_config_prefix", "/host/npm"),
            ("AWS_SECRET", "pw3"),
        ])
        .settings();
        let environment = file(&settings, ENVIRONMENT);
        for line in [
            "export HOME='/build'\n",
            "export PIP_INDEX_URL='https://me:pw1@index/simple'\n",
            r"export https_proxy='http://it'\''s:3128'",
            "export NO_PROXY='localhost'\n",
            "export NPM_CONFIG_REGISTRY='https://npm.example/'\n",
        ] {
            assert!(environment.contains(line), "{line}: {environment}");
        }
        for (path, text) in &settings.files {
            let text = String::from_utf8_lossy(text);
            assert!(path.starts_with("/build/"), "{path}");
            assert!(!text.contains("/host"), "{text}");
            assert!(!text.contains("/opt/wheels"), "{text}");
            assert!(!text.contains("pw3"), "{text}");
        }
        let shown = settings.conceal("pw1 https://me:pw1@index".into());
        assert_eq!(shown, "… https://me:…@index");
    }

    #[test]
    fn copies_the_files_of_pip_and_npm() {
        let home = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        put(".config/pip/pip.conf", "[global]\nindex-url = https://a:b1@c/\n");
        put(".npmrc", "//npm.example/:_authToken=${TEAM_TOKEN}\n_auth = pw2\n");
        let bundle = put("ca.crt", "certificates");
        let settings = downloads(&[
            ("HOME", home.path().to_str().unwrap()),
            ("SSL_CERT_FILE", &bundle),
            ("TEAM_TOKEN", "t0ken"),
        ])
        .settings();
        let pip = file(&settings, "/build/.config/pip/pip.conf");
        assert!(pip.contains("https://a:b1@c/"), "{pip}");
        let npmrc = file(&settings, "/build/.npmrc");
        assert!(npmrc.contains("${TEAM_TOKEN}"), "{npmrc}");
        let copy = "/build/.ca-certificates.crt";
        assert_eq!(file(&settings, copy), "certificates");
        let environment = file(&settings, ENVIRONMENT);
        assert!(environment.contains("export TEAM_TOKEN='t0ken'"));
        assert!(environment.contains(&format!("PIP_CERT='{copy}'")));
        assert!(environment.contains(&format!("cafile='{copy}'")));
        assert_eq!(settings.conceal("b1 t0ken pw2 ${X}".into()), "… … … ${X}");
    }
}
