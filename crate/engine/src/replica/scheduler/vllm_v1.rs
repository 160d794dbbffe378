//! vLLM v1 by the rules of its own engine, version 0.33.0 (vllm/v1/core/sched/scheduler.py and async_scheduler.py,
//! vllm/v1/core/kv_cache_manager.py, the order of batches of vllm/v1/engine/core.py).
//!
//! An iteration has one token budget. First running requests (`running`), in the order in which they were admitted: a token each,
//! or the next chunk of a prompt (chunked prefill). A request that finds no block preempts the last one, under priority the one
//! that is least urgent, even if it is in this very iteration. Then, if no request was preempted, the waiting requests
//! (`waiting`), up to `max_num_seqs`. A token counts as computed as soon as it is scheduled: with asynchronous scheduling the next
//! iteration is formed while the current one runs, so a request is scheduled for its next decode before its last token is known.
//!
//! With speculative decoding a running request has its drafts scheduled behind its last known token, and computed falls by those that
//! turn out wrong. Of drafts that do not fit the budget nothing is left.
//!
//! The running requests are kept in the replica's list ([`crate::replica::running_list`]).

mod admission;
mod loaded;
mod loading;
mod running;
mod waiting;

use servescope_workload::RequestId;

use super::{
    BatchScheduler, BlockAllocation, LengthRule, PoolConfig, PrefixCaching, QueueScan, Replica,
    ScheduleContext, ScheduledBatch, SchedulerFacts, SchedulerRules, SchedulerSetup, Steady,
};
use crate::config::disaggregation::KvRole;
use crate::config::speculation::Speculation;
use crate::config::{LongPrefill, VllmRules};
use crate::replica::iteration::{Scheduled, TokenWait};
use crate::replica::running_list::RunningList;
use crate::request::{BlockReason, Rejection};

/// The scheduler.
#[derive(Debug)]
pub(super) struct VllmV1;

/// What is kept of a replica between iterations, beside its list of running requests.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Waiting requests that were passed over and are not yet admitted.
    deferred: Vec<RequestId>,
    /// The iteration at which a prompt was read last.
    prompts_at: Option<u64>,
    /// Whether requests still waited after the last iteration that could admit them.
    is_capacity_bound: bool,
}

impl State {
    /// A waiting request is passed over.
    fn defer(&mut self, id: RequestId) {
        if !self.deferred.contains(&id) {
            self.deferred.push(id);
        }
    }
}

/// What becomes of a waiting request that is looked at.
#[derive(Debug, Clone, Copy)]
enum Looked {
    Admitted,
    /// It begins to load what a tier below the KV cache has of it, and those behind it go on.
    Loads,
    /// A block of it is being copied to the tier or from it; those behind it go on.
    Skipped,
    /// It stays, and those behind it with it.
    Waits(BlockReason),
}

/// An iteration while it is formed.
struct Step {
    rules: VllmRules,
    /// What is left of the token budget (`max_num_batched_tokens`): every scheduled token of a prompt or a decode takes from it, and
    /// for each request the further rows of the drafter's input, so that vLLM's `token_budget` never decides beside its
    /// `input_budget`.
    budget: u32,
    draft_slots: u32,
    /// Whether a scheduled request can use the drafts behind this iteration.
    needs_drafts: bool,
    padding: Padding,
    /// Most tokens of one prompt.
    chunk: u32,
    /// Whether prompts wait for a later iteration, so that requests that decode go on undisturbed.
    defers_prompts: bool,
    reads_prompts: bool,
    scheduled: Vec<Scheduled>,
    /// How long adapters are loaded before it, microseconds.
    load_us: f64,
}

/// With which drafts, all of them wrong, a request of which one token is left is admitted, so that all requests that decode have
/// as many rows.
#[derive(Debug, Clone, Copy, Default)]
struct Padding {
    drafts: u32,
    /// Whether requests were running before.
    any_running: bool,
    max_model_len: u32,
}

impl Padding {
    /// Of the requests that are admitted beside those that are scheduled.
    fn beside(step: &Step, config: &PoolConfig) -> Self {
        let pads = |own: &&Speculation| own.by_batch_size.is_none() && !step.reads_prompts;
        let drafts = config.drafting().filter(pads).map_or(0, |own| own.num_speculative_tokens);
        Self { drafts, any_running: !step.scheduled.is_empty(), max_model_len: config.max_request_tokens }
    }

    /// Drafts of a request that has so many tokens computed of those that are known.
    fn of(self, computed: u32, known: u32) -> u32 {
        let pads = computed + 1 == known && (self.any_running || computed > 0);
        let fits = known.saturating_add(self.drafts) < self.max_model_len;
        if pads && fits { self.drafts } else { 0 }
    }
}

