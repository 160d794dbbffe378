//! What a router believes each replica has cached: blocks that it sent there itself, or blocks that replicas told it of.
//!
//! A block has a number, which stands for all before it, too ([`BlockNumbers`]).

use std::collections::VecDeque;

use servescope_workload::{RequestId, Trace};

use crate::block_numbers::BlockNumbers;
use crate::block_numbers::number_map::NumberMap;
use crate::config::routing::RouterView;
use crate::replica::Replica;
use crate::replica::kv_cache::{BlockChange, CacheTier, KvCache};
use crate::replica_index::ReplicaIndex;

/// Blocks that were sent to replicas. Nobody says what became of them there.
#[derive(Debug, Clone, Default)]
pub(super) struct ApproximateIndex {
    replicas: Vec<SentBlocks>,
    /// When each request was sent, in their order.
    sent_us: Vec<f64>,
}

/// Blocks that one replica was sent.
#[derive(Debug, Clone, Default)]
struct SentBlocks {
    /// The last request that had each block, as a place in the times when they were sent.
    last: NumberMap<u32>,
    /// Requests by those places, the longest ago first; of each how many of its blocks were not looked at to be forgotten, the first
    /// ones.
    sent: VecDeque<(u32, RequestId, u32)>,
    /// The interval in which the number of blocks was last enforced.
    evicted: f64,
}

impl SentBlocks {
    /// The block that was sent longest ago, of one request the last one, and by which request. Others that were sent again since are
    /// passed over.
    fn oldest(&mut self, numbers: &BlockNumbers) -> Option<(u32, u32)> {
        loop {
            let (place, id, left) = self.sent.front_mut()?;
            let Some(index) = left.checked_sub(1) else {
                self.sent.pop_front();
                continue;
            };
            let block = numbers.get(*id, index)?;
            if self.last.get(block.into()) == Some(*place) {
                return Some((block, *place));
            }
            *left = index;
        }
    }

    fn forget(&mut self, block: u32) {
        self.last.remove(block.into());
    }
}

impl ApproximateIndex {
    /// How many of the first blocks of a request each of these replicas was sent, in their order.
    pub(super) fn matched(
        &self,
        (numbers, id): (&BlockNumbers, RequestId),
        candidates: &[ReplicaIndex],
        oldest_us: f64,
    ) -> Vec<u32> {
        let of_replica = |place: &ReplicaIndex| {
            let Some(sent) = self.replicas.get(place.index()) else { return 0 };
            let mut last = sent.last.reader();
            let is_there = |&block: &u32| {
                last.get(block.into()).is_some_and(|place| self.sent_us[place as usize] >= oldest_us)
            };
            numbers.iter(id, 0..u32::MAX).take_while(is_there).count() as u32
        };
        candidates.iter().map(of_replica).collect()
    }

    /// Blocks that are remembered of a replica.
    pub(super) fn blocks_of(&self, place: ReplicaIndex) -> usize {
        self.replicas.get(place.index()).map_or(0, |sent| sent.last.len())
    }

    /// A replica is sent a request.
    pub(super) fn insert(
        &mut self,
        (numbers, id): (&BlockNumbers, RequestId),
        place: ReplicaIndex,
        view: &RouterView,
        now_us: f64,
    ) {
        if self.replicas.len() <= place.index() {
            self.replicas.resize_with(place.index() + 1, SentBlocks::default);
        }
        let of_replica = &mut self.replicas[place];
        let turn = self.sent_us.len() as u32;
        self.sent_us.push(now_us);
        of_replica.sent.push_back((turn, id, numbers.count_of(id)));
        of_replica.last.change_all(numbers.iter(id, 0..u32::MAX).map(u64::from), |last, _| *last = turn);
        let oldest_us = now_us - view.ttl_us;
        while let Some((block, turn)) = of_replica.oldest(numbers)
            && self.sent_us[turn as usize] < oldest_us
        {
            of_replica.forget(block);
        }
        let interval = if view.eviction_interval_us > 0.0 {
            (now_us / view.eviction_interval_us).floor()
        } else {
            f64::INFINITY
        };
        if interval > of_replica.evicted {
            if interval < f64::INFINITY {
                of_replica.evicted = interval;
            }
            while of_replica.last.len() > view.index_blocks as usize
                && let Some((block, _)) = of_replica.oldest(numbers)
            {
                of_replica.forget(block);
            }
        }
    }
}

