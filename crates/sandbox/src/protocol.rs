//! The messages between the server and the init of a box.
//!
//! A frame is a length (u32, little endian) and that many bytes of postcard.
//! Descriptors travel with the length. Init answers each request of the server
//! once, but setup and join together. Init trusts the server. The server trusts
//! init only with its own box: a frame that is too long or does not parse ends
//! the box.

use std::borrow::Cow;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::SandboxError;
use crate::{BoxFile, CompileArtifact, FilesSpec, LeftFiles};

/// Maximum length of a request: all files or compile artifacts of a submission,
/// and some room.
pub(crate) const MAX_REQUEST_BYTES: usize = 64 << 20;
/// Maximum length of a reply, without the content of compile artifacts and
/// files. The names of files that were left out take most of it.
pub(crate) const MAX_REPLY_BYTES: usize = 256 << 10;
/// Maximum length of a seccomp filter: the limit of the kernel.
const MAX_FILTER_BYTES: usize = 4096 * 8;
/// Maximum number of descriptors that travel with one frame.
const MAX_DESCRIPTORS: usize = 16;

/// A request of the server to the init of a box.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request<'a> {
    /// Make the namespaces. Descriptor: the user namespace, if
    /// [`Setup::user_namespace`] is [`UserNamespace::Join`].
    Setup(Setup),
    /// Join this many control groups, and build the box. Descriptors: the
    /// groups.
    Join(usize),
    /// Start a launcher, and answer when it waits at its gate. Descriptors: its
    /// stdin, stdout and stderr.
    Prepare(ExecSpec),
    /// Run a program to its end. Descriptors: those of [`Program::New`].
    Run(Run<'a>),
    /// Answer with the files that the last program left.
    ReadFiles(Cow<'a, FilesSpec>),
}

/// A program to run to its end, with its files. They come in one message
/// because every answer costs two switches of process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Run<'a> {
    /// Files for the working directory, written before the program starts.
    pub(crate) files: Cow<'a, [BoxFile]>,
    /// The content for /artifacts, which is empty.
    pub(crate) compile_artifacts: Cow<'a, [CompileArtifact]>,
    /// Kill this many of the launchers that wait, from the first.
    pub(crate) kill_launchers: usize,
    pub(crate) program: Program,
    /// The text for the gate of the program, if it has one.
    pub(crate) gate: Option<String>,
    pub(crate) artifacts_writable: bool,
    /// Answer with the content of /artifacts, up to this many bytes.
    pub(crate) keep_compile_artifacts: Option<u64>,
}

/// The program of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Program {
    /// A program to start. Descriptors: its stdin, stdout and stderr.
    New(ExecSpec),
    /// The first launcher that waits at its gate.
    Prepared,
}

/// How init gets its user namespace.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum UserNamespace {
    /// Init joins one that was made ahead. In it 0 is init and 1000 the
    /// program.
    Join,
    /// Init makes one, in which its own id is 1000. The program has the same.
    Make,
}

/// The description of a box for its init.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) rootfs: std::path::PathBuf,
    pub(crate) user_namespace: UserNamespace,
    pub(crate) disk_bytes: u64,
    pub(crate) inodes: u64,
    /// The folder of the device nodes.
    pub(crate) devices: std::path::PathBuf,
}

/// One command, as init runs it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExecSpec {
    pub(crate) command: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) cpu_seconds: u64,
    pub(crate) processes: u64,
    pub(crate) file_bytes: u64,
    pub(crate) open_files: u64,
}

/// A reply of the init of a box.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// Init's outer half waits for its setup. Descriptor: a pidfd of it.
    Begun,
    /// The box stands. `own_inodes` says whether the files of its image have
    /// inodes that no other box has. Descriptors: a pidfd of pid 1,
    /// /proc/locks, and sockstat and protocols of /proc/net.
    Ready { own_inodes: bool },
    /// The launcher waits at its gate.
    Prepared,
    /// The command ended, and every process that it started is killed.
    Ended(Ended),
    /// The files that the program left.
    Files(LeftFiles),
    /// The box could not do it.
    Failed(SerializedError),
}

/// An error of the sandbox, on its way to another process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SerializedError {
    step: String,
    errno: Option<i32>,
    reason: String,
}

