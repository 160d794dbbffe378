//! The iterations of replicas. A simulation of usual length keeps them as they are, a long one in a few bytes each: where a run
//! begins, how long it takes and what it works on mostly follow from the runs before it on the same replica and from the growth
//! of its own iterations, and the rest are small numbers.
//!
//! In a pipeline most runs are turns: one iteration of the requests of an earlier run, each with a token more. Of these only the
//! end, the time that the stages worked and the blocks are written.
//!
//! Any other run is a byte of flags, or two, the numbers that they announce, and counts in groups of seven bits (LEB128). A
//! run begins where one of the last few ended: on one stage the last, in a pipeline mostly the one as many runs ago as there
//! are stages. A run of one iteration is stored as its end only, in steps of the clock (five bytes at most).

mod encode;
mod merged;
mod plain;
mod read;
mod segments;
#[cfg(test)]
mod tests;
mod write;

use crate::replica_index::ReplicaIndex;

use servescope_cost::{Chunk, LinearDecode, LoraBatch};

use super::IterationRun;
use crate::rounding::nearest_multiple;
use merged::Iter;
use plain::PlainIterations;
use read::{LogCursor, Reader};

/// It does not begin at the end of the same earlier run, counted backwards, as the previous run did.
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
/// A request uses an adapter, or its LoRA operators work on something.
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
/// What no single iteration has beside [`SINGLE`]: it is a turn ([`DeltaState::is_turn`]), of which the byte of flags tells besides
/// only [`BUSY`] and, in its upper three bits, how many bytes its times take, less one.
const TURN: u16 = SINGLE | GROWTH;
const TURN_BYTES: u32 = 5;
/// Requests are stalled.
const STALLED: u16 = 8192;
/// Its iterations grow by something else than those of the last run of as many requests that decode.
const OTHER_GROWTH: u16 = 16_384;

/// Of the byte that tells of adapters: a request uses one.
const ANY_ADAPTER: u8 = 1;
/// What the LoRA operators work on is known.
const LORA: u8 = 2;
/// They work on all of its tokens.
const ALL_TOKENS: u8 = 4;
/// The sum of ranks over their tokens is what follows from the rest ([`token_ranks`]).
const PLAIN_RANKS: u8 = 8;

/// Of so many runs the ends are known.
const KNOWN: usize = 8;

/// By so many numbers of requests that decode the growth of their iterations is known.
const GROWTHS: usize = 64;

/// As long as all replicas together have no more runs than this, these are kept as they are; then all are written in few bytes.
// PERF: writing and reading 100,000 requests' iterations in few bytes takes a seventh of the instructions of their simulation
// with its summary; guarded by `what_is_written_is_read`.
const MOST_PLAIN: usize = if cfg!(test) { 8 } else { 1 << 19 };

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
#[derive(Debug, Clone)]
enum ReplicaIterations {
    Plain(PlainIterations),
    Encoded(Box<EncodedIterations>),
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
    /// What the last ones left, in a ring; the last one's place.
    ends: [RunEnd; KNOWN],
    last: usize,
    /// At whose end the last one began.
    back: u8,
    blocks: u32,
    /// Adapters in GPU memory and the tokens' worth of the pool that they take.
    adapters: (u32, u32),
    growths: Growths,
}

/// What a run left.
#[derive(Debug, Clone, Copy, Default)]
struct RunEnd {
    end_us: f64,
    /// KV tokens after it, if no request left.
    kv_tokens: u64,
    decodes: u32,
}

/// By how much iterations grew, by the number of requests that decode in them: under most laws it hangs on nothing else.
#[derive(Debug, Clone)]
struct Growths([f64; GROWTHS]);

impl Default for Growths {
    fn default() -> Self {
        Self([0.0; GROWTHS])
    }
}

impl Growths {
    fn of(&mut self, decodes: u32) -> &mut f64 {
        &mut self.0[decodes as usize % GROWTHS]
    }
}

