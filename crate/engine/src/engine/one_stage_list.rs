//! Fast-forward of replicas of one stage that list their running requests: successive iterations that differ only in one more token for
//! each request share one [`BatchRun`], and while nothing can change the batch they end in one event.

use super::{BatchEvent, BatchRun, Fleet};
use crate::replica_index::ReplicaIndex;

impl Fleet {
    /// The stage takes a batch; says when it is done with it.
    pub(super) fn begin_iteration(&mut self, place: ReplicaIndex, slot: u32, now_us: f64) -> f64 {
        let mut batches = std::mem::take(&mut self.pipelines[place].batches);
        let batch = &mut batches[slot as usize];
        let (replica, context, cost) = self.parts(place, now_us);
        let is_next = |run: &BatchRun| {
            run.composition == batch.composition
                && run.done < run.valid_for
                && (run.record.resident_adapters, run.record.adapter_tokens) == batch.in_memory
                && run.time_after(run.done) == now_us
        };
        batch.continues_run = batch.composition > 0 && replica.run.as_ref().is_some_and(is_next);
        if !batch.continues_run {
            let time = cost.stage_time(&batch.batch(), true);
            replica.run = Some(BatchRun::begin(replica, &context, batch, time, 0));
        }
        replica.fast_forwarded = 1;
        let mut end_us = now_us;
        if let Some(run) = &replica.run {
            batch.first_us = run.time_model.iteration_us(run.done);
            batch.growth_us = run.time_model.growth_us();
            end_us = run.time_after(run.done + 1);
        }
        self.pipelines[place].batches = batches;
        end_us
    }

    /// Puts the end of the iteration under way off to that of the last one of those in which nothing can change.
    pub(super) fn fast_forward(&mut self, place: ReplicaIndex, now_us: f64) {
        if !self.pipelines[place].is_steady() {
            return;
        }
        let longest = self.max_fast_forward;
        let (replica, context, _) = self.parts(place, now_us);
        let Some(run) = replica.run else { return };
        let most = longest.min(run.valid_for - run.done);
        let most = replica.with_list(|list, replica| list.steady_iterations(replica, &context, most));
        let steady = replica.with_scheduler(|own, replica| own.steady_for(replica, &context, most));
        replica.sure_iterations = steady.sure;
        let fast_forward = steady.most;
        if fast_forward > 1 {
            replica.fast_forwarded = fast_forward;
            self.schedule_completion(run.time_after(run.done + fast_forward), place);
        }
    }

    /// The iterations under way end, all but the last one of them at once.
    pub(super) fn end_alike(&mut self, place: ReplicaIndex) {
        let (replica, _, _) = self.parts(place, 0.0);
        let before = std::mem::replace(&mut replica.fast_forwarded, 1) - 1;
        let Some(run) = &mut replica.run else { return };
        run.done += before + 1;
        if before == 0 {
            return;
        }
        let began_us = run.time_after(run.done - 1);
        let formed_before_us = run.time_after(run.done - 2);
        let first_us = run.time_model.iteration_us(run.done - 1);
        let served = self.pipelines[place].stages[0].serves;
        let mut batches = std::mem::take(&mut self.pipelines[place].batches);
        let (replica, mut context, _) = self.parts(place, began_us);
        let blocks = replica.with_list(|list, replica| list.end_alike(replica, &context, before));
        replica.formed += u64::from(before);
        replica.happened(&mut context, BatchEvent::Decoded(before));
        for (slot, batch) in (0..).zip(&mut batches).filter(|(_, batch)| batch.steady.is_some()) {
            let is_served = Some(slot) == served;
            if is_served {
                replica.write(&mut context, batch, before, batch.decodes, blocks);
                (batch.continues_run, batch.first_us, batch.began_us) = (true, first_us, began_us);
            }
            // Where two are under way, the one on the stage was formed when the one before it began.
            let has_waited = replica.in_flight > 1 && is_served;
            batch.formed_us = if has_waited { formed_before_us } else { began_us };
            batch.moves_on(before);
        }
        self.pipelines[place].batches = batches;
    }
}
