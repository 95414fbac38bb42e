//! Clients that leave while the host is slow.

use libtest_mimic::Completion;
use rustix::process::{Pid, Signal, kill_process};

use crate::Fault;
use crate::servers::{
    Reply, assert_serves, at_rest, eventually, fork_server, python, send,
    start, stop,
};
use sandpiper_testkit::traces::boxes;

pub(crate) const FAULTS: &[(&str, Fault)] =
    &[("leaving/while-a-box-is-made", while_a_box_is_made)];

/// The slot is held until the box is gone. Otherwise a client that connects and
/// leaves again and again would have more boxes made than there are slots.
fn while_a_box_is_made() -> Completion {
    let server = start(&["--boxes=1"]);
    assert_serves(&server);
    let before = at_rest(&server);
    let fork_server = fork_server(&server);
    stop(fork_server);
    let leaves = send(&server, &python("print(1)"), 1);
    eventually("a box is being made", || boxes(server.pid()).len() == 1);
    drop(leaves);
    let gone =
        r#"sandpiper_runs_total{language="python",outcome="client_gone"}"#;
    eventually("the client has gone", || server.metrics().count(gone) == 1);
    let mut next = send(&server, &python("print(2)"), 2);
    eventually("the next run waits", || {
        server.metrics().count("sandpiper_runs_waiting") == 1
    });
    assert_eq!(boxes(server.pid()).len(), 1);
    kill_process(Pid::from_raw(fork_server).unwrap(), Signal::CONT).unwrap();
    Reply::read(&mut next).assert_json(200, r#"{"stdout":"2\n","stderr":""}"#);
    assert_eq!(at_rest(&server), before);
    Completion::Completed
}
