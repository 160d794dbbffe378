//! Iteration times with speculative decoding: the model's own, which verifies drafts, and behind it the drafter, which makes those of
//! the next iteration. A drafter that reads hidden states runs in the last stage, so that in a pipeline every round of drafts waits
//! there (vllm-project/vllm#44697).

use crate::batch::{
    Batch, BatchCost, DecodeUsage, LoraBatch, OperatorTime, Peak, StageParts, StageTime, Work, mean_of_stages,
};
use crate::batch_stages::{BatchStages, StageConstants};

/// What one pass of a drafter takes.
#[derive(Debug)]
pub enum DraftPass {
    /// So long as a model takes of which these are the times; of several stages its last one.
    Model(Box<dyn BatchCost>),
    /// This share of what the target model takes for the same requests without drafts.
    Share(f64),
}

/// What makes drafts.
#[derive(Debug)]
pub enum Drafter {
    /// A look-up on the host, which takes this share of the iteration.
    Lookup(f64),
    /// Passes of a model, one for each draft or one for all of them. The first one also reads what the target model reads, for the
    /// drafter's own KV memory.
    Passes {
        /// One of them.
        pass: DraftPass,
        /// Whether one makes all drafts.
        is_parallel: bool,
    },
}

/// A model with a drafter.
#[derive(Debug)]
pub struct Speculative {
    target: Box<dyn BatchCost>,
    drafter: Drafter,
}

impl Speculative {
    /// The times of `target` with those of a drafter.
    pub fn new(target: Box<dyn BatchCost>, drafter: Drafter) -> Self {
        Self { target, drafter }
    }

    /// What the drafter does behind a batch: batches, and how often each of them.
    fn passes<'a>(&self, batch: &Batch<'a>) -> [(f64, Batch<'a>); 2] {
        let Drafter::Passes { is_parallel, .. } = &self.drafter else { return [(0.0, *batch); 2] };
        let own = Batch { rank_sum: 0, any_adapter: false, lora: LoraBatch::default(), drafted: 0, ..*batch };
        // Requests whose prompts end with it decode from then on.
        let decodes = batch.requests();
        let read: f64 = batch.chunks.iter().map(|chunk| f64::from(chunk.kv_tokens + chunk.tokens)).sum();
        let decode_kv_tokens = batch.decode_kv_tokens + read;
        let next = Batch { chunks: &[], decodes, decode_kv_tokens, drafts: 0, ..own };
        let is_first = batch.drafted > 0 || !batch.chunks.is_empty();
        if *is_parallel {
            // Its queries are masked tokens: one for each draft.
            let rows = if batch.drafted > 0 { decodes * (batch.drafted - 1) } else { 0 };
            return [
                (f64::from(u8::from(is_first)), Batch { drafts: own.drafts + rows, ..own }),
                (0.0, next),
            ];
        }
        [(f64::from(u8::from(is_first)), own), (f64::from(batch.drafted.saturating_sub(1)), next)]
    }

    /// What the drafter takes in all, by class of operator.
    fn draft_parts(&self, batch: &Batch<'_>) -> StageParts {
        let mut sum = StageParts::default();
        let mut add = |parts: StageParts, times: f64| {
            sum.iter_mut().zip(parts).for_each(|(sum, us)| *sum += us * times);
        };
        match &self.drafter {
            Drafter::Lookup(share) if batch.drafted > 0 => add(self.target.stage_parts(batch)[1], *share),
            Drafter::Lookup(_) => {}
            Drafter::Passes { pass, .. } => {
                for (times, batch) in self.passes(batch).iter().filter(|pass| pass.0 > 0.0) {
                    match pass {
                        DraftPass::Model(model) => add(model.stage_parts(batch)[1], *times),
                        DraftPass::Share(share) => {
                            let stages = f64::from(self.target.stages());
                            let whole = mean_of_stages(self.target.stage_parts(batch), self.target.stages());
                            add(whole, times * share * stages);
                        }
                    }
                }
            }
        }
        sum
    }

    fn draft_us(&self, batch: &Batch<'_>) -> f64 {
        self.draft_parts(batch).iter().sum()
    }

    /// Whether a batch has nothing to do with drafts.
    fn is_plain(&self, batch: &Batch<'_>) -> bool {
        let reads = matches!(self.drafter, Drafter::Passes { .. }) && !batch.chunks.is_empty();
        batch.drafts == 0 && batch.drafted == 0 && !reads
    }
}

impl BatchCost for Speculative {
    fn stages(&self) -> u32 {
        self.target.stages()
    }

