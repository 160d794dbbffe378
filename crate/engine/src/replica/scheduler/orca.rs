//! Orca (Yu et al., OSDI 2022) as in Vidur: iteration-level scheduling, whole prompts beside decoding. Each request
//! reserves memory for the longest one, so no request is ever preempted.

use super::static_batch::{admit_to_slots, refuses_slots};
use super::{
    BatchScheduler, BlockAllocation, PoolConfig, QueueScan, Replica, ScheduleContext, ScheduledBatch,
    SchedulerFacts, SchedulerRules, SchedulerSetup,
};
use crate::request::Rejection;

/// The scheduler.
#[derive(Debug, Clone, Copy)]
pub(super) struct Orca;

impl SchedulerRules for Orca {
    fn scheduler(&self, _setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler> {
        self.boxed()
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts { allocation: BlockAllocation::ForLongest, ..SchedulerFacts::of_iterations(config) }
    }

    fn refuses(&self, config: &PoolConfig, blocks: u32, _tokens: [u32; 2]) -> Option<Rejection> {
        refuses_slots(config, blocks)
    }
}

impl BatchScheduler for Orca {
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

    fn lacks_only_memory(&self, _replica: &Replica, config: &PoolConfig, batch: &ScheduledBatch) -> bool {
        batch.decodes < config.slots()
    }
}

fn schedule(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> QueueScan {
    let config = context.config;
    if replica.is_single() {
        replica.schedule_decode_batch(batch);
    } else {
        let count = replica.running.len().min(config.slots() as usize);
        context.decode_members(batch, &replica.running[..count]);
        replica.running.drain(..count);
    }
    QueueScan::Stopped(admit_to_slots(replica, context, batch))
}