impl DeltaState {
    fn passes(&mut self, run: &IterationRun) {
        self.last = (self.last + 1) % KNOWN;
        // Where no request leaves, the next one begins with a token more of each that decoded.
        let added = u64::from(run.prompt_tokens) + u64::from(run.iterations) * u64::from(run.decodes);
        let kv_tokens = whole(run.kv_tokens).wrapping_add(added);
        self.ends[self.last] = RunEnd { end_us: run.end_us, kv_tokens, decodes: run.decodes };
        self.blocks = run.blocks;
        self.adapters = (run.resident_adapters, run.adapter_tokens);
    }

    /// The run so many ago.
    fn ago(&self, back: usize) -> RunEnd {
        self.ends[(self.last + KNOWN - back % KNOWN) % KNOWN]
    }

    /// The one at whose end the next run is taken to begin.
    fn place(&self) -> RunEnd {
        self.ago(self.back.into())
    }

    /// Whether a run without growth or loading is one iteration of the requests of the run at whose end it begins, none else, and
    /// all that is told of a turn is different.
    #[inline]
    fn is_turn(&self, run: &IterationRun) -> bool {
        let before = self.place();
        is_plain_decode(run)
            && run.decodes == before.decodes
            && differs(1, run.start_us, before.end_us) == 0
            && differs(1, run.kv_tokens, before.kv_tokens as i64 as f64) == 0
            && self.adapters == (run.resident_adapters, run.adapter_tokens)
    }
}

/// A count that is kept as a number; of others the part before the point, as far as there is room.
#[inline]
fn whole(number: f64) -> u64 {
    // Over the signed ones, to which processors turn a number at once.
    number as i64 as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// The step of the clock at a time, which is not negative.
#[inline]
pub(crate) fn step_us(time_us: f64) -> f64 {
    f64::from_bits(time_us.to_bits().wrapping_add(1)) - time_us
}

/// A time in whole steps of the clock at `end_us`: so it takes few bytes.
fn in_steps(time_us: f64, end_us: f64) -> f64 {
    nearest_multiple(time_us, step_us(end_us))
}

/// Tokens of an iteration.
fn tokens(run: &IterationRun) -> u32 {
    run.prompt_tokens.wrapping_add(run.decodes)
}

/// The sum of ranks over the tokens of LoRA operators, where all of them use one adapter or each is that of a request.
fn token_ranks(run: &IterationRun) -> u64 {
    match run.lora {
        LoraBatch { adapters: 1, adapter_ranks, tokens, .. } => adapter_ranks.wrapping_mul(tokens.into()),
        _ => run.rank_sum,
    }
}

/// How long the stages work where they do all the time.
pub(crate) fn whole_us(run: &IterationRun) -> f64 {
    let us = run.end_us - run.start_us - run.adapter_load_us;
    // Where they take no time but for the loading, rounding may leave less than nothing.
    if us > 0.0 { us } else { 0.0 }
}

/// The busy time that is kept of a run: that of the whole run as it is, a shorter one in steps of the clock.
fn kept_busy_us(run: &IterationRun) -> f64 {
    if differs(1, run.busy_us, whole_us(run)) == 0 { run.busy_us } else { in_steps(run.busy_us, run.end_us) }
}

fn end_by_law(run: &IterationRun) -> f64 {
    run.start_us + LinearDecode::new(run.first_us, run.growth_us).elapsed_us(run.iterations)
}

impl Iterations {
    /// Writes one down, with what it reads of each of its prompts. Those of a replica come in the order of their start. Its busy time
    /// is kept to a step of the clock at its end.
    pub fn push(&mut self, run: &IterationRun, chunks: &[Chunk]) {
        self.push_inlined(run, chunks);
    }

    /// The same, compiled into its caller.
    pub(crate) fn push_inlined(&mut self, run: &IterationRun, chunks: &[Chunk]) {
        let run = &IterationRun { busy_us: kept_busy_us(run), ..*run };
        if self.runs == MOST_PLAIN {
            self.replicas.iter_mut().enumerate().for_each(|(replica, log)| log.encode(replica));
        }
        let place = usize::from(run.replica);
        if self.replicas.len() <= place {
            let is_plain = self.runs < MOST_PLAIN;
            self.replicas.resize_with(place + 1, || ReplicaIterations::new(is_plain));
        }
        match &mut self.replicas[place] {
            ReplicaIterations::Plain(log) => log.push(run, chunks),
            ReplicaIterations::Encoded(log) => log.push(run, chunks),
        }
        self.runs += 1;
        if run.end_us > self.end_us {
            self.end_us = run.end_us;
        }
    }

    /// The same for an [iteration that only decodes](is_plain_decode): mostly it is a turn.
    // PERF: 5 % fewer instructions of a run of two stages; guarded by `what_is_written_is_read`.
    pub(crate) fn push_turn(&mut self, replica: ReplicaIndex, run: impl Fn() -> IterationRun) {
        debug_assert!(is_plain_decode(&run()), "{:?}", run());
        if let Some(ReplicaIterations::Plain(log)) = self.replicas.get_mut(usize::from(replica))
            && self.runs != MOST_PLAIN
        {
            let run = run();
            let run = IterationRun { busy_us: kept_busy_us(&run), ..run };
            log.push_turn(&run);
            self.runs += 1;
            if run.end_us > self.end_us {
                self.end_us = run.end_us;
            }
            return;
        }
        self.push(&run(), &[]);
    }

    /// What a run of these reads of each of its prompts.
    pub fn chunks(&self, run: &IterationRun) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        self.read_chunks(run, &mut chunks);
        chunks
    }

    /// The same in place of what `chunks` holds.
    pub fn read_chunks(&self, run: &IterationRun, chunks: &mut Vec<Chunk>) {
        chunks.clear();
        match self.replicas.get(usize::from(run.replica)) {
            Some(ReplicaIterations::Plain(log)) => chunks.extend_from_slice(log.chunks(run)),
            Some(ReplicaIterations::Encoded(log)) => {
                let mut reader = Reader { bytes: &log.bytes, at: run.chunks_at };
                chunks.extend((0..run.prompts).map(|_| reader.chunk()));
            }
            None => {}
        }
    }

    /// Those of one replica, in the order of their start.
    pub fn of_replica(&self, replica: ReplicaIndex) -> impl Iterator<Item = IterationRun> + '_ {
        let mut cursor = self.replicas.get(usize::from(replica)).map(|log| LogCursor::new(log, replica));
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
        Iter::of(&self.replicas)
    }
}

