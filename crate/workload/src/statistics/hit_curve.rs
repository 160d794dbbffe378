//! The share of prompt blocks that a cache of each size finds, in one pass over a trace: a block is found by a cache that keeps the
//! most recently used blocks if no more other blocks were used since than it has room for (stack distances, Mattson et al., IBM
//! Systems Journal 1970). Requests come in the order of the trace and are served at once; a block counts as found where all before it
//! in the prompt are found, and the end of a prompt is used before its start, so that it leaves first.

use std::collections::BTreeMap;

use crate::trace::Trace;

/// Blocks found, by the smallest cache that finds them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HitCurve {
    blocks: u64,
    /// How many more blocks are found from each size on, in the order of size.
    found_from: BTreeMap<u32, u64>,
}

impl HitCurve {
    /// The curve of the prompts of a trace; `None`: it has no blocks. `with_outputs`: the blocks that an output fills are kept, too.
    pub fn of(trace: &Trace, with_outputs: bool) -> Option<Self> {
        let prefix = &trace.metadata.as_ref()?.prefix;
        if prefix.prompts.ids.is_empty() {
            return None;
        }
        let requests = (0..trace.len()).map(|id| {
            let outputs = if with_outputs { prefix.outputs.of(id) } else { &[] };
            (prefix.of(id), outputs)
        });
        Some(Self::of_requests(requests))
    }

    /// The same of requests, each with the blocks of its prompt and those of its output.
    pub fn of_requests<'a>(requests: impl Iterator<Item = (&'a [u64], &'a [u64])>) -> Self {
        let (mut curve, mut uses) = (Self::default(), Uses::default());
        for (prompt, output) in requests {
            curve.blocks += prompt.len() as u64;
            let mut size = 0;
            for &block in prompt {
                let Some(distance) = uses.distance(block) else { break };
                size = size.max(distance);
                *curve.found_from.entry(size).or_default() += 1;
            }
            prompt.iter().chain(output).rev().for_each(|&block| uses.use_now(block));
        }
        curve
    }

    /// Blocks of all prompts.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The share of them that a cache for so many blocks finds.
    pub fn share(&self, size: u64) -> f64 {
        let most = u32::try_from(size).unwrap_or(u32::MAX);
        let found: u64 = self.found_from.range(..=most).map(|(_, count)| count).sum();
        found as f64 / self.blocks.max(1) as f64
    }

    /// The smallest cache that finds as much as one without limit, blocks.
    pub fn largest(&self) -> u32 {
        self.found_from.last_key_value().map_or(0, |(&size, _)| size)
    }
}

/// When each block was used last, and how many were used since: a Fenwick tree over the times of last uses.
#[derive(Debug, Default)]
struct Uses {
    last: BTreeMap<u64, u32>,
    tree: Vec<u32>,
    /// Times so far, from 1 on.
    now: u32,
}

impl Uses {
    /// How many blocks were used since this one was, itself included; `None`: it was never used.
    fn distance(&self, block: u64) -> Option<u32> {
        let &time = self.last.get(&block)?;
        Some(self.last.len() as u32 - self.upto(time - 1))
    }

    fn use_now(&mut self, block: u64) {
        if self.now as usize + 1 >= self.tree.len() {
            self.renumber();
        }
        self.now += 1;
        let now = self.now;
        if let Some(before) = self.last.insert(block, now) {
            self.add(before, u32::MAX);
        }
        self.add(now, 1);
    }

    /// Blocks whose last use was at a time or before.
    fn upto(&self, time: u32) -> u32 {
        let (mut sum, mut place) = (0u32, time);
        while place > 0 {
            sum = sum.wrapping_add(self.tree[place as usize]);
            place &= place - 1;
        }
        sum
    }

    fn add(&mut self, time: u32, change: u32) {
        let mut place = time as usize;
        while place < self.tree.len() {
            self.tree[place] = self.tree[place].wrapping_add(change);
            place += place & place.wrapping_neg();
        }
    }

    /// Only the order of the last uses matters: they are numbered anew, with room for as many again.
    fn renumber(&mut self) {
        let mut order: Vec<(u32, u64)> = self.last.iter().map(|(&block, &time)| (time, block)).collect();
        order.sort_unstable();
        self.tree = vec![0; (4 * order.len()).max(1 << 10)];
        self.now = 0;
        for (_, block) in order {
            self.now += 1;
            self.last.insert(block, self.now);
            self.add(self.now, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A cache of one size, the least recently used block first.
    fn found_by_cache(requests: &[(Vec<u64>, Vec<u64>)], size: usize) -> u64 {
        let (mut cache, mut found): (Vec<u64>, u64) = (Vec::new(), 0);
        for (prompt, output) in requests {
            found += prompt.iter().take_while(|block| cache.contains(block)).count() as u64;
            for &block in prompt.iter().chain(output).rev() {
                cache.retain(|&other| other != block);
                cache.push(block);
                if cache.len() > size {
                    cache.remove(0);
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn one_pass_finds_what_a_cache_of_each_size_finds(
            requests in prop::collection::vec(
                (prop::collection::btree_set(0u64..20, 0..7), prop::collection::btree_set(20u64..30, 0..3)),
                1..40,
            ),
        ) {
            // A block stands for all before it: here for those with lower numbers, which every prompt with it may leave out.
            let requests: Vec<(Vec<u64>, Vec<u64>)> = requests
                .into_iter()
                .map(|(prompt, output)| (prompt.into_iter().collect(), output.into_iter().collect()))
                .collect();
            let curve = HitCurve::of_requests(requests.iter().map(|(prompt, output)| (&prompt[..], &output[..])));
            for size in 0..32 {
                let share = found_by_cache(&requests, size) as f64 / curve.blocks().max(1) as f64;
                prop_assert!((curve.share(size as u64) - share).abs() < 1e-12, "{size}: {} {share}", curve.share(size as u64));
            }
        }
    }

    #[test]
    fn a_cycle_over_more_blocks_than_fit_finds_nothing() {
        let requests: Vec<[u64; 1]> = (0..100).map(|i| [i % 10]).collect();
        let curve = HitCurve::of_requests(requests.iter().map(|one| (&one[..], &[][..])));
        assert_eq!((curve.share(9), curve.share(10), curve.largest()), (0.0, 0.9, 10));
    }
}
