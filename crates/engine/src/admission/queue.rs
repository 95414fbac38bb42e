//! The rules of admission, without time and without tasks: the runs that have
//! a slot, the runs that wait, and the order in which they start.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// The runs of every client. `T` wakes a run that waits.
///
/// Between two calls, a slot is free only if every client that waits holds its
/// share of the slots.
#[derive(Debug)]
pub(super) struct Queue<T> {
    slots: usize,
    /// The slots that one client can hold.
    share: usize,
    capacity: usize,
    running: usize,
    waiting: usize,
    /// The clients that have a run here. All others are forgotten.
    clients: HashMap<IpAddr, ClientRuns<T>>,
    /// The clients that wait, each once. The front is served next.
    round_robin: VecDeque<IpAddr>,
    next_number: u64,
}

#[derive(Debug)]
struct ClientRuns<T> {
    running: usize,
    waiting: VecDeque<(u64, T)>,
}

/// The reason why a run cannot wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The whole queue is full.
    Queue,
    /// The client's share of the queue is full.
    Share,
}

impl<T> Queue<T> {
    /// Creates a queue for `slots` runs at once, of which one client can have
    /// `share`, and `capacity` runs that wait.
    pub(super) fn new(slots: usize, share: usize, capacity: usize) -> Self {
        Self {
            slots,
            share,
            capacity,
            running: 0,
            waiting: 0,
            clients: HashMap::new(),
            round_robin: VecDeque::new(),
            next_number: 0,
        }
    }

    /// Takes a slot, if one is free and `client` is below its share.
    pub(super) fn start(&mut self, client: IpAddr) -> bool {
        let may_start =
            self.running < self.slots && self.is_below_share(client);
        if may_start {
            self.running += 1;
            self.client(client).running += 1;
        }
        may_start
    }

    /// Adds a run to the queue and returns its number, for [`Self::leave`].
    ///
    /// If the queue is full and nothing of `client` waits, the newest run of
    /// the client with the most gives way, and its `waker` is dropped. So a few
    /// clients cannot keep all others out, each with its share of the queue.
    pub(super) fn wait(
        &mut self,
        client: IpAddr,
        waker: T,
    ) -> Result<u64, Full> {
        let own = self.waiting_of(client);
        let is_full = self.waiting >= self.capacity;
        if is_full && !(own == 0 && self.give_way()) {
            return Err(Full::Queue);
        }
        if own >= self.capacity.div_ceil(2) {
            return Err(Full::Share);
        }
        if own == 0 {
            self.take_turn(client);
        }
        let number = self.next_number;
        self.next_number += 1;
        self.waiting += 1;
        self.client(client).waiting.push_back((number, waker));
        Ok(number)
    }

    /// Removes a run that waits. Does nothing if the run has started.
    pub(super) fn leave(&mut self, client: IpAddr, number: u64) {
        let Some(own) = self.clients.get_mut(&client) else { return };
        let mut numbers = own.waiting.iter().map(|(number, _)| *number);
        let Some(index) = numbers.position(|waiting| waiting == number) else {
            return;
        };
        own.waiting.remove(index);
        self.waiting -= 1;
        if own.waiting.is_empty() {
            self.round_robin.retain(|other| *other != client);
        }
        self.forget(client);
    }

    /// Gives a slot back. Returns the run that starts in its place, if any.
    pub(super) fn end(&mut self, client: IpAddr) -> Option<(IpAddr, T)> {
        self.running -= 1;
        self.client(client).running -= 1;
        let next = self.start_next();
        self.forget(client);
        next
    }

    /// Returns whether a run waits that would take any slot that is free.
    pub(super) fn is_contended(&self) -> bool {
        self.round_robin.iter().any(|client| self.is_below_share(*client))
    }

    /// Returns the number of slots.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the number of slots that one client can hold.
    pub(super) fn share(&self) -> usize {
        self.share
    }

    /// Returns the number of runs that can wait.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the number of runs that hold a slot.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Returns the number of runs that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the number of runs of one client that wait.
    pub(super) fn waiting_of(&self, client: IpAddr) -> usize {
        self.clients.get(&client).map_or(0, |own| own.waiting.len())
    }

    /// Returns whether no client is remembered.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.round_robin.is_empty()
    }

    /// Adds a client to those that wait. If it has no run in a slot, its turn is
    /// before all clients that have one: a few clients with long runs would
    /// otherwise hand every slot to each other.
    fn take_turn(&mut self, client: IpAddr) {
        let mut clients = self.round_robin.iter();
        let first = clients.position(|other| self.is_running(*other));
        match first.filter(|_| !self.is_running(client)) {
            Some(index) => self.round_robin.insert(index, client),
            None => self.round_robin.push_back(client),
        }
    }

    /// Removes the newest run of the client that has the most in the queue.
    /// Returns `false` if no client has more than one.
    fn give_way(&mut self) -> bool {
        let clients = self.round_robin.iter().copied();
        let most = clients.max_by_key(|client| self.waiting_of(*client));
        let own = most.and_then(|client| self.clients.get_mut(&client));
        let Some(own) = own.filter(|own| own.waiting.len() > 1) else {
            return false;
        };
        own.waiting.pop_back();
        self.waiting -= 1;
        true
    }

    /// Starts the next run: of the first client in turn that is below its
    /// share. The clients before it keep their turn.
    fn start_next(&mut self) -> Option<(IpAddr, T)> {
        let mut clients = self.round_robin.iter();
        let index = clients.position(|client| self.is_below_share(*client))?;
        let client = self.round_robin.remove(index)?;
        let own = self.client(client);
        let (_, waker) = own.waiting.pop_front()?;
        own.running += 1;
        if !own.waiting.is_empty() {
            self.round_robin.push_back(client);
        }
        self.waiting -= 1;
        self.running += 1;
        Some((client, waker))
    }

    fn is_running(&self, client: IpAddr) -> bool {
        self.clients.get(&client).is_some_and(|own| own.running > 0)
    }

    fn is_below_share(&self, client: IpAddr) -> bool {
        let own = self.clients.get(&client);
        own.map_or(0, |own| own.running) < self.share()
    }

    fn client(&mut self, client: IpAddr) -> &mut ClientRuns<T> {
        let new = || ClientRuns { running: 0, waiting: VecDeque::new() };
        self.clients.entry(client).or_insert_with(new)
    }

    fn forget(&mut self, client: IpAddr) {
        let is_gone =
            |own: &ClientRuns<T>| own.running == 0 && own.waiting.is_empty();
        if self.clients.get(&client).is_some_and(is_gone) {
            self.clients.remove(&client);
        }
    }
}
