//! Routing by what replicas were given before: keys (blocks of prompts, adapters) and the replicas that hold them.
//!
//! The router keeps an approximate index: it remembers which blocks it sent to which replica, evicts the least recently
//! used ones, and asks no replica. A request goes to the replica with the longest match unless that one is overloaded.
//! Sources: the `cache_aware` policy of SGLang's router (docs/concepts/routing/cache-aware.md of lightseekorg/smg) and the
//! approximate prefix-cache scorer of llm-d (llm-d.ai/docs/architecture/advanced/kv-management/prefix-cache-aware-routing),
//! which keep such an index and fall back to the load when it is out of balance.
//!
//! A block that all requests share matches everywhere, so it must not decide alone. A key with a share s of the requests
//! is wanted on 1 + s n of the n replicas; until that many hold it, a request that matches no further goes where the load
//! is least. Among equal replicas the one that was given the fewest requests is taken.
//!
//! A request costs O(b) for b keys, and O(n) for the loads of n replicas.

use std::collections::VecDeque;
use std::sync::Arc;

use servescope_workload::RequestId;

use crate::block_numbers::number_map::NumberMap;
use crate::block_numbers::{BlockNumbers, partition_point};
use crate::replica_index::ReplicaIndex;

/// Requests with one key for which one replica is enough, whatever their share: a few turns of a session are no trend.
const FEW: u64 = 8;

/// Requests above the mean load that a replica may have whatever the mean is.
const SLACK: u64 = 8;

/// Keys of a request that are looked at together when some are to be forgotten.
const LOOKED_AT: u32 = 256;

/// The index of one router.
#[derive(Debug, Clone, Default)]
pub(crate) struct Affinity {
    /// The keys of each request, each of which stands for itself and all before it.
    numbers: Arc<BlockNumbers>,
    keys: NumberMap<KnownPrefix>,
    replicas: Vec<GivenKeys>,
    /// Requests that were routed.
    routed: u32,
    /// The replicas that may be given the request that arrives.
    candidates: Vec<Candidate>,
}

/// What one replica was given.
#[derive(Debug, Clone, Default)]
struct GivenKeys {
    requests: u64,
    /// The last request that had each key which is remembered, by its turn.
    last: NumberMap<u32>,
    /// Requests by their turns, the longest ago first; of each how many of its keys were not looked at to be forgotten, the first ones.
    given: VecDeque<(u32, RequestId, u32)>,
}

impl GivenKeys {
    /// The keys that were used longest ago are forgotten until `most` are left; of one request the end of its prompt goes before the
    /// start.
    fn trim(&mut self, most: usize, numbers: &BlockNumbers, mut forget: impl FnMut(u32)) {
        while self.last.len() > most
            && let Some((turn, id, left)) = self.given.front_mut()
        {
            let some: Vec<u32> = numbers.iter(*id, left.saturating_sub(LOOKED_AT)..*left).collect();
            for &key in some.iter().rev() {
                if self.last.len() <= most {
                    return;
                }
                *left -= 1;
                // It may have been used again.
                if self.last.get(key.into()) == Some(*turn) {
                    self.last.remove(key.into());
                    forget(key);
                }
            }
            if *left == 0 {
                self.given.pop_front();
            }
        }
    }
}

/// A replica that may be given a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) place: ReplicaIndex,
    /// Requests that wait or run on it.
    pub(crate) load: u32,
    /// Most keys that are remembered of it.
    pub(crate) most_keys: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct KnownPrefix {
    /// Requests that had the key, and how many had been routed when it was new.
    visits: u32,
    since: u32,
    /// Replicas that hold it.
    holders: u32,
}

impl Affinity {
    /// One that looks at these keys of requests.
    pub(crate) fn new(numbers: Arc<BlockNumbers>) -> Self {
        Self { numbers, ..Self::default() }
    }

    /// The replica for a request among candidates in their order.
    pub(crate) fn pick(
        &mut self,
        id: RequestId,
        candidates: impl Iterator<Item = Candidate>,
    ) -> ReplicaIndex {
        self.candidates.clear();
        self.candidates.extend(candidates);
        let known = self.candidates.last().map_or(0, |last| last.place.index() + 1).max(self.replicas.len());
        self.replicas.resize_with(known, GivenKeys::default);
        let chosen = self.choose(id);
        self.remember(id, chosen);
        chosen.place
    }

