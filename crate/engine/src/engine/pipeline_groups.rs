//! Fast-forward of pipelines in which an empty batch also takes a place, as in vLLM's engine. While all running requests only decode,
//! the group that decodes in a schedule determines it: iterations end, are recorded and are formed again here without a look at
//! any request, until a request arrives, goes away or is done, or KV blocks run short.
// PERF: guarded by the test `groups_at_once_equal_single_steps`.

use crate::record::work_time::WorkTime;
use std::collections::VecDeque;

use servescope_cost::BatchCost;

use super::Fleet;
use super::stage_passes::{Pass, Stage, StageTimes, place_at};
use crate::replica::Replica;
use crate::replica::batch_scheduler::ScheduleContext;
use crate::replica::decode_groups::{DecodeGroup, DecodeGroups};
use crate::replica::iteration::{Scheduled, ScheduledBatch, TokenWait};
use crate::replica::run::{busy_us, written};
use crate::replica_index::ReplicaIndex;

/// What is foreseen of a pipeline; its buffers are used again.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupPasses {
    groups: DecodeGroups,
    /// Batches under way, the oldest one first, and their passes, a row of stages each.
    under_way: VecDeque<BatchPass>,
    passes: Vec<Pass>,
    /// Rows that are not used.
    rows: Vec<usize>,
    /// The schedules to come when the next batch ends, each with its group.
    next: Vec<(u64, Option<usize>)>,
    /// The places, and what they are then.
    places: BatchPlaces,
    places_then: BatchPlaces,
}

/// A batch on its way over the stages.
#[derive(Debug, Clone, Copy)]
struct BatchPass {
    /// Its place among the replica's batches, if it was formed before the fast-forward began.
    slot: Option<u32>,
    /// Otherwise its number among the batches of its group that the fast-forward formed.
    nth: u32,
    /// The place of the group whose iteration it is; `None`: no more is foreseen than that it ends.
    group: Option<usize>,
    tokens: TokenWait,
    number: u64,
    schedule: u64,
    formed_us: f64,
    began_us: f64,
    kv_tokens: u64,
    in_memory: (u32, u32),
    times: StageTimes,
    busy_us: f64,
    row: usize,
}

/// The places of batches that are formed and not done, the oldest one first: a bit each, which is set unless the batch is empty.
#[derive(Debug, Clone, Copy, Default)]
struct BatchPlaces {
    taken: u128,
    count: u32,
}

/// Most of them.
const MOST_PLACES: usize = 128;

impl BatchPlaces {
    fn push(&mut self, is_taken: bool) {
        self.taken |= u128::from(is_taken) << self.count;
        self.count += 1;
    }

    /// The oldest batch is done.
    fn remove_oldest(&mut self) {
        let at = self.taken.trailing_zeros();
        let before = self.taken & !(u128::MAX << at);
        self.taken = (self.taken >> at >> 1) << at | before;
        self.count -= 1;
    }

    /// Empty batches give their places up as soon as those before them are done, where all places are taken or nothing is under way.
    fn drop_empty(&mut self, most: u32) {
        if self.taken == 0 {
            self.count = 0;
        }
        while self.count >= most && self.taken & 1 == 0 {
            self.taken >>= 1;
            self.count -= 1;
        }
    }
}

