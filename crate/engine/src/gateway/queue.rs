//! The proxy's waiting queue: a line for each client, and who of the clients comes next.
//!
//! Under first come, last come, shortest and priority a client stands for its first request's key. Under virtual token
//! counters ([`crate::scheduler::vtc`]) and least counter it stands for its counter, under deficit round robin it has its
//! turn ([`crate::scheduler::round_robin`]); inside a client these serve first come, first served. A client that may not send
//! just now, for a quota of its own, is parked, and the others pass. Every change costs O(log clients + log requests).

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use crate::scheduler::order::{Order, dealt};
use crate::scheduler::vtc::{Fair, Lift, weight};
use crate::scheduler::{lifo, priority, shortest};

/// A request, or a client, with its key: the smallest first, equal ones in the order of `number`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Keyed {
    key: f64,
    number: u32,
    id: u32,
}

impl Eq for Keyed {}

impl Ord for Keyed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
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
    standing: Standing,
    counter: f64,
    /// What an input token and an output token add to the counter.
    prices: [f64; 2],
    /// Place among clients in the order of their first requests.
    seen: u32,
}

#[derive(Debug)]
enum Kind {
    Keyed(Order),
    Least(Box<Fair>),
    Turns { quantum: f64 },
}

/// The queue.
#[derive(Debug)]
pub struct Queue {
    kind: Kind,
    lines: Vec<Line>,
    ready: BinaryHeap<Reverse<Keyed>>,
    /// (time as bits, place among clients in the order of their first requests), and some that are parked no more.
    parked: BinaryHeap<Reverse<(u64, u32)>>,
    turns: VecDeque<u32>,
    seen: Vec<u32>,
    number: u32,
    /// Clients of which something waits.
    present: u32,
    /// Counter of the client that last stopped waiting, and the largest of all.
    last_counter: f64,
    largest_counter: f64,
}

impl Queue {
    /// An empty queue for so many clients. Orders that only a batcher can keep serve first come, first served here.
    pub fn new(order: &Order, clients: usize, pool_tokens: f64) -> Self {
        let (kind, weights, prices) = match order {
            Order::Fair(fair) => (
                Kind::Least(Box::new(fair.clone())),
                fair.weights.clone(),
                [fair.input_price, fair.output_price],
            ),
            Order::RoundRobin(rule) => {
                let quantum = rule.quantum.unwrap_or(pool_tokens / 20.0).max(1.0);
                (Kind::Turns { quantum }, rule.weights.clone(), [rule.input_price, rule.output_price])
            }
            keyed => (Kind::Keyed(keyed.clone()), Vec::new(), [1.0, 2.0]),
        };
        let line = |client: usize| Line {
            waiting: BinaryHeap::new(),
            standing: Standing::Absent,
            counter: 0.0,
            prices: prices.map(|price| price / weight(&weights, client)),
            seen: u32::MAX,
        };
        Self {
            kind,
            lines: (0..clients).map(line).collect(),
            ready: BinaryHeap::new(),
            parked: BinaryHeap::new(),
            turns: VecDeque::new(),
            seen: Vec::new(),
            number: 0,
            present: 0,
            last_counter: 0.0,
            largest_counter: 0.0,
        }
    }

    /// Whether output is charged as predicted when a request is let through.
    pub fn charges_ahead(&self) -> bool {
        use crate::scheduler::vtc::Prediction;
        matches!(&self.kind, Kind::Least(fair) if fair.prediction != Prediction::None)
    }

    /// Whether service is counted.
    pub fn keeps_counters(&self) -> bool {
        !matches!(self.kind, Kind::Keyed(_))
    }

    /// Every client that has asked, with its counter (a deficit counter for round robin), in the order of their first
    /// requests; nothing where the order keeps none.
    pub fn counters(&self) -> Vec<(u32, f64)> {
        self.seen
            .iter()
            .filter(|_| self.keeps_counters())
            .map(|&c| (c, self.lines[c as usize].counter))
            .collect()
    }

