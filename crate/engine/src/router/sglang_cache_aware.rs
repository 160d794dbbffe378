//! SGLang's `cache_aware` (model_gateway/src/policies/cache_aware.rs of lightseekorg/smg): the best match of an approximate tree
//! over prompts, unless loads are out of balance; then the least load.
//!
//! The router's tree holds characters, ours blocks of the trace: a match ends at a block. **It loses** on one hot prefix: it piles
//! up on one replica until the two bounds of balance are passed, and then nobody looks at the cache.

use std::sync::Arc;

use super::pipeline::{
    Asked, Believed, Filter, Picker, Pipeline, Scorer, keep_least_loaded, range_of_requests, score_least,
};
use crate::config::routing::{MissTarget, RouterConstants};

pub(super) fn rule(constants: &RouterConstants) -> Pipeline {
    let &RouterConstants {
        sglang_cache_threshold: threshold,
        sglang_balance_abs: most_more,
        sglang_balance_rel: most_times,
        sglang_miss: miss,
        ..
    } = constants;
    Pipeline {
        filters: vec![Arc::new(Balance { most_more, most_times }), Arc::new(BestMatch { threshold })],
        scorers: vec![(1.0, Arc::new(Miss(miss)))],
        picker: Picker::HighestLeastLoaded,
    }
}

/// Leaves the least loaded where loads differ by much.
#[derive(Debug)]
struct Balance {
    most_more: f64,
    most_times: f64,
}

impl Filter for Balance {
    fn keep(&self, _: &mut Asked, candidates: &mut Vec<Believed>) {
        let (least, most) = range_of_requests(candidates);
        let [least, most] = [least, most].map(f64::from);
        if most - least > self.most_more && most > self.most_times * least {
            keep_least_loaded(candidates);
        }
    }
}

/// Leaves those that have most of the prompt, if that is enough of it.
#[derive(Debug)]
struct BestMatch {
    threshold: f64,
}

impl Filter for BestMatch {
    fn keep(&self, asked: &mut Asked, candidates: &mut Vec<Believed>) {
        let best = candidates.iter().map(|one| one.matched_tokens).max().unwrap_or(0);
        if f64::from(best) > self.threshold * f64::from(asked.prompt_tokens) {
            candidates.retain(|one| one.matched_tokens == best);
        }
    }
}

/// The smallest tree, or the fewest requests.
#[derive(Debug)]
struct Miss(MissTarget);

impl Scorer for Miss {
    fn score(&self, _: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        score_least(scores, candidates, |one| match self.0 {
            MissTarget::Tree => one.index_blocks as f64,
            MissTarget::Load => f64::from(one.requests),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::pipeline::tests::{asks, chosen};

    #[test]
    fn a_match_decides_while_loads_are_in_balance() {
        let of = |requests, matched_tokens, index_blocks| Believed {
            matched_tokens,
            requests,
            index_blocks,
            ..Believed::default()
        };
        let rule = |miss| super::rule(&RouterConstants { sglang_miss: miss, ..RouterConstants::default() });
        let chosen = |miss, candidates: &[Believed]| chosen(&rule(miss), &mut asks(1_000), candidates);
        // 35 > 32 and 40 > 5.5.
        assert_eq!(chosen(MissTarget::Tree, &[of(40, 600, 0), of(5, 0, 9)]), 1);
        // In balance: .6 of the prompt is enough, .4 is not.
        assert_eq!(chosen(MissTarget::Tree, &[of(36, 600, 9), of(34, 0, 0)]), 0);
        assert_eq!(chosen(MissTarget::Tree, &[of(36, 400, 9), of(34, 0, 10)]), 0);
        assert_eq!(chosen(MissTarget::Load, &[of(36, 400, 9), of(34, 0, 10)]), 1);
        // Half of it is not more than half.
        assert_eq!(chosen(MissTarget::Load, &[of(36, 500, 9), of(34, 0, 10)]), 1);
    }
}
