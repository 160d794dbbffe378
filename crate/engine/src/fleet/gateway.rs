//! What a fleet refuses on arrival: requests that its policy could never serve. Vidur lets them block the line for ever.

use super::config::FleetConfig;
use crate::gateway::Refusal;

/// Whether a request is refused. `max_tokens` is the bound on its answer, `rank` that of its adapter.
pub(super) fn refusal(config: &FleetConfig, input_tokens: u32, max_tokens: u32, rank: u32) -> Option<Refusal> {
    let scheduler = config.scheduler.policy();
    if config.original && scheduler.is_of_vidur() {
        return None;
    }
    if input_tokens > config.max_input_tokens {
        return Some(Refusal::InputTooLong);
    }
    let total_tokens = input_tokens.saturating_add(max_tokens);
    if total_tokens > config.max_request_tokens {
        return Some(Refusal::RequestTooLong);
    }
    scheduler.refuses(config, input_tokens, total_tokens, rank)
}
