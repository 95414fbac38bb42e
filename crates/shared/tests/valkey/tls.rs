//! A Valkey that speaks TLS, with the certificate of an authority of the test.

use std::env;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use sandpiper_shared::{ServerUrl, inspect};
use sandpiper_testkit::Valkey;

use super::rate_limits;

/// The variable of the child that has the URL.
const URL: &str = "TEST_URL";

fn openssl(folder: &Path, words: &str) {
    let made = Command::new("openssl")
        .current_dir(folder)
        .args("req -x509 -days 2 -nodes -newkey ec".split(' '))
        .args("-pkeyopt ec_paramgen_curve:prime256v1".split(' '))
        .args(words.split(' '))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// Makes an authority. Returns its certificate.
fn authority(folder: &Path, name: &str) -> PathBuf {
    let words = format!("-subj /CN={name} -keyout {name}.key -out {name}.pem");
    openssl(folder, &words);
    folder.join(format!("{name}.pem"))
}

/// Returns the words of this test in another process, which trusts this
/// authority alone: the program reads the authorities of its machine.
fn asked(url: &str, authority: &Path) -> String {
    let child = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "tls::asks"])
        .env("SSL_CERT_FILE", authority)
        .env(URL, url)
        .output()
        .unwrap();
    assert!(child.status.success(), "{child:?}");
    String::from_utf8(child.stdout).unwrap()
}

/// The part of the other process.
#[tokio::test]
#[ignore = "needs Valkey"]
#[expect(clippy::disallowed_methods, reason = "given by the other process")]
async fn asks() {
    let Some(url) = env::var_os(URL) else { return };
    let url: ServerUrl = url.to_str().unwrap().parse().unwrap();
    match inspect(&url).await {
        Ok(facts) => {
            let limits = rate_limits::limits(&[url.to_string()]).await;
            let client = rate_limits::client("192.0.2.1", 1);
            let verdict = rate_limits::admit(&limits, client, "id").await;
            println!("it is {}, and says {verdict:?}", facts.version);
        }
        Err(reason) => println!("no answer: {reason}"),
    }
}

#[test]
#[ignore = "needs Valkey"]
fn only_a_valkey_of_a_trusted_authority_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let [own, other] = ["own", "other"].map(|name| authority(path, name));
    openssl(
        path,
        "-CA own.pem -CAkey own.key -subj /CN=valkey -keyout valkey.key \
         -out valkey.pem -addext subjectAltName=IP:127.0.0.1 \
         -addext basicConstraints=critical,CA:FALSE",
    );
    let file = |name: &str| path.join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (file("valkey.pem"), file("valkey.key"));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let _valkey = Valkey::start(&[
        "--tls-port",
        &address.port().to_string(),
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-auth-clients",
        "no",
    ]);
    let url = format!("valkeys://{address}");
    let answer = asked(&url, &own);
    assert!(answer.contains("it is valkey 8."), "{answer}");
    assert!(answer.contains("says (Admitted, 0)"), "{answer}");
    // Another authority, and another name than that of the certificate.
    for (url, trusted) in
        [(&url, &other), (&url.replace("127.0.0.1", "localhost"), &own)]
    {
        let answer = asked(url, trusted);
        assert!(answer.contains("no answer: "), "{answer}");
        assert!(answer.contains("certificate"), "{answer}");
    }
}
