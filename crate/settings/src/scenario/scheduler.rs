//! What the settings must know of each batch scheduler: a row a kind. What the engine knows of it is beside its rule
//! (`servescope_engine`, `replica/scheduler`).

use servescope_engine::{AdapterMemory, SchedulerKind};

use super::Scenario;
use crate::parameters::{Id, choices};

/// A batch scheduler.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct SchedulerRow {
    /// Its system, as messages name it.
    pub system: &'static str,
    /// It runs on one pipeline stage.
    pub has_one_stage: bool,
    /// It processes a prompt in one iteration, so that one above the token budget is rejected.
    pub has_whole_prompts: bool,
    /// The parameter with the most tokens of an iteration.
    pub iteration_tokens: Id,
    /// These are tokens of prompts and of outputs together.
    pub budget_counts_decodes: bool,
    /// Where its system keeps adapters.
    pub adapter_memory: AdapterMemory,
    /// It looks at the running batch when it orders its waiting queue.
    pub orders_by_batch: bool,
    /// Layers with a window keep its tokens only, in blocks of their own; otherwise every layer keeps every token.
    pub groups_layers: bool,
    /// Its server does not start with a token budget below the longest request.
    pub budget_covers_request: bool,
}

/// Iteration-level scheduling with LoRA slots, as vLLM has them.
const PLAIN: SchedulerRow = SchedulerRow {
    system: "vLLM",
    has_one_stage: false,
    has_whole_prompts: false,
    iteration_tokens: Id::BatchMaxTokens,
    budget_counts_decodes: false,
    adapter_memory: AdapterMemory::Slots,
    orders_by_batch: false,
    groups_layers: false,
    budget_covers_request: false,
};

/// S-LoRA, whose loop grew out of LightLLM's: one stage, whole prompts, adapters in the KV pool.
const SLORA: SchedulerRow = SchedulerRow {
    system: "S-LoRA",
    has_one_stage: true,
    has_whole_prompts: true,
    adapter_memory: AdapterMemory::Unified,
    orders_by_batch: true,
    budget_covers_request: true,
    ..PLAIN
};

impl SchedulerRow {
    /// The row of a kind.
    pub fn of(kind: SchedulerKind) -> Self {
        match kind {
            SchedulerKind::Static => Self { system: "FasterTransformer", ..PLAIN },
            SchedulerKind::Orca => Self { system: "Orca", ..PLAIN },
            SchedulerKind::Vllm => Self { has_whole_prompts: true, ..PLAIN },
            SchedulerKind::VllmV1 => Self { budget_counts_decodes: true, groups_layers: true, ..PLAIN },
            SchedulerKind::Sarathi => Self {
                system: "Sarathi-Serve",
                iteration_tokens: Id::ChunkTokens,
                budget_counts_decodes: true,
                ..PLAIN
            },
            SchedulerKind::LightLlm => {
                Self { system: "LightLLM", orders_by_batch: false, budget_covers_request: false, ..SLORA }
            }
            SchedulerKind::Slora => SLORA,
            SchedulerKind::Sglang => Self { system: "SGLang", has_one_stage: true, ..PLAIN },
            SchedulerKind::Trtllm => {
                Self { system: "TensorRT-LLM", has_one_stage: true, budget_counts_decodes: true, ..PLAIN }
            }
        }
    }
}

impl Scenario {
    /// What the settings know of the batch scheduler.
    pub fn scheduler(&self) -> SchedulerRow {
        SchedulerRow::of(self.chosen(choices::SCHEDULER))
    }
}
