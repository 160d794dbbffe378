//! What the GPUs did, as records in order of time.

mod iterations;

use crate::record::kv_copies::KvCopy;
use crate::replica_index::ReplicaIndex;
use servescope_workload::RequestId;

pub use iterations::Iterations;
pub(crate) use iterations::whole_us;

use servescope_cost::{Batch, Chunk, LoraBatch, RankRows};

use crate::request::BlockReason;

/// Consecutive equal iterations of one replica: prompts and decoding, each alone or both together. Iteration j takes
/// `first_us` + j `growth_us`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IterationRun {
    /// Start of the first, microseconds.
    pub start_us: f64,
    /// End of the last.
    pub end_us: f64,
    /// Time that the stages worked on them, over the number of stages; without the loading of adapters.
    pub busy_us: f64,
    /// Duration of the first.
    pub first_us: f64,
    /// By how much each is longer than the one before.
    pub growth_us: f64,
    /// How many.
    pub iterations: u32,
    /// Which replica.
    pub replica: ReplicaIndex,
    /// Requests whose prompts, or parts of them, are processed.
    pub prompts: u32,
    /// Prompt tokens.
    pub prompt_tokens: u32,
    /// Requests that decode in every iteration.
    pub decodes: u32,
    /// Tokens of their answers that they get together in each: one of each request, unless a scheduler has it otherwise.
    pub decode_tokens: u32,
    /// Drafts that are verified in each.
    pub drafts: u32,
    /// How many are made for each request behind each of them.
    pub drafted: u32,
    /// Rows of the data-parallel ranks of a pass that they run together.
    pub rank_rows: RankRows,
    /// How much longer the pass took than this rank alone would have; a part of its time, microseconds.
    pub waited_us: f64,
    /// Those of its requests that decode whose last token came when the first iteration began; the gaps of the others are in
    /// [`Timeline::gaps`].
    pub fresh: u32,
    /// Requests that hold KV memory and are stalled meanwhile: no part of the iterations.
    pub stalled: u32,
    /// Tokens in KV memory during the first, but for those of its prompts.
    pub kv_tokens: f64,
    /// KV blocks in use at the end.
    pub blocks: u32,
    /// Adapters in GPU memory.
    pub resident_adapters: u32,
    /// Tokens' worth of the KV pool that those adapters take.
    pub adapter_tokens: u32,
    /// Sum over its requests of their adapters' ranks.
    pub rank_sum: u64,
    /// Whether any request uses an adapter.
    pub any_adapter: bool,
    /// What its LoRA operators work on, each iteration.
    pub lora: LoraBatch,
    /// Loading of adapters before the first of them begins; a part of its time, microseconds.
    pub adapter_load_us: f64,
    /// Copying of KV blocks from and to the host before the first of them begins; a part of its time, microseconds.
    pub copying_us: f64,
    /// Where [`Iterations::chunks`] finds what is read of its prompts.
    pub chunks_at: usize,
}

/// A data-parallel rank without a batch runs dummy ones, one after the other, because other ranks of its replica have some.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DummyBatches {
    /// Which rank.
    pub replica: ReplicaIndex,
    /// Start of the first, microseconds.
    pub start_us: f64,
    /// End of the last.
    pub end_us: f64,
    /// How many.
    pub passes: u32,
}

/// The experts that the ranks of a replica share are rearranged by their loads; what the weights take that move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rearrangement {
    /// Which replica, of the fleet's list of replicas with all their ranks.
    pub replica: u16,
    /// From when on a pass waits for the weights, microseconds.
    pub start_us: f64,
    /// Until when; at once where they move beside passes.
    pub end_us: f64,
}

/// A running request is preempted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreemptionEvent {
    /// When, microseconds.
    pub time_us: f64,
    /// Which request.
    pub id: RequestId,
    /// Of which replica.
    pub replica: ReplicaIndex,
    /// Tokens that it had in memory and that are processed again; none where the host keeps them.
    pub lost_tokens: u32,
}

impl IterationRun {
    /// Nothing.
    pub(crate) const BLANK: Self = Self {
        start_us: 0.0,
        end_us: 0.0,
        busy_us: 0.0,
        first_us: 0.0,
        growth_us: 0.0,
        iterations: 0,
        replica: ReplicaIndex::new(0),
        prompts: 0,
        prompt_tokens: 0,
        decodes: 0,
        decode_tokens: 0,
        drafts: 0,
        drafted: 0,
        rank_rows: RankRows { all: 0, most: 0, are_balanced: false },
        waited_us: 0.0,
        fresh: 0,
        stalled: 0,
        kv_tokens: 0.0,
        blocks: 0,
        resident_adapters: 0,
        adapter_tokens: 0,
        rank_sum: 0,
        any_adapter: false,
        lora: LoraBatch { adapters: 0, adapter_ranks: 0, tokens: 0, token_ranks: 0 },
        adapter_load_us: 0.0,
        copying_us: 0.0,
        chunks_at: 0,
    };

