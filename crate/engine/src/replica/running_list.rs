//! The running requests of a replica, one by one: how many tokens of each are known, computed and under way, and the blocks that it
//! holds. Schedulers that give each request its tokens (vLLM v1, and those from outside) have one; the others keep requests that
//! decode in the decode batch alone.
//!
//! A scheduler chooses ([`Scheduled`]), and [`RunningList::commit`] makes an iteration of it; `end` has what the end of an iteration
//! changes. While running requests only decode, they are kept together in the decode batch and not looked at one by one
//! (`steady`).

mod end;
mod held;
mod steady;

use std::collections::VecDeque;

use servescope_cost::Chunk;
use servescope_workload::RequestId;

use super::Replica;
use super::adapters::Adapters;
use super::batch_scheduler::ScheduleContext;
use super::iteration::{Scheduled, ScheduledBatch};
use super::kv_cache::Held;
use super::requests::Requests;
use crate::record::request_state::RequestStatus;
use crate::record::timeline::PreemptionEvent;

pub(crate) use end::begins;
pub(crate) use held::HeldBlocks;

/// A request that runs, or that was preempted while tokens of it were under way.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(super) struct RunningRequest {
    pub(super) id: RequestId,
    /// Tokens of its prompt and output that are known.
    pub(super) known: u32,
    /// Tokens that are computed, or scheduled to be.
    pub(super) computed: u32,
    /// Those of them whose iterations are under way.
    pub(super) under_way: u32,
    /// Tokens of its output that iterations under way will make if all drafts are accepted (async scheduling alone counts them).
    pub(super) awaited: u32,
    /// Drafts of its next tokens, which its next iteration verifies (`spec_token_ids`).
    pub(super) drafts: u32,
    /// Tokens that were under way when it was preempted; it waits until they are back.
    pub(super) stale: u32,
    /// Whether its last iteration leaves some of its known tokens uncomputed.
    pub(super) is_prompt_chunk: bool,
    /// Whether it is in this iteration.
    pub(super) is_scheduled: bool,
    /// Whether its adapter counts among those that are used.
    pub(super) has_adapter: bool,
    /// The number of the first schedule in which it may decode again.
    pub(super) decodes_from: u64,
    pub(super) held: Held,
    /// How many were admitted before it.
    pub(super) admission: u64,
    /// Whether it is in the steady group, in which its counters are not updated one by one.
    pub(super) is_in_group: bool,
    /// Its first iteration in the group.
    pub(super) joined: u64,
    /// The iteration before which it leaves the group at the latest.
    pub(super) formed_to: u64,
    /// The iteration before which it is done.
    pub(super) ended_to: u64,
    /// `known` when it joined the group.
    pub(super) known_at_join: u32,
}

/// The list.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningList {
    pub(super) entries: Vec<RunningRequest>,
    unused: Vec<u32>,
    /// Places in `entries` of running requests, in order of admission.
    pub(super) order: Vec<u32>,
    /// Looks at the replica so far.
    pub(super) looks: u64,
    /// Iterations so far.
    pub(super) iterations: u64,
    /// Whether the last iteration left a part of a prompt for the next one.
    has_chunk: bool,
    /// Requests that decode in every iteration.
    group: steady::Group,
    /// Requests admitted so far.
    admissions: u64,
    /// Which composition the last iteration had, how many there were, and its requests.
    composition: u64,
    compositions: u64,
    last: Vec<RequestId>,
    /// Blocks of requests that left while an iteration under way writes them, and the number of that iteration.
    fenced: VecDeque<(u64, RequestId, Held)>,
}

impl RunningList {
    /// The place of a request that runs or has tokens under way.
    pub(super) fn place(context: &ScheduleContext<'_>, id: RequestId) -> Option<u32> {
        context.requests.running[id]
    }

    /// A request that is chosen for the iteration that is being formed.
    pub(super) fn chosen(&self, context: &ScheduleContext<'_>, id: RequestId) -> Option<&RunningRequest> {
        Self::place(context, id).map(|place| &self.entries[place as usize])
    }

