//! Who runs and who waits: the rules of admission, without time or tasks.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};

use super::Cause;

/// The books of admission. `T` is what wakes the one who waits.
///
/// Between two calls no one waits who could run: a slot is free only while
/// all who wait are clients that hold their share of the slots.
#[derive(Debug)]
pub(super) struct Queue<T> {
    slots: usize,
    places: usize,
    running: usize,
    waiting: usize,
    /// Those who run or wait; nobody else is remembered.
    clients: HashMap<IpAddr, Client<T>>,
    /// What the clients of one subscriber have together.
    subscribers: HashMap<IpAddr, Held>,
    /// Clients that wait, each once, the next to be served in front.
    turns: VecDeque<Turn>,
    next_number: u64,
}

#[derive(Debug)]
struct Client<T> {
    running: usize,
    waiting: VecDeque<(u64, T)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    client: IpAddr,
    /// It was refused before, and has come when it was told to.
    is_promised: bool,
}

/// Slots and places taken.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    running: usize,
    waiting: usize,
}

/// Whose share a client uses: a subscriber to IPv6 has a whole /64, and could
/// come from ever another address of it.
pub(super) fn subscriber(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V4(_) => client,
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()
        }
    }
}

impl<T> Queue<T> {
    /// `slots` run at once, `places` can wait.
    pub(super) fn new(slots: usize, places: usize) -> Self {
        Self {
            slots,
            places,
            running: 0,
            waiting: 0,
            clients: HashMap::new(),
            subscribers: HashMap::new(),
            turns: VecDeque::new(),
            next_number: 0,
        }
    }

    /// Takes a slot if `client` may have one now.
    pub(super) fn start(&mut self, client: IpAddr) -> bool {
        let may = self.running < self.slots && self.is_below_share(client);
        if may {
            self.running += 1;
            self.client(client).running += 1;
            self.held(client).running += 1;
        }
        may
    }

    /// Takes a place in the queue; the number is for [`Self::leave`].
    ///
    /// One who `is_promised` a place is served before those who are not, and
    /// finds half as many places more.
    pub(super) fn wait(
        &mut self,
        client: IpAddr,
        waker: T,
        is_promised: bool,
    ) -> Result<u64, Cause> {
        let own = self.clients.get(&client).map_or(0, |own| own.waiting.len());
        let more = if is_promised { self.places.div_ceil(2) } else { 0 };
        if self.waiting >= self.places + more {
            return Err(Cause::Queue);
        }
        let shared = self.subscribers.get(&subscriber(client));
        if shared.is_some_and(|held| held.waiting >= self.places.div_ceil(2)) {
            return Err(Cause::Share);
        }
        let number = self.next_number;
        self.next_number += 1;
        self.waiting += 1;
        self.client(client).waiting.push_back((number, waker));
        self.held(client).waiting += 1;
        let turn = Turn { client, is_promised };
        if is_promised {
            self.turns.retain(|turn| turn.client != client);
            let before = self.turns.iter().take_while(|turn| turn.is_promised);
            self.turns.insert(before.count(), turn);
        } else if own == 0 {
            self.turns.push_back(turn);
        }
        Ok(number)
    }

    /// Gives up a place; nothing happens when its run has started.
    pub(super) fn leave(&mut self, client: IpAddr, number: u64) {
        let Some(own) = self.clients.get_mut(&client) else { return };
        let Some(place) =
            own.waiting.iter().position(|(waiting, _)| *waiting == number)
        else {
            return;
        };
        own.waiting.remove(place);
        self.waiting -= 1;
        if own.waiting.is_empty() {
            self.turns.retain(|turn| turn.client != client);
        }
        self.held(client).waiting -= 1;
        self.forget(client);
    }

    /// Gives a slot back, and to the next who may have it.
    pub(super) fn end(&mut self, client: IpAddr) -> Option<(IpAddr, T)> {
        self.running -= 1;
        self.client(client).running -= 1;
        self.held(client).running -= 1;
        let next = self.next();
        self.forget(client);
        next
    }

