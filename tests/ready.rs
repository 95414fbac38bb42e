//! What a server says of its boxes: those that are ready before anybody asks,
//! and what runs found.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// What the server counts, as it tells it at one moment.
#[derive(Debug)]
pub(crate) struct Metrics(String);

impl Metrics {
    /// Those of the server that tells them there.
    pub(crate) fn of(admin: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(admin).unwrap();
        let request =
            b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.contains("# EOF"), "{text}");
        Self(text)
    }

    /// A series, named with its labels; one that is not there is 0.
    pub(crate) fn count(&self, series: &str) -> usize {
        let found = self.0.lines().find_map(|line| line.strip_prefix(series));
        let value = found.map_or("0", str::trim);
        value.parse().expect(series)
    }

    /// Boxes that wait for a run of the language.
    pub(crate) fn ready(&self, language: &str) -> usize {
        self.count(&format!("sandpiper_boxes_ready{{language=\"{language}\"}}"))
    }

    /// All boxes that wait for a run.
    pub(crate) fn all_ready(&self) -> usize {
        let name = "sandpiper_boxes_ready{language=\"";
        let named = self.0.lines().filter_map(|line| line.strip_prefix(name));
        let languages = named.filter_map(|line| line.split('"').next());
        // C and C++ have theirs in common: one image, and no launcher waits.
        let of_c = self.ready("c").max(self.ready("cpp"));
        let others = languages.filter(|id| !["c", "cpp"].contains(id));
        others.map(|id| self.ready(id)).sum::<usize>() + of_c
    }

    /// Runs of the language that found a box of this kind.
    pub(crate) fn runs(&self, language: &str, kind: &str) -> usize {
        self.count(&format!(
            "sandpiper_run_boxes_total{{language=\"{language}\",box=\"{kind}\"}}"
        ))
    }
}
