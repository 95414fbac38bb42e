//! The examples of docs/api.md and README.md, run as they stand there.
//!
//! An example is a fenced block of `sh`, `python` or `js` that asks a server.
//! The next block of `text` is the output of every example since the last one.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use sandpiper_testkit::{Server, checkout};

use crate::service::{self, COLD};

/// The address that examples ask; the server under test has another port.
const ADDRESS: &str = "http://localhost:8080";

/// A fenced block.
#[derive(Debug, Default, PartialEq, Eq)]
struct Block {
    /// The line of its first fence, from 1.
    line: usize,
    kind: String,
    text: String,
}

#[derive(Debug, PartialEq, Eq)]
struct Example {
    code: Block,
    output: String,
}

#[test]
#[ignore = "needs the images: make test"]
fn the_examples_of_the_api_print_what_the_page_says() {
    let found = check_page("docs/api.md");
    for kind in ["sh", "python", "js"] {
        let count = found.iter().filter(|it| it.code.kind == kind).count();
        assert!(count >= 3, "{count} examples of {kind}");
    }
}

#[test]
#[ignore = "needs the images: make test"]
fn the_examples_of_the_readme_print_what_the_page_says() {
    assert!(!check_page("README.md").is_empty(), "README.md has no example");
}

/// Runs all examples of a page, in order, against one new server.
fn check_page(page: &str) -> Vec<Example> {
    let text = fs::read_to_string(checkout().join(page)).unwrap();
    let examples = examples(&text);
    // A small machine has no live boxes by default.
    let flags = ["--languages=python,mysql", "--live-boxes=1", COLD];
    let server = Server::spawn(&flags, None);
    server.wait_until_ready();
    // Its limits are those that the page names.
    let _turn = service::turn();
    let mut faults = String::new();
    for Example { code, output } in &examples {
        let url = format!("http://{}", server.address);
        let printed = run(&code.kind, &code.text.replace(ADDRESS, &url));
        if printed.trim_end() != output.trim_end() {
            let _ = write!(
                faults,
                "{page}:{} should print\n{output}\nbut printed\n{printed}\n",
                code.line
            );
        }
    }
    assert!(faults.is_empty(), "{faults}");
    examples
}

/// Returns the output of an example, errors included.
fn run(kind: &str, code: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (starter, name) = match kind {
        "sh" => ("exec sh \"$0\"", "example.sh"),
        "python" => ("exec python3 \"$0\"", "example.py"),
        // Found or fetched as for the editor page.
        _ => (". scripts/node; exec node \"$0\"", "example.mjs"),
    };
    let file = folder.path().join(name);
    fs::write(&file, code).unwrap();
    let output = Command::new("sh")
        .args(["-c", starter])
        .arg(&file)
        .current_dir(checkout())
        .output()
        .unwrap();
    let written = [output.stdout, output.stderr].concat();
    String::from_utf8(written).unwrap()
}

/// The examples of a page; one without output fails the test.
fn examples(page: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut waiting: Vec<Block> = Vec::new();
    for block in blocks(page) {
        match block.kind.as_str() {
            "text" => examples.extend(waiting.drain(..).map(|code| {
                let output = block.text.clone();
                Example { code, output }
            })),
            "sh" | "python" | "js" if block.text.contains(ADDRESS) => {
                waiting.push(block);
            }
            _ => {}
        }
    }
    assert!(waiting.is_empty(), "no output: {waiting:?}");
    examples
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (line, text) in (1..).zip(page.lines()) {
        match (text.strip_prefix("```"), &mut open) {
            (Some(kind), None) => {
                let kind = kind.to_owned();
                open = Some(Block { line, kind, text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => {
                block.text += text;
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert_eq!(open, None, "a block without end");
    blocks
}

#[test]
fn an_output_belongs_to_the_examples_before_it() {
    let page = "```sh\nmake\n```\n```sh\ncurl http://localhost:8080/a\n```\n\
                or\n```js\nfetch(\"http://localhost:8080/a\")\n```\n\
                ```text\na\n```\n";
    let found = examples(page);
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.code.line, &*it.code.kind, &*it.output))
        .collect();
    assert_eq!(found, [(4, "sh", "a\n"), (8, "js", "a\n")]);
}
