//! The scenario's TensorRT-LLM: the settings of its scheduler under its names, with the defaults of `trtllm-serve`
//! (tensorrt_llm/llmapi/llm_args.py and commands/serve.py of version 1.3).

use servescope_engine::{AdapterMemory, SchedulerKind, TrtllmRules};

use super::{CostKind, Scenario};
use crate::diagnostic::Diagnostic;
use crate::parameters::{Id, choices};

/// `max_num_tokens` and `max_batch_size`.
pub(super) const MAX_NUM_TOKENS: u32 = 8192;
pub(super) const MAX_BATCH_SIZE: f64 = 2048.0;
/// `tokens_per_block`.
pub(super) const TOKENS_PER_BLOCK: f64 = 32.0;
/// What `free_gpu_memory_fraction` leaves.
pub(super) const MARGIN: f64 = 0.1;

impl Scenario {
    /// Whether TensorRT-LLM schedules.
    pub fn is_trtllm(&self) -> bool {
        self.chosen(choices::SCHEDULER) == SchedulerKind::Trtllm
    }

    /// The rules of TensorRT-LLM's scheduler.
    pub(super) fn trtllm_rules(&self) -> TrtllmRules {
        TrtllmRules {
            capacity_scheduler_policy: self.chosen(choices::CAPACITY_POLICY),
            context_chunking: self.flag(Id::ChunkedPrefill).then(|| self.chosen(choices::CHUNKING_POLICY)),
            overlap_schedule: self.flag(Id::AsyncScheduling),
        }
    }

    /// The longest request: TensorRT-LLM lowers it to what its KV memory holds.
    pub(super) fn longest_in_pool(&self, pool_tokens: u32) -> u32 {
        let longest = self.whole(Id::MaxRequestTokens);
        if self.is_trtllm() { longest.min(pool_tokens) } else { longest }
    }

    /// The parameters whose defaults depend on this one where TensorRT-LLM schedules.
    pub(super) fn trtllm_defaults_from(&self, id: Id) -> &'static [Id] {
        let on_hardware = self.cost_kind() != CostKind::Linear;
        match id {
            Id::MaxTotalTokens if !on_hardware => &[Id::MaxRequestTokens],
            Id::ModelContext if self.has_own_model() => &[Id::MaxRequestTokens],
            Id::FleetModel if on_hardware => &[Id::MaxRequestTokens, Id::Unquantized, Id::CostKind],
            Id::FleetModel => &[Id::Unquantized, Id::CostKind],
            Id::Weights => &[Id::CostKind],
            Id::FleetGpu => &[Id::CapturedTokens, Id::CostKind],
            Id::BatchMaxTokens | Id::MaxRunning => &[Id::CapturedTokens],
            Id::SchedulerKind => Self::DEFAULTS_BY_SCHEDULER,
            _ => &[],
        }
    }

    /// What does not fit together in TensorRT-LLM's settings.
    pub(super) fn trtllm_problem(&self) -> Option<Diagnostic> {
        if !self.is_trtllm() {
            return None;
        }
        let order = self.chosen(choices::Order::SCHEDULER);
        if order != choices::Order::Fcfs {
            let (path, order) = (Id::SchedulerOrder.row().id, order.name());
            let message = format!("{path}: TensorRT-LLM's waiting queue is fcfs, not {order}");
            return Some(Diagnostic::error("order_not_trtllm", path, message).text("order", order));
        }
        let memory = self.chosen(choices::ADAPTER_MEMORY);
        (self.is_active(Id::AdapterMemory) && memory == AdapterMemory::Unified).then(|| {
            let path = Id::AdapterMemory.row().id;
            let message = format!("{path}: TensorRT-LLM keeps adapters beside the KV pool, not in it");
            Diagnostic::error("unified_not_trtllm", path, message)
        })
    }
}
