//! KV tokens held by each client, as integrals over the cells.
//!
//! Requests that decode together make a token each in every iteration, so what one holds is its own constant plus the
//! number of iterations so far, and what a client holds is a sum and a count. They are brought up to date when a request of
//! the client joins or leaves and where a cell ends, never in between. Prompts grow evenly while they are read.
//!
//! That is what the timeline says to the token, of replicas of one stage. It is interpolated for
//! requests that were preempted and for those on replicas of several stages: evenly over the time in which they are there.

use crate::client::ClientId;
use crate::replica_index::ReplicaIndex;
use servescope_workload::RequestId;
use servescope_workload::statistics::sort_places;

use super::cells::WindowedTotals;
use crate::record::timeline::IterationRun;
use crate::report::Report;

/// What was held.
pub(super) struct KvOccupancy {
    /// Integral by client, token microseconds.
    pub(super) token_us: Vec<f64>,
    /// Requests that were interpolated.
    pub(super) interpolated: u64,
}

/// A stretch of time with this many more tokens of each request that decodes at its end, growing evenly, and then at once.
struct KvStretch {
    start_us: f64,
    end_us: f64,
    grows: f64,
    jumps: f64,
}

/// What one client holds that follows from the common count of iterations.
#[derive(Clone, Copy, Default)]
struct KvAccount {
    requests: u32,
    /// Where it is in the list of active clients.
    place: u32,
    /// At the last look: tokens, and the clock of [`KvSweep`].
    tokens: f64,
    at: CellClock,
}

/// Time, and the count of iterations, and its integral, since the cell began.
#[derive(Clone, Copy, Default)]
struct CellClock {
    us: f64,
    count: f64,
    integral: f64,
}

struct KvSweep<'a> {
    cells: &'a mut WindowedTotals,
    totals: Vec<f64>,
    accounts: Vec<KvAccount>,
    active: Vec<ClientId>,
    clock: CellClock,
    cell: usize,
}

/// A request on its replica: between its first token and its end it holds tokens by the count.
struct KvResidency {
    id: RequestId,
    from_us: f64,
    to_us: f64,
}

/// Measures a run and fills the cells. `end_us` is its end.
pub(super) fn held(
    report: &Report,
    client_of: &[ClientId],
    clients: usize,
    cells: &mut WindowedTotals,
    end_us: f64,
) -> KvOccupancy {
    let mut sweep = KvSweep {
        cells,
        totals: vec![0.0; clients],
        accounts: vec![KvAccount::default(); clients],
        active: Vec::new(),
        clock: CellClock::default(),
        cell: 0,
    };
    let preemption_intervals = preemption_intervals(report);
    let mut stays: Vec<Vec<KvResidency>> = report.replicas.iter().map(|_| Vec::new()).collect();
    let mut interpolated = 0;
    for (id, &client) in client_of.iter().enumerate() {
        let Some(scheduled) = report.scheduled_us(id) else { continue };
        let result = &report.results[id];
        let to_us = result.finish_us.unwrap_or(end_us);
        let first = report.first_token_us(id);
        let input = f64::from(report.trace.input_tokens[id]);
        let stages = report.pool(report.replica(id)).cost.stages();
        if stages > 1 || report.preemptions(id) > 0 {
            interpolated += 1;
            let away = preemption_intervals.get(id).map_or(&[][..], Vec::as_slice);
            let produced = f64::from(result.produced);
            sweep.interpolate(client, away, [scheduled, first.unwrap_or(to_us), to_us], [input, produced]);
            continue;
        }
        sweep.grow(client, scheduled, first.unwrap_or(to_us), 0.0, input);
        if let Some(from_us) = first.filter(|&first| to_us > first) {
            stays[report.replica(id)].push(KvResidency { id: RequestId::new(id as u32), from_us, to_us });
        }
    }
    for (replica, stays) in stays.iter().enumerate().filter(|(_, stays)| !stays.is_empty()) {
        let runs = report.timeline.iterations.of_replica(ReplicaIndex::new(replica as u16));
        sweep.pass(report, client_of, stays, &mut runs.iter().map(stretch));
    }
    KvOccupancy { token_us: sweep.totals, interpolated }
}

/// When each preempted request was away; empty where no request was.
fn preemption_intervals(report: &Report) -> Vec<Vec<(f64, f64)>> {
    if report.timeline.preemption_intervals.is_empty() {
        return Vec::new();
    }
    let mut away = vec![Vec::new(); report.results.len()];
    for absence in &report.timeline.preemption_intervals {
        away[absence.request].push((absence.start_us, absence.end_us));
    }
    away
}

