//! Input and stops that look for the runs of others: ids that are guessed, of
//! another form, of ended runs, and in use.

use std::net::TcpStream;

use sandpiper_testkit::traces::at_rest;
use sandpiper_testkit::{Events, Reply, eventually};
use serde_json::json;

use crate::live::{JSON, interactive, python, start, statuses};
use crate::servers::{Server, client};

/// A run that asks for a line, and prints it.
const ASKS: &str = "print('got', ascii(input('? ')))";
/// The id that a client chooses for its run.
const CHOSEN: &str = "0123456789abcdef0123456789abcdef";
const WAYS: [&str; 2] = ["input", "stop"];

/// Each run gets what is sent with its id, and nothing else.
pub(crate) fn crossed_runs() {
    // Nobody types into the first two until all others have tried.
    let server = start(&["--live-boxes=8", "--boxes=4", "--live-idle-time=1h"]);
    let rest = at_rest(&server);
    control(&server);
    let [(mut one, first), (mut two, second)] = [1, 2].map(|number| {
        let mut events = open(&server, number);
        events.until("? ");
        let id = events.run.clone().unwrap();
        (events, id)
    });
    guessed(&server, &[&first, &second]);
    ended(&server);
    claimed(&server, &first);
    in_use(&server);
    // They were neither typed into nor stopped.
    for (events, id, text) in
        [(&mut two, &second, "b"), (&mut one, &first, "a")]
    {
        let body = format!("{{\"text\":\"{text}\\n\"}}");
        assert_eq!(server.tell(id, "input", &body).status, 204);
        assert_eq!(events.end()["exit"], json!({"code": 0}));
        assert_eq!(events.stdout, format!("? got '{text}'\n"));
        is_nowhere(&server, id);
    }
    assert_eq!(at_rest(&server), rest);
}

