//! KV memory reserved for each client over a run, as integrals over cells of equal length.
//!
//! The cells are as short as the arrivals allow; when there are too many, two become one each and the next ones are twice as
//! long. So a run of any length has a few hundred cells. Each is the exact integral of what was reserved in its time: a request adds
//! its part when it ends, and every request with a reservation does when the cell ends. Users and adapters are kept side by side. What leaked stays with the client for whose request it was reserved.

use crate::client::ClientId;
use std::ops::Range;

use servescope_workload::{RequestId, Trace};

use super::reservations::KvReservations;
use crate::client::Client;

/// Length of the first cells, microseconds.
const FIRST_CELL_US: f64 = 15_625.0;
/// Most cells, and most numbers in all of them together.
const MOST_CELLS: usize = 1_024;
const MOST_PARTS: usize = 1 << 19;
/// Cells that are kept however many clients there are.
const FEWEST_CELLS: usize = 8;

/// What was reserved for whom and when.
#[derive(Debug, Clone, PartialEq)]
pub struct ReservationTimeline {
    cell_us: f64,
    /// Up to when it is recorded, microseconds.
    until_us: f64,
    /// Users, and behind them adapters with the base model as the last.
    users: usize,
    parties: usize,
    /// Where the parts of each cell end.
    ends: Vec<usize>,
    party: Vec<u32>,
    token_us: Vec<f64>,
    /// What each of them has reserved from `until_us` on, tokens.
    left: Vec<f64>,
    /// All that was reserved up to `until_us`, as the proxy itself counts it, token microseconds.
    total_token_us: f64,
}

/// What was reserved for one client in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Which user or adapter; the base model is the one behind the last adapter.
    pub client: ClientId,
    /// Start and end of the stretch, microseconds.
    pub from_us: f64,
    /// Its end.
    pub to_us: f64,
    /// Token microseconds.
    pub token_us: f64,
}

impl ReservationTimeline {
    fn parties(&self, client: Client) -> Range<usize> {
        match client {
            Client::User => 0..self.users,
            Client::Adapter => self.users..self.parties,
        }
    }

    /// How many clients of that kind there are, as [`Client::count`] says of the trace that the proxy was given.
    pub fn clients(&self, client: Client) -> usize {
        self.parties(client).len()
    }

    /// All that was reserved up to a time that is not before the last event, as the proxy itself counts it for all clients,
    /// token microseconds.
    pub fn total_token_us(&self, end_us: f64) -> f64 {
        self.total_token_us + self.left[..self.users].iter().sum::<f64>() * (end_us - self.until_us)
    }

    /// Every part of a run that ends at `end_us`, in order of time. From the last event on nothing changes.
    pub fn parts(&self, client: Client, end_us: f64) -> impl Iterator<Item = Part> {
        let range = self.parties(client);
        let timeline = self.ends.iter().enumerate().flat_map(move |(cell, &end)| {
            let from_us = cell as f64 * self.cell_us;
            let until_us = (from_us + self.cell_us).min(self.until_us);
            let to_us = until_us.min(end_us);
            let begin = if cell == 0 { 0 } else { self.ends[cell - 1] };
            // A cell may reach beyond the end, where only what leaked is left.
            let places = if to_us > from_us { begin..end } else { 0..0 };
            places.map(move |place| {
                let beyond = self.left[self.party[place] as usize] * (until_us - to_us);
                let token_us = (self.token_us[place] - beyond).max(0.0);
                (self.party[place] as usize, from_us, to_us, token_us)
            })
        });
        let lasted = (end_us - self.until_us).max(0.0);
        let stays = self.left.iter().enumerate().filter(move |(_, left)| **left * lasted > 0.0);
        let stays = stays.map(move |(party, left)| (party, self.until_us, end_us, left * lasted));
        timeline.chain(stays).filter(move |part| range.contains(&part.0)).map(
            move |(party, from_us, to_us, token_us)| {
                let client = ClientId::new((party - self.parties(client).start) as u32);
                Part { client, from_us, to_us, token_us }
            },
        )
    }
}

/// What leaked of one client, and the changes of it, each times when it came, since the cell began.
#[derive(Debug, Clone, Copy, Default)]
struct Leak {
    tokens: f64,
    moment: f64,
}

