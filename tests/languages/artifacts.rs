//! The files that `POST /api/run` returns.

use sandpiper_testkit::is_full;
use serde_json::{Value, json};

use crate::results::{python, result, run_is, send};
use crate::service::{self, Server};

/// Returns all artifacts as `path type encoding content`, and all skipped as
/// `path reason`.
fn left(server: &Server, source: &str, wanted: &Value) -> [String; 2] {
    let mut asked = python(source, &json!({"artifacts": wanted}));
    let files = asked["files"].as_array_mut().unwrap();
    files.push(json!({"path": "kept.txt", "content": "as it was"}));
    files.push(json!({"path": "changed.txt", "content": "as it was"}));
    let answer = result(server, &asked);
    let list = |name: &str, fields: &[&str]| {
        let rows = answer[name].as_array().unwrap().iter();
        let rows = rows.map(|row| {
            let fields = fields.iter().filter_map(|&field| match &row[field] {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            });
            fields.collect::<Vec<_>>().join(" ")
        });
        rows.collect::<Vec<_>>().join("\n")
    };
    let fields = ["path", "display", "type", "size", "encoding", "content"];
    [list("artifacts", &fields), list("skipped", &["path", "reason"])]
}

#[test]
#[ignore = "needs the images: make test"]
fn a_run_returns_its_files() {
    let flags = ["--memory=256MiB", "--warm-memory=0"];
    let server = &service::start_python(&flags);
    let check = |source: &str, wanted: Value, files: &str, skipped: &str| {
        let source = format!(
            "def put(path, content=b'x'):\n\
             \x20   os.makedirs(os.path.dirname(path) or '.', exist_ok=True)\n\
             \x20   open(path, 'wb').write(content)\n{source}"
        );
        let found = left(server, &source, &wanted);
        assert_eq!(found, [files, skipped], "{source}");
    };
    let own = "put('new/a.csv', b'1,2')\nput('changed.txt', b'As it was')\n\
               put('kept.txt', b'as it was')\nos.link('kept.txt', 'more.txt')";
    let changed = "changed.txt text/plain 9 utf8 As it was";
    let more = "more.txt text/plain 9 utf8 as it was";
    let new = "new/a.csv text/csv 3 utf8 1,2";
    check(own, json!(true), &[changed, more, new].join("\n"), "");
    check(own, json!(false), "", "");
    check(own, json!({"paths": ["*.txt"]}), &[changed, more].join("\n"), "");
    check(
        own,
        json!({"paths": ["**/*.csv", "m?re.*"]}),
        &[more, new].join("\n"),
        "",
    );
    check(
        "put('/tmp/.display/002.png', b'\\x89PNG\\r\\n\\x1a\\n')\n\
         put('/tmp/.display/010.svg', b'<svg/>')\nput('a.png', b'<svg/>')\n\
         put('A.TXT', b'\\xff')\nput('.hidden')",
        json!({"paths": ["*.png", "*.TXT"]}),
        "figure-1.png 1 image/png 8 base64 iVBORw0KGgo=\n\
         figure-2.svg 2 image/svg+xml 6 utf8 <svg/>\n\
         A.TXT text/plain 1 base64 /w==\n\
         a.png application/octet-stream 6 base64 PHN2Zy8+",
        "",
    );
    // After an exit code and a signal there are some, after a limit there are none.
    let one = "one.txt text/plain 1 utf8 x";
    let all = || json!(true);
    check("put('one.txt')\nsys.exit(3)", all(), one, "");
    check("put('one.txt')\nos.kill(os.getpid(), 9)", all(), one, "");
    check("put('one.txt')\nx = b'x' * (1 << 30)", all(), "", "");
    // The limits of their number and of their bytes.
    let numbered: Vec<_> = (0..32)
        .map(|n| format!("f{n:02} application/octet-stream 1 base64 eA=="))
        .collect();
    check(
        "for n in range(34): put(f'f{n:02}')",
        all(),
        &numbered.join("\n"),
        "f32 too-many\nf33 too-many",
    );
    let [files, skipped] = left(
        server,
        "n = 4 << 20\nfor f, n in ('a', n + 1), ('b', n - 1), ('c', 2), ('d', 1):\n\
         \x20   open(f, 'w').write('x' * n)",
        &all(),
    );
    assert_eq!(skipped, "a too-large\nc too-large");
    let mut lines = files.lines();
    let b = lines.next().unwrap();
    assert!(b.starts_with("b application/octet-stream 4194303 base64 eHh4"));
    assert_eq!(lines.next(), Some("d application/octet-stream 1 base64 eA=="));
    for wrong in [
        json!({"paths": []}),
        json!({"paths": vec!["*"; 17]}),
        json!({"paths": ["a".repeat(257)]}),
    ] {
        let asked = python("", &json!({"artifacts": wrong}));
        send(server, &asked).assert_failure_about(400, &["artifacts.paths"]);
    }
}