impl Step {
    /// Most tokens that one request gets of what is left of the budget; 0: no further request is scheduled.
    fn tokens_left(&self) -> u32 {
        self.budget.saturating_sub(self.draft_slots)
    }

    /// A request is scheduled, of which so many tokens are known and `awaited` under way.
    fn add(&mut self, context: &ScheduleContext<'_>, (known, awaited): (u32, u32), scheduled: Scheduled) {
        self.budget -= scheduled.tokens + self.draft_slots;
        self.needs_drafts |= uses_drafts(context, (known, awaited), &scheduled);
        self.scheduled.push(scheduled);
    }

    /// A waiting request is scheduled, of which so many tokens are known. Where it has drafts they are padding.
    fn admit(&mut self, context: &ScheduleContext<'_>, known: u32, scheduled: Scheduled) {
        let is_padded = scheduled.drafts > 0;
        self.reads_prompts |= scheduled.computed + 1 < known;
        let scheduled = Scheduled { is_prompt: !is_padded, is_admitted: true, is_padded, ..scheduled };
        self.add(context, (known, 0), scheduled);
    }

    /// Whether a request was scheduled last, with padding in place of drafts.
    fn has_padded(&self, id: RequestId) -> bool {
        self.scheduled.last().is_some_and(|last| last.id == id && last.is_padded)
    }

    /// A request is preempted that may be among those that are scheduled.
    fn take_back(&mut self, id: RequestId) {
        let Some(place) = self.scheduled.iter().position(|own| own.id == id) else { return };
        self.budget += self.scheduled.remove(place).tokens + self.draft_slots;
    }
}

/// Whether a request that is scheduled can use the drafts behind this iteration: not where a part of its prompt is left, or it has
/// its last token with this iteration even if all drafts are wrong (`_drafts_unused`).
fn uses_drafts(context: &ScheduleContext<'_>, (known, awaited): (u32, u32), scheduled: &Scheduled) -> bool {
    let input = context.trace.input_tokens[scheduled.id];
    let sure = known - input + 1 + u32::from(awaited > 0);
    scheduled.computed + scheduled.tokens >= known && sure < context.max_tokens(scheduled.id)
}