/// What replicas told of their caches, some time after it happened.
#[derive(Debug, Clone, Default)]
pub(super) struct EventIndex {
    replicas: Vec<ToldBlocks>,
}

/// What one replica told of its caches.
#[derive(Debug, Clone, Default)]
struct ToldBlocks {
    gpu: NumberMap<()>,
    host: NumberMap<()>,
    coming: VecDeque<BlockChange>,
}

impl EventIndex {
    /// Takes what replicas have to tell, and believes what is old enough.
    pub(super) fn hear<'a>(&mut self, caches: impl Iterator<Item = &'a mut KvCache>, until_us: f64) {
        for (place, cache) in caches.enumerate() {
            if self.replicas.len() <= place {
                self.replicas.push(ToldBlocks::default());
            }
            let ToldBlocks { gpu, host, coming } = &mut self.replicas[place];
            coming.extend(cache.drain_changes());
            while let Some(change) = coming.front().filter(|change| change.time_us <= until_us) {
                let known = match change.tier {
                    CacheTier::Gpu => &mut *gpu,
                    CacheTier::Host => &mut *host,
                };
                if change.is_stored {
                    known.insert(change.block.into(), ())
                } else {
                    known.remove(change.block.into())
                };
                coming.pop_front();
            }
        }
    }

    /// What of a prompt a replica told of.
    pub(super) fn matched(
        &self,
        trace: &Trace,
        id: RequestId,
        replica: &Replica,
        host_weight: f64,
    ) -> MatchedTokens {
        let Some(told) = self.replicas.get(replica.index.index()) else { return MatchedTokens::default() };
        let (mut gpu, mut host) = (told.gpu.reader(), told.host.reader());
        let tier_of = |block: u32| {
            let on_gpu = gpu.get(block.into()).map(|()| CacheTier::Gpu);
            on_gpu.or_else(|| host.get(block.into()).map(|()| CacheTier::Host))
        };
        matched_by(trace, id, replica, host_weight, tier_of)
    }
}

/// Tokens of a prompt that are cached, in whole blocks from its start on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct MatchedTokens {
    pub(super) gpu: u32,
    /// What those on the host count.
    pub(super) host: u32,
}

/// What a replica has of a prompt, block by block.
fn matched_by(
    trace: &Trace,
    id: RequestId,
    replica: &Replica,
    host_weight: f64,
    mut tier_of: impl FnMut(u32) -> Option<CacheTier>,
) -> MatchedTokens {
    let size = replica.kv.event_block_tokens();
    let (mut on_gpu, mut on_host) = (0, 0);
    for block in replica.kv.numbers_of(id, most_cached(trace, id, size)) {
        match tier_of(block) {
            Some(CacheTier::Gpu) => on_gpu += size,
            Some(CacheTier::Host) if host_weight > 0.0 => on_host += size,
            _ => break,
        }
    }
    MatchedTokens { gpu: on_gpu, host: (f64::from(on_host) * host_weight) as u32 }
}

/// What a replica has of a prompt now.
pub(super) fn cached_now(trace: &Trace, id: RequestId, replica: &Replica, host_weight: f64) -> MatchedTokens {
    if let Some(tier) = replica.kv_connector.as_ref().filter(|_| host_weight > 0.0) {
        let tier_of = |block: u32| {
            let on_gpu = replica.kv.has(block).then_some(CacheTier::Gpu);
            on_gpu.or_else(|| tier.has(block).then_some(CacheTier::Host))
        };
        return matched_by(trace, id, replica, host_weight, tier_of);
    }
    let size = replica.kv.block_size();
    let blocks = replica.kv.get_computed_blocks(id, most_cached(trace, id, size)).0;
    MatchedTokens { gpu: blocks * size, host: 0 }
}

