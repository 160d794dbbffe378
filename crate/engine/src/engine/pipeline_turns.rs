//! Fast-forward of pipelines. While the requests of every batch only decode, and none joins them, the batches take turns on the
//! stages and nothing else happens to the replica. These turns are played here, until a request arrives, goes away or is done,
//! or KV blocks run short.
// PERF: under half of the instructions of runs of four stages; guarded by the test `leaps_equal_steps`.

use crate::replica::index::ReplicaIndex;
use servescope_cost::BatchCost;

use super::Fleet;
use super::pipeline::Stage;
use crate::replica::batch_scheduler::ScheduleContext;
use crate::replica::iteration::ScheduledBatch;
use crate::replica::{Replica, batch_end};

impl Fleet {
    /// Plays the turns of a replica up to what happens next beside them.
    pub(super) fn play_turns(&mut self, place: ReplicaIndex, now_us: f64) {
        // Where requests follow others, one may end on another replica before the next arrival that is known.
        let is_bounded = self.record.ended.is_none() || self.replicas.len() == 1;
        let are_single = self.max_fast_forward == 1 || self.policy.queues_empty_batches();
        let pipeline = &self.pipelines[place];
        let may_form = !pipeline.unused.is_empty() && self.replicas[place].num_waiting > 0;
        if are_single || !is_bounded || may_form || !pipeline.again.is_empty() {
            return;
        }
        let until_us = self.next_given_us();
        if self.next_end_us() >= until_us || !self.takes_turns(place, now_us) {
            return;
        }
        self.take_events(place);
        let pipeline = &mut self.pipelines[place];
        let mut stages = std::mem::take(&mut pipeline.stages);
        let mut batches = std::mem::take(&mut pipeline.batches);
        let mut way = std::mem::take(&mut pipeline.way);
        way.passes.clear();
        way.passes.resize(batches.len() * stages.len(), Pass::BEFORE);
        way.order.clear();
        let (replica, context, cost) = self.parts(place, now_us);
        let turns = PipelineTurns {
            stages: &mut stages,
            batches: &mut batches,
            way: &mut way,
            replica,
            context,
            cost,
        };
        turns.play(until_us);
        for (number, stage) in stages.iter().enumerate() {
            if stage.end_us < f64::INFINITY {
                self.events.push(stage.end_us, place, number);
            }
        }
        let pipeline = &mut self.pipelines[place];
        (pipeline.stages, pipeline.batches, pipeline.way) = (stages, batches, way);
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

/// When a batch begins and ends on a stage.
#[derive(Debug, Clone, Copy)]
struct Pass {
    begin_us: f64,
    end_us: f64,
}

impl Pass {
    /// Before the turns.
    const BEFORE: Self = Self { begin_us: f64::NEG_INFINITY, end_us: f64::NEG_INFINITY };
}

/// The way of the batches over the stages; its buffers are used again.
#[derive(Debug, Clone, Default)]
pub(super) struct Way {
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
    way: &'a mut Way,
    replica: &'a mut Replica,
    context: ScheduleContext<'a>,
    cost: &'a dyn BatchCost,
}

impl PipelineTurns<'_> {
    /// Plays those that end before a time, as long as a batch that leaves the last stage is formed again at once.
    fn play(mut self, until_us: f64) {
        self.begin();
        let (count, last) = (self.way.order.len(), self.stages.len() - 1);
        let (mut cut_us, mut next) = (until_us, 0);
        while let Some(&slot) = self.way.order.get(next) {
            let end_us = self.way.passes[slot as usize * self.stages.len() + last].end_us;
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
        self.way.order.rotate_left(next);
        self.end(cut_us);
    }

    /// The batches under way go on to the last stage.
    fn begin(&mut self) {
        for number in (0..self.stages.len()).rev() {
            let stage = &mut self.stages[number];
            let queue = std::mem::take(&mut stage.queue);
            if let Some(slot) = stage.serves {
                let place = slot as usize * self.stages.len() + number;
                self.way.passes[place].end_us = self.stages[number].end_us;
                self.way.order.push(slot);
                self.batches[slot as usize].time_stages(self.cost);
                self.pass_on(slot, number + 1, self.stages[number].end_us);
            } else {
                stage.end_us = f64::NEG_INFINITY;
            }
            for slot in queue {
                self.way.order.push(slot);
                self.batches[slot as usize].time_stages(self.cost);
                self.pass_on(slot, number, f64::NEG_INFINITY);
            }
        }
    }

    /// A batch goes over the stages from one on, where it is at a time. The stages know when the last batch leaves them.
    #[inline]
    fn pass_on(&mut self, slot: u32, from: usize, mut ready_us: f64) {
        let batch = &mut self.batches[slot as usize];
        let (inner_us, last_us) = (batch.known_stage_us(false), batch.known_stage_us(true));
        let count = self.stages.len();
        let passes = &mut self.way.passes[slot as usize * count..][from..count];
        let mut pass_us = |stage: &mut Stage, pass: &mut Pass, works_us: f64, load_us: f64| {
            let begin_us = if stage.end_us > ready_us { stage.end_us } else { ready_us };
            ready_us = begin_us + (works_us + load_us);
            *pass = Pass { begin_us, end_us: ready_us };
            stage.end_us = ready_us;
            batch.busy_us += works_us;
        };
        let (Some((last, others)), Some((last_pass, other_passes))) =
            (self.stages[from..].split_last_mut(), passes.split_last_mut())
        else {
            return;
        };
        let mut way = others.iter_mut().zip(other_passes);
        if let Some((stage, pass)) = (from == 0).then(|| way.next()).flatten() {
            let copying_us = self.context.config.copying_us(batch.copied_blocks);
            pass_us(stage, pass, inner_us + copying_us, batch.load_us);
        }
        way.for_each(|(stage, pass)| pass_us(stage, pass, inner_us, 0.0));
        pass_us(last, last_pass, last_us, 0.0);
    }

    /// Puts the batches where they are at a time, before what happens then.
    fn end(&mut self, at_us: f64) {
        let count = self.stages.len();
        for stage in &mut *self.stages {
            (stage.serves, stage.end_us) = (None, f64::INFINITY);
        }
        for &slot in &self.way.order {
            let passes = &self.way.passes[slot as usize * count..][..count];
            let Some(place) = passes.iter().position(|pass| pass.end_us >= at_us) else { continue };
            let (stage, batch) = (&mut self.stages[place], &mut self.batches[slot as usize]);
            let is_served = passes[place].begin_us < at_us;
            if is_served {
                (stage.serves, stage.end_us) = (Some(slot), passes[place].end_us);
            } else {
                stage.queue.push_back(slot);
            }
            let begun = place + usize::from(is_served);
            let copying_us = self.context.config.copying_us(batch.copied_blocks);
            batch.busy_us = (0..begun).fold(0.0, |us, stage| {
                let stage_us = batch.known_stage_us(stage + 1 == count);
                us + if stage == 0 { stage_us + copying_us } else { stage_us }
            });
            if passes[0].begin_us > f64::NEG_INFINITY {
                batch.began_us = passes[0].begin_us;
            }
        }
    }
}
