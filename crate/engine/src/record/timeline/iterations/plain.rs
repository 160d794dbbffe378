//! Runs that are kept as they are, each in as much memory as most of them need: what adapters and copies add to a run is beside
//! it, for those runs to which they add something.

use servescope_cost::{Chunk, LoraBatch};

use super::segments::{SegmentCursor, Segments};
use super::{IterationRun, tells_adapters};
use crate::replica::index::ReplicaIndex;

/// The runs of one replica.
#[derive(Debug, Clone, Default)]
pub(super) struct PlainIterations {
    runs: Segments<PlainRun>,
    additions: Segments<Additions>,
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
    stalled: u32,
    blocks: u32,
    /// Where its chunks begin; in the lowest bit whether the next additions are its own.
    place: u32,
}

/// What adapters and copies add.
#[derive(Debug, Clone, Copy)]
struct Additions {
    resident_adapters: u32,
    adapter_tokens: u32,
    rank_sum: u64,
    any_adapter: bool,
    lora: LoraBatch,
    adapter_load_us: f64,
    copying_us: f64,
}

impl PlainIterations {
    pub(super) fn push(&mut self, run: &IterationRun, chunks: &[Chunk]) {
        let other_bits = run.adapter_load_us.to_bits()
            | run.copying_us.to_bits()
            | u64::from(run.resident_adapters | run.adapter_tokens);
        let has_additions = other_bits > 0 || tells_adapters(run);
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
            stalled: run.stalled,
            blocks: run.blocks,
            place: (self.chunks.len() as u32) << 1 | u32::from(has_additions),
        });
        if !chunks.is_empty() {
            self.chunks.extend_from_slice(chunks);
        }
        if has_additions {
            self.additions.push(Additions {
                resident_adapters: run.resident_adapters,
                adapter_tokens: run.adapter_tokens,
                rank_sum: run.rank_sum,
                any_adapter: run.any_adapter,
                lora: run.lora,
                adapter_load_us: run.adapter_load_us,
                copying_us: run.copying_us,
            });
        }
    }

    pub(super) fn cursor(&self, replica: ReplicaIndex) -> PlainCursor<'_> {
        PlainCursor { replica, runs: self.runs.cursor(), additions: self.additions.cursor() }
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
    additions: SegmentCursor<'a, Additions>,
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
            stalled: run.stalled,
            kv_tokens: run.kv_tokens,
            blocks: run.blocks,
            chunks_at: (run.place >> 1) as usize,
            ..IterationRun::BLANK
        };
        if run.place & 1 == 1
            && let Some(added) = self.additions.next()
        {
            whole.resident_adapters = added.resident_adapters;
            whole.adapter_tokens = added.adapter_tokens;
            whole.rank_sum = added.rank_sum;
            whole.any_adapter = added.any_adapter;
            whole.lora = added.lora;
            whole.adapter_load_us = added.adapter_load_us;
            whole.copying_us = added.copying_us;
        }
        Some(whole)
    }
}