/// A stranger who has the id is taken for its client.
fn control(server: &Server) {
    let mut events = open(server, 1);
    events.until("? ");
    let id = events.run.clone().unwrap();
    let headers = [JSON, &client(9)];
    let send = |what: &str, body: &str| {
        let path = format!("/api/run/{id}/{what}");
        assert_eq!(server.send("POST", &path, &headers, body).status, 204);
    };
    send("input", r#"{"text":"crossed"}"#);
    send("input", r#"{"text":"\n"}"#);
    assert_eq!(events.end()["exit"], json!({"code": 0}));
    assert_eq!(events.stdout, "? got 'crossed'\n");
    let mut events = open(server, 1);
    events.until("? ");
    let id = events.run.clone().unwrap();
    let path = format!("/api/run/{id}/stop");
    assert_eq!(server.send("POST", &path, &headers, "").status, 204);
    assert_eq!(events.end()["exit"], json!({"stopped": true}));
}

fn open(server: &Server, number: u8) -> Events {
    server.stream(&[&client(number)], &interactive(ASKS)).unwrap()
}

/// Fails if there is a run of this id.
fn is_nowhere(server: &Server, id: &str) {
    for what in WAYS {
        server.tell(id, what, "{}").assert_failure(404, "no such run");
    }
}

/// Ids beside those of runs that go on, and many others.
fn guessed(server: &Server, ids: &[&str]) {
    let mut guesses = Vec::new();
    for id in ids {
        for (place, digit) in id.char_indices() {
            let value = digit.to_digit(16).unwrap();
            // Each bit of it.
            for bit in 0..4 {
                let other = char::from_digit(value ^ 1 << bit, 16).unwrap();
                let mut guess = (*id).to_owned();
                guess.replace_range(place..=place, &other.to_string());
                guesses.push(guess);
            }
        }
        guesses.extend([
            id[..31].to_owned(),
            id[1..].to_owned(),
            format!("{id}0"),
            format!("0{id}"),
            format!("{id}%00"),
            format!("{id}%0a"),
            format!("%20{id}"),
            format!("n1-{id}"),
            format!("-{id}"),
            format!("{id},{id}"),
            format!("x/../{id}"),
            format!("{}-{}", &id[..8], &id[8..]),
            // The digits of a wide form.
            id.replacen(|_: char| true, "%EF%BC%90", 1),
        ]);
        // There may be no letter.
        guesses.push(id.to_uppercase() + "A");
    }
    guesses.extend((0..5_000_u64).map(|number| format!("{number:032x}")));
    for what in WAYS {
        let requests = guesses.iter().map(|id| request(id, what));
        let found = statuses(server, &requests.collect::<Vec<_>>());
        let hits = found.iter().zip(&guesses).filter(|(it, _)| *it != "404");
        assert_eq!(hits.collect::<Vec<_>>(), [], "{what}");
    }
}

/// One request of many on a connection.
fn request(id: &str, what: &str) -> Vec<u8> {
    let body = r#"{"text":"crossed\n","end":true}"#;
    let head = format!(
        "POST /api/run/{id}/{what} HTTP/1.1\r\nHost: x\r\n{JSON}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    head.into_bytes()
}

/// The next run of the same client does not inherit an id.
fn ended(server: &Server) {
    let mut old = server.stream(&[&client(3)], &interactive("")).unwrap();
    assert_eq!(old.end()["exit"], json!({"code": 0}));
    let id = old.run.clone().unwrap();
    let mut new = open(server, 3);
    new.until("? ");
    assert_ne!(new.run.as_ref(), Some(&id));
    is_nowhere(server, &id);
    assert_eq!(stop(server, &new.run.clone().unwrap()), 204);
    assert_eq!(new.end()["exit"], json!({"stopped": true}));
}

fn stop(server: &Server, id: &str) -> u16 {
    server.tell(id, "stop", "").status
}

/// A client gives its own run the id of another's: it gets no way into that one,
/// and its end ends neither the run nor its id.
fn claimed(server: &Server, id: &str) {
    let name = format!("Sandpiper-Run: {id}");
    let asked = python("print(1)", &json!({}));
    let from = client(4);
    let mut claiming = server.stream(&[&name, &from], &asked).unwrap();
    assert_eq!(claiming.end()["exit"], json!({"code": 0}));
    assert_eq!(claiming.run, None);
    let headers = [JSON, &name, &from];
    for path in ["/api/run", "/api/compile"] {
        let reply = server.send("POST", path, &headers, asked.to_string());
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    // A live run has an id of the server's, whatever its client asks.
    let live = interactive(ASKS);
    for name in [&name, "Sandpiper-Run: 00000000000000000000000000000000"] {
        let mut live = server.stream(&[name, &from], &live).unwrap();
        live.until("? ");
        let own = live.run.clone().unwrap();
        assert!(own != id && own != "0".repeat(32), "{own}");
        is_nowhere(server, &"0".repeat(32));
        assert_eq!(stop(server, &own), 204);
        assert_eq!(live.end()["exit"], json!({"stopped": true}));
    }
}

/// An id that two clients have chosen is that of the first, until its end. No run
/// takes input by it.
fn in_use(server: &Server) {
    let sleeps = python("time.sleep(999)", &json!({}));
    let boxes = || server.metrics().count("sandpiper_boxes_in_use");
    let begin = |number, count| {
        let name = format!("Sandpiper-Run: {CHOSEN}");
        let headers = [JSON, &name, &client(number)];
        let body = sleeps.to_string();
        let run = server.begin("POST", "/api/compile", &headers, body);
        eventually("it has its box", || boxes() == count);
        run
    };
    let (first, second) = (begin(5, 1), begin(6, 2));
    let input = server.tell(CHOSEN, "input", r#"{"text":"a"}"#);
    input.assert_failure(404, "no such run");
    assert_eq!(stop(server, CHOSEN), 204);
    is_stopped(first);
    // The answer does not wait for it.
    eventually("its box is gone", || boxes() == 1);
    // The other one goes on, without an id: this is a third one's now.
    is_nowhere(server, CHOSEN);
    let third = begin(7, 2);
    assert_eq!(stop(server, CHOSEN), 204);
    is_stopped(third);
    is_nowhere(server, CHOSEN);
    drop(second);
    eventually("it is given up", || boxes() == 0);
}

fn is_stopped(mut run: TcpStream) {
    let reply = Reply::read(&mut run);
    assert_eq!(reply.header("sandpiper-exit"), Some("stage=run; stopped=true"));
}
