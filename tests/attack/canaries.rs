//! Things of the host that no program in a box may learn or reach: one
//! secret, in files, behind sockets, in shared memory, queues and a keyring,
//! and in the memory and environment of processes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

use sandpiper_testkit::text::Values;
use sandpiper_testkit::{checkout, eventually};
use tempfile::TempDir;

/// The variable that holds the secret.
pub(crate) const SECRET: &str = "SANDPIPER_ATTACK_SECRET";

/// The secret's places on this host; they go with this value.
pub(crate) struct Canaries {
    /// Where each is, by the name that cases use.
    pub(crate) values: Values,
    heard: Heard,
    /// A process with the secret in it, which owns the IPC objects.
    keeper: Child,
    _folders: Vec<TempDir>,
}

/// Everything that was said to a listener of this host.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<String>>);

/// A word that nothing else is.
pub(crate) fn random() -> String {
    let mut bytes = [0; 12];
    let mut source = fs::File::open("/dev/urandom").unwrap();
    source.read_exact(&mut bytes).unwrap();
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    format!("s{}", digits.collect::<String>())
}

impl Canaries {
    pub(crate) fn place(secret: &str) -> Self {
        let mut values = Values::new();
        let mut set = |name: &str, value: String| {
            values.insert(name.to_owned(), value);
        };
        set("secret", secret.to_owned());
        let mut folders = Vec::new();
        for (name, folder) in [
            ("file", "/tmp"),
            ("var_file", "/var/tmp"),
            ("shm_file", "/dev/shm"),
        ] {
            let folder = tempfile::Builder::new()
                .prefix("sandpiper-attack-")
                .tempdir_in(folder)
                .unwrap();
            let open = fs::Permissions::from_mode(0o755);
            fs::set_permissions(folder.path(), open).unwrap();
            let path = folder.path().join("canary");
            fs::write(&path, format!("{secret}\n")).unwrap();
            set(name, path.to_str().unwrap().to_owned());
            folders.push(folder);
        }
        let heard = Heard::default();
        let folder = folders[0].path().to_str().unwrap();
        set("folder", folder.to_owned());
        set("socket", format!("{folder}/socket"));
        set("abstract", format!("sandpiper-attack-{}", random()));
        for (name, port) in heard.listen(secret, &values) {
            values.insert(name.to_owned(), port.to_string());
        }
        let (keeper, found) = start_keeper(&folders[0]);
        values.extend(found);
        let placed = Self { values, heard, keeper, _folders: folders };
        placed.assert_all_hear();
        placed
    }

    /// An attack that reached a deaf listener would pass.
    fn assert_all_hear(&self) {
        fn say(word: &str, mut stream: impl Write) {
            stream.write_all(word.as_bytes()).unwrap();
        }
        let [tcp, udp, path, name] = std::array::from_fn(|_| random());
        let port = |name: &str| {
            let port: u16 = self.values[name].parse().unwrap();
            ("127.0.0.1", port)
        };
        say(&tcp, TcpStream::connect(port("tcp")).unwrap());
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(udp.as_bytes(), port("udp")).unwrap();
        say(&path, UnixStream::connect(&self.values["socket"]).unwrap());
        let address = &self.values["abstract"];
        let address = SocketAddr::from_abstract_name(address).unwrap();
        say(&name, UnixStream::connect_addr(&address).unwrap());
        for word in [tcp, udp, path, name] {
            eventually("each listener hears", || self.heard(&word));
        }
    }

    /// Whether a listener received this word.
    pub(crate) fn heard(&self, word: &str) -> bool {
        self.heard.0.lock().unwrap().contains(word)
    }
}

impl Drop for Canaries {
    fn drop(&mut self) {
        // It removes what it made when there is no more to read.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

impl Heard {
    /// Starts every listener; the ports of those that have one.
    fn listen(
        &self,
        secret: &str,
        values: &Values,
    ) -> Vec<(&'static str, u16)> {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let path = UnixListener::bind(&values["socket"]).unwrap();
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(&values["socket"], open).unwrap();
        let name = SocketAddr::from_abstract_name(&values["abstract"]);
        let name = UnixListener::bind_addr(&name.unwrap()).unwrap();
        let ports = vec![
            ("tcp", tcp.local_addr().unwrap().port()),
            ("udp", udp.local_addr().unwrap().port()),
        ];
        self.answer(secret, move || Ok(tcp.accept()?.0));
        for listener in [path, name] {
            self.answer(secret, move || Ok(listener.accept()?.0));
        }
        let (heard, secret) = (self.clone(), secret.to_owned());
        spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok((length, from)) = udp.recv_from(&mut buffer) {
                heard.note(&buffer[..length]);
                let _ = udp.send_to(secret.as_bytes(), from);
            }
        });
        ports
    }

    /// Tells every caller the secret, and notes what it says. The threads end
    /// with the process.
    fn answer<S: Read + Write + Send + 'static>(
        &self,
        secret: &str,
        accept: impl Fn() -> std::io::Result<S> + Send + 'static,
    ) {
        let (heard, secret) = (self.clone(), secret.to_owned());
        spawn(move || {
            while let Ok(mut stream) = accept() {
                let (heard, secret) = (heard.clone(), secret.clone());
                spawn(move || {
                    let _ = stream.write_all(secret.as_bytes());
                    let mut buffer = [0; 4096];
                    let length = stream.read(&mut buffer).unwrap_or(0);
                    heard.note(&buffer[..length]);
                });
            }
        });
    }

    fn note(&self, words: &[u8]) {
        let words = String::from_utf8_lossy(words);
        self.0.lock().unwrap().push_str(&words);
    }
}

/// Builds and starts the keeper; it says what it has, `name=value` each.
fn start_keeper(folder: &TempDir) -> (Child, Values) {
    let program = folder.path().join("keeper");
    let built = Command::new("cc")
        .args(["-w", "-o"])
        .arg(&program)
        .arg(checkout().join("tests/attack/keeper.c"))
        .status()
        .unwrap();
    assert!(built.success(), "cc cannot build keeper.c");
    let mut keeper = Command::new(program)
        .arg(SECRET)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(keeper.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let values = line.split_whitespace().map(|pair| {
        let (name, value) = pair.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    });
    let values: Values = values.collect();
    assert!(values.len() >= 6, "the keeper has not all: {line}");
    (keeper, values)
}