fn stretch(run: &IterationRun) -> KvStretch {
    // The token of the last iteration is in memory from the next one on.
    let (grows, jumps) = if run.decodes > 0 { (f64::from(run.iterations) - 1.0, 1.0) } else { (0.0, 0.0) };
    KvStretch { start_us: run.start_us, end_us: run.end_us, grows, jumps }
}

/// The places of times from 0 on in ascending order, equal ones as they stand: times of a run are spread over it, so buckets
/// of a few put them in order in one pass.
fn in_order(times: &[f64]) -> Vec<u32> {
    const FEW: usize = 24;
    let buckets = times.len() / 4 + 1;
    let last = times.iter().copied().fold(1.0, f64::max);
    let bucket = |time: f64| ((time / last * buckets as f64) as usize).min(buckets - 1);
    let mut starts = vec![0u32; buckets + 1];
    times.iter().for_each(|&time| starts[bucket(time) + 1] += 1);
    for index in 0..buckets {
        starts[index + 1] += starts[index];
    }
    let (mut places, mut next) = (vec![0u32; times.len()], starts.clone());
    for (place, &time) in (0u32..).zip(times) {
        let slot = &mut next[bucket(time)];
        places[*slot as usize] = place;
        *slot += 1;
    }
    for range in starts.windows(2) {
        let own = &mut places[range[0] as usize..range[1] as usize];
        if own.len() <= FEW {
            for i in 1..own.len() {
                let mut j = i;
                while j > 0 && times[own[j - 1] as usize] > times[own[j] as usize] {
                    own.swap(j - 1, j);
                    j -= 1;
                }
            }
        } else {
            let values: Vec<f64> = own.iter().map(|&place| times[place as usize]).collect();
            let order: Vec<u32> = sort_places(&values).into_iter().map(|i| own[i as usize]).collect();
            own.copy_from_slice(&order);
        }
    }
    places
}

