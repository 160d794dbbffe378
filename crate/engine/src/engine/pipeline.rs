//! Replicas of several pipeline stages, or whose batches overlap: each stage serves batches first come first served, and as
//! many batches as there are stages are in flight, or one more where a batch is formed while another one is worked on.

use crate::replica_index::ReplicaIndex;
use std::collections::VecDeque;

use servescope_workload::RequestId;

use super::Fleet;
use super::events::Event;
use super::pipeline_rounds::PipelineRounds;
use super::stage_passes::Stage;
use crate::replica::batch_scheduler::BatchEvent;
use crate::replica::iteration::ScheduledBatch;
use crate::replica::{batch_end, running_list, scheduler};

/// The stages of one replica and the batches in them.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    pub(super) batches: Vec<ScheduledBatch>,
    pub(super) unused: Vec<u32>,
    pub(super) stages: Vec<Stage>,
    /// Whether a batch has ended since batches were formed.
    has_ended: bool,
    /// Whether a request has left since a batch was formed: vLLM forms one more to tell its workers, an empty one where no
    /// request is left.
    pub(super) has_left: bool,
    /// Batches that are formed and not done, the oldest one first, where an empty one (`None`) takes the place of another
    /// until those before it are done.
    pub(super) queue: VecDeque<Option<u32>>,
    /// Batches that have just ended and whose requests may decode on as they are.
    pub(super) again: Vec<u32>,
    pub(super) rounds: PipelineRounds,
}

impl Pipeline {
    pub(super) fn new(stages: u32, batches: u32) -> Self {
        Self {
            batches: (0..batches).map(|_| ScheduledBatch::default()).collect(),
            unused: (0..batches).rev().collect(),
            stages: (0..stages).map(|_| Stage::default()).collect(),
            has_ended: false,
            has_left: false,
            queue: VecDeque::new(),
            again: Vec::new(),
            rounds: PipelineRounds::default(),
        }
    }

    /// Whether a batch has ended since the last call.
    pub(super) fn take_end(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }

    /// The batches in the stages.
    pub(super) fn under_way(&self) -> impl Iterator<Item = &ScheduledBatch> {
        (0..).zip(&self.batches).filter(|(slot, _)| !self.unused.contains(slot)).map(|(_, batch)| batch)
    }

    /// Whether all batches in the stages differ by a token of each request only.
    pub(super) fn is_steady(&self) -> bool {
        let reported = |batch: &ScheduledBatch| batch.steady.map(|_| (batch.composition, batch.in_memory));
        let mut all = self.under_way().map(reported);
        let first = all.next().flatten();
        first.is_some_and(|(composition, _)| composition > 0) && all.all(|other| other == first)
    }

    /// Whether a request is part of a batch in the stages.
    pub(super) fn holds(&self, id: RequestId) -> bool {
        self.under_way()
            .any(|batch| batch.steady.is_some() || batch.prompts.contains(&id) || batch.members.contains(&id))
    }
}

/// Whether the first stage does not take a batch before the tokens of another one have left the last stage.
fn awaits_tokens(batches: &[ScheduledBatch], slot: u32) -> bool {
    let awaits = batches[slot as usize].token_wait.awaits;
    awaits.is_some_and(|last| {
        batches.iter().any(|other| other.token_wait.makes.is_some_and(|made| made <= last))
    })
}

impl Fleet {
    /// Forms batches while some are missing.
    pub(super) fn fill_pipeline(&mut self, place: ReplicaIndex, now_us: f64) {
        if self.pool_of(place).facts.queues_empty_batches {
            return self.fill_queue(place, now_us);
        }
        if !self.form_again(place, now_us) {
            while !self.pipelines[place].unused.is_empty() && self.form_batch(place, now_us).is_some() {}
        }
    }

    /// Forms batches of the requests of those that have just ended, where nothing else can be formed. Says whether that is so;
    /// otherwise those requests are in no batch.
    fn form_again(&mut self, place: ReplicaIndex, now_us: f64) -> bool {
        let again = std::mem::take(&mut self.pipelines[place].again);
        let mut is_formed = !again.is_empty();
        for &slot in &again {
            let mut batches = std::mem::take(&mut self.pipelines[place].batches);
            let batch = &mut batches[slot as usize];
            let (replica, mut context, _) = self.parts(place, now_us);
            is_formed = is_formed && batch_end::forms_alike(replica, &mut context, batch);
            if !is_formed {
                batch_end::take_apart(replica, &mut context, batch);
            }
            let pipeline = &mut self.pipelines[place];
            pipeline.batches = batches;
            if is_formed {
                self.enter_stages(place, slot, now_us);
            } else {
                pipeline.unused.push(slot);
            }
        }
        self.pipelines[place].again = again;
        self.pipelines[place].again.clear();
        // A waiting request may still join a batch of its own.
        is_formed && (self.replicas[place].num_waiting == 0 || self.pipelines[place].unused.is_empty())
    }

