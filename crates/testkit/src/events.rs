//! An event stream, read and checked while it comes.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;

use serde_json::Value;

use crate::reply::Reply;

/// The events of one stream. The output so far is kept.
#[derive(Debug)]
pub struct Events {
    stream: BufReader<TcpStream>,
    /// The status line and headers.
    pub head: Reply,
    is_chunked: bool,
    /// Bytes of the body that are not yet a whole event.
    rest: String,
    /// Output of the program.
    pub stdout: String,
    /// Errors of the program.
    pub stderr: String,
    /// The id of the run, if it has one.
    pub run: Option<String>,
}

/// One event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its type.
    pub name: String,
    /// Its data.
    pub data: Value,
}

impl Events {
    /// Reads the head of an answer. Returns the whole answer if it has another
    /// type.
    ///
    /// # Errors
    ///
    /// Returns the answer if it is a refusal.
    pub fn read(stream: TcpStream) -> Result<Self, Reply> {
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
        }
        // An answer to HTTP/1.0 has the same form.
        let head = head.replacen("HTTP/1.0 ", "HTTP/1.1 ", 1);
        let head = Reply::read(&mut head.as_bytes());
        if head.header("content-type") != Some("text/event-stream") {
            let mut body = Vec::new();
            stream.read_to_end(&mut body).unwrap();
            return Err(Reply { body, ..head });
        }
        let is_chunked = head.header("transfer-encoding") == Some("chunked");
        let [rest, stdout, stderr] = [const { String::new() }; 3];
        let run = None;
        Ok(Self { stream, head, is_chunked, rest, stdout, stderr, run })
    }

    /// Reads on until the program has written this to stdout.
    pub fn until(&mut self, text: &str) {
        while !self.stdout.contains(text) {
            let event = self.next();
            let is_end = event.as_ref().is_none_or(|it| it.name == "end");
            assert!(!is_end, "{text:?}: {event:?}, {self:?}");
        }
    }

    /// Reads to the end of the answer, and returns the last event.
    pub fn end(&mut self) -> Value {
        let last = self.last().expect("an event");
        assert_eq!(last.name, "end", "{}", last.data);
        last.data
    }

    /// Reads to the end of a connection that is cut off, and returns the bytes that
    /// come before that.
    ///
    /// # Panics
    ///
    /// If the answer has an end.
    pub fn cut(mut self) -> String {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap();
        let rest = String::from_utf8(rest).unwrap();
        assert!(self.is_chunked && !rest.ends_with("0\r\n\r\n"), "{rest}");
        self.rest + &rest
    }

    /// Returns the next piece of the body; nothing at its end.
    fn piece(&mut self) -> Vec<u8> {
        if !self.is_chunked {
            let piece = self.stream.fill_buf().expect("an event").to_vec();
            self.stream.consume(piece.len());
            return piece;
        }
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).expect("an event");
        // A connection that is cut has no last piece.
        assert_ne!(read, 0, "cut after {:?}", self.rest);
        let length = usize::from_str_radix(line.trim_end(), 16).unwrap();
        let mut piece = vec![0; length + 2];
        self.stream.read_exact(&mut piece).unwrap();
        piece.truncate(length);
        piece
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let event = parse(event);
                self.rest = rest.to_owned();
                let Some(event) = event else { continue };
                let data = &event.data;
                match (event.name.as_str(), data["stream"].as_str()) {
                    ("begin", _) => {
                        self.run = data["run"].as_str().map(str::to_owned);
                    }
                    ("output", Some("stdout")) => {
                        self.stdout += data["text"].as_str().unwrap();
                    }
                    ("output", _) => {
                        self.stderr += data["text"].as_str().unwrap();
                    }
                    _ => {}
                }
                return Some(event);
            }
            let piece = self.piece();
            if piece.is_empty() {
                assert_eq!(self.rest, "", "an event that is cut");
                return None;
            }
            let piece = String::from_utf8(piece).expect("whole characters");
            self.rest += &piece;
        }
    }
}

/// Parses an event as a browser does. Returns `None` if it is a comment.
///
/// # Panics
///
/// If it has other lines than its type and its data.
fn parse(event: &str) -> Option<Event> {
    if event.starts_with(':') {
        assert_eq!(event, ":");
        return None;
    }
    let lines: Vec<&str> = event.split(['\r', '\n']).collect();
    let [name, data] = lines.try_into().expect("two lines");
    let name = name.strip_prefix("event: ").expect("a type").to_owned();
    let data = data.strip_prefix("data: ").expect("data");
    Some(Event { name, data: serde_json::from_str(data).unwrap() })
}
