//! The iterations of a fleet, a few bytes a run: where a run begins, how long it takes and what it works on mostly follow
//! from the run before it on the same replica and from its own law, and the rest are small numbers.
//!
//! A run is a byte of flags, the duration of its first iteration, the numbers that the flags announce, and counts in
//! groups of seven bits (LEB128).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use servescope_cost::{Chunk, DecodeRun, LinearDecode};

use super::IterationRun;

/// Fleets are in the larger module of the page; the one it starts with need not read their record.
const FLEETS: bool = cfg!(feature = "orders");

/// It does not begin when the one before it ends.
const START: u8 = 1;
/// It does not end when its law says.
const END: u8 = 2;
/// Its stages did not work all the time.
const BUSY: u8 = 4;
/// Its iterations grow.
const GROWTH: u8 = 8;
/// Its KV tokens are no count.
const KV: u8 = 16;
/// Not all who decode had a token when it began.
const FRESH: u8 = 32;
/// A request uses an adapter.
const ADAPTERS: u8 = 64;
/// Blocks were copied from or to the host.
const COPIES: u8 = 128;

/// Runs of iterations, replica by replica, each in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Iterations {
    replicas: Vec<Log>,
    runs: usize,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Log {
    bytes: Vec<u8>,
    end_us: f64,
}

fn end_by_law(run: &IterationRun) -> f64 {
    run.start_us + LinearDecode::new(run.first_us, run.growth_us).elapsed_us(run.iterations)
}

impl Iterations {
    /// Writes one down, with what it reads of each of its prompts. Those of a replica come in the order of their start.
    pub fn push(&mut self, run: &IterationRun, chunks: &[Chunk]) {
        let place = usize::from(run.replica);
        if self.replicas.len() <= place {
            self.replicas.resize_with(place + 1, Log::default);
        }
        self.runs += 1;
        self.replicas[place].push(run, chunks);
    }

    /// What a run of these reads of each of its prompts.
    pub fn chunks(&self, run: &IterationRun) -> Vec<Chunk> {
        let Some(log) = self.replicas.get(usize::from(run.replica)) else { return Vec::new() };
        let mut cursor =
            Cursor { whole: log.bytes.len(), bytes: &log.bytes[run.chunks_at..], replica: 0, end_us: 0.0 };
        (0..run.prompts).map(|_| cursor.chunk()).collect()
    }

    /// How many runs.
    pub fn len(&self) -> usize {
        self.runs
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.runs == 0
    }

    /// All of them in order of their start; of those that start together, the lower replica's first.
    pub fn iter(&self) -> Iter<'_> {
        let mut iter = Iter { heads: Vec::new(), order: BinaryHeap::new() };
        for (replica, log) in self.replicas.iter().enumerate() {
            if !FLEETS {
                break;
            }
            let whole = log.bytes.len();
            let mut cursor = Cursor { whole, bytes: &log.bytes, replica: replica as u16, end_us: 0.0 };
            if let Some(run) = cursor.next() {
                iter.order.push(Turn { start_us: run.start_us, head: iter.heads.len() });
                iter.heads.push(Head { run, cursor });
            }
        }
        iter
    }
}

