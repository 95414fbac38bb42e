//! Documents without their frameworks: with the framework put back they are the
//! documents that everybody else gets, whatever the program does.

use serde_json::{Value, json};

use crate::service::{self, Server, compile};

const SAMPLES: [(&str, &str, &str); 2] = [
    ("react", "App.jsx", "export default () => <p>MARK</p>;"),
    ("vue", "App.vue", "<template><p>MARK</p></template>"),
];

/// Runs a program with its framework in the document, and without. Returns the
/// document, and the frameworks that were left out.
fn both(server: &Server, asked: &Value) -> (String, Vec<String>) {
    let inline = compile(server, asked).stdout;
    let mut asked = asked.clone();
    asked["framework"] = json!("external");
    let events = server.stream(&[], &asked).expect("a stream");
    let (mut put_back, mut frameworks) = (String::new(), Vec::new());
    for event in events {
        let text = |name: &str| event.data[name].as_str().unwrap();
        if event.name == "output" {
            assert_eq!(text("stream"), "stdout", "{}", text("text"));
            put_back += text("text");
        }
        if event.name == "framework" {
            let path = format!("/{}", text("path"));
            let reply = server.send("GET", &path, &[], "");
            assert_eq!(reply.status, 200, "{path}");
            put_back += reply.text();
            frameworks.push(reply.text().to_owned());
        }
    }
    // They are megabytes, and not shown.
    assert!(put_back == inline, "it is another document");
    (inline, frameworks)
}

/// The files of a program, of which the first is the entry.
fn program(language: &str, files: &[(&str, &str)]) -> Value {
    let list = files.iter();
    let list = list.map(|(path, text)| json!({"path": path, "content": text}));
    json!({
        "language": language,
        "entryFile": files[0].0,
        "files": list.collect::<Vec<_>>(),
    })
}

#[test]
#[ignore = "needs the images: make test"]
fn a_document_is_the_same_with_its_framework_put_back() {
    let server = &service::start(&["--languages=react,vue,web", service::COLD]);
    for (language, entry, source) in SAMPLES {
        let own = (entry, source);
        let (document, left_out) = both(server, &program(language, &[own]));
        let [framework] = &left_out[..] else { panic!("{language}") };
        assert!(framework.len() > 100_000, "{language}");
        assert!(document.len() - framework.len() < 20_000, "{language}");
        // A page with a text that is almost the framework, or exactly that,
        // before the real one.
        let page = |text: &str| {
            format!(
                "<!doctype html><script type=\"text/plain\">{text}</script>\
                 <p>event: framework</p><div id=\"root\"></div>\
                 <div id=\"app\"></div>"
            )
        };
        let almost = framework.replacen("var ", "var\t", 1);
        assert_eq!(almost.len(), framework.len());
        for (text, copies) in [(&almost, 1), (framework, 2)] {
            let files = [own, ("index.html", &page(text))];
            let (document, left_out) = both(server, &program(language, &files));
            assert!(document.contains(text), "{language}");
            let found = document.matches(framework.as_str()).count();
            assert_eq!(found, copies, "{language}");
            assert!(left_out == [framework.as_str()], "{language}");
        }
    }
    // Documents that have none.
    for language in ["react", "web"] {
        let files = [("index.html", "<!doctype html><p>MARK</p>")];
        let (_, left_out) = both(server, &program(language, &files));
        assert!(left_out.is_empty(), "{language}");
    }
}
