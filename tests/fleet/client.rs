//! A client with an address of its own, and the programs that clients send.

use std::io::{self, Error, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sandpiper_testkit::{Events, Reply};
use serde_json::{Value, json};

use crate::process::{connect_from, own_address};

/// The longest time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const JSON: &str = "Content-Type: application/json";
/// The error of an answer that ended within its body.
pub(crate) const CUT_BODY: &str = "a cut body";

/// A client, which may ask several balancers and nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    pub(crate) address: Ipv4Addr,
}

impl Client {
    pub(crate) fn new() -> Self {
        Self { address: own_address() }
    }

    fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let stream = connect_from(self.address, to)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Returns a connection for several requests; see [`ask_again`].
    pub(crate) fn keep(&self, to: SocketAddr) -> TcpStream {
        self.connect(to).expect("the balancer is there")
    }

    /// Sends a request, and returns the connection, from which the answer can be
    /// read.
    ///
    /// # Errors
    ///
    /// Returns an error if the other side is not there, or ends the connection.
    pub(crate) fn begin(
        &self,
        to: SocketAddr,
        head: &str,
        headers: &[&str],
        body: &str,
    ) -> io::Result<TcpStream> {
        let length = format!("Content-Length: {}", body.len());
        self.begin_with(to, head, &[headers, &[&length]].concat(), body)
    }

    /// Sends a request like [`Self::begin`]; its length is among the headers.
    ///
    /// # Errors
    ///
    /// As [`Self::begin`].
    pub(crate) fn begin_with(
        &self,
        to: SocketAddr,
        head: &str,
        headers: &[&str],
        body: &str,
    ) -> io::Result<TcpStream> {
        let mut stream = self.connect(to)?;
        let mut request =
            format!("{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
        for header in headers {
            request += &format!("{header}\r\n");
        }
        stream.write_all(format!("{request}\r\n{body}").as_bytes())?;
        Ok(stream)
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    ///
    /// As [`Self::begin`], and if the answer is cut.
    pub(crate) fn try_send(
        &self,
        to: SocketAddr,
        head: &str,
        headers: &[&str],
        body: &str,
    ) -> io::Result<Reply> {
        read(&mut self.begin(to, head, headers, body)?)
    }

    /// Sends a request whose answer must come.
    pub(crate) fn send(&self, to: SocketAddr, head: &str, body: &str) -> Reply {
        self.try_send(to, head, &[JSON], body).expect("an answer")
    }

    /// Runs a program, which must be answered.
    pub(crate) fn run(&self, to: SocketAddr, program: &Value) -> Reply {
        self.send(to, "POST /api/compile", &program.to_string())
    }

    /// Sends a program, and returns the connection.
    pub(crate) fn begin_run(
        &self,
        to: SocketAddr,
        program: &Value,
    ) -> TcpStream {
        let body = program.to_string();
        let stream = self.begin(to, "POST /api/compile", &[JSON], &body);
        stream.expect("the balancer is there")
    }

    /// Starts a live run.
    pub(crate) fn talk(&self, to: SocketAddr, source: &str) -> Events {
        let mut asked = python(source);
        asked["interactive"] = true.into();
        let headers = [JSON, "Accept: text/event-stream"];
        let body = asked.to_string();
        let stream = self.begin(to, "POST /api/run", &headers, &body);
        let events = Events::read(stream.expect("the balancer is there"));
        events.expect("a stream")
    }

    /// Sends input to a run, or stops it.
    pub(crate) fn tell(
        &self,
        to: SocketAddr,
        run: &str,
        what: &str,
        body: &Value,
    ) -> Reply {
        let head = format!("POST /api/run/{run}/{what}");
        self.send(to, &head, &body.to_string())
    }
}

/// Runs a program on a connection that stays open.
pub(crate) fn ask_again(stream: &mut TcpStream, program: &Value) -> Reply {
    let body = program.to_string();
    let request = format!(
        "POST /api/compile HTTP/1.1\r\nHost: x\r\n{JSON}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&piece[..count]);
        if !bytes.windows(4).any(|part| part == b"\r\n\r\n") {
            continue;
        }
        let reply = Reply::read(&mut &bytes[..]);
        let length = reply.header("content-length").expect("a length");
        if reply.body.len() == length.parse::<usize>().unwrap() {
            return reply;
        }
    }
}

/// Reads an answer.
///
/// # Errors
///
/// Returns an error if the connection ends before the answer does.
pub(crate) fn read(stream: &mut TcpStream) -> io::Result<Reply> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    if !bytes.windows(4).any(|part| part == b"\r\n\r\n") {
        return Err(Error::other("no whole head"));
    }
    let reply = Reply::read(&mut &bytes[..]);
    let length = reply.header("content-length").map(str::parse);
    match length {
        Some(Ok(length)) if reply.body.len() < length => {
            Err(Error::other(CUT_BODY))
        }
        _ => Ok(reply),
    }
}

/// Returns a Python program of one file.
pub(crate) fn python(source: &str) -> Value {
    program("python", "main.py", source)
}

fn program(language: &str, file: &str, source: &str) -> Value {
    json!({
        "language": language,
        "entryFile": file,
        "files": [{"path": file, "content": source}],
    })
}

/// Returns a word that nothing else has.
pub(crate) fn word() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("w{next}-{:x}", std::process::id())
}

/// Returns a program that prints this word, in one of three languages.
pub(crate) fn prints(word: &str, number: usize) -> Value {
    prints_after(word, number, 0)
}

/// Returns such a program that sleeps first.
pub(crate) fn prints_after(word: &str, number: usize, ms: u32) -> Value {
    match number % 3 {
        0 => python(&format!(
            "import time\ntime.sleep({ms} / 1000)\nprint('{word}')\n"
        )),
        1 => program(
            "c",
            "main.c",
            &format!(
                "#include <stdio.h>\n#include <unistd.h>\n\
                 int main(void) {{ usleep({ms} * 1000); puts(\"{word}\"); }}\n"
            ),
        ),
        _ => program(
            "php",
            "main.php",
            &format!("<?php\nusleep({ms} * 1000);\necho '{word}', PHP_EOL;\n"),
        ),
    }
}

/// Returns a program that waits until it is released, and then prints its name.
pub(crate) fn waits(name: &str) -> Value {
    waits_with(name, "")
}

/// Returns the same program with further text in its source.
pub(crate) fn waits_with(name: &str, text: &str) -> Value {
    // A shell of this name, by which its process is found.
    python(&format!(
        "import os\nos.execlp('sh', '{name}', '-c', \
         'sleep 1000 & wait; echo {name}')  # {text}"
    ))
}

/// Returns whether a program that prints this word was answered right.
pub(crate) fn printed(reply: &Reply, word: &str) -> bool {
    reply.status == 200
        && reply.json() == json!({"stdout": format!("{word}\n"), "stderr": ""})
}
