//! Numbers of the blocks that prompts and answers are made of: equal blocks after equal blocks have one number, given in the order of
//! the trace. What caches and routers remember of a block they keep by its number.
//!
//! A request's blocks are few runs of numbers in a row: one for each earlier request from which it took its beginning, and one of its
//! own.

pub(crate) mod number_map;

use std::collections::hash_map::Entry;
use std::ops::Range;

use rustc_hash::FxHashMap;
use servescope_workload::trace::NO_LABEL;
use servescope_workload::{BASE_MODEL, RequestId, Trace};

/// What makes two blocks equal: the adapter, the id of a block of the trace, and how much of that ends with the block.
type Key = (u32, u64, u32);

/// Blocks of a request that follow one another, and so do their numbers.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    /// The first of them, as a place in the request.
    start: u32,
    number: u32,
}

/// The numbered blocks of every request of a trace, of one size.
#[derive(Debug, Default)]
pub(crate) struct BlockNumbers {
    runs: Vec<Run>,
    /// Of each request, where its runs end, and how many numbered blocks it has; empty where no request has one.
    requests: Vec<(usize, u32)>,
}

impl BlockNumbers {
    /// The KV blocks of each request that others may have too: the whole ones of its prompt that the trace describes, and of its answer
    /// where a prompt goes on from it. Of `tokens` each; the trace's blocks hold some of these, or several are in one of them.
    pub(crate) fn of_kv_blocks(trace: &Trace, tokens: u32) -> Self {
        let Some(prefix) = trace.metadata.as_deref().map(|metadata| &metadata.prefix) else {
            return Self::default();
        };
        let size = prefix.block_tokens;
        if prefix.is_empty()
            || size == 0
            || tokens == 0
            || !(size.is_multiple_of(tokens) || tokens.is_multiple_of(size))
        {
            return Self::default();
        }
        let whole = |i: usize| {
            let answer = if prefix.outputs.of(i).is_empty() { 0 } else { trace.output_tokens[i] };
            (trace.input_tokens[i] + answer) / tokens
        };
        Self::of(trace.len(), whole, |i, index| {
            let end = (index + 1) * tokens;
            let place = (end - 1) / size;
            let block = prefix.block(i, trace.input_tokens[i], place as usize)?;
            Some((trace.adapter[i], block, end - place * size))
        })
    }

    /// The whole blocks of prompts, of `tokens` each, as far as the trace describes them.
    pub(crate) fn of_prompts(trace: &Trace, tokens: u32) -> Self {
        let Some(prefix) = trace.metadata.as_deref().map(|metadata| &metadata.prefix) else {
            return Self::default();
        };
        let (size, tokens) = (prefix.block_tokens, tokens.max(1));
        if prefix.is_empty() || size == 0 {
            return Self::default();
        }
        let whole = |i: usize| if prefix.of(i).is_empty() { 0 } else { trace.input_tokens[i] / tokens };
        Self::of(trace.len(), whole, |i, index| {
            let end = (index + 1) * tokens;
            let place = (end - 1) / size;
            Some((trace.adapter[i], *prefix.of(i).get(place as usize)?, end - place * size))
        })
    }

    /// The blocks of prompts as the trace gives them, whatever the adapter is; in place of them the session, of a request without any.
    pub(crate) fn of_prompts_or_sessions(trace: &Trace) -> Self {
        let Some(metadata) = trace.metadata.as_deref() else { return Self::default() };
        let session = |i: usize| {
            let session = metadata.session.index.get(i).copied();
            session.filter(|&place| place != NO_LABEL && metadata.prefix.of(i).is_empty())
        };
        let count = |i: usize| metadata.prefix.of(i).len() as u32 + u32::from(session(i).is_some());
        Self::of(trace.len(), count, |i, index| match session(i) {
            Some(place) => Some((1, u64::from(place), 0)),
            None => metadata.prefix.of(i).get(index as usize).map(|&block| (0, block, 0)),
        })
    }

    /// The adapter of each request that has one, as if it were a block.
    pub(crate) fn of_adapters(trace: &Trace) -> Self {
        let count = |i: usize| u32::from(trace.adapter[i] != BASE_MODEL);
        Self::of(trace.len(), count, |i, _| Some((trace.adapter[i], 0, 0)))
    }