    /// The next iteration may hold other numbers of drafts.
    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let time = self.target.stage_time(batch, is_last);
        if self.is_plain(batch) {
            return time;
        }
        StageTime::once(if is_last { time.first_us + self.draft_us(batch) } else { time.first_us })
    }

    fn reads_lora(&self) -> bool {
        self.target.reads_lora()
    }

    fn stage_constants(&self, batch: &Batch<'_>) -> StageConstants {
        self.target.stage_constants(batch)
    }

    fn batch_stages(&self, batch: &Batch<'_>, constants: &StageConstants) -> BatchStages {
        let times = self.target.batch_stages(batch, constants);
        if self.is_plain(batch) {
            return times;
        }
        BatchStages::once([times.us[0], times.us[1] + self.draft_us(batch)])
    }

    fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        let mut parts = self.target.stage_parts(batch);
        if !self.is_plain(batch) {
            parts[1].iter_mut().zip(self.draft_parts(batch)).for_each(|(part, us)| *part += us);
        }
        parts
    }

    /// The target model's; what the drafter takes is in the classes alone.
    fn operators(&self, batch: &Batch<'_>, is_last: bool) -> Vec<OperatorTime> {
        self.target.operators(batch, is_last)
    }

    fn work(&self, batch: &Batch<'_>) -> Option<Work> {
        self.target.work(batch)
    }

    /// Iterations of as many requests differ in their drafts.
    fn decode_usage(&self, _decodes: u32) -> Option<DecodeUsage> {
        None
    }

    fn lora_usage(&self, lora: &LoraBatch) -> (f64, Work) {
        self.target.lora_usage(lora)
    }

    fn peak(&self) -> Option<Peak> {
        self.target.peak()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Chunk;
    use crate::linear::{AdapterCost, LinearCost};

    /// The line that SpecDecode-Bench fits to Llama-3.1-8B on an H100.
    const LLAMA: LinearCost = LinearCost {
        prefill_base_us: 0.0,
        prefill_per_token_us: 21.01,
        decode_base_us: 5_886.0,
        decode_per_request_us: 21.01,
        decode_per_kv_token_us: 0.0393,
        overhead_us: 1_207.0,
        adapters: AdapterCost::FREE,
    };

    fn with(drafter: Drafter) -> Speculative {
        Speculative::new(Box::new(LLAMA), drafter)
    }

    fn us(cost: &dyn BatchCost, batch: &Batch<'_>) -> f64 {
        cost.stage_time(batch, true).first_us
    }

    #[test]
    fn a_batch_without_drafts_takes_as_long_as_without_a_drafter() {
        let plain = Batch { decodes: 8, decode_kv_tokens: 8_000.0, ..Batch::default() };
        let pass = DraftPass::Share(0.1);
        for drafter in [Drafter::Lookup(0.006), Drafter::Passes { pass, is_parallel: false }] {
            let cost = with(drafter);
            assert_eq!(cost.stage_time(&plain, true), LLAMA.stage_time(&plain, true));
            assert_eq!(cost.stage_parts(&plain), LLAMA.stage_parts(&plain));
        }
    }

    #[test]
    fn passes_are_one_for_each_draft_or_one_for_all() {
        let batch =
            Batch { decodes: 8, decode_kv_tokens: 8_000.0, drafts: 24, drafted: 3, ..Batch::default() };
        let sequential = with(Drafter::Passes { pass: DraftPass::Share(0.1), is_parallel: false });
        let parallel = with(Drafter::Passes { pass: DraftPass::Share(0.1), is_parallel: true });
        let verified = us(&LLAMA, &batch);
        let plain = us(&LLAMA, &Batch { drafts: 0, ..batch });
        assert!((us(&sequential, &batch) - (verified + 0.1 * verified + 0.2 * plain)).abs() < 1e-6);
        let rows = us(&LLAMA, &Batch { drafts: 24 + 16, ..batch });
        assert!((us(&parallel, &batch) - (verified + 0.1 * rows)).abs() < 1e-6);
        let parts: f64 = sequential.stage_parts(&batch)[1].iter().sum();
        assert!((parts - us(&sequential, &batch)).abs() < 1e-6);
    }

    /// A prompt alone is read by the drafter, too; it makes no drafts of its chunks.
    #[test]
    fn a_drafter_reads_prompts() {
        let chunks = [Chunk { kv_tokens: 0, tokens: 500 }];
        let batch = Batch { chunks: &chunks, ..Batch::default() };
        let cost = with(Drafter::Passes { pass: DraftPass::Share(0.1), is_parallel: false });
        assert!((us(&cost, &batch) - 1.1 * us(&LLAMA, &batch)).abs() < 1e-6);
        let lookup = with(Drafter::Lookup(0.006));
        assert_eq!(us(&lookup, &batch), us(&LLAMA, &batch));
    }

    /// The speed-ups that SpecDecode-Bench measures with n-gram drafts, which are found in some iterations only: 1.47 for each
    /// request, of which 0.18 are right. A loss from 64 requests on.
    #[test]
    fn n_grams_lose_in_large_batches() {
        let cost = with(Drafter::Lookup(0.005_875));
        for (requests, expected) in [(1, 1.16), (8, 1.13), (16, 1.10), (32, 1.05), (64, 0.98), (128, 0.89)] {
            let count = f64::from(requests);
            let plain = Batch { decodes: requests, decode_kv_tokens: 500.0 * count, ..Batch::default() };
            let drafted = Batch { drafts: (1.47 * count) as u32, drafted: 5, ..plain };
            let speed_up = 1.18 * us(&LLAMA, &plain) / us(&cost, &drafted);
            assert!((speed_up / expected - 1.0).abs() < 0.02, "{speed_up} and not {expected} at {requests}");
        }
    }
}