impl KvSweep<'_> {
    /// One replica from the start of the run to the end.
    fn pass(
        &mut self,
        report: &Report,
        client_of: &[ClientId],
        stays: &[KvResidency],
        stretches: &mut dyn Iterator<Item = KvStretch>,
    ) {
        let ends: Vec<f64> = stays.iter().map(|stay| stay.to_us).collect();
        let starts: Vec<f64> = stays.iter().map(|stay| stay.from_us).collect();
        let (ends, starts) = (in_order(&ends), in_order(&starts));
        let (mut leaving, mut joining) = (ends.iter().peekable(), starts.iter().peekable());
        self.clock = CellClock::default();
        self.cell = 0;
        // every request that joins or leaves up to a time, in order; whose ends come first where both are equal.
        let mut until = |sweep: &mut Self, time_us: f64, stretch: Option<&KvStretch>| loop {
            let leaves = leaving.peek().map_or(f64::INFINITY, |&&place| stays[place as usize].to_us);
            let joins = joining.peek().map_or(f64::INFINITY, |&&place| stays[place as usize].from_us);
            if leaves.min(joins) > time_us || leaves.min(joins) == f64::INFINITY {
                break;
            }
            sweep.advance(leaves.min(joins), stretch);
            let is_end = leaves <= joins;
            let Some(&place) = (if is_end { leaving.next() } else { joining.next() }) else { break };
            let id = stays[place as usize].id.index();
            let input = f64::from(report.trace.input_tokens[id]);
            if is_end {
                sweep.change(client_of[id], false, input + f64::from(report.results[id].produced));
            } else {
                sweep.change(client_of[id], true, input + 1.0);
            }
        };
        for stretch in stretches {
            until(self, stretch.start_us, None);
            self.advance(stretch.start_us, None);
            // Requests that leave at its end do so with the token that it makes.
            until(self, stretch.end_us.next_down(), Some(&stretch));
            self.advance(stretch.end_us, Some(&stretch));
            self.clock.count += stretch.jumps;
        }
        until(self, f64::INFINITY, None);
        self.settle_all();
    }

    /// Moves the clock on; within `stretch` the count grows.
    fn advance(&mut self, time_us: f64, stretch: Option<&KvStretch>) {
        let slope = stretch.map_or(0.0, |stretch| {
            let lasted = stretch.end_us - stretch.start_us;
            if lasted > 0.0 { stretch.grows / lasted } else { 0.0 }
        });
        if let Some(stretch) = stretch.filter(|s| s.end_us <= s.start_us && time_us >= s.end_us) {
            self.clock.count += stretch.grows;
        }
        while time_us > self.clock.us {
            let edge_us = self.cells.grid.cell_end_us(self.cell);
            let to_us = time_us.min(edge_us);
            if to_us > self.clock.us {
                let lasted = to_us - self.clock.us;
                self.clock.integral += lasted * (self.clock.count + 0.5 * slope * lasted);
                self.clock.count += slope * lasted;
                self.clock.us = to_us;
            }
            if edge_us <= time_us {
                self.settle_all();
                self.cell += 1;
            }
        }
    }

    /// Brings every active client up to date and begins to count again, so that sums stay small.
    fn settle_all(&mut self) {
        for place in 0..self.active.len() {
            self.settle(self.active[place]);
        }
        self.clock.count = 0.0;
        self.clock.integral = 0.0;
        for &client in &self.active {
            self.accounts[client].at = self.clock;
        }
    }

    fn settle(&mut self, client: ClientId) {
        let (now, account) = (self.clock, &mut self.accounts[client]);
        let (then, requests) = (account.at, f64::from(account.requests));
        let lasted = now.us - then.us;
        let counted = (now.integral - then.integral) - then.count * lasted;
        let token_us = account.tokens * lasted + requests * counted;
        account.tokens += requests * (now.count - then.count);
        account.at = now;
        self.totals[client] += token_us;
        self.cells.add_kv(client, self.cell, token_us);
    }

    /// A request of a client joins or leaves with this many tokens.
    fn change(&mut self, client: ClientId, joins: bool, tokens: f64) {
        if self.accounts[client].requests > 0 {
            self.settle(client);
        }
        let account = &mut self.accounts[client];
        if joins {
            if account.requests == 0 {
                account.at = self.clock;
                account.place = self.active.len() as u32;
                self.active.push(client);
            }
            account.requests += 1;
            account.tokens += tokens;
            return;
        }
        account.requests -= 1;
        account.tokens -= tokens;
        if account.requests == 0 {
            account.tokens = 0.0;
            let place = account.place;
            self.active.swap_remove(place as usize);
            if let Some(&moved) = self.active.get(place as usize) {
                self.accounts[moved].place = place;
            }
        }
    }

    /// Tokens that grow evenly from one time to another.
    fn grow(&mut self, client: ClientId, from_us: f64, to_us: f64, tokens: f64, end_tokens: f64) {
        let lasted = to_us - from_us;
        if lasted <= 0.0 {
            return;
        }
        self.totals[client] += 0.5 * lasted * (tokens + end_tokens);
        let at = |time_us: f64| tokens + (end_tokens - tokens) * ((time_us - from_us) / lasted);
        let (first, last) = (self.cells.grid.cell_at(from_us), self.cells.grid.cell_at(to_us));
        let mut begin_us = from_us;
        for cell in first..=last {
            let until_us = if cell == last { to_us } else { self.cells.grid.cell_end_us(cell) };
            let part = 0.5 * (until_us - begin_us) * (at(begin_us) + at(until_us));
            self.cells.add_kv(client, cell, part);
            begin_us = until_us;
        }
    }

    /// A request whose tokens grow evenly while it is there: the prompt up to its first token, the answer from there to its
    /// end. `times` are those of its start, first token and end.
    fn interpolate(
        &mut self,
        client: ClientId,
        away: &[(f64, f64)],
        [start_us, first_us, end_us]: [f64; 3],
        [input, produced]: [f64; 2],
    ) {
        self.grow_around(client, away, start_us, first_us, 0.0, input);
        if end_us > first_us {
            self.grow_around(client, away, first_us, end_us, input + 1.0, input + produced);
        }
    }

    /// The same from one time to another.
    fn grow_around(
        &mut self,
        client: ClientId,
        away: &[(f64, f64)],
        from_us: f64,
        to_us: f64,
        tokens: f64,
        end_tokens: f64,
    ) {
        let here = |from: f64, to: f64| {
            let gone: f64 = away.iter().map(|&(a, b)| (b.min(to) - a.max(from)).max(0.0)).sum();
            (to - from) - gone
        };
        let whole = here(from_us, to_us);
        let at = |time_us: f64| {
            if whole > 0.0 { tokens + (end_tokens - tokens) * here(from_us, time_us) / whole } else { tokens }
        };
        let mut begin_us = from_us;
        for &(gone_us, back_us) in away.iter().chain(&[(to_us, to_us)]) {
            let until_us = gone_us.clamp(begin_us, to_us);
            self.grow(client, begin_us, until_us, at(begin_us), at(until_us));
            begin_us = back_us.clamp(until_us, to_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_sort(times in prop::collection::vec(prop_oneof![0.0..1e9f64, Just(5.0), 1e9..1e9 + 1.0], 0..300)) {
            prop_assert_eq!(in_order(&times), sort_places(&times));
        }
    }
}