impl Fleet {
    /// Plays what happens to the batches of a replica up to what happens next beside them.
    pub(super) fn play_groups(&mut self, place: ReplicaIndex, now_us: f64) {
        // Where requests follow others, one may end on another replica before the next arrival that is known.
        let is_bounded = self.record.ended.is_none() || self.replicas.len() == 1;
        if self.max_fast_forward == 1 || !is_bounded {
            return;
        }
        let until_us = self.next_given_us();
        if self.events.next_us() >= until_us || !self.has_groups(place, now_us) {
            return;
        }
        let pipeline = &mut self.pipelines[place];
        pipeline.stages.iter_mut().for_each(|stage| stage.end_us = f64::INFINITY);
        let stages = &mut pipeline.stages;
        self.events.take_replica(place, |event| stages[event.stage as usize].end_us = event.time_us);
        let pipeline = &mut self.pipelines[place];
        let mut stages = std::mem::take(&mut pipeline.stages);
        let mut batches = std::mem::take(&mut pipeline.batches);
        let mut unused = std::mem::take(&mut pipeline.unused);
        let mut queue = std::mem::take(&mut pipeline.queue);
        let mut foreseen = std::mem::take(&mut pipeline.groups);
        let is_alone = self.replicas.len() == 1;
        let (replica, context, cost) = self.parts(place, now_us);
        let mut player = GroupPlayer {
            stages: &mut stages,
            batches: &mut batches,
            unused: &mut unused,
            queue: &mut queue,
            foreseen: &mut foreseen,
            replica,
            context,
            cost,
            is_alone,
        };
        player.play(until_us);
        for (number, stage) in stages.iter().enumerate() {
            if stage.end_us < f64::INFINITY {
                self.events.push(stage.end_us, place, number);
            }
        }
        let pipeline = &mut self.pipelines[place];
        (pipeline.stages, pipeline.batches, pipeline.groups) = (stages, batches, foreseen);
        (pipeline.unused, pipeline.queue) = (unused, queue);
    }

    /// Whether the oldest batch under way is an iteration of a group that goes on.
    fn has_groups(&mut self, place: ReplicaIndex, now_us: f64) -> bool {
        let pipeline = &mut self.pipelines[place];
        let Some(&oldest) = pipeline.queue.iter().flatten().next() else { return false };
        let is_plain = pipeline.batches[oldest as usize].prompts.is_empty();
        if !is_plain || pipeline.batches.len() > MOST_PLACES || !self.begins_in_order(place) {
            return false;
        }
        let pipeline = &mut self.pipelines[place];
        let mut groups = std::mem::take(&mut pipeline.groups.groups);
        let (replica, mut context, _) = self.parts(place, now_us);
        let mut are_found = context.policy.find_groups(replica, &mut context, &mut groups);
        let pipeline = &mut self.pipelines[place];
        if are_found {
            let group = group_of(&mut groups, &pipeline.batches[oldest as usize]);
            are_found = group.is_some_and(|group| groups.group(group).goes_on());
        }
        pipeline.groups.groups = groups;
        are_found
    }

    /// Whether what is written down when the first stage takes a batch comes in the order of its times, whatever other replicas do.
    fn begins_in_order(&self, place: ReplicaIndex) -> bool {
        let pipeline = &self.pipelines[place];
        let is_admitted = |own: &Scheduled| own.is_admitted;
        let is_plain = |&slot: &u32| !pipeline.batches[slot as usize].scheduled.iter().any(is_admitted);
        self.replicas.len() == 1 || pipeline.stages[0].queue.iter().all(is_plain)
    }
}

/// The place of the group of which a batch is a whole iteration.
fn group_of(groups: &mut DecodeGroups, batch: &ScheduledBatch) -> Option<usize> {
    let is_plain = batch.prompts.is_empty() && batch.copied_blocks == 0 && batch.load_us == 0.0;
    let place = groups.place_of(batch.schedule).filter(|_| is_plain)?;
    (groups.group(place).next.members == batch.members).then_some(place)
}

struct GroupPlayer<'a> {
    stages: &'a mut [Stage],
    batches: &'a mut [ScheduledBatch],
    unused: &'a mut Vec<u32>,
    queue: &'a mut VecDeque<Option<u32>>,
    foreseen: &'a mut GroupPasses,
    replica: &'a mut Replica,
    context: ScheduleContext<'a>,
    cost: &'a dyn BatchCost,
    is_alone: bool,
}

