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
        // An answer begins in the block in which its prompt ends.
        let ids = |i: usize| {
            let (prompt, answer) = (prefix.of(i), prefix.outputs.of(i));
            let whole = (trace.input_tokens[i] / size) as usize;
            let goes_on = !answer.is_empty() && whole <= prompt.len();
            let (prompt, answer) = if goes_on { (&prompt[..whole], answer) } else { (prompt, &[][..]) };
            prompt.iter().chain(answer)
        };
        Self::of(trace.len(), whole, (ids, [size, tokens]), |i, index| {
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
        let ids = |i: usize| prefix.of(i).iter();
        Self::of(trace.len(), whole, (ids, [size, tokens]), |i, index| {
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
        let ids = |i: usize| metadata.prefix.of(i).iter();
        Self::of(trace.len(), count, (ids, [1, 1]), |i, index| match session(i) {
            Some(place) => Some((1, u64::from(place), 0)),
            None => metadata.prefix.of(i).get(index as usize).map(|&block| (0, block, 0)),
        })
    }

    /// The adapter of each request that has one, as if it were a block.
    pub(crate) fn of_adapters(trace: &Trace) -> Self {
        let count = |i: usize| u32::from(trace.adapter[i] != BASE_MODEL);
        Self::of(trace.len(), count, (|_| [].iter(), [1, 1]), |i, _| Some((trace.adapter[i], 0, 0)))
    }

    /// Of requests with at most `most` blocks each, up to the first without a key. `ids`: the blocks of the trace that each has, of
    /// `size` tokens, of which those to be numbered have `tokens`.
    fn of<'a, Ids: Iterator<Item = &'a u64>>(
        requests: usize,
        most: impl Fn(usize) -> u32,
        (ids, [size, tokens]): (impl Fn(usize) -> Ids, [u32; 2]),
        key: impl Fn(usize, u32) -> Option<Key>,
    ) -> Self {
        let mut numbers = Self::default();
        // Of each key its number, and the first request that has it.
        let mut known: FxHashMap<Key, (u32, u32)> = FxHashMap::default();
        for request in 0..requests {
            let count = most(request);
            let from = numbers.runs.len();
            let mut index = 0;
            if let Some((owner, with_owner)) = last_known(count, &known, |index| key(request, index)) {
                let alike = ids(request).zip(ids(owner)).take_while(|(one, other)| one == other).count();
                let most = with_owner.min(numbers.count(owner));
                let whole = (alike as u64 * u64::from(size) / u64::from(tokens)).min(most.into()) as u32;
                // Equal ids are no equal blocks where the adapters differ.
                let last =
                    whole.checked_sub(1).and_then(|last| Some((key(request, last)?, key(owner, last)?)));
                if last.is_some_and(|(one, other)| one == other) {
                    numbers.take_beginning(owner, whole);
                    index = whole;
                }
            }
            while let Some(key) = (index < count).then(|| key(request, index)).flatten() {
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

    /// The first blocks of a request are those of an earlier one.
    fn take_beginning(&mut self, owner: usize, count: u32) {
        for at in self.range(owner) {
            let run = self.runs[at];
            if run.start >= count {
                break;
            }
            self.runs.push(run);
        }
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

/// The last of the known blocks with which a request begins, as the first request that has it, and how many there are. A block
/// stands for all before it, so known ones come first.
fn last_known(
    count: u32,
    known: &FxHashMap<Key, (u32, u32)>,
    key_at: impl Fn(u32) -> Option<Key>,
) -> Option<(usize, u32)> {
    let owner_at = |index: u32| key_at(index).and_then(|key| known.get(&key)).map(|of_key| of_key.1 as usize);
    let least = partition_point(count, |index| owner_at(index).is_some());
    Some((owner_at(least.checked_sub(1)?)?, least))
}

/// How many of the first numbers below `count` are such, where those that are stand before all others.
pub(crate) fn partition_point(count: u32, is_such: impl Fn(u32) -> bool) -> u32 {
    let (mut least, mut most) = (0, count);
    while least < most {
        let middle = least.midpoint(most);
        if is_such(middle) {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    least
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

    /// Requests with prompts and answers of any ids, also such that mean nothing.
    fn any_trace() -> impl Strategy<Value = Trace> {
        let ids = || prop::collection::vec(0u64..5, 0..7);
        let request = (ids(), ids(), 0u32..2, 1u32..20, 1u32..9);
        (prop::collection::vec(request, 1..12), 1u32..4).prop_map(|(requests, size)| {
            let (mut prompts, mut answers, mut adapters, mut lengths) = (vec![], vec![], vec![], vec![]);
            for (prompt, answer, adapter, input, output) in requests {
                prompts.push(prompt);
                answers.push(answer);
                adapters.push(adapter);
                lengths.push((input, output));
            }
            let mut trace = trace(&prompts, &adapters, &answers, size);
            (trace.input_tokens, trace.output_tokens) = {
                let (inputs, outputs): (Vec<u32>, Vec<u32>) = lengths.into_iter().unzip();
                (inputs, outputs)
            };
            trace
        })
    }

    type IdOf<'a> = &'a dyn Fn(usize, u32) -> Option<u64>;

    proptest! {
        /// Two blocks have one number where their keys are equal, and no other, in the order of the trace.
        #[test]
        fn equal_blocks_and_no_others_have_one_number(trace in any_trace(), tokens in 1u32..5) {
            let prefix = &trace.metadata.as_ref().expect("blocks").prefix;
            let size = prefix.block_tokens;
            let of_prompts = |i: usize, place: u32| prefix.of(i).get(place as usize).copied();
            let of_all = |i: usize, place: u32| prefix.block(i, trace.input_tokens[i], place as usize);
            let divides = size.is_multiple_of(tokens) || tokens.is_multiple_of(size);
            for (found, id_of, answers) in [
                (BlockNumbers::of_prompts(&trace, tokens), &of_prompts as IdOf<'_>, false),
                (BlockNumbers::of_kv_blocks(&trace, tokens), &of_all, true),
            ] {
                let mut by_key = std::collections::BTreeMap::new();
                for i in (0..trace.len()).filter(|_| divides || !answers) {
                    let answer = if answers && !prefix.outputs.of(i).is_empty() { trace.output_tokens[i] } else { 0 };
                    let key = |index: u32| {
                        let end = (index + 1) * tokens;
                        let place = (end - 1) / size;
                        Some((trace.adapter[i], id_of(i, place)?, end - place * size))
                    };
                    let whole = (trace.input_tokens[i] + answer) / tokens;
                    let keys: Vec<_> = (0..whole).map_while(key).collect();
                    let expected: Vec<u32> = keys.into_iter().map(|key| {
                        let next = by_key.len() as u32;
                        *by_key.entry(key).or_insert(next)
                    }).collect();
                    prop_assert_eq!(&numbers(&found, i as u32), &expected);
                    for (at, &number) in (0..).zip(&expected) {
                        prop_assert_eq!(found.get(RequestId::new(i as u32), at), Some(number));
                    }
                }
            }
        }
    }
}
