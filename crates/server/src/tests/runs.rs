//! Runs that do what the language of their request says.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandpiper_engine::languages::{Catalog, Language, LanguageFolder};
use sandpiper_engine::{
    BusyCause, End, LanguageBoxes, LanguageState, Limits, Load, LowerLimits,
    Outcome, Output, OutputChunk, OutputStream, PoolState, Readiness, Refusal,
    RunAttachment, RunOptions, Stage, Start, StartKind, Timing,
};
use tempfile::TempDir;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::PATIENCE;
use crate::execution::ExecutionError;
use crate::execution::RunRequest;
use crate::execution::runner::{FinishedRun, Runner};

/// Runs a request as its language says: `echo` ends at once, `hang` when the
/// test releases it, `stalls` when nobody takes more of its output, `stops` when
/// it is stopped. `document` prints the first file, and is the one language that
/// has a framework. The others are refused.
pub(super) struct TestRunner {
    catalog: Catalog,
    events: mpsc::UnboundedSender<Event>,
    release: Arc<Notify>,
    framework: PathBuf,
}

/// Something that happens to runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    Started(IpAddr),
    /// Dropped before it ended.
    Killed,
}

/// The test's side of the runs.
pub(super) struct Runs {
    events: mpsc::UnboundedReceiver<Event>,
    release: Arc<Notify>,
    image: TempDir,
}

impl Runs {
    pub(super) async fn next(&mut self) -> Event {
        let event = timeout(PATIENCE, self.events.recv()).await;
        event.expect("an event in time").expect("a running server")
    }

    pub(super) async fn started(&mut self) {
        assert!(matches!(self.next().await, Event::Started(_)));
    }

    /// Lets one hanging run end.
    pub(super) fn release(&self) {
        self.release.notify_one();
    }

    /// The path of the framework, which the test makes.
    pub(super) fn framework(&self) -> PathBuf {
        framework_in(self.image.path())
    }
}

impl TestRunner {
    pub(super) fn new() -> (Self, Runs) {
        let (sender, events) = mpsc::unbounded_channel();
        let release = Arc::new(Notify::new());
        let image = TempDir::new().unwrap();
        let runner = Self {
            catalog: Catalog::load([document()]).unwrap(),
            events: sender,
            release: Arc::clone(&release),
            framework: framework_in(image.path()),
        };
        (runner, Runs { events, release, image })
    }
}

fn framework_in(image: &Path) -> PathBuf {
    image.join("framework.js")
}

fn document() -> LanguageFolder {
    let definition = "name = \"Document\"\nimage = \"x\"\n\
        output = \"document\"\nframework = \"/framework.js\"\n\
        [run]\ncommand = [\"/x\"]\n[starter]\nentry = \"a\"";
    let files = [
        ("language.toml", definition),
        ("starter/a", "a\n"),
        ("starter-expected.txt", "a\n"),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.into()));
    LanguageFolder {
        id: "document".to_owned(),
        path: "document".to_owned(),
        files: files.into(),
    }
}

impl Runner for TestRunner {
    async fn run(
        &self,
        request: RunRequest,
        _options: RunOptions,
        attachment: RunAttachment,
        client: IpAddr,
    ) -> Result<FinishedRun, ExecutionError> {
        let _ = self.events.send(Event::Started(client));
        if let Some(stages) = &attachment.stages {
            let _ = stages.send(Stage::Run);
        }
        match request.language.as_str() {
            "hang" => {
                let killed = KilledOnDrop(Some(self.events.clone()));
                self.release.notified().await;
                killed.disarm();
            }
            "echo" | "big" | "document" => {}
            "stalls" => fill(&attachment).await,
            "stops" => stopped(&attachment).await,
            other => return Err(ExecutionError::Engine(refusal(other))),
        }
        let mut outcome = outcome(&request);
        if request.language == "document" {
            outcome.stdout.bytes = print(&attachment, &request).await;
        }
        Ok(FinishedRun { language: request.language, outcome })
    }

    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn languages(&self) -> Vec<LanguageState> {
        let now = Instant::now();
        let state = |id: &str, readiness, last_success| LanguageState {
            id: id.to_owned(),
            readiness,
            since: now,
            last_success,
        };
        let missing = Readiness::Missing("build it".to_owned());
        vec![
            state("python", Readiness::Ready, Some(now)),
            state("c", missing, None),
        ]
    }

