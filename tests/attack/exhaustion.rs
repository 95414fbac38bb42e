//! Programs that want more than they may have: they end as promised, others
//! hardly notice, and nothing of them stays.

use std::thread::scope;

use sandpiper_testkit::traces::at_rest;

use crate::bystander::Bystander;
use crate::program::Program;
use crate::suite::Suite;

pub(crate) fn check(program: &Program, suite: &Suite) -> Result<(), String> {
    let server = suite.server(program);
    let bystander = Bystander::now(server)?;
    let before = at_rest(server);
    let (attacked, beside) = scope(|scope| {
        let attack = scope.spawn(|| program.attack(suite));
        let beside = bystander.lives_beside(server, || attack.is_finished());
        (attack.join().expect("it does not panic"), beside)
    });
    attacked?;
    beside?;
    let after = at_rest(server);
    if after == before {
        Ok(())
    } else {
        Err(format!("{after:#?}\nis left, of\n{before:#?}"))
    }
}
