//! Pipelines in which nothing happens to a batch between its forming and its end: when it leaves the last stage is known as soon as
//! it is formed.
//!
//! While the requests of every batch only decode, and none joins them, the batches pass the stages in rounds and nothing else
//! happens to the replica. These rounds are charged here, until a request arrives, goes away or is done, KV blocks run short, or a
//! router or an autoscaler reads the replica.
// PERF: under half of the instructions of runs of four stages; guarded by the test `leaps_equal_steps`.

use std::collections::VecDeque;

use servescope_cost::BatchCost;

use super::Fleet;
use super::stage_passes::{Stage, StageTimes};
use crate::replica::batch_end;
use crate::replica::iteration::ScheduledBatch;
use crate::replica_index::ReplicaIndex;

/// The batches in the stages, and when they are through.
#[derive(Debug, Clone, Default)]
pub(super) struct PipelineRounds {
    /// Each with the time at which it leaves the last stage, the oldest first: every stage serves them in this order.
    order: VecDeque<(u32, f64)>,
    /// Which of these times is among the events.
    expected_us: Option<f64>,
}

/// A batch that was formed at a time passes the stages: when it leaves the last one.
#[inline]
fn pass(
    stages: &mut [Stage],
    batch: &mut ScheduledBatch,
    cost: &dyn BatchCost,
    copying_us: f64,
    now_us: f64,
) -> f64 {
    let (end_us, busy_us) = StageTimes::of(batch, cost, copying_us).pass_all(stages, now_us);
    batch.busy_us = busy_us;
    end_us
}

impl Fleet {
    /// A batch that was formed passes the stages.
    pub(super) fn pass_stages(&mut self, place: ReplicaIndex, slot: u32, now_us: f64) {
        let pool = &self.pools[usize::from(self.replicas[place].life.pool)];
        let pipeline = &mut self.pipelines[place];
        let batch = &mut pipeline.batches[slot as usize];
        let copying_us = pool.config.copying_us(batch.copied_blocks);
        let end_us = pass(&mut pipeline.stages, batch, &*pool.cost, copying_us, now_us);
        pipeline.rounds.order.push_back((slot, end_us));
    }

    /// The oldest batches end, as many as leave the last stage by now.
    pub(super) fn end_oldest(&mut self, place: ReplicaIndex, now_us: f64) {
        self.pipelines[place].rounds.expected_us = None;
        while let Some(&(slot, end_us)) = self.pipelines[place].rounds.order.front() {
            if end_us > now_us {
                break;
            }
            self.pipelines[place].rounds.order.pop_front();
            self.leave_stages(place, slot, now_us);
        }
    }

    /// Charges the rounds of a replica up to what happens next beside them, which is an event then.
    pub(super) fn advance_batches(&mut self, place: ReplicaIndex, now_us: f64) {
        // Where requests follow others, one may end on another replica before the next arrival that is known.
        let is_bounded = self.record.ended.is_none() || self.replicas.len() == 1;
        let pipeline = &self.pipelines[place];
        let may_form = !pipeline.unused.is_empty() && self.replicas[place].num_waiting > 0;
        if self.max_fast_forward > 1 && is_bounded && !may_form && pipeline.again.is_empty() {
            self.advance_batches_until(place, now_us);
        }
        let rounds = &mut self.pipelines[place].rounds;
        let next_us = rounds.order.front().map(|&(_, end_us)| end_us);
        if let Some(end_us) = next_us.filter(|_| rounds.expected_us != next_us) {
            rounds.expected_us = next_us;
            self.schedule_completion(end_us, place);
        }
    }

    fn advance_batches_until(&mut self, place: ReplicaIndex, now_us: f64) {
        let until_us = self
            .next_given_us()
            .min(self.router.scrapes.next_us())
            .min(self.next_scrape_us(place))
            .min(self.next_failure_us());
        let pipeline = &mut self.pipelines[place];
        let mut stages = std::mem::take(&mut pipeline.stages);
        let mut batches = std::mem::take(&mut pipeline.batches);
        let mut order = std::mem::take(&mut pipeline.rounds.order);
        let is_alone = self.replicas.len() == 1;
        let (replica, mut context, cost) = self.parts(place, now_us);
        // Whether a batch may be charged so is asked once.
        let mut unasked = order.len();
        let (rounds, mut next) = (order.make_contiguous(), 0);
        while let Some((slot, leaves_us)) = rounds.get_mut(next) {
            let (batch, end_us, is_first) = (&mut batches[*slot as usize], *leaves_us, unasked > 0);
            if end_us >= until_us
                || (is_first && !batch_end::may_charge_rounds(replica, &context, batch, is_alone))
            {
                break;
            }
            unasked = unasked.saturating_sub(1);
            if !batch_end::form_next_alike(replica, &mut context, batch, (end_us, is_alone, is_first)) {
                break;
            }
            *leaves_us = pass(&mut stages, batch, cost, 0.0, end_us);
            next = if next + 1 == rounds.len() { 0 } else { next + 1 };
        }
        order.rotate_left(next);
        let pipeline = &mut self.pipelines[place];
        (pipeline.stages, pipeline.batches, pipeline.rounds.order) = (stages, batches, order);
    }
}