impl From<SandboxError> for SerializedError {
    fn from(SandboxError { step, cause }: SandboxError) -> Self {
        let errno = cause.raw_os_error();
        Self { step, errno, reason: cause.to_string() }
    }
}

impl SerializedError {
    /// Returns the error again, as one that happened during `step`.
    pub(crate) fn into_error(self, step: &str) -> SandboxError {
        let cause = self.errno.map_or_else(
            || io::Error::other(self.reason),
            io::Error::from_raw_os_error,
        );
        SandboxError::new(format!("{step}: {}", self.step), cause)
    }
}

/// How a command's main process ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// The raw wait status (wait(2)).
    pub(crate) status: i32,
    /// The time that writing its files took.
    pub(crate) inputs_micros: u64,
    /// The time from its start, or from the opening of its gate, to its end.
    pub(crate) wall_micros: u64,
    pub(crate) compile_artifacts: Option<Vec<CompileArtifact>>,
    /// Whether the launchers of later steps still wait.
    pub(crate) others_wait: bool,
}

/// Returns the bytes of a frame.
pub(crate) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let frame = postcard::to_extend(message, vec![0; 4]).map_err(invalid)?;
    let length = u32::try_from(frame.len() - 4).map_err(invalid)?;
    let mut frame = frame;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// Parses the bytes after the length of a frame.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    let (message, rest) = postcard::take_from_bytes(bytes).map_err(invalid)?;
    if rest.is_empty() {
        Ok(message)
    } else {
        Err(invalid("bytes after the message"))
    }
}

/// Sends the first bytes of a frame and its descriptors. Returns the number of
/// bytes that were sent.
pub(crate) fn send_with(
    socket: impl AsFd,
    frame: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit();
        rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty()
        && !control.push(SendAncillaryMessage::ScmRights(descriptors))
    {
        return Err(invalid("too many descriptors"));
    }
    let iov = [IoSlice::new(frame)];
    Ok(sendmsg(socket, &iov, &mut control, SendFlags::NOSIGNAL)?)
}

/// Receives bytes into `buffer`, and the descriptors that came with them.
/// Returns the number of bytes.
pub(crate) fn receive_with(
    socket: impl AsFd,
    buffer: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit();
        rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut iov = [IoSliceMut::new(buffer)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket, &mut iov, &mut control, flags)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        // The kernel drops descriptors if the process has no number free.
        return Err(rustix::io::Errno::MFILE.into());
    }
    Ok(received.bytes)
}

/// Receives the bytes of the seccomp filter, which is the first message to the
/// fork server. Returns `None` if the server is gone.
pub(crate) fn receive_filter(
    requests: impl AsFd,
) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; MAX_FILTER_BYTES];
    let received = receive_with(requests, &mut bytes, &mut Vec::new())?;
    bytes.truncate(received);
    Ok((received > 0).then_some(bytes))
}

/// Receives, in the fork server, the socket of a box that is to be made.
/// Returns `None` if the server is gone.
pub(crate) fn receive_socket(
    requests: impl AsFd,
) -> io::Result<Option<UnixStream>> {
    let mut descriptors = Vec::new();
    let received = receive_with(requests, &mut [0], &mut descriptors)?;
    match descriptors.pop() {
        Some(socket) => Ok(Some(socket.into())),
        None if received == 0 => Ok(None),
        None => Err(invalid("no socket came")),
    }
}

/// Sends one message over a blocking socket, as init does.
pub(crate) fn send(
    socket: &UnixStream,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let frame = encode(message)?;
    let sent = send_with(socket, &frame, descriptors)?;
    let mut socket = socket;
    socket.write_all(&frame[sent..])
}

/// Receives one message over a blocking socket, as init does. Returns `None` if
/// the other end is closed.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: &UnixStream,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut descriptors = Vec::new();
    let mut length = [0; 4];
    let first = receive_with(socket, &mut length, &mut descriptors)?;
    if first == 0 {
        return Ok(None);
    }
    let mut reader = socket;
    reader.read_exact(&mut length[first..])?;
    let length =
        usize::try_from(u32::from_le_bytes(length)).map_err(invalid)?;
    if length > MAX_REQUEST_BYTES {
        return Err(invalid("frame too long"));
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(Some((decode(&bytes)?, descriptors)))
}

fn invalid<E>(error: E) -> io::Error
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    io::Error::new(io::ErrorKind::InvalidData, error)
}