    fn choose(&self, id: RequestId) -> Candidate {
        let bound = self.bound();
        let order = |one: &&Candidate| (one.load, self.replicas[one.place].requests, one.place);
        // A replica that holds a key holds all before it: known keys come first, with more holders towards the start.
        let known_at = |index: u32| {
            let key = self.numbers.get(id, index)?;
            Some((key, self.keys.get(key.into())?))
        };
        let known = partition_point(self.numbers.count_of(id), |index| known_at(index).is_some());
        let mut seen = 0;
        for (key, known) in (0..known).rev().filter_map(known_at) {
            if known.holders == seen || u64::from(known.holders) < self.wanted(&known) {
                continue;
            }
            seen = known.holders;
            let holds = |one: &&Candidate| self.replicas[one.place].last.contains(key.into());
            let holders = self.candidates.iter().filter(holds);
            if let Some(one) = holders.filter(|one| u64::from(one.load) <= bound).min_by_key(order) {
                return *one;
            }
        }
        *self.candidates.iter().min_by_key(order).expect("a request has a candidate at least")
    }

    /// The most requests with which a replica is not overloaded: 25 % above the mean (consistent hashing with bounded
    /// loads, Mirrokni et al. 2018), or a few requests more than it, which a batch takes along.
    fn bound(&self) -> u64 {
        let loads = self.candidates.iter().map(|one| u64::from(one.load));
        let (all, replicas) = (loads.sum::<u64>(), self.candidates.len() as u64);
        (5 * all / (4 * replicas)).max(all / replicas + SLACK)
    }

    /// How many replicas should hold a key.
    fn wanted(&self, known: &KnownPrefix) -> u64 {
        let replicas = self.candidates.len() as u64;
        let visits = u64::from(known.visits).saturating_sub(FEW);
        let others = visits * replicas / u64::from(self.routed - known.since).max(1);
        (1 + others).min(replicas)
    }