    /// Of requests with at most `most` blocks each, up to the first without a key.
    fn of(requests: usize, most: impl Fn(usize) -> u32, key: impl Fn(usize, u32) -> Option<Key>) -> Self {
        let mut numbers = Self::default();
        // Of each key its number, and the first request that has it.
        let mut known: FxHashMap<Key, (u32, u32)> = FxHashMap::default();
        for request in 0..requests {
            let count = most(request);
            let key_at = |index: u32| key(request, index);
            let from = numbers.runs.len();
            let mut index = numbers.take_beginning(count, &key_at, &known, &key);
            while let Some(key) = (index < count).then(|| key_at(index)).flatten() {
                let next = known.len() as u32;
                let number = match known.entry(key) {
                    Entry::Occupied(entry) => entry.get().0,
                    Entry::Vacant(entry) => entry.insert((next, request as u32)).0,
                };
                numbers.push(from, index, number);
                index += 1;
            }
            numbers.requests.push((numbers.runs.len(), index));
        }
        if numbers.runs.is_empty() { Self::default() } else { numbers }
    }

    /// Copies the numbers of the blocks that a request has in common with an earlier one from which it goes on. Returns how many.
    ///
    /// A block stands for all before it, so known blocks come first; the last of them tells the request to compare with.
    fn take_beginning(
        &mut self,
        count: u32,
        key_at: &impl Fn(u32) -> Option<Key>,
        known: &FxHashMap<Key, (u32, u32)>,
        key: &impl Fn(usize, u32) -> Option<Key>,
    ) -> u32 {
        let owner_at = |index: u32| key_at(index).and_then(|key| known.get(&key)).map(|of_key| of_key.1);
        let (mut least, mut most) = (0, count);
        while least < most {
            let middle = least.midpoint(most);
            if owner_at(middle).is_some() {
                least = middle + 1;
            } else {
                most = middle;
            }
        }
        let Some(owner) = least.checked_sub(1).and_then(owner_at) else { return 0 };
        let is_equal = |&index: &u32| key_at(index) == key(owner as usize, index);
        let common = (0..least.min(self.count(owner as usize))).take_while(is_equal).count() as u32;
        let runs = self.range(owner as usize);
        for at in runs {
            let run = self.runs[at];
            if run.start >= common {
                break;
            }
            self.runs.push(run);
        }
        common
    }

    fn push(&mut self, from: usize, index: u32, number: u32) {
        let goes_on = self.runs[from..].last().is_some_and(|run| run.number + (index - run.start) == number);
        if !goes_on {
            self.runs.push(Run { start: index, number });
        }
    }

    fn range(&self, request: usize) -> Range<usize> {
        let start = request.checked_sub(1).map_or(0, |before| self.requests.get(before).map_or(0, |of| of.0));
        start..self.requests.get(request).map_or(start, |of| of.0)
    }

    fn count(&self, request: usize) -> u32 {
        self.requests.get(request).map_or(0, |of| of.1)
    }

    /// How many blocks of a request, its first ones, have a number.
    pub(crate) fn count_of(&self, id: RequestId) -> u32 {
        self.count(id.index())
    }

    /// The number of a block of a request, where it has one.
    pub(crate) fn get(&self, id: RequestId, index: u32) -> Option<u32> {
        self.iter(id, index..index.saturating_add(1)).next()
    }

    /// The numbers of these blocks of a request, up to the first without one.
    pub(crate) fn iter(&self, id: RequestId, blocks: Range<u32>) -> Numbers<'_> {
        let runs = &self.runs[self.range(id.index())];
        let at = runs.partition_point(|run| run.start <= blocks.start);
        Numbers {
            run: at.checked_sub(1).map(|at| runs[at]).unwrap_or_default(),
            runs: &runs[at..],
            index: blocks.start,
            end: blocks.end.min(self.count_of(id)),
        }
    }
}

