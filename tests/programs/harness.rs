//! Tests of the tests: what the browser would tell, and that it has no network.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};

use crate::browser::Chromium;
use crate::page::Expected;

type Check = fn(&Chromium) -> Result<(), String>;

pub(crate) fn trials(chromium: &Arc<Chromium>) -> Vec<Trial> {
    let trial = |name: &str, check: Check| {
        let chromium = Arc::clone(chromium);
        Trial::test(format!("browser/{name}"), move || {
            check(&chromium).map_err(Failed::from)
        })
    };
    vec![
        trial("console", console),
        trial("content", content),
        trial("actions", actions),
        trial("differences", differences),
        trial("source-map", source_map),
        trial("network-is-off", network_is_off),
    ]
}

fn faults(
    chromium: &Chromium,
    expected: &str,
    document: &str,
) -> Result<Vec<String>, String> {
    let expected: Expected = toml::from_str(expected).unwrap();
    let files = BTreeSet::from(["sum.ts"]);
    expected.faults(chromium.get()?, document, &files)
}

fn check(
    chromium: &Chromium,
    expected: &str,
    document: &str,
) -> Result<(), String> {
    match faults(chromium, expected, document)?.as_slice() {
        [] => Ok(()),
        faults => Err(faults.join("\n")),
    }
}

fn console(chromium: &Chromium) -> Result<(), String> {
    let document = "<!doctype html><meta charset=utf-8><script>
console.log('one', 2, null, undefined, 3n, -0, [1, 'a'], {b: true})
console.info('%d of %s %%, %cstyled', 1, 'two', 'color: red', 'more')
console.warn('100%', 1)
console.error(new TypeError('told'))
alert('stop')
function fail() { throw new RangeError('too\\n  far') }
Promise.reject('late')
fail()
</script><script>
setTimeout(() => { throw 'text' })
</script><p id=done>done";
    let expected = r#"
        console = [
            "log: one 2 null undefined 3n -0 [1, a] {b: true}",
            "info: 1 of two %, styled more",
            "warning: 100% 1",
            "error: TypeError: told (document:5:15)",
            "alert: stop",
            "uncaught: RangeError: too\n  far (document:7:25)",
            "uncaught (in promise): late (document:8:9)",
            "uncaught: text (document:11:20)",
        ]
    "#;
    check(chromium, expected, document)
}

fn content(chromium: &Chromium) -> Result<(), String> {
    let document = "<!doctype html><meta charset=utf-8><title>Grüße</title>
<style>h1 { color: #f00 }</style><h1>Über&nbsp;uns</h1>
<p style='display: none'>unseen</p><div id=box><b>x</b></div>
<img src='data:image/svg+xml,<svg xmlns=\"http://www.w3.org/2000/svg\" \
width=\"3\" height=\"4\"/>'>";
    let expected = r##"
        title = "Grüße"
        text = "Über\u00a0uns\nx"
        select = "#box"
        dom = "<b>x</b>"
        images = ["3x4"]
        styles = { h1 = { color = "rgb(255, 0, 0)" } }
    "##;
    check(chromium, expected, document)
}

fn actions(chromium: &Chromium) -> Result<(), String> {
    let document = "<!doctype html><input><button>Add</button><ul></ul><script>
const [input, button, list] = ['input', 'button', 'ul']
  .map(name => document.querySelector(name))
const add = () => setTimeout(() => {
  list.innerHTML += `<li>${input.value}</li>`
}, 50)
button.onclick = add
input.onkeydown = event => { if (event.key === 'Enter') add() }
</script>";
    let expected = r#"
        actions = [
            { type = "tea", into = "input" },
            { click = "button" },
            { wait_for = "li" },
            { press = "Enter", on = "input" },
            { wait_for = "li + li" },
        ]
        select = "ul"
        dom = "<li>tea</li><li>tea</li>"
    "#;
    check(chromium, expected, document)
}

/// A harness that finds no fault would pass everything.
fn differences(chromium: &Chromium) -> Result<(), String> {
    let document = "<!doctype html><p>one</p><script>console.log(1)</script>
<img src=missing.png>";
    let expected = r#"
        title = "a title"
        text = "two"
        dom = ""
        styles = { p = { color = "rgb(1, 2, 3)" } }
    "#;
    let faults = faults(chromium, expected, document)?;
    let starts = ["title", "text", "dom", "images", "styles", "the console"];
    let pages = ["page", "framed page"];
    let expected = pages.iter().flat_map(|page| {
        starts.iter().map(move |start| format!("{page}: {start}"))
    });
    let expected: Vec<_> = expected.collect();
    let fits = faults.len() == expected.len()
        && faults.iter().zip(&expected).all(|(a, b)| a.starts_with(b));
    if fits { Ok(()) } else { Err(format!("{faults:#?}")) }
}

fn source_map(chromium: &Chromium) -> Result<(), String> {
    // Column 5 of the script's second line is line 3, column 9 of sum.ts:
    // {"version":3,"sources":["sum.ts"],"mappings":";KAEQ"}
    let map = "eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbInN1bS50cyJdLCJtYXBwaW5ncyI6IjtLQUVRIn0=";
    let document = format!(
        "<!doctype html><script>/* here */
     throw new Error('sum')
//# sourceMappingURL=data:application/json;base64,{map}
</script>"
    );
    let expected = r#"console = ["uncaught: Error: sum (sum.ts:3:9)"]"#;
    check(chromium, expected, &document)
}

fn network_is_off(chromium: &Chromium) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let host = listener.local_addr().unwrap();
    let document = format!(
        "<!doctype html><img src='http://{host}/image.png'><script>
const ended = []
fetch('http://{host}/fetch').catch(error => ended.push(error.message))
  .then(() => fetch('https://example.org/'))
  .catch(error => ended.push(error.message)).then(() => {{
    const socket = new WebSocket('ws://{host}/socket')
    socket.onclose = () => {{
      document.body.innerHTML = '<p id=done>' + ended
    }}
  }})
</script>"
    );
    let expected = format!(
        r##"
        wait_for = "#done"
        text = "Failed to fetch,Failed to fetch"
        console = [
            "request: http://{host}/image.png",
            "request: http://{host}/fetch",
            "request: https://example.org/",
            "request: ws://{host}/socket",
        ]
    "##
    );
    check(chromium, &expected, &document)?;
    match listener.accept() {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
        heard => Err(format!("the browser reached a server: {heard:?}")),
    }
}
