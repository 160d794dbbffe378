//! The iterations of replicas. The first ones are kept as they are, the others of a long run in a few bytes each: where a run
//! begins, how long it takes and what it works on mostly follow from the runs before it on the same replica and from its own law, and the rest are small numbers.
//!
//! A run is a byte of flags, or two, the numbers that they announce, and counts in groups of seven bits (LEB128). A
//! run begins where one of the last few ended: on one stage the last, in a pipeline mostly the one that many runs ago that
//! there are stages. A single iteration is its end alone, in steps of the clock, of which there are so many in it that five
//! bytes tell them.

mod read;
mod write;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use servescope_cost::{Chunk, LinearDecode, LoraBatch};

use super::IterationRun;
use read::{Cursor, Reader};
use write::{CHUNKS_AT_ONCE, Writer};

/// It does not begin when the same of the runs before it ends as for the last one.
const START: u16 = 1;
/// It does not end when its law says.
const END: u16 = 2;
/// Its stages did not work all the time, but so many whole steps of the clock.
const BUSY: u16 = 4;
/// Its iterations grow.
const GROWTH: u16 = 8;
/// It is one iteration, which takes from its start to its end.
const SINGLE: u16 = 16;
/// Not all that decode had a token when it began.
const FRESH: u16 = 32;
/// A request uses an adapter.
const ADAPTERS: u16 = 64;
/// There is a second byte of flags.
const MORE: u16 = 128;
/// Its KV tokens are no count.
const KV: u16 = 256;
/// Blocks were copied from or to the host.
const COPIES: u16 = 512;
/// Its stages did not work all the time, nor in whole steps.
const ODD: u16 = 1024;
/// Adapters were loaded.
const LOADS: u16 = 2048;
/// Other adapters are in GPU memory than in the run before.
const RESIDENT: u16 = 4096;
/// Requests are stalled.
const STALLED: u16 = 8192;
/// What its LoRA operators work on is known.
const LORA: u16 = 16_384;

/// Of so many runs the ends are known.
const KNOWN: usize = 8;

/// The first runs of all replicas, this many, are kept as they are; those behind them are told in few bytes.
// PERF: runs of 10,000 requests take a fifth fewer instructions with their summary; guarded by `what_is_written_is_read`.
const MOST_PLAIN: usize = if cfg!(test) { 8 } else { 1 << 15 };

/// Runs of iterations, replica by replica, each in the order in which they were written.
#[derive(Debug, Clone, Default)]
pub struct Iterations {
    replicas: Vec<ReplicaIterations>,
    runs: usize,
    end_us: f64,
}

impl PartialEq for Iterations {
    /// The same iterations, in whichever order replicas wrote them.
    fn eq(&self, other: &Self) -> bool {
        let plain = |run: &IterationRun| IterationRun { chunks_at: 0, ..*run };
        let is_same = |(one, two): (IterationRun, IterationRun)| {
            plain(&one) == plain(&two) && self.chunks(&one) == other.chunks(&two)
        };
        self.runs == other.runs && self.iter().zip(other).all(is_same)
    }
}

/// Those of one replica.
#[derive(Debug, Clone, Default)]
struct ReplicaIterations {
    /// The first of them, and what they read of prompts.
    plain: Vec<IterationRun>,
    chunks: Vec<Chunk>,
    /// The others.
    encoded: EncodedIterations,
}

#[derive(Debug, Clone, Default)]
struct EncodedIterations {
    /// What is written, and room behind it.
    bytes: Vec<u8>,
    used: usize,
    before: DeltaState,
}

/// What is known of the runs before one.
#[derive(Debug, Clone, Default)]
struct DeltaState {
    /// Ends of the last ones and KV tokens after them, in a ring; the last one's place.
    ends: [(f64, u64); KNOWN],
    last: usize,
    /// At whose end the last one began.
    back: u8,
    blocks: u32,
    /// Adapters in GPU memory and the tokens' worth of the pool that they take.
    adapters: (u32, u32),
}

impl DeltaState {
    fn passes(&mut self, run: &IterationRun) {
        self.last = (self.last + 1) % KNOWN;
        // Where no request leaves, the next one begins with a token more of each that decoded.
        let added = u64::from(run.prompt_tokens) + u64::from(run.iterations) * u64::from(run.decodes);
        let kv_tokens = whole(run.kv_tokens).wrapping_add(added);
        self.ends[self.last] = (run.end_us, kv_tokens);
        self.blocks = run.blocks;
        self.adapters = (run.resident_adapters, run.adapter_tokens);
    }

    /// The run so many ago.
    fn ago(&self, back: usize) -> (f64, u64) {
        self.ends[(self.last + KNOWN - back % KNOWN) % KNOWN]
    }

