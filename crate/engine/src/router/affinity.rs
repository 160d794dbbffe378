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
#[derive(Debug, Clone)]
pub(crate) struct Affinity {
    /// Most keys remembered of a replica.
    capacity: usize,
    keys: BTreeMap<u64, KnownPrefixes>,
    /// Keys of each replica, by when they were last used.
    recent: Vec<BTreeMap<u64, u64>>,
    clock: u64,
    /// Requests that were routed, and those that each replica was given.
    routed: u64,
    given: Vec<u64>,
    /// The loads at the last arrival.
    loads: Vec<u32>,
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
    /// The index over this many replicas, of each at most `capacity` keys.
    pub(crate) fn new(replicas: usize, capacity: usize) -> Self {
        Self {
            capacity,
            keys: BTreeMap::new(),
            recent: vec![BTreeMap::new(); replicas],
            clock: 0,
            routed: 0,
            given: vec![0; replicas],
            loads: Vec::with_capacity(replicas),
        }
    }

    /// The replica for a request with `keys`, each of which stands for itself and all before it. `load` is the number of
    /// requests that wait or run on a replica.
    pub(crate) fn pick(&mut self, keys: &[u64], load: impl Fn(ReplicaIndex) -> u32) -> ReplicaIndex {
        self.loads.clear();
        self.loads.extend(ReplicaIndex::first(self.given.len()).map(load));
        let place = self.choose(keys);
        self.remember(keys, place);
        place
    }

    fn choose(&self, keys: &[u64]) -> ReplicaIndex {
        let (loads, bound) = (&self.loads, self.bound());
        let order = |&i: &ReplicaIndex| (loads[i], self.given[i], i);
        // A replica that holds a key holds all before it: known keys come first, with more holders towards the start.
        let known = keys.partition_point(|key| self.keys.contains_key(key));
        let mut seen = 0;
        for known in keys[..known].iter().rev().filter_map(|key| self.keys.get(key)) {
            let count = known.holders.len();
            if count == seen || (count as u64) < self.wanted(known) {
                continue;
            }
            seen = count;
            let holders = known.holders.iter().map(|&(replica, _)| replica);
            if let Some(place) = holders.filter(|&i| u64::from(loads[i]) <= bound).min_by_key(order) {
                return place;
            }
        }
        ReplicaIndex::first(loads.len()).min_by_key(order).unwrap_or_default()
    }

    /// The most requests with which a replica is not overloaded: 25 % above the mean (consistent hashing with bounded
    /// loads, Mirrokni et al. 2018), or a few requests more than it, which a batch takes along.
    fn bound(&self) -> u64 {
        let (all, replicas) =
            (self.loads.iter().map(|&n| u64::from(n)).sum::<u64>(), self.loads.len() as u64);
        (5 * all / (4 * replicas)).max(all / replicas + SLACK)
    }

    /// How many replicas should hold a key.
    fn wanted(&self, known: &KnownPrefixes) -> u64 {
        let replicas = self.given.len() as u64;
        let others = known.visits.saturating_sub(FEW) * replicas / (self.routed - known.since).max(1);
        (1 + others).min(replicas)
    }

    /// A replica is given a request with `keys`.
    fn remember(&mut self, keys: &[u64], place: ReplicaIndex) {
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
        while self.recent[place].len() > self.capacity {
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

    /// Routes requests that find every replica idle.
    fn route(affinity: &mut Affinity, keys: impl IntoIterator<Item = Vec<u64>>) -> Vec<ReplicaIndex> {
        keys.into_iter().map(|keys| affinity.pick(&keys, |_| 0)).collect()
    }

    #[test]
    fn a_prefix_that_all_share_starves_no_replica() {
        for replicas in [8, 32] {
            // One system prompt of two blocks, then a block of its own.
            let requests = 40 * replicas as u64;
            let mut affinity = Affinity::new(replicas, 10_000);
            route(&mut affinity, (0..requests).map(|i| vec![1, 2, 100 + i]));
            assert!(affinity.given.iter().all(|&given| given >= 20), "{:?}", affinity.given);
            // Nor do requests that have nothing in common.
            let mut affinity = Affinity::new(replicas, usize::MAX);
            route(&mut affinity, (0..requests).map(|_| Vec::new()));
            assert!(affinity.given.iter().all(|&given| given == 40), "{:?}", affinity.given);
        }
    }

    #[test]
    fn a_session_stays_where_its_turns_are_cached() {
        let mut affinity = Affinity::new(8, 10_000);
        let turn =
            |session: u64, turn: u64| (0..=turn).map(move |t| if t == 0 { 1 } else { 1_000 * session + t });
        let mut places = [ReplicaIndex::default(); 40];
        for t in 1..30 {
            for session in 1..40 {
                let keys: Vec<u64> = turn(session, t).collect();
                let place = affinity.pick(&keys, |_| 0);
                assert!(t == 1 || place == places[session as usize], "turn {t} of session {session} moved");
                places[session as usize] = place;
            }
        }
        // The longest match decides: a branch of turn 3 goes with it.
        let branch: Vec<u64> = turn(7, 3).chain([5]).collect();
        assert_eq!(affinity.pick(&branch, |_| 0), places[7]);
        // An overloaded replica does not get it.
        let busy = places[7];
        assert_ne!(
            affinity.pick(&turn(7, 30).collect::<Vec<_>>(), |i| if i == busy { 60 } else { 10 }),
            busy
        );
    }

    #[test]
    fn a_key_with_much_traffic_is_on_as_many_replicas() {
        // Three of five requests have key 1, the others keys of their own.
        let mut affinity = Affinity::new(8, 10_000);
        route(&mut affinity, (0..4_000).map(|i| vec![if i % 5 < 3 { 1 } else { 10 + i }]));
        assert_eq!(affinity.keys[&1].holders.len(), 5);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_end_of_a_prompt_goes_first() {
        let mut affinity = Affinity::new(2, 3);
        assert_eq!(route(&mut affinity, [vec![1, 2, 3, 4]]), [0].map(ReplicaIndex::new));
        let held = |affinity: &Affinity| affinity.keys.keys().copied().collect::<Vec<_>>();
        assert_eq!(held(&affinity), [1, 2, 3]);
        assert_eq!(route(&mut affinity, [vec![8], vec![1, 9]]), [1, 0].map(ReplicaIndex::new));
        assert_eq!(held(&affinity), [1, 2, 8, 9]);
        assert_eq!(affinity.recent[0].len(), 3);
        let holders = affinity.keys.values().map(|known| known.holders.len()).sum::<usize>();
        assert_eq!(holders, affinity.recent.iter().map(BTreeMap::len).sum::<usize>());
    }
}