impl<'a> IntoIterator for &'a Iterations {
    type Item = IterationRun;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl Log {
    fn push(&mut self, run: &IterationRun, chunks: &[Chunk]) {
        let differs = |flag: u8, a: f64, b: f64| if a.to_bits() == b.to_bits() { 0 } else { flag };
        let kv_tokens = run.kv_tokens as u64;
        let flags = differs(START, run.start_us, self.end_us)
            | differs(END, run.end_us, end_by_law(run))
            | differs(BUSY, run.busy_us, run.end_us - run.start_us)
            | differs(GROWTH, run.growth_us, 0.0)
            | differs(KV, run.kv_tokens, kv_tokens as f64)
            | differs(COPIES, run.copying_us, 0.0)
            | if run.fresh == run.decodes { 0 } else { FRESH }
            | if run.any_adapter || run.rank_sum > 0 { ADAPTERS } else { 0 };
        self.bytes.push(flags);
        self.number(run.first_us);
        for (flag, number) in
            [(START, run.start_us), (GROWTH, run.growth_us), (END, run.end_us), (BUSY, run.busy_us)]
        {
            if flags & flag != 0 {
                self.number(number);
            }
        }
        if flags & KV == 0 {
            self.count(kv_tokens);
        } else {
            self.number(run.kv_tokens);
        }
        for count in [run.iterations, run.prompts, run.prompt_tokens, run.decodes, run.blocks] {
            self.count(u64::from(count));
        }
        if flags & FRESH != 0 {
            self.count(u64::from(run.fresh));
        }
        if flags & ADAPTERS != 0 {
            self.count(run.rank_sum);
            self.bytes.push(u8::from(run.any_adapter));
        }
        if flags & COPIES != 0 {
            self.number(run.copying_us);
        }
        for chunk in chunks {
            self.count(u64::from(chunk.kv_tokens));
            self.count(u64::from(chunk.tokens));
        }
        self.end_us = run.end_us;
    }

    fn number(&mut self, number: f64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn count(&mut self, mut count: u64) {
        while count >= 0x80 {
            self.bytes.push(count as u8 | 0x80);
            count >>= 7;
        }
        self.bytes.push(count as u8);
    }
}

/// A place in the log of one replica.
#[derive(Debug, Clone)]
struct Cursor<'a> {
    /// What is left of the log's bytes, and how many there are.
    bytes: &'a [u8],
    whole: usize,
    replica: u16,
    end_us: f64,
}

impl Cursor<'_> {
    fn next(&mut self) -> Option<IterationRun> {
        let (&flags, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        let first_us = self.number();
        let start_us = if flags & START == 0 { self.end_us } else { self.number() };
        let growth_us = if flags & GROWTH == 0 { 0.0 } else { self.number() };
        let end_us = (flags & END != 0).then(|| self.number());
        let busy_us = (flags & BUSY != 0).then(|| self.number());
        let kv_tokens = if flags & KV == 0 { self.count() as f64 } else { self.number() };
        let [iterations, prompts, prompt_tokens, decodes, blocks] = [(); 5].map(|()| self.count() as u32);
        let mut run = IterationRun {
            start_us,
            end_us: 0.0,
            busy_us: 0.0,
            first_us,
            growth_us,
            iterations,
            replica: self.replica,
            prompts,
            prompt_tokens,
            decodes,
            fresh: if flags & FRESH == 0 { decodes } else { self.count() as u32 },
            kv_tokens,
            blocks,
            rank_sum: if flags & ADAPTERS == 0 { 0 } else { self.count() },
            any_adapter: flags & ADAPTERS != 0 && self.count() == 1,
            copying_us: if flags & COPIES == 0 { 0.0 } else { self.number() },
            chunks_at: 0,
        };
        run.chunks_at = self.whole - self.bytes.len();
        for _ in 0..prompts {
            self.chunk();
        }
        run.end_us = end_us.unwrap_or_else(|| end_by_law(&run));
        run.busy_us = busy_us.unwrap_or(run.end_us - run.start_us);
        self.end_us = run.end_us;
        Some(run)
    }

    fn chunk(&mut self) -> Chunk {
        let [kv_tokens, tokens] = [(); 2].map(|()| self.count() as u32);
        Chunk { kv_tokens, tokens }
    }

    fn number(&mut self) -> f64 {
        let (number, rest) = self.bytes.split_first_chunk().expect("the log is whole");
        self.bytes = rest;
        f64::from_le_bytes(*number)
    }

    #[inline]
    fn count(&mut self) -> u64 {
        let (&byte, rest) = self.bytes.split_first().expect("the log is whole");
        self.bytes = rest;
        if byte < 0x80 { u64::from(byte) } else { self.large_count(byte) }
    }

    /// A count of several groups, whose first is `byte`.
    fn large_count(&mut self, mut byte: u8) -> u64 {
        let mut count = u64::from(byte & 0x7f);
        let mut place = 7;
        while byte >= 0x80 {
            let (&next, rest) = self.bytes.split_first().expect("the log is whole");
            self.bytes = rest;
            byte = next;
            count |= u64::from(byte & 0x7f) << place;
            place += 7;
        }
        count
    }
}

/// The next run of one replica and the place behind it.
#[derive(Debug, Clone)]
struct Head<'a> {
    run: IterationRun,
    cursor: Cursor<'a>,
}

