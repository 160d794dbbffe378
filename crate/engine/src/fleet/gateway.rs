//! What a fleet refuses on arrival: requests that its policy could never serve. Vidur lets them block the line for ever.

use super::config::{FleetConfig, SchedulerKind};
use crate::gateway::Refusal;

/// Whether a request is refused. `max_tokens` is the bound on its answer.
pub(super) fn refusal(config: &FleetConfig, input_tokens: u32, max_tokens: u32) -> Option<Refusal> {
    // Vidur has no vLLM v1.
    if config.original && config.scheduler != SchedulerKind::VllmV1 {
        return None;
    }
    let total = input_tokens.saturating_add(max_tokens);
    if total > config.max_request_tokens {
        return Some(Refusal::RequestTooLong);
    }
    match config.scheduler {
        SchedulerKind::Static | SchedulerKind::Orca => {
            (config.slot_blocks() > config.blocks || config.slots() == 0).then_some(Refusal::PoolTooSmall)
        }
        // The last token is never written to the cache.
        _ if config.blocks_for(total.saturating_sub(1)) > config.blocks => Some(Refusal::PoolTooSmall),
        SchedulerKind::Vllm | SchedulerKind::LightLlm if input_tokens > config.max_batch_tokens => {
            Some(Refusal::PromptOverBatch)
        }
        SchedulerKind::LightLlm if total.max(input_tokens.saturating_add(2)) > config.blocks => {
            Some(Refusal::NeverFits)
        }
        SchedulerKind::Sarathi if config.chunk_tokens == 0 => Some(Refusal::NeverFits),
        _ => None,
    }
}
