//! The scenario's SGLang: the settings of its scheduler under its names, and the defaults that `sglang.launch_server` derives from GPU
//! and model (srt/arg_groups/memory_hook.py, srt/mem_cache/kv_cache_configurator.py of SGLang 0.5.23).

use servescope_cost::memory_plan::sglang::{self, Server};
use servescope_cost::memory_plan::vllm::Profiled;
use servescope_cost::memory_plan::{Ask, DrafterMemory, MemoryPlan, Reserve};
use servescope_engine::{AdapterMemory, SchedulePolicy, SchedulerKind, SglangRules};

use super::{CostKind, Scenario};
use crate::diagnostic::Diagnostic;
use crate::parameters::{Id, Value, choices};

/// Bounds on the default of `max_running_requests`, and requests of the longest length that a pool is expected to serve at once for
/// each that fits.
const RUNNING: (f64, f64) = (2048.0, 4096.0);
const RUNNING_FOR_EACH: f64 = 512.0;

impl Scenario {
    /// Whether SGLang schedules.
    pub fn is_sglang(&self) -> bool {
        self.chosen(choices::SCHEDULER) == SchedulerKind::Sglang
    }

    /// The rules of SGLang's scheduler.
    pub(super) fn sglang_rules(&self) -> SglangRules {
        let bound = |id: Id| Some(self.whole(id)).filter(|&most| most > 0);
        let has_slots = self.chosen(choices::ADAPTER_MEMORY) == AdapterMemory::Slots;
        SglangRules {
            chunked_prefill_size: bound(Id::PrefillChunk),
            max_prefill_tokens: self.whole(Id::MaxPrefillTokens),
            prefill_max_requests: bound(Id::PrefillMaxRequests),
            schedule_policy: self.chosen(choices::SCHEDULE_POLICY),
            schedule_conservativeness: self.number(Id::Conservativeness),
            enable_mixed_chunk: self.flag(Id::MixedChunk),
            overlap_schedule: self.flag(Id::AsyncScheduling),
            radix_eviction_policy: self.chosen(choices::RADIX_EVICTION),
            enable_priority_scheduling: self.orders_by_priority(),
            // The class of a client is the lower the better; its requests say minus the class.
            schedule_low_priority_values_first: false,
            priority_scheduling_preemption_threshold: self
                .flag(Id::SlotPreemption)
                .then(|| self.whole(Id::SlotPreemptionThreshold)),
            retraction_policy: self.chosen(choices::RETRACTION_POLICY),
            max_queued_requests: bound(Id::MaxQueuedRequests),
            prefill_decode_interval: self.whole(Id::DecodeInterval),
            prefill_decode_interval_min_bs: self.whole(Id::DecodeIntervalLeast),
            recv_interval: self.whole(Id::RecvInterval),
            min_free_slots_delay: bound(Id::MinFreeSlots),
            max_loras_per_batch: has_slots.then(|| self.whole(Id::MaxLoras)),
            clip_max_new_tokens: self.whole(Id::ClipMaxNewTokens),
        }
    }

    fn orders_by_priority(&self) -> bool {
        self.chosen(choices::Order::SCHEDULER) == choices::Order::Priority
    }

    /// What its server is told where GPU and model count.
    fn sglang_server(&self) -> Server {
        Server {
            chunked_prefill_size: Some(self.whole(Id::PrefillChunk)).filter(|&size| size > 0),
            max_prefill_tokens: self.whole(Id::MaxPrefillTokens),
            max_running_requests: self.is_set(Id::MaxRunning).then(|| self.whole(Id::MaxRunning)),
        }
    }

    /// The share of the memory that is left to activations and graphs where none is given.
    pub(super) fn sglang_margin(&self) -> f64 {
        let share = sglang::static_share(&self.deployment(), &self.sglang_server());
        (1000.0 * (1.0 - share)).round() / 1000.0
    }

    /// Prompt tokens of a batch where none are given.
    pub(super) fn usual_prefill_chunk(&self) -> Value {
        let usual = Id::PrefillChunk.row().default_value();
        if !self.is_sglang() || self.cost_kind() == CostKind::Linear {
            return usual;
        }
        Value::Number(sglang::chunked_prefill_size(self.gpu().memory_bytes).into())
    }

    /// The bound on running requests where none is given. Half of the pool's tokens bounds it in any case.
    pub(super) fn sglang_max_running(&self) -> f64 {
        let is_planned = self.cost_kind() != CostKind::Linear && self.plans_memory();
        let pool = if is_planned { self.sglang_pool() } else { self.number(Id::MaxTotalTokens) };
        let fit = pool / self.number(Id::MaxRequestTokens);
        (fit * RUNNING_FOR_EACH).floor().clamp(RUNNING.0, RUNNING.1)
    }