impl ReplicaIterations {
    fn new(is_plain: bool) -> Self {
        if is_plain { Self::Plain(PlainIterations::default()) } else { Self::Encoded(Box::default()) }
    }

    /// Writes those of this replica in few bytes that were kept as they are.
    #[cold]
    fn encode(&mut self, replica: usize) {
        let Self::Plain(plain) = self else { return };
        let mut encoded = Box::<EncodedIterations>::default();
        plain
            .cursor(ReplicaIndex::new(replica as u16))
            .for_each(|run| encoded.push(&run, plain.chunks(&run)));
        *self = Self::Encoded(encoded);
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

/// Whether it is one iteration of requests that decode without adapters, all of which had a token when it began.
#[inline]
fn is_plain_decode(run: &IterationRun) -> bool {
    run.iterations == 1
        && run.prompts == 0
        && run.fresh == run.decodes
        && run.stalled == 0
        && run.prompt_tokens == 0
        && run.copying_us.to_bits() | run.adapter_load_us.to_bits() == 0
        && !tells_adapters(run)
        && is_single(run)
}

/// Whether anything is to be said of its adapters.
#[inline]
fn tells_adapters(run: &IterationRun) -> bool {
    let LoraBatch { adapters, adapter_ranks, tokens, token_ranks } = run.lora;
    let any = run.rank_sum | u64::from(adapters) | adapter_ranks | u64::from(tokens) | token_ranks;
    run.any_adapter || any > 0
}