impl GroupPlayer<'_> {
    /// Plays what ends before a time, as long as nothing else happens than that groups get tokens.
    fn play(&mut self, until_us: f64) {
        self.begin();
        let mut cut_us = until_us;
        while let Some(own) = self.foreseen.under_way.front().copied() {
            let end_us = self.end_us(&own);
            if end_us >= until_us {
                break;
            }
            let Some(blocks) = self.foresees(&own, end_us) else {
                cut_us = end_us;
                break;
            };
            self.foreseen.places = self.foreseen.places_then;
            self.ends(&own, end_us);
            self.replica.kv.take_unwritten(blocks);
            for at in 0..self.foreseen.next.len() {
                let (schedule, group) = self.foreseen.next[at];
                self.foreseen.groups.schedules = schedule;
                if let Some(group) = group {
                    self.forms(group, schedule, end_us);
                }
            }
        }
        self.end(cut_us);
    }

    fn end_us(&self, own: &BatchPass) -> f64 {
        let count = self.stages.len();
        self.foreseen.passes[own.row * count + count - 1].end_us
    }

    /// The batches under way go on to the last stage.
    fn begin(&mut self) {
        let rows = self.batches.len();
        let foreseen = &mut *self.foreseen;
        foreseen.passes.clear();
        foreseen.passes.resize(rows * self.stages.len(), Pass::BEFORE);
        foreseen.rows.clear();
        foreseen.rows.extend(0..rows);
        foreseen.under_way.clear();
        foreseen.places = BatchPlaces::default();
        self.queue.drain(..).for_each(|slot| foreseen.places.push(slot.is_some()));
        for number in (0..self.stages.len()).rev() {
            let stage = &mut self.stages[number];
            let queue = std::mem::take(&mut stage.queue);
            let served_us = stage.end_us;
            if let Some(slot) = stage.serves {
                self.goes_on(slot, number + 1, served_us);
            } else {
                stage.end_us = f64::NEG_INFINITY;
            }
            queue.iter().for_each(|&slot| self.goes_on(slot, number, f64::NEG_INFINITY));
            self.stages[number].queue = queue;
            self.stages[number].queue.clear();
        }
    }

    /// A batch that was formed before goes on, from a stage on where it is at a time.
    fn goes_on(&mut self, slot: u32, from: usize, ready_us: f64) {
        let batch = &mut self.batches[slot as usize];
        let copying_us = self.context.config.copying_us(batch.copied_blocks);
        let times = StageTimes::of(batch, self.cost, copying_us);
        let own = BatchPass {
            slot: Some(slot),
            nth: 0,
            group: group_of(&mut self.foreseen.groups, batch),
            tokens: batch.token_wait,
            number: batch.number,
            schedule: batch.schedule,
            formed_us: batch.formed_us,
            began_us: batch.began_us,
            kv_tokens: batch.decode_kv_tokens,
            in_memory: batch.in_memory,
            times,
            busy_us: batch.busy_us,
            row: 0,
        };
        self.pass_on(own, from, ready_us);
    }

    /// A batch is the last one to go over the stages from one on.
    #[inline]
    fn pass_on(&mut self, mut own: BatchPass, from: usize, mut ready_us: f64) {
        let count = self.stages.len();
        let Some(row) = self.foreseen.rows.pop() else { return };
        own.row = row;
        if let (0, Some(last)) = (from, own.tokens.awaits) {
            let is_awaited = |other: &&BatchPass| other.tokens.makes.is_some_and(|made| made <= last);
            if let Some(other) = self.foreseen.under_way.iter().rev().find(is_awaited) {
                ready_us = ready_us.max(self.end_us(other));
            }
        }
        let passes = &mut self.foreseen.passes[row * count..][..count];
        if from > 0 {
            passes[..from].fill(Pass::BEFORE);
            passes[from - 1].end_us = ready_us;
        }
        if from < count {
            own.times.pass(self.stages, passes, from, ready_us, &mut own.busy_us);
        }
        if from == 0 {
            own.began_us = passes[0].begin_us;
        }
        self.foreseen.under_way.push_back(own);
    }

    /// Whether the oldest batch is an iteration of a group that goes on, and what is scheduled then is known: how many blocks
    /// that takes.
    fn foresees(&mut self, own: &BatchPass, end_us: f64) -> Option<u32> {
        let place = own.group?;
        let foreseen = &mut *self.foreseen;
        let group = foreseen.groups.group(place);
        // What several replicas write down of gaps is in the order of their times.
        if !group.goes_on() || !(self.is_alone || group.token_us == own.began_us) {
            return None;
        }
        foreseen.schedules_to_come(place, self.batches.len() as u32);
        let count = self.stages.len();
        let ends_with = |other: &BatchPass| foreseen.passes[other.row * count + count - 1].end_us <= end_us;
        if foreseen.under_way.get(1).is_some_and(ends_with) {
            return None;
        }
        let mut blocks = 0;
        for (at, &(_, group)) in foreseen.next.iter().enumerate() {
            let Some(group) = group else { continue };
            let before = foreseen.next[..at].iter().filter(|other| other.1 == Some(group)).count() as u32;
            blocks += foreseen.groups.group(group).new_blocks(before, u32::from(group == place))?;
        }
        (blocks <= self.replica.kv.available()).then_some(blocks)
    }

    /// An iteration of a group ends.
    fn ends(&mut self, own: &BatchPass, end_us: f64) {
        let foreseen = &mut *self.foreseen;
        foreseen.under_way.pop_front();
        foreseen.rows.push(own.row);
        if let Some(slot) = own.slot {
            self.batches[slot as usize].token_wait.makes = None;
            self.unused.push(slot);
        }
        let Some(group) = own.group.map(|place| foreseen.groups.group(place)) else { return };
        self.context.now_us = end_us;
        let token_us = std::mem::replace(&mut group.token_us, end_us);
        let is_fresh = token_us == own.began_us;
        let fresh = if is_fresh { group.next.decodes } else { 0 };
        let run = group
            .record
            .get_or_insert_with(|| written(self.replica, &self.context, &group.next, own.began_us, fresh));
        (run.start_us, run.end_us, run.first_us) = (own.began_us, end_us, end_us - own.began_us);
        run.busy_us = busy_us(self.replica, own.busy_us);
        run.kv_tokens = own.kv_tokens as f64;
        run.blocks = self.replica.kv.used();
        run.fresh = fresh;
        (run.resident_adapters, run.adapter_tokens) = own.in_memory;
        self.context.record.iterations.push(run, &[]);
        if !is_fresh {
            self.context.record.gap(token_us, end_us, group.next.decodes);
        }
        group.ended += 1;
        group.longest_us = group.longest_us.max(end_us - token_us);
        group.execution += WorkTime::of_us(own.busy_us);
        if own.began_us > token_us {
            group.stalls_us.push(own.began_us - token_us);
        }
        self.replica.in_flight -= 1;
    }

    /// The next iteration of a group is formed.
    fn forms(&mut self, place: usize, schedule: u64, now_us: f64) {
        let groups = &mut self.foreseen.groups;
        groups.formed += 1;
        let (waits, stages) = (groups.waits_for_tokens, self.stages.len() as u64);
        let group = groups.group(place);
        let (nth, kv_tokens) = (group.formed, group.next.decode_kv_tokens);
        let (inner_us, last_us) = group.forms(schedule, self.cost);
        self.replica.in_flight += 1;
        self.replica.formed += 1;
        let tokens = TokenWait {
            makes: waits.then_some(schedule),
            awaits: schedule.checked_sub(stages).filter(|_| waits),
        };
        let own = BatchPass {
            slot: None,
            nth,
            group: Some(place),
            tokens,
            number: self.replica.formed,
            schedule,
            formed_us: now_us,
            began_us: now_us,
            kv_tokens,
            in_memory: group.next.in_memory,
            times: StageTimes { inner_us, last_us, copying_us: 0.0, load_us: 0.0 },
            busy_us: 0.0,
            row: 0,
        };
        self.pass_on(own, 0, now_us);
    }

    /// Puts the batches where they are at a time, before what happens then, and writes down what the groups got.
    fn end(&mut self, at_us: f64) {
        let count = self.stages.len();
        for stage in &mut *self.stages {
            (stage.serves, stage.end_us) = (None, f64::INFINITY);
        }
        let mut places = self.foreseen.places;
        for at in 0..self.foreseen.under_way.len() {
            let own = self.foreseen.under_way[at];
            let slot = own.slot.or_else(|| self.unused.pop());
            let Some(slot) = slot else { continue };
            while places.count > 0 && places.taken & 1 == 0 {
                self.queue.push_back(None);
                (places.taken, places.count) = (places.taken >> 1, places.count - 1);
            }
            self.queue.push_back(Some(slot));
            (places.taken, places.count) = (places.taken >> 1, places.count.saturating_sub(1));
            let passes = &self.foreseen.passes[own.row * count..][..count];
            let Some((stage, is_served)) = place_at(passes, at_us) else { continue };
            if is_served {
                (self.stages[stage].serves, self.stages[stage].end_us) = (Some(slot), passes[stage].end_us);
            } else {
                self.stages[stage].queue.push_back(slot);
            }
            let begun = stage + usize::from(is_served);
            let has_begun_here = begun > 0 && passes[0].begin_us > f64::NEG_INFINITY;
            let batch = &mut self.batches[slot as usize];
            if let (None, Some(group)) = (own.slot, own.group) {
                form(batch, self.foreseen.groups.group(group), &own);
            }
            batch.busy_us = own.times.busy_us(begun, count);
            if has_begun_here {
                batch.began_us = own.began_us;
                self.context.now_us = own.began_us;
                self.context.policy.begins(self.replica, &mut self.context, batch);
            }
        }
        (0..places.count).for_each(|_| self.queue.push_back(None));
        self.context.policy.settle_groups(self.replica, &mut self.context, &mut self.foreseen.groups);
    }
}