    /// The place of a request that runs.
    pub(super) fn running_place(&self, context: &ScheduleContext<'_>, id: RequestId) -> Option<u32> {
        Self::place(context, id).filter(|place| self.order.contains(place))
    }

    pub(super) fn entry(&mut self, place: u32) -> &mut RunningRequest {
        &mut self.entries[place as usize]
    }

    /// An iteration is formed that holds these requests, which decode, and prompts beside them or not.
    fn compose(&mut self, members: &[RequestId], has_prompts: bool) {
        if has_prompts {
            self.composition = 0;
        } else if self.composition == 0 || !are_the_same(&self.last, members) {
            self.compositions += 1;
            self.composition = self.compositions;
            self.last.clear();
            self.last.extend_from_slice(members);
        }
    }

    /// A request gets a place.
    fn add(&mut self, context: &mut ScheduleContext<'_>, entry: RunningRequest) -> u32 {
        let id = entry.id.index();
        let entry = RunningRequest { admission: self.admissions, ..entry };
        self.admissions += 1;
        let place = self.unused.pop().unwrap_or(self.entries.len() as u32);
        match self.entries.get_mut(place as usize) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
        context.requests.running[id] = Some(place);
        place
    }

    /// A request runs no more. They stand in the order of their admission.
    pub(super) fn leave_order(&mut self, place: u32) {
        let admission = |place: u32| self.entries[place as usize].admission;
        let own = admission(place);
        let at = self.order.partition_point(|&other| admission(other) < own);
        self.order.remove(at);
    }

    /// The adapter of a request is in no later iteration, unless the request is admitted again.
    pub(super) fn release_adapter(
        &mut self,
        adapters: &mut Adapters,
        context: &ScheduleContext<'_>,
        place: u32,
    ) {
        let entry = self.entry(place);
        if std::mem::take(&mut entry.has_adapter) {
            let (adapter, rank) = context.adapter(entry.id);
            adapters.release(adapter, rank);
        }
    }

    /// Whether a request runs whose adapter is in no later iteration.
    pub(crate) fn has_released_adapter(&self, context: &ScheduleContext<'_>, id: RequestId) -> bool {
        self.running_place(context, id).is_some_and(|place| !self.entries[place as usize].has_adapter)
    }

    /// A request needs its place no more.
    fn remove(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        if let Some(place) = context.requests.running[id].take() {
            self.unused.push(place);
        }
    }

    /// The requests that were chosen are in the iteration, behind those of the group. Says whether a part of a prompt is left of one of
    /// them. Where batches are formed ahead, a request is scheduled again before its last token is known.
    pub(super) fn commit(
        &mut self,
        replica: &Replica,
        context: &ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        mut chosen: Vec<Scheduled>,
    ) {
        self.iterations += u64::from(batch.decodes > 0 || !chosen.is_empty());
        let (looks, stages, is_ahead) = (self.looks, replica.stages, context.facts.batches_ahead > 0);
        let drafting = context.config.drafting();
        let drafts = drafting.map_or(0, |own| own.drafts_after(chosen.len() as u32));
        self.has_chunk = false;
        for scheduled in &mut chosen {
            let Some(place) = Self::place(context, scheduled.id) else { continue };
            let entry = self.entry(place);
            entry.is_scheduled = false;
            entry.computed += scheduled.tokens;
            entry.under_way += scheduled.tokens;
            entry.is_prompt_chunk = entry.computed < entry.known + entry.awaited;
            scheduled.makes_token = !entry.is_prompt_chunk;
            if scheduled.makes_token && is_ahead {
                // With several stages a request decodes in one of as many iterations as there are stages.
                entry.decodes_from = looks + u64::from(stages);
                entry.awaited += 1 + scheduled.drafts;
                // The drafts behind this iteration are counted before they are made.
                entry.drafts = drafts;
            }
            self.has_chunk |= !scheduled.makes_token;
            fill(context, batch, *scheduled);
        }
        batch.scheduled = chosen;
        // Requests with drafts get on by different numbers of tokens.
        if drafting.is_none() && batch.steady.is_none() && stages == 1 && !batch.is_empty() {
            self.compose(&batch.members, !batch.prompts.is_empty());
        }
        batch.composition = self.composition;
    }