    /// Writes down what requests in the stages got.
    pub(super) fn write_batches_down(&mut self, place: ReplicaIndex) {
        let pipeline = &mut self.pipelines[place];
        let mut batches = std::mem::take(&mut pipeline.batches);
        let (_, mut context, _) = self.parts(place, f64::INFINITY);
        batches.iter_mut().for_each(|batch| batch_end::write_down(&mut context, batch));
        self.pipelines[place].batches = batches;
    }

    /// The same where an empty batch takes a place in the queue: another one may hold a request that could not be in it. As
    /// often as there are places an empty one is followed by another without a batch under way.
    fn fill_queue(&mut self, place: ReplicaIndex, now_us: f64) {
        let most = self.pipelines[place].batches.len();
        let mut empty = 0;
        loop {
            let Pipeline { queue, has_left, .. } = &mut self.pipelines[place];
            while queue.front() == Some(&None) && (queue.len() >= most || queue.iter().all(Option::is_none)) {
                queue.pop_front();
            }
            let replica = &self.replicas[place];
            let has_copies = replica.kv_connector.as_ref().is_some_and(|tier| tier.has_copies())
                || replica.pinned.has_news();
            let has_requests = *has_left || has_copies || replica.num_running + replica.num_waiting > 0;
            if queue.len() >= most || empty > most || !has_requests {
                return;
            }
            let batch = self.form_batch(place, now_us);
            let replica = &mut self.replicas[place];
            let has_learned = replica.kv_connector.as_mut().is_some_and(|tier| tier.take_learned())
                | replica.pinned.take_learned();
            empty = if batch.is_some() || has_learned { 0 } else { empty + 1 };
            self.pipelines[place].queue.push_back(batch);
        }
    }

    /// Forms a batch, and gives it to the first stage unless it is empty.
    pub(super) fn form_batch(&mut self, place: ReplicaIndex, now_us: f64) -> Option<u32> {
        self.note_under_way(place);
        self.reads_input(place, now_us);
        let slot = self.pipelines[place].unused.pop()?;
        self.pipelines[place].has_left = false;
        let mut batches = std::mem::take(&mut self.pipelines[place].batches);
        let batch = &mut batches[slot as usize];
        let (replica, mut context, _) = self.parts(place, now_us);
        batch.clear();
        batch.formed_us = now_us;
        scheduler::schedule_or_retry(replica, &mut context, batch);
        if replica.stages > 1 {
            replica.refuses_head(&context, batch);
        }
        let is_empty = batch.is_empty();
        replica.in_flight += u32::from(!is_empty);
        replica.formed += u64::from(!is_empty);
        batch.number = replica.formed;
        self.pipelines[place].batches = batches;
        self.begin_pulls(place, now_us);
        if is_empty {
            self.pipelines[place].unused.push(slot);
            return None;
        }
        self.enter_stages(place, slot, now_us);
        if !self.pipelines[place].unused.is_empty() {
            // vLLM goes on to form the next one.
            self.reports(place, now_us);
        }
        Some(slot)
    }

    /// The first stage gets a batch that was formed.
    fn enter_stages(&mut self, place: ReplicaIndex, slot: u32, now_us: f64) {
        let pool = self.pool_of(place);
        if pool.stages > 1 && !pool.stages_end {
            return self.pass_stages(place, slot, now_us);
        }
        self.pipelines[place].stages[0].queue.push_back(slot);
        self.serve(place, 0, now_us);
    }

    /// An idle stage takes the next batch of its queue.
    fn serve(&mut self, place: ReplicaIndex, stage: usize, now_us: f64) {
        let is_in_lockstep = self.group_of(place).passes.is_some();
        let pool = &self.pools[usize::from(self.replicas[place].life.pool)];
        let pipeline = &mut self.pipelines[place];
        let is_last = stage + 1 == pipeline.stages.len();
        let this = &mut pipeline.stages[stage];
        if this.serves.is_some() || is_in_lockstep {
            return;
        }
        let Some(&slot) = this.queue.front() else { return };
        if stage == 0 && awaits_tokens(&pipeline.batches, slot) {
            return;
        }
        let batch = &pipeline.batches[slot as usize];
        let waits =
            if stage == 0 { self.replicas[place].waits_for_copies_until(now_us, batch) } else { None };
        if let Some(until_us) = waits {
            // A copy that has not begun begins when the batch before this one is computed, and this one is looked at again.
            if until_us < f64::INFINITY {
                self.events.push(until_us, Event::CopyEnds(place));
            }
            return;
        }
        this.queue.pop_front();
        this.serves = Some(slot);
        let batch = &mut pipeline.batches[slot as usize];
        if pipeline.stages.len() == 1 {
            let end_us = self.begin_iteration(place, slot, now_us);
            self.schedule_completion(end_us, place);
            return self.begin_batch(place, slot, now_us);
        }
        let (copied_blocks, load_us) =
            if stage == 0 { (batch.copied_blocks, batch.load_us) } else { (0, 0.0) };
        let stage_us = batch.time_stages(&*pool.cost)[usize::from(is_last)];
        let works_us = stage_us + pool.config.copying_us(copied_blocks);
        let took_us = works_us + load_us;
        batch.busy_us += works_us;
        let event = Event::StageEnds { replica: place, stage: stage as u32 };
        self.events.push(now_us + took_us, event);
        if stage == 0 {
            self.begin_batch(place, slot, now_us);
        }
    }

