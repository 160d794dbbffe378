//! What a router believes each replica has cached: blocks that it sent there itself, or blocks that replicas told it of.
//!
//! A block is named by its adapter, by a block of the trace, which stands for all before it, too, and by a place in that.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use servescope_workload::{RequestId, Trace};

use crate::config::routing::RouterView;
use crate::replica::kv_cache::{BlockChange, BlockName, KvCache};
use crate::replica_index::ReplicaIndex;

/// The whole blocks of a prompt, of so many tokens each, as far as the trace describes them.
pub(super) fn prompt_blocks(trace: &Trace, id: RequestId, block_tokens: u32) -> Vec<BlockName> {
    let Some(metadata) = trace.metadata.as_deref() else { return Vec::new() };
    let (prefix, adapter) = (&metadata.prefix, trace.adapter[id]);
    let (blocks, size) = (prefix.of(id.index()), prefix.block_tokens);
    let name = |end: u32| {
        let place = (end - 1) / size;
        Some((adapter, *blocks.get(place as usize)?, end - place * size))
    };
    let count = if blocks.is_empty() || size == 0 { 0 } else { trace.input_tokens[id] / block_tokens.max(1) };
    (1..=count).map_while(|number| name(number * block_tokens)).collect()
}

/// Blocks that were sent to replicas. Nobody says what became of them there.
#[derive(Debug, Clone, Default)]
pub(super) struct ApproximateIndex {
    /// The replicas that were sent each block, in order, and when that was last, as a place in `recent`.
    known: BTreeMap<BlockName, Vec<(ReplicaIndex, u64)>>,
    /// Blocks of each replica, by when they were last sent.
    recent: Vec<BTreeMap<u64, (BlockName, f64)>>,
    clock: u64,
    /// The interval in which the number of blocks of each replica was last enforced.
    evicted: Vec<f64>,
}

impl ApproximateIndex {
    /// How many of the first blocks each of these replicas was sent, in their order.
    pub(super) fn matched(
        &self,
        blocks: &[BlockName],
        candidates: &[ReplicaIndex],
        oldest_us: f64,
    ) -> Vec<u32> {
        let mut matched = vec![0; candidates.len()];
        let mut holding: Vec<usize> = (0..candidates.len()).collect();
        for (count, block) in (1..).zip(blocks) {
            let Some(holders) = self.known.get(block) else { break };
            holding.retain(|&at| {
                let holder = holders.binary_search_by_key(&candidates[at], |holder| holder.0);
                let clock = holder.ok().map(|found| holders[found].1);
                clock.is_some_and(|clock| self.recent[candidates[at]][&clock].1 >= oldest_us)
            });
            holding.iter().for_each(|&at| matched[at] = count);
            if holding.is_empty() {
                break;
            }
        }
        matched
    }

    /// Blocks that are remembered of a replica.
    pub(super) fn blocks_of(&self, place: ReplicaIndex) -> usize {
        self.recent.get(place.index()).map_or(0, BTreeMap::len)
    }

    /// A replica is sent a prompt.
    pub(super) fn insert(
        &mut self,
        blocks: &[BlockName],
        place: ReplicaIndex,
        view: &RouterView,
        now_us: f64,
    ) {
        if self.recent.len() <= place.index() {
            self.recent.resize(place.index() + 1, BTreeMap::new());
            self.evicted.resize(place.index() + 1, 0.0);
        }
        // Backwards, so that the end of a prompt is forgotten before its start.
        for &block in blocks.iter().rev() {
            self.clock += 1;
            let holders = self.known.entry(block).or_default();
            match holders.binary_search_by_key(&place, |holder| holder.0) {
                Ok(at) => {
                    self.recent[place].remove(&holders[at].1);
                    holders[at].1 = self.clock;
                }
                Err(at) => holders.insert(at, (place, self.clock)),
            }
            self.recent[place].insert(self.clock, (block, now_us));
        }
        let oldest_us = now_us - view.ttl_us;
        while self.recent[place].first_key_value().is_some_and(|(_, &(_, used_us))| used_us < oldest_us) {
            self.forget_oldest(place);
        }
        let interval = if view.eviction_interval_us > 0.0 {
            (now_us / view.eviction_interval_us).floor()
        } else {
            f64::INFINITY
        };
        if interval > self.evicted[place] {
            if interval < f64::INFINITY {
                self.evicted[place] = interval;
            }
            while self.recent[place].len() > view.index_blocks as usize {
                self.forget_oldest(place);
            }
        }
    }

    fn forget_oldest(&mut self, place: ReplicaIndex) {
        let Some((_, (block, _))) = self.recent[place].pop_first() else { return };
        if let Some(holders) = self.known.get_mut(&block) {
            holders.retain(|holder| holder.0 != place);
            if holders.is_empty() {
                self.known.remove(&block);
            }
        }
    }
}

