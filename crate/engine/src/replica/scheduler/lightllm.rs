//! LightLLM as in Vidur: iterations of prompts alone or of decoding alone, memory token by token. Every given number of decode
//! iterations prompts are admitted, as long as the batch will fit at its worst moment; the length of an answer counts as
//! its bound.

use servescope_workload::RequestId;

use super::{
    Awaited, BatchEvent, BatchScheduler, BlockAllocation, Effect, PoolConfig, QueueScan, Replica,
    ScheduleContext, ScheduledBatch, SchedulerCounts, SchedulerFacts, SchedulerRules, SchedulerSetup, Steady,
};
use crate::record::decisions::{Compared, Test};
use crate::replica::peak_memory::{KvFootprint, PeakKvEstimator};
use crate::request::{BlockReason, Rejection};

/// The scheduler.
#[derive(Debug)]
pub(super) struct LightLlm;

/// What it keeps of a replica.
#[derive(Debug, Clone, Default)]
pub(super) struct LightLlmState {
    /// Decode iterations since it last tried to admit prompts.
    decode_steps: u32,
    /// Its view of the memory.
    estimate: PeakKvEstimator,
}

impl SchedulerRules for LightLlm {
    fn scheduler(&self, _setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler> {
        Box::new(LightLlmState::default())
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts {
            allocation: BlockAllocation::OnDemand,
            tests_adapters: true,
            looks_at_queue: false,
            awaits: [Awaited::Iteration, Awaited::InterleavingRule],
            ..SchedulerFacts::of_iterations(config)
        }
    }

    fn refuses(
        &self,
        config: &PoolConfig,
        blocks: u32,
        [input_tokens, total_tokens]: [u32; 2],
    ) -> Option<Rejection> {
        let at_most = |tokens: u32, most: u32, reason: Rejection| (tokens > most).then_some(reason);
        // The last token is never written to the cache.
        at_most(config.blocks_for(total_tokens.saturating_sub(1)), blocks, Rejection::PoolTooSmall)
            .or_else(|| at_most(input_tokens, config.max_batch_tokens, Rejection::PromptOverBatch))
            .or_else(|| {
                at_most(total_tokens.max(input_tokens.saturating_add(2)), blocks, Rejection::NeverFits)
            })
    }
}

impl BatchScheduler for LightLlmState {
    fn boxed(&self) -> Box<dyn BatchScheduler> {
        Box::new(self.clone())
    }

    fn schedule(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> QueueScan {
        schedule(self, replica, context, batch)
    }

    fn steady_for(&self, replica: &mut Replica, context: &ScheduleContext<'_>, most: u32) -> Steady {
        Steady::up_to(most.min(until_next_attempt(self, replica, context)))
    }

    fn happened(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        event: BatchEvent<'_>,
    ) -> Effect {
        match event {
            BatchEvent::Decoded(iterations) => count_steps(self, context, iterations),
            BatchEvent::Left(id, decoded_to) => leave(self, replica, context, id, decoded_to),
            _ => {}
        }
        Effect::None
    }

    fn counts(&self) -> SchedulerCounts<'_> {
        SchedulerCounts {
            estimate: Some(&self.estimate),
            decode_steps: Some(self.decode_steps),
            ..SchedulerCounts::default()
        }
    }
}

/// A request that holds memory leaves the estimate.
fn leave(
    own: &mut LightLlmState,
    replica: &Replica,
    context: &ScheduleContext<'_>,
    id: RequestId,
    decoded_to: Option<u32>,
) {
    let (input, max) = (context.trace.input_tokens[id], context.trace.max_tokens[id]);
    let step = replica.decode_batch.step;
    let entry = match decoded_to {
        None => KvFootprint::new(step, input + 1, max.saturating_sub(2)),
        // The same entry, from the last step or the next: nothing may be left, and nothing decoded.
        Some(tokens) => match (input + max).checked_sub(tokens + 1) {
            Some(left) => KvFootprint::new(step, tokens, left),
            None => KvFootprint::new(step - 1, tokens - 1, input + max - tokens),
        },
    };
    own.estimate.remove(entry);
}

fn schedule(
    own: &mut LightLlmState,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> QueueScan {
    let is_idle = replica.decode_batch.count == 0;
    let mut scan = QueueScan::Skipped;
    if is_idle || own.decode_steps >= context.config.decode_steps_between_prefills {
        scan = QueueScan::Stopped(admit(own, replica, context, batch));
        if !is_idle || !batch.is_empty() {
            own.decode_steps = 0;
        }
    }
    if batch.is_empty() && !is_idle {
        replica.kv.allocate(replica.decode_batch.new_blocks(0));
        replica.schedule_decode_batch(batch);
    }
    scan
}

/// Admits prompts, in queue order; says what the head stays for.
fn admit(
    own: &mut LightLlmState,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> Option<BlockReason> {
    let config = context.config;
    let mut batch_tokens = 0u64;
    while let Some(id) = replica.candidate(context) {
        let i = id.index();
        let prompt = context.requests[i].prompt;
        let entry = KvFootprint::new(
            replica.decode_batch.step,
            prompt + 1,
            context.trace.max_tokens[i].saturating_sub(2),
        );
        batch_tokens += u64::from(prompt);
        let has_budget = batch_tokens <= u64::from(config.max_batch_tokens);
        let of_adapters =
            replica.kv.adapter_blocks() + replica.adapters.blocks_to_load(context.adapter(id).0);
        let pool = i64::from(config.blocks) - i64::from(of_adapters);
        let fits = own.estimate.fits(entry, pool);
        let stop =
            replica.admission_block_reason(context, batch, (id, has_budget, fits), |_, is_over_budget| {
                if is_over_budget {
                    Compared::new(Test::TokenBudget, batch_tokens, config.max_batch_tokens)
                } else {
                    Compared::new(Test::PeakTokens, own.estimate.need_with(entry), pool.max(0))
                }
            });
        if stop.is_some() {
            return stop;
        }
        own.estimate.insert(entry);
        replica.admit(context, batch, config.blocks_for(prompt), prompt);
    }
    None
}

/// Iterations until prompts may next be admitted, the present one counted. Attempts at an empty waiting queue change the counter
/// alone.
fn until_next_attempt(own: &LightLlmState, replica: &Replica, context: &ScheduleContext<'_>) -> u32 {
    if replica.num_waiting == 0 {
        return u32::MAX;
    }
    context.config.decode_steps_between_prefills.saturating_sub(own.decode_steps).max(1)
}

/// The counter after `iterations` of decoding in which no request was admitted.
fn count_steps(own: &mut LightLlmState, context: &ScheduleContext<'_>, iterations: u32) {
    let every = context.config.decode_steps_between_prefills;
    let steps = own.decode_steps;
    own.decode_steps = if iterations <= every.saturating_sub(steps) {
        steps + iterations
    } else if every == 0 {
        1
    } else {
        (steps + iterations - 1) % every + 1
    };
}
