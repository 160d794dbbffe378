//! What loads do to the requests of a replica: the scheduler learns of their ends, requests are admitted with what was loaded, wait anew
//! where nothing was, or go.

use servescope_workload::RequestId;

use super::super::Replica;
use super::super::batch_scheduler::ScheduleContext;
use super::super::holding::{HoldState, Holder};
use super::super::iteration::{CopyId, ScheduledBatch};
use crate::config::disaggregation::LoadFailure;
use crate::record::decisions::{Compared, Verdict};
use crate::record::request_state::RequestStatus;
use crate::record::timeline::QueueDrop;
use crate::request::{Outcome, Rejection};

impl Replica {
    /// The scheduler learns of the copies that had ended when an iteration was formed.
    pub(crate) fn copies_have_ended(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) {
        let now_us = context.now_us;
        let Self { kv, holding, kv_connector: Some(tier), .. } = self else { return };
        let mut failed = Vec::new();
        for copy in std::mem::take(&mut batch.copies.reported) {
            tier.connector.ended(kv, copy);
            kv.tell_of_host(tier.connector.take_changes());
            tier.has_learned = true;
            let taken = tier.loads.take(copy, now_us).or_else(|| tier.stores.take(copy, now_us));
            let Some(copy) = taken else { continue };
            let loaded = if copy.is_load { &copy.requests[..] } else { &[] };
            for &request in loaded {
                let Some(holder) = holding.get_mut(request) else { continue };
                holder.state = HoldState::Loaded;
                if holder.is_gone {
                    holding.cancel(kv, request);
                    continue;
                }
                match holder.fails_at {
                    None => {}
                    Some((_, LoadFailure::Fail)) => failed.push(request),
                    // What is before the first block that is missing is there.
                    Some((at, LoadFailure::Recompute)) => {
                        holder.computed = ((holder.local + at) * tier.blocks.block_size).min(holder.computed);
                    }
                }
            }
            context.record.kv_copies.push(copy);
        }
        for id in failed {
            self.fail_load(context, id);
        }
    }

    /// A request ends with an error, because it could not be loaded.
    fn fail_load(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        let reason = Rejection::KvLoad;
        context.record.results[id].outcome = Outcome::Rejected(reason);
        context.record.departures.push(QueueDrop { time_us: context.now_us, id });
        context.decided(self.index, id, Verdict::Rejected(reason), || Compared::NOTHING);
        self.drop_holder(context, id);
    }

    /// An iteration is computed: stores that wait for it begin.
    pub(crate) fn begin_stores(&mut self, now_us: f64, batch: &mut ScheduledBatch) {
        let Some(tier) = &mut self.kv_connector else { return };
        for copy in std::mem::take(&mut batch.copies.begin_after) {
            tier.stores.begin(copy, now_us);
        }
    }

    /// Until when an iteration waits for copies; infinite where one of them has not begun. `None`: it does not wait.
    pub(crate) fn waits_for_copies_until(&self, now_us: f64, batch: &ScheduledBatch) -> Option<f64> {
        let tier = self.kv_connector.as_ref()?;
        let end_us =
            |&copy: &CopyId| tier.loads.end_us(copy).or_else(|| tier.stores.end_us(copy)).unwrap_or(0.0);
        let until_us = batch.copies.awaited.iter().map(end_us).max_by(f64::total_cmp)?;
        (until_us > now_us).then_some(until_us)
    }

    /// Whether what a request loads is there: then it is ready. When that is seen first its blocks can be found, and where all of its tokens are loaded
    /// the last one is computed again: the next one comes out of it.
    pub(crate) fn finish_load(&mut self, id: RequestId) -> bool {
        let Self { kv, holding, .. } = self;
        let Some(holder) = holding.get_mut(id) else { return false };
        match holder.state {
            HoldState::Begins | HoldState::UnderWay | HoldState::AwaitsInput => return false,
            HoldState::Ready => {}
            HoldState::Loaded => {
                holder.state = HoldState::Ready;
                kv.cache_blocks(id, holder.computed, &mut holder.held);
                holder.computed = holder.computed.min(holder.known - 1);
            }
        }
        true
    }

    /// A request that waited with blocks is admitted.
    pub(crate) fn take_holder(&mut self, context: &ScheduleContext<'_>, id: RequestId) -> Option<Holder> {
        let holder = self.holding.take(id)?;
        self.holder_leaves(context, id);
        Some(holder)
    }

    /// A request that could load nothing gives its blocks back and waits as a new one.
    pub(crate) fn wait_anew(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        let Some(mut holder) = self.take_holder(context, id) else { return };
        self.kv.free_blocks(id, &mut holder.held, false);
        context.requests[id].status = RequestStatus::Waiting;
        self.requeue(context, id);
    }

    /// A request that waits with blocks goes away.
    pub(crate) fn drop_holder(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        let Self { kv, holding, kv_connector, .. } = self;
        if let (Some(tier), Some(holder)) = (kv_connector, holding.get(id)) {
            tier.forget(kv, context.trace, (id, holder.known));
        }
        holding.cancel(kv, id);
        self.holder_leaves(context, id);
        self.outstanding -= 1;
        if !context.requests[id].leg.scheduled_us.is_nan() {
            self.close_result(context, id);
        }
        context.requests.token_us.remove(&id);
        context.requests[id].status = RequestStatus::Finished;
        context.record.ends(id);
    }
}