/// Most blocks of a prompt that a replica uses again: one token at least is computed.
fn most_cached(trace: &Trace, id: RequestId, block_tokens: u32) -> u32 {
    trace.input_tokens[id].saturating_sub(1) / block_tokens
}

#[cfg(test)]
mod tests {
    use servescope_workload::BASE_MODEL;
    use servescope_workload::trace::{PrefixBlocks, Request, TraceMetadata};

    use super::*;

    const PLACES: [ReplicaIndex; 2] = [ReplicaIndex::new(0), ReplicaIndex::new(1)];

    /// Requests with prompts of these blocks.
    fn requests<const N: usize>(prompts: [&[u64]; N]) -> BlockNumbers {
        let (mut trace, mut prefix) = (Trace::default(), PrefixBlocks::new(64));
        for ids in prompts {
            prefix.push(ids.iter().copied());
            let (arrival_us, user, adapter, output_tokens, max_tokens) = (0.0, 0, BASE_MODEL, 1, 1);
            let input_tokens = 64 * ids.len() as u32;
            trace.push(Request { arrival_us, user, adapter, input_tokens, output_tokens, max_tokens });
        }
        trace.metadata = Some(Box::new(TraceMetadata { prefix, ..TraceMetadata::default() }));
        BlockNumbers::of_prompts(&trace, 64)
    }

    fn of(numbers: &BlockNumbers, id: u32) -> (&BlockNumbers, RequestId) {
        (numbers, RequestId::new(id))
    }

    #[test]
    fn a_match_ends_at_the_first_block_that_a_replica_was_not_sent() {
        let numbers = requests([&[1, 2, 3], &[1, 9], &[1, 2, 8], &[7, 2, 3]]);
        let (mut index, view) = (ApproximateIndex::default(), RouterView::default());
        index.insert(of(&numbers, 0), PLACES[0], &view, 0.0);
        index.insert(of(&numbers, 1), PLACES[1], &view, 0.0);
        assert_eq!(index.matched(of(&numbers, 2), &PLACES, f64::NEG_INFINITY), [2, 1]);
        assert_eq!(index.matched(of(&numbers, 3), &PLACES, f64::NEG_INFINITY), [0, 0]);
        assert_eq!((index.blocks_of(PLACES[0]), index.blocks_of(PLACES[1])), (3, 2));
    }

    #[test]
    fn what_was_not_used_is_forgotten_by_time_and_by_number() {
        let numbers = requests([&[1, 2, 3], &[1, 2], &[4], &[1]]);
        let matched = |index: &ApproximateIndex, now_us: f64, view: &RouterView| {
            index.matched(of(&numbers, 0), &PLACES[..1], now_us - view.ttl_us)
        };
        let view = RouterView { ttl_us: 10.0, ..RouterView::default() };
        let mut index = ApproximateIndex::default();
        index.insert(of(&numbers, 0), PLACES[0], &view, 0.0);
        index.insert(of(&numbers, 1), PLACES[0], &view, 8.0);
        assert_eq!((matched(&index, 10.0, &view), matched(&index, 11.0, &view)), (vec![3], vec![2]));
        index.insert(of(&numbers, 2), PLACES[0], &view, 11.0);
        assert_eq!(index.blocks_of(PLACES[0]), 3);
        // The end of a prompt goes first.
        let view = RouterView { index_blocks: 2, ..RouterView::default() };
        let mut index = ApproximateIndex::default();
        index.insert(of(&numbers, 0), PLACES[0], &view, 0.0);
        assert_eq!(matched(&index, 0.0, &view), [2]);
        // With an interval, only when one has passed.
        let view = RouterView { eviction_interval_us: 10.0, ..view };
        let mut index = ApproximateIndex::default();
        index.insert(of(&numbers, 0), PLACES[0], &view, 9.0);
        assert_eq!(index.blocks_of(PLACES[0]), 3);
        index.insert(of(&numbers, 3), PLACES[0], &view, 10.0);
        assert_eq!(index.blocks_of(PLACES[0]), 2);
    }
}
