//! An answer of the server, parsed by hand.

use std::io::Read;

/// One answer of the server.
#[derive(Debug)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The status line and headers, with the empty line after them.
    pub head: String,
    /// The bytes after the head.
    pub body: Vec<u8>,
}

impl Reply {
    /// Reads an answer until the server closes the connection.
    pub fn read(stream: &mut impl Read) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer in time");
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let body = bytes.split_off(end.expect("a whole head") + 4);
        let head = String::from_utf8(bytes).expect("a head in UTF-8");
        let status = head.strip_prefix("HTTP/1.1 ").expect("a status line");
        let status = status[..3].parse().expect("a status");
        Self { status, head, body }
    }

    /// Returns the value of a header, which must not come twice.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.head.lines().skip(1).filter_map(|line| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then_some(value)
        });
        let value = values.next();
        assert_eq!(values.next(), None, "{name} twice in {}", self.head);
        value
    }

    /// Returns the body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body in UTF-8")
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a body of JSON")
    }

    /// Checks the exact status, type and body.
    pub fn assert_json(&self, status: u16, body: &str) {
        assert_eq!((self.status, self.text()), (status, body), "{}", self.head);
        self.assert_json_type();
    }

    /// Checks a failure with this exact message.
    pub fn assert_failure(&self, status: u16, message: &str) {
        let body = serde_json::json!({ "error": message });
        self.assert_json(status, &body.to_string());
    }

    /// Checks a failure whose message contains these parts.
    pub fn assert_failure_about(&self, status: u16, parts: &[&str]) {
        assert_eq!(self.status, status, "{self:?}");
        self.assert_json_type();
        let json = self.json();
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(1));
        let message = json["error"].as_str().expect("an error message");
        for part in parts {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }

    fn assert_json_type(&self) {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let length = self.body.len().to_string();
        assert_eq!(self.header("content-length"), Some(length.as_str()));
    }
}