/// What replicas told of their caches, some time after it happened.
#[derive(Debug, Clone, Default)]
pub(super) struct EventIndex {
    replicas: Vec<(BTreeSet<BlockName>, VecDeque<BlockChange>)>,
}

impl EventIndex {
    /// Takes what replicas have to tell, and believes what is old enough.
    pub(super) fn hear<'a>(&mut self, caches: impl Iterator<Item = &'a mut KvCache>, until_us: f64) {
        for (place, cache) in caches.enumerate() {
            if self.replicas.len() <= place {
                self.replicas.push(Default::default());
            }
            let (known, coming) = &mut self.replicas[place];
            coming.extend(cache.drain_changes());
            while let Some(change) = coming.front().filter(|change| change.time_us <= until_us) {
                if change.is_stored {
                    known.insert(change.block)
                } else {
                    known.remove(&change.block)
                };
                coming.pop_front();
            }
        }
    }

    /// How many tokens of a prompt a replica told of, in blocks of its own.
    pub(super) fn matched_tokens(
        &self,
        trace: &Trace,
        id: RequestId,
        place: ReplicaIndex,
        cache: &KvCache,
    ) -> u32 {
        let Some((known, _)) = self.replicas.get(place.index()) else { return 0 };
        let size = cache.event_block_tokens();
        let is_known =
            |&index: &u32| cache.name_of(trace, id, index).is_some_and(|name| known.contains(&name));
        (0..most_cached(trace, id, size)).take_while(is_known).count() as u32 * size
    }
}

/// How many tokens of a prompt a replica has cached now.
pub(super) fn cached_tokens(trace: &Trace, id: RequestId, cache: &KvCache) -> u32 {
    let size = cache.block_size();
    cache.get_computed_blocks(trace, id, most_cached(trace, id, size)).0 * size
}

/// Most blocks of a prompt that a replica uses again: one token at least is computed.
fn most_cached(trace: &Trace, id: RequestId, block_tokens: u32) -> u32 {
    trace.input_tokens[id].saturating_sub(1) / block_tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: [ReplicaIndex; 2] = [ReplicaIndex::new(0), ReplicaIndex::new(1)];

    fn blocks(ids: &[u64]) -> Vec<BlockName> {
        ids.iter().map(|&id| (0, id, 64)).collect()
    }

    #[test]
    fn a_match_ends_at_the_first_block_that_a_replica_was_not_sent() {
        let (mut index, view) = (ApproximateIndex::default(), RouterView::default());
        index.insert(&blocks(&[1, 2, 3]), PLACES[0], &view, 0.0);
        index.insert(&blocks(&[1, 9]), PLACES[1], &view, 0.0);
        assert_eq!(index.matched(&blocks(&[1, 2, 8]), &PLACES, f64::NEG_INFINITY), [2, 1]);
        assert_eq!(index.matched(&blocks(&[7, 2, 3]), &PLACES, f64::NEG_INFINITY), [0, 0]);
        assert_eq!((index.blocks_of(PLACES[0]), index.blocks_of(PLACES[1])), (3, 2));
    }

    #[test]
    fn what_was_not_used_is_forgotten_by_time_and_by_number() {
        let matched = |index: &ApproximateIndex, now_us: f64, view: &RouterView| {
            index.matched(&blocks(&[1, 2, 3]), &PLACES[..1], now_us - view.ttl_us)
        };
        let view = RouterView { ttl_us: 10.0, ..RouterView::default() };
        let mut index = ApproximateIndex::default();
        index.insert(&blocks(&[1, 2, 3]), PLACES[0], &view, 0.0);
        index.insert(&blocks(&[1, 2]), PLACES[0], &view, 8.0);
        assert_eq!((matched(&index, 10.0, &view), matched(&index, 11.0, &view)), (vec![3], vec![2]));
        index.insert(&blocks(&[4]), PLACES[0], &view, 11.0);
        assert_eq!(index.blocks_of(PLACES[0]), 3);
        // The end of a prompt goes first.
        let view = RouterView { index_blocks: 2, ..RouterView::default() };
        let mut index = ApproximateIndex::default();
        index.insert(&blocks(&[1, 2, 3]), PLACES[0], &view, 0.0);
        assert_eq!(matched(&index, 0.0, &view), [2]);
        // With an interval, only when one has passed.
        let view = RouterView { eviction_interval_us: 10.0, ..view };
        let mut index = ApproximateIndex::default();
        index.insert(&blocks(&[1, 2, 3]), PLACES[0], &view, 9.0);
        assert_eq!(index.blocks_of(PLACES[0]), 3);
        index.insert(&blocks(&[1]), PLACES[0], &view, 10.0);
        assert_eq!(index.blocks_of(PLACES[0]), 2);
    }
}