    /// A request joins the queue.
    pub fn push(&mut self, id: u32, client: u32, predicted_output: u32, at_us: f64) {
        let number = self.number;
        self.number += 1;
        let key = match &self.kind {
            Kind::Keyed(Order::Lifo) => lifo::key(number),
            Kind::Keyed(Order::Shortest) => shortest::key(f64::from(predicted_output)),
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
        let entry = Keyed { key, number, id };
        let leads = line.waiting.peek().is_none_or(|head| entry < head.0);
        line.waiting.push(Reverse(entry));
        if is_new {
            self.stand(client);
        } else if leads && line.standing == Standing::Ready && matches!(self.kind, Kind::Keyed(_)) {
            self.ready.push(Reverse(Keyed { id: client, ..entry }));
        }
    }

    /// A client of which nothing waited gets a counter that does not save up the time.
    fn lift(&mut self, client: u32) {
        let Kind::Least(fair) = &self.kind else { return };
        let lift = fair.lift;
        let least = match lift {
            Lift::Never => None,
            Lift::Max => Some(self.largest_counter),
            Lift::Waiting | Lift::Paper => {
                self.settle_ready();
                self.ready.peek().map(|head| head.0.key)
            }
        };
        let floor = least.or((lift == Lift::Paper && self.present == 0).then_some(self.last_counter));
        let line = &mut self.lines[client as usize];
        line.counter = floor.map_or(line.counter, |floor| line.counter.max(floor));
    }

    /// A client's requests may be served.
    fn stand(&mut self, client: u32) {
        let line = &mut self.lines[client as usize];
        let Some(&Reverse(head)) = line.waiting.peek() else {
            line.standing = Standing::Absent;
            self.present -= 1;
            self.last_counter = line.counter;
            if matches!(self.kind, Kind::Turns { .. }) {
                // What is saved up is lost with the turn.
                line.counter = line.counter.min(0.0);
            }
            return;
        };
        line.standing = Standing::Ready;
        match self.kind {
            Kind::Keyed(_) => self.ready.push(Reverse(Keyed { id: client, ..head })),
            Kind::Least(_) => {
                self.ready.push(Reverse(Keyed { key: line.counter, number: line.seen, id: client }));
            }
            Kind::Turns { .. } => self.turns.push_back(client),
        }
    }

    /// Drops entries that stand for no client any more from the head of the heap.
    fn settle_ready(&mut self) {
        while let Some(&Reverse(top)) = self.ready.peek() {
            let line = &self.lines[top.id as usize];
            let is_ready = line.standing == Standing::Ready;
            let key = match self.kind {
                Kind::Least(_) => Some((line.counter, line.seen)),
                _ => line.waiting.peek().map(|head| (head.0.key, head.0.number)),
            };
            if is_ready && key == Some((top.key, top.number)) {
                return;
            }
            self.ready.pop();
            // Counters grow while their entries stand still.
            if let (true, Kind::Least(_)) = (is_ready && line.counter > top.key, &self.kind) {
                self.ready.push(Reverse(Keyed { key: line.counter, ..top }));
            }
        }
    }

    /// Who comes next: the client, and its request.
    pub fn head(&mut self) -> Option<(u32, u32)> {
        let client = if let Kind::Turns { quantum } = self.kind {
            self.whose_turn(quantum)?
        } else {
            self.settle_ready();
            self.ready.peek()?.0.id
        };
        self.lines[client as usize].waiting.peek().map(|head| (client, head.0.id))
    }

    /// The first client whose deficit counter is, or becomes with its quantum, positive.
    fn whose_turn(&mut self, quantum: f64) -> Option<u32> {
        let mut passed = 0;
        loop {
            let &client = self.turns.front()?;
            let line = &mut self.lines[client as usize];
            if line.standing != Standing::Ready {
                self.turns.pop_front();
                continue;
            }
            if line.counter > 0.0 {
                return Some(client);
            }
            line.counter += quantum;
            if line.counter > 0.0 {
                return Some(client);
            }
            self.turns.rotate_left(1);
            passed += 1;
            if passed >= self.turns.len() {
                // A whole round without service: all those that would follow pass at once.
                let debt = |&c: &u32| -self.lines[c as usize].counter / quantum;
                let rounds = self.turns.iter().map(debt).fold(f64::INFINITY, f64::min).floor().max(0.0);
                for &client in &self.turns {
                    self.lines[client as usize].counter += rounds * quantum;
                }
                passed = 0;
            }
        }
    }

    /// The head leaves, to be served or because it has gone; `cost` is charged to its client.
    pub fn pop(&mut self, client: u32, input: u32, output: u32) {
        self.charge(client, f64::from(input), f64::from(output));
        let line = &mut self.lines[client as usize];
        line.waiting.pop();
        if matches!(self.kind, Kind::Turns { .. }) {
            let stays = !line.waiting.is_empty() && line.counter > 0.0;
            if !stays {
                self.turns.pop_front();
                self.stand(client);
            }
            return;
        }
        self.stand(client);
    }

    /// A client was served, or for negative numbers was charged too much.
    pub fn charge(&mut self, client: u32, input: f64, output: f64) {
        let line = &mut self.lines[client as usize];
        let cost = input * line.prices[0] + output * line.prices[1];
        match self.kind {
            Kind::Keyed(_) => {}
            Kind::Turns { .. } => line.counter -= cost,
            Kind::Least(_) => {
                line.counter += cost;
                self.largest_counter = self.largest_counter.max(line.counter);
                if cost < 0.0 && line.standing == Standing::Ready {
                    self.ready.push(Reverse(Keyed { key: line.counter, number: line.seen, id: client }));
                }
            }
        }
    }

    /// The client of the head may not send before `until_us`.
    pub fn park(&mut self, client: u32, until_us: f64) {
        self.lines[client as usize].standing = Standing::Parked(until_us);
        if matches!(self.kind, Kind::Turns { .. }) {
            self.turns.pop_front();
        }
        if until_us < f64::INFINITY {
            let seen = self.lines[client as usize].seen;
            self.parked.push(Reverse((until_us.to_bits(), seen)));
        }
    }

    /// A client may try again.
    pub fn unpark(&mut self, client: u32) {
        if matches!(self.lines[client as usize].standing, Standing::Parked(_)) {
            self.stand(client);
        }
    }

    /// Everybody may try again.
    pub fn unpark_all(&mut self) {
        for place in 0..self.seen.len() {
            self.unpark(self.seen[place]);
        }
    }

    /// Clients may try again whose time has come.
    pub fn unpark_until(&mut self, now_us: f64) {
        while let Some(until_us) = self.next_unpark_us().filter(|&at| at <= now_us) {
            let Some(Reverse((_, seen))) = self.parked.pop() else { return };
            let client = self.seen[seen as usize];
            if self.lines[client as usize].standing == Standing::Parked(until_us) {
                self.stand(client);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::round_robin::RoundRobin;
    use proptest::prelude::*;

    fn orders() -> impl Strategy<Value = Order> {
        prop_oneof![
            Just(Order::Fcfs),
            Just(Order::Lifo),
            Just(Order::Shortest),
            (prop::collection::vec(0.0..3.0f64, 1..3), 0.0..1e7f64)
                .prop_map(|(classes, ageing_us)| Order::Priority { classes, ageing_us }),
            Just(Order::Fair(Fair::default())),
            Just(Order::Fair(Fair { lift: Lift::Paper, weights: vec![1.0, 3.0], ..Fair::default() })),
            Just(Order::Fair(Fair { lift: Lift::Never, ..Fair::default() })),
            (1.0..500.0f64).prop_map(|quantum| {
                Order::RoundRobin(RoundRobin { quantum: Some(quantum), ..RoundRobin::default() })
            }),
        ]
    }

    proptest! {
        /// Everybody who is not parked comes up once, whoever parks and whatever is charged in between.
        #[test]
        fn everybody_is_served_once(
            order in orders(),
            moves in prop::collection::vec((0u8..6, 0u32..5, 1u32..300), 1..200),
        ) {
            let mut queue = Queue::new(&order, 5, 1_000.0);
            let (mut clients, mut served, mut now) = (Vec::new(), Vec::new(), 0.0);
            for (kind, client, size) in moves {
                now += 1.0;
                match kind {
                    0..=2 => {
                        queue.push(clients.len() as u32, client, size, now);
                        clients.push(client);
                    }
                    3 => if let Some((client, id)) = queue.head() {
                        prop_assert_eq!(clients[id as usize], client);
                        queue.pop(client, size, 0);
                        served.push(id);
                    },
                    4 => if let Some((client, _)) = queue.head() {
                        queue.park(client, if size % 2 == 0 { now + f64::from(size) } else { f64::INFINITY });
                    },
                    _ => {
                        queue.charge(client, 0.0, f64::from(size));
                        queue.unpark(client);
                        queue.unpark_until(now);
                    }
                }
            }
            queue.unpark_all();
            while let Some((client, id)) = queue.head() {
                queue.pop(client, 1, 0);
                served.push(id);
            }
            served.sort_unstable();
            prop_assert!(served.iter().copied().eq(0..clients.len() as u32));
        }

        /// The keys of whoever comes next are in order, and ties in order of arrival.
        #[test]
        fn keyed_orders_are_sorted(sizes in prop::collection::vec((0u32..4, 1u32..20), 1..60)) {
            let mut queue = Queue::new(&Order::Shortest, 4, 1_000.0);
            for (id, &(client, size)) in sizes.iter().enumerate() {
                queue.push(id as u32, client, size, id as f64);
            }
            let mut expected: Vec<u32> = (0..sizes.len() as u32).collect();
            expected.sort_by_key(|&id| sizes[id as usize].1);
            let served: Vec<u32> = std::iter::from_fn(|| {
                let (client, id) = queue.head()?;
                queue.pop(client, 1, 0);
                Some(id)
            })
            .collect();
            prop_assert_eq!(served, expected);
        }
    }

    #[test]
    fn counters_share_the_service_by_weight() {
        for order in [
            Order::Fair(Fair { weights: vec![1.0, 2.0], ..Fair::default() }),
            Order::RoundRobin(RoundRobin {
                weights: vec![1.0, 2.0],
                quantum: Some(50.0),
                ..RoundRobin::default()
            }),
        ] {
            let mut queue = Queue::new(&order, 2, 1_000.0);
            (0..2_000).for_each(|id| queue.push(id, id % 2, 10, 0.0));
            let mut served = [0u32; 2];
            for _ in 0..900 {
                let Some((client, _)) = queue.head() else { break };
                queue.pop(client, 100, 0);
                served[client as usize] += 1;
            }
            assert!(served[0].abs_diff(300) <= 2, "{order:?}: {served:?}");
        }
    }

    #[test]
    fn a_newcomer_is_lifted_to_those_who_wait() {
        let mut queue = Queue::new(&Order::Fair(Fair::default()), 2, 1_000.0);
        (0..50).for_each(|id| queue.push(id, 0, 10, 0.0));
        for _ in 0..40 {
            queue.head();
            queue.pop(0, 100, 0);
        }
        queue.push(50, 1, 10, 1.0);
        assert_eq!(queue.counters(), [(0, 4_000.0), (1, 4_000.0)]);
    }
}