    /// How many times a run of `client` has to end before another one starts
    /// that comes now, its slots working side by side.
    pub(super) fn own_rounds(&self, client: IpAddr) -> u32 {
        let held = self.subscribers.get(&subscriber(client));
        let waiting = held.map_or(0, |held| held.waiting);
        u32::try_from((waiting + 1).div_ceil(self.share())).unwrap_or(u32::MAX)
    }

    /// Tells whether a client can have a slot before one who comes now. Who
    /// has its share and waits for more gets only its own slots again, unless
    /// all slots are of such clients.
    pub(super) fn rivalry(&self) -> impl Fn(IpAddr) -> bool {
        let all_are_kept = self.kept() >= self.slots;
        move |client| all_are_kept || self.is_below_share(client)
    }

    /// How many runs start before another one of `client` that comes now, if
    /// nobody else comes: each of its own, and one of each rival in turn.
    pub(super) fn ahead(&self, client: IpAddr) -> usize {
        let own = self.clients.get(&client).map_or(0, |own| own.waiting.len());
        let is_rival = self.rivalry();
        let others = self.turns.iter().map(|turn| turn.client);
        let others = others.filter(|other| *other != client);
        let rivals = others.filter(|other| is_rival(*other)).count();
        self.waiting.min(rivals * (own + 1) + own)
    }

    /// Whether somebody waits who could have any slot.
    pub(super) fn is_wanted(&self) -> bool {
        self.turns.iter().any(|turn| self.is_below_share(turn.client))
    }

    /// Whether who waits does so because every slot is taken.
    pub(super) fn is_full(&self) -> bool {
        self.waiting > 0 && self.running == self.slots
    }

    /// Runs at once; at least one.
    pub(super) fn slots(&self) -> u32 {
        u32::try_from(self.slots).unwrap_or(u32::MAX)
    }

    /// Slots that one client holds at most.
    pub(super) fn share(&self) -> usize {
        self.slots.div_ceil(2)
    }

    /// Slots taken.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Places taken.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether nobody is remembered.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.clients.is_empty()
            && self.turns.is_empty()
            && self.subscribers.is_empty()
    }

    /// Starts the run whose turn it is, if any may start.
    fn next(&mut self) -> Option<(IpAddr, T)> {
        // Clients that hold their share keep their turn.
        let turn = self.turns.iter().position(|turn| {
            self.running < self.slots && self.is_below_share(turn.client)
        })?;
        let Turn { client, .. } = self.turns.remove(turn)?;
        let own = self.client(client);
        let (_, waker) = own.waiting.pop_front()?;
        own.running += 1;
        let more = !own.waiting.is_empty();
        if more {
            self.turns.push_back(Turn { client, is_promised: false });
        }
        self.waiting -= 1;
        self.running += 1;
        let held = self.held(client);
        held.waiting -= 1;
        held.running += 1;
        Some((client, waker))
    }

    /// Slots of clients that have their share, and wait for more.
    fn kept(&self) -> usize {
        let held = self.subscribers.values();
        let keep = held
            .filter(|held| held.waiting > 0 && held.running >= self.share());
        keep.map(|held| held.running).sum()
    }

    fn is_below_share(&self, client: IpAddr) -> bool {
        let held = self.subscribers.get(&subscriber(client));
        held.map_or(0, |held| held.running) < self.share()
    }

    fn client(&mut self, client: IpAddr) -> &mut Client<T> {
        let nobody = || Client { running: 0, waiting: VecDeque::new() };
        self.clients.entry(client).or_insert_with(nobody)
    }

    fn held(&mut self, client: IpAddr) -> &mut Held {
        self.subscribers.entry(subscriber(client)).or_default()
    }

    fn forget(&mut self, client: IpAddr) {
        let gone = |own: &Client<T>| own.running == 0 && own.waiting.is_empty();
        if self.clients.get(&client).is_some_and(gone) {
            self.clients.remove(&client);
        }
        let subscriber = subscriber(client);
        let gone = |held: &Held| held.running == 0 && held.waiting == 0;
        if self.subscribers.get(&subscriber).is_some_and(gone) {
            self.subscribers.remove(&subscriber);
        }
    }
}
