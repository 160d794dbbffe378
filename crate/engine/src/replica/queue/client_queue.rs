//! A waiting queue of many clients: a line for each of them, and who of them comes next. The gateway's proxy and the replicas
//! of a fleet wait in it.
//!
//! Under first come, last come, shortest and priority a client stands for its first request's key. Under virtual token
//! counters ([`super::vtc`]) and least counter it stands for its counter, under deficit round robin it has its turn
//! ([`super::round_robin`]); inside a client these serve first come, first served. A client that may not send just now, for a
//! quota of its own, is parked, and the others pass. Every change costs O(log clients + log requests),
//! but for a return under [`Lift::Max`].

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::accounts::{Accounts, Charging};
use super::order::{Order, dealt};
use super::tariff::Tariff;
use super::vtc::{Fair, Lift};
use super::{lifo, priority, shortest};

/// A request, or a client; that of the smaller number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Numbered {
    number: u32,
    id: u32,
}

type Keyed = super::keyed::Keyed<Numbered>;

impl Keyed {
    /// The same for the client.
    fn of(self, client: u32) -> Self {
        Self { id: Numbered { id: client, ..self.id }, ..self }
    }
}

/// What a client is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Standing {
    /// Nothing of it waits.
    Absent,
    /// It may be next.
    Ready,
    /// It may not send before this time; infinite: before one of its requests ends.
    Parked(f64),
}

#[derive(Debug, Clone)]
struct Line {
    waiting: BinaryHeap<Reverse<Keyed>>,
    /// How many of them have not gone away.
    stay: u32,
    /// How many are set aside.
    aside: u32,
    standing: Standing,
    /// Place among clients in the order of their first requests.
    seen: u32,
    /// Where counters are kept: key of the entry of the heap that stands for it, infinite if there is none; others are stale.
    key: f64,
}

#[derive(Debug)]
enum Kind {
    Keyed(Order),
    /// The least counter, with this lift.
    Least(Lift),
    Turns {
        quantum: f64,
    },
}

/// The queue.
#[derive(Debug)]
pub struct ClientQueue {
    kind: Kind,
    lines: Vec<Line>,
    accounts: Accounts,
    tariff: Tariff,
    ready: BinaryHeap<Reverse<Keyed>>,
    /// (time as bits, place among clients in the order of their first requests), and some that are parked no more.
    parked: BinaryHeap<Reverse<(u64, u32)>>,
    turns: VecDeque<u32>,
    /// Who was found at its turn, with a positive counter.
    served: Option<u32>,
    seen: Vec<u32>,
    number: u32,
    /// Clients of which something waits.
    present: u32,
    /// The client that last stopped waiting.
    last_departed: Option<u32>,
    /// Requests that are set aside, and their clients.
    aside: Vec<(u32, Keyed)>,
}

impl ClientQueue {
    /// An empty queue for so many clients. Orders that only a batcher can keep serve first come, first served here.
    pub fn new(order: &Order, clients: usize, pool_tokens: f64) -> Self {
        let (kind, tariff) = match order {
            Order::Fair(fair) => (Kind::Least(fair.lift), Tariff::of_fair(fair, clients)),
            Order::RoundRobin(rule) => {
                let quantum = rule.quantum.unwrap_or(pool_tokens / 20.0).max(1.0);
                (Kind::Turns { quantum }, Tariff::from(rule))
            }
            keyed => (Kind::Keyed(keyed.clone()), Tariff::of_fair(&Fair::default(), clients)),
        };
        let sign = if matches!(kind, Kind::Turns { .. }) { -1.0 } else { 1.0 };
        let charges = (0..clients as u32).map(|client| sign * tariff.token(client, 0.0, 1.0));
        let line = Line {
            waiting: BinaryHeap::new(),
            stay: 0,
            aside: 0,
            standing: Standing::Absent,
            seen: u32::MAX,
            key: f64::INFINITY,
        };
        Self {
            accounts: Accounts::new(charges, Charging::Slora),
            kind,
            lines: vec![line; clients],
            tariff,
            ready: BinaryHeap::new(),
            parked: BinaryHeap::new(),
            turns: VecDeque::new(),
            served: None,
            seen: Vec::new(),
            number: 0,
            present: 0,
            last_departed: None,
            aside: Vec::new(),
        }
    }

    /// Whether service is counted.
    pub fn keeps_counters(&self) -> bool {
        !matches!(self.kind, Kind::Keyed(_))
    }