impl SchedulerRules for VllmV1 {
    fn scheduler(&self, _setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler> {
        Box::new(State::default())
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts {
            reference_accepts_all: false,
            // vllm/v1/engine/input_processor.py: only the prompt has to leave room for a token, the output is cut.
            lengths: LengthRule::CutAt(config.max_request_tokens),
            // vllm/v1/engine/async_llm.py: `max_num_queued_tokens`.
            max_queued_tokens: config.vllm.max_num_queued_tokens,
            caches_prefixes: PrefixCaching::Blocks,
            groups_layers: true,
            allocation: BlockAllocation::OnDemand,
            arrival_changes_plan: false,
            looks_at_queue: false,
            lists_running: true,
            keeps_sessions: true,
            batches_ahead: u32::from(config.vllm.async_scheduling),
            queues_empty_batches: true,
            // vllm/v1/core/sched/scheduler.py: `requires_kv_delivery`.
            drops_tokens_of_preempted: config.has_role(KvRole::Producer),
            ..SchedulerFacts::of_iterations(config)
        }
    }

    fn refuses(
        &self,
        config: &PoolConfig,
        blocks: u32,
        [input_tokens, total_tokens]: [u32; 2],
    ) -> Option<Rejection> {
        // What is pulled has to fit beside the drafts of its first iteration (`loading::begin`); it would wait for ever.
        let of_drafts = config.blocks_for(config.tokens_to_end(0));
        if config.has_role(KvRole::Consumer) && config.blocks_for(input_tokens) + of_drafts > blocks {
            return Some(Rejection::PoolTooSmall);
        }
        let slots = config.drafting().map_or(0, Speculation::draft_slots);
        let most = config.max_batch_tokens.saturating_sub(slots);
        // vLLM does not start with a budget below the longest request then; a preempted request would wait for ever.
        let over_budget = !config.vllm.enable_chunked_prefill && total_tokens.saturating_sub(1) > most;
        // Nor does it start with one that has no room for a request's drafts.
        let over_budget =
            over_budget || most <= config.drafting().map_or(0, |own| own.num_speculative_tokens);
        over_budget.then_some(Rejection::PromptOverBatch)
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
        replica.with_list(|list, replica| schedule(self, list, replica, context, batch))
    }

    /// For how many iterations the head of the queue stays where it is, for what it lacked when the last one was formed.
    fn steady_for(&self, replica: &mut Replica, context: &ScheduleContext<'_>, most: u32) -> Steady {
        if !self.deferred.is_empty() || context.config.drafting().is_some() {
            return Steady::up_to(1);
        }
        if replica.num_waiting == 0 {
            return Steady::up_to(most);
        }
        let rules = context.config.vllm;
        let is_looked_at_anew = rules.prefill_schedule_interval > 1
            || matches!(rules.long_prefill_token_threshold, LongPrefill::Share(_))
            || context.loads_ahead()
            || replica.waiting.is_round_robin()
            || replica.stop.is_none();
        Steady::up_to(if is_looked_at_anew { 1 } else { most.min(replica.waiting.steady()) })
    }
}

fn schedule(
    state: &mut State,
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> QueueScan {
    list.looks += 1;
    let preempted_before = context.record.preemptions.len();
    let scheduled = std::mem::take(&mut batch.scheduled);
    let mut step = Step { scheduled, ..begin(state, list, replica, context) };
    let scan = if list.form_steady(replica, context, batch, step.budget) {
        step.budget -= batch.decodes;
        let scan = waiting::schedule(state, list, replica, context, &mut step);
        list.formed_beside(&step.scheduled);
        scan
    } else {
        list.settle(replica, context);
        schedule_singly(state, list, replica, context, &mut step)
    };
    batch.load_us = step.load_us;
    if let (Some(drafting), true) = (context.config.drafting(), step.needs_drafts) {
        batch.drafted = drafting.drafts_after(step.scheduled.len() as u32);
    }
    if let Replica { kv, holding, kv_connector: Some(tier), .. } = replica {
        let preempted = &context.record.preemptions[preempted_before..];
        let preempted: Vec<RequestId> = preempted.iter().map(|preemption| preemption.id).collect();
        tier.formed((list, kv, holding), context, &step.scheduled, &preempted, batch);
        if step.scheduled.is_empty() && batch.is_empty() {
            replica.copies_have_ended(context, batch);
            replica.begin_stores(context.now_us, batch);
        }
    }
    replica.report_finished_sending(batch);
    if step.scheduled.is_empty() && batch.is_empty() {
        replica.free_finished_sending(batch);
    }
    list.commit(replica, context, batch, step.scheduled);
    if step.reads_prompts {
        state.prompts_at = Some(list.iterations);
    }
    let stages = replica.stages;
    if stages > 1 && step.rules.async_scheduling && step.rules.stages_wait_for_tokens {
        let continues_run = |&scheduled: &Scheduled| decodes_on(context, scheduled);
        batch.token_wait = TokenWait {
            makes: batch.scheduled.iter().any(continues_run).then_some(list.looks),
            awaits: list.looks.checked_sub(u64::from(stages)),
        };
    }
    scan
}

/// Schedules request by request.
fn schedule_singly(
    state: &mut State,
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
) -> QueueScan {
    let preempted_before = context.record.preemptions.len();
    running::schedule(list, replica, context, step);
    if context.record.preemptions.len() > preempted_before {
        return QueueScan::Stopped(Some(BlockReason::Memory));
    }
    waiting::schedule(state, list, replica, context, step)
}

fn begin(state: &State, list: &RunningList, replica: &Replica, context: &ScheduleContext<'_>) -> Step {
    let rules = context.config.vllm;
    let budget = context.config.max_batch_tokens;
    let requests = list.order.len() as u32 + replica.num_waiting;
    let chunk = match rules.long_prefill_token_threshold {
        // A request that is alone takes the budget from no other.
        _ if requests <= 1 => u32::MAX,
        LongPrefill::Unbounded => u32::MAX,
        LongPrefill::Tokens(most) => most.max(1),
        LongPrefill::Share(most) => most.max(budget / requests).max(1),
    };
    let interval = u64::from(rules.prefill_schedule_interval);
    // Ranks in lockstep count passes together, so that their prompts coincide; an engine alone counts from its last prompts.
    let is_too_soon = replica.pass_step.map_or_else(
        || state.prompts_at.is_some_and(|at| list.iterations + 1 - at < interval),
        |step| !u64::from(step).is_multiple_of(interval),
    );
    let any_decodes = || list.order.iter().any(|&place| !list.entries[place as usize].is_prompt_chunk);
    let defers_prompts = interval > 1 && !state.is_capacity_bound && is_too_soon && any_decodes();
    let drafting = context.config.drafting();
    Step {
        rules,
        budget,
        draft_slots: drafting.map_or(0, Speculation::draft_slots),
        needs_drafts: drafting.is_some_and(|own| !own.skips_useless_drafts()),
        padding: Padding::default(),
        chunk,
        defers_prompts,
        reads_prompts: false,
        scheduled: Vec::new(),
        load_us: 0.0,
    }
}

/// Whether a token comes out after which the request may decode.
fn decodes_on(context: &ScheduleContext<'_>, scheduled: Scheduled) -> bool {
    let Scheduled { id, tokens, computed, is_prompt, makes_token, .. } = scheduled;
    let longest = context.trace.input_tokens[id].saturating_add(context.max_tokens(id));
    makes_token && !(is_prompt && computed + tokens + 1 >= longest)
}
