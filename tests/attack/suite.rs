//! Shared by all attacks: the servers, the canaries, and another client.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::bystander::Bystander;
use crate::canaries::Canaries;
use crate::case::Case;
use crate::exhaustion;
use crate::program::{Program, Shown};
use crate::servers::{self, Server, Start};
use crate::text::Values;

pub(crate) struct Suite {
    pub(crate) start: Start,
    pub(crate) canaries: Canaries,
    bystander: Bystander,
    main: Server,
    /// With short times, for what only ends when its time is up.
    short: Option<Server>,
    cases: Vec<Arc<Result<Case, String>>>,
    /// The outcomes of all short programs, which ran at once.
    together: OnceLock<Result<Vec<Result<(), String>>, String>>,
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
        // Nothing that is sent there wants more time than its work takes.
        let main = servers::start(
            start,
            &[
                &languages(false),
                "--boxes=4",
                "--run-wall-time=60s",
                "--run-cpu-time=60s",
                "--compile-wall-time=60s",
            ],
        );
        let short = programs.iter().any(|program| program.short).then(|| {
            servers::start(
                start,
                &[
                    &languages(true),
                    "--run-wall-time=3s",
                    "--run-cpu-time=3s",
                    "--compile-wall-time=12s",
                    // One client may have half of them.
                    "--boxes=12",
                ],
            )
        });
        for server in [Some(&main), short.as_ref()].into_iter().flatten() {
            server.wait_until_ready();
        }
        for (name, value) in [
            ("server", main.pid().to_string()),
            ("server_port", main.address.port().to_string()),
            ("admin_port", main.admin.port().to_string()),
        ] {
            canaries.values.insert(name.to_owned(), value);
        }
        let bystander = Bystander::now(&main).unwrap();
        let together = OnceLock::new();
        Self { start, canaries, bystander, main, short, cases, together, turn }
    }

    /// The control, the attack, and a client that comes after it.
    pub(crate) fn check(&self, case: &Case) -> Result<Shown, String> {
        // An attack that failed has told so; the others go on.
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

    /// Runs the attack; with it all others that last for as long as they may,
    /// so that their times pass at once.
    fn exhaust(&self, program: &Program) -> Result<(), String> {
        let server = self.server(program);
        // Of boxes that are ready there are too few for all.
        if !program.short || self.start == Start::Warm {
            let ended = exhaustion::check(&[program], server, self)?;
            return ended.into_iter().collect();
        }
        let short = programs(&self.cases).filter(|program| program.short);
        let short: Vec<&Program> = short.collect();
        let ended = self
            .together
            .get_or_init(|| exhaustion::check(&short, server, self));
        let place = short.iter().position(|it| std::ptr::eq(*it, program));
        let place = place.ok_or("it is not one of the chosen")?;
        ended.as_ref().map_err(Clone::clone)?[place].clone()
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

/// The programs among these cases.
fn programs(
    cases: &[Arc<Result<Case, String>>],
) -> impl Iterator<Item = &Program> {
    let right = cases.iter().filter_map(|case| (**case).as_ref().ok());
    right.filter_map(Case::program)
}
