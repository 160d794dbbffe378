//! The adapters of a replica's requests: loaded before an iteration, or ahead of time for the head of the waiting queue.

use servescope_workload::RequestId;

use super::Replica;
use super::batch_scheduler::ScheduleContext;
use super::iteration::ScheduledBatch;
use super::peak_memory::KvFootprint;

impl Replica {
    /// Adapters in GPU memory, and the tokens' worth of the KV pool that they take.
    pub(crate) fn adapters_in_memory(&self) -> (u32, u32) {
        let own = self.scheduler().counts().adapters_in_memory;
        own.map_or_else(|| self.adapters.in_memory(), |pool| (pool.resident_count(), pool.resident_tokens()))
    }

    /// How often an adapter was loaded, and evicted.
    pub(crate) fn loads_and_evictions(&self) -> (u64, u64) {
        let adapters = &self.adapters;
        let own = self.scheduler().counts().adapters_in_memory;
        own.map_or((adapters.loads, adapters.evictions), |pool| (pool.loads, pool.evictions))
    }

    /// The adapter of a request that is admitted is loaded before the iteration, if it is not there.
    pub(crate) fn acquire_adapter(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        id: RequestId,
    ) {
        let (adapter, rank) = context.adapter(id);
        batch.load_us += self.adapters.acquire(&mut self.kv, adapter, rank, context.now_us);
    }

    /// The adapter of the head of the waiting queue is loaded while an iteration runs, if there is room for it.
    pub(crate) fn prefetch(&mut self, context: &ScheduleContext<'_>) {
        let Some(id) = self.head(context) else { return };
        let (adapter, rank) = context.adapter(id);
        let blocks = self.adapters.blocks_to_load(adapter);
        if self.has_room_ahead(context, blocks) {
            self.adapters.prefetch(&mut self.kv, adapter, rank, context.now_us);
        }
    }

    /// Whether an adapter of `blocks` may be loaded ahead: the memory test still passes beside it, or every request that decodes still
    /// finds the block that it may need before the adapter's request is admitted.
    fn has_room_ahead(&self, context: &ScheduleContext<'_>, blocks: u32) -> bool {
        if let (true, Some(estimate)) = (self.facts.tests_adapters, self.scheduler().counts().estimate) {
            let no_request = KvFootprint::new(self.decode_batch.step, 0, 0);
            let of_adapters = i64::from(self.kv.adapter_blocks()) + i64::from(blocks);
            return self.kv.available() >= blocks
                && estimate.fits(no_request, i64::from(context.config.blocks) - of_adapters);
        }
        let spare = u64::from(context.config.watermark_blocks) + u64::from(self.num_running);
        u64::from(self.kv.available()) >= u64::from(blocks) + spare
    }

    /// An adapter that was loaded ahead for a request that is not the head of the queue any more is offloaded.
    pub(crate) fn keep_ahead(&mut self, context: &ScheduleContext<'_>) {
        if self.adapters.is_ahead() {
            let next = self.head(context).map(|id| context.adapter(id).0);
            self.adapters.keep_ahead(&mut self.kv, next);
        }
    }
}
