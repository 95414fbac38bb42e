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

/// The options of pip that say how to reach an index. The others change what pip
/// does, or name folders of the host.
const PIP_OPTIONS: &[&str] = &[
    "PIP_DEFAULT_TIMEOUT",
    "PIP_EXTRA_INDEX_URL",
    "PIP_INDEX_URL",
    "PIP_PROXY",
    "PIP_RETRIES",
    "PIP_TIMEOUT",
    "PIP_TRUSTED_HOST",
];

/// The options of npm that say how to reach a registry, in lower case and with
/// `_` for `-`. Options of one scope or one registry are forwarded as well.
const NPM_OPTIONS: &[&str] = &[
    "ca",
    "fetch_retries",
    "fetch_retry_factor",
    "fetch_retry_maxtimeout",
    "fetch_retry_mintimeout",
    "fetch_timeout",
    "http_proxy",
    "https_proxy",
    "maxsockets",
    "noproxy",
    "proxy",
    "registry",
    "strict_ssl",
];

/// The variables of proxies, in lower case.
const PROXIES: &[&str] =
    &["all_proxy", "http_proxy", "https_proxy", "no_proxy"];

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
    /// The environment of the builder. Only the variables that say how to reach
    /// packages are used.
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
pub(crate) struct Settings {
    /// The absolute path in the image, and the contents.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    secrets: Vec<String>,
}

/// The path in the image of a shell script that sets the build's variables.
pub(crate) const ENVIRONMENT: &str = "/build/.environment";

impl Downloads {
    /// Reads the host's settings.
    pub(crate) fn settings(&self) -> Settings {
        let mut environment = vec![("HOME".to_owned(), HOME.to_owned())];
        let mut npmrc = String::new();
        let mut settings = Settings::default();
        for (name, value) in self.texts() {
            let upper = name.to_ascii_uppercase();
            let proxy =
                PROXIES.iter().any(|name| *name == upper.to_lowercase());
            if proxy || PIP_OPTIONS.contains(&name) {
                environment.push((name.to_owned(), value.to_owned()));
            } else if upper.starts_with("NPM_CONFIG_")
                && let Some(key) = npm_option(&name["npm_config_".len()..])
            {
                let _ = writeln!(npmrc, "{key}={value}");
            }
        }
        self.add_client_files(&mut settings, &mut environment, npmrc);
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
        settings: &mut Settings,
        environment: &mut Vec<(String, String)>,
        npm_options: String,
    ) {
        let home = |path: &str| Some(self.path("HOME")?.join(path));
        let config = self.path("XDG_CONFIG_HOME").or_else(|| home(".config"));
        let mut add = |target: &str, source: Option<PathBuf>, more: &str| {
            let text = source.and_then(|path| fs::read_to_string(path).ok());
            if text.is_none() && more.is_empty() {
                return String::new();
            }
            let text = format!("{}\n{more}", text.unwrap_or_default());
            settings.secrets.extend(secrets(&text));
            let target = format!("{HOME}/{target}");
            settings.files.push((target, text.clone().into_bytes()));
            text
        };
        // In increasing priority: the machine's file, the user's, and the one
        // that the environment names.
        add(".pip/pip.conf", Some("/etc/pip.conf".into()), "");
        let pip = config.map(|folder| folder.join("pip/pip.conf"));
        let pip = pip.filter(|path| path.exists());
        add(".config/pip/pip.conf", pip.or(home(".pip/pip.conf")), "");
        let named = self.path("PIP_CONFIG_FILE");
        if !add("pip.conf", named, "").is_empty() {
            let path = format!("{HOME}/pip.conf");
            environment.push(("PIP_CONFIG_FILE".to_owned(), path));
        }
        let userconfig = |(name, value): (&str, &str)| {
            name.eq_ignore_ascii_case("npm_config_userconfig")
                .then(|| PathBuf::from(value))
        };
        let npmrc = self.texts().find_map(userconfig).or(home(".npmrc"));
        let npmrc = add(".npmrc", npmrc, &npm_options);
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

    fn path(&self, name: &str) -> Option<PathBuf> {
        let value = self.texts().find(|(other, _)| *other == name)?.1;
        Path::new(value).is_absolute().then(|| value.into())
    }
}

impl Settings {
    /// Returns a line of a log without the passwords of the settings.
    pub(crate) fn conceal(&self, line: String) -> String {
        self.secrets
            .iter()
            .fold(line, |line, secret| line.replace(secret.as_str(), "…"))
    }
}

/// Returns the name in `.npmrc` of the option that a variable sets, if the
/// option says how to reach packages.
fn npm_option(name: &str) -> Option<String> {
    if name.starts_with("//") || name.starts_with('@') {
        return Some(name.to_owned());
    }
    let name = name.to_ascii_lowercase().replace('-', "_");
    NPM_OPTIONS.contains(&name.as_str()).then(|| name.replace('_', "-"))
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

    fn file(settings: &Settings, path: &str) -> String {
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
            ("npm_config_@team:registry", "https://team.example/"),
            ("npm_config_//npm.example/:_authToken", "pw2"),
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
        ] {
            assert!(environment.contains(line), "{line}: {environment}");
        }
        let npmrc = file(&settings, "/build/.npmrc");
        assert_eq!(
            npmrc,
            "\nregistry=https://npm.example/\n\
             @team:registry=https://team.example/\n\
             //npm.example/:_authToken=pw2\n"
        );
        for (path, text) in &settings.files {
            let text = String::from_utf8_lossy(text);
            assert!(path.starts_with("/build/"), "{path}");
            assert!(!text.contains("/host"), "{text}");
            assert!(!text.contains("/opt/wheels"), "{text}");
            assert!(!text.contains("pw3"), "{text}");
        }
        let shown = settings.conceal("pw1 https://me:pw1@index pw2".into());
        assert_eq!(shown, "… https://me:…@index …");
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
        put(".npmrc", "//npm.example/:_authToken=${TEAM_TOKEN}\n");
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
        assert_eq!(settings.conceal("b1 t0ken ${X}".into()), "… … ${X}");
    }
}
