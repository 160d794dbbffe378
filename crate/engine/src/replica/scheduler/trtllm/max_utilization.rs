//! `MAX_UTILIZATION` (`MaxUtilizationPolicy`): requests are looked at in the order in which they came, running and paused ones alike. For
//! one that finds no block the last running request behind it is paused, or it itself: it loses its memory and is recomputed later.

use servescope_workload::RequestId;

use super::batch::{MicroBatch, decodes_on, first_new_block, is_prompt};
use super::prompts::Judged;
use super::{BlockReason, Replica, RunningList, ScheduleContext, State};
use crate::record::decisions::{Compared, Decision, Test, Verdict};

/// A request that was started.
#[derive(Debug, Clone, Copy)]
struct Started {
    id: RequestId,
    /// Its place in the list; `None`: it is paused.
    place: Option<u32>,
}

impl State {
    /// Started requests go on as memory allows, then waiting ones if none was paused for them.
    pub(super) fn schedule_what_fits(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        step: &mut MicroBatch,
    ) -> Option<BlockReason> {
        let started = self.started(list, replica, context, step);
        let (mut next, mut end, mut stop) = (0, started.len(), None);
        while next < end {
            let Started { id, place } = started[next];
            let lacks = match place {
                Some(place) => go_on(list, replica, context, step, place),
                None => self.resume(list, replica, context, step, id),
            };
            let Some((reason, compared)) = lacks else {
                next += 1;
                continue;
            };
            let Some(last) = started[next..end].iter().rposition(|own| own.place.is_some()) else {
                stop = Some(reason);
                break;
            };
            end = next + last;
            if let Started { id: paused, place: Some(place) } = started[end] {
                let (time_us, index) = (context.now_us, replica.index);
                context.record.decisions.add(|| {
                    Decision::of(time_us, index, paused, Verdict::Preempted, compared).for_request(id)
                });
                self.pause(list, replica, context, place);
            }
        }
        let was_paused = end < started.len();
        if step.is_closed && stop.is_none() {
            stop = Some(BlockReason::PromptBudget);
        }
        if stop.is_some() || was_paused {
            self.share_budget(list, replica, context, step);
            return stop.or(Some(BlockReason::Memory));
        }
        self.admit_waiting(list, replica, context, step)
    }

    /// The requests that were started, in the order in which they came. Paused ones leave the head of the queue while the batch is formed.
    fn started(
        &self,
        list: &RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        step: &mut MicroBatch,
    ) -> Vec<Started> {
        while let Some(id) = replica.head(context).filter(|id| self.paused.contains(id)) {
            replica.pop_waiting(context);
            step.passed.push(id);
        }
        let arrival = |id: RequestId| (context.arrival_us(id), id);
        let earlier = |one: RequestId, other: RequestId| {
            let ((one_us, one), (other_us, other)) = (arrival(one), arrival(other));
            one_us.total_cmp(&other_us).then(one.cmp(&other))
        };
        step.passed.sort_unstable_by(|&one, &other| earlier(one, other));
        let running = list
            .order
            .iter()
            .map(|&place| Started { id: list.entries[place as usize].id, place: Some(place) });
        let paused = step.passed.iter().map(|&id| Started { id, place: None });
        let mut started: Vec<Started> = running.chain(paused).collect();
        started.sort_unstable_by(|one, other| earlier(one.id, other.id));
        for own in &started {
            let goes_on = own.place.filter(|&place| is_prompt(list, context, place));
            let number = goes_on.and_then(|_| first_new_block(replica, context, own.id).1);
            step.computes.extend(number.map(|number| (number, own.id)));
        }
        started
    }

    /// A paused request is admitted again. Says what it lacks if it is not for want of memory, or of a LoRA slot.
    fn resume(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        step: &mut MicroBatch,
        id: RequestId,
    ) -> Option<(BlockReason, Compared)> {
        if step.is_closed {
            return None;
        }
        match self.judge(list, replica, context, step, id) {
            Judged::Fits(tokens) => {
                step.passed.retain(|&other| other != id);
                self.admit(list, replica, context, step, (id, tokens));
                None
            }
            Judged::Shares | Judged::Passed => None,
            Judged::Lacks(BlockReason::PromptBudget, _) => {
                step.is_closed = true;
                None
            }
            Judged::Lacks(reason, compared) => Some((reason, compared)),
        }
    }

    /// A running request loses its memory, and waits.
    fn pause(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        place: u32,
    ) {
        list.leave_order(place);
        let id = list.preempt(replica, context, place);
        replica.requeue(context, id);
        replica.adapters.offload_unused(&mut replica.kv);
        self.paused.push(id);
    }
}

/// A running request goes on. Says what it lacks if it cannot.
fn go_on(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut MicroBatch,
    place: u32,
) -> Option<(BlockReason, Compared)> {
    if is_prompt(list, context, place) {
        step.offer_rest(list, replica, context, place);
        return None;
    }
    if !decodes_on(list, context, place) {
        return None;
    }
    let entry = list.entry(place);
    let blocks = replica.kv.blocks_to_take(entry.computed + 1, &entry.held);
    let free = replica.kv.available().saturating_sub(step.promised);
    if blocks > free {
        return Some((BlockReason::Memory, Compared::new(Test::KvBlocks, blocks, free)));
    }
    if !step.decode(list, replica, context, place) {
        step.promised += blocks;
    }
    None
}