    /// A waiting request runs from now on: this many of its tokens are known, and computed.
    pub(super) fn admit(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        (id, known, computed): (RequestId, u32, u32),
        held: Held,
    ) {
        replica.num_running += 1;
        context.holds_memory(id, RequestStatus::Prefilling);
        context.requests[id].done = computed;
        let entry =
            RunningRequest { id, known, computed, held, has_adapter: true, ..RunningRequest::default() };
        let place = self.add(context, entry);
        self.order.push(place);
    }

    /// A request that is taken out of the order loses its memory. It is to wait again.
    pub(super) fn preempt(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        place: u32,
    ) -> RequestId {
        let Replica { kv, adapters, .. } = replica;
        self.release_adapter(adapters, context, place);
        let entry = self.entry(place);
        let i = entry.id.index();
        kv.free_blocks(entry.id, &mut entry.held, true);
        let lost_tokens = entry.computed - entry.under_way;
        entry.stale = entry.under_way;
        (entry.computed, entry.awaited, entry.drafts) = (0, 0, 0);
        let (id, known, is_back) = (entry.id, entry.known, entry.under_way == 0);
        if is_back {
            self.remove(context, id);
        }
        replica.num_running -= 1;
        let requests = &mut *context.requests;
        if requests[i].status == RequestStatus::Decoding {
            requests.token_us.insert(id, requests[i].updated_us);
        }
        requests[i].status = RequestStatus::Waiting;
        requests[i].prompt = known;
        requests[i].done = 0;
        requests[i].preemptions = requests[i].preemptions.saturating_add(1);
        let (time_us, replica_index) = (context.now_us, replica.index);
        context.record.preemptions.push(PreemptionEvent { time_us, id, replica: replica_index, lost_tokens });
        id
    }

    /// Tokens of a preempted request that are still under way.
    pub(super) fn stale(&self, context: &ScheduleContext<'_>, id: RequestId) -> u32 {
        Self::place(context, id).map_or(0, |place| self.entries[place as usize].stale)
    }

    /// Tokens of a request that are there and not written down; `None`: all are.
    pub(crate) fn unwritten_tokens(&self, requests: &Requests, id: RequestId) -> Option<u32> {
        requests.running[id].and_then(|place| self.unwritten_of(place))
    }

    /// The requests of a batch in the order in which they were chosen.
    pub(crate) fn members(&self, context: &ScheduleContext<'_>, batch: &ScheduledBatch) -> Vec<Scheduled> {
        match batch.steady {
            None => batch.scheduled.clone(),
            Some(own) => {
                let mut members = self.parts(context, own.number);
                members.extend_from_slice(&batch.scheduled);
                members
            }
        }
    }
}

impl Replica {
    /// Lets something be done with the list of running requests and the replica beside it.
    pub(crate) fn with_list<T>(&mut self, work: impl FnOnce(&mut RunningList, &mut Self) -> T) -> T {
        let mut list = std::mem::take(&mut self.running_list);
        let result = work(&mut list, self);
        self.running_list = list;
        result
    }
}

/// Whether two lists hold the same requests, in whichever order: a scheduler may keep them in another one than that of admission.
fn are_the_same(one: &[RequestId], other: &[RequestId]) -> bool {
    let sorted = |list: &[RequestId]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    one == other || one.len() == other.len() && sorted(one) == sorted(other)
}

/// A request is part of the iteration as the cost model sees it.
fn fill(context: &ScheduleContext<'_>, batch: &mut ScheduledBatch, scheduled: Scheduled) {
    let Scheduled { id, tokens, computed, is_prompt, makes_token, drafts, .. } = scheduled;
    if is_prompt {
        batch.prompts.push(id);
        batch.chunks.push(Chunk { kv_tokens: computed, tokens });
    } else {
        batch.members.push(id);
        batch.decodes += 1;
        // That of a padded row comes with its admission, as one behind a prompt does.
        batch.decode_tokens += u32::from(makes_token && !scheduled.is_padded);
        batch.decode_kv_tokens += u64::from(computed + scheduled.sure_tokens());
        batch.drafts += drafts;
    }
    context.add_adapter(batch, id);
}
