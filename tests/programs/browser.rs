//! One headless Chromium for all pages, spoken to over its DevTools pipe.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than any page takes; reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a page of DevTools sends goes to whoever visits that page. The browser
/// itself is the page with the empty name.
type Inboxes = Arc<Mutex<HashMap<String, Sender<Value>>>>;

/// The browser that all tests share, started by the first that needs it.
#[derive(Debug, Default)]
pub(crate) struct Chromium(OnceLock<Result<Browser, String>>);

impl Chromium {
    pub(crate) fn get(&self) -> Result<&Browser, String> {
        self.0.get_or_init(Browser::start).as_ref().map_err(Clone::clone)
    }
}

/// A running browser. It ends with this value, or with this process.
#[derive(Debug)]
pub(crate) struct Browser {
    process: Child,
    commands: Mutex<Option<Commands>>,
    inboxes: Inboxes,
    own: Mutex<Receiver<Value>>,
    /// The script removes it, also when this process is killed.
    folder: PathBuf,
}

#[derive(Debug)]
struct Commands {
    pipe: ChildStdin,
    last: u64,
}

/// A fresh page that shares nothing with others. It is closed with this value.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    browser: &'a Browser,
    context: Value,
    session: String,
    inbox: Receiver<Value>,
    /// What happened, in order; nobody has looked at it yet.
    pub(crate) events: Vec<Value>,
    deadline: Instant,
}

impl Browser {
    fn start() -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/programs/browser.sh");
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?.keep();
        let mut process = Command::new("sh")
            .arg(script)
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("sh: {error}"))?;
        let pipe = process.stdin.take().ok_or("no pipe")?;
        let output = process.stdout.take().ok_or("no pipe")?;
        let (sender, own) = channel();
        let inboxes = Inboxes::default();
        lock(&inboxes).insert(String::new(), sender);
        let others = Arc::clone(&inboxes);
        // Ends with the browser.
        std::thread::spawn(move || deliver(output, &others));
        let browser = Self {
            process,
            commands: Mutex::new(Some(Commands { pipe, last: 0 })),
            inboxes,
            own: Mutex::new(own),
            folder,
        };
        browser.ask("Browser.getVersion", &json!({})).map_err(|error| {
            format!("{error}; scripts/setup-tests installs Chromium")
        })?;
        Ok(browser)
    }

    /// A folder for the documents to be shown.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A page of its own profile: no cookie, no storage, no cache.
    pub(crate) fn page(&self) -> Result<Page<'_>, String> {
        let made = self.ask("Target.createBrowserContext", &json!({}))?;
        let context = made["browserContextId"].clone();
        let wish = json!({"url": "about:blank", "browserContextId": context});
        let made = self.ask("Target.createTarget", &wish)?;
        let wish = json!({"targetId": made["targetId"], "flatten": true});
        let made = self.ask("Target.attachToTarget", &wish)?;
        let session = made["sessionId"].as_str().unwrap_or_default();
        let (sender, inbox) = channel();
        // It says nothing before it is asked to.
        lock(&self.inboxes).insert(session.to_owned(), sender);
        let session = session.to_owned();
        let (events, deadline) = (Vec::new(), Instant::now() + PATIENCE);
        Ok(Page { browser: self, context, session, inbox, events, deadline })
    }

    /// One question to the browser as a whole.
    fn ask(&self, method: &str, params: &Value) -> Result<Value, String> {
        let inbox = lock(&self.own);
        let number = self.send("", method, params)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = next(&inbox, deadline, method)?;
            if message["id"] == number {
                return result(method, &message);
            }
        }
    }

    fn send(
        &self,
        session: &str,
        method: &str,
        params: &Value,
    ) -> Result<u64, String> {
        let mut commands = lock(&self.commands);
        let commands = commands.as_mut().ok_or("the browser was closed")?;
        commands.last += 1;
        let mut message =
            json!({"id": commands.last, "method": method, "params": params});
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        write!(commands.pipe, "{message}\0")
            .map_err(|_| "Chromium does not run".to_owned())?;
        Ok(commands.last)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Chromium ends with its pipe.
        *lock(&self.commands) = None;
        let _ = self.process.wait();
    }
}

impl Page<'_> {
    /// Asks, and keeps what happens until the answer is there.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<Value, String> {
        let number = self.browser.send(&self.session, method, params)?;
        loop {
            let message = next(&self.inbox, self.deadline, method)?;
            if message["id"] == number {
                return result(method, &message);
            }
            self.take(message)?;
        }
    }

    /// Waits until an event of this name has happened.
    pub(crate) fn wait_for(&mut self, event: &str) -> Result<(), String> {
        let is_it = |message: &Value| message["method"] == event;
        while !self.events.iter().any(is_it) {
            let message = next(&self.inbox, self.deadline, event)?;
            self.take(message)?;
        }
        Ok(())
    }

    fn take(&mut self, message: Value) -> Result<(), String> {
        if message["method"] == "Page.javascriptDialogOpening" {
            // The page stands still until somebody answers.
            let text = &message["params"]["defaultPrompt"];
            let wish = json!({"accept": true, "promptText": text});
            let method = "Page.handleJavaScriptDialog";
            self.browser.send(&self.session, method, &wish)?;
        }
        if message["method"].is_string() {
            self.events.push(message);
        }
        Ok(())
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        lock(&self.browser.inboxes).remove(&self.session);
        let wish = json!({"browserContextId": self.context});
        let _ = self.browser.ask("Target.disposeBrowserContext", &wish);
    }
}

/// Reads until the browser ends; then nobody gets anything any more.
fn deliver(output: ChildStdout, inboxes: &Inboxes) {
    let messages = BufReader::new(output).split(0).map_while(Result::ok);
    for message in messages {
        let Ok(message) = serde_json::from_slice::<Value>(&message) else {
            continue;
        };
        let session = message["sessionId"].as_str().unwrap_or_default();
        if let Some(inbox) = lock(inboxes).get(session) {
            // A page that was closed meanwhile wants no more.
            let _ = inbox.send(message.clone());
        }
    }
    lock(inboxes).clear();
}

fn next(
    inbox: &Receiver<Value>,
    deadline: Instant,
    what: &str,
) -> Result<Value, String> {
    let left = deadline.saturating_duration_since(Instant::now());
    inbox.recv_timeout(left).map_err(|error| format!("{what}: {error}"))
}

fn result(method: &str, message: &Value) -> Result<Value, String> {
    match &message["error"] {
        Value::Null => Ok(message["result"].clone()),
        error => Err(format!("{method}: {error}")),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
