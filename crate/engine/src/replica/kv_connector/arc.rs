//! vLLM's form of the adaptive replacement cache (vllm/v1/kv_offload/cpu/policies/arc.py): blocks that one request used (`once`) and
//! blocks that a later one used again (`again`), each with a list of those that left. A block that comes back after it left moves the
//! size at which `once` gives blocks up.

use std::collections::VecDeque;

use servescope_workload::RequestId;

use super::policy::{BlockSet, Placed, Policy};
use crate::block_numbers::number_map::NumberMap;
use crate::replica::kv_cache::BlockContents;

/// Blocks in the order in which they were put in.
#[derive(Debug, Clone, Default)]
struct Order {
    places: NumberMap<u64>,
    /// With places that blocks have left.
    blocks: VecDeque<(u64, BlockContents)>,
    last: u64,
}

impl Order {
    /// It is the newest from now on.
    fn push(&mut self, contents: BlockContents) {
        self.last += 1;
        self.places.insert(contents.key(), self.last);
        self.blocks.push_back((self.last, contents));
        if self.blocks.len() > 2 * self.places.len() + 64 {
            let Self { places, blocks, .. } = self;
            blocks.retain(|&(place, contents)| places.get(contents.key()) == Some(place));
        }
    }

    /// Says whether it was there.
    fn remove(&mut self, contents: BlockContents) -> bool {
        self.places.remove(contents.key()).is_some()
    }

    fn contains(&self, contents: BlockContents) -> bool {
        self.places.contains(contents.key())
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    /// From the oldest on.
    fn iter(&self) -> impl Iterator<Item = BlockContents> {
        let is_there =
            |&&(place, contents): &&(u64, BlockContents)| self.places.get(contents.key()) == Some(place);
        self.blocks.iter().filter(is_there).map(|block| block.1)
    }

    fn cut_to(&mut self, most: usize) {
        while self.len() > most
            && let Some((place, contents)) = self.blocks.pop_front()
        {
            if self.places.get(contents.key()) == Some(place) {
                self.places.remove(contents.key());
            }
        }
    }

    /// Places at the start that blocks have left are forgotten.
    fn drop_left(&mut self) {
        let has_left = |order: &Self| {
            let oldest = order.blocks.front();
            oldest.is_some_and(|&(place, contents)| order.places.get(contents.key()) != Some(place))
        };
        while has_left(self) {
            self.blocks.pop_front();
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Arc {
    most: usize,
    once: Order,
    again: Order,
    left_once: Order,
    left_again: Order,
    /// The size at which `once` gives blocks up (`target_t1_size`).
    target: f64,
    evictable: BlockSet,
}

impl Arc {
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    fn adapt(&mut self, contents: BlockContents) {
        let ratio = |one: &Order, other: &Order| (one.len() as f64 / other.len() as f64).max(1.0);
        if self.left_once.contains(contents) {
            let delta = ratio(&self.left_again, &self.left_once);
            self.target = (self.target + delta).min(self.most as f64);
            self.left_once.push(contents);
        } else if self.left_again.contains(contents) {
            let delta = ratio(&self.left_once, &self.left_again);
            self.target = (self.target - delta).max(0.0);
            self.left_again.push(contents);
        }
    }
}

impl Policy for Arc {
    fn boxed(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }

    fn insert(&mut self, _: RequestId, (_, contents): Placed) {
        self.once.push(contents);
        self.left_once.remove(contents);
        self.left_again.remove(contents);
    }

    fn set_evictable(&mut self, contents: BlockContents, is_evictable: bool) {
        if is_evictable {
            self.evictable.insert(contents.key(), ());
        } else {
            self.evictable.remove(contents.key());
        }
    }

    fn miss(&mut self, blocks: &[Placed]) {
        for &(_, contents) in blocks.iter().rev() {
            self.adapt(contents);
        }
    }

    fn access(&mut self, _: RequestId, _: &[Placed]) {}

    fn ends(&mut self, _: RequestId, blocks: &[(Placed, bool)]) {
        for &((_, contents), is_used_again) in blocks.iter().rev() {
            match (is_used_again, self.once.contains(contents), self.again.contains(contents)) {
                (false, true, _) => self.once.push(contents),
                (true, true, _) => {
                    self.once.remove(contents);
                    self.again.push(contents);
                }
                (_, false, true) => self.again.push(contents),
                (_, false, false) => {}
            }
        }
    }

    fn evict(&mut self, count: usize, protected: &BlockSet) -> Option<Vec<BlockContents>> {
        let may_leave = |contents: &BlockContents| {
            self.evictable.contains(contents.key()) && !protected.contains(contents.key())
        };
        let mut once = self.once.iter().filter(may_leave);
        let mut again = self.again.iter().filter(may_leave);
        let (mut size, target) = (self.once.len(), self.target as usize);
        let mut chosen = Vec::new();
        for _ in 0..count {
            let first = if size >= target { once.next().map(|contents| (contents, true)) } else { None };
            let next = first
                .or_else(|| again.next().map(|contents| (contents, false)))
                .or_else(|| once.next().map(|contents| (contents, true)))?;
            size -= usize::from(next.1);
            chosen.push(next);
        }
        drop((once, again));
        for &(contents, was_once) in &chosen {
            self.evictable.remove(contents.key());
            if was_once {
                self.once.remove(contents);
                self.left_once.push(contents);
            } else {
                self.again.remove(contents);
                self.left_again.push(contents);
            }
        }
        self.once.drop_left();
        self.again.drop_left();
        self.left_once.cut_to(self.most);
        self.left_again.cut_to(self.most);
        Some(chosen.into_iter().map(|chosen| chosen.0).collect())
    }
}
