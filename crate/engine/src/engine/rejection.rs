//! What a fleet rejects on arrival: requests that its scheduler could never serve. S-LoRA and Vidur leave such requests in the queue,
//! whose head they block for ever (head-of-line blocking).

use crate::config::adapters::AdapterMemory;
use crate::config::{FleetConfig, PoolConfig};
use crate::record::decisions::{Compared, Test};
use crate::replica::batch_scheduler::{LengthRule, SchedulerFacts, SchedulerRules};
use crate::request::Rejection;

/// Why a request is rejected, on arrival or when its scheduler learns of it, whatever else is in the service, whose replicas have one pipeline stage; `None`: it is accepted.
/// `max_tokens` is the bound on its output, `rank` that of its adapter.
pub fn rejection(config: &PoolConfig, input_tokens: u32, max_tokens: u32, rank: u32) -> Option<Rejection> {
    let rules = config.scheduler.rules();
    let facts = rules.facts(config);
    let rejects_later =
        matches!(facts.lengths, LengthRule::OfScheduler { rejects_from } if input_tokens >= rejects_from);
    rejection_by(&*rules, (&facts, 1), config, [input_tokens, max_tokens, rank])
        .or(rejects_later.then_some(Rejection::RequestTooLong))
}

/// The same under the rules of a scheduler, for replicas of so many pipeline stages.
pub(super) fn rejection_by(
    rules: &dyn SchedulerRules,
    (facts, stages): (&SchedulerFacts, u32),
    config: &PoolConfig,
    [input_tokens, max_tokens, rank]: [u32; 3],
) -> Option<Rejection> {
    let adapters = &config.adapters;
    if adapters.memory == AdapterMemory::Slots && rank > adapters.max_lora_rank {
        return Some(Rejection::LoraRank);
    }
    if config.reference_quirks && facts.reference_accepts_all {
        return None;
    }
    if input_tokens > config.max_input_tokens {
        return Some(Rejection::InputTooLong);
    }
    let asked_tokens = input_tokens.saturating_add(max_tokens);
    // Where outputs are cut, only the prompt has to leave room for a token.
    let total_tokens = asked_tokens.min(facts.lengths.cut().unwrap_or(u32::MAX));
    let is_too_long = match facts.lengths {
        LengthRule::Rejected => total_tokens > config.max_request_tokens,
        LengthRule::CutAt(most) => input_tokens >= most,
        LengthRule::OfScheduler { .. } => false,
    };
    if is_too_long {
        return Some(Rejection::RequestTooLong);
    }
    // Beside its adapter it finds less memory.
    let adapter_blocks = if facts.may_block_queue { 0 } else { adapters.blocks(rank, config.block_size) };
    let needs =
        facts.groups_layers.then(|| blocks_at_most(config, (stages, facts.batches_ahead), total_tokens));
    let refuses = |blocks: u32| {
        let lacks = needs.is_some_and(|needs| needs > blocks).then_some(Rejection::PoolTooSmall);
        lacks.or_else(|| rules.refuses(config, blocks, [input_tokens, total_tokens]))
    };
    let beside_adapter = refuses(config.blocks.saturating_sub(adapter_blocks))?;
    let fits_alone = adapter_blocks > 0 && refuses(config.blocks).is_none();
    Some(if fits_alone { Rejection::NeverFits } else { beside_adapter })
}

/// Most blocks that a request holds at once whose layers are grouped, as its admission counts them; so many batches may be under way.
/// The last token is never written to the cache; drafts may be written behind it, also those of a batch that is formed before the
/// verdict on the one before it.
fn blocks_at_most(config: &PoolConfig, (stages, ahead): (u32, u32), total_tokens: u32) -> u32 {
    let under_way = config.max_batch_tokens.saturating_mul(stages + ahead);
    let drafts = config.drafting().map_or(0, |own| own.num_speculative_tokens * (1 + ahead));
    let slots = match drafts {
        0 => total_tokens.saturating_sub(1),
        _ => config.slots_for((total_tokens - 1 + drafts).min(config.max_request_tokens)),
    };
    let tokens = [slots, under_way, config.max_request_tokens];
    config.kv_groups.most_blocks(tokens, config.block_size)
}

/// What the rejection of a request compared.
pub(crate) fn compared(
    fleet: &FleetConfig,
    config: &PoolConfig,
    [input_tokens, max_tokens, rank]: [u32; 3],
    cuts_outputs: bool,
    reason: Rejection,
) -> Compared {
    let total_tokens = input_tokens.saturating_add(max_tokens);
    let of = |test: Test, need: u32, have: u32| Compared::new(test, need, have);
    match reason {
        Rejection::InputTooLong => of(Test::RequestTokens, input_tokens, config.max_input_tokens),
        // A scheduler that cuts outputs asks for room for a single token.
        Rejection::RequestTooLong if cuts_outputs => {
            of(Test::RequestTokens, input_tokens.saturating_add(1), config.max_request_tokens)
        }
        Rejection::RequestTooLong => of(Test::RequestTokens, total_tokens, config.max_request_tokens),
        Rejection::PoolTooSmall | Rejection::NeverFits => Compared::without_numbers(Test::KvBlocks),
        Rejection::PromptOverBatch => match config.drafting() {
            None => of(Test::TokenBudget, input_tokens, config.max_batch_tokens),
            // Beside the drafter's rows all its tokens have to fit, and a token with its drafts.
            Some(own) => {
                let tokens = total_tokens.min(config.max_request_tokens);
                let have = config.max_batch_tokens.saturating_sub(own.draft_slots());
                of(Test::TokenBudget, tokens.max(own.num_speculative_tokens + 1), have)
            }
        },
        Rejection::LoraRank => of(Test::LoraRank, rank, config.adapters.max_lora_rank),
        Rejection::Concurrency => {
            of(Test::InSystem, fleet.max_in_system.saturating_add(1), fleet.max_in_system)
        }
        _ => Compared::NOTHING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_s_loras_server() {
        let config = PoolConfig { blocks: 3_000, max_request_tokens: 3_072, ..PoolConfig::slora() };
        let reason = |input, max, rank| rejection(&config, input, max, rank);
        assert_eq!(reason(2_048, 951, 0), None);
        assert_eq!(reason(2_049, 1, 0), Some(Rejection::InputTooLong));
        assert_eq!(reason(2_000, 1_073, 0), Some(Rejection::RequestTooLong));
        assert_eq!(reason(2_000, 1_000, 0), Some(Rejection::PoolTooSmall));
        assert_eq!(reason(1_999, 1_000, 0), None);
        assert_eq!(reason(1_999, 1_000, 1), Some(Rejection::NeverFits));
        let original = PoolConfig { reference_quirks: true, ..config };
        assert_eq!(rejection(&original, 1_999, 1_000, 64), None);
    }
}
