//! Decodes (`update_running_batch` of managers/scheduler.py), and what happens when they find no memory: requests are
//! retracted to the end of the waiting queue (`retract_decode` of managers/schedule_batch.py).

use servescope_workload::RequestId;

use super::request::Done;
use super::waiting_queue::sort_by_rank;
use super::{RETRACT_STEPS, Replica, ScheduleContext, State};
use crate::config::sglang::RetractionPolicy;
use crate::record::decisions::{Compared, Decision, Test, Verdict};
use crate::replica::running_list::RunningList;
use crate::request::{Outcome, Rejection};

impl State {
    /// All running requests decode. Says whether there are any that do.
    pub(super) fn decode(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
    ) -> bool {
        let before = self.running.requests.len();
        let ends = self.without_those_that_end(list, replica, context);
        if self.running.requests.is_empty() {
            self.running.is_full = false;
            return false;
        }
        let running = std::mem::take(&mut self.running.requests);
        let has_room = self.has_room_to_decode(&running);
        self.running.requests = running;
        if has_room {
            self.decays();
        } else if ends {
            self.running.is_full = false;
            return false;
        } else {
            self.retract(list, replica, context);
        }
        if self.running.requests.len() < before {
            self.running.is_full = false;
        }
        if self.running.requests.is_empty() {
            return false;
        }
        self.grow();
        true
    }

    /// The running requests are expected to need a little less after each decode.
    pub(super) fn decays(&mut self) {
        let decay = (self.first_ratio - self.least_ratio) / super::DECAY_STEPS;
        self.ratio = (self.ratio - decay).max(self.least_ratio);
    }

    /// Requests of which the batch under way is known to make the last token are in no further one. Says whether there are any.
    pub(super) fn without_those_that_end(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &ScheduleContext<'_>,
    ) -> bool {
        let Some(first) = self.under_way.front().filter(|_| self.rules.overlap_schedule) else {
            return false;
        };
        let ends = |id: &RequestId| {
            let own = &self.requests[id];
            own.out + 1 >= own.max_new && first.requests.contains(id)
        };
        let has_gone = |id: &RequestId| self.requests[id].done.is_some();
        let any_ends = self.running.requests.iter().any(ends);
        let stays: Vec<RequestId> =
            self.running.requests.iter().copied().filter(|id| !ends(id) && !has_gone(id)).collect();
        if any_ends {
            // Their adapters are in no further batch.
            for &id in self.running.requests.iter().filter(|id| !stays.contains(id)) {
                if let Some(place) = list.running_place(context, id) {
                    list.release_adapter(&mut replica.adapters, context, place);
                }
            }
            self.running.requests = stays;
        }
        any_ends
    }

    /// Whether these have memory for one more token each, what could be evicted for it evicted.
    pub(super) fn has_room_to_decode(&mut self, requests: &[RequestId]) -> bool {
        let need: u32 = requests.iter().map(|id| self.memory.new_page(&self.requests[id])).sum();
        self.memory.evict_until(need);
        self.memory.free() >= need
    }

    /// The running requests get memory for one more token each.
    pub(super) fn grow(&mut self) {
        self.memory.evict_until(self.running.requests.len() as u32 * self.memory.page());
        for id in &self.running.requests {
            let Some(own) = self.requests.get_mut(id) else { continue };
            let taken = self.memory.take(self.memory.new_page(own));
            debug_assert!(taken, "there is room to decode");
            own.kv += 1;
        }
    }

    /// Retracts running requests until the others can decode, at least one: those with the least output first.
    fn retract(&mut self, list: &mut RunningList, replica: &mut Replica, context: &mut ScheduleContext<'_>) {
        let mut stay = std::mem::take(&mut self.running.requests);
        let needs = stay.first().copied();
        match self.rules.retraction_policy {
            RetractionPolicy::Length => {
                sort_by_rank(&mut stay, |id| [0, -i64::from(self.of(id).out), self.of(id).prompt.into()]);
            }
            RetractionPolicy::Priority => {
                sort_by_rank(&mut stay, |id| {
                    let own = self.of(id);
                    [self.rank(own), -i64::from(own.out), own.prompt.into()]
                });
            }
        }
        let mut back = Vec::new();
        while (back.is_empty() || !self.has_room_to_decode(&stay))
            && stay.len() > 1
            && let Some(id) = stay.pop()
        {
            let pages = self.memory.free() / self.memory.page();
            let compared = Compared::new(Test::KvBlocks, pages + 1, pages);
            let for_other = needs.filter(|&needs| needs != id);
            self.send_back(list, replica, context, (id, for_other, compared), stay.len() as u32);
            back.push(id);
        }
        if stay.len() == 1 && !self.has_room_to_decode(&stay) {
            for id in stay.drain(..) {
                self.runs_out_of_memory(list, replica, context, id);
            }
        }
        let out: u64 = stay.iter().map(|&id| u64::from(self.of(id).out)).sum();
        let most: u64 = stay.iter().map(|&id| u64::from(self.of(id).max_new)).sum();
        let expected = out + u64::from(RETRACT_STEPS) * stay.len() as u64;
        self.ratio = (expected as f64 / (most + 1) as f64).min(1.0);
        self.running.requests = stay;
        for id in back {
            self.enters(replica, context, id);
        }
    }

    /// A request that runs alone finds no memory, and is given up.
    pub(super) fn runs_out_of_memory(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
    ) {
        context.record.results[id].outcome = Outcome::Rejected(Rejection::PoolTooSmall);
        self.of_mut(id).done = Some(Done::Aborted);
        self.release(id, false);
        list.abort(replica, context, id);
        self.goes(id);
    }

    /// A request loses its memory but for what the tree has of it, and goes to the end of the waiting queue, for another one and for what a test
    /// compared; so many others stay.
    pub(super) fn send_back(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        (id, needs, compared): (RequestId, Option<RequestId>, Compared),
        others: u32,
    ) {
        let (time_us, place) = (context.now_us, replica.index);
        context.record.decisions.add(|| {
            Decision::of(time_us, place, id, Verdict::Preempted, compared).for_request(needs.unwrap_or(id))
        });
        self.release(id, false);
        self.memory.evict_until(others * RETRACT_STEPS);
        self.of_mut(id).reset_for_retract();
        if let Some(place) = list.running_place(context, id) {
            list.leave_order(place);
            list.preempt(replica, context, place);
            replica.waits_again(context, id);
        }
    }

    /// A request gives its memory and its slot back.
    pub(super) fn release(&mut self, id: RequestId, keeps: bool) {
        let Some(own) = self.requests.get_mut(&id).filter(|own| own.has_slot) else { return };
        self.memory.release(own, keeps);
        self.free_slots += 1;
    }
}