    /// The parameters whose defaults depend on this one where SGLang schedules.
    pub(super) fn sglang_defaults_from(&self, id: Id) -> &'static [Id] {
        let on_hardware = self.cost_kind() != CostKind::Linear;
        match id {
            Id::MaxTotalTokens if !on_hardware => &[Id::MaxRequestTokens, Id::MaxRunning],
            Id::MaxRequestTokens => &[Id::MaxRunning, Id::CapturedTokens],
            Id::ModelContext if self.has_own_model() => &[Id::MaxRequestTokens],
            Id::FleetModel if on_hardware => &[
                Id::MaxRequestTokens,
                Id::MaxRunning,
                Id::Unquantized,
                Id::CapturedTokens,
                Id::CostKind,
                Id::MemoryMargin,
            ],
            Id::FleetGpu if on_hardware => {
                &[Id::MemoryMargin, Id::PrefillChunk, Id::MaxRunning, Id::CapturedTokens, Id::CostKind]
            }
            Id::TensorParallel | Id::PipelineParallel | Id::PrefillChunk | Id::MaxPrefillTokens
                if on_hardware =>
            {
                &[Id::MemoryMargin, Id::MaxRunning, Id::CapturedTokens]
            }
            Id::MemoryMargin if on_hardware => &[Id::MaxRunning, Id::CapturedTokens],
            Id::MaxRunning => &[Id::MemoryMargin, Id::CapturedTokens],
            Id::FleetModel => &[Id::Unquantized, Id::CostKind],
            Id::Weights => &[Id::CostKind],
            Id::FleetGpu => &[Id::CapturedTokens, Id::CostKind],
            Id::SchedulerKind => Self::DEFAULTS_BY_SCHEDULER,
            _ => &[],
        }
    }

    /// KV tokens that its static share leaves beside weights and LoRA slots.
    fn sglang_pool(&self) -> f64 {
        let ask = Ask {
            // The share does not depend on the largest iteration.
            largest: Profiled { batch_tokens: 0, requests: 0, longest: 0, captured_tokens: 0 },
            adapter_bytes: self.reserved_bytes(self.adapter_ranks()),
            drafter: DrafterMemory::default(),
            reserve: Reserve::Sglang { static_share: 1.0 - self.number(Id::MemoryMargin) },
            kv_bytes: 0.0,
            block_size: self.block_tokens(),
        };
        MemoryPlan::of(&self.deployment(), &ask).kv_tokens.into()
    }

    /// The largest batch that is replayed from a CUDA graph: those of prompts reach to the chunk.
    pub(super) fn sglang_captured_tokens(&self) -> u32 {
        let server = self.sglang_server();
        server
            .chunked_prefill_size
            .unwrap_or(0)
            .max(sglang::largest_decode_graph(&self.deployment(), &server))
    }

    /// What does not fit together in SGLang's settings.
    pub(super) fn sglang_problem(&self) -> Option<Diagnostic> {
        if !self.is_sglang() {
            return None;
        }
        let order = self.chosen(choices::Order::SCHEDULER);
        let path = Id::SchedulerOrder.row().id;
        if !matches!(order, choices::Order::Fcfs | choices::Order::Priority) {
            let order = order.name();
            let message = format!(
                "{path}: SGLang's waiting queue is fcfs or priority, not {order}; its other orders are those of scheduler.schedule_policy"
            );
            return Some(Diagnostic::error("order_not_sglang", path, message).text("order", order));
        }
        let policy = self.chosen(choices::SCHEDULE_POLICY);
        let takes_priorities = matches!(policy, SchedulePolicy::Fcfs | SchedulePolicy::LongestOutput);
        if order == choices::Order::Priority && !takes_priorities {
            let (path, policy) = (Id::SchedulePolicy.row().id, self.choice(Id::SchedulePolicy));
            let message =
                format!("{path}: SGLang takes priorities with fcfs and lof only, not with {policy}");
            return Some(Diagnostic::error("policy_without_priority", path, message).text("policy", policy));
        }
        let memory = self.chosen(choices::ADAPTER_MEMORY);
        if self.is_active(Id::AdapterMemory) && memory == AdapterMemory::Unified {
            let path = Id::AdapterMemory.row().id;
            let message = format!("{path}: SGLang keeps adapters in slots beside the KV pool, not in it");
            return Some(Diagnostic::error("unified_not_sglang", path, message));
        }
        let (chunk, page) = (self.whole(Id::PrefillChunk), self.block_tokens());
        if !chunk.is_multiple_of(page) {
            let path = Id::PrefillChunk.row().id;
            let message = format!(
                "{path}: {chunk} is no multiple of scheduler.block_size ({page}), with which SGLang does not start"
            );
            let error = Diagnostic::error("chunk_not_in_pages", path, message);
            return Some(error.number("value", chunk.into()).number("page", page.into()));
        }
        None
    }
}
