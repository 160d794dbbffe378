//! Iterations of a replica of one stage that keeps its running requests in a decode batch: formed, charged at once or one by one,
//! ended.

use super::Fleet;
use crate::replica::index::ReplicaIndex;
use crate::replica::run::BatchRun;
use crate::replica::scheduler::BatchScheduler;
use crate::replica::{requests, scheduler};

impl Fleet {
    /// What the replica does at once ends with the iteration under way.
    pub(super) fn truncate_fast_forward(
        &mut self,
        policy: &(impl BatchScheduler + ?Sized),
        place: ReplicaIndex,
        now_us: f64,
    ) {
        let least = policy.least_leap(&self.replicas[place]);
        let replica = &mut self.replicas[place];
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

    /// Forms the next iteration of a replica of one stage, and begins it.
    pub(super) fn schedule(
        &mut self,
        policy: &(impl BatchScheduler + ?Sized),
        place: ReplicaIndex,
        now_us: f64,
    ) {
        let longest = self.max_fast_forward;
        let (replica, mut context, cost) = self.parts(place, now_us);
        let mut batch = replica.batch.take().unwrap_or_default();
        batch.clear();
        batch.formed_us = now_us;
        scheduler::schedule_or_retry(policy, replica, &mut context, &mut batch);
        if batch.is_empty() {
            replica.batch = Some(batch);
            let wakes_us = policy.wakes_us(replica);
            if wakes_us < f64::INFINITY {
                self.schedule_completion(wakes_us, place);
            }
            return;
        }
        let goes_on =
            batch.chunks.is_empty() && replica.run.as_ref().is_some_and(|run| run.done < run.valid_for);
        if !goes_on {
            replica.close_run(&mut context, &[]);
            let time = cost.stage_time(&batch.batch(), true);
            debug_assert!(
                batch.decodes == 0 || batch.decode_kv_tokens == replica.decode_batch.kv_tokens,
                "what decodes is told by what is in memory"
            );
            let stalled = if batch.decodes > 0 { 0 } else { replica.decode_batch.count };
            replica.run = Some(BatchRun::begin(replica, &context, &batch, time, stalled));
        }
        let most = scheduler::fast_forward(policy, replica, &context, &batch).min(longest);
        replica.batch = Some(batch);
        let Some(run) = &replica.run else { return };
        let fast_forward = most.min(run.valid_for - run.done);
        let end_us = run.time_after(run.done + fast_forward);
        replica.fast_forwarded = fast_forward;
        replica.charged = 0;
        replica.in_flight = 1;
        self.schedule_completion(end_us, place);
    }

    /// The iterations under way end: requests have their tokens, finish, or go on.
    pub(super) fn end_iterations(
        &mut self,
        policy: &(impl BatchScheduler + ?Sized),
        place: ReplicaIndex,
        now_us: f64,
    ) {
        let (replica, mut context, _) = self.parts(place, now_us);
        let context = &mut context;
        let mut batch = replica.batch.take().unwrap_or_default();
        replica.in_flight = 0;
        let fast_forward = replica.fast_forwarded;
        if let Some(run) = &mut replica.run {
            run.done += fast_forward;
        }
        if batch.decodes > 0 {
            replica.charge(fast_forward - replica.charged);
            replica.kv.allocate(policy.later_blocks(replica, context.config, fast_forward));
            replica.decode_batch.advance(fast_forward);
            replica.decoded_us = now_us;
            policy.decoded(replica, context, fast_forward);
        } else if replica.decode_batch.count > 0 {
            replica.stall_us += now_us - batch.formed_us;
        }
        let mut finished = 0;
        if !batch.chunks.is_empty() || replica.decode_batch.has_ended() {
            replica.close_run(context, &batch.chunks);
            let mut ended = std::mem::take(&mut replica.ended);
            while let Some(id) = replica.decode_batch.pop_ended() {
                // An entry may be left over from before a preemption, and be the same as the one that counts.
                let is_over = context.requests.status[id] == requests::RequestStatus::Decoding
                    && replica.tokens(context, id) >= context.total(id)
                    && ended.last() != Some(&id);
                if is_over {
                    ended.push(id);
                }
            }
            if ended.len() > 1 {
                policy.order_ended(context, &mut ended);
            }
            finished += ended.len() as u32;
            for id in ended.drain(..) {
                replica.finish_decoding(policy, context, id);
            }
            replica.ended = ended;
            let before = replica.num_running;
            replica.finish_prefill_chunks(policy, context, &batch);
            finished += before - replica.num_running;
        }
        if finished > 0 {
            replica.waiting.finishing();
        }
        if !replica.pending_aborts.is_empty() {
            replica.abort_pending(context, &batch);
        }
        policy.ended(replica, context, &mut batch, finished);
        replica.adapters.offload_unused(&mut replica.kv);
        replica.batch = Some(batch);
    }
}
