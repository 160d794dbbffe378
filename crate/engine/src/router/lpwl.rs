//! LPWL: the least prefill work left, the prompt tokens to compute for the request and before it (agentic-kvc).
//!
//! It has no constant. **It loses** where decoding is what is crowded, which it does not see.

use std::sync::Arc;

use super::pipeline::{Asked, Believed, Picker, Pipeline, Scorer, score_least};

pub(super) fn rule() -> Pipeline {
    Pipeline {
        filters: Vec::new(),
        scorers: vec![(1.0, Arc::new(PrefillWorkLeft))],
        picker: Picker::HighestAtRandom,
    }
}

#[derive(Debug)]
struct PrefillWorkLeft;

impl Scorer for PrefillWorkLeft {
    fn score(&self, asked: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        score_least(scores, candidates, |one| (asked.uncached_on(one) + one.uncached_tokens) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::pipeline::tests::{asks, chosen};

    #[test]
    fn what_is_queued_counts_as_what_is_to_be_computed() {
        let of = |matched_tokens, uncached_tokens| Believed {
            matched_tokens,
            uncached_tokens,
            requests: 9,
            ..Believed::default()
        };
        assert_eq!(chosen(&rule(), &mut asks(1_000), &[of(900, 901), of(0, 0)]), 1);
        assert_eq!(chosen(&rule(), &mut asks(1_000), &[of(900, 899), of(0, 0)]), 0);
    }
}
