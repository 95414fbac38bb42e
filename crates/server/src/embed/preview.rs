//! The frame that shows the documents of programs: a page with an opaque origin,
//! which gets its document from the editor around it.

use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use http::{HeaderName, HeaderValue, StatusCode};

use super::{add_frame_headers, assets, html};
use crate::http::Answer;
use crate::settings::{FrameAncestors, PreviewOrigin};

/// The script that web/vite.scripts.config.ts builds.
const SCRIPT: &str = "preview.js";
/// The name of that script in stacks (web/src/preview/protocol.ts).
const SCRIPT_NAME: &str = "sandpiper-preview";
/// The permissions of the frame's document, also if it is opened alone. The
/// frame's `sandbox` attribute (web/src/preview/frame.ts) is the same.
const SANDBOX: &str = "allow-scripts allow-forms";
/// The features that browsers would ask the person about; all are off.
const PERMISSIONS: &str = "camera=(), microphone=(), geolocation=(), \
                           payment=(), usb=(), clipboard-read=()";
/// Headers against connections that the content policy does not cover: those
/// of hints and navigations before a request, DNS lookups, and WebRTC. The
/// document of a program, a `srcdoc` in this page, inherits them.
const NO_CONNECTIONS: [(&str, &str); 2] =
    [("connection-allowlist", "()"), ("x-dns-prefetch-control", "off")];

/// Returns the address of the frame, for the editor page.
pub(super) fn url(origin: Option<&PreviewOrigin>) -> String {
    let origin = origin.map_or("", PreviewOrigin::as_str);
    let slash = if origin.is_empty() { "" } else { "/" };
    format!("{origin}{slash}embed/preview")
}

/// Returns the only source that the editor page may frame.
pub(super) fn frame_source(origin: Option<&PreviewOrigin>) -> &str {
    origin.map_or("'self'", PreviewOrigin::origin)
}

/// `/embed/preview`; `has_origin` if it has an origin of its own.
pub(super) fn page(
    frame_ancestors: &FrameAncestors,
    has_origin: bool,
) -> Answer {
    // The script is inline, since the page may load nothing. It is one line,
    // since it is inserted before documents, whose lines must not move.
    let script = script();
    let mut answer = html(
        StatusCode::OK,
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <title>Preview</title>\n<script>{script}\
             //# sourceURL={SCRIPT_NAME}</script>\n<body>\n</html>\n"
        ),
    );
    let headers = answer.headers_mut();
    let policy = HeaderValue::from_str(&policy(frame_ancestors));
    // FrameAncestors has only characters that a header may have.
    let policy = policy.unwrap_or(HeaderValue::from_static("sandbox"));
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    let referrer = HeaderValue::from_static("no-referrer");
    headers.insert(REFERRER_POLICY, referrer);
    let permissions = HeaderName::from_static("permissions-policy");
    headers.insert(permissions, HeaderValue::from_static(PERMISSIONS));
    for (name, value) in NO_CONNECTIONS {
        let name = HeaderName::from_static(name);
        headers.insert(name, HeaderValue::from_static(value));
    }
    if has_origin {
        // A process of its own, so that a page that hangs does not freeze the
        // editor. Browsers warn if the editor has the same origin without it.
        let cluster = HeaderName::from_static("origin-agent-cluster");
        headers.insert(cluster, HeaderValue::from_static("?1"));
    }
    add_frame_headers(headers);
    answer
}

/// Returns the script, without text that HTML would interpret.
fn script() -> String {
    let mut script = assets::text(SCRIPT).trim_end().to_owned();
    // The script has these words only in literals.
    for word in ["<!--", "<script", "</script"] {
        script = script.replace(word, &word.replace('<', "\\x3c"));
    }
    script
}

/// Documents are self-contained, so they may load nothing.
fn policy(frame_ancestors: &FrameAncestors) -> String {
    format!(
        "sandbox {SANDBOX}; default-src 'none'; \
         script-src 'unsafe-inline' 'unsafe-eval' data: blob:; \
         style-src 'unsafe-inline' data: blob:; img-src data: blob:; \
         font-src data: blob:; media-src data: blob:; \
         worker-src data: blob:; connect-src data: blob:; \
         form-action 'none'; base-uri 'none'{}",
        ancestors(frame_ancestors.as_str())
    )
}

/// Those of the editor page, and that page, if both have one origin. For
/// any there is no directive: `*` is none of those that a host page has
/// sandboxed, the editor among them.
fn ancestors(configured: &str) -> String {
    match configured {
        "*" => String::new(),
        "'none'" => "; frame-ancestors 'self'".to_owned(),
        others => format!("; frame-ancestors 'self' {others}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_editor_may_always_frame_it() {
        assert_eq!(ancestors("*"), "");
        assert_eq!(ancestors("'none'"), "; frame-ancestors 'self'");
        let own = "; frame-ancestors 'self' https://a.example";
        assert_eq!(ancestors("https://a.example"), own);
    }

    #[test]
    #[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
    fn its_script_is_one_line() {
        let script = script();
        assert!(!script.contains('\n'), "{script}");
        assert!(script.len() > 2000, "{script}");
    }

    #[test]
    fn its_address_is_relative_unless_it_has_an_origin() {
        let check = |origin: Option<&str>, address: &str, source: &str| {
            let origin: Option<PreviewOrigin> =
                origin.map(|text| text.parse().unwrap());
            assert_eq!(url(origin.as_ref()), address);
            assert_eq!(frame_source(origin.as_ref()), source);
        };
        check(None, "embed/preview", "'self'");
        check(
            Some("https://p.example"),
            "https://p.example/embed/preview",
            "https://p.example",
        );
        check(
            Some("http://p.example:81/code/"),
            "http://p.example:81/code/embed/preview",
            "http://p.example:81",
        );
    }
}
