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
//! A request costs O(b log k) for b keys and k remembered keys, and O(n) for the loads of n replicas.

use crate::replica_index::ReplicaIndex;
use std::collections::BTreeMap;

/// Requests with one key for which one replica is enough, whatever their share: a few turns of a session are no trend.
const FEW: u64 = 8;

/// Requests above the mean load that a replica may have whatever the mean is.
const SLACK: u64 = 8;

/// The index of one router.
#[derive(Debug, Clone, Default)]
pub(crate) struct Affinity {
    keys: BTreeMap<u64, KnownPrefixes>,
    /// Keys of each replica, by when they were last used.
    recent: Vec<BTreeMap<u64, u64>>,
    clock: u64,
    /// Requests that were routed, and those that each replica was given.
    routed: u64,
    given: Vec<u64>,
    /// The replicas that may be given the request that arrives.
    candidates: Vec<Candidate>,
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

#[derive(Debug, Clone)]
struct KnownPrefixes {
    /// Requests that had the key, and how many had been routed when it was new.
    visits: u64,
    since: u64,
    /// Replicas that hold it, in order, and the place of the key in `recent` of each.
    holders: Vec<(ReplicaIndex, u64)>,
}

impl Affinity {
    /// The replica for a request with `keys`, each of which stands for itself and all before it, among candidates in their order.
    pub(crate) fn pick(&mut self, keys: &[u64], candidates: impl Iterator<Item = Candidate>) -> ReplicaIndex {
        self.candidates.clear();
        self.candidates.extend(candidates);
        let known = self.candidates.last().map_or(0, |last| last.place.index() + 1).max(self.given.len());
        self.given.resize(known, 0);
        self.recent.resize(known, BTreeMap::new());
        let chosen = self.choose(keys);
        self.remember(keys, chosen);
        chosen.place
    }

