//! Sarathi-Serve (Agrawal et al., OSDI 2024) as in Vidur, with chunked prefill: all decodes, then prompts in chunks,
//! up to a number of tokens an iteration. Memory for the whole prompt is taken with its first chunk.

use super::vllm::refuses_blocks;
use super::{
    BatchScheduler, PoolConfig, QueueScan, Replica, ScheduleContext, ScheduledBatch, SchedulerFacts,
    SchedulerRules, SchedulerSetup,
};
use crate::record::decisions::{Compared, Test};
use crate::request::Rejection;

/// The scheduler.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sarathi;

impl SchedulerRules for Sarathi {
    fn scheduler(&self, _setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler> {
        self.boxed()
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts::of_iterations(config)
    }

    fn refuses(&self, config: &PoolConfig, blocks: u32, [_, total_tokens]: [u32; 2]) -> Option<Rejection> {
        let reads_nothing = (config.chunk_tokens == 0).then_some(Rejection::NeverFits);
        refuses_blocks(config, blocks, total_tokens).or(reads_nothing)
    }
}

impl BatchScheduler for Sarathi {
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

    fn lacks_only_memory(&self, replica: &Replica, config: &PoolConfig, batch: &ScheduledBatch) -> bool {
        batch.decodes < config.chunk_tokens.min(replica.batch_cap(config))
    }
}

fn schedule(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> QueueScan {
    let config = context.config;
    let preempted_before = context.record.preemptions.len();
    replica.prefills_this_step.clear();
    if replica.schedule_decodes(context, batch, false) {
        let Replica { prefills_this_step, deferred_prefills, partial_prefills, .. } = replica;
        prefills_this_step.append(deferred_prefills);
        prefills_this_step.append(partial_prefills);
    }
    // Decoding is not bounded by the number of tokens, only prompts are.
    let mut left = config.chunk_tokens.saturating_sub(batch.decodes);
    let mut prefills_this_step = std::mem::take(&mut replica.prefills_this_step);
    for &id in &prefills_this_step {
        let tokens = context.next_chunk(id).min(left);
        if tokens == 0 {
            replica.deferred_prefills.push(id);
            context.record.phases.defer(id, context.now_us, false);
        } else {
            left -= tokens;
            context.add_chunk(batch, id, tokens);
        }
    }
    prefills_this_step.clear();
    replica.prefills_this_step = prefills_this_step;
    if replica.is_single() {
        context.sort(&mut replica.deferred_prefills, &replica.waiting);
    } else {
        let Replica { running, deferred_prefills, waiting, .. } = replica;
        deferred_prefills.append(running);
        context.sort(deferred_prefills, waiting);
        std::mem::swap(running, deferred_prefills);
    }
    if context.record.preemptions.len() == preempted_before {
        left -= replica.swap_in_heads(context, batch, left);
    }
    while let Some(id) = replica.candidate(context) {
        let blocks = context.blocks_to_enter(id, config.blocks_for(context.requests[id].prompt));
        let tokens = context.next_chunk(id).min(left);
        let tests = (id, tokens > 0, replica.has_room(context, id, blocks));
        let stop = replica.admission_block_reason(context, batch, tests, |context, is_over_budget| {
            if is_over_budget {
                Compared::new(Test::TokenBudget, context.next_chunk(id), left)
            } else {
                replica.compared_blocks(context, id, blocks)
            }
        });
        if stop.is_some() {
            return QueueScan::Stopped(stop);
        }
        left -= tokens;
        replica.admit(context, batch, blocks, tokens);
    }
    QueueScan::Stopped(None)
}
