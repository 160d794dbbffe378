//! What a fleet refuses on arrival: requests that its policy could never serve. Vidur lets them block the line for ever.

use super::config::FleetConfig;
use crate::gateway::Refusal;

/// Whether a request is refused. `max_tokens` is the bound on its answer.
pub(super) fn refusal(config: &FleetConfig, input_tokens: u32, max_tokens: u32) -> Option<Refusal> {
    let scheduler = config.policy();
    if config.original && scheduler.is_of_vidur() {
        return None;
    }
    let total_tokens = input_tokens.saturating_add(max_tokens);
    if config.vllm_engine().is_some() {
        // vllm/v1/engine/input_processor.py: only the prompt has to leave room for a token, the answer is cut.
        if input_tokens >= config.max_request_tokens {
            return Some(Refusal::RequestTooLong);
        }
        return scheduler.refuses(config, input_tokens, total_tokens.min(config.max_request_tokens));
    }
    if total_tokens > config.max_request_tokens {
        return Some(Refusal::RequestTooLong);
    }
    scheduler.refuses(config, input_tokens, total_tokens)
}
