//! Continuous batching: which requests join the next iteration of a replica. One scheduler a file, behind one trait. What
//! a scheduler keeps of a replica between iterations is in its own file, too.

pub(crate) mod custom;
mod lightllm;
mod orca;
mod sarathi;
mod sglang;
pub(crate) mod slora;
mod static_batch;
mod trtllm;
mod vllm;
mod vllm_v1;

use std::sync::Arc;

use super::batch_scheduler::{
    Awaited, BatchEvent, BatchScheduler, BlockAllocation, Effect, LengthRule, OwnQueue, PrefixCaching,
    QueueScan, ScheduleContext, SchedulerCounts, SchedulerFacts, SchedulerRules, SchedulerSetup, Steady,
};
use super::iteration::ScheduledBatch;
use super::{Replica, snapshot};
use crate::config::adapters::{AdapterConfig, AdapterMemory};
use crate::config::{Pool, PoolConfig, SchedulerKind};
use crate::request::BlockReason;
use servescope_cost::Chunk;
use servescope_workload::RequestId;

impl SchedulerKind {
    /// What is known of the scheduler.
    pub(crate) fn rules(self) -> Arc<dyn SchedulerRules> {
        match self {
            Self::Static => Arc::new(static_batch::Static),
            Self::Orca => Arc::new(orca::Orca),
            Self::Vllm => Arc::new(vllm::Vllm),
            Self::Sarathi => Arc::new(sarathi::Sarathi),
            Self::LightLlm => Arc::new(lightllm::LightLlm),
            Self::VllmV1 => Arc::new(vllm_v1::VllmV1),
            Self::Slora => Arc::new(slora::Slora),
            Self::Sglang => Arc::new(sglang::Sglang),
            Self::Trtllm => Arc::new(trtllm::Trtllm),
        }
    }
}

impl Pool {
    /// What is known of the scheduler of its replicas.
    pub(crate) fn rules(&self) -> Arc<dyn SchedulerRules> {
        let own = self.scheduler.as_ref().map(Arc::clone);
        own.map_or_else(|| self.config.scheduler.rules(), |own| Arc::new(custom::Custom(own)))
    }
}

/// Forms the next iteration. Where nothing was formed because the only request that held memory was preempted, it is
/// admitted again at once; Vidur waits for the next arrival.
pub(crate) fn schedule_or_retry(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) {
    let loads = snapshot::begins(replica, context);
    let preempted_before = context.record.preemptions.len();
    let waiting = replica.num_waiting;
    let mut scan = schedule(replica, context, batch);
    let has_preempted = context.record.preemptions.len() > preempted_before;
    let only_preempted = has_preempted && batch.is_empty();
    if only_preempted
        && replica.num_running == 0
        && !context.config.reference_quirks
        && !context.facts.queues_empty_batches
    {
        scan = schedule(replica, context, batch);
    }
    replica.looks_again = only_preempted && batch.is_empty();
    batch.changes_again |= has_preempted;
    if let QueueScan::Stopped(stop) = scan {
        let stop = stop.or(replica.passes_over.then_some(BlockReason::LoraSlots));
        // Where every waiting request is skipped for want of a LoRA slot, any policy skips them all.
        let skips_all = stop == Some(BlockReason::LoraSlots) && replica.num_waiting == waiting;
        if waiting > 1 && !skips_all && !context.record.had_choice {
            context.record.had_choice = replica.num_waiting > 0 || leaves_prompt(context, batch);
        }
        if replica.num_waiting > 0 {
            replica.set_blocked_on(context, stop);
        }
    }
    if context.loads_ahead() && !batch.is_empty() {
        replica.prefetch(context);
    }
    snapshot::ends(replica, context, loads);
    if batch.any_adapter && context.cost.reads_lora() {
        batch.lora = replica.adapters.batch(context.trace, &replica.decode_batch, batch);
    }
    batch.in_memory = replica.adapters_in_memory();
}

/// Whether a part of some prompt is left for a later iteration.
fn leaves_prompt(context: &ScheduleContext<'_>, batch: &ScheduledBatch) -> bool {
    let is_left =
        |(&id, chunk): (&RequestId, &Chunk)| chunk.kv_tokens + chunk.tokens < context.requests[id].prompt;
    batch.prompts.iter().zip(&batch.chunks).any(is_left)
}

/// Forms an iteration; requests that were skipped for want of a LoRA slot are back in place then.
#[inline]
fn schedule(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> QueueScan {
    replica.passes_over = false;
    replica.keep_ahead(context);
    let scan = replica.with_scheduler(|own, replica| own.schedule(replica, context, batch));
    replica.waiting.put_back();
    scan
}

/// Fast-forward of a replica that keeps a decode batch: how many iterations in a row this batch stays valid, `longest` at the
/// most, if no request arrives: until a request is done, memory runs short, or the scheduler's plan changes.
pub(crate) fn fast_forward(
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
    batch: &ScheduledBatch,
    longest: u32,
) -> u32 {
    replica.sure_iterations = 0;
    // A preempted request may be admitted again by the next iteration, and others behind those that came back.
    if !batch.chunks.is_empty() || batch.changes_again {
        return 1;
    }
    let most = longest.min(replica.decode_batch.until_end()).min(steady(replica, context));
    let Steady { most, sure } = replica.with_scheduler(|own, replica| own.steady_for(replica, context, most));
    replica.sure_iterations = sure;
    if context.facts.allocates_on_demand() {
        // The blocks of its first iteration are taken.
        replica.decode_batch.iterations_within(replica.kv.available(), most)
    } else {
        most
    }
}

/// For how many iterations the head of the waiting queue stays the same, where that matters to the scheduler. A full batch lets
/// no request in, but round robin gives quanta when it is looked at.
fn steady(replica: &mut Replica, context: &ScheduleContext<'_>) -> u32 {
    let config = context.config;
    let loads_ahead = context.loads_ahead();
    let looks = context.facts.looks_at_queue || loads_ahead;
    if looks && replica.passes_over && replica.waiting.keeps_counters() {
        // The head is not the next request. Where none is, none will be before the batch changes, whichever the head is; but
        // round robin gives quanta when it is looked at, and that the head is skipped is a decision.
        let is_none = replica.adapters.admits_none()
            && !replica.waiting.is_round_robin()
            && !context.record.decisions.is_on();
        return if is_none { u32::MAX } else { 1 };
    }
    // That the head is skipped before the cap is found is a decision, too.
    let tells_skipped = context.record.decisions.is_on() && config.adapters.memory == AdapterMemory::Slots;
    let is_full = replica.stop == Some(BlockReason::RunningCap)
        && !replica.waiting.is_round_robin()
        && !loads_ahead
        && !tells_skipped;
    if looks && replica.num_waiting > 0 && !is_full { replica.waiting.steady() } else { u32::MAX }
}
