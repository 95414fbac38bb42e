//! The media type of a file that a program left: from a closed list, by its
//! extension, and for pictures also by its first bytes.

/// A media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MediaType {
    pub(super) name: &'static str,
    /// Whether the content is text, if it is UTF-8.
    pub(super) is_text: bool,
}

/// Any other file.
const BYTES: MediaType =
    MediaType { name: "application/octet-stream", is_text: false };

/// Returns the media type of a file with this path and content.
pub(super) fn media_type(path: &str, content: &[u8]) -> MediaType {
    let extension =
        path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let text = |name| MediaType { name, is_text: true };
    let binary = |name| MediaType { name, is_text: false };
    let begins = |with: &[u8]| content.starts_with(with);
    match extension.to_ascii_lowercase().as_str() {
        "png" if begins(b"\x89PNG\r\n\x1a\n") => binary("image/png"),
        "jpg" | "jpeg" if begins(b"\xff\xd8\xff") => binary("image/jpeg"),
        "gif" if begins(b"GIF87a") || begins(b"GIF89a") => binary("image/gif"),
        "webp" if begins(b"RIFF") && content.get(8..12) == Some(b"WEBP") => {
            binary("image/webp")
        }
        "svg" if is_svg(content) => text("image/svg+xml"),
        "csv" => text("text/csv"),
        "tsv" => text("text/tab-separated-values"),
        "json" => text("application/json"),
        "results" => text("application/vnd.sandpiper.results+json"),
        "ipynb" => text("application/x-ipynb+json"),
        "txt" => text("text/plain"),
        "md" => text("text/markdown"),
        "html" => text("text/html"),
        "pdf" => binary("application/pdf"),
        "wav" => binary("audio/wav"),
        "mp3" => binary("audio/mpeg"),
        _ => BYTES,
    }
}

/// Returns whether the first element of an XML document is `svg`.
fn is_svg(content: &[u8]) -> bool {
    let Ok(mut rest) = std::str::from_utf8(content) else { return false };
    loop {
        rest = rest.trim_start_matches('\u{feff}').trim_start();
        let end = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<?") {
            "?>"
        } else if rest.starts_with("<!DOCTYPE") {
            ">"
        } else {
            return rest.starts_with("<svg");
        };
        match rest.find(end) {
            Some(found) => rest = &rest[found + end.len()..],
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_follow_extension_and_first_bytes() {
        let check = |path: &str, content: &[u8], expected: &str| {
            assert_eq!(media_type(path, content).name, expected, "{path}");
        };
        let bytes = BYTES.name;
        check("a/b.PNG", b"\x89PNG\r\n\x1a\nx", "image/png");
        check("a.png", b"GIF89a", bytes);
        check("a.jpg", b"\xff\xd8\xff\xe0", "image/jpeg");
        check("a.jpeg", b"\xff\xd8\xff\xe0", "image/jpeg");
        check("a.gif", b"GIF89a", "image/gif");
        check("a.webp", b"RIFF....WEBP", "image/webp");
        check("a.webp", b"RIFF", bytes);
        check("a.svg", b"<svg xmlns='x'/>", "image/svg+xml");
        check(
            "a.svg",
            b"<?xml version='1.0'?>\n<!DOCTYPE svg>\n<!-- a -->\n<svg/>",
            "image/svg+xml",
        );
        check("a.svg", b"<html><svg/>", bytes);
        check("a.svg", b"<!-- a", bytes);
        check("a.csv", b"", "text/csv");
        check("a.tsv", b"", "text/tab-separated-values");
        check("a.json", b"", "application/json");
        check("a.txt", b"", "text/plain");
        check("a.md", b"", "text/markdown");
        check("a.html", b"", "text/html");
        check("a.pdf", b"", "application/pdf");
        check("a.wav", b"", "audio/wav");
        check("a.mp3", b"", "audio/mpeg");
        check("query.results", b"", "application/vnd.sandpiper.results+json");
        check("a.ipynb", b"", "application/x-ipynb+json");
        check("a.exe", b"", bytes);
        check("png", b"\x89PNG\r\n\x1a\n", bytes);
    }
}
