//! lmetric: the least product of prompt tokens to compute and requests (llm-d/llm-d-router, pull request 2351).
//!
//! **It loses** where one of the two is near zero on every replica: then the other counts for nothing.

use std::sync::Arc;

use super::pipeline::{Asked, Believed, Picker, Pipeline, Scorer, score_least};

pub(super) fn rule() -> Pipeline {
    Pipeline {
        filters: Vec::new(),
        scorers: vec![(1.0, Arc::new(TokensTimesRequests))],
        picker: Picker::HighestAtRandom,
    }
}

#[derive(Debug)]
struct TokensTimesRequests;

impl Scorer for TokensTimesRequests {
    fn score(&self, asked: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        score_least(scores, candidates, |one| {
            let tokens = asked.uncached_on(one) + one.uncached_tokens;
            tokens as f64 * (f64::from(one.requests) + 1.0)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::pipeline::tests::{asks, chosen};

    #[test]
    fn an_idle_replica_outweighs_a_cached_prefix_on_a_busy_one() {
        let of = |matched_tokens, requests| Believed { matched_tokens, requests, ..Believed::default() };
        // 100 x 10 against 900 x 1, then against 1,000 x 1 with one token less cached.
        assert_eq!(chosen(&rule(), &mut asks(1_000), &[of(900, 9), of(100, 0)]), 1);
        assert_eq!(chosen(&rule(), &mut asks(1_001), &[of(902, 9), of(2, 0)]), 0);
    }
}
