//! One program sent by one client, and what came of it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::{TcpSocket, TcpStream};

use sandpiper_testkit::Reply;

/// A small program. `NONCE` in it is another word each time, so that no
/// answer can be someone else's.
pub(crate) struct Program {
    pub(crate) language: &'static str,
    file: &'static str,
    source: &'static str,
}

/// What ordinary clients send, in turns.
pub(crate) const ORDINARY: [Program; 3] = [
    Program { language: "python", file: "main.py", source: "print('NONCE')\n" },
    Program {
        language: "c",
        file: "main.c",
        source: "#include <stdio.h>\nint main(void) { puts(\"NONCE\"); }\n",
    },
    Program {
        language: "php",
        file: "main.php",
        source: "<?php\necho 'NONCE', PHP_EOL;\n",
    },
];

/// What a hostile one sends: both last as long as a run may.
pub(crate) const HOSTILE: [Program; 2] = [
    Program {
        language: "python",
        file: "main.py",
        source: "while True:\n    pass  # NONCE\n",
    },
    Program {
        language: "python",
        file: "main.py",
        source: "import time\ntime.sleep(1000)  # NONCE\n",
    },
];

/// How the service answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// It ran; whether it printed its word and nothing else.
    Ran { is_right: bool, queue: Duration },
    /// 503, with the time to wait.
    Refused { retry_after: Duration },
    /// What must not be: another status, no time to wait, no answer.
    Broken,
}

/// A request from its first moment to its last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) language: &'static str,
    pub(crate) answer: Answer,
    pub(crate) begun: Instant,
    pub(crate) total: Duration,
}

impl Exchange {
    /// Of a run that was right: all but the wait for a box.
    pub(crate) fn without_queue(&self) -> Option<Duration> {
        match self.answer {
            Answer::Ran { is_right: true, queue } => {
                Some(self.total.saturating_sub(queue))
            }
            _ => None,
        }
    }

    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.answer, Answer::Refused { .. })
    }
}

/// Sends `program` from `client`, with a word made of `number`.
pub(crate) async fn send(
    server: SocketAddr,
    client: Ipv4Addr,
    program: &'static Program,
    number: u64,
) -> Exchange {
    let begun = Instant::now();
    let nonce = format!("n{number}-{:x}", std::process::id());
    let answered = exchange(server, client, program, &nonce).await;
    let answer = answered
        .map_or(Answer::Broken, |bytes| answer(&bytes, &format!("{nonce}\n")));
    Exchange {
        language: program.language,
        answer,
        begun,
        total: begun.elapsed(),
    }
}

async fn exchange(
    server: SocketAddr,
    client: Ipv4Addr,
    program: &Program,
    nonce: &str,
) -> io::Result<Vec<u8>> {
    let socket = TcpSocket::new_v4()?;
    // Each client is an address of its own: all of 127.0.0.0/8 is this host.
    socket.bind((client, 0).into())?;
    let stream = socket.connect(server).await?;
    let content = program.source.replace("NONCE", nonce);
    let body = json!({
        "language": program.language,
        "entryFile": program.file,
        "files": [{"path": program.file, "content": content}],
    })
    .to_string();
    let request = format!(
        "POST /api/compile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    write_all(&stream, request.as_bytes()).await?;
    read_all(&stream).await
}

async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn read_all(stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut buffer) {
            Ok(0) if bytes.is_empty() => {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

fn answer(bytes: &[u8], expected: &str) -> Answer {
    let reply = Reply::read(&mut &bytes[..]);
    let retry_after =
        reply.header("retry-after").and_then(|text| text.parse().ok());
    match (reply.status, retry_after) {
        (200, _) => Answer::Ran {
            is_right: reply.json()["stdout"] == expected
                && reply.header("sandpiper-exit") == Some("stage=run; code=0"),
            queue: queue(&reply).unwrap_or_default(),
        },
        (503, Some(seconds)) => {
            Answer::Refused { retry_after: Duration::from_secs(seconds) }
        }
        _ => Answer::Broken,
    }
}

/// The wait for a box, as the server measured it.
fn queue(reply: &Reply) -> Option<Duration> {
    let timing = reply.header("server-timing")?;
    let (_, rest) = timing.split_once("queue;dur=")?;
    let milliseconds = rest.split(',').next()?.parse::<f64>().ok()?;
    Some(Duration::from_secs_f64(milliseconds / 1e3))
}