#[test]
#[ignore = "needs the images: make test"]
fn a_recording_keeps_no_picture_out() {
    let server = &service::start_python(&["--warm-memory=0"]);
    let [files, skipped] = left(
        server,
        "os.mkdir('/tmp/.display')\n\
         for path, content in (\n\
         \x20   ('001.json', b'1' * ((4 << 20) - 10)), ('001.svg', b'<svg/>'),\n\
         \x20   ('002.json', b'{}'), ('002.svg', b'<svg/>'),\n\
         ):\n\
         \x20   open('/tmp/.display/' + path, 'wb').write(content)",
        &json!(true),
    );
    // Neither its own picture nor a later one.
    assert_eq!(
        files.get(..200).unwrap_or(&files),
        "figure-1.svg 1 image/svg+xml 6 utf8 <svg/>\n\
         figure-2.json 2 application/json 2 utf8 {}\n\
         figure-2.svg 2 image/svg+xml 6 utf8 <svg/>"
    );
    assert_eq!(skipped, "001.json too-large");
}

#[test]
#[ignore = "needs the images: make test"]
fn libraries_that_draw_give_displays() {
    let server = service::start_python(&[]);
    let check = |source: &str, expected: Value| {
        let asked = python(source, &json!({"artifacts": true}));
        let answer = result(&server, &asked);
        let files = answer["artifacts"].as_array().unwrap().iter();
        let found = files
            .map(|file| json!([file["display"], file["path"], file["type"]]));
        let found = Value::from_iter(found);
        assert_eq!(found, expected, "{source}: {}", answer["run"]);
        assert_eq!(answer["run"]["stderr"], "", "{source}");
    };
    check(
        "import matplotlib.pyplot as plt\nplt.plot([1, 4, 2])\nplt.show()\n\
         open('out.csv', 'w').write('x,y\\n1,2\\n')",
        json!([
            [1, "figure-1.svg", "image/svg+xml"],
            [null, "out.csv", "text/csv"],
        ]),
    );
    check(
        "from PIL import Image\nImage.new('RGB', (9, 9)).show()",
        json!([[1, "figure-1.png", "image/png"]]),
    );
    check(
        "import turtle\nturtle.forward(9)\nturtle.done()",
        json!([
            [1, "figure-1.json", "application/json"],
            [1, "figure-1.svg", "image/svg+xml"],
        ]),
    );
}

/// Those of `turtledemo` that draw without a window; without `FULL=1` the first
/// three.
#[test]
#[ignore = "needs the images: make test"]
fn demos_of_the_standard_library_give_pictures() {
    let server = service::start_python(&[]);
    let demos = [
        "clock",
        // It ends when it asks for keys, after its first picture.
        "sorting_animate",
        "yinyang",
        "bytedesign",
        "chaos",
        "forest",
        "fractalcurves",
        "peace",
        "penrose",
        "planet_and_moon",
        "tree",
    ];
    let count = if is_full() { demos.len() } else { 3 };
    for demo in &demos[..count] {
        // As `python3 -m` does.
        let source = format!(
            "import runpy\n\
             runpy.run_module('turtledemo.{demo}', run_name='__main__')"
        );
        let displays = json!({"artifacts": {"paths": ["none"]}});
        let answer = result(&server, &python(&source, &displays));
        let mut files = answer["artifacts"].as_array().unwrap().iter();
        let is_drawn = files.any(|file| file["type"] == "image/svg+xml");
        assert!(is_drawn, "{demo}: {}", answer["run"]);
    }
}

#[test]
#[ignore = "needs the images: make test"]
fn a_server_may_return_no_artifacts() {
    let server = service::start_python(&["--artifact-size=0"]);
    let asked = |wanted| python("", &json!({"artifacts": wanted}));
    run_is(&server, &asked(true), "artifacts are off on this server");
    assert_eq!(result(&server, &asked(false))["artifacts"], json!([]));
}
