//! The block that was used longest ago leaves first (vllm/v1/kv_offload/cpu/policies/lru.py). The blocks of a request that has not
//! ended share its rank, and of those the end of the prompt leaves first; when it ends they share a new rank, in the same order.

use std::collections::{BTreeMap, VecDeque};

use servescope_workload::RequestId;

use super::policy::{BlockSet, Placed, Policy};
use crate::block_numbers::number_map::NumberMap;
use crate::replica::kv_cache::BlockContents;

/// Where a block stands: the rank of its last use, and how far from the start of its request it is.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    rank: u64,
    index: u32,
    is_evictable: bool,
}

/// The blocks of one rank, and some that have left it.
#[derive(Debug, Clone, Default)]
struct Ranked {
    /// From the start of the request, where they are in order.
    blocks: Vec<Placed>,
    is_out_of_order: bool,
    /// How many have not left.
    count: usize,
}

impl Ranked {
    fn push(&mut self, block: Placed) {
        self.is_out_of_order |= self.blocks.last().is_some_and(|last| last.0 >= block.0);
        self.blocks.push(block);
        self.count += 1;
    }

    /// One has left, whose place is forgotten later.
    fn leave(&mut self) {
        self.count -= 1;
        if self.count == 0 {
            *self = Self::default();
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Lru {
    places: NumberMap<Place>,
    /// From rank `first` on; those without blocks at the start are dropped.
    ranks: VecDeque<Ranked>,
    first: u64,
    requests: BTreeMap<RequestId, u64>,
    last: u64,
}

impl Lru {
    fn rank_of(&mut self, request: RequestId) -> u64 {
        *self.requests.entry(request).or_insert_with(|| {
            self.last += 1;
            self.last
        })
    }

    fn ranked(&mut self, rank: u64) -> &mut Ranked {
        while rank < self.first {
            self.ranks.push_front(Ranked::default());
            self.first -= 1;
        }
        let at = (rank - self.first) as usize;
        if self.ranks.len() <= at {
            self.ranks.resize_with(at + 1, Ranked::default);
        }
        &mut self.ranks[at]
    }

    /// Ranks without blocks at the start are dropped.
    fn drop_empty(&mut self) {
        while self.ranks.front().is_some_and(|ranked| ranked.count == 0) {
            self.ranks.pop_front();
            self.first += 1;
        }
    }

    /// Those of the blocks that are there, and have a lower rank, get this one.
    fn raise(&mut self, blocks: impl Iterator<Item = Placed>, rank: u64) {
        let mut raised: Vec<(Placed, u64)> = Vec::new();
        self.places.change_known(blocks.map(|block| (block.1.key(), block)), |block, place| {
            if place.rank < rank {
                raised.push((block, place.rank));
                (place.rank, place.index) = (rank, block.0);
            }
        });
        for &(_, before) in &raised {
            self.ranked(before).leave();
        }
        let ranked = self.ranked(rank);
        raised.into_iter().for_each(|(block, _)| ranked.push(block));
        self.drop_empty();
    }
}

impl Policy for Lru {
    fn boxed(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }

    fn insert(&mut self, request: RequestId, block: Placed) {
        let rank = self.rank_of(request);
        self.places.insert(block.1.key(), Place { rank, index: block.0, is_evictable: false });
        self.ranked(rank).push(block);
    }

    fn set_evictable(&mut self, contents: BlockContents, is_evictable: bool) {
        if let Some(place) = self.places.get_mut(contents.key()) {
            place.is_evictable = is_evictable;
        }
    }

    fn miss(&mut self, _: &[Placed]) {}

    fn access(&mut self, request: RequestId, blocks: &[Placed]) {
        let rank = self.rank_of(request);
        self.raise(blocks.iter().copied(), rank);
    }

    fn ends(&mut self, request: RequestId, blocks: &[(Placed, bool)]) {
        self.requests.remove(&request);
        self.last += 1;
        self.raise(blocks.iter().map(|of_block| of_block.0), self.last);
    }

    fn evict(&mut self, count: usize, protected: &BlockSet) -> Option<Vec<BlockContents>> {
        let Self { places, ranks, first, .. } = self;
        // The chosen ones, and of each rank with some the place of the foremost.
        let (mut chosen, mut touched) = (Vec::with_capacity(count), Vec::new());
        for (rank, ranked) in (*first..).zip(ranks.iter_mut()) {
            if chosen.len() == count {
                break;
            }
            let is_there = |block: &Placed| {
                places.get(block.1.key()).filter(|place| place.rank == rank && place.index == block.0)
            };
            if std::mem::take(&mut ranked.is_out_of_order) {
                ranked.blocks.retain(|block| is_there(block).is_some());
                ranked.blocks.sort_unstable_by_key(|block| block.0);
                ranked.blocks.dedup_by_key(|block| block.0);
            }
            while ranked.blocks.last().is_some_and(|last| is_there(last).is_none()) {
                ranked.blocks.pop();
            }
            let of_rank = chosen.len();
            let mut foremost = ranked.blocks.len();
            for (at, block) in ranked.blocks.iter().enumerate().rev() {
                if chosen.len() == count {
                    break;
                }
                if is_there(block).is_some_and(|place| place.is_evictable)
                    && !protected.contains(block.1.key())
                {
                    chosen.push(block.1);
                    foremost = at;
                }
            }
            if chosen.len() > of_rank {
                touched.push((rank, foremost));
            }
        }
        if chosen.len() < count {
            return None;
        }
        for contents in &chosen {
            if let Some(place) = places.remove(contents.key()) {
                ranks[(place.rank - *first) as usize].leave();
            }
        }
        for (rank, foremost) in touched {
            let blocks = &mut ranks[(rank - *first) as usize].blocks;
            let behind = blocks.split_off(foremost.min(blocks.len()));
            blocks.extend(behind.into_iter().filter(|block| places.contains(block.1.key())));
        }
        self.drop_empty();
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Every block with a rank of its own, in one tree.
    #[derive(Default)]
    struct Naive {
        places: BTreeMap<u64, ((u64, i64), bool)>,
        requests: BTreeMap<RequestId, u64>,
        last: u64,
    }

    impl Naive {
        fn rank_of(&mut self, request: RequestId) -> u64 {
            *self.requests.entry(request).or_insert_with(|| {
                self.last += 1;
                self.last
            })
        }

        fn access(&mut self, request: RequestId, blocks: &[Placed]) {
            let of_request = self.rank_of(request);
            for (index, contents) in blocks {
                let rank = (of_request, -i64::from(*index));
                if let Some(place) = self.places.get_mut(&contents.key()) {
                    place.0 = place.0.max(rank);
                }
            }
        }

        fn ends(&mut self, request: RequestId, blocks: &[(Placed, bool)]) {
            self.requests.remove(&request);
            for ((_, contents), _) in blocks.iter().rev() {
                if let Some(place) = self.places.get_mut(&contents.key()) {
                    self.last += 1;
                    place.0 = (self.last, 0);
                }
            }
        }

        fn evict(&mut self, count: usize, protected: &BlockSet) -> Option<Vec<u64>> {
            let may_leave = self.places.iter().filter(|(key, place)| place.1 && !protected.contains(**key));
            let order: BTreeSet<((u64, i64), u64)> = may_leave.map(|(&key, place)| (place.0, key)).collect();
            let chosen: Vec<u64> = order.into_iter().take(count).map(|entry| entry.1).collect();
            if chosen.len() < count {
                return None;
            }
            for key in &chosen {
                self.places.remove(key);
            }
            Some(chosen)
        }
    }

    /// Blocks of requests that share the first ones: after those a request has its own.
    fn block(request: u32, index: u32) -> Placed {
        let number = if index < 4 { index } else { 100 * (request + 1) + index };
        (index, BlockContents::numbered(number))
    }

    proptest! {
        #[test]
        fn blocks_leave_in_the_order_of_ranks_of_their_own(
            steps in prop::collection::vec((0u32..5, 0u8..5, 0u32..9, 1u32..6), 0..160),
        ) {
            let (mut lru, mut naive) = (Lru::default(), Naive::default());
            for (request, step, from, count) in steps {
                let id = RequestId::new(request);
                let blocks: Vec<Placed> = (from..from + count).map(|index| block(request, index)).collect();
                match step {
                    0 => for &placed in &blocks {
                        // One that is there is not stored again.
                        if !naive.places.contains_key(&placed.1.key()) {
                            let rank = (naive.rank_of(id), -i64::from(placed.0));
                            naive.places.insert(placed.1.key(), (rank, false));
                            lru.insert(id, placed);
                        }
                    },
                    1 => for (_, contents) in blocks {
                        let is_evictable = from % 3 > 0;
                        if let Some(place) = naive.places.get_mut(&contents.key()) {
                            place.1 = is_evictable;
                        }
                        lru.set_evictable(contents, is_evictable);
                    },
                    2 => {
                        lru.access(id, &blocks);
                        naive.access(id, &blocks);
                    }
                    3 => {
                        let blocks: Vec<(Placed, bool)> = blocks.into_iter().map(|placed| (placed, true)).collect();
                        lru.ends(id, &blocks);
                        naive.ends(id, &blocks);
                    }
                    _ => {
                        let mut protected = BlockSet::default();
                        protected.insert(block(request, from).1.key(), ());
                        let chosen = lru.evict(count as usize, &protected);
                        let keys = chosen.map(|chosen| chosen.into_iter().map(BlockContents::key).collect());
                        prop_assert_eq!(keys, naive.evict(count as usize, &protected));
                    }
                }
            }
        }
    }
}
