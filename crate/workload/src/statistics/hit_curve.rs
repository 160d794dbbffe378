//! The share of prompt blocks that a cache of each size finds, in one pass over a trace: a block is found by a cache that keeps the
//! most recently used blocks if no more other blocks were used since than it has room for (stack distances, Mattson et al., IBM
//! Systems Journal 1970). Requests come in the order of the trace and are served at once; a block counts as found where all before it
//! in the prompt are found, and the end of a prompt is used before its start, so that it leaves first.

use rustc_hash::FxHashMap;

use crate::BASE_MODEL;
use crate::trace::Trace;

/// Blocks found, by the smallest cache that finds them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HitCurve {
    blocks: u64,
    /// How many of them a cache of each size finds, from one for a single block on; as many as the last one, beyond.
    found: Vec<u64>,
}

impl HitCurve {
    /// The curve of the prompts of a trace; `None`: it has no blocks. `with_outputs`: the blocks that an output fills are kept, too.
    /// Equal blocks of different adapters are different ones.
    pub fn of(trace: &Trace, with_outputs: bool) -> Option<Self> {
        let prefix = &trace.metadata.as_ref()?.prefix;
        if prefix.prompts.ids.is_empty() {
            return None;
        }
        let ids = |id: usize| (prefix.of(id), if with_outputs { prefix.outputs.of(id) } else { &[] });
        if trace.adapter.iter().all(|&adapter| adapter == BASE_MODEL) {
            return Some(Self::of_requests((0..trace.len()).map(ids)));
        }
        let mut numbers: FxHashMap<(u32, u64), u64> = FxHashMap::default();
        let (mut curve, mut uses) = (Self::default(), Uses::default());
        for (id, &adapter) in trace.adapter.iter().enumerate() {
            let mut number = |&block: &u64| {
                let next = numbers.len() as u64;
                *numbers.entry((adapter, block)).or_insert(next)
            };
            let (prompt, output) = ids(id);
            let prompt: Vec<u64> = prompt.iter().map(&mut number).collect();
            let output: Vec<u64> = output.iter().map(&mut number).collect();
            curve.add(&mut uses, (&prompt, &output));
        }
        Some(curve.summed())
    }

    /// The same of requests, each with the blocks of its prompt and those of its output.
    pub fn of_requests<'a>(requests: impl Iterator<Item = (&'a [u64], &'a [u64])>) -> Self {
        let (mut curve, mut uses) = (Self::default(), Uses::default());
        requests.for_each(|request| curve.add(&mut uses, request));
        curve.summed()
    }

    /// With the sums over all smaller sizes in place of what each size finds more.
    fn summed(mut self) -> Self {
        let mut sum = 0;
        for count in &mut self.found {
            sum += *count;
            *count = sum;
        }
        self
    }

    fn add(&mut self, uses: &mut Uses, (prompt, output): (&[u64], &[u64])) {
        self.blocks += prompt.len() as u64;
        let mut size = 0;
        // When the block before was used last, and how many blocks were from then on.
        let mut before: Option<(u32, u32)> = None;
        for &block in prompt {
            let Some(time) = uses.time(block) else { break };
            // One that was used right before that one has one more block after it.
            let beside = before.filter(|&(after, _)| after == time + 1);
            let distance = beside.map_or_else(|| uses.since(time), |(_, distance)| distance + 1);
            before = Some((time, distance));
            size = size.max(distance);
            let at = size as usize - 1;
            if self.found.len() <= at {
                self.found.resize(at + 1, 0);
            }
            self.found[at] += 1;
        }
        prompt.iter().chain(output).rev().for_each(|&block| uses.use_now(block));
    }

    /// Blocks of all prompts.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The share of them that a cache for so many blocks finds.
    pub fn share(&self, size: u64) -> f64 {
        let most = usize::try_from(size).unwrap_or(usize::MAX).min(self.found.len());
        let found = most.checked_sub(1).map_or(0, |at| self.found[at]);
        found as f64 / self.blocks.max(1) as f64
    }

    /// The smallest cache that finds as much as one without limit, blocks.
    pub fn largest(&self) -> u32 {
        self.found.len() as u32
    }
}

/// Times whose uses are counted together.
const BUCKET: u32 = 4096;

/// When each block was used last, and how many were used since: a bit for each time at which a block was used last, and a Fenwick tree
/// over buckets of them.
#[derive(Debug, Default)]
struct Uses {
    last: FxHashMap<u64, u32>,
    bits: Vec<u64>,
    sums: Vec<u32>,
    /// Times so far.
    now: u32,
}

impl Uses {
    /// When a block was used last; `None`: never.
    fn time(&self, block: u64) -> Option<u32> {
        self.last.get(&block).copied()
    }

    /// How many blocks were used last at a time or later.
    fn since(&self, time: u32) -> u32 {
        let words =
            time as usize / 64..(time.next_multiple_of(BUCKET).max(1) as usize / 64).min(self.bits.len());
        let mut sum = 0;
        for (place, &word) in self.bits[words.clone()].iter().enumerate() {
            let from = if place == 0 { time % 64 } else { 0 };
            sum += (word >> from).count_ones();
        }
        let mut bucket = words.end / (BUCKET as usize / 64);
        let (mut before, all) = (0u32, self.last.len() as u32);
        while bucket > 0 {
            before = before.wrapping_add(self.sums[bucket]);
            bucket &= bucket - 1;
        }
        sum + (all - before)
    }

    fn use_now(&mut self, block: u64) {
        if self.now as usize >= 64 * self.bits.len() {
            self.renumber();
        }
        let now = self.now;
        self.now += 1;
        if let Some(before) = self.last.insert(block, now) {
            self.change(before, u32::MAX);
        }
        self.change(now, 1);
    }

    fn change(&mut self, time: u32, by: u32) {
        self.bits[time as usize / 64] ^= 1 << (time % 64);
        let mut bucket = (time / BUCKET) as usize + 1;
        while bucket < self.sums.len() {
            self.sums[bucket] = self.sums[bucket].wrapping_add(by);
            bucket += bucket & bucket.wrapping_neg();
        }
    }

    /// Only the order of the last uses matters: they are numbered anew, with room for three times as many more.
    fn renumber(&mut self) {
        let mut order: Vec<(u32, u64)> = self.last.iter().map(|(&block, &time)| (time, block)).collect();
        order.sort_unstable();
        let buckets = (4 * order.len()).div_ceil(BUCKET as usize).max(1);
        self.bits = vec![0; buckets * BUCKET as usize / 64];
        self.sums = vec![0; buckets + 1];
        self.now = 0;
        for (_, block) in order {
            let now = self.now;
            self.now += 1;
            self.last.insert(block, now);
            self.change(now, 1);
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
        // More than fit in a bucket of times, too.
        for blocks in [10u32, 9_000] {
            let requests: Vec<[u64; 1]> = (0..10 * blocks).map(|i| [u64::from(i % blocks)]).collect();
            let curve = HitCurve::of_requests(requests.iter().map(|one| (&one[..], &[][..])));
            let shares = [blocks - 1, blocks].map(|size| curve.share(size.into()));
            assert_eq!((shares, curve.largest()), ([0.0, 0.9], blocks));
        }
    }
}