    fn choose(&self, keys: &[u64]) -> Candidate {
        let bound = self.bound();
        let order = |one: &&Candidate| (one.load, self.given[one.place], one.place);
        let candidate = |place: ReplicaIndex| {
            let at = self.candidates.binary_search_by_key(&place, |one| one.place);
            at.ok().map(|at| &self.candidates[at])
        };
        // A replica that holds a key holds all before it: known keys come first, with more holders towards the start.
        let known = keys.partition_point(|key| self.keys.contains_key(key));
        let mut seen = 0;
        for known in keys[..known].iter().rev().filter_map(|key| self.keys.get(key)) {
            let count = known.holders.len();
            if count == seen || (count as u64) < self.wanted(known) {
                continue;
            }
            seen = count;
            let holders = known.holders.iter().filter_map(|&(replica, _)| candidate(replica));
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
    fn wanted(&self, known: &KnownPrefixes) -> u64 {
        let replicas = self.candidates.len() as u64;
        let others = known.visits.saturating_sub(FEW) * replicas / (self.routed - known.since).max(1);
        (1 + others).min(replicas)
    }

    /// A replica is given a request with `keys`.
    fn remember(&mut self, keys: &[u64], Candidate { place, most_keys, .. }: Candidate) {
        self.routed += 1;
        self.given[place] += 1;
        let since = self.routed - 1;
        // Backwards, so that the end of a prompt is forgotten before its start.
        for &key in keys.iter().rev() {
            self.clock += 1;
            let known = self.keys.entry(key).or_insert_with(|| KnownPrefixes {
                visits: 0,
                since,
                holders: Vec::new(),
            });
            known.visits += 1;
            match known.holders.binary_search_by_key(&place, |holder| holder.0) {
                Ok(at) => {
                    self.recent[place].remove(&known.holders[at].1);
                    known.holders[at].1 = self.clock;
                }
                Err(at) => known.holders.insert(at, (place, self.clock)),
            }
            self.recent[place].insert(self.clock, key);
        }
        while self.recent[place].len() > most_keys {
            let Some((_, key)) = self.recent[place].pop_first() else { break };
            if let Some(known) = self.keys.get_mut(&key) {
                known.holders.retain(|holder| holder.0 != place);
                if known.holders.is_empty() {
                    self.keys.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This many replicas, of each at most this many keys, with loads.
    fn replicas(
        count: usize,
        most_keys: usize,
        load: impl Fn(ReplicaIndex) -> u32,
    ) -> impl Iterator<Item = Candidate> {
        ReplicaIndex::first(count).map(move |place| Candidate { place, load: load(place), most_keys })
    }

    /// Routes requests that find every replica idle.
    fn route(
        affinity: &mut Affinity,
        (count, most_keys): (usize, usize),
        keys: impl IntoIterator<Item = Vec<u64>>,
    ) -> Vec<ReplicaIndex> {
        keys.into_iter().map(|keys| affinity.pick(&keys, replicas(count, most_keys, |_| 0))).collect()
    }

    #[test]
    fn a_prefix_that_all_share_starves_no_replica() {
        for count in [8, 32] {
            // One system prompt of two blocks, then a block of its own.
            let requests = 40 * count as u64;
            let mut affinity = Affinity::default();
            route(&mut affinity, (count, 10_000), (0..requests).map(|i| vec![1, 2, 100 + i]));
            assert!(affinity.given.iter().all(|&given| given >= 20), "{:?}", affinity.given);
            // Nor do requests that have nothing in common.
            let mut affinity = Affinity::default();
            route(&mut affinity, (count, usize::MAX), (0..requests).map(|_| Vec::new()));
            assert!(affinity.given.iter().all(|&given| given == 40), "{:?}", affinity.given);
        }
    }

    #[test]
    fn a_session_stays_where_its_turns_are_cached() {
        let mut affinity = Affinity::default();
        let idle = || replicas(8, 10_000, |_| 0);
        let turn =
            |session: u64, turn: u64| (0..=turn).map(move |t| if t == 0 { 1 } else { 1_000 * session + t });
        let mut places = [ReplicaIndex::default(); 40];
        for t in 1..30 {
            for session in 1..40 {
                let keys: Vec<u64> = turn(session, t).collect();
                let place = affinity.pick(&keys, idle());
                assert!(t == 1 || place == places[session as usize], "turn {t} of session {session} moved");
                places[session as usize] = place;
            }
        }
        // The longest match decides: a branch of turn 3 goes with it.
        let branch: Vec<u64> = turn(7, 3).chain([5]).collect();
        assert_eq!(affinity.pick(&branch, idle()), places[7]);
        // An overloaded replica does not get it.
        let busy = places[7];
        let loads = replicas(8, 10_000, |place| if place == busy { 60 } else { 10 });
        assert_ne!(affinity.pick(&turn(7, 30).collect::<Vec<_>>(), loads), busy);
    }

    #[test]
    fn a_key_with_much_traffic_is_on_as_many_replicas() {
        // Three of five requests have key 1, the others keys of their own.
        let mut affinity = Affinity::default();
        route(&mut affinity, (8, 10_000), (0..4_000).map(|i| vec![if i % 5 < 3 { 1 } else { 10 + i }]));
        assert_eq!(affinity.keys[&1].holders.len(), 5);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_end_of_a_prompt_goes_first() {
        let mut affinity = Affinity::default();
        assert_eq!(route(&mut affinity, (2, 3), [vec![1, 2, 3, 4]]), [0].map(ReplicaIndex::new));
        let held = |affinity: &Affinity| affinity.keys.keys().copied().collect::<Vec<_>>();
        assert_eq!(held(&affinity), [1, 2, 3]);
        assert_eq!(route(&mut affinity, (2, 3), [vec![8], vec![1, 9]]), [1, 0].map(ReplicaIndex::new));
        assert_eq!(held(&affinity), [1, 2, 8, 9]);
        assert_eq!(affinity.recent[0].len(), 3);
        let holders = affinity.keys.values().map(|known| known.holders.len()).sum::<usize>();
        assert_eq!(holders, affinity.recent.iter().map(BTreeMap::len).sum::<usize>());
    }
}