    /// The first stage takes a batch.
    pub(super) fn begin_batch(&mut self, place: ReplicaIndex, slot: u32, now_us: f64) {
        let mut batches = std::mem::take(&mut self.pipelines[place].batches);
        let batch = &mut batches[slot as usize];
        batch.began_us = now_us;
        let (replica, mut context, _) = self.parts(place, now_us);
        if context.facts.lists_running {
            running_list::begins(replica, &mut context, batch);
        }
        self.pipelines[place].batches = batches;
    }

    /// A copy has ended: a batch that waited for it begins, or the replica, which stands still, learns of it.
    pub(super) fn copy_ends(&mut self, place: ReplicaIndex, now_us: f64) {
        self.serve(place, 0, now_us);
        if self.replicas[place].in_flight == 0 {
            self.dirty_replicas.push(place);
        }
    }

    /// A replica that stands still looks again when a copy ends.
    pub(super) fn wait_for_copies(&mut self, place: ReplicaIndex, now_us: f64) {
        let end_us = self.replicas[place].kv_connector.as_ref().and_then(|tier| tier.next_end_us());
        if let Some(end_us) = end_us.filter(|&end_us| end_us < f64::INFINITY) {
            self.events.push(end_us.max(now_us), Event::CopyEnds(place));
        }
    }

    /// A stage is done with its batch, which moves on or is done.
    pub(super) fn end_stage(&mut self, place: ReplicaIndex, stage: u32, now_us: f64) {
        let stage = stage as usize;
        let pipeline = &mut self.pipelines[place];
        let Some(slot) = pipeline.stages[stage].serves.take() else { return };
        let next = pipeline.stages.get_mut(stage + 1).map(|next| next.queue.push_back(slot));
        if next.is_none() {
            self.replicas[place].begin_stores(now_us, &mut pipeline.batches[slot as usize]);
        }
        self.serve(place, stage, now_us);
        if next.is_some() {
            return self.serve(place, stage + 1, now_us);
        }
        let has_begun_copies = self.replicas[place].kv_connector.is_some();
        let makes = self.pipelines[place].batches[slot as usize].token_wait.makes.take();
        if makes.is_some() || has_begun_copies {
            self.serve(place, 0, now_us);
        }
        self.leave_stages(place, slot, now_us);
    }

    /// A batch has left the last stage.
    pub(super) fn leave_stages(&mut self, place: ReplicaIndex, slot: u32, now_us: f64) {
        let pipeline = &mut self.pipelines[place];
        pipeline.queue.retain(|&batch| batch != Some(slot));
        let mut batches = std::mem::take(&mut pipeline.batches);
        let mut again = std::mem::take(&mut pipeline.again);
        let (replica, mut context, _) = self.parts(place, now_us);
        let requests_before = replica.num_running + replica.num_waiting;
        let continues_run =
            replica.stages > 1 && batch_end::ends_alike(replica, &mut context, &mut batches[slot as usize]);
        let mut apart = Vec::new();
        if !continues_run {
            // Those that ended before it at this time stand before it.
            apart.append(&mut again);
            for &ended in &apart {
                batch_end::take_apart(replica, &mut context, &mut batches[ended as usize]);
            }
            let batch = &mut batches[slot as usize];
            batch_end::write_down(&mut context, batch);
            if context.facts.lists_running {
                let holders = replica.num_running;
                replica.with_list(|list, replica| list.end_batch(replica, &mut context, batch));
                let finished = holders - replica.num_running;
                replica.happened(&mut context, BatchEvent::Ended(batch, finished));
            } else {
                replica.end_batch(&mut context, batch);
            }
        }
        let has_left = replica.num_running + replica.num_waiting < requests_before;
        let pipeline = &mut self.pipelines[place];
        pipeline.again = again;
        pipeline.unused.append(&mut apart);
        pipeline.has_ended = true;
        pipeline.has_left |= has_left;
        pipeline.batches = batches;
        if continues_run {
            pipeline.again.push(slot);
        } else {
            pipeline.unused.push(slot);
        }
        self.reports(place, now_us);
        self.dirty_replicas.push(place);
    }
}
