//! Fast-forward of pipelines. While the requests of every batch only decode, and none joins them, the batches take turns on the
//! stages and nothing else happens to the replica. These turns are played here, until a request arrives, goes away or is done,
//! or KV blocks run short.
// PERF: under half of the instructions of runs of four stages; guarded by the test `leaps_equal_steps`.

use servescope_cost::BatchCost;

use super::pipeline::Stage;
use super::{Event, Fleet};
use crate::replica::context::ScheduleContext;
use crate::replica::iteration::ScheduledBatch;
use crate::replica::{Replica, batch_end};

impl Fleet {
    /// Plays the turns of a replica up to what happens next beside them.
    pub(super) fn play_turns(&mut self, place: usize, now_us: f64) {
        // Where requests follow others, one may end on another replica before the next arrival that is known.
        let is_bounded = self.record.ended.is_none() || self.replicas.len() == 1;
        let pipeline = &self.pipelines[place];
        let may_form = !pipeline.unused.is_empty() && self.replicas[place].num_waiting > 0;
        if self.max_fast_forward == 1 || !is_bounded || may_form || !pipeline.again.is_empty() {
            return;
        }
        let until_us = self.next_given_us().unwrap_or(f64::INFINITY);
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
        let turns =
            Turns { stages: &mut stages, batches: &mut batches, way: &mut way, replica, context, cost };
        turns.play(until_us);
        for (number, stage) in (0..).zip(&stages) {
            if stage.end_us < f64::INFINITY {
                self.event_count += 1;
                let (time_us, count) = (stage.end_us, self.event_count);
                self.events.push(Event { time_us, number: count, replica: place as u32, stage: number });
            }
        }
        let pipeline = &mut self.pipelines[place];
        (pipeline.stages, pipeline.batches, pipeline.way) = (stages, batches, way);
    }

    /// Whether all batches under way decode and go on as they are.
    fn takes_turns(&mut self, place: usize, now_us: f64) -> bool {
        let pipeline = &mut self.pipelines[place];
        let mut batches = std::mem::take(&mut pipeline.batches);
        let unused = std::mem::take(&mut pipeline.unused);
        let (replica, context, _) = self.parts(place, now_us);
        let is_steady = |(slot, batch): (u32, &mut ScheduledBatch)| {
            unused.contains(&slot) || batch_end::takes_turns(replica, &context, batch)
        };
        let are_steady = (0..).zip(&mut batches).all(is_steady);
        let pipeline = &mut self.pipelines[place];
        pipeline.batches = batches;
        pipeline.unused = unused;
        are_steady
    }

    /// Takes the ends of what the stages of a replica serve out of the events, and notes them there.
    fn take_events(&mut self, place: usize) {
        let stages = &mut self.pipelines[place].stages;
        stages.iter_mut().for_each(|stage| stage.end_us = f64::INFINITY);
        self.events.retain(|event| {
            let is_other = event.replica as usize != place;
            if !is_other {
                stages[event.stage as usize].end_us = event.time_us;
            }
            is_other
        });
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
struct Turns<'a> {
    stages: &'a mut [Stage],
    batches: &'a mut [ScheduledBatch],
    way: &'a mut Way,
    replica: &'a mut Replica,
    context: ScheduleContext<'a>,
    cost: &'a dyn BatchCost,
}

impl Turns<'_> {
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
            if !batch_end::ends_a_turn(self.replica, self.context.config, batch) {
                cut_us = end_us;
                break;
            }
            self.context.now_us = end_us;
            batch_end::next_turn(self.replica, &mut self.context, batch);
            self.ask(slot);
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
                self.ask(slot);
                self.pass_on(slot, number + 1, self.stages[number].end_us);
            } else {
                stage.end_us = f64::NEG_INFINITY;
            }
            for slot in queue {
                self.way.order.push(slot);
                self.ask(slot);
                self.pass_on(slot, number, f64::NEG_INFINITY);
            }
        }
    }

    /// Asks how long the stages take for a batch, unless that is known.
    fn ask(&mut self, slot: u32) {
        let batch = &mut self.batches[slot as usize];
        if batch.inner_us.is_some() && batch.last_us.is_some() {
            return;
        }
        let constants = batch.constants.unwrap_or_else(|| self.cost.decode_constants(&batch.batch()));
        let [inner_us, last_us] = self.cost.decode_stages_us(&batch.batch(), &constants);
        batch.constants = Some(constants);
        (batch.inner_us, batch.last_us) = (Some(inner_us), Some(last_us));
    }

    /// A batch goes over the stages from one on, where it is at a time. The stages know when the last batch leaves them.
    fn pass_on(&mut self, slot: u32, from: usize, mut ready_us: f64) {
        let batch = &mut self.batches[slot as usize];
        let count = self.stages.len();
        let passes = &mut self.way.passes[slot as usize * count..][..count];
        for (number, (stage, pass)) in self.stages.iter_mut().zip(passes).enumerate().skip(from) {
            let stage_us = batch.known_stage_us(number + 1 == count);
            let begin_us = if stage.end_us > ready_us { stage.end_us } else { ready_us };
            ready_us = begin_us + stage_us;
            *pass = Pass { begin_us, end_us: ready_us };
            stage.end_us = ready_us;
            batch.busy_us += stage_us;
        }
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
            batch.busy_us = (0..begun).fold(0.0, |us, stage| us + batch.known_stage_us(stage + 1 == count));
            if passes[0].begin_us > f64::NEG_INFINITY {
                batch.began_us = passes[0].begin_us;
            }
        }
    }
}