/// Writes it down.
#[derive(Debug, Clone)]
pub(super) struct Recorder {
    timeline: ReservationTimeline,
    /// Start of the cell that is now, and its end.
    begin_us: f64,
    edge_us: f64,
    /// Its token microseconds, and which client has any.
    now: Vec<f64>,
    touched: Vec<u32>,
    /// Empty where nothing has leaked, and whose it is.
    leaks: Vec<Leak>,
    leaky: Vec<u32>,
}

impl Recorder {
    /// For a run that lasts at least so long, as far as is known, microseconds.
    pub(super) fn new(trace: &Trace, lasts_us: f64) -> Self {
        let users = Client::User.count(trace);
        let parties = users + Client::Adapter.count(trace);
        let mut cell_us = FIRST_CELL_US;
        while cell_us * MOST_CELLS as f64 <= lasts_us {
            cell_us *= 2.0;
        }
        Self {
            timeline: ReservationTimeline {
                cell_us,
                until_us: 0.0,
                users,
                parties,
                ends: Vec::new(),
                party: Vec::new(),
                token_us: Vec::new(),
                left: vec![0.0; parties],
                total_token_us: 0.0,
            },
            begin_us: 0.0,
            edge_us: cell_us,
            now: vec![0.0; parties],
            touched: Vec::new(),
            leaks: Vec::new(),
            leaky: Vec::new(),
        }
    }

    /// The user and the adapter of a request.
    fn parties_of(&self, trace: &Trace, id: RequestId) -> [u32; 2] {
        let (users, adapters) = (self.timeline.users, self.timeline.parties - self.timeline.users);
        [
            Client::User.of(trace, id, users).get(),
            users as u32 + Client::Adapter.of(trace, id, adapters).get(),
        ]
    }

    /// What was reserved for a request since the cell began or it came.
    pub(super) fn add(&mut self, trace: &Trace, id: RequestId, token_us: f64) {
        for party in self.parties_of(trace, id) {
            self.add_to(party, token_us);
        }
    }

    fn add_to(&mut self, party: u32, token_us: f64) {
        if token_us > 0.0 {
            let now = &mut self.now[party as usize];
            if *now == 0.0 {
                self.touched.push(party);
            }
            *now += token_us;
        }
    }

    /// What was left for a request at its end stays reserved.
    pub(super) fn leak(&mut self, trace: &Trace, id: RequestId, left: u32, at_us: f64) {
        if left == 0 {
            return;
        }
        if self.leaks.is_empty() {
            self.leaks = vec![Leak::default(); self.timeline.parties];
        }
        let (left, since_us) = (f64::from(left), at_us - self.begin_us);
        for party in self.parties_of(trace, id) {
            let leak = &mut self.leaks[party as usize];
            if leak.tokens == 0.0 {
                self.leaky.push(party);
            }
            leak.tokens += left;
            leak.moment += left * since_us;
        }
    }

    /// It is `at_us` now and nothing has happened at that time; says when the cell ends.
    pub(super) fn advance_to<T>(
        &mut self,
        trace: &Trace,
        at_us: f64,
        reservations: &mut KvReservations<T>,
    ) -> f64 {
        while at_us >= self.edge_us {
            self.close(trace, self.edge_us, reservations);
            self.thin_out();
            self.begin_us = self.timeline.ends.len() as f64 * self.timeline.cell_us;
            self.edge_us = self.begin_us + self.timeline.cell_us;
        }
        self.edge_us
    }

    /// The cell ends.
    fn close<T>(&mut self, trace: &Trace, at_us: f64, reservations: &mut KvReservations<T>) {
        reservations.cut(at_us, |entry, token_us| self.add(trace, entry.id, token_us));
        let since_us = at_us - self.begin_us;
        for place in 0..self.leaky.len() {
            let party = self.leaky[place];
            let leak = &mut self.leaks[party as usize];
            let token_us = (leak.tokens * since_us - leak.moment).max(0.0);
            leak.moment = 0.0;
            self.add_to(party, token_us);
        }
        self.write();
    }

    /// Writes down the cell's numbers.
    fn write(&mut self) {
        let timeline = &mut self.timeline;
        for &party in &self.touched {
            timeline.party.push(party);
            timeline.token_us.push(std::mem::take(&mut self.now[party as usize]));
        }
        self.touched.clear();
        timeline.ends.push(timeline.party.len());
    }

