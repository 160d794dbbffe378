//! vLLM's first scheduler (Kwon et al., SOSP 2023) as in Vidur: prompts first and alone, whole; then decoding, where the
//! latest arrival gives way when blocks run out, and is recomputed.

use super::{
    BatchScheduler, PoolConfig, QueueScan, Replica, ScheduleContext, ScheduledBatch, SchedulerFacts,
    SchedulerRules, SchedulerSetup,
};
use crate::record::decisions::{Compared, Test};
use crate::request::{BlockReason, Rejection};

/// The scheduler.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vllm;

impl SchedulerRules for Vllm {
    fn scheduler(&self, _setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler> {
        self.boxed()
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts::of_iterations(config)
    }

    fn refuses(
        &self,
        config: &PoolConfig,
        blocks: u32,
        [input_tokens, total_tokens]: [u32; 2],
    ) -> Option<Rejection> {
        let is_over_batch = (input_tokens > config.max_batch_tokens).then_some(Rejection::PromptOverBatch);
        refuses_blocks(config, blocks, total_tokens).or(is_over_batch)
    }
}

impl BatchScheduler for Vllm {
    fn boxed(&self) -> Box<dyn BatchScheduler> {
        Box::new(*self)
    }

    fn schedule(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> QueueScan {
        schedule(replica, context, batch)
    }

    /// Prompts are looked at before requests that decode.
    fn lacks_only_memory(&self, _replica: &Replica, _config: &PoolConfig, _batch: &ScheduledBatch) -> bool {
        true
    }
}

/// A request whose prompt and longest output need more blocks than there are. The last token is never written to the cache.
pub(super) fn refuses_blocks(config: &PoolConfig, blocks: u32, total_tokens: u32) -> Option<Rejection> {
    (config.blocks_for(total_tokens.saturating_sub(1)) > blocks).then_some(Rejection::PoolTooSmall)
}

fn schedule(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> QueueScan {
    let stop = admit(replica, context, batch);
    if batch.is_empty() {
        let preempted_before = context.record.preemptions.len();
        replica.schedule_decodes(context, batch, true);
        if context.record.preemptions.len() > preempted_before {
            return QueueScan::Stopped(Some(BlockReason::Memory));
        }
        if replica.swap_in_heads(context, batch, u32::MAX) > 0 && !replica.head_is_swapped_out(context) {
            return QueueScan::Stopped(None);
        }
    }
    QueueScan::Stopped(stop)
}

/// Admits whole prompts, in queue order: memory above the watermark, and a budget of tokens as if every prompt
/// were as long as the longest. Says what the head stays for.
fn admit(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> Option<BlockReason> {
    let config = context.config;
    let mut longest = 0;
    while let Some(id) = replica.candidate(context) {
        let prompt = context.requests[id].prompt;
        let blocks = context.blocks_to_enter(id, config.blocks_for(prompt));
        longest = longest.max(prompt);
        let padded = u64::from(batch.size() + 1) * u64::from(longest);
        // What a preempted request has to recompute may be more than the budget; Vidur then waits for ever.
        let goes_alone = !config.reference_quirks && batch.is_empty() && context.requests[id].preemptions > 0;
        let has_budget = padded <= u64::from(config.max_batch_tokens) || goes_alone;
        let tests = (id, has_budget, replica.has_room(context, id, blocks));
        let stop = replica.admission_block_reason(context, batch, tests, |context, is_over_budget| {
            if is_over_budget {
                Compared::new(Test::TokenBudget, padded, config.max_batch_tokens)
            } else {
                replica.compared_blocks(context, id, blocks)
            }
        });
        if stop.is_some() {
            return stop;
        }
        replica.admit(context, batch, blocks, prompt);
    }
    None
}
