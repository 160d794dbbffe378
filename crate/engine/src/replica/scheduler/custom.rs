//! A scheduler from outside ([`crate::custom_scheduler`]): what it sees is taken from the replica's books, and its plan is carried out as
//! far as it fits.

use std::sync::Arc;

use servescope_workload::{RequestId, Trace};

use super::vllm::refuses_blocks;
use super::{
    BatchEvent, BatchScheduler, BlockAllocation, Effect, OwnQueue, PoolConfig, PrefixCaching, QueueScan,
    Replica, ScheduleContext, ScheduledBatch, SchedulerCounts, SchedulerFacts, SchedulerRules,
    SchedulerSetup, Steady,
};
use crate::custom_scheduler::{
    CustomScheduler, Plan, RequestFacts, RunningRequest, SchedulerEvent, SchedulerView, WaitingRequest,
};
use crate::record::decisions::{Compared, Test, Verdict};
use crate::replica::iteration::Scheduled;
use crate::replica::queue::waiting_queue::WaitingQueue;
use crate::replica::running_list::RunningList;
use crate::request::{BlockReason, Rejection};

/// What is known of it.
#[derive(Debug)]
pub(super) struct Custom(pub(super) Arc<dyn CustomScheduler>);

/// One at a replica.
#[derive(Debug)]
struct CustomBatches {
    own: Box<dyn CustomScheduler>,
    /// Requests that wait: preempted ones, then the others in the order of their arrival.
    waiting: Vec<RequestId>,
    /// What the scheduler saw, kept for its memory.
    seen: (Vec<WaitingRequest>, Vec<RunningRequest>),
}

/// An iteration while it is formed.
struct Step {
    budget: u32,
    chosen: Vec<Scheduled>,
    load_us: f64,
    /// Why the first waiting request of the plan that did not join stays.
    stop: Option<BlockReason>,
}

impl SchedulerRules for Custom {
    fn scheduler(&self, _setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler> {
        Box::new(CustomBatches { own: self.0.boxed(), waiting: Vec::new(), seen: Default::default() })
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts {
            reference_accepts_all: false,
            caches_prefixes: PrefixCaching::Blocks,
            allocation: BlockAllocation::OnDemand,
            looks_at_queue: false,
            lists_running: true,
            keeps_queue: true,
            ..SchedulerFacts::of_iterations(config)
        }
    }

    fn refuses(&self, config: &PoolConfig, blocks: u32, [_, total_tokens]: [u32; 2]) -> Option<Rejection> {
        refuses_blocks(config, blocks, total_tokens)
    }
}

impl BatchScheduler for CustomBatches {
    fn boxed(&self) -> Box<dyn BatchScheduler> {
        Box::new(Self { own: self.own.boxed(), waiting: self.waiting.clone(), seen: Default::default() })
    }

    fn schedule(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> QueueScan {
        replica.with_list(|list, replica| self.form(list, replica, context, batch))
    }

    fn steady_for(&self, _replica: &mut Replica, _context: &ScheduleContext<'_>, most: u32) -> Steady {
        Steady::up_to(most.min(self.own.steady_for().saturating_add(1)))
    }

    fn happened(
        &mut self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        event: BatchEvent<'_>,
    ) -> Effect {
        match event {
            BatchEvent::Arrived(id) => {
                self.waiting.push(id);
                self.own.happened(SchedulerEvent::Arrived(id));
                Effect::Next
            }
            BatchEvent::Dropped(id, _) | BatchEvent::Left(id, _) => {
                self.waiting.retain(|&other| other != id);
                self.own.happened(SchedulerEvent::Left(id));
                Effect::Next
            }
            _ => Effect::None,
        }
    }

    fn wakes_us(&self) -> f64 {
        self.own.wakes_us()
    }

    fn counts(&self) -> SchedulerCounts<'_> {
        SchedulerCounts { queue: Some(self), ..SchedulerCounts::default() }
    }

