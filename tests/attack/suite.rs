//! Shared by all attacks: the servers, the canaries, and another client.

use std::collections::BTreeSet;
use std::slice::from_ref;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use sandpiper_testkit::is_full;
use sandpiper_testkit::text::Values;

use crate::bystander::Bystander;
use crate::canaries::Canaries;
use crate::case::Case;
use crate::exhaustion;
use crate::program::{Program, Shown};
use crate::servers::{self, Server, Start};

/// Programs that want too much and run at once, unless `FULL=1` runs each alone.
const AT_ONCE: usize = 4;

pub(crate) struct Suite {
    pub(crate) start: Start,
    pub(crate) canaries: Canaries,
    bystander: Bystander,
    main: Server,
    /// With a short time for compilers, for what only ends when its time is up.
    short: Option<Server>,
    batches: Vec<Batch>,
    /// Held alone by attacks beside which something is measured.
    turn: Arc<RwLock<()>>,
}

impl Suite {
    /// Places the canaries and starts the servers that these cases need. A
    /// case that measures has `turn` alone.
    pub(crate) fn new(
        secret: &str,
        start: Start,
        turn: Arc<RwLock<()>>,
        cases: Vec<Arc<Result<Case, String>>>,
    ) -> Self {
        let mut canaries = Canaries::place(secret);
        let programs: Vec<&Program> = programs(&cases).collect();
        // Every control runs on the server with long times.
        let languages = |short: bool| {
            let chosen =
                programs.iter().filter(|program| program.short >= short);
            let mut ids: BTreeSet<&str> =
                chosen.map(|program| program.language.as_str()).collect();
            ids.insert("python");
            let ids: Vec<&str> = ids.into_iter().collect();
            format!("--languages={}", ids.join(","))
        };
        // Nothing that is sent there wants more time than its work takes. In an
        // emulated machine that can be a minute.
        let serve = |languages: &str, flags: &[&str]| {
            let usual =
                [languages, "--run-wall-time=120s", "--run-cpu-time=120s"];
            servers::start(start, &[&usual, flags].concat())
        };
        let main = serve(
            &languages(false),
            &["--boxes=4", "--compile-wall-time=120s"],
        );
        // Before the other server begins: that one gives compilers 10 s.
        main.wait_until_ready();
        let short = programs.iter().any(|program| program.short).then(|| {
            serve(
                &languages(true),
                &[
                    "--compile-wall-time=10s",
                    // A sample program that a busy machine holds up for this
                    // time would end the service of its language.
                    "--check-interval=1h",
                    // One client may have half of them: enough for all at once.
                    "--boxes=24",
                ],
            )
        });
        if let Some(short) = &short {
            short.wait_until_ready();
        }
        for (name, value) in [
            ("server", main.pid().to_string()),
            ("server_port", main.address.port().to_string()),
            ("admin_port", main.admin.port().to_string()),
        ] {
            canaries.values.insert(name.to_owned(), value);
        }
        let bystander = Bystander::now(&main).unwrap();
        let batches = batches(start, &cases);
        Self { start, canaries, bystander, main, short, batches, turn }
    }

    /// The control, the attack, and a client that comes after it.
    pub(crate) fn check(&self, case: &Case) -> Result<Shown, String> {
        // An attack that failed has reported it; the others go on.
        let shared =
            || self.turn.read().unwrap_or_else(PoisonError::into_inner);
        match case {
            Case::Program(program) => {
                let _turn = shared();
                let shown = program.control(self)?;
                program.attack(self)?;
                self.bystander.comes_after(self.server(program))?;
                Ok(shown)
            }
            Case::Request(request) => {
                let _turn = shared();
                request.check(self)?;
                self.bystander.comes_after(&self.main)?;
                Ok(Shown::Yes)
            }
            Case::Exhaustion(program) => {
                let shown = {
                    let _turn = shared();
                    program.control(self)?
                };
                let _turn =
                    self.turn.write().unwrap_or_else(PoisonError::into_inner);
                self.exhaust(program)?;
                self.bystander.comes_after(self.server(program))?;
                Ok(shown)
            }
        }
    }

    /// Runs the attack with all of its batch, unless that was done before.
    fn exhaust(&self, program: &Program) -> Result<(), String> {
        let outcome = |batch: &Batch| {
            let programs: Vec<&Program> = programs(&batch.cases).collect();
            let mut all = programs.iter();
            let place = all.position(|it| std::ptr::eq(*it, program))?;
            let server = self.server(program);
            let ended = batch
                .ended
                .get_or_init(|| exhaustion::check(&programs, server, self));
            let ended = ended.as_ref().map_err(Clone::clone);
            Some(ended.and_then(|outcomes| outcomes[place].clone()))
        };
        let mut outcomes = self.batches.iter().filter_map(outcome);
        outcomes.next().ok_or("it is not one of the chosen")?
    }

    /// The server that a program is sent to.
    pub(crate) fn server(&self, program: &Program) -> &Server {
        match &self.short {
            Some(short) if program.short => short,
            _ => &self.main,
        }
    }

    pub(crate) fn main(&self) -> &Server {
        &self.main
    }

    /// The values that the texts of cases may name.
    pub(crate) fn values(&self) -> &Values {
        &self.canaries.values
    }
}

/// Programs that want too much and run at once.
struct Batch {
    cases: Vec<Arc<Result<Case, String>>>,
    /// The outcome of each; or the fault of all of them together.
    ended: OnceLock<Result<Vec<Result<(), String>>, String>>,
}

/// The batches of the programs that want too much. Those that last for as long as
/// they may are in one, so that their times pass at once.
fn batches(start: Start, cases: &[Arc<Result<Case, String>>]) -> Vec<Batch> {
    let (short, long): (Vec<_>, Vec<_>) = cases
        .iter()
        .filter(|case| matches!(***case, Ok(Case::Exhaustion(_))))
        .cloned()
        .partition(|case| programs(from_ref(case)).any(|it| it.short));
    let (of_short, of_long) = match (start, is_full()) {
        // Of boxes that are ready there are too few for more.
        (Start::Warm, _) => (1, 1),
        (_, true) => (short.len(), 1),
        (_, false) => (short.len(), AT_ONCE),
    };
    let batches = short.chunks(of_short.max(1)).chain(long.chunks(of_long));
    batches
        .map(|cases| Batch { cases: cases.to_vec(), ended: OnceLock::new() })
        .collect()
}

/// The programs among these cases.
fn programs(
    cases: &[Arc<Result<Case, String>>],
) -> impl Iterator<Item = &Program> {
    let right = cases.iter().filter_map(|case| (**case).as_ref().ok());
    right.filter_map(Case::program)
}
