//! Reuse of prefix blocks with a cache that keeps everything, in the order of the file.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::trace::{PrefixBlocks, Trace};

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
    /// Tokens of leading blocks that an earlier prompt or its output had, at most the prompt.
    pub found_tokens: u64,
}

impl PrefixHits {
    /// The hits of a trace; `None` where it has no blocks. The same as [`PrefixReuse`], with what outputs fill.
    pub fn of(trace: &Trace) -> Option<Self> {
        let blocks = &trace.metadata.as_ref()?.prefix;
        if blocks.prompts.ids.is_empty() {
            return None;
        }
        let mut known: FxHashSet<u64> = FxHashSet::default();
        let mut hits = Self { block_tokens: blocks.block_tokens, ..Self::default() };
        for (id, &input) in trace.input_tokens.iter().enumerate() {
            let prompt = blocks.of(id);
            let found = prompt.iter().take_while(|block| known.contains(block)).count();
            hits.tokens += u64::from(input);
            hits.found_tokens += (found as u64 * u64::from(blocks.block_tokens)).min(input.into());
            known.extend(prompt[found..].iter().copied().chain(filled_by_output(trace, blocks, id)));
        }
        Some(hits)
    }

    /// Found tokens over all.
    pub fn share(&self) -> f64 {
        self.found_tokens as f64 / self.tokens.max(1) as f64
    }
}

/// The named blocks that an output fills. Its last token is computed by no iteration, so that it is in no block.
fn filled_by_output<'a>(
    trace: &Trace,
    blocks: &'a PrefixBlocks,
    id: usize,
) -> impl Iterator<Item = u64> + 'a {
    let input = trace.input_tokens[id];
    let computed = input.saturating_add(trace.output_tokens[id].saturating_sub(1));
    let full = blocks.whole(computed).saturating_sub(blocks.whole(input));
    blocks.outputs.of(id).iter().copied().take(full)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::{BASE_MODEL, Request, TraceMetadata};

    proptest! {
        #[test]
        fn sorting_finds_what_looking_up_finds(
            prompts in prop::collection::vec((prop::collection::vec(0u64..12, 0..6), 0u32..80), 1..30),
            spread in prop::sample::select(vec![1, u64::MAX / 12]),
        ) {
            let mut prefix = PrefixBlocks::new(16);
            let (mut trace, mut reuse) = (Trace::default(), PrefixReuse::default());
            for (ids, input) in &prompts {
                let ids: Vec<u64> = ids.iter().map(|id| id * spread).collect();
                prefix.push(ids.iter().copied());
                reuse.add(&ids, *input, 16);
                trace.push(Request {
                    arrival_us: 0.0,
                    user: 0,
                    adapter: BASE_MODEL,
                    input_tokens: *input,
                    output_tokens: 1,
                    max_tokens: 1,
                });
            }
            let any = !prefix.prompts.ids.is_empty();
            trace.set_metadata(TraceMetadata { prefix, ..TraceMetadata::default() });
            let hits = PrefixHits::of(&trace);
            prop_assert_eq!(hits.is_some(), any);
            if let Some(hits) = hits {
                prop_assert_eq!((hits.tokens, hits.found_tokens), (reuse.tokens, reuse.found_tokens));
            }
        }
    }

    #[test]
    fn the_next_turn_finds_the_full_blocks_of_the_output() {
        let found = |output_tokens: u32| {
            let mut trace = Trace::default();
            let mut prefix = PrefixBlocks::new(16);
            for (input_tokens, ids) in [(40, &[1u64, 2, 3][..]), (100, &[1, 2, 4, 5, 6, 7, 8])] {
                prefix.push(ids.iter().copied());
                let (arrival_us, user, adapter) = (0.0, 0, BASE_MODEL);
                let max_tokens = output_tokens;
                trace.push(Request { arrival_us, user, adapter, input_tokens, output_tokens, max_tokens });
            }
            trace.set_metadata(TraceMetadata { prefix, ..TraceMetadata::default() });
            let before = PrefixHits::of(&trace).unwrap().found_tokens;
            assert_eq!((before, trace.name_outputs()), (32, 1));
            PrefixHits::of(&trace).unwrap().found_tokens
        };
        // 64 tokens fill four blocks, and the last of an output is not computed.
        assert_eq!([found(24), found(25), found(41)], [48, 64, 80]);
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
