//! vLLM v1 by the rules of its own engine, version 0.33.0 (vllm/v1/core/sched/scheduler.py and async_scheduler.py,
//! vllm/v1/core/kv_cache_manager.py, the order of batches of vllm/v1/engine/core.py).
//!
//! An iteration has one token budget. First running requests (`running`), in the order in which they were admitted: a token each,
//! or the next chunk of a prompt (chunked prefill). A request that finds no block preempts the last one, under priority the one
//! that is least urgent, even if it is in this very iteration. Then, if no request was preempted, the waiting requests
//! (`waiting`), up to `max_num_seqs`. A token counts as computed as soon as it is scheduled: with asynchronous scheduling the next
//! iteration is formed while the current one runs, so a request is scheduled for its next decode before its last token is known.
//!
//! While running requests only decode, they are kept together and not looked at one by one (`steady` on one pipeline stage,
//! `groups` on several); `end` has what the end of an iteration changes.

mod end;
mod running;
mod seen;
mod steady;
mod waiting;

use servescope_cost::Chunk;
use servescope_workload::RequestId;

use super::vllm::refuses_blocks;
use super::{
    BatchScheduler, HeldBlocks, PoolConfig, QueueScan, Replica, ScheduleContext, ScheduledBatch,
    SchedulerFacts, SchedulerRules, Trace,
};
use crate::config::{LongPrefill, VllmRules};
use crate::record::request_state::RequestStatus;
use crate::replica::adapters::Adapters;
use crate::replica::iteration::{Scheduled, TokenWait};
use crate::replica::kv_cache::Held;
use crate::replica::requests::Requests;
use crate::request::{BlockReason, Rejection};

/// The scheduler.
#[derive(Debug)]
pub(super) struct VllmV1;

/// A request that runs, or that was preempted while tokens of it were under way.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
struct RunningRequest {
    id: RequestId,
    /// Tokens of its prompt and output that are known.
    known: u32,
    /// Tokens that are computed, or scheduled to be.
    computed: u32,
    /// Those of them whose iterations are under way.
    under_way: u32,
    /// Tokens of its output that iterations under way will make (async scheduling alone counts them).
    awaited: u32,
    /// Tokens that were under way when it was preempted; it waits until they are back.
    stale: u32,
    /// Whether its last iteration leaves some of its known tokens uncomputed.
    is_prompt_chunk: bool,
    /// Whether it is in this iteration.
    is_scheduled: bool,
    /// Whether its adapter counts among those that are used.
    has_adapter: bool,
    /// The number of the first schedule in which it may decode again.
    decodes_from: u64,
    held: Held,
    /// How many were admitted before it.
    admission: u64,
    /// Whether it is in the steady group, in which its counters are not updated one by one.
    is_in_group: bool,
    /// Its first iteration in the group.
    joined: u64,
    /// The iteration before which it leaves the group at the latest.
    formed_to: u64,
    /// The iteration before which it is done.
    ended_to: u64,
    /// `known` when it joined the group.
    known_at_join: u32,
}

/// What is kept of a replica between iterations.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    entries: Vec<RunningRequest>,
    unused: Vec<u32>,
    /// Places in `entries` of running requests, in order of admission.
    order: Vec<u32>,
    /// Waiting requests that were passed over and are not yet admitted.
    deferred: Vec<RequestId>,
    /// Looks at the replica so far.
    looks: u64,
    /// Iterations so far, and at which one a prompt was read last.
    iterations: u64,
    prompts_at: Option<u64>,
    /// Whether requests still waited after the last iteration that could admit them.
    is_capacity_bound: bool,
    /// Whether the last iteration left a part of a prompt for the next one, and whether it preempted a request.
    has_chunk: bool,
    has_preempted: bool,
    /// Requests that decode in every iteration.
    group: steady::Group,
    /// Requests admitted so far.
    admissions: u64,
    /// Which composition the last iteration had, how many there were, and its requests.
    composition: u64,
    compositions: u64,
    last: Vec<RequestId>,
}

/// An iteration while it is formed.
struct Step {
    rules: VllmRules,
    /// What is left of the token budget (`max_num_batched_tokens`): every scheduled token of a prompt or a decode takes from it.
    budget: u32,
    /// Most tokens of one prompt.
    chunk: u32,
    /// Whether prompts wait for a later iteration, so that requests that decode go on undisturbed.
    defers_prompts: bool,
    reads_prompts: bool,
    scheduled: Vec<Scheduled>,
    /// How long adapters are loaded before it, microseconds.
    load_us: f64,
}

