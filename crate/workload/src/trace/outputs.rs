//! Which blocks an output fills: those of the prompt that goes on from it.
//!
//! A file names the blocks of prompts. A later prompt that goes on from an output has that output in it, so its blocks name the
//! output's: the next turn of a session, where the file has sessions. Where it has none, prompts are taken for one conversation as
//! long as only one way leads on: a block that different ones follow, as the last one of a system prompt, names no output.

use std::collections::BTreeMap;

use super::{IdLists, NO_LABEL, PrefixBlocks, Trace};

/// What follows a block in all prompts that have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Nothing,
    One(u64),
    Several,
}

/// How prompts go on behind a block.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    next: Next,
    /// Tokens of the longest prompt that has the block.
    longest: u32,
}

impl Trace {
    /// Names the blocks of outputs after the prompts that go on from them; says of how many outputs. Only where blocks of prompts
    /// are known.
    pub fn name_outputs(&mut self) -> usize {
        let Some(metadata) = self.metadata.as_deref().filter(|metadata| !metadata.prefix.is_empty()) else {
            return 0;
        };
        let outputs = if metadata.session.is_empty() {
            self.outputs_by_blocks(&metadata.prefix)
        } else {
            let next = self.next_turns(&metadata.session.index);
            self.outputs_by_turns(&metadata.prefix, |id| next[id])
        };
        let named = (0..self.len()).filter(|&id| !outputs.of(id).is_empty()).count();
        if let Some(metadata) = &mut self.metadata {
            metadata.prefix.outputs = outputs;
        }
        named
    }

    /// The next request of the session of each one.
    fn next_turns(&self, sessions: &[u32]) -> Vec<Option<usize>> {
        let mut next = vec![None; self.len()];
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        for (id, &session) in sessions.iter().enumerate().filter(|&(_, &session)| session != NO_LABEL) {
            if let Some(before) = last.insert(session, id) {
                next[before] = Some(id);
            }
        }
        next
    }

    /// The names of outputs where `next` is the request that may go on from another one, and stands behind it.
    pub(crate) fn outputs_by_turns(
        &self,
        prefix: &PrefixBlocks,
        next: impl Fn(usize) -> Option<usize>,
    ) -> IdLists {
        let mut named: Vec<Vec<u64>> = vec![Vec::new(); self.len()];
        for id in (0..self.len()).rev() {
            let Some(later) = next(id).filter(|&later| self.goes_on(prefix, id, later)) else { continue };
            let of_prompt = prefix.whole(self.input_tokens[later]);
            let block = |place: usize| {
                let in_output = place.checked_sub(of_prompt).filter(|_| !named[later].is_empty());
                in_output
                    .map_or_else(|| prefix.of(later).get(place), |place| named[later].get(place))
                    .copied()
            };
            named[id] = self.places(prefix, id).map_while(block).collect();
        }
        let mut outputs = IdLists::default();
        named.into_iter().for_each(|ids| outputs.push(ids));
        outputs
    }

    /// Whether a prompt can have an earlier one and its output in it.
    fn goes_on(&self, prefix: &PrefixBlocks, id: usize, later: usize) -> bool {
        let whole = prefix.whole(self.input_tokens[id]).min(prefix.of(id).len());
        self.adapter[id] == self.adapter[later]
            && self.input_tokens[later] >= self.input_tokens[id].saturating_add(self.output_tokens[id])
            && prefix.of(later).get(..whole) == prefix.of(id).get(..whole)
    }

    /// The blocks from the one in which a prompt ends to the one in which the output ends.
    fn places(&self, prefix: &PrefixBlocks, id: usize) -> std::ops::Range<usize> {
        let total = self.input_tokens[id].saturating_add(self.output_tokens[id]);
        prefix.whole(self.input_tokens[id])..total.div_ceil(prefix.block_tokens.max(1)) as usize
    }