impl GroupPasses {
    /// What is scheduled when the oldest batch ends, an iteration of a group: notes the schedules, and which places are taken
    /// then, of `most`.
    fn schedules_to_come(&mut self, ended: usize, most: u32) {
        let Self { groups, places, next, .. } = self;
        next.clear();
        let mut after = *places;
        after.remove_oldest();
        let mut empty = 0;
        loop {
            after.drop_empty(most);
            if after.count >= most || empty > most {
                break;
            }
            let schedule = groups.schedules + next.len() as u64 + 1;
            let group = if groups.is_by_schedule {
                groups.place_of(schedule).filter(|&place| groups.group(place).next.decodes > 0)
            } else {
                next.is_empty().then_some(ended)
            };
            empty = if group.is_some() { 0 } else { empty + 1 };
            after.push(group.is_some());
            next.push((schedule, group));
        }
        self.places_then = after;
    }
}

/// A batch becomes an iteration of a group.
fn form(batch: &mut ScheduledBatch, group: &DecodeGroup, own: &BatchPass) {
    let next = &group.next;
    batch.clear();
    batch.members.extend_from_slice(&next.members);
    batch
        .scheduled
        .extend(next.scheduled.iter().map(|part| Scheduled { computed: part.computed + own.nth, ..*part }));
    batch.decodes = next.decodes;
    batch.decode_kv_tokens = own.kv_tokens;
    (batch.rank_sum, batch.any_adapter, batch.lora) = (next.rank_sum, next.any_adapter, next.lora);
    batch.in_memory = own.in_memory;
    batch.formed_us = own.formed_us;
    batch.began_us = own.began_us;
    (batch.number, batch.schedule, batch.token_wait) = (own.number, own.schedule, own.tokens);
    batch.stage_us = Some([own.times.inner_us, own.times.last_us]);
    (batch.constants, batch.line) = (next.constants, next.line);
}
