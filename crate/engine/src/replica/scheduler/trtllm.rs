//! TensorRT-LLM by the rules of its PyTorch backend, version 1.3 (tensorrt_llm/_torch/pyexecutor/scheduler/scheduler.py and py_executor.py;
//! cpp/tensorrt_llm/batch_manager/capacityScheduler.cpp, microBatchScheduler.cpp and kvCacheManager.cpp).
//!
//! A decision has two stages. The capacity scheduler says which requests fit the KV memory: under `GUARANTEED_NO_EVICT` those whose prompts and
//! `max_tokens` fit beside what all running requests may still need (`no_evict`), under `MAX_UTILIZATION` those whose next tokens fit, and
//! where one of them does not the last that was started is paused (`max_utilization`). Of these the micro-batch scheduler
//! takes what fits `max_num_tokens` (`batch`): a token of each request that decodes, then prompts, whole or in chunks of whole blocks (`prompts`).
//!
//! With overlap a batch is decided when the one before it begins: a request whose last token by `max_tokens` is under way is left out,
//! one that ends by EOS decodes once more in vain. The running requests are kept in the replica's list ([`crate::replica::running_list`]).

mod batch;
mod max_utilization;
mod no_evict;
mod prompts;

use servescope_workload::RequestId;

use super::{
    BatchEvent, BatchScheduler, BlockAllocation, Effect, LengthRule, PoolConfig, PrefixCaching, QueueScan,
    Replica, ScheduleContext, ScheduledBatch, SchedulerFacts, SchedulerRules, SchedulerSetup, Steady,
};
use crate::config::adapters::{AdapterConfig, AdapterMemory};
use crate::config::trtllm::CapacityPolicy;
use crate::record::request_state::RequestStatus;
use crate::replica::running_list::RunningList;
use crate::request::{BlockReason, Rejection};

use batch::MicroBatch;

/// The scheduler.
#[derive(Debug)]
pub(super) struct Trtllm;

/// What is kept of a replica between decisions, beside its list of running requests.
#[derive(Debug, Clone, Default)]
struct State {
    /// Paused requests, which wait.
    paused: Vec<RequestId>,
    /// Whether the last decision passed waiting requests over.
    passes: bool,
    /// Free blocks that no running request may come to need, where that is known: decodes do not change it, as each takes a block that
    /// was kept for it.
    unreserved: Option<u32>,
}

impl SchedulerRules for Trtllm {
    fn scheduler(&self, _setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler> {
        Box::new(State::default())
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts {
            reference_accepts_all: false,
            lengths: LengthRule::CutAt(config.max_request_tokens),
            caches_prefixes: PrefixCaching::Blocks,
            caches_when_computed: true,
            allocation: BlockAllocation::OnDemand,
            arrival_changes_plan: false,
            looks_at_queue: false,
            lists_running: true,
            batches_ahead: u32::from(config.trtllm.overlap_schedule),
            queues_empty_batches: true,
            managed_adapters: adapters_beside_pool(config.adapters),
            ..SchedulerFacts::of_iterations(config)
        }
    }

    fn refuses(
        &self,
        config: &PoolConfig,
        blocks: u32,
        [input_tokens, total_tokens]: [u32; 2],
    ) -> Option<Rejection> {
        let cuts = config.trtllm.context_chunking.is_some() && config.block_size <= config.max_batch_tokens;
        if !cuts && input_tokens > config.max_batch_tokens {
            return Some(Rejection::PromptOverBatch);
        }
        (config.blocks_for(total_tokens) > blocks).then_some(Rejection::PoolTooSmall)
    }
}

/// TensorRT-LLM keeps adapters in memory of their own, never in the KV pool.
fn adapters_beside_pool(adapters: AdapterConfig) -> AdapterConfig {
    let memory = match adapters.memory {
        AdapterMemory::Unified => AdapterMemory::Resident,
        memory => memory,
    };
    AdapterConfig { memory, prefetch: false, ..adapters }
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
        let stop = replica.with_list(|list, replica| self.form(list, replica, context, batch));
        context.record.phases.scanned(replica.index, context.now_us, stop, false);
        QueueScan::Stopped(stop)
    }

    /// For how many iterations the head of the queue stays where it is, for what it lacked when the last one was formed.
    fn steady_for(&self, replica: &mut Replica, context: &ScheduleContext<'_>, most: u32) -> Steady {
        // Blocks of answers that are computed can be found from iteration to iteration.
        if context.config.prefix_cache || !self.paused.is_empty() || self.passes {
            return Steady::up_to(1);
        }
        if replica.num_waiting == 0 {
            return Steady::up_to(most);
        }
        // Where blocks are not kept, decodes take what the head would find once it has a slot, or room in the batch.
        let keeps = context.config.trtllm.capacity_scheduler_policy == CapacityPolicy::GuaranteedNoEvict;
        let stays = |stop| keeps || matches!(stop, BlockReason::Memory | BlockReason::RunningCap);
        let is_looked_at_anew =
            context.loads_ahead() || replica.waiting.is_round_robin() || !replica.stop.is_some_and(stays);
        Steady::up_to(if is_looked_at_anew { 1 } else { most.min(replica.waiting.steady()) })
    }

    fn happened(
        &mut self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        event: BatchEvent<'_>,
    ) -> Effect {
        if matches!(event, BatchEvent::Left(..)) {
            self.unreserved = None;
        }
        Effect::None
    }
}

impl State {
    /// Forms the next batch. Says what the head of the waiting queue stays for.
    fn form(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> Option<BlockReason> {
        list.looks += 1;
        self.paused.retain(|&id| context.requests[id].status == RequestStatus::Waiting);
        let mut step = MicroBatch::new(context.config, std::mem::take(&mut batch.scheduled));
        // Paused requests come before those that were started after them, so that these are not taken for granted.
        let stop = if self.paused.is_empty() && list.form_steady(replica, context, batch, step.budget) {
            list.cache_computed(replica, context);
            step.budget -= batch.decodes;
            let stop = self.admit_waiting(list, replica, context, &mut step);
            list.formed_beside(&step.scheduled);
            stop
        } else {
            list.settle(replica, context);
            list.cache_computed(replica, context);
            match context.config.trtllm.capacity_scheduler_policy {
                CapacityPolicy::GuaranteedNoEvict => self.schedule_all(list, replica, context, &mut step),
                CapacityPolicy::MaxUtilization => self.schedule_what_fits(list, replica, context, &mut step),
            }
        };
        self.passes = !step.passed.is_empty();
        for &id in step.passed.iter().rev() {
            replica.requeue(context, id);
        }
        batch.load_us = step.load_us;
        list.commit(replica, context, batch, step.scheduled);
        stop
    }

    /// Free blocks that no running request may come to need.
    fn unreserved(&mut self, list: &RunningList, replica: &Replica, context: &ScheduleContext<'_>) -> u32 {
        let count = || no_evict::unreserved(list, replica, context);
        let known = *self.unreserved.get_or_insert_with(count);
        debug_assert_eq!(known, count(), "decodes take blocks that were kept for them");
        known
    }
}

/// Most tokens of prompt and output of a request by what its client declared.
fn most_tokens(context: &ScheduleContext<'_>, id: RequestId) -> u32 {
    let declared = context.trace.input_tokens[id].saturating_add(context.trace.max_tokens[id]);
    declared.min(context.config.max_request_tokens)
}
