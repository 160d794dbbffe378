//! Replicas whose data-parallel ranks run every forward pass together, and what ranks report of themselves.

use servescope_cost::{Batch, BatchCost, LinearDecode, RankRows};

use super::Fleet;
use super::events::Event;
use crate::ranks::passes::Passes;
use crate::record::timeline::{DummyBatches, Rearrangement};
use crate::replica_index::ReplicaIndex;

impl Fleet {
    /// A rank takes what is in its input queue before it forms a batch, and reports its counts (`_process_input_queue`).
    pub(super) fn reads_input(&mut self, place: ReplicaIndex, now_us: f64) {
        self.group_of_mut(place).reads_input(place);
        self.reports(place, now_us);
    }

    /// A rank reports its counts where they have changed.
    pub(super) fn reports(&mut self, place: ReplicaIndex, now_us: f64) {
        let replica = &self.replicas[place];
        self.groups[usize::from(replica.life.replica)].reports(replica, now_us);
    }

    /// The ranks of a replica begin a pass unless one is under way; a wave begins with a request at any of them.
    pub(super) fn begin_pass(&mut self, place: ReplicaIndex, now_us: f64) {
        let group = self.group_of(place);
        let Some(passes) = &group.passes else { return };
        let has_requests = |rank: ReplicaIndex| self.replicas[rank].outstanding > 0;
        if passes.is_under_way {
            return;
        }
        if !(passes.is_running || passes.is_formed_ahead || group.ranks().any(has_requests)) {
            return self.hear_of_copies(place, now_us);
        }
        let (is_formed, step) = (passes.is_formed_ahead, passes.step().1);
        let ranks: Vec<ReplicaIndex> = group.ranks().collect();
        let first = group.first;
        if !is_formed {
            self.form_pass(&ranks, step, now_us);
        }
        let end_us = self.run_pass(&ranks, now_us);
        self.events.push(end_us, Event::PassEnds(first));
        let forms_ahead = self.pool_of(first).facts.batches_ahead > 0;
        if let Some(passes) = &mut self.group_of_mut(first).passes {
            (passes.is_running, passes.is_under_way) = (true, true);
            passes.is_formed_ahead = forms_ahead;
        }
        if forms_ahead {
            self.form_pass(&ranks, step + 1, now_us);
        }
    }

    /// Ranks without work learn at once of copies that have ended, as a replica without a batch does.
    fn hear_of_copies(&mut self, place: ReplicaIndex, now_us: f64) {
        for rank in self.group_of(place).ranks() {
            let replica = &self.replicas[rank];
            let has_copies = replica.kv_connector.as_ref().is_some_and(|tier| tier.has_copies());
            if has_copies || replica.pinned.has_news() {
                self.form_batch(rank, now_us);
            }
        }
    }

    /// Each rank forms its batch of a pass.
    fn form_pass(&mut self, ranks: &[ReplicaIndex], step: u32, now_us: f64) {
        for &rank in ranks {
            self.replicas[rank].pass_step = Some(step);
            self.form_batch(rank, now_us);
        }
    }