    /// Makes one cell of two where there are too many.
    fn thin_out(&mut self) {
        let cells = self.timeline.ends.len();
        let is_much =
            cells >= MOST_CELLS || (cells >= FEWEST_CELLS && self.timeline.party.len() > MOST_PARTS);
        if !is_much || !cells.is_multiple_of(2) {
            return;
        }
        // The numbers of two cells are at most as many as one cell's of both: they are written over what is read.
        let (mut from, mut kept) = (0, 0);
        for cell in 0..cells / 2 {
            let end = self.timeline.ends[2 * cell + 1];
            for place in from..end {
                self.add_to(self.timeline.party[place], self.timeline.token_us[place]);
            }
            from = end;
            for party in self.touched.drain(..) {
                self.timeline.party[kept] = party;
                self.timeline.token_us[kept] = std::mem::take(&mut self.now[party as usize]);
                kept += 1;
            }
            self.timeline.ends[cell] = kept;
        }
        self.timeline.ends.truncate(cells / 2);
        self.timeline.party.truncate(kept);
        self.timeline.token_us.truncate(kept);
        self.timeline.cell_us *= 2.0;
    }

    /// All that was recorded up to now.
    pub(super) fn finish<T>(
        mut self,
        trace: &Trace,
        until_us: f64,
        reservations: &mut KvReservations<T>,
    ) -> ReservationTimeline {
        self.timeline.total_token_us = reservations.total_token_us(until_us);
        self.timeline.until_us = until_us;
        self.close(trace, until_us, reservations);
        for entry in reservations.open() {
            for party in self.parties_of(trace, entry.id) {
                self.timeline.left[party as usize] += f64::from(entry.left);
            }
        }
        for &party in &self.leaky {
            self.timeline.left[party as usize] += self.leaks[party as usize].tokens;
        }
        self.timeline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use servescope_workload::BASE_MODEL;
    use servescope_workload::trace::Request;

    const REQUESTS: u32 = 24;

    fn trace() -> Trace {
        let mut trace = Trace::default();
        for id in 0..REQUESTS {
            let adapter = if id % 5 == 0 { BASE_MODEL } else { id % 4 };
            trace.push(Request {
                arrival_us: 0.0,
                user: id % 3,
                adapter,
                input_tokens: 1,
                output_tokens: 1,
                max_tokens: 1,
            });
        }
        trace
    }

    /// A stretch of time in which nothing changes: its ends, all clients' tokens by the structure's own count, and each
    /// client's by another.
    type Still = (f64, f64, u64, Vec<u64>);

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Admit(RequestId, u32),
        QueueScan(u32),
        End(RequestId),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => (0..REQUESTS, 0u32..500).prop_map(|(id, predicted)| Step::Admit(RequestId::new(id), predicted)),
            2 => (0u32..600).prop_map(Step::QueueScan),
            1 => (0..REQUESTS).prop_map(|id| Step::End(RequestId::new(id))),
        ]
    }

    fn overlap(still: &Still, from_us: f64, to_us: f64) -> f64 {
        (still.1.min(to_us) - still.0.max(from_us)).max(0.0)
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 + 1e-9 * a.abs().max(b.abs())
    }

    proptest! {
        #![proptest_config(servescope_testkit::cases(50, 200))]

        /// In every cell, and so in every stretch of cells, clients have what was reserved, all of it and each its own.
        #[test]
        fn clients_add_up_to_what_is_reserved_in_every_cell(
            steps in prop::collection::vec((prop_oneof![Just(0.0), 1.0..9e4f64, 1e5..9e6f64], any_step()), 1..300),
            leaks in any::<bool>(),
            lasts_us in prop_oneof![Just(0.0), 1e6..1e9f64],
            goes_on_us in prop_oneof![-1e6..0.0f64, 0.0..1e7f64],
        ) {
            let trace = trace();
            let mut reservations = KvReservations::new(REQUESTS as usize, leaks);
            let mut recorder = Recorder::new(&trace, lasts_us);
            let parties = recorder.timeline.parties;
            // Of each request what is reserved, and what leaked in its name before.
            let (mut held, mut leaked) = (vec![None; REQUESTS as usize], vec![0u64; REQUESTS as usize]);
            let (mut now_us, mut stills): (f64, Vec<Still>) = (0.0, Vec::new());
            let still = |from: f64, to: f64, all: u64, held: &[Option<(u32, u32)>], leaked: &[u64], recorder: &Recorder| {
                let mut own = vec![0u64; parties];
                for id in RequestId::first(REQUESTS as usize) {
                    let left = held[id].map_or(0, |(_, left)| u64::from(left)) + leaked[id];
                    recorder.parties_of(&trace, id).into_iter().for_each(|party| own[party as usize] += left);
                }
                (from, to, all, own)
            };
            for (after_us, step) in steps {
                let then_us = now_us;
                now_us += after_us;
                stills.push(still(then_us, now_us, reservations.reserved(), &held, &leaked, &recorder));
                recorder.advance_to(&trace, now_us, &mut reservations);
                match step {
                    Step::Admit(id, predicted) if held[id].is_none() => {
                        reservations.admit(id, predicted, (), now_us);
                        held[id] = Some((predicted, predicted));
                    }
                    Step::Admit(..) => {}
                    Step::QueueScan(tokens) => {
                        RequestId::first(REQUESTS as usize).for_each(|id| reservations.watch(id));
                        let held_of = |id: &RequestId| Some(tokens / (1 + id.get() % 3));
                        let seen: Vec<_> = reservations.watched().iter().map(held_of).collect();
                        reservations.look(now_us, &seen, |_, (), _| {});
                        for (id, held) in (0..REQUESTS).zip(&mut held) {
                            *held = held.map(|(all, _): (u32, u32)| (all, all.saturating_sub(tokens / (1 + id % 3))));
                        }
                    }
                    Step::End(id) => {
                        if let Some(ended) = reservations.release(id, now_us) {
                            recorder.add(&trace, id, ended.token_us);
                            let left = held[id].take().map(|(_, left)| left);
                            prop_assert_eq!(Some(ended.left), left);
                            if leaks {
                                recorder.leak(&trace, id, ended.left, now_us);
                                leaked[id] += u64::from(ended.left);
                            }
                        }
                    }
                }
            }
            let all = reservations.reserved();
            let end_us = if goes_on_us < 0.0 && reservations.open().is_empty() {
                // The run has ended before the last event, at which nothing happened.
                recorder.advance_to(&trace, now_us - goes_on_us, &mut reservations);
                let end_us = now_us;
                now_us -= goes_on_us;
                stills.push(still(end_us, now_us, all, &held, &leaked, &recorder));
                end_us
            } else {
                now_us + goes_on_us.abs()
            };
            if end_us > now_us {
                stills.push(still(now_us, end_us, all, &held, &leaked, &recorder));
            }
            let reserved = recorder.finish(&trace, now_us, &mut reservations);
            prop_assert!(reserved.ends.len() <= MOST_CELLS);
            let cells = reserved.ends.len();
            let timeline = stills.iter().map(|s| s.2 as f64 * overlap(s, 0.0, end_us)).sum::<f64>();
            prop_assert!(end_us < now_us || near(reserved.total_token_us(end_us), timeline));
            for client in [Client::User, Client::Adapter] {
                prop_assert_eq!(reserved.clients(client), client.count(&trace));
                let range = reserved.parties(client);
                let mut sums = vec![vec![0.0; range.len()]; cells + 1];
                let cell_of = |part: &Part| {
                    if part.from_us >= reserved.until_us { cells } else { (part.from_us / reserved.cell_us) as usize }
                };
                for part in reserved.parts(client, end_us) {
                    sums[cell_of(&part)][part.client] += part.token_us;
                }
                for (cell, sums) in sums.iter().enumerate() {
                    let (from_us, to_us) = if cell == cells {
                        (reserved.until_us, end_us)
                    } else {
                        let from_us = cell as f64 * reserved.cell_us;
                        (from_us, (from_us + reserved.cell_us).min(reserved.until_us).min(end_us))
                    };
                    let all: f64 = stills.iter().map(|s| s.2 as f64 * overlap(s, from_us, to_us)).sum();
                    prop_assert!(near(sums.iter().sum(), all), "{client:?}, cell {cell}: {sums:?} of {all}");
                    for (place, &sum) in sums.iter().enumerate() {
                        let party = range.start + place;
                        let own: f64 = stills.iter().map(|s| s.3[party] as f64 * overlap(s, from_us, to_us)).sum();
                        prop_assert!(near(sum, own), "{client:?} {place}, cell {cell}: {sum} of {own}");
                    }
                }
            }
        }
    }
}
