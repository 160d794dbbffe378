//! Dynamo's KV router (lib/kv-router/src/scheduling/selector.rs of ai-dynamo/dynamo): the least sum of blocks to compute, less
//! those that are cached, and of blocks in use.
//!
//! Blocks in use are those of the prompts of the router's own requests, each once; blocks of answers are not counted
//! (`router_track_output_blocks` is off). **It loses** where both terms are zero between two requests: then the cache alone
//! decides, and one replica gets all (kvcache-ai's Infera, issue 103).

use std::sync::Arc;

use super::pipeline::{Asked, Believed, Picker, Pipeline, Scorer, score_least};
use crate::config::routing::RouterConstants;

pub(super) fn rule(constants: &RouterConstants) -> Pipeline {
    let &RouterConstants {
        dynamo_overlap_credit: overlap_credit,
        dynamo_prefill_scale: prefill_scale,
        dynamo_active_weight: active_weight,
        dynamo_temperature: temperature,
        ..
    } = constants;
    Pipeline {
        filters: Vec::new(),
        scorers: vec![(1.0, Arc::new(Cost { overlap_credit, prefill_scale, active_weight }))],
        picker: if temperature > 0.0 { Picker::Softmax(temperature) } else { Picker::HighestAtRandom },
    }
}

#[derive(Debug)]
struct Cost {
    overlap_credit: f64,
    prefill_scale: f64,
    active_weight: f64,
}

impl Scorer for Cost {
    fn score(&self, asked: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        score_least(scores, candidates, |one| {
            let blocks = |tokens: f64| tokens / f64::from(asked.block_tokens);
            let to_read = blocks(one.uncached_tokens as f64 + f64::from(asked.prompt_tokens));
            // Blocks on the host have a credit of their own (`host_cache_hit_weight`), which is in their tokens.
            let [all, host] = [one.matched_tokens, one.host_matched_tokens].map(f64::from);
            let credit = blocks(self.overlap_credit * (all - host) + host);
            let prefill = self.prefill_scale * (to_read - credit).max(0.0);
            prefill + one.decode_blocks as f64 + self.active_weight * f64::from(one.requests)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::pipeline::tests::{asks, chosen};

    fn of(overlap_blocks: u32, decode_blocks: u64) -> Believed {
        Believed { matched_tokens: overlap_blocks * 16, decode_blocks, ..Believed::default() }
    }

    #[test]
    fn decode_load_outweighs_the_prefix() {
        let rule = rule(&RouterConstants::default());
        // 20 + 500 against 100 + 300.
        assert_eq!(chosen(&rule, &mut asks(1_600), &[of(80, 500), of(0, 300)]), 1);
        assert_eq!(chosen(&rule, &mut asks(1_600), &[of(80, 379), of(0, 300)]), 0);
    }

    #[test]
    fn blocks_on_the_host_count_their_own_weight() {
        let rule = rule(&RouterConstants { dynamo_overlap_credit: 0.5, ..RouterConstants::default() });
        let of_host = |blocks: u32, decode_blocks| Believed {
            host_matched_tokens: blocks * 16,
            ..of(blocks, decode_blocks)
        };
        // 100 - 0.5 x 80 against 100 - 41, and against 100 - 60 + 21.
        let (gpu, mut asked) = (of(80, 0), asks(1_600));
        assert_eq!(chosen(&rule, &mut asked, &[gpu, of_host(41, 0)]), 1);
        assert_eq!(chosen(&rule, &mut asked, &[gpu, of_host(60, 21)]), 0);
    }

    #[test]
    fn a_temperature_draws_by_the_cost() {
        let constants = RouterConstants { dynamo_temperature: 0.5, ..RouterConstants::default() };
        let (rule, mut asked) = (rule(&constants), asks(1_600));
        let firsts = (0..10_000).filter(|_| chosen(&rule, &mut asked, &[of(80, 0), of(0, 0)]) == 0).count();
        // 1 / (1 + e^-2).
        assert!((8_700..8_920).contains(&firsts), "{firsts} of 10,000, where 8,808 are expected");
    }
}
