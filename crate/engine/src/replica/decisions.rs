//! What a replica writes into the log of decisions, and the numbers that its tests compare.

use servescope_workload::RequestId;

use super::Replica;
use super::batch_scheduler::ScheduleContext;
use super::iteration::ScheduledBatch;
use crate::config::PoolConfig;
use crate::record::decisions::{Compared, Decision, Test, Verdict};
use crate::request::BlockReason;

impl Replica {
    /// Writes down what was decided of a request, or of the whole queue where the batch is full.
    pub(super) fn record_decision(
        &self,
        context: &mut ScheduleContext<'_>,
        batch: &ScheduledBatch,
        id: RequestId,
        stop: Option<BlockReason>,
        compared: impl FnOnce(&ScheduleContext<'_>, bool) -> Compared,
    ) {
        if stop == Some(BlockReason::RunningCap) {
            let config = context.config;
            let compared = self.compared_cap(config, batch);
            return context.queue_waits(self.index, || compared);
        }
        if context.swapped(id) > 0 {
            // It is decided where requests come back from the host.
            return;
        }
        let compared = compared(context, stop == Some(BlockReason::PromptBudget));
        if stop.is_some() && self.waiting.is_round_robin() {
            return context.queue_waits(self.index, || compared);
        }
        let verdict = if stop.is_some() { Verdict::Waits } else { Verdict::Admitted };
        context.decided(self.index, id, verdict, || compared);
    }

    /// Running requests of the replica, or of the batch of a stage, one more counted, with the cap on them.
    pub(crate) fn compared_cap(&self, config: &PoolConfig, batch: &ScheduledBatch) -> Compared {
        let (running, most) = if self.num_running >= config.max_requests {
            (self.num_running, config.max_requests)
        } else {
            (batch.size(), self.batch_cap(config))
        };
        Compared::new(Test::RunningCap, running + 1, most)
    }

    /// The blocks that a request needs, those to be left free among them, and those that are free beside its adapter.
    pub(crate) fn compared_blocks(
        &self,
        context: &ScheduleContext<'_>,
        id: RequestId,
        blocks: u32,
    ) -> Compared {
        let need = blocks.saturating_add(context.config.watermark_blocks);
        Compared::new(Test::KvBlocks, need, self.free_beside_adapter(context, id).unwrap_or(0))
    }

    /// Writes down why a request was preempted, where decisions are kept: a request needs more blocks than are free.
    pub(crate) fn record_preemption(
        &self,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
        verdict: Verdict,
        (needs, blocks_needed, free): (RequestId, u32, u32),
    ) {
        let (time_us, replica) = (context.now_us, self.index);
        context.record.decisions.add(|| {
            let compared = Compared::new(Test::KvBlocks, blocks_needed, free);
            Decision::of(time_us, replica, id, verdict, compared).for_request(needs)
        });
    }
}
