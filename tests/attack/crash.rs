//! A program that writes the file of its crash itself, so that whoever reads it
//! names lines, or reads files, of others.

use serde_json::{Value, json};

use crate::live::JSON;
use crate::servers::{Server, Start, start};

/// Its own address has this place; the file begins with these lines.
const FORGED: &str = r#"
#include <signal.h>
#include <stdio.h>
extern const char __ehdr_start[];
#line PLACE
static void own(void) {}
int main(void) {
    FILE *file = fopen("/tmp/.crash", "w");
    fputs("LINES", file);
    fprintf(file, "0x%lx\n", (long)own - (long)__ehdr_start);
    fclose(file);
    raise(SIGKILL);
}
"#;
/// Options of addr2line: the program to read, further arguments, and to print the
/// names of functions.
const OPTIONS: [&str; 4] = [
    "-e\\n/opt/sandpiper/cc\\n",
    "@/etc/passwd\\n",
    "-f\\n",
    "-e /none 0x1\\n",
];

/// A forged file of a crash names only lines that were submitted.
pub(crate) fn forged_crashes() {
    // A quarter of it is for the line of a crash.
    let flags = ["--languages=c", "--compile-wall-time=120s"];
    let server = start(Start::Cold, &flags);
    server.wait_until_ready();
    let own = json!({"path": "main.c", "line": 3});
    // The server believes its own lines, with options or without.
    assert_eq!(crash(&server, "3 \"main.c\"", ""), own);
    for lines in OPTIONS {
        assert_eq!(crash(&server, "3 \"main.c\"", lines), own, "{lines}");
    }
    for place in [
        "1 \"/etc/passwd\"",
        "1 \"../etc/passwd\"",
        "1 \"/opt/sandpiper/cc\"",
        "1 \"other.c\"",
        "999 \"main.c\"",
    ] {
        assert_eq!(crash(&server, place, ""), Value::Null, "{place}");
    }
}

/// Returns the place of the crash in the answer.
fn crash(server: &Server, place: &str, lines: &str) -> Value {
    let source = FORGED.replace("PLACE", place).replace("LINES", lines);
    let asked = json!({
        "language": "c",
        "entryFile": "main.c",
        "files": [{"path": "main.c", "content": source}],
    });
    let reply = server.send("POST", "/api/run", &[JSON], asked.to_string());
    let run = &reply.json()["run"];
    assert_eq!(run["exit"], json!({"signal": "SIGKILL"}), "{run}");
    run["crash"].clone()
}