    fn compile_cache(&self) -> (u64, u64) {
        (8, 9)
    }

    fn pool_state(&self) -> PoolState {
        let python = LanguageBoxes {
            language: "python".to_owned(),
            kind: StartKind::Warm,
            boxes: 5,
        };
        PoolState {
            languages: vec![python],
            memory_bytes: 6,
            memory_limit_bytes: 7,
        }
    }

    fn versions(&self, _language: &str) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn limits(
        &self,
        _language: &str,
        _is_interactive: bool,
        _lower: &LowerLimits,
    ) -> Limits {
        Limits::default()
    }

    fn open_file(&self, _language: &Language, _path: &str) -> Option<File> {
        File::open(&self.framework).ok()
    }

    fn live_load(&self) -> Load {
        Load { running: 1, boxes: 2, waiting: 0, queue_capacity: 0 }
    }

    fn load(&self) -> Load {
        Load { running: 1, boxes: 2, waiting: 3, queue_capacity: 4 }
    }
}

/// Prints the first file. Returns the part that nobody took.
async fn print(attachment: &RunAttachment, request: &RunRequest) -> Vec<u8> {
    let bytes = request.files[0].content.clone();
    let Some(output) = &attachment.output else { return bytes };
    let stream = OutputStream::Stdout;
    let _ = output.send(OutputChunk { stream, bytes }).await;
    Vec::new()
}

/// Prints a little more than a connection holds, or until nobody takes it.
async fn fill(attachment: &RunAttachment) {
    let Some(output) = &attachment.output else { return };
    let chunk = || OutputChunk {
        stream: OutputStream::Stdout,
        bytes: vec![b'a'; 64 << 10],
    };
    for _ in 0..16 {
        let sent = output.send_timeout(chunk(), Duration::from_secs(1));
        if sent.await.is_err() {
            return;
        }
    }
}

async fn stopped(attachment: &RunAttachment) {
    let mut stop = attachment.stop.clone().unwrap();
    stop.wait_for(|stop| *stop).await.unwrap();
}

fn refusal(word: &str) -> Refusal {
    let message = word.to_owned();
    let busy = |cause| {
        let retry_after = Duration::from_millis(1_500);
        Refusal::Busy { cause, retry_after }
    };
    match word {
        "busy" => busy(BusyCause::Queue),
        "share" => busy(BusyCause::Share),
        "wait" => busy(BusyCause::Wait(Duration::ZERO)),
        "live" => busy(BusyCause::Live(1)),
        "live share" => busy(BusyCause::LiveShare),
        "short" => Refusal::Short { retry_after: Duration::ZERO },
        "unavailable" => Refusal::Unavailable { message, retry_after: None },
        "building" => {
            let retry_after = Some(Duration::from_secs(60));
            Refusal::Unavailable { message, retry_after }
        }
        _ => Refusal::Failed,
    }
}

fn outcome(request: &RunRequest) -> Outcome {
    let content = String::from_utf8_lossy(&request.files[0].content);
    let text =
        |text: String| Output { bytes: text.into(), ..Output::default() };
    let is_big = ["big", "stalls"].contains(&request.language.as_str());
    let copies = if is_big { 4 << 20 } else { 1 };
    Outcome {
        stdout: text(content.repeat(copies)),
        stderr: text(request.stdin.clone()),
        warnings: None,
        cpu_time: None,
        memory_peak: None,
        crash: None,
        files: None,
        stage: Stage::Run,
        end: match request.language.as_str() {
            "stops" => End::Stopped,
            _ => End::Exited(3),
        },
        start: Some(Start { kind: StartKind::Cold, is_compiled: true }),
        timing: Timing {
            queue: Duration::from_micros(1_250),
            prepare: Duration::from_millis(2),
            compile: None,
            run: Some(Duration::from_millis(30)),
        },
    }
}

struct KilledOnDrop(Option<mpsc::UnboundedSender<Event>>);

impl KilledOnDrop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        if let Some(events) = &self.0 {
            let _ = events.send(Event::Killed);
        }
    }
}
