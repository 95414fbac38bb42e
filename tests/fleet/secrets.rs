//! A Valkey's password is in no box, log, metric or command line.

use std::fs;

use serde_json::json;

use crate::Test;
use crate::client::{Client, python};
use crate::fleet::{Fleet, Setup};
use crate::valkey::PASSWORD;

pub(crate) const TESTS: &[(&str, Test)] =
    &[("secrets/password-stays-in-the-server", stays_in_the_server)];

/// Looks for a word in its environment, its memory, and each file that it can read
/// and that is not of the image, after a process of its own has crashed: it leaves
/// no core dump. It never holds the word itself.
const SEARCH: &str = r#"
import os
crashed = os.fork()
if crashed == 0:
    os.abort()
if os.WCOREDUMP(os.waitpid(crashed, 0)[1]):
    print('a core dump')
one, two = 'ONE'.encode(), 'TWO'.encode()
found = []
def look(where, data):
    at = data.find(one)
    while at >= 0:
        if data.startswith(two, at + len(one)):
            found.append(where)
            return
        at = data.find(one, at + 1)
for top in os.listdir('/'):
    if top in ('usr', 'bin', 'lib', 'lib64', 'sbin'):
        continue
    for folder, folders, files in os.walk('/' + top):
        for name in files:
            path = os.path.join(folder, name)
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                look(path, os.read(descriptor, 1 << 20))
            except OSError:
                pass
            os.close(descriptor)
memory = open('/proc/self/mem', 'rb', 0)
for line in open('/proc/self/maps'):
    range, rights = line.split()[:2]
    if rights[0] != 'r':
        continue
    begin, end = (int(part, 16) for part in range.split('-'))
    try:
        memory.seek(begin)
        look('memory', memory.read(end - begin))
    except (OSError, ValueError, OverflowError):
        pass
print('searched', len(found) and sorted(set(found)))
"#;

fn stays_in_the_server() {
    let fleet = Fleet::start(Setup {
        limits: true,
        products: Some(false),
        flags: &["--log-level=trace"],
        ..Setup::default()
    });
    let (one, two) = PASSWORD.split_at(PASSWORD.len() / 2);
    let search = SEARCH.replace("ONE", one).replace("TWO", two);
    let client = Client::new();
    let stdout = |request: &serde_json::Value| {
        let reply = client.run(fleet.address(), request);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["stdout"].as_str().unwrap().to_owned()
    };
    let mut request = python(&search);
    assert_eq!(stdout(&request), "searched 0\n");
    // It would be seen in a file, and in memory.
    let file = json!({"path": "word.txt", "content": PASSWORD});
    request["files"].as_array_mut().unwrap().push(file);
    let source = format!("kept = open('word.txt').read()\n{search}");
    request["files"][0]["content"] = source.into();
    let seen = stdout(&request);
    for place in ["word.txt", "memory"] {
        assert!(seen.contains(place), "{seen}");
    }
    let product = r#"{"name":"tea"}"#;
    let reply = client.send(fleet.address(), "POST /products", product);
    assert_eq!(reply.status, 201, "{reply:?}");
    let nodes = fleet.nodes;
    for mut node in nodes {
        let mut texts = 0;
        for pid in node.processes() {
            for file in ["cmdline", "environ"] {
                // The process of a box may end at any time.
                if let Ok(bytes) = fs::read(format!("/proc/{pid}/{file}")) {
                    assert_silent(&String::from_utf8_lossy(&bytes));
                    texts += 1;
                }
            }
        }
        // Those of the server itself, at least.
        assert!(texts >= 2, "{texts} texts");
        assert_silent(&format!("{:?}", node.metrics()));
        assert_silent(&node.end());
    }
}

fn assert_silent(text: &str) {
    assert!(!text.contains(PASSWORD), "{text}");
}