    /// What tokens cost.
    pub fn tariff(&self) -> &Tariff {
        &self.tariff
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Every client that has asked, with its counter (a deficit counter for round robin), in the order of their first
    /// requests; nothing where the order keeps none.
    pub fn counters(&mut self) -> Vec<(u32, f64)> {
        let keeps = self.keeps_counters();
        let counter = |c: u32| (c, self.tariff.counter(self.accounts.value(c)));
        self.seen.iter().filter(|_| keeps).copied().map(counter).collect()
    }

    /// A request joins the queue; says whether its client was not waiting.
    pub fn push(&mut self, id: u32, client: u32, predicted_output: f64, at_us: f64) -> bool {
        let number = self.number;
        self.number += 1;
        let key = match &self.kind {
            Kind::Keyed(Order::Lifo) => lifo::key(number),
            Kind::Keyed(Order::Shortest) => shortest::key(predicted_output),
            Kind::Keyed(Order::Priority { classes, ageing_us }) => {
                priority::key(dealt(classes, client as usize, 0.0), *ageing_us, at_us)
            }
            _ => f64::from(number),
        };
        let is_new = self.lines[client as usize].standing == Standing::Absent;
        if is_new {
            self.lift(client);
            self.present += 1;
        }
        let line = &mut self.lines[client as usize];
        if line.seen == u32::MAX {
            line.seen = self.seen.len() as u32;
            self.seen.push(client);
        }
        let entry = Keyed { key, id: Numbered { number, id } };
        let leads = line.waiting.peek().is_none_or(|head| entry < head.0);
        line.waiting.push(Reverse(entry));
        line.stay += 1;
        if is_new {
            self.stand(client);
        } else if leads && line.standing == Standing::Ready && matches!(self.kind, Kind::Keyed(_)) {
            self.ready.push(Reverse(entry.of(client)));
        }
        is_new
    }

    /// A client of which nothing waited gets a counter that does not save up the time.
    fn lift(&mut self, client: u32) {
        let Kind::Least(lift) = self.kind else { return };
        let least = match lift {
            Lift::Never => None,
            Lift::Max => {
                let accounts = &mut self.accounts;
                self.seen.iter().map(|&other| accounts.value(other)).reduce(f64::max)
            }
            Lift::Waiting | Lift::Paper => {
                self.settle_ready();
                self.ready.peek().map(|head| head.0.key)
            }
        };
        let last = self.last_departed.filter(|_| lift == Lift::Paper && self.present == 0);
        if let Some(floor) = least.or(last.map(|last| self.accounts.value(last))) {
            self.accounts.raise(client, floor);
        }
    }

    /// A client's requests may be served.
    fn stand(&mut self, client: u32) {
        let line = &mut self.lines[client as usize];
        let Some(&Reverse(head)) = line.waiting.peek() else {
            if line.aside > 0 {
                line.standing = Standing::Parked(f64::INFINITY);
                return;
            }
            line.standing = Standing::Absent;
            self.present -= 1;
            self.last_departed = Some(client);
            if matches!(self.kind, Kind::Turns { .. }) {
                // What is saved up is lost with the turn.
                let saved = self.accounts.value(client).max(0.0);
                self.accounts.add(client, -saved);
            }
            return;
        };
        line.standing = Standing::Ready;
        match self.kind {
            Kind::Keyed(_) => self.ready.push(Reverse(head.of(client))),
            Kind::Least(_) => self.line_up(client),
            Kind::Turns { .. } => self.turns.push_back(client),
        }
    }

    /// Sees to it that a client that waits has an entry that is not ahead of its counter.
    fn line_up(&mut self, client: u32) {
        let key = self.accounts.value(client);
        let line = &mut self.lines[client as usize];
        if key < line.key {
            line.key = key;
            self.ready.push(Reverse(Keyed { key, id: Numbered { number: line.seen, id: client } }));
        }
    }

    /// Drops entries that stand for no client any more from the head of the heap.
    fn settle_ready(&mut self) {
        while let Some(&Reverse(top)) = self.ready.peek() {
            let line = &mut self.lines[top.id.id as usize];
            let is_ready = line.standing == Standing::Ready;
            if let Kind::Least(_) = self.kind {
                let counter = self.accounts.value(top.id.id);
                if top.key == line.key && is_ready && counter > top.key {
                    // Counters grow while their entries stand still.
                    line.key = counter;
                    if let Some(mut top) = self.ready.peek_mut() {
                        top.0.key = counter;
                    }
                    continue;
                }
                if top.key == line.key && is_ready {
                    return;
                }
                line.key = if top.key == line.key { f64::INFINITY } else { line.key };
            } else if is_ready
                && line
                    .waiting
                    .peek()
                    .is_some_and(|head| (head.0.key, head.0.id.number) == (top.key, top.id.number))
            {
                return;
            }
            self.ready.pop();
        }
    }

    /// Who comes next: the client, and its request.
    pub fn head(&mut self) -> Option<(u32, u32)> {
        let client = if let Kind::Turns { quantum } = self.kind {
            self.whose_turn(quantum)?
        } else {
            self.settle_ready();
            self.ready.peek()?.0.id.id
        };
        self.lines[client as usize].waiting.peek().map(|head| (client, head.0.id.id))
    }

    /// The first client whose deficit counter is, or becomes with its quantum, positive.
    fn whose_turn(&mut self, quantum: f64) -> Option<u32> {
        let mut passed = 0;
        loop {
            let &client = self.turns.front()?;
            // Who had to wait at its turn until the counter ran out has lost it, and gets its quantum at the next.
            if self.accounts.value(client) <= 0.0 && self.served != Some(client) {
                self.accounts.add(client, quantum);
            }
            if self.accounts.value(client) > 0.0 {
                self.served = Some(client);
                return Some(client);
            }
            self.served = None;
            self.turns.rotate_left(1);
            passed += 1;
            if passed >= self.turns.len() {
                // A whole round without service: all those that would follow pass at once.
                let accounts = &mut self.accounts;
                let debts = self.turns.iter().map(|&client| -accounts.value(client) / quantum);
                let rounds = debts.fold(f64::INFINITY, f64::min).floor().max(0.0);
                for &client in &self.turns {
                    self.accounts.add(client, rounds * quantum);
                }
                passed = 0;
            }
        }
    }

    /// The request at the head of `client`'s line leaves to be served; its client has been charged.
    pub fn pop(&mut self, client: u32) {
        let line = &mut self.lines[client as usize];
        line.stay = line.stay.saturating_sub(1);
        self.skip(client);
    }

    /// The request at the head of `client`'s line, which has gone away, is looked at no more.
    pub fn skip(&mut self, client: u32) {
        let line = &mut self.lines[client as usize];
        line.waiting.pop();
        if line.stay == 0 {
            line.waiting.clear();
        }
        if matches!(self.kind, Kind::Turns { .. }) {
            let stays = !line.waiting.is_empty() && self.accounts.value(client) > 0.0;
            if !stays {
                self.lose_turn(client);
                self.turns.pop_front();
                self.stand(client);
            }
            return;
        }
        self.stand(client);
    }

    /// The request at the head is passed over until [`Self::put_back`]. No client is charged for it, and its client's others are skipped
    /// in its place.
    pub fn set_aside(&mut self) {
        let Some((client, _)) = self.head() else { return };
        let line = &mut self.lines[client as usize];
        let Some(Reverse(entry)) = line.waiting.pop() else { return };
        line.aside += 1;
        self.aside.push((client, entry));
        match line.waiting.peek() {
            None => self.park(client, f64::INFINITY),
            Some(&Reverse(next)) => {
                if matches!(self.kind, Kind::Keyed(_)) {
                    self.ready.push(Reverse(next.of(client)));
                }
            }
        }
    }

    /// Requests that were set aside are back in their places, their clients first in turn.
    pub fn put_back(&mut self) {
        while let Some((client, entry)) = self.aside.pop() {
            let line = &mut self.lines[client as usize];
            line.aside -= 1;
            line.waiting.push(Reverse(entry));
            if self.is_parked(client) {
                self.stand(client);
                if matches!(self.kind, Kind::Turns { .. }) {
                    self.turns.rotate_right(1);
                }
            } else if matches!(self.kind, Kind::Keyed(_)) {
                self.ready.push(Reverse(entry.of(client)));
            }
        }
        // No more entries that stand for no client any more are kept than others.
        if matches!(self.kind, Kind::Keyed(_)) && self.ready.len() > 2 * self.present as usize + 64 {
            let lines = &self.lines;
            let mut ready = std::mem::take(&mut self.ready).into_vec();
            ready.retain(|Reverse(of)| {
                let line = &lines[of.id.id as usize];
                let head = line.waiting.peek().filter(|_| line.standing == Standing::Ready);
                head.is_some_and(|head| (head.0.key, head.0.id.number) == (of.key, of.id.number))
            });
            ready.sort_unstable();
            ready.dedup();
            self.ready = ready.into();
        }
    }

    fn lose_turn(&mut self, client: u32) {
        self.served = self.served.filter(|&served| served != client);
    }

    /// A waiting request of `client` goes away. It comes up all the same, for [`Self::skip`], if others of its client wait.
    pub fn forget(&mut self, client: u32) {
        let line = &mut self.lines[client as usize];
        line.stay = line.stay.saturating_sub(1);
        if line.stay == 0 && line.standing != Standing::Absent {
            line.waiting.clear();
            if matches!(self.kind, Kind::Turns { .. }) {
                self.lose_turn(client);
                self.turns.retain(|&other| other != client);
            }
            self.stand(client);
        }
    }

    /// Moves a client's counter by what it was served, or for negative amounts was charged too much.
    pub fn charge(&mut self, client: u32, amount: f64) {
        match self.kind {
            Kind::Keyed(_) => {}
            Kind::Turns { .. } => self.accounts.add(client, -amount),
            Kind::Least(_) => {
                self.accounts.add(client, amount);
                if amount < 0.0 && self.lines[client as usize].standing == Standing::Ready {
                    self.line_up(client);
                }
            }
        }
    }

    /// The accounts, for requests whose every output token is charged alike.
    pub fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    /// For how many further tokens of each of its requests the client at the head stays there, if no other client's counter
    /// falls and nobody comes or leaves. A token of each of the requests costs it at most `rate`; a lower bound, at least 1.
    pub fn steady(&mut self, rate: impl FnOnce(u32, &Accounts) -> f64) -> u32 {
        let room = match self.kind {
            Kind::Keyed(_) => return u32::MAX,
            Kind::Turns { .. } => self.turns.front().map(|&client| (client, self.accounts.value(client))),
            Kind::Least(_) => {
                self.settle_ready();
                let first = self.ready.pop();
                self.settle_ready();
                let next = self.ready.peek().map_or(f64::INFINITY, |next| next.0.key);
                self.ready.extend(first);
                first.map(|first| (first.0.id.id, next - first.0.key))
            }
        };
        let Some((client, room)) = room else { return u32::MAX };
        let rate = rate(client, &self.accounts);
        if rate == 0.0 || room == f64::INFINITY {
            return u32::MAX;
        }
        // Rounding is left a step.
        (room / rate * (1.0 - 1e-9) - 1.0).max(1.0) as u32
    }

    /// The client of the head may not send before `until_us`.
    pub fn park(&mut self, client: u32, until_us: f64) {
        self.lines[client as usize].standing = Standing::Parked(until_us);
        if matches!(self.kind, Kind::Turns { .. }) {
            self.lose_turn(client);
            self.turns.pop_front();
        }
        if until_us < f64::INFINITY {
            let seen = self.lines[client as usize].seen;
            self.parked.push(Reverse((until_us.to_bits(), seen)));
        }
    }

    /// Whether a client that waits is parked.
    pub fn is_parked(&self, client: u32) -> bool {
        matches!(self.lines[client as usize].standing, Standing::Parked(_))
    }

    /// A client may try again.
    pub fn unpark(&mut self, client: u32) {
        if self.is_parked(client) {
            self.stand(client);
        }
    }

    /// Every client may try again; `each` is told of those that were parked.
    pub fn unpark_all(&mut self, mut each: impl FnMut(u32)) {
        for place in 0..self.seen.len() {
            let client = self.seen[place];
            if self.is_parked(client) {
                self.stand(client);
                each(client);
            }
        }
    }

    /// Clients may try again whose time has come; `each` is told of them.
    pub fn unpark_until(&mut self, now_us: f64, mut each: impl FnMut(u32)) {
        while let Some(until_us) = self.next_unpark_us().filter(|&at| at <= now_us) {
            let Some(Reverse((_, seen))) = self.parked.pop() else { return };
            let client = self.seen[seen as usize];
            if self.lines[client as usize].standing == Standing::Parked(until_us) {
                self.stand(client);
                each(client);
            }
        }
    }

    /// When a client may try again next.
    pub fn next_unpark_us(&mut self) -> Option<f64> {
        while let Some(&Reverse((bits, seen))) = self.parked.peek() {
            let (until_us, client) = (f64::from_bits(bits), self.seen[seen as usize]);
            if self.lines[client as usize].standing == Standing::Parked(until_us) {
                return Some(until_us);
            }
            self.parked.pop();
        }
        None
    }
}
