//! What all attacks share: the servers, the canaries, and another client.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

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
    /// Held alone by attacks beside which something is measured.
    turn: Arc<RwLock<()>>,
}

impl Suite {
    /// Places the canaries and starts the servers that these cases need. Who
    /// measures has `turn` alone.
    pub(crate) fn new(
        secret: &str,
        start: Start,
        turn: Arc<RwLock<()>>,
        cases: &[&Case],
    ) -> Self {
        let mut canaries = Canaries::place(secret);
        let programs = cases.iter().filter_map(|case| case.program());
        let programs: Vec<&Program> = programs.collect();
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
        Self { start, canaries, bystander, main, short, turn }
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
                let _turn =
                    self.turn.write().unwrap_or_else(PoisonError::into_inner);
                let shown = program.control(self)?;
                exhaustion::check(program, self)?;
                self.bystander.comes_after(self.server(program))?;
                Ok(shown)
            }
        }
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

    /// What the texts of cases may name.
    pub(crate) fn values(&self) -> &Values {
        &self.canaries.values
    }
}
