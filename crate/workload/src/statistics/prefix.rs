//! Reuse of prefix blocks with a cache that keeps everything, in the order of the file.

use std::collections::BTreeMap;

use super::sort_places;
use crate::trace::Trace;

/// What a cache without limit would find.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PrefixReuse {
    /// Blocks of all requests.
    pub blocks: usize,
    /// Blocks found: leading ones that were seen before.
    pub found_blocks: usize,
    /// Tokens of all prompts.
    pub tokens: u64,
    /// Tokens of found blocks, at most the prompt.
    pub found_tokens: u64,
    /// Requests that found any.
    pub requests_with_any: usize,
    uses: BTreeMap<u64, u32>,
}

impl PrefixReuse {
    /// Looks up the blocks of the next request, and keeps them.
    pub fn add(&mut self, ids: &[u64], input_tokens: u32, block_tokens: u32) {
        let found = ids.iter().take_while(|id| self.uses.contains_key(id)).count();
        self.blocks += ids.len();
        self.found_blocks += found;
        self.tokens += u64::from(input_tokens);
        self.found_tokens += (found as u64 * u64::from(block_tokens)).min(input_tokens.into());
        self.requests_with_any += usize::from(found > 0);
        for &id in ids {
            *self.uses.entry(id).or_default() += 1;
        }
    }

    /// How often each block was used.
    pub fn uses(&self) -> impl Iterator<Item = f64> {
        self.uses.values().map(|&n| f64::from(n))
    }
}

/// Prompt tokens that a cache without limit would find, in the order of arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrefixHits {
    /// Tokens in a block.
    pub block_tokens: u32,
    /// Tokens of all prompts.
    pub tokens: u64,
    /// Tokens of leading blocks that an earlier prompt had, at most the prompt.
    pub found_tokens: u64,
}

impl PrefixHits {
    /// The hits of a trace; `None` where it has no blocks. The same as [`PrefixReuse`], by sorting.
    pub fn of(trace: &Trace) -> Option<Self> {
        let blocks = &trace.metadata.as_ref()?.prefix;
        if blocks.ids.is_empty() {
            return None;
        }
        let first_use = first_uses(&blocks.ids);
        let mut hits = Self { block_tokens: blocks.block_tokens, ..Self::default() };
        let mut start = 0;
        for (&end, &input) in blocks.ends.iter().zip(&trace.input_tokens) {
            let found = first_use[start..end].iter().take_while(|&&first| (first as usize) < start).count();
            hits.tokens += u64::from(input);
            hits.found_tokens += (found as u64 * u64::from(blocks.block_tokens)).min(input.into());
            start = end;
        }
        Some(hits)
    }

    /// Found tokens over all.
    pub fn share(&self) -> f64 {
        self.found_tokens as f64 / self.tokens.max(1) as f64
    }
}

/// The place at which each id is used first.
fn first_uses(ids: &[u64]) -> Vec<u32> {
    // A double holds 32 bits of an id exactly: sorted by the low half, then, equal ones as they stand, by the high half.
    let mut places = sort_places(&ids.iter().map(|&id| f64::from(id as u32)).collect::<Vec<_>>());
    if ids.iter().any(|&id| id > u64::from(u32::MAX)) {
        let high = sort_places(
            &places.iter().map(|&at| f64::from((ids[at as usize] >> 32) as u32)).collect::<Vec<_>>(),
        );
        places = high.into_iter().map(|at| places[at as usize]).collect();
    }
    let mut first = vec![0; ids.len()];
    for uses in places.chunk_by(|&a, &b| ids[a as usize] == ids[b as usize]) {
        uses.iter().for_each(|&at| first[at as usize] = uses[0]);
    }
    first
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::{PrefixBlocks, TraceMetadata};

    proptest! {
        #[test]
        fn sorting_finds_what_looking_up_finds(
            prompts in prop::collection::vec((prop::collection::vec(0u64..12, 0..6), 0u32..80), 1..30),
            spread in prop::sample::select(vec![1, u64::MAX / 12]),
        ) {
            let mut prefix = PrefixBlocks { block_tokens: 16, ..PrefixBlocks::default() };
            let (mut trace, mut reuse) = (Trace::default(), PrefixReuse::default());
            for (ids, input) in &prompts {
                let ids: Vec<u64> = ids.iter().map(|id| id * spread).collect();
                prefix.push(ids.iter().copied());
                reuse.add(&ids, *input, 16);
                trace.input_tokens.push(*input);
            }
            let any = !prefix.ids.is_empty();
            trace.set_metadata(TraceMetadata { prefix, ..TraceMetadata::default() });
            let hits = PrefixHits::of(&trace);
            prop_assert_eq!(hits.is_some(), any);
            if let Some(hits) = hits {
                prop_assert_eq!((hits.tokens, hits.found_tokens), (reuse.tokens, reuse.found_tokens));
            }
        }
    }

    #[test]
    fn only_leading_blocks_are_found() {
        let mut reuse = PrefixReuse::default();
        reuse.add(&[1, 2, 3], 40, 16);
        reuse.add(&[1, 9, 3], 40, 16);
        reuse.add(&[1, 2, 3], 40, 16);
        assert_eq!((reuse.blocks, reuse.found_blocks, reuse.requests_with_any), (9, 4, 2));
        assert_eq!((reuse.tokens, reuse.found_tokens), (120, 56));
        assert_eq!(reuse.uses().collect::<Vec<_>>(), [3.0, 2.0, 3.0, 1.0]);
    }
}
