//! Iterations of a replica of one stage that keeps its running requests in a decode batch: formed, charged at once or one by one,
//! ended.

use super::Fleet;
use crate::record::request_state::RequestStatus;
use crate::replica::batch_scheduler::{BatchEvent, ScheduleContext};
use crate::replica::run::BatchRun;
use crate::replica::{Replica, scheduler};
use crate::replica_index::ReplicaIndex;

impl Fleet {
    /// What the replica does at once ends with the iteration under way.
    pub(super) fn truncate_fast_forward(&mut self, place: ReplicaIndex, now_us: f64) {
        let replica = &mut self.replicas[place];
        let least = replica.sure_iterations;
        // This many are not cut short, whenever it is.
        if replica.fast_forwarded <= least.max(1) {
            return;
        }
        let Some(run) = &replica.run else { return };
        let last = run.done + replica.fast_forwarded;
        let end = run.first_end_from(now_us, last).max(run.done + least);
        if end < last {
            let (time_us, fast_forward) = (run.time_after(end), end - run.done);
            replica.fast_forwarded = fast_forward;
            self.schedule_completion(time_us, place);
        }
    }

    /// What a replica of one stage works on ends, if it works, and where it may begin something new, the next iteration begins.
    pub(super) fn end_and_schedule(&mut self, place: ReplicaIndex, now_us: f64, begins: bool) {
        let longest = self.max_fast_forward;
        let (replica, mut context, _) = self.parts(place, now_us);
        if replica.in_flight > 0 {
            replica.end_iterations(&mut context);
        }
        if begins {
            let end_us = replica.schedule_iterations(&mut context, longest);
            if let Some(end_us) = end_us {
                self.schedule_completion(end_us, place);
            }
        }
    }
}

impl Replica {
    /// Forms the next iteration; returns when it, and at most so many that are alike, have ended, or when the replica looks again
    /// for one; `None`: when it is notified of something.
    fn schedule_iterations(&mut self, context: &mut ScheduleContext<'_>, longest: u32) -> Option<f64> {
        let mut batch = self.batch.take()?;
        batch.clear();
        batch.formed_us = context.now_us;
        scheduler::schedule_or_retry(self, context, &mut batch);
        if batch.is_empty() {
            self.batch = Some(batch);
            return Some(self.scheduler().wakes_us()).filter(|&wakes_us| wakes_us < f64::INFINITY);
        }
        let continues_run =
            batch.chunks.is_empty() && self.run.as_ref().is_some_and(|run| run.done < run.valid_for);
        if !continues_run {
            self.close_run(context, &[]);
            let time = context.cost.stage_time(&batch.batch(), true);
            debug_assert!(
                batch.decodes == 0 || batch.decode_kv_tokens == self.decode_batch.kv_tokens,
                "what decodes is told by what is in memory"
            );
            let stalled = if batch.decodes > 0 { 0 } else { self.decode_batch.count };
            self.run = Some(BatchRun::begin(self, context, &batch, time, stalled));
        }
        let most = scheduler::fast_forward(self, context, &batch, longest);
        self.batch = Some(batch);
        let run = self.run.as_ref()?;
        self.fast_forwarded = most.min(run.valid_for - run.done);
        self.charged = 0;
        self.in_flight = 1;
        Some(run.time_after(run.done + self.fast_forwarded))
    }

    /// The iterations under way end: requests have their tokens, finish, or go on.
    fn end_iterations(&mut self, context: &mut ScheduleContext<'_>) {
        let Some(batch) = self.batch.take() else { return };
        self.in_flight = 0;
        let fast_forward = self.fast_forwarded;
        if let Some(run) = &mut self.run {
            run.done += fast_forward;
            run.record.end_us = context.now_us;
        }
        if batch.decodes > 0 {
            self.charge(fast_forward - self.charged);
            let blocks = self.later_blocks(fast_forward);
            self.kv.allocate(blocks);
            self.decode_batch.advance(fast_forward);
            self.decoded_us = context.now_us;
            self.happened(context, BatchEvent::Decoded(fast_forward));
        } else if self.decode_batch.count > 0 {
            self.stall_us += context.now_us - batch.formed_us;
        }
        let mut finished = 0;
        if !batch.chunks.is_empty() || self.decode_batch.has_ended() {
            self.close_run(context, &batch.chunks);
            let before = self.num_running;
            self.finish_ended(context);
            self.finish_prefill_chunks(context, &batch);
            finished = before - self.num_running;
        }
        if finished > 0 {
            self.waiting.finishing();
        }
        if !self.pending_aborts.is_empty() {
            self.abort_pending(context, &batch);
        }
        self.happened(context, BatchEvent::Ended(&batch, finished));
        self.adapters.offload_unused(&mut self.kv);
        self.batch = Some(batch);
    }

    /// The requests of the decode batch leave whose last token is there.
    fn finish_ended(&mut self, context: &mut ScheduleContext<'_>) {
        while let Some(id) = self.decode_batch.pop_ended() {
            // An entry may be left over from before a preemption, and be the same as the one that counts.
            let is_over = context.requests[id].status == RequestStatus::Decoding
                && self.tokens(context, id) >= context.total(id)
                && self.ended.last() != Some(&id);
            if is_over {
                self.ended.push(id);
            }
        }
        if context.facts.ends_as_joined {
            self.ended.sort_by_key(|&id| context.requests.joined[id]);
        }
        for place in 0..self.ended.len() {
            self.finish_decoding(context, self.ended[place]);
        }
        self.ended.clear();
    }
}
