//! One request, or one box, of a trace: what happened from the first mark of
//! the process that is watched to the last, and who took part.

use std::collections::BTreeMap;

use crate::event::{Event, MARK, What};

/// Who can take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Client,
    Server,
    ForkServer,
    OuterInit,
    Init,
    Program,
    /// Threads of the kernel, and whatever else there is.
    Rest,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::ForkServer => "fork server",
            Self::OuterInit => "init, outer half",
            Self::Init => "init, pid 1",
            Self::Program => "program's process",
            Self::Rest => "others, such as the kernel's threads",
        }
    }
}

/// Which process started which.
pub(crate) type Parents = BTreeMap<i32, i32>;

pub(crate) struct Window {
    pub(crate) events: Vec<Event>,
    /// When each mark was set, in nanoseconds since the first.
    pub(crate) marks: Vec<u64>,
    roles: BTreeMap<i32, Role>,
}

/// Puts the lines of a trace together to windows of so many marks each.
pub(crate) struct Windows<'a> {
    pub(crate) marks: usize,
    pub(crate) parents: Parents,
    /// The process that serves; `None` where it is the one that is watched.
    pub(crate) server: Option<i32>,
    pub(crate) take: &'a mut dyn FnMut(Window),
    begun: Vec<Event>,
    set: Vec<u64>,
}

impl<'a> Windows<'a> {
    pub(crate) fn new(
        marks: usize,
        parents: Parents,
        server: Option<i32>,
        take: &'a mut dyn FnMut(Window),
    ) -> Self {
        let (begun, set) = (Vec::new(), Vec::new());
        Self { marks, parents, server, take, begun, set }
    }

    pub(crate) fn add(&mut self, event: Event) {
        if let What::Fork(child) = event.what {
            self.parents.insert(child, event.process);
        }
        let is_mark = event.what == What::Enter(MARK);
        if self.set.is_empty() && !is_mark {
            return;
        }
        self.begun.push(event);
        if !is_mark {
            return;
        }
        self.set.push(event.at);
        if self.set.len() == self.marks {
            let events = std::mem::take(&mut self.begun);
            let first = events[0].at;
            let marks = self.set.drain(..).map(|at| at - first).collect();
            let roles = self.roles(&events);
            (self.take)(Window { events, marks, roles });
        }
    }

    /// The program is what execve started; its ancestors are the box's.
    fn roles(&self, events: &[Event]) -> BTreeMap<i32, Role> {
        let watched = events[0].process;
        let mut roles = BTreeMap::new();
        let exec = events.iter().find(|event| event.what == What::Exec);
        let mut one = exec.map(|event| event.process);
        for role in
            [Role::Program, Role::Init, Role::OuterInit, Role::ForkServer]
        {
            let Some(process) = one else { break };
            roles.insert(process, role);
            one = self.parents.get(&process).copied();
        }
        if let Some(server) = self.server {
            roles.insert(watched, Role::Client);
            roles.insert(server, Role::Server);
        } else {
            roles.insert(watched, Role::Server);
        }
        roles
    }
}

impl Window {
    pub(crate) fn role(&self, process: i32) -> Role {
        self.roles.get(&process).copied().unwrap_or(Role::Rest)
    }
}
