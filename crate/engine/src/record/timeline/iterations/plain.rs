//! Runs that are kept as they are, each in as much memory as most of them need: what adapters, LoRA operators and copies add
//! to a run is beside it, for those runs to which they add something.

use servescope_cost::{Chunk, LoraBatch};

use super::IterationRun;
use super::segments::{SegmentCursor, Segments};
use crate::replica_index::ReplicaIndex;

/// Of the bits beside the stalled requests of a run: adapters are in GPU memory, are loaded, or have ranks.
const ADAPTERS: u32 = 1;
/// LoRA operators work on something, or blocks are copied.
const OPERATORS: u32 = 2;
/// A request uses an adapter.
const ANY_ADAPTER: u32 = 4;
/// How many bits these are.
const BITS: u32 = 3;

/// The runs of one replica.
#[derive(Debug, Clone, Default)]
pub(super) struct PlainIterations {
    runs: Segments<PlainRun>,
    adapters: Segments<RunAdapters>,
    operators: Segments<RunOperators>,
    chunks: Vec<Chunk>,
}

#[derive(Debug, Clone, Copy)]
struct PlainRun {
    start_us: f64,
    end_us: f64,
    busy_us: f64,
    first_us: f64,
    growth_us: f64,
    kv_tokens: f64,
    iterations: u32,
    prompts: u32,
    prompt_tokens: u32,
    decodes: u32,
    fresh: u32,
    blocks: u32,
    /// Where its chunks begin.
    chunks_at: u32,
    /// Stalled requests, and in the lowest bits what there is of it beside these numbers.
    stalled: u32,
}

/// What adapters add.
#[derive(Debug, Clone, Copy)]
struct RunAdapters {
    load_us: f64,
    rank_sum: u64,
    resident: u32,
    tokens: u32,
}

/// What LoRA operators and copies add.
#[derive(Debug, Clone, Copy)]
struct RunOperators {
    lora: LoraBatch,
    copying_us: f64,
}

impl PlainIterations {
    pub(super) fn push(&mut self, run: &IterationRun, chunks: &[Chunk]) {
        let mut bits = 0;
        let adapters = u64::from(run.resident_adapters | run.adapter_tokens) | run.rank_sum;
        if adapters | run.adapter_load_us.to_bits() > 0 {
            bits |= ADAPTERS;
            self.adapters.push(RunAdapters {
                load_us: run.adapter_load_us,
                rank_sum: run.rank_sum,
                resident: run.resident_adapters,
                tokens: run.adapter_tokens,
            });
        }
        let LoraBatch { adapters, adapter_ranks, tokens, token_ranks } = run.lora;
        let operators = u64::from(adapters | tokens) | adapter_ranks | token_ranks;
        if operators | run.copying_us.to_bits() > 0 {
            bits |= OPERATORS;
            self.operators.push(RunOperators { lora: run.lora, copying_us: run.copying_us });
        }
        if run.any_adapter {
            bits |= ANY_ADAPTER;
        }
        self.push_whole(run, bits);
        if let [chunk] = chunks {
            self.chunks.push(*chunk);
        } else if !chunks.is_empty() {
            self.chunks.extend_from_slice(chunks);
        }
    }

    /// A turn: what adapters add to it is at most that some are in GPU memory.
    pub(super) fn push_turn(&mut self, run: &IterationRun) {
        let (resident, tokens) = (run.resident_adapters, run.adapter_tokens);
        let mut bits = 0;
        if resident | tokens > 0 {
            bits = ADAPTERS;
            self.adapters.push(RunAdapters { load_us: 0.0, rank_sum: 0, resident, tokens });
        }
        self.push_whole(run, bits);
    }

    fn push_whole(&mut self, run: &IterationRun, bits: u32) {
        self.runs.push(PlainRun {
            start_us: run.start_us,
            end_us: run.end_us,
            busy_us: run.busy_us,
            first_us: run.first_us,
            growth_us: run.growth_us,
            kv_tokens: run.kv_tokens,
            iterations: run.iterations,
            prompts: run.prompts,
            prompt_tokens: run.prompt_tokens,
            decodes: run.decodes,
            fresh: run.fresh,
            blocks: run.blocks,
            chunks_at: self.chunks.len() as u32,
            stalled: run.stalled << BITS | bits,
        });
    }

    pub(super) fn cursor(&self, replica: ReplicaIndex) -> PlainCursor<'_> {
        PlainCursor {
            replica,
            runs: self.runs.cursor(),
            adapters: self.adapters.cursor(),
            operators: self.operators.cursor(),
        }
    }

    /// What a run of these reads of each of its prompts.
    pub(super) fn chunks(&self, run: &IterationRun) -> &[Chunk] {
        &self.chunks[run.chunks_at..][..run.prompts as usize]
    }
}

/// The runs that were not read yet.
#[derive(Debug, Clone)]
pub(super) struct PlainCursor<'a> {
    replica: ReplicaIndex,
    runs: SegmentCursor<'a, PlainRun>,
    adapters: SegmentCursor<'a, RunAdapters>,
    operators: SegmentCursor<'a, RunOperators>,
}

impl Iterator for PlainCursor<'_> {
    type Item = IterationRun;

    #[inline]
    fn next(&mut self) -> Option<IterationRun> {
        let run = self.runs.next()?;
        let mut whole = IterationRun {
            start_us: run.start_us,
            end_us: run.end_us,
            busy_us: run.busy_us,
            first_us: run.first_us,
            growth_us: run.growth_us,
            iterations: run.iterations,
            replica: self.replica,
            prompts: run.prompts,
            prompt_tokens: run.prompt_tokens,
            decodes: run.decodes,
            fresh: run.fresh,
            stalled: run.stalled >> BITS,
            kv_tokens: run.kv_tokens,
            blocks: run.blocks,
            any_adapter: run.stalled & ANY_ADAPTER > 0,
            chunks_at: run.chunks_at as usize,
            ..IterationRun::BLANK
        };
        if run.stalled & ADAPTERS > 0
            && let Some(adapters) = self.adapters.next()
        {
            whole.adapter_load_us = adapters.load_us;
            whole.rank_sum = adapters.rank_sum;
            whole.resident_adapters = adapters.resident;
            whole.adapter_tokens = adapters.tokens;
        }
        if run.stalled & OPERATORS > 0
            && let Some(operators) = self.operators.next()
        {
            whole.lora = operators.lora;
            whole.copying_us = operators.copying_us;
        }
        Some(whole)
    }
}