/// When the next run of a replica starts.
#[derive(Debug, Clone, Copy)]
struct Turn {
    start_us: f64,
    /// Its place among the heads, which are in order of the replicas.
    head: usize,
}

impl Ord for Turn {
    /// The earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.start_us.total_cmp(&self.start_us).then(other.head.cmp(&self.head))
    }
}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Turn {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Turn {}

/// Runs of all replicas in order of their start.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    heads: Vec<Head<'a>>,
    /// Whose turn it is: of a heap that is told apart from the runs little is moved.
    order: BinaryHeap<Turn>,
}

impl Iterator for Iter<'_> {
    type Item = IterationRun;

    fn next(&mut self) -> Option<IterationRun> {
        let mut turn = self.order.peek_mut().filter(|_| FLEETS)?;
        let head = &mut self.heads[turn.head];
        let run = head.run;
        match head.cursor.next() {
            Some(next) => {
                turn.start_us = next.start_us;
                head.run = next;
            }
            None => {
                std::collections::binary_heap::PeekMut::pop(turn);
            }
        }
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn any_run()(
            times in (0.0..1e12f64, any::<bool>(), 0.0..1e9f64, prop_oneof![Just(0.0), -1.0..1e3f64]),
            odd in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
            counts in prop::array::uniform6(prop_oneof![0u32..200, any::<u32>()]),
            kv_tokens in prop_oneof![0u64..100_000, 0u64..1 << 53],
            adapters in prop::option::of((prop_oneof![0u64..99, any::<u64>()], any::<bool>())),
            chunks in prop::collection::vec((prop_oneof![0u32..200, any::<u32>()], any::<u32>()), 0..5),
            replica in 0u16..4,
        ) -> (bool, IterationRun, Vec<Chunk>) {
            let (start_us, follows, first_us, growth_us) = times;
            let [iterations, _, prompt_tokens, decodes, fresh, blocks] = counts;
            let prompts = chunks.len() as u32;
            let mut run = IterationRun {
                start_us, end_us: 0.0, busy_us: 0.0, first_us, growth_us, iterations, replica, prompts, prompt_tokens,
                decodes, fresh: if odd.0 { fresh } else { decodes }, blocks,
                kv_tokens: kv_tokens as f64 + if odd.1 { 0.3 } else { 0.0 },
                rank_sum: adapters.map_or(0, |a| a.0), any_adapter: adapters.is_some_and(|a| a.1),
                copying_us: if odd.0 { 0.5 * first_us } else { 0.0 }, chunks_at: 0,
            };
            run.end_us = if odd.2 { start_us + first_us } else { end_by_law(&run) };
            run.busy_us = if odd.3 { 0.5 * first_us } else { run.end_us - run.start_us };
            (follows, run, chunks.into_iter().map(|(kv_tokens, tokens)| Chunk { kv_tokens, tokens }).collect())
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(rows in prop::collection::vec(any_run(), 0..40)) {
            let mut log = Iterations::default();
            let mut ends = [0.0; 4];
            let mut expected = Vec::new();
            for (follows, mut run, chunks) in rows {
                let end = &mut ends[usize::from(run.replica)];
                let shift = if follows { *end } else { run.start_us.max(*end) } - run.start_us;
                for time in [&mut run.start_us, &mut run.end_us] {
                    *time += shift;
                }
                *end = run.end_us.max(run.start_us);
                run.end_us = *end;
                log.push(&run, &chunks);
                expected.push((run, chunks));
            }
            prop_assert_eq!(log.len(), expected.len());
            // A stable sort: of one replica, the order in which they were written.
            expected.sort_by(|a, b| a.0.start_us.total_cmp(&b.0.start_us).then(a.0.replica.cmp(&b.0.replica)));
            let read = |run: IterationRun| (IterationRun { chunks_at: 0, ..run }, log.chunks(&run));
            prop_assert_eq!(log.iter().map(read).collect::<Vec<_>>(), expected);
        }
    }
}
