//! The block that was used longest ago leaves first (vllm/v1/kv_offload/cpu/policies/lru.py). The blocks of a request that has not
//! ended share its rank, and of those the end of the prompt leaves first; when it ends they are ranked anew in that order.

use std::collections::{BTreeMap, BTreeSet};

use servescope_workload::RequestId;

use super::policy::{Placed, Policy};
use crate::replica::kv_cache::BlockContents;

/// The rank of its last use, and how far from the start of its request it is: what is less leaves first.
type Rank = (u64, i64);

#[derive(Debug, Clone, Default)]
pub(super) struct Lru {
    ranks: BTreeMap<BlockContents, Rank>,
    evictable: BTreeSet<(Rank, BlockContents)>,
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

    fn set_rank(&mut self, contents: BlockContents, rank: Rank) {
        let Some(before) = self.ranks.get_mut(&contents) else { return };
        if self.evictable.remove(&(*before, contents)) {
            self.evictable.insert((rank, contents));
        }
        *before = rank;
    }
}

impl Policy for Lru {
    fn boxed(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }

    fn insert(&mut self, request: RequestId, (index, contents): Placed) {
        let rank = (self.rank_of(request), -i64::from(index));
        self.ranks.insert(contents, rank);
    }

    fn set_evictable(&mut self, contents: BlockContents, is_evictable: bool) {
        let Some(&rank) = self.ranks.get(&contents) else { return };
        if is_evictable {
            self.evictable.insert((rank, contents));
        } else {
            self.evictable.remove(&(rank, contents));
        }
    }

    fn miss(&mut self, _: &[Placed]) {}

    fn access(&mut self, request: RequestId, blocks: &[Placed]) {
        let of_request = self.rank_of(request);
        for &(index, contents) in blocks {
            let rank = (of_request, -i64::from(index));
            if self.ranks.get(&contents).is_some_and(|&before| before < rank) {
                self.set_rank(contents, rank);
            }
        }
    }

    fn ends(&mut self, request: RequestId, blocks: &[(Placed, bool)]) {
        self.requests.remove(&request);
        for ((_, contents), _) in blocks.iter().rev() {
            if self.ranks.contains_key(contents) {
                self.last += 1;
                self.set_rank(*contents, (self.last, 0));
            }
        }
    }

    fn evict(&mut self, count: usize, protected: &BTreeSet<BlockContents>) -> Option<Vec<BlockContents>> {
        let may_leave = self.evictable.iter().filter(|(_, contents)| !protected.contains(contents));
        let chosen: Vec<(Rank, BlockContents)> = may_leave.take(count).copied().collect();
        if chosen.len() < count {
            return None;
        }
        for entry in &chosen {
            self.evictable.remove(entry);
            self.ranks.remove(&entry.1);
        }
        Some(chosen.into_iter().map(|entry| entry.1).collect())
    }
}
