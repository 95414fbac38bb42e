//! One look at a document in the browser: loaded, used, looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::{Browser, Page};
use crate::console::Shown;
use crate::page::Expected;
use crate::source_map::Scripts;

/// Runs in the page; see there.
const LOOK: &str = include_str!("look.js");

/// What the editor's preview allows a document: not our origin.
const FRAME: &str = "allow-scripts allow-forms allow-modals";

/// What a reader finds.
#[derive(Debug, Deserialize)]
pub(crate) struct Seen {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) dom: String,
    pub(crate) images: Vec<String>,
    pub(crate) styles: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(skip)]
    pub(crate) console: Vec<String>,
    /// The sources of source maps that are no submitted file.
    #[serde(skip)]
    pub(crate) strangers: BTreeSet<String>,
}

/// Opens the document as a saved file or in a sandboxed frame.
pub(crate) fn see(
    browser: &Browser,
    document: &str,
    is_framed: bool,
    wish: &Expected,
    files: &BTreeSet<&str>,
) -> Result<Seen, String> {
    let folder = tempfile::tempdir_in(browser.folder());
    let folder = folder.map_err(|error| error.to_string())?;
    let path = folder.path().join("page.html");
    let html = if is_framed { framed(document) } else { document.to_owned() };
    fs::write(&path, html).map_err(|error| error.to_string())?;
    let url = format!("file://{}", path.display());

    let mut page = browser.page()?;
    listen(&mut page)?;
    page.ask("Page.navigate", &json!({ "url": url }))?;
    page.wait_for("Page.loadEventFired")?;
    let seen = look(&mut page, is_framed, wish);
    let shown = Shown {
        url: if is_framed { "about:srcdoc" } else { &url },
        folder: &format!("file://{}/", folder.path().display()),
        own: std::slice::from_ref(&url),
        files,
    };
    let scripts = Scripts::of(&page.events)?;
    let console = shown.lines(&page.events, &scripts)?;
    let mut seen = seen
        .map_err(|failure| format!("{failure}; the console is {console:#?}"))?;
    seen.console = console;
    let sources = scripts.sources().filter(|name| !files.contains(name));
    seen.strangers = sources.map(str::to_owned).collect();
    Ok(seen)
}

/// Everything that the page does from now on is an event, and it has no
/// network.
fn listen(page: &mut Page<'_>) -> Result<(), String> {
    for domain in ["Page", "Runtime", "Log", "Network", "Debugger"] {
        page.ask(&format!("{domain}.enable"), &json!({}))?;
    }
    let never = json!({ "skip": true });
    page.ask("Debugger.setSkipAllPauses", &never)?;
    let offline = json!({
        "offline": true,
        "latency": 0,
        "downloadThroughput": -1,
        "uploadThroughput": -1,
    });
    page.ask("Network.emulateNetworkConditions", &offline)?;
    let size = json!({
        "width": 800,
        "height": 600,
        "deviceScaleFactor": 1,
        "mobile": false,
    });
    page.ask("Emulation.setDeviceMetricsOverride", &size)?;
    let focus = json!({ "enabled": true });
    page.ask("Emulation.setFocusEmulationEnabled", &focus)?;
    Ok(())
}

fn look(
    page: &mut Page<'_>,
    is_framed: bool,
    wish: &Expected,
) -> Result<Seen, String> {
    let tree = page.ask("Page.getFrameTree", &json!({}))?;
    let tree = &tree["frameTree"];
    let tree = if is_framed { &tree["childFrames"][0] } else { tree };
    let world = json!({ "frameId": tree["frame"]["id"] });
    let world = page.ask("Page.createIsolatedWorld", &world)?;
    let styles: BTreeMap<&String, Vec<&String>> = wish
        .styles
        .iter()
        .map(|(selector, names)| (selector, names.keys().collect()))
        .collect();
    let wish = json!({
        "wait_for": wish.wait_for,
        "actions": wish.actions,
        "select": wish.select.as_deref().unwrap_or("body"),
        "styles": styles,
    });
    // A call needs an expression; the file's first lines are a comment.
    let call = json!({
        "expression": format!("(\n{}\n)({wish})", LOOK.trim_end()),
        "contextId": world["executionContextId"],
        "awaitPromise": true,
        "returnByValue": true,
    });
    let answer = page.ask("Runtime.evaluate", &call)?;
    let failure = &answer["exceptionDetails"];
    if *failure != Value::Null {
        let what = &failure["exception"]["description"];
        return Err(format!("looking at the page: {what}"));
    }
    Seen::deserialize(&answer["result"]["value"]).map_err(|e| e.to_string())
}

/// A page with the document in a frame, as the editor's preview has it.
fn framed(document: &str) -> String {
    let attribute = document.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n\
         <body style=\"margin: 0\">\n\
         <iframe sandbox=\"{FRAME}\" srcdoc=\"{attribute}\" \
         style=\"border: 0; width: 100%; height: 100vh; display: block\">\
         </iframe>\n"
    )
}