    /// What iteration `index` holds, as a cost model sees it; half-way between two it is the mean of both. `chunks` are
    /// those of [`Iterations::chunks`].
    pub fn batch<'a>(&self, chunks: &'a [Chunk], index: f64) -> Batch<'a> {
        let read: f64 = chunks.iter().map(|chunk| f64::from(chunk.kv_tokens)).sum();
        let decode_kv_tokens = match self.decodes {
            0 => 0.0,
            _ => self.kv_tokens - read + index * f64::from(self.decode_tokens),
        };
        let Self { decodes, rank_sum, any_adapter, lora, drafts, drafted, rank_rows, .. } = *self;
        Batch { chunks, decodes, decode_kv_tokens, rank_sum, any_adapter, lora, drafts, drafted, rank_rows }
    }

    /// Requests in each iteration.
    pub fn requests(&self) -> u32 {
        self.prompts + self.decodes
    }

    /// Tokens of answers in all of them, but for the first ones.
    pub fn decoded_tokens(&self) -> f64 {
        f64::from(self.iterations) * f64::from(self.decode_tokens)
    }

    /// When the first of them begins: behind the loading of adapters, microseconds.
    pub fn begins_us(&self) -> f64 {
        self.start_us + self.adapter_load_us
    }

    /// Tokens in KV memory during the last. The token that it makes is there from the next one on.
    pub fn kv_tokens_at_end(&self) -> f64 {
        let added = f64::from(self.iterations.saturating_sub(1)) * f64::from(self.decode_tokens);
        self.kv_tokens + f64::from(self.prompt_tokens) + added
    }
}

/// A waiting request leaves the queue: it timed out, or the scheduling policy rejects it after all. When a
/// client went away is in the trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueDrop {
    /// When, microseconds.
    pub time_us: f64,
    /// Which request.
    pub id: RequestId,
}

/// Equal gaps between tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InterTokenLatency {
    /// When the first of them ended, microseconds.
    pub end_us: f64,
    /// Length, microseconds.
    pub length_us: f64,
    /// How many.
    pub count: u32,
}

/// What kept the head of a waiting queue from joining, from one admission decision to the next that says something else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueBlockage {
    /// The decision, microseconds.
    pub start_us: f64,
    /// The replica whose queue it is.
    pub replica: ReplicaIndex,
    /// Why it stopped; `None`: it picked every waiting request, later arrivals wait for the next decision.
    pub stop: Option<BlockReason>,
}

/// The time between a request's preemption and its next iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreemptionInterval {
    /// The request.
    pub request: RequestId,
    /// Its last iteration before, microseconds.
    pub start_us: f64,
    /// The start of its next one.
    pub end_us: f64,
}

/// Everything that the GPU did, and why the waiting queue stood.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// Admission decisions in order of time.
    pub holds: Vec<QueueBlockage>,
    /// Requests that timed out or were rejected while they waited, in order of time.
    pub departures: Vec<QueueDrop>,
    /// How long preempted requests were away, by the time at which they were resumed.
    pub preemption_intervals: Vec<PreemptionInterval>,
    /// Copies of KV blocks from and to host memory, by the time at which the scheduler learned of their end.
    pub kv_copies: Vec<KvCopy>,
    /// Passes of data-parallel ranks without a batch, in the order of their start.
    pub dummy_batches: Vec<DummyBatches>,
    /// Rearrangements of experts, in order of time.
    pub rearrangements: Vec<Rearrangement>,
    /// Iterations of the replicas in order of their start.
    pub iterations: Iterations,
    /// Preempted requests, in order of time.
    pub preemptions: Vec<PreemptionEvent>,
    /// Gaps between tokens that are longer than an iteration: their requests were stalled, or preempted.
    pub gaps: Vec<InterTokenLatency>,
}

impl Timeline {
    /// How long passes of a replica waited for weights of experts between two times, microseconds.
    pub(crate) fn rearranging_us(&self, replica: u16, start_us: f64, end_us: f64) -> f64 {
        let from = self.rearrangements.partition_point(|row| row.end_us <= start_us);
        let rows = self.rearrangements[from..].iter().take_while(|row| row.start_us < end_us);
        let own = rows.filter(|row| row.replica == replica);
        own.map(|row| row.end_us.min(end_us) - row.start_us.max(start_us)).sum()
    }

    /// The end of the last iteration, microseconds; 0 where there was none.
    pub fn end_us(&self) -> f64 {
        self.iterations.end_us()
    }
}