    /// The names of outputs by the blocks of prompts alone.
    fn outputs_by_blocks(&self, prefix: &PrefixBlocks) -> IdLists {
        let full = |id: usize| &prefix.of(id)[..prefix.whole(self.input_tokens[id]).min(prefix.of(id).len())];
        let mut ways: BTreeMap<(u32, u64), Way> = BTreeMap::new();
        for id in 0..self.len() {
            let blocks = full(id);
            for (place, &block) in blocks.iter().enumerate() {
                let way = ways.entry((self.adapter[id], block)).or_default();
                way.longest = way.longest.max(self.input_tokens[id]);
                way.next = match (way.next, blocks.get(place + 1)) {
                    (next, None) => next,
                    (Next::Nothing, Some(&next)) => Next::One(next),
                    (Next::One(before), Some(&next)) if before == next => Next::One(next),
                    _ => Next::Several,
                };
            }
        }
        let mut outputs = IdLists::default();
        for id in 0..self.len() {
            let places = self.places(prefix, id);
            let way = |block: u64| ways.get(&(self.adapter[id], block));
            let mut at = full(id).last().copied().filter(|_| full(id).len() == places.start);
            let follow = |_| match way(at?)?.next {
                Next::One(block) => {
                    at = Some(block);
                    at
                }
                Next::Nothing | Next::Several => None,
            };
            let ids: Vec<u64> = places.map_while(follow).collect();
            let total = self.input_tokens[id].saturating_add(self.output_tokens[id]);
            let has_room = ids.last().and_then(|&block| way(block)).is_some_and(|way| way.longest >= total);
            outputs.push(ids.into_iter().filter(|_| has_room));
        }
        outputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{BASE_MODEL, LabelMaker, Request, TraceMetadata};

    /// A trace of (prompt tokens, output tokens, blocks of 16 tokens), with sessions or without.
    fn trace(requests: &[(u32, u32, &[u64])], sessions: Option<&[&str]>) -> Trace {
        let mut trace = Trace::default();
        let (mut prefix, mut session) = (PrefixBlocks::new(16), LabelMaker::default());
        for (place, &(input_tokens, output_tokens, ids)) in requests.iter().enumerate() {
            trace.push(Request {
                arrival_us: place as f64,
                user: 0,
                adapter: BASE_MODEL,
                input_tokens,
                output_tokens,
                max_tokens: output_tokens,
            });
            prefix.push(ids.iter().copied());
            session.push(sessions.map(|names| names[place]));
        }
        trace.set_metadata(TraceMetadata { prefix, session: session.finish(), ..TraceMetadata::default() });
        trace
    }

    fn named(requests: &[(u32, u32, &[u64])], sessions: Option<&[&str]>) -> Vec<Vec<u64>> {
        let mut trace = trace(requests, sessions);
        let named = trace.name_outputs();
        let outputs = &trace.metadata.as_ref().unwrap().prefix.outputs;
        let ids: Vec<_> = (0..trace.len()).map(|id| outputs.of(id).to_vec()).collect();
        assert_eq!(named, ids.iter().filter(|ids| !ids.is_empty()).count());
        ids
    }

    const TALK: [(u32, u32, &[u64]); 3] = [
        (40, 30, &[1, 2, 3]),
        (100, 40, &[1, 2, 4, 5, 6, 7, 8]),
        (150, 9, &[1, 2, 4, 5, 6, 7, 9, 10, 11, 12]),
    ];

    #[test]
    fn an_output_has_the_blocks_of_the_prompt_that_goes_on_from_it() {
        // 40 tokens end in the third block, 70 in the fifth; 100 in the seventh, 140 in the ninth.
        let turns = named(&TALK, Some(&["a", "a", "a"]));
        assert_eq!(turns, [vec![4, 5, 6], vec![9, 10, 11], vec![]]);
        assert_eq!(named(&TALK, None), turns);
    }

    #[test]
    fn a_prompt_that_does_not_go_on_names_nothing() {
        let other = [TALK[0], (100, 40, &[1, 3, 4, 5, 6, 7, 8][..])];
        assert_eq!(named(&other, Some(&["a", "a"])), [vec![], vec![]], "another beginning");
        assert_eq!(named(&TALK[..2], Some(&["a", "b"])), [vec![], vec![]], "another session");
        let short = [TALK[0], (64, 9, &[1, 2, 4, 5][..])];
        assert_eq!(named(&short, Some(&["a", "a"])), [vec![], vec![]], "no room for the output");
        assert_eq!(named(&short, None), [vec![], vec![]]);
        // What follows a system prompt is each one's own.
        let system = [
            (40, 30, &[1, 2, 3][..]),
            (100, 9, &[1, 2, 4, 5, 6, 7, 8]),
            (100, 9, &[1, 2, 9, 10, 11, 12, 13]),
        ];
        assert_eq!(named(&system, None), [vec![], vec![], vec![]]);
        let mut adapters = trace(&TALK, None);
        adapters.adapter = vec![0, 1, 2];
        assert_eq!(adapters.name_outputs(), 0, "KV blocks of another adapter");
    }

    #[test]
    fn a_short_turn_is_named_through_the_ones_behind_it() {
        let talk = [(5, 4, &[1][..]), (12, 6, &[2]), (40, 9, &[3, 4, 5])];
        assert_eq!(named(&talk, Some(&["a"; 3])), [vec![3], vec![3, 4], vec![]]);
        assert_eq!(named(&talk, None), [vec![], vec![], vec![]], "without sessions nothing leads on");
    }
}