impl SchedulerRules for VllmV1 {
    fn scheduler(&self, _config: &PoolConfig, _trace: &Trace) -> Box<dyn BatchScheduler> {
        Box::new(State::default())
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts {
            reference_accepts_all: false,
            cuts_outputs_at: config.max_request_tokens,
            // vllm/v1/engine/async_llm.py: `max_num_queued_tokens`.
            max_queued_tokens: config.vllm.max_num_queued_tokens,
            caches_prefixes: true,
            allocates_on_demand: true,
            arrival_changes_plan: false,
            keeps_decode_batch: false,
            batches_ahead: u32::from(config.vllm.async_scheduling),
            queues_empty_batches: true,
            ..SchedulerFacts::of_iterations(config)
        }
    }

    fn refuses(&self, config: &PoolConfig, blocks: u32, [_, total_tokens]: [u32; 2]) -> Option<Rejection> {
        // vLLM does not start with a budget below the longest request then; a preempted request would wait for ever.
        let over_budget =
            !config.vllm.enable_chunked_prefill && total_tokens.saturating_sub(1) > config.max_batch_tokens;
        refuses_blocks(config, blocks, total_tokens).or(over_budget.then_some(Rejection::PromptOverBatch))
    }

    /// vllm/v1/engine/input_processor.py: only the prompt has to leave room for a token, the output is cut.
    fn longest_request(
        &self,
        config: &PoolConfig,
        input_tokens: u32,
        total_tokens: u32,
    ) -> Result<u32, Rejection> {
        if input_tokens >= config.max_request_tokens {
            return Err(Rejection::RequestTooLong);
        }
        Ok(total_tokens.min(config.max_request_tokens))
    }
}

impl BatchScheduler for State {
    fn boxed(&self) -> Box<dyn BatchScheduler> {
        Box::new(self.clone())
    }