    fn queue_mut(&mut self) -> Option<&mut dyn OwnQueue> {
        Some(self)
    }
}

impl OwnQueue for CustomBatches {
    fn as_seen(&self, trace: &Trace) -> WaitingQueue {
        let mut queue = WaitingQueue::default();
        for &id in &self.waiting {
            queue.push(trace, id, 0.0);
        }
        queue
    }
}

impl CustomBatches {
    fn form(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> QueueScan {
        list.looks += 1;
        let plan = self.ask(list, replica, context);
        let budget = context.config.max_batch_tokens;
        if self.only_decodes(&plan) && list.form_steady(replica, context, batch, budget) {
            list.formed_beside(&[]);
            list.commit(replica, context, batch, Vec::new());
            return QueueScan::Stopped(None);
        }
        list.settle(replica, context);
        for &id in &plan.preempted {
            self.preempt(list, replica, context, id);
        }
        let chosen = std::mem::take(&mut batch.scheduled);
        let mut step = Step { budget, chosen, load_us: 0.0, stop: None };
        for &(id, tokens) in &plan.tokens {
            if step.chosen.iter().any(|own| own.id == id) {
                continue;
            }
            if let Some(place) = list.running_place(context, id) {
                go_on(list, replica, context, &mut step, (place, tokens));
            } else if self.waiting.contains(&id) && admit(list, replica, context, &mut step, (id, tokens)) {
                self.waiting.retain(|&other| other != id);
            }
        }
        for running in &self.seen.1 {
            let id = running.facts.id;
            if running.next_tokens > 0 && step.chosen.iter().all(|own| own.id != id) {
                context.record.phases.defer(id, context.now_us, false);
            }
        }
        context.record.phases.scanned(replica.index, context.now_us, step.stop, false);
        batch.load_us = step.load_us;
        list.commit(replica, context, batch, step.chosen);
        QueueScan::Stopped(step.stop)
    }

    /// Shows the scheduler its replica.
    fn ask(&mut self, list: &RunningList, replica: &Replica, context: &ScheduleContext<'_>) -> Plan {
        let (waiting, running) = &mut self.seen;
        waiting.clear();
        // What was preempted while tokens of it were under way waits until they are back.
        let is_here = |id: &&RequestId| list.stale(context, **id) == 0 && !context.is_gone(**id);
        waiting.extend(self.waiting.iter().filter(is_here).map(|&id| {
            let output_tokens = context.requests[id].prompt - context.trace.input_tokens[id];
            WaitingRequest {
                facts: facts(context, id, output_tokens),
                has_slot: replica.adapters.admits(context.adapter(id).0),
            }
        }));
        running.clear();
        running.extend(list.seen(replica).into_iter().map(|own| RunningRequest {
            facts: facts(context, own.id, own.known - context.trace.input_tokens[own.id]),
            computed_tokens: own.computed,
            next_tokens: own.next_tokens,
            blocks: own.blocks,
        }));
        self.own.schedule(&SchedulerView {
            now_us: context.now_us,
            max_batch_tokens: context.config.max_batch_tokens,
            max_requests: context.config.max_requests,
            block_tokens: context.config.block_size,
            free_blocks: replica.kv.available(),
            waiting,
            running,
        })
    }

    /// Whether the plan gives one token to each running request, all of which decode, and does nothing else.
    fn only_decodes(&self, plan: &Plan) -> bool {
        let decodes =
            |own: &RunningRequest| own.next_tokens == 1 && own.computed_tokens >= own.facts.prompt_tokens;
        let running = &self.seen.1;
        plan.preempted.is_empty()
            && plan.tokens.len() == running.len()
            && running
                .iter()
                .zip(&plan.tokens)
                .all(|(own, &(id, tokens))| own.facts.id == id && tokens > 0 && decodes(own))
    }

    fn preempt(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
    ) {
        let Some(place) = list.running_place(context, id) else { return };
        context.decided(replica.index, id, Verdict::Preempted, || Compared::NOTHING);
        list.leave_order(place);
        list.preempt(replica, context, place);
        replica.waits_again(context, id);
        self.waiting.insert(0, id);
        replica.adapters.offload_unused(&mut replica.kv);
    }
}

impl Step {
    fn take(&mut self, id: RequestId, tokens: u32, computed: u32, is_prompt: bool, is_admitted: bool) {
        self.budget -= tokens;
        self.chosen.push(Scheduled { id, tokens, computed, is_prompt, is_admitted, ..Scheduled::default() });
    }
}

/// Admits a waiting request, if it fits. Says whether it runs now.
fn admit(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
    (id, tokens): (RequestId, u32),
) -> bool {
    let config = context.config;
    let known = context.requests[id].prompt;
    // The last token is computed in any case: the next one comes out of it.
    let (hits, idle) = replica.kv.get_computed_blocks(id, (known - 1) / config.block_size);
    let computed = hits * config.block_size;
    let tokens = tokens.min(known - computed).min(step.budget);
    let blocks = replica.kv.blocks_to_admit(hits, computed + tokens);
    let wants = (id, tokens, blocks + idle);
    let (is_admitted, stop, compared) = judge(list, replica, context, wants, step.budget);
    let verdict = if is_admitted { Verdict::Admitted } else { Verdict::Waits };
    context.decided(replica.index, id, verdict, || compared);
    if !is_admitted {
        step.stop = step.stop.or(stop);
        return false;
    }
    replica.leaves_queue(context, id);
    let (adapter, rank) = context.adapter(id);
    step.load_us += replica.adapters.acquire(&mut replica.kv, adapter, rank, context.now_us);
    let mut held = replica.kv.no_blocks();
    replica.kv.touch_blocks(id, known, hits, &mut held);
    context.requests.finds(id, hits * config.block_size, 0);
    replica.kv.take_blocks(computed + tokens, &mut held);
    replica.kv.cache_blocks(id, computed + tokens, &mut held);
    list.admit(replica, context, (id, known, computed), held);
    step.take(id, tokens, computed, true, true);
    true
}

/// Whether a waiting request of the plan is admitted that wants tokens, and blocks of those that are free; otherwise what it stays for. And
/// what the test that decided compared.
fn judge(
    list: &RunningList,
    replica: &Replica,
    context: &ScheduleContext<'_>,
    (id, tokens, wanted): (RequestId, u32, u32),
    budget: u32,
) -> (bool, Option<BlockReason>, Compared) {
    let adapter = context.adapter(id).0;
    let (stale, most) = (list.stale(context, id), context.config.max_requests);
    if stale > 0 {
        return (false, None, Compared::new(Test::TokensUnderWay, stale, 0u32));
    }
    if replica.num_running >= most {
        let compared = Compared::new(Test::RunningCap, replica.num_running + 1, most);
        return (false, Some(BlockReason::RunningCap), compared);
    }
    if !replica.adapters.admits(adapter) {
        let (in_use, slots) = (replica.adapters.in_use().len(), replica.adapters.max_loras());
        return (false, Some(BlockReason::LoraSlots), Compared::new(Test::LoraSlots, in_use + 1, slots));
    }
    if tokens == 0 {
        return (false, Some(BlockReason::PromptBudget), Compared::new(Test::TokenBudget, 1u32, budget));
    }
    let free = replica.free_beside_adapter(context, id);
    let compared = Compared::new(Test::KvBlocks, wanted, free.unwrap_or(0));
    let fits = free.is_some_and(|free| wanted <= free);
    (fits, Some(BlockReason::Memory).filter(|_| !fits), compared)
}

/// A running request goes on by at most this many tokens, if there are blocks for them.
fn go_on(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
    (place, tokens): (u32, u32),
) {
    let entry = list.entry(place);
    let tokens = tokens.min(entry.known.saturating_sub(entry.computed)).min(step.budget);
    let to = entry.computed + tokens;
    let blocks = replica.kv.blocks_to_take(to, &entry.held);
    if tokens == 0 || blocks > replica.kv.available() {
        return;
    }
    replica.kv.take_blocks(to, &mut entry.held);
    replica.kv.cache_blocks(entry.id, to.min(entry.known), &mut entry.held);
    let (id, computed) = (entry.id, entry.computed);
    step.take(id, tokens, computed, computed < context.requests[id].prompt, false);
}

fn facts(context: &ScheduleContext<'_>, id: RequestId, output_tokens: u32) -> RequestFacts {
    RequestFacts {
        id,
        user: context.trace.user[id],
        adapter: context.trace.adapter[id],
        arrival_us: context.arrival_us(id),
        prompt_tokens: context.trace.input_tokens[id],
        max_tokens: context.trace.max_tokens[id],
        output_tokens,
    }
}
