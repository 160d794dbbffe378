//! What a fleet refuses on arrival: requests that its policy could never serve. Vidur lets them block the line for ever.

use super::adapters::AdapterMemory;
use super::config::FleetConfig;
use crate::gateway::Refusal;

/// Whether a request is refused. `max_tokens` is the bound on its answer, `rank` that of its adapter.
pub(super) fn refusal(
    config: &FleetConfig,
    input_tokens: u32,
    max_tokens: u32,
    rank: u32,
) -> Option<Refusal> {
    let adapters = &config.adapters;
    if adapters.memory == AdapterMemory::Slots && rank > adapters.max_lora_rank {
        return Some(Refusal::LoraRank);
    }
    let scheduler = config.scheduler.policy();
    if config.original && scheduler.is_of_vidur() {
        return None;
    }
    let total_tokens = input_tokens.saturating_add(max_tokens);
    if total_tokens > config.max_request_tokens {
        return Some(Refusal::RequestTooLong);
    }
    // Beside its adapter it finds less memory.
    let blocks = config.blocks.saturating_sub(adapters.blocks(rank, config.block_size));
    let refusal = scheduler.refuses(&FleetConfig { blocks, ..*config }, input_tokens, total_tokens);
    let fits_alone =
        blocks < config.blocks && scheduler.refuses(config, input_tokens, total_tokens).is_none();
    refusal.map(|reason| if fits_alone { Refusal::NeverFits } else { reason })
}
