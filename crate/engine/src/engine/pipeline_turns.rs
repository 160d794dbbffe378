//! Fast-forward of pipelines. While the requests of every batch only decode, and none joins them, the batches take turns on the
//! stages and nothing else happens to the replica. These turns are played here, until a request arrives, goes away or is done,
//! or KV blocks run short.
// PERF: under half of the instructions of runs of four stages; guarded by the test `leaps_equal_steps`.

use crate::replica::index::ReplicaIndex;
use servescope_cost::BatchCost;

use super::Fleet;
use super::stage_passes::{Pass, Stage, StageTimes, place_at};
use crate::replica::batch_scheduler::ScheduleContext;
use crate::replica::iteration::ScheduledBatch;
use crate::replica::{Replica, batch_end};

impl Fleet {
    /// Plays the turns of a replica up to what happens next beside them.
    pub(super) fn play_turns(&mut self, place: ReplicaIndex, now_us: f64) {
        // Where requests follow others, one may end on another replica before the next arrival that is known.
        let is_bounded = self.record.ended.is_none() || self.replicas.len() == 1;
        let pipeline = &self.pipelines[place];
        let may_form = !pipeline.unused.is_empty() && self.replicas[place].num_waiting > 0;
        if self.max_fast_forward == 1 || !is_bounded || may_form || !pipeline.again.is_empty() {
            return;
        }
        let until_us = self.next_given_us();
        if self.events.next_us() >= until_us || !self.takes_turns(place, now_us) {
            return;
        }
        self.take_events(place);
        let pipeline = &mut self.pipelines[place];
        let mut stages = std::mem::take(&mut pipeline.stages);
        let mut batches = std::mem::take(&mut pipeline.batches);
        let mut turns = std::mem::take(&mut pipeline.turns);
        turns.passes.clear();
        turns.passes.resize(batches.len() * stages.len(), Pass::BEFORE);
        turns.order.clear();
        let (replica, context, cost) = self.parts(place, now_us);
        let player = PipelineTurns {
            stages: &mut stages,
            batches: &mut batches,
            turns: &mut turns,
            replica,
            context,
            cost,
        };
        player.play(until_us);
        self.stages_go_on(place, &stages);
        let pipeline = &mut self.pipelines[place];
        (pipeline.stages, pipeline.batches, pipeline.turns) = (stages, batches, turns);
    }

    /// Whether batches under way decode and go on as they are, beside others that go as far as the end of the last stage.
    fn takes_turns(&mut self, place: ReplicaIndex, now_us: f64) -> bool {
        let pipeline = &mut self.pipelines[place];
        let mut batches = std::mem::take(&mut pipeline.batches);
        let unused = std::mem::take(&mut pipeline.unused);
        let (replica, context, _) = self.parts(place, now_us);
        let (mut any, mut all) = (false, true);
        for (_, batch) in (0..).zip(&mut batches).filter(|(slot, _)| !unused.contains(slot)) {
            let takes_turns = batch_end::takes_turns(replica, &context, batch);
            any |= takes_turns;
            all = all && (takes_turns || batch_end::ends_once(batch));
        }
        let pipeline = &mut self.pipelines[place];
        pipeline.batches = batches;
        pipeline.unused = unused;
        any && all
    }

    /// Takes the ends of what the stages of a replica serve out of the events, and notes them there.
    fn take_events(&mut self, place: ReplicaIndex) {
        let stages = &mut self.pipelines[place].stages;
        stages.iter_mut().for_each(|stage| stage.end_us = f64::INFINITY);
        self.events.take_replica(place, |event| stages[event.stage as usize].end_us = event.time_us);
    }
}

/// When batches pass the stages while they take turns; its buffers are used again.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnPasses {
    /// By batch and stage.
    passes: Vec<Pass>,
    /// The batches in the order of their turns.
    order: Vec<u32>,
}

/// Batches that take turns on the stages of a replica. Each stage serves them in the same order, so that the times of a batch
/// follow from its own and those of the batch before it.
struct PipelineTurns<'a> {
    stages: &'a mut [Stage],
    batches: &'a mut [ScheduledBatch],
    turns: &'a mut TurnPasses,
    replica: &'a mut Replica,
    context: ScheduleContext<'a>,
    cost: &'a dyn BatchCost,
}

impl PipelineTurns<'_> {
    /// Plays those that end before a time, as long as a batch that leaves the last stage is formed again at once.
    fn play(mut self, until_us: f64) {
        self.begin();
        let (count, last) = (self.turns.order.len(), self.stages.len() - 1);
        let (mut cut_us, mut next) = (until_us, 0);
        while let Some(&slot) = self.turns.order.get(next) {
            let end_us = self.turns.passes[slot as usize * self.stages.len() + last].end_us;
            if end_us >= until_us {
                break;
            }
            let batch = &mut self.batches[slot as usize];
            if !batch_end::next_turn(self.replica, &mut self.context, batch, end_us) {
                cut_us = end_us;
                break;
            }
            batch.time_stages(self.cost);
            self.pass_on(slot, 0, end_us);
            next = if next + 1 == count { 0 } else { next + 1 };
        }
        self.turns.order.rotate_left(next);
        self.end(cut_us);
    }

    /// The batches under way go on to the last stage.
    fn begin(&mut self) {
        for number in (0..self.stages.len()).rev() {
            let stage = &mut self.stages[number];
            let queue = std::mem::take(&mut stage.queue);
            if let Some(slot) = stage.serves {
                let place = slot as usize * self.stages.len() + number;
                self.turns.passes[place].end_us = self.stages[number].end_us;
                self.turns.order.push(slot);
                self.batches[slot as usize].time_stages(self.cost);
                self.pass_on(slot, number + 1, self.stages[number].end_us);
            } else {
                stage.end_us = f64::NEG_INFINITY;
            }
            for slot in queue {
                self.turns.order.push(slot);
                self.batches[slot as usize].time_stages(self.cost);
                self.pass_on(slot, number, f64::NEG_INFINITY);
            }
        }
    }

    /// A batch goes over the stages from one on, where it is at a time. The stages know when the last batch leaves them.
    #[inline]
    fn pass_on(&mut self, slot: u32, from: usize, ready_us: f64) {
        let batch = &mut self.batches[slot as usize];
        let count = self.stages.len();
        let passes = &mut self.turns.passes[slot as usize * count..][..count];
        let times = StageTimes::of(batch, self.context.config.copying_us(batch.copied_blocks));
        times.pass(self.stages, passes, from, ready_us, &mut batch.busy_us);
    }

    /// Puts the batches where they are at a time, before what happens then.
    fn end(&mut self, at_us: f64) {
        let count = self.stages.len();
        for stage in &mut *self.stages {
            (stage.serves, stage.end_us) = (None, f64::INFINITY);
        }
        for &slot in &self.turns.order {
            let passes = &self.turns.passes[slot as usize * count..][..count];
            let Some((place, is_served)) = place_at(passes, at_us) else { continue };
            let (stage, batch) = (&mut self.stages[place], &mut self.batches[slot as usize]);
            if is_served {
                (stage.serves, stage.end_us) = (Some(slot), passes[place].end_us);
            } else {
                stage.queue.push_back(slot);
            }
            let times = StageTimes::of(batch, self.context.config.copying_us(batch.copied_blocks));
            batch.busy_us = times.busy_us(place + usize::from(is_served), count);
            if passes[0].begin_us > f64::NEG_INFINITY {
                batch.began_us = passes[0].begin_us;
            }
        }
    }
}
