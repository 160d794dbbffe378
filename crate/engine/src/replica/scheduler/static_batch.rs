//! Static batching, as NVIDIA's FasterTransformer: a batch is filled from the waiting queue and runs, prompts first, until its
//! last member is done; no request joins. Each member reserves memory for the longest request until the batch is done.
//!
//! Vidur frees, at the end of a batch, the memory of those members only that are done at that moment, so memory leaks
//! where answers differ in length. With [`PoolConfig::reference_quirks`](crate::config::PoolConfig::reference_quirks) it leaks here too.

use std::collections::VecDeque;

use servescope_workload::RequestId;

use super::{
    Awaited, BatchEvent, BatchScheduler, BlockAllocation, Effect, PoolConfig, QueueScan, Replica,
    ScheduleContext, ScheduledBatch, SchedulerFacts, SchedulerRules, SchedulerSetup, Steady,
};
use crate::record::decisions::{Compared, Test, Verdict};
use crate::record::request_state::RequestStatus;
use crate::request::{BlockReason, Rejection};

/// The scheduler.
#[derive(Debug)]
pub(super) struct Static;

/// What it keeps of a replica.
#[derive(Debug, Clone, Default)]
pub(super) struct StaticBatches {
    /// Of one stage: blocks of the batch that runs.
    reserved: u32,
    /// Of several stages: batches between two of their iterations.
    parked: VecDeque<PausedBatch>,
}

#[derive(Debug, Clone)]
struct PausedBatch {
    members: Vec<RequestId>,
    reserved: u32,
}

impl SchedulerRules for Static {
    fn scheduler(&self, _setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler> {
        Box::new(StaticBatches::default())
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts {
            allocation: BlockAllocation::ForBatch,
            mixes_batches: false,
            arrival_changes_plan: false,
            looks_at_queue: false,
            awaits: [Awaited::Batch; 2],
            ..SchedulerFacts::of_iterations(config)
        }
    }

    fn refuses(&self, config: &PoolConfig, blocks: u32, _tokens: [u32; 2]) -> Option<Rejection> {
        refuses_slots(config, blocks)
    }
}

impl BatchScheduler for StaticBatches {
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

    /// Other batches take turns with one.
    fn steady_for(&self, _replica: &mut Replica, _context: &ScheduleContext<'_>, most: u32) -> Steady {
        Steady::up_to(if self.parked.is_empty() { most } else { 1 })
    }

    fn happened(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        event: BatchEvent<'_>,
    ) -> Effect {
        match event {
            BatchEvent::Ended(batch, finished) => end_batch(self, replica, context, batch, finished),
            BatchEvent::TakenApart(batch) => {
                let (members, reserved) = (batch.members.clone(), batch.reserved);
                self.parked.push_back(PausedBatch { members, reserved });
            }
            _ => {}
        }
        Effect::None
    }
}

/// Where the longest request does not fit, none does.
pub(super) fn refuses_slots(config: &PoolConfig, blocks: u32) -> Option<Rejection> {
    (config.slot_blocks() > blocks || config.slots() == 0).then_some(Rejection::PoolTooSmall)
}

fn schedule(
    own: &mut StaticBatches,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> QueueScan {
    if replica.is_single() {
        if replica.decode_batch.count > 0 {
            replica.schedule_decode_batch(batch);
            return QueueScan::Skipped;
        }
    } else {
        while let Some(mut parked) = own.parked.pop_front() {
            batch.reserved = parked.reserved;
            parked.members.retain(|&id| context.requests[id].status == RequestStatus::Decoding);
            context.decode_members(batch, &parked.members);
            if !batch.is_empty() {
                return QueueScan::Skipped;
            }
            // All of its clients have gone.
            replica.kv.free(if context.config.reference_quirks { 0 } else { parked.reserved });
        }
    }
    let stop = admit_to_slots(replica, context, batch);
    batch.reserved = batch.size() * context.config.slot_blocks();
    QueueScan::Stopped(stop)
}

/// Admits requests, in queue order, each with memory for the longest one. Says what the head stays for.
pub(super) fn admit_to_slots(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> Option<BlockReason> {
    let config = context.config;
    while let Some(id) = replica.candidate(context) {
        if batch.size() >= config.slots() {
            let compared = || Compared::new(Test::RunningCap, batch.size() + 1, config.slots());
            context.queue_waits(replica.index, compared);
            return Some(BlockReason::RunningCap);
        }
        let free = replica.free_beside_adapter(context, id);
        let has_room = free.is_some_and(|free| free >= config.slot_blocks());
        let verdict = if has_room { Verdict::Admitted } else { Verdict::Waits };
        context.decided(replica.index, id, verdict, || {
            Compared::new(Test::KvBlocks, config.slot_blocks(), free.unwrap_or(0))
        });
        if !has_room {
            return Some(BlockReason::Memory);
        }
        replica.admit(context, batch, config.slot_blocks(), context.prompt_left(id));
    }
    None
}

/// After an iteration in which `done` of its members were the last of the batch, or after which it goes on.
fn end_batch(
    own: &mut StaticBatches,
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
    batch: &ScheduledBatch,
    finished: u32,
) {
    let config = context.config;
    let is_over = if replica.is_single() {
        own.reserved += batch.prompts.len() as u32 * config.slot_blocks();
        replica.decode_batch.count == 0
    } else {
        let mut members = batch.members.clone();
        members.extend_from_slice(&batch.prompts);
        members.retain(|&id| context.requests[id].status == RequestStatus::Decoding);
        let is_over = members.is_empty();
        if !is_over {
            own.parked.push_back(PausedBatch { members, reserved: batch.reserved });
        }
        is_over
    };
    if is_over {
        let reserved = if replica.is_single() { std::mem::take(&mut own.reserved) } else { batch.reserved };
        replica.kv.free(if config.reference_quirks { finished * config.slot_blocks() } else { reserved });
    }
}
