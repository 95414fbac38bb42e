//! A process of a fleet that is no node.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::eventually;
use socket2::{Domain, Socket, Type};

/// A process, which is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a command, whose output goes to the file `log`.
    pub(crate) fn start(command: &mut Command, log: PathBuf) -> Self {
        let file = File::options().create(true).append(true).open(&log);
        let file = file.unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// Waits until it listens.
    pub(crate) fn wait(&mut self, address: SocketAddr) {
        eventually("the process listens", || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {}", self.log());
            TcpStream::connect(address).is_ok()
        });
    }

    /// Kills it at once, with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns its log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Process {
    #[expect(clippy::print_stdout, reason = "the failure shows it")]
    fn drop(&mut self) {
        // Both fail without effect if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("{}:\n{}", self.log.display(), self.log());
        }
    }
}

/// An address that answers nothing, as that of a machine whose power is off: the
/// kernel drops what asks for a connection while a queue is full.
#[derive(Debug)]
pub struct Silence {
    _queue: Socket,
    _kept: Vec<Socket>,
}

impl Silence {
    /// Takes an address that nothing uses any longer.
    pub fn at(address: SocketAddr) -> Self {
        let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let queue = socket();
        queue.set_reuse_address(true).unwrap();
        queue.bind(&address.into()).unwrap();
        queue.listen(0).unwrap();
        let kept = (0..4).map(|_| {
            let one = socket();
            one.set_nonblocking(true).unwrap();
            // It is under way, or waits for ever.
            let _ = one.connect(&address.into());
            one
        });
        Self { _kept: kept.collect(), _queue: queue }
    }
}

/// Returns an address of this host that nothing else uses. The kernel takes none
/// of these for the near end of a connection, so a port that was free once stays
/// free: a process that was killed gets it again.
pub fn own_address() -> Ipv4Addr {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!(next < 1 << 12, "too many addresses");
    // Of two test processes, each has its own.
    let group = std::process::id() % (1 << 11);
    Ipv4Addr::from_bits(0x7f80_0000 | group << 12 | next)
}

/// Connects from this address of the host: for the other side it is a client of its
/// own.
///
/// # Errors
///
/// Returns an error if the other side is not there.
pub fn connect_from(
    own: Ipv4Addr,
    to: SocketAddr,
) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((own, 0)).into())?;
    socket.connect(&to.into())?;
    Ok(socket.into())
}

/// Returns an address of its own with a free port.
pub(crate) fn free() -> SocketAddr {
    let listener = TcpListener::bind((own_address(), 0)).unwrap();
    listener.local_addr().unwrap()
}
