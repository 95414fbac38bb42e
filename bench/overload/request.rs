//! One program that one client sends, and its answer.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sandpiper_testkit::Reply;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::time::timeout;

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// The longest `Retry-After`, in seconds: the longest wait in the queue.
const MAX_RETRY_AFTER: u64 = 15;
/// How many programs were sent.
static SENT: AtomicUsize = AtomicUsize::new(0);

/// A small program. `WORD` in it is replaced by another word each time, so that
/// each answer belongs to one request.
pub(crate) struct Program {
    pub(crate) language: &'static str,
    file: &'static str,
    source: &'static str,
}

/// The programs of ordinary clients, which send them in turns.
pub(crate) const ORDINARY: [Program; 3] = [
    python("print('WORD')\n"),
    Program {
        language: "c",
        file: "main.c",
        source: "#include <stdio.h>\nint main(void) { puts(\"WORD\"); }\n",
    },
    Program {
        language: "php",
        file: "main.php",
        source: "<?php\necho 'WORD', PHP_EOL;\n",
    },
];

/// The programs of a hostile client: both last as long as a run may.
pub(crate) const HOSTILE: [Program; 2] = [
    python("while True:\n    pass  # WORD\n"),
    python("import time\ntime.sleep(1000)  # WORD\n"),
];

const fn python(source: &'static str) -> Program {
    Program { language: "python", file: "main.py", source }
}

/// The answer of the service.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    /// It ran. The answer is right if it printed its word and nothing else.
    Ran { is_right: bool, queue: Duration },
    /// 503, with an estimate of the wait.
    Refused { retry_after: Duration },
    /// A promise is missed: another status, no estimate, or no answer.
    Broken,
}

/// A request from its first moment to its last.
#[derive(Clone, Copy)]
pub(crate) struct TimedRequest {
    pub(crate) language: &'static str,
    pub(crate) answer: Answer,
    pub(crate) begun: Instant,
    pub(crate) total: Duration,
}

impl TimedRequest {
    /// Returns the time of a run that was right, less its wait for a box.
    pub(crate) fn without_queue(&self) -> Option<Duration> {
        match self.answer {
            Answer::Ran { is_right: true, queue } => {
                Some(self.total.saturating_sub(queue))
            }
            _ => None,
        }
    }

    /// Returns the estimate of a refusal.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self.answer {
            Answer::Refused { retry_after } => Some(retry_after),
            _ => None,
        }
    }
}

/// Sends `program` from `client`.
pub(crate) async fn send(
    server: SocketAddr,
    client: Ipv4Addr,
    program: &'static Program,
) -> TimedRequest {
    let begun = Instant::now();
    let number = SENT.fetch_add(1, Ordering::Relaxed);
    let word = format!("n{number}-{:x}", std::process::id());
    let content = program.source.replace("WORD", &word);
    let body = json!({
        "language": program.language,
        "entryFile": program.file,
        "files": [{"path": program.file, "content": content}],
    });
    let exchange = exchange(server, client, body.to_string());
    let answer = match timeout(PATIENCE, exchange).await {
        Ok(Ok(bytes)) if !bytes.is_empty() => answer(&bytes, &word),
        _ => Answer::Broken,
    };
    let (language, total) = (program.language, begun.elapsed());
    TimedRequest { language, answer, begun, total }
}

async fn exchange(
    server: SocketAddr,
    client: Ipv4Addr,
    body: String,
) -> io::Result<Vec<u8>> {
    let socket = TcpSocket::new_v4()?;
    // Each client has its own address: all of 127.0.0.0/8 is this host.
    socket.bind((client, 0).into())?;
    let mut stream = socket.connect(server).await?;
    let request = format!(
        "POST /api/compile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    Ok(bytes)
}

fn answer(bytes: &[u8], word: &str) -> Answer {
    let reply = Reply::read(&mut &bytes[..]);
    let retry_after = reply.header("retry-after");
    match (reply.status, retry_after.and_then(|text| text.parse().ok())) {
        (200, _) => Answer::Ran {
            is_right: reply.json()["stdout"] == format!("{word}\n")
                && reply.header("sandpiper-exit") == Some("stage=run; code=0"),
            queue: queue(&reply).unwrap_or_default(),
        },
        (503, Some(seconds @ 1..=MAX_RETRY_AFTER)) => {
            Answer::Refused { retry_after: Duration::from_secs(seconds) }
        }
        _ => Answer::Broken,
    }
}

/// Returns the wait for a box, as the server measured it.
fn queue(reply: &Reply) -> Option<Duration> {
    let timing = reply.header("server-timing")?;
    let (_, rest) = timing.split_once("queue;dur=")?;
    let milliseconds = rest.split(',').next()?.parse::<f64>().ok()?;
    Some(Duration::from_secs_f64(milliseconds / 1e3))
}