    fn schedule(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> QueueScan {
        schedule(self, replica, context, batch)
    }

    fn held_blocks(&self, replica: &Replica, block_size: u32) -> Option<HeldBlocks> {
        Some(State::held_blocks(self, replica.decode_batch.step, block_size))
    }

    fn later_blocks(&self, replica: &Replica, _config: &PoolConfig, begun: u32) -> u32 {
        replica.decode_batch.new_blocks_over(0, begun - 1)
    }

    fn iterations_alike(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        most: u32,
    ) -> u32 {
        steady::iterations_alike(self, replica, context, most)
    }

    fn end_alike(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        iterations: u32,
    ) -> u32 {
        steady::end_alike(self, replica, context, iterations)
    }

    fn begins(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>, batch: &ScheduledBatch) {
        end::begins(replica, context, batch);
    }

    fn end_batch(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> bool {
        end::end_batch(self, replica, context, batch);
        true
    }

    fn release_aborted(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
    ) -> bool {
        end::release_aborted(self, replica, context, id);
        true
    }

    fn settle(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>) {
        steady::settle(self, replica, context);
    }

    fn members(&self, context: &ScheduleContext<'_>, batch: &ScheduledBatch) -> Vec<Scheduled> {
        match batch.steady {
            None => batch.scheduled.clone(),
            Some(own) => {
                let mut members = self.parts(context, own.number);
                members.extend_from_slice(&batch.scheduled);
                members
            }
        }
    }

    fn unwritten_tokens(&self, requests: &Requests, id: RequestId) -> Option<u32> {
        requests.running[id].and_then(|place| State::unwritten_tokens(self, place))
    }
}

impl State {
    /// The place of a request that runs or has tokens under way.
    fn place(context: &ScheduleContext<'_>, id: RequestId) -> Option<u32> {
        context.requests.running[id]
    }

    fn entry(&mut self, place: u32) -> &mut RunningRequest {
        &mut self.entries[place as usize]
    }

    /// An iteration is formed that holds these requests, which decode, and prompts beside them or not.
    fn compose(&mut self, members: &[RequestId], has_prompts: bool) {
        if has_prompts {
            self.composition = 0;
        } else if self.composition == 0 || self.last != members {
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
    fn leave_order(&mut self, place: u32) {
        let admission = |place: u32| self.entries[place as usize].admission;
        let own = admission(place);
        let at = self.order.partition_point(|&other| admission(other) < own);
        self.order.remove(at);
    }

    /// The adapter of a request is in no later iteration, unless the request is admitted again.
    fn release_adapter(&mut self, adapters: &mut Adapters, context: &ScheduleContext<'_>, place: u32) {
        let entry = self.entry(place);
        if std::mem::take(&mut entry.has_adapter) {
            let (adapter, rank) = context.adapter(entry.id);
            adapters.release(adapter, rank);
        }
    }

    /// A request needs its place no more.
    fn remove(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        if let Some(place) = context.requests.running[id].take() {
            self.unused.push(place);
        }
    }
}

fn schedule(
    state: &mut State,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> QueueScan {
    state.looks += 1;
    let mut step = Step { scheduled: std::mem::take(&mut batch.scheduled), ..begin(state, replica, context) };
    let is_steady = steady::schedule(state, replica, context, batch, &mut step);
    let scan = is_steady.unwrap_or_else(|| {
        steady::settle(state, replica, context);
        schedule_singly(state, replica, context, &mut step)
    });
    state.iterations += u64::from(batch.decodes > 0 || !step.scheduled.is_empty());
    if step.reads_prompts {
        state.prompts_at = Some(state.iterations);
    }
    let (looks, stages) = (state.looks, replica.stages);
    let mut leaves_chunk = false;
    for scheduled in &mut step.scheduled {
        let Some(place) = State::place(context, scheduled.id) else { continue };
        let entry = state.entry(place);
        entry.is_scheduled = false;
        entry.computed += scheduled.tokens;
        entry.under_way += scheduled.tokens;
        entry.is_prompt_chunk = entry.computed < entry.known + entry.awaited;
        scheduled.makes_token = !entry.is_prompt_chunk;
        leaves_chunk |= entry.is_prompt_chunk;
        if scheduled.makes_token && step.rules.async_scheduling {
            // With several stages a request decodes in one of as many iterations as there are stages.
            entry.decodes_from = looks + u64::from(stages);
        }
        entry.awaited += u32::from(scheduled.makes_token && step.rules.async_scheduling);
        fill(context, batch, *scheduled);
    }
    state.has_chunk = leaves_chunk;
    if stages > 1 && step.rules.async_scheduling && step.rules.stages_wait_for_tokens {
        let goes_on = |&scheduled: &Scheduled| decodes_on(context, scheduled);
        batch.token_wait = TokenWait {
            makes: step.scheduled.iter().any(goes_on).then_some(looks),
            awaits: looks.checked_sub(u64::from(stages)),
        };
    }
    batch.scheduled = step.scheduled;
    batch.load_us = step.load_us;
    if batch.steady.is_none() && stages == 1 && !batch.is_empty() {
        state.compose(&batch.members, !batch.prompts.is_empty());
    }
    batch.composition = state.composition;
    scan
}

/// Schedules request by request.
fn schedule_singly(
    state: &mut State,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
) -> QueueScan {
    let preempted_before = context.record.preemptions.len();
    running::schedule(state, replica, context, step);
    state.has_preempted = context.record.preemptions.len() > preempted_before;
    if state.has_preempted {
        return QueueScan::Stopped(Some(BlockReason::Memory));
    }
    waiting::schedule(state, replica, context, step)
}

fn begin(state: &State, replica: &Replica, context: &ScheduleContext<'_>) -> Step {
    let rules = context.config.vllm;
    let budget = context.config.max_batch_tokens;
    let requests = state.order.len() as u32 + replica.num_waiting;
    let chunk = match rules.long_prefill_token_threshold {
        // A request that is alone takes the budget from no other.
        _ if requests <= 1 => u32::MAX,
        LongPrefill::Unbounded => u32::MAX,
        LongPrefill::Tokens(most) => most.max(1),
        LongPrefill::Share(most) => most.max(budget / requests).max(1),
    };
    let interval = u64::from(rules.prefill_schedule_interval);
    let is_too_soon = state.prompts_at.is_some_and(|at| state.iterations + 1 - at < interval);
    let any_decodes = || state.order.iter().any(|&place| !state.entries[place as usize].is_prompt_chunk);
    let defers_prompts = interval > 1 && !state.is_capacity_bound && is_too_soon && any_decodes();
    Step { rules, budget, chunk, defers_prompts, reads_prompts: false, scheduled: Vec::new(), load_us: 0.0 }
}

/// Whether a token comes out after which the request may decode.
fn decodes_on(context: &ScheduleContext<'_>, scheduled: Scheduled) -> bool {
    let Scheduled { id, tokens, computed, is_prompt, makes_token, .. } = scheduled;
    let longest = context.trace.input_tokens[id].saturating_add(context.trace.max_tokens[id]);
    makes_token && !(is_prompt && computed + tokens + 1 >= longest)
}

/// A request is part of the iteration as the cost model sees it.
fn fill(context: &ScheduleContext<'_>, batch: &mut ScheduledBatch, scheduled: Scheduled) {
    let Scheduled { id, tokens, computed, is_prompt, .. } = scheduled;
    if is_prompt {
        batch.prompts.push(id);
        batch.chunks.push(Chunk { kv_tokens: computed, tokens });
    } else {
        batch.members.push(id);
        batch.decodes += 1;
        batch.decode_kv_tokens += u64::from(computed) + 1;
    }
    context.add_adapter(batch, id);
}