    fn place(&self) -> (f64, u64) {
        self.ago(self.back.into())
    }
}

/// A count that is kept as a number; of others the part before the point, as far as there is room.
#[inline]
fn whole(number: f64) -> u64 {
    // Over the signed ones, to which processors turn a number at once.
    number as i64 as u64
}

/// Signed numbers near 0 as small ones.
fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// The step of the clock at a time.
fn step_us(time_us: f64) -> f64 {
    time_us.next_up() - time_us
}

/// A time in whole steps of the clock at `end_us`: so it takes few bytes.
pub(crate) fn in_steps(time_us: f64, end_us: f64) -> f64 {
    (time_us / step_us(end_us)).round() * step_us(end_us)
}

/// How many steps of the clock at `end_us` a time is, where it is so many exactly.
fn steps_of(time_us: f64, end_us: f64) -> Option<u64> {
    let steps = time_us / step_us(end_us);
    let is_told = (0.0..9e15).contains(&steps)
        && ((steps as u64) as f64 * step_us(end_us)).to_bits() == time_us.to_bits();
    is_told.then_some(steps as u64)
}

/// How long the stages work where they do all the time.
fn whole_us(run: &IterationRun) -> f64 {
    run.end_us - run.start_us - run.adapter_load_us
}

fn end_by_law(run: &IterationRun) -> f64 {
    run.start_us + LinearDecode::new(run.first_us, run.growth_us).elapsed_us(run.iterations)
}

impl Iterations {
    /// Writes one down, with what it reads of each of its prompts. Those of a replica come in the order of their start.
    pub fn push(&mut self, run: &IterationRun, chunks: &[Chunk]) {
        let place = usize::from(run.replica);
        if self.replicas.len() <= place {
            self.replicas.resize_with(place + 1, ReplicaIterations::default);
        }
        let log = &mut self.replicas[place];
        if self.runs < MOST_PLAIN {
            log.plain.push(IterationRun { chunks_at: log.chunks.len(), ..*run });
            log.chunks.extend_from_slice(chunks);
        } else {
            log.encoded.push(run, chunks);
        }
        self.runs += 1;
        self.end_us = self.end_us.max(run.end_us);
    }

    /// What a run of these reads of each of its prompts.
    pub fn chunks(&self, run: &IterationRun) -> Vec<Chunk> {
        let Some(log) = self.replicas.get(usize::from(run.replica)) else { return Vec::new() };
        let (from, count) = (run.chunks_at, run.prompts as usize);
        if let Some(chunks) = log.chunks.get(from..from + count) {
            return chunks.to_vec();
        }
        let mut reader = Reader { bytes: &log.encoded.written()[from - log.chunks.len()..] };
        (0..count).map(|_| reader.chunk()).collect()
    }