    /// The stages of all ranks take their batches, or dummy ones, and are done with them together. Says when.
    fn run_pass(&mut self, ranks: &[ReplicaIndex], now_us: f64) -> f64 {
        let mut slots: Vec<(ReplicaIndex, Option<u32>)> = Vec::new();
        for &rank in ranks {
            slots.push((rank, self.pipelines[rank].stages[0].queue.pop_front()));
        }
        let rows_of = |&(rank, slot): &(ReplicaIndex, Option<u32>)| {
            slot.map_or(1, |slot| self.pipelines[rank].batches[slot as usize].batch().rows())
        };
        let rows: Vec<u32> = slots.iter().map(rows_of).collect();
        let group = self.groups[usize::from(self.replicas[ranks[0]].life.replica)].passes.as_mut();
        let are_balanced = group.as_ref().is_some_and(|passes| passes.are_balanced);
        let pause_us = group.and_then(Passes::rearranges);
        let rank_rows =
            RankRows { all: rows.iter().sum(), most: rows.into_iter().max().unwrap_or(1), are_balanced };
        let dummy_us = dummy_us(&*self.pool_of(ranks[0]).cost, rank_rows);
        let mut ends_us = Vec::new();
        for &(rank, slot) in &slots {
            ends_us.push(slot.map_or(now_us + dummy_us, |slot| {
                self.pipelines[rank].batches[slot as usize].rank_rows = rank_rows;
                self.pipelines[rank].stages[0].serves = Some(slot);
                self.begin_iteration(rank, slot, now_us)
            }));
        }
        let computed_us = ends_us.iter().copied().fold(now_us, f64::max);
        let end_us = computed_us + pause_us.unwrap_or(0.0);
        if pause_us.is_some() {
            let replica = self.replicas[ranks[0]].life.replica;
            self.record.rearrangements.push(Rearrangement { replica, start_us: computed_us, end_us });
        }
        for (&(rank, slot), own_end_us) in slots.iter().zip(ends_us) {
            if let Some(slot) = slot {
                self.stretch(rank, slot, end_us - own_end_us);
                self.begin_batch(rank, slot, now_us);
            } else {
                self.note_dummy(rank, now_us, end_us);
            }
        }
        end_us
    }

    /// A rank runs a dummy batch; those in a row are written down as one.
    fn note_dummy(&mut self, rank: ReplicaIndex, start_us: f64, end_us: f64) {
        let place = usize::from(self.replicas[rank].life.rank);
        let all = &mut self.record.dummy_batches;
        let group = &mut self.groups[usize::from(self.replicas[rank].life.replica)];
        let Some(passes) = &mut group.passes else { return };
        let newest = &mut passes.dummies_at[place];
        if let Some(row) = newest.map(|at| &mut all[at]).filter(|row| row.end_us == start_us) {
            (row.end_us, row.passes) = (end_us, row.passes + 1);
        } else {
            *newest = Some(all.len());
            all.push(DummyBatches { replica: rank, start_us, end_us, passes: 1 });
        }
    }

    /// The iteration of a rank lasts as much longer as it waits for the slowest one.
    fn stretch(&mut self, rank: ReplicaIndex, slot: u32, waited_us: f64) {
        let batch = &mut self.pipelines[rank].batches[slot as usize];
        batch.waited_us = waited_us;
        batch.first_us += waited_us;
        batch.growth_us = 0.0;
        if let Some(run) = &mut self.replicas[rank].run {
            run.time_model = LinearDecode::new(batch.first_us, 0.0);
            run.valid_for = 1;
        }
    }

    /// A pass ends at all ranks of a replica, and its wave with it where they ask each other and none has work.
    pub(super) fn end_pass(&mut self, first: ReplicaIndex, now_us: f64) {
        let ranks: Vec<ReplicaIndex> = self.group_of(first).ranks().collect();
        let mut any_batch = false;
        for &rank in &ranks {
            if self.pipelines[rank].stages[0].serves.is_some() {
                any_batch = true;
                self.end_alike(rank);
                self.end_stage(rank, 0, now_us);
            } else {
                self.reports(rank, now_us);
            }
        }
        let group = &mut self.groups[usize::from(self.replicas[first].life.replica)];
        let has_work = |&rank: &ReplicaIndex| group.seen(&self.replicas[rank]) != [0, 0];
        let any_unfinished = ranks.iter().any(has_work);
        let is_formed = |&rank: &ReplicaIndex| !self.pipelines[rank].stages[0].queue.is_empty();
        if let Some(passes) = &mut group.passes {
            passes.end_pass(any_batch, any_unfinished, ranks.iter().any(is_formed));
        }
        self.dirty_replicas.push(first);
    }
}

/// How long a rank without a batch takes for a pass with such ranks: it computes one token (`execute_dummy_batch`).
fn dummy_us(cost: &dyn BatchCost, rank_rows: RankRows) -> f64 {
    cost.stage_time(&Batch { decodes: 1, rank_rows, ..Batch::default() }, true).first_us
}
