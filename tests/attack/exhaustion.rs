//! Programs that want more than they may have: they end as promised, others
//! hardly notice, and nothing of them stays.

use std::thread::scope;

use sandpiper_testkit::traces::at_rest;

use crate::bystander::Bystander;
use crate::program::Program;
use crate::servers::Server;
use crate::suite::Suite;

/// Runs these programs at once. The outcome of each is in their order; an error
/// is of all of them together.
pub(crate) fn check(
    programs: &[&Program],
    server: &Server,
    suite: &Suite,
) -> Result<Vec<Result<(), String>>, String> {
    let bystander = Bystander::now(server)?;
    let before = at_rest(server);
    let (attacked, beside) = scope(|scope| {
        let attacks: Vec<_> = programs
            .iter()
            .map(|program| scope.spawn(|| program.attack(suite)))
            .collect();
        let is_over = || attacks.iter().all(|attack| attack.is_finished());
        let beside = bystander.lives_beside(server, is_over);
        let ended = attacks.into_iter().map(|attack| attack.join());
        let attacked = ended.map(|it| it.expect("it does not panic"));
        (attacked.collect::<Vec<_>>(), beside)
    });
    beside?;
    let after = at_rest(server);
    if after == before {
        Ok(attacked)
    } else {
        Err(format!("{after:#?}\nis left, of\n{before:#?}"))
    }
}