    /// Those of one replica, in the order of their start.
    pub fn of_replica(&self, replica: u16) -> impl Iterator<Item = IterationRun> + '_ {
        let mut cursor = self.replicas.get(usize::from(replica)).map(|log| Cursor::new(log, replica));
        std::iter::from_fn(move || cursor.as_mut()?.next())
    }

    /// When the last of them ends, microseconds; 0 where there is none.
    pub fn end_us(&self) -> f64 {
        self.end_us
    }

    /// How many runs.
    pub fn len(&self) -> usize {
        self.runs
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.runs == 0
    }

    /// Hands all of them out in the order of [`Self::iter`], without a copy of each.
    pub fn each(&self, take: impl FnMut(&IterationRun)) {
        self.iter().each(take);
    }

    /// All of them in order of their start; of those that start together, the lower replica's first.
    pub fn iter(&self) -> Iter<'_> {
        let mut iter = Iter { only: None, heads: Vec::new(), order: BinaryHeap::new() };
        for (replica, log) in self.replicas.iter().enumerate() {
            let mut cursor = Cursor::new(log, replica as u16);
            if self.replicas.len() == 1 {
                iter.only = Some(cursor);
            } else if let Some(run) = cursor.next() {
                iter.order.push(Turn { start_us: run.start_us, head: iter.heads.len() });
                iter.heads.push((run, cursor));
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

fn differs(flag: u16, a: f64, b: f64) -> u16 {
    if a.to_bits() == b.to_bits() { 0 } else { flag }
}

fn is_single(run: &IterationRun) -> bool {
    let is_equal = |a, b| differs(1, a, b) == 0;
    run.iterations == 1
        && is_equal(run.first_us, run.end_us - run.start_us)
        && is_equal(run.growth_us, 0.0)
        && run.end_us.to_bits() >= run.start_us.to_bits()
}

impl EncodedIterations {
    fn push(&mut self, run: &IterationRun, chunks: &[Chunk]) {
        let flags = self.flags(run);
        let mut to = Writer::behind(&mut self.bytes, self.used);
        to.byte(flags as u8);
        if flags & MORE != 0 {
            to.byte((flags >> 8) as u8);
        }
        self.before.times(&mut to, flags, run);
        self.before.counts(&mut to, flags, run);
        self.used += to.length;
        for some in chunks.chunks(CHUNKS_AT_ONCE) {
            let mut to = Writer::behind(&mut self.bytes, self.used);
            for chunk in some {
                to.count(u64::from(chunk.kv_tokens));
                to.count(u64::from(chunk.tokens));
            }
            self.used += to.length;
        }
        self.before.passes(run);
    }

    /// What is written.
    fn written(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// What is to be said of a run; where it does not begin as is foreseen, `before` is told.
    fn flags(&mut self, run: &IterationRun) -> u16 {
        let start = differs(START, run.start_us, self.before.place().0);
        if start > 0 {
            let begins = |back: &usize| differs(1, run.start_us, self.before.ago(*back).0) == 0;
            self.before.back = (0..KNOWN).find(begins).unwrap_or(KNOWN) as u8;
        }
        let is_busy = differs(1, run.busy_us, whole_us(run)) == 0;
        let flags = start
            | if is_single(run) { SINGLE } else { differs(END, run.end_us, end_by_law(run)) }
            | if is_busy {
                0
            } else if steps_of(run.busy_us, run.end_us).is_some() {
                BUSY
            } else {
                ODD
            }
            | differs(GROWTH, run.growth_us, 0.0)
            | differs(KV, run.kv_tokens, whole(run.kv_tokens) as i64 as f64)
            | differs(COPIES, run.copying_us, 0.0)
            | differs(LOADS, run.adapter_load_us, 0.0)
            | if self.before.adapters == (run.resident_adapters, run.adapter_tokens) { 0 } else { RESIDENT }
            | if run.stalled == 0 { 0 } else { STALLED }
            | if run.lora == LoraBatch::default() { 0 } else { LORA }
            | if run.fresh == run.decodes { 0 } else { FRESH }
            | if run.any_adapter || run.rank_sum > 0 { ADAPTERS } else { 0 };
        flags | if flags > 0xff { MORE } else { 0 }
    }
}

impl DeltaState {
    #[inline]
    fn times(&self, to: &mut Writer<'_>, flags: u16, run: &IterationRun) {
        if flags & START != 0 {
            to.byte(self.back);
            if usize::from(self.back) == KNOWN {
                to.number(run.start_us);
            }
        }
        if flags & SINGLE != 0 {
            to.count(run.end_us.to_bits() - run.start_us.to_bits());
        } else {
            to.number(run.first_us);
        }
        for (flag, number) in [(GROWTH, run.growth_us), (END, run.end_us)] {
            if flags & flag != 0 {
                to.number(number);
            }
        }
        if flags & BUSY != 0 {
            to.count(steps_of(run.busy_us, run.end_us).unwrap_or(0));
        }
        for (flag, number) in [(ODD, run.busy_us), (COPIES, run.copying_us), (LOADS, run.adapter_load_us)] {
            if flags & flag != 0 {
                to.number(number);
            }
        }
    }

    #[inline]
    fn counts(&self, to: &mut Writer<'_>, flags: u16, run: &IterationRun) {
        if flags & KV == 0 {
            to.count(zigzag(whole(run.kv_tokens).wrapping_sub(self.place().1) as i64));
        } else {
            to.number(run.kv_tokens);
        }
        if flags & SINGLE == 0 {
            to.count(run.iterations.into());
        }
        to.count(run.prompts.into());
        if run.prompts > 0 {
            to.count(run.prompt_tokens.into());
        }
        to.count(run.decodes.into());
        to.count(zigzag(i64::from(run.blocks) - i64::from(self.blocks)));
        if flags & FRESH != 0 {
            to.count(u64::from(run.fresh));
        }
        if flags & ADAPTERS != 0 {
            to.count(run.rank_sum);
            to.byte(u8::from(run.any_adapter));
        }
        if flags & RESIDENT != 0 {
            to.count(run.resident_adapters.into());
            to.count(run.adapter_tokens.into());
        }
        if flags & STALLED != 0 {
            to.count(run.stalled.into());
        }
        if flags & LORA != 0 {
            let LoraBatch { adapters, adapter_ranks, tokens, token_ranks } = run.lora;
            for count in [adapters.into(), adapter_ranks, tokens.into(), token_ranks] {
                to.count(count);
            }
        }
    }
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
    /// The only replica: nothing is to be put in order.
    only: Option<Cursor<'a>>,
    /// The next run of each of the others, and the place behind it.
    heads: Vec<(IterationRun, Cursor<'a>)>,
    /// Whose turn it is: of a heap that is told apart from the runs little is moved.
    order: BinaryHeap<Turn>,
}

impl Iter<'_> {
    /// Takes the runs one after the other; where there is one replica without a copy of each.
    fn each(mut self, mut take: impl FnMut(&IterationRun)) {
        let Some(mut cursor) = self.only.take() else { return self.for_each(|run| take(&run)) };
        while let Some(run) = cursor.advance() {
            take(run);
        }
    }
}

impl Iterator for Iter<'_> {
    type Item = IterationRun;

    fn next(&mut self) -> Option<IterationRun> {
        if let Some(cursor) = &mut self.only {
            return cursor.next();
        }
        let mut turn = self.order.peek_mut()?;
        let (head, cursor) = &mut self.heads[turn.head];
        let run = *head;
        match cursor.advance() {
            Some(next) => {
                turn.start_us = next.start_us;
                *head = *next;
            }
            None => drop(PeekMut::pop(turn)),
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
            times in (0.0..1e12f64, prop::option::of(0usize..10), 0.0..1e9f64, prop_oneof![Just(0.0), -1.0..1e3f64]),
            odd in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
            counts in prop::array::uniform6(prop_oneof![Just(1), 0u32..200, any::<u32>()]),
            kv_tokens in prop_oneof![0u64..100_000, 0u64..1 << 53],
            adapters in prop::option::of((prop_oneof![0u64..99, any::<u64>()], any::<bool>())),
            chunks in prop::collection::vec((prop_oneof![0u32..200, any::<u32>()], any::<u32>()), 0..5),
            replica in 0u16..4,
            (stalled, resident_adapters, adapter_tokens) in
                (prop_oneof![Just(0), 0u32..300], prop_oneof![Just(0), 0u32..3], prop_oneof![Just(0), any::<u32>()]),
            load in prop_oneof![Just(0.0), Just(0.25)],
            lora in prop::option::of((any::<u32>(), any::<u64>(), any::<u32>(), any::<u64>())),
        ) -> (Option<usize>, IterationRun, Vec<Chunk>) {
            let (start_us, follows, first_us, growth_us) = times;
            let [iterations, _, prompt_tokens, decodes, fresh, blocks] = counts;
            let prompts = chunks.len() as u32;
            let prompt_tokens = if prompts > 0 { prompt_tokens } else { 0 };
            let mut run = IterationRun {
                start_us, end_us: 0.0, busy_us: 0.0, first_us, growth_us, iterations, replica, prompts, prompt_tokens,
                decodes, fresh: if odd.0 { fresh } else { decodes }, blocks,
                kv_tokens: kv_tokens as f64 + if odd.1 { 0.3 } else { 0.0 },
                rank_sum: adapters.map_or(0, |a| a.0), any_adapter: adapters.is_some_and(|a| a.1),
                copying_us: if odd.0 { 0.5 * first_us } else { 0.0 }, chunks_at: 0,
                stalled, resident_adapters, adapter_tokens, adapter_load_us: load * first_us,
                lora: lora.map_or(LoraBatch::default(), |(adapters, adapter_ranks, tokens, token_ranks)| {
                    LoraBatch { adapters, adapter_ranks, tokens, token_ranks }
                }),
            };
            run.end_us = if odd.2 { start_us + first_us } else { end_by_law(&run) };
            run.busy_us = if odd.3 { 0.5 * first_us } else { whole_us(&run) };
            if odd.3 && odd.2 {
                run.busy_us = in_steps(run.busy_us, run.end_us);
            }
            if odd.2 && odd.1 {
                run.first_us = run.end_us - run.start_us;
            }
            (follows, run, chunks.into_iter().map(|(kv_tokens, tokens)| Chunk { kv_tokens, tokens }).collect())
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(rows in prop::collection::vec(any_run(), 0..40)) {
            let mut log = Iterations::default();
            let mut ends: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0]);
            let mut starts = [0.0f64; 4];
            let mut expected = Vec::new();
            for (follows, mut run, chunks) in rows {
                // It begins where one of the runs before it ended, or later than all of them did begin.
                let (ends, start) = (&mut ends[usize::from(run.replica)], &mut starts[usize::from(run.replica)]);
                let followed = follows.and_then(|back| ends.iter().rev().nth(back)).filter(|end| **end >= *start);
                let takes_us = run.end_us - run.start_us;
                run.start_us = followed.copied().unwrap_or(run.start_us.max(*start));
                run.end_us = (run.start_us + takes_us).max(run.start_us);
                *start = run.start_us;
                ends.push(run.end_us);
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