/// Numbers of blocks of a request, one after another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers<'a> {
    /// The run in which the next one is, and those behind it.
    run: Run,
    runs: &'a [Run],
    index: u32,
    end: u32,
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.index >= self.end {
            return None;
        }
        if let Some((run, runs)) = self.runs.split_first()
            && run.start == self.index
        {
            (self.run, self.runs) = (*run, runs);
        }
        self.index += 1;
        Some(self.run.number + (self.index - 1 - self.run.start))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end.saturating_sub(self.index) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Numbers<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use servescope_workload::trace::{PrefixBlocks, Request, TraceMetadata};

    use super::*;

    fn trace(prompts: &[Vec<u64>], adapters: &[u32], answers: &[Vec<u64>], size: u32) -> Trace {
        let mut trace = Trace::default();
        let mut prefix = PrefixBlocks::new(size);
        for (i, ids) in prompts.iter().enumerate() {
            prefix.push(ids.iter().copied());
            prefix.outputs.push(answers[i].iter().copied());
            trace.push(Request {
                arrival_us: 0.0,
                user: 0,
                adapter: adapters[i],
                input_tokens: (ids.len() as u32 * size).max(1),
                output_tokens: (answers[i].len() as u32 * size).max(1),
                max_tokens: 9_000,
            });
        }
        trace.metadata = Some(Box::new(TraceMetadata { prefix, ..TraceMetadata::default() }));
        trace
    }

    fn numbers(of: &BlockNumbers, id: u32) -> Vec<u32> {
        of.iter(RequestId::new(id), 0..u32::MAX).collect()
    }

    #[test]
    fn what_goes_on_from_a_request_takes_its_numbers_along() {
        let prompts = [vec![1, 2], vec![1, 2, 3, 4], vec![1, 9], vec![1, 2, 3, 4, 5]];
        let answers = [vec![3, 4], vec![5], vec![], vec![]];
        let of = BlockNumbers::of_kv_blocks(&trace(&prompts, &[0; 4], &answers, 16), 16);
        assert_eq!(numbers(&of, 0), [0, 1, 2, 3]);
        assert_eq!(numbers(&of, 1), [0, 1, 2, 3, 4]);
        assert_eq!((numbers(&of, 2), numbers(&of, 3)), (vec![0, 5], vec![0, 1, 2, 3, 4]));
        assert_eq!((of.get(RequestId::new(2), 1), of.get(RequestId::new(2), 2)), (Some(5), None));
        // Half as large, and another adapter has none in common.
        let of = BlockNumbers::of_kv_blocks(&trace(&prompts[..2], &[0, 1], &answers[..2], 16), 8);
        assert_eq!((numbers(&of, 0), numbers(&of, 1)), ((0..8).collect(), (8..18).collect()));
        assert_eq!(BlockNumbers::of_kv_blocks(&trace(&prompts, &[0; 4], &answers, 16), 12).count(0), 0);
        assert_eq!(BlockNumbers::of_kv_blocks(&Trace::default(), 16).count(3), 0);
    }

    proptest! {
        /// Whatever the ids are, those that mean nothing too: two blocks have one number where their keys are equal, and no other.
        #[test]
        fn equal_blocks_and_no_others_have_one_number(
            requests in prop::collection::vec((prop::collection::vec(0u64..7, 0..9), 0u32..2), 1..12), size in 1u32..4,
        ) {
            let (prompts, adapters): (Vec<Vec<u64>>, Vec<u32>) = requests.into_iter().unzip();
            let answers = vec![Vec::new(); prompts.len()];
            let trace = trace(&prompts, &adapters, &answers, size);
            let of = BlockNumbers::of_prompts(&trace, 1);
            let mut by_key = std::collections::BTreeMap::new();
            for (i, ids) in prompts.iter().enumerate() {
                let found = numbers(&of, i as u32);
                prop_assert_eq!(found.len(), ids.len() * size as usize);
                for (at, number) in (0u32..).zip(found) {
                    let next = by_key.len() as u32;
                    let key = (adapters[i], ids[(at / size) as usize], at % size);
                    prop_assert_eq!(*by_key.entry(key).or_insert(next), number);
                    prop_assert_eq!(of.get(RequestId::new(i as u32), at), Some(number));
                }
            }
        }
    }
}