    /// A replica is given a request.
    fn remember(&mut self, id: RequestId, Candidate { place, most_keys, .. }: Candidate) {
        let since = self.routed;
        self.routed += 1;
        let of_replica = &mut self.replicas[place];
        of_replica.requests += 1;
        of_replica.given.push_back((self.routed, id, self.numbers.count_of(id)));
        let keys = || self.numbers.iter(id, 0..u32::MAX).map(u64::from);
        let mut new_holders = Vec::with_capacity(keys().len());
        of_replica.last.change_all(keys(), |turn, is_new| {
            *turn = self.routed;
            new_holders.push(u32::from(is_new));
        });
        let mut new_holders = new_holders.into_iter();
        self.keys.change_all(keys(), |known, is_new| {
            known.since = if is_new { since } else { known.since };
            known.visits += 1;
            known.holders += new_holders.next().unwrap_or(0);
        });
        of_replica.trim(most_keys, &self.numbers, |key| {
            let Some(known) = self.keys.get_mut(key.into()) else { return };
            known.holders -= 1;
            if known.holders == 0 {
                self.keys.remove(key.into());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use servescope_workload::trace::{PrefixBlocks, Request, TraceMetadata};
    use servescope_workload::{BASE_MODEL, Trace};

    use super::*;

    /// This many replicas, of each at most this many keys, with loads.
    fn replicas(
        count: usize,
        most_keys: usize,
        load: impl Fn(ReplicaIndex) -> u32,
    ) -> impl Iterator<Item = Candidate> {
        ReplicaIndex::first(count).map(move |place| Candidate { place, load: load(place), most_keys })
    }

    /// An index of requests with these keys.
    fn of_keys(keys: impl IntoIterator<Item = Vec<u64>>) -> Affinity {
        let (mut trace, mut prefix) = (Trace::default(), PrefixBlocks::new(16));
        for ids in keys {
            prefix.push(ids);
            let (arrival_us, user, adapter, [input_tokens, output_tokens, max_tokens]) =
                (0.0, 0, BASE_MODEL, [16, 1, 1]);
            trace.push(Request { arrival_us, user, adapter, input_tokens, output_tokens, max_tokens });
        }
        trace.metadata = Some(Box::new(TraceMetadata { prefix, ..TraceMetadata::default() }));
        Affinity::new(Arc::new(BlockNumbers::of_prompts_or_sessions(&trace)))
    }

    /// Routes requests that find every replica idle.
    fn route(
        affinity: &mut Affinity,
        (count, most_keys): (usize, usize),
        requests: std::ops::Range<u32>,
    ) -> Vec<ReplicaIndex> {
        requests.map(|id| affinity.pick(RequestId::new(id), replicas(count, most_keys, |_| 0))).collect()
    }

    #[test]
    fn a_prefix_that_all_share_starves_no_replica() {
        for count in [8, 32] {
            // One system prompt of two blocks, then a block of its own.
            let requests = 40 * count as u32;
            let given =
                |affinity: &Affinity| affinity.replicas.iter().map(|of| of.requests).collect::<Vec<_>>();
            let mut affinity = of_keys((0..requests).map(|i| vec![1, 2, 100 + u64::from(i)]));
            route(&mut affinity, (count, 10_000), 0..requests);
            assert!(given(&affinity).iter().all(|&given| given >= 20), "{:?}", given(&affinity));
            // Nor do requests that have nothing in common.
            let mut affinity = of_keys((0..requests).map(|_| Vec::new()));
            route(&mut affinity, (count, usize::MAX), 0..requests);
            assert!(given(&affinity).iter().all(|&given| given == 40), "{:?}", given(&affinity));
        }
    }

    #[test]
    fn a_session_stays_where_its_turns_are_cached() {
        let idle = || replicas(8, 10_000, |_| 0);
        let turn = |session: u64, turn: u64| -> Vec<u64> {
            (0..=turn).map(|t| if t == 0 { 1 } else { 1_000 * session + t }).collect()
        };
        let turns = (1..30).flat_map(|t| (1..40).map(move |session| (t, session)));
        let branch: Vec<u64> = turn(7, 3).into_iter().chain([5]).collect();
        let keys = turns.clone().map(|(t, session)| turn(session, t)).chain([branch, turn(7, 30)]);
        let mut affinity = of_keys(keys);
        let mut ids = (0..).map(RequestId::new);
        let mut places = [ReplicaIndex::default(); 40];
        for ((t, session), id) in turns.zip(&mut ids) {
            let place = affinity.pick(id, idle());
            assert!(t == 1 || place == places[session as usize], "turn {t} of session {session} moved");
            places[session as usize] = place;
        }
        let mut next = || ids.next().expect("a further request");
        // The longest match decides: a branch of turn 3 goes with it.
        let (branch, last) = (next(), next());
        assert_eq!(affinity.pick(branch, idle()), places[7]);
        // An overloaded replica does not get it.
        let busy = places[7];
        let loads = replicas(8, 10_000, |place| if place == busy { 60 } else { 10 });
        assert_ne!(affinity.pick(last, loads), busy);
    }

    #[test]
    fn a_key_with_much_traffic_is_on_as_many_replicas() {
        // Three of five requests have key 1, the others keys of their own.
        let mut affinity = of_keys((0..4_000).map(|i| vec![if i % 5 < 3 { 1 } else { 10 + i }]));
        route(&mut affinity, (8, 10_000), 0..4_000);
        assert_eq!(affinity.keys.get(0).map(|known| known.holders), Some(5));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_end_of_a_prompt_goes_first() {
        // The keys have numbers from 0 on, in this order: 1, 2, 3, 4, 8, 9.
        let mut affinity = of_keys([vec![1, 2, 3, 4], vec![8], vec![1, 9]]);
        assert_eq!(route(&mut affinity, (2, 3), 0..1), [0].map(ReplicaIndex::new));
        let held =
            |affinity: &Affinity| (0..6).filter(|&key| affinity.keys.contains(key)).collect::<Vec<_>>();
        assert_eq!(held(&affinity), [0, 1, 2]);
        assert_eq!(route(&mut affinity, (2, 3), 1..3), [1, 0].map(ReplicaIndex::new));
        assert_eq!(held(&affinity), [0, 1, 4, 5]);
        assert_eq!(affinity.replicas[0].last.len(), 3);
        let holders = (0..6).filter_map(|key| affinity.keys.get(key)).map(|known| known.holders as usize);
        assert_eq!(holders.sum::<usize>(), affinity.replicas.iter().map(|of| of.last.len()).sum::<usize>());
    }
}
