//! What a router counts itself, and what it reads of replicas from time to time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use servescope_workload::stream::Stream;

use super::pipeline::Reported;
use crate::block_numbers::Numbers;
use crate::block_numbers::number_map::NumberMap;
use crate::replica_index::ReplicaIndex;

/// For how long a request counts in the rate of its replica, microseconds.
const RATE_WINDOW_US: f64 = 60_000_000.0;

/// What a router was given and sent to one replica.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnCounts {
    /// Requests that have not ended.
    pub(super) requests: u32,
    /// Tokens of prompts that were not cached there by its belief, of requests without a first token.
    pub(super) uncached_tokens: u64,
    /// Blocks of the prompts of those requests, and how many have each.
    blocks: NumberMap<u32>,
    /// Those that nothing is known of.
    nameless_blocks: u64,
    /// When requests were sent in the last minute.
    sent_us: VecDeque<f64>,
}

impl OwnCounts {
    /// A request is sent.
    pub(super) fn add(&mut self, uncached_tokens: u64) {
        self.requests += 1;
        self.uncached_tokens += uncached_tokens;
    }

    /// It counts in the rate.
    pub(super) fn note_time(&mut self, now_us: f64) {
        self.sent_us.push_back(now_us);
    }

    /// Its prompt's blocks are in use, from now on or no more.
    pub(super) fn use_blocks(&mut self, (numbers, nameless): (Numbers<'_>, u64), is_used: bool) {
        if is_used {
            self.nameless_blocks += nameless;
            self.blocks.change_all(numbers.map(u64::from), |users, _| *users += 1);
            return;
        }
        self.nameless_blocks -= nameless;
        for number in numbers {
            let Some(users) = self.blocks.get_mut(number.into()) else { continue };
            *users -= 1;
            if *users == 0 {
                self.blocks.remove(number.into());
            }
        }
    }

    /// Distinct blocks in use, were a prompt there, too.
    pub(super) fn blocks_with(&self, (numbers, nameless): (Numbers<'_>, u64)) -> u64 {
        let mut known = self.blocks.reader();
        let new = numbers.filter(|&number| known.get(number.into()).is_none()).count();
        (self.blocks.len() + new) as u64 + self.nameless_blocks + nameless
    }

    /// Requests that were sent in the last minute.
    pub(super) fn recent_requests(&mut self, now_us: f64) -> u32 {
        while self.sent_us.front().is_some_and(|&sent_us| sent_us <= now_us - RATE_WINDOW_US) {
            self.sent_us.pop_front();
        }
        self.sent_us.len() as u32
    }
}

/// The tokens that clients were given within a window.
#[derive(Debug, Clone, Default)]
pub(super) struct ClientTokens {
    given: VecDeque<(f64, u32, f64)>,
    /// Of each client in it: requests and tokens.
    sums: BTreeMap<u32, (u32, f64)>,
    /// The same, by tokens. Numbers that are not negative are in the order of their bits.
    ranked: BTreeSet<(u64, u32)>,
}

impl ClientTokens {
    /// A client is given tokens.
    pub(super) fn give(&mut self, client: u32, tokens: f64, now_us: f64) {
        self.given.push_back((now_us, client, tokens));
        self.change(client, |(requests, sum)| (requests + 1, sum + tokens));
    }

    /// The tokens of a client, and the fewest and the most of any.
    pub(super) fn of(&mut self, client: u32, oldest_us: f64) -> Option<[f64; 3]> {
        while let Some(&(_, old, tokens)) = self.given.front().filter(|given| given.0 <= oldest_us) {
            self.given.pop_front();
            self.change(old, |(requests, sum)| (requests - 1, sum - tokens));
        }
        let tokens = |entry: Option<&(u64, u32)>| entry.map(|&(bits, _)| f64::from_bits(bits));
        let own = self.sums.get(&client).map_or(0.0, |sum| sum.1);
        Some([own, tokens(self.ranked.first())?, tokens(self.ranked.last())?])
    }

    fn change(&mut self, client: u32, to: impl Fn((u32, f64)) -> (u32, f64)) {
        let before = self.sums.remove(&client).unwrap_or_default();
        self.ranked.remove(&(before.1.to_bits(), client));
        let (requests, sum) = to(before);
        if requests > 0 {
            let sum = sum.max(0.0);
            self.sums.insert(client, (requests, sum));
            self.ranked.insert((sum.to_bits(), client));
        }
    }
}

/// The metrics of replicas as they were read last. Each replica is read once in a period, at a time of its own.
#[derive(Debug, Clone)]
pub(crate) struct Scrapes {
    period_us: f64,
    phases: Stream,
    last: Vec<(f64, Reported)>,
    /// Nothing is to be read before.
    next_us: f64,
}

impl Scrapes {
    pub(super) fn new(seed: u64, period_us: f64) -> Self {
        let next_us = if period_us > 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
        Self { period_us, phases: Stream::named(seed, "fleet.router_view"), last: Vec::new(), next_us }
    }

    /// Whether a replica was due to be read by a time.
    #[inline]
    pub(crate) fn are_due(&self, now_us: f64) -> bool {
        self.next_us <= now_us
    }

    /// When a replica is to be read next; infinite where none is.
    pub(crate) fn next_us(&self) -> f64 {
        self.next_us
    }

    /// There is another replica to read.
    pub(crate) fn look_again(&mut self) {
        if self.period_us > 0.0 {
            self.next_us = f64::NEG_INFINITY;
        }
    }

    /// Reads the replicas that were due by now. Of a replica that was due several times, as nothing happened for long, the last
    /// reading is left.
    pub(crate) fn read(
        &mut self,
        now_us: f64,
        replicas: usize,
        read: impl Fn(ReplicaIndex, f64) -> Reported,
    ) {
        self.last.resize(replicas.max(self.last.len()), (f64::NEG_INFINITY, Reported::default()));
        self.next_us = f64::INFINITY;
        for place in ReplicaIndex::first(replicas) {
            let phase_us = self.phases.item(place.index()).uniform() * self.period_us;
            let periods = ((now_us - phase_us) / self.period_us).floor();
            let at_us = phase_us + periods * self.period_us;
            if at_us >= 0.0 && at_us <= now_us && at_us > self.last[place].0 {
                self.last[place] = (at_us, read(place, at_us));
            }
            self.next_us = self.next_us.min(phase_us + (periods + 1.0) * self.period_us);
        }
    }

    /// What a replica said when it was read last; `None`: the present is read.
    pub(super) fn of(&self, place: ReplicaIndex) -> Option<Reported> {
        (self.period_us > 0.0)
            .then(|| self.last.get(place.index()).map_or_else(Reported::default, |last| last.1))
    }
}

#[cfg(test)]
mod tests {
    use servescope_workload::trace::{PrefixBlocks, Request, TraceMetadata};
    use servescope_workload::{BASE_MODEL, RequestId, Trace};

    use super::*;
    use crate::block_numbers::BlockNumbers;

    #[test]
    fn a_replica_is_read_once_in_a_period_at_a_time_of_its_own() {
        let mut scrapes = Scrapes::new(42, 100.0);
        let waits = |at_us: f64| Reported { waiting: at_us as u32, ..Reported::default() };
        let mut seen = [Vec::new(), Vec::new()];
        for now in 0..1_000 {
            let now_us = f64::from(now);
            if scrapes.are_due(now_us) {
                scrapes.read(now_us, 2, |_, at_us| waits(at_us));
            }
            for (place, seen) in seen.iter_mut().enumerate() {
                let waiting =
                    scrapes.of(ReplicaIndex::new(place as u16)).expect("read from time to time").waiting;
                assert!(waiting <= now && now - waiting <= 100 || waiting == 0 && now <= 100);
                seen.push(waiting);
            }
        }
        let changes = seen.clone().map(|mut of| {
            of.dedup();
            of.len()
        });
        assert!(changes.iter().all(|&count| (10..=11).contains(&count)), "{changes:?}");
        assert_ne!(seen[0][500] % 100, seen[1][500] % 100);
        // After a time without events the last reading is that of the last period.
        scrapes.read(5_000.0, 2, |_, at_us| waits(at_us));
        assert!(scrapes.of(ReplicaIndex::new(0)).is_some_and(|read| read.waiting >= 4_900));
        assert!(Scrapes::new(42, 0.0).of(ReplicaIndex::new(0)).is_none());
    }

    #[test]
    fn tokens_of_clients_count_within_the_window() {
        let mut clients = ClientTokens::default();
        assert_eq!(clients.of(1, -10.0), None);
        clients.give(1, 100.0, 0.0);
        clients.give(2, 30.0, 5.0);
        clients.give(1, 7.0, 6.0);
        assert_eq!(clients.of(1, -4.0), Some([107.0, 30.0, 107.0]));
        assert_eq!(clients.of(1, 0.0), Some([7.0, 7.0, 30.0]));
        assert_eq!(clients.of(3, 5.0), Some([0.0, 7.0, 7.0]));
        assert_eq!(clients.of(2, 6.0), None);
    }

    #[test]
    fn a_block_that_several_prompts_have_counts_once() {
        let (mut trace, mut prefix) = (Trace::default(), PrefixBlocks::new(16));
        for ids in [&[1, 2][..], &[1], &[1, 9]] {
            prefix.push(ids.iter().copied());
            let (arrival_us, user, adapter, output_tokens, max_tokens) = (0.0, 0, BASE_MODEL, 1, 1);
            let input_tokens = 16 * ids.len() as u32;
            trace.push(Request { arrival_us, user, adapter, input_tokens, output_tokens, max_tokens });
        }
        trace.metadata = Some(Box::new(TraceMetadata { prefix, ..TraceMetadata::default() }));
        let numbers = BlockNumbers::of_prompts(&trace, 16);
        let of = |id: u32| numbers.iter(RequestId::new(id), 0..u32::MAX);
        let mut own = OwnCounts::default();
        own.use_blocks((of(0), 3), true);
        own.use_blocks((of(1), 0), true);
        assert_eq!((own.blocks_with((Numbers::default(), 0)), own.blocks_with((of(2), 1))), (5, 7));
        own.use_blocks((of(0), 3), false);
        assert_eq!(own.blocks_with((Numbers::default(), 0)), 1);
    }
}
