//! llm-d's router: sticky until the replica with the prefix is saturated.
//!
//! The default since August 2026 is the filter `prefix-cache-affinity` with the scorer `token-load`
//! (pkg/epp/framework/plugins/scheduling of llm-d/llm-d-router); before, it summed up weighted scores of prefix, queue and KV
//! memory. A filter that breaks its own stickiness by a time to first token keeps one hot prefix from drowning its replica.
//! **It loses** where prompts are so short that no queue of prompt tokens forms and decoding is what is crowded.

use std::sync::Arc;

use super::pipeline::{Asked, Believed, Filter, Picker, Pipeline, Scorer};
use crate::config::routing::RouterConstants;

/// The default rule.
pub(super) fn rule(constants: &RouterConstants) -> Pipeline {
    let &RouterConstants {
        llmd_affinity_threshold: threshold,
        llmd_exploration: exploration,
        llmd_peak_prefill_tokens_per_s: tokens_per_s,
        llmd_max_ttft_penalty_us: max_penalty_us,
        llmd_max_load_tokens: max_tokens,
        ..
    } = constants;
    Pipeline {
        filters: vec![Arc::new(PrefixAffinity { threshold, exploration, tokens_per_s, max_penalty_us })],
        scorers: vec![(1.0, Arc::new(TokenLoad { max_tokens }))],
        picker: Picker::HighestAtRandom,
    }
}

/// The rule of weighted scores.
pub(super) fn weighted_rule(constants: &RouterConstants) -> Pipeline {
    let [prefix, queue, kv] = constants.llmd_weights;
    Pipeline {
        filters: Vec::new(),
        scorers: vec![(prefix, Arc::new(PrefixShare)), (queue, Arc::new(QueueDepth)), (kv, Arc::new(FreeKv))],
        picker: Picker::HighestAtRandom,
    }
}

/// Leaves the replicas with most of the prompt, unless they would take too long.
#[derive(Debug)]
struct PrefixAffinity {
    threshold: f64,
    exploration: f64,
    tokens_per_s: f64,
    max_penalty_us: f64,
}

impl Filter for PrefixAffinity {
    fn keep(&self, asked: &mut Asked, candidates: &mut Vec<Believed>) {
        if self.exploration > 0.0 && asked.draws.uniform() < self.exploration {
            return;
        }
        let is_sticky = |one: &Believed| one.matched_share() >= self.threshold;
        let least_us = |sticky: bool| {
            let of_kind = candidates.iter().filter(|one| is_sticky(one) == sticky);
            let wait_us = |one: &Believed| one.uncached_tokens as f64 / self.tokens_per_s * 1e6;
            of_kind.map(wait_us).fold(f64::INFINITY, f64::min)
        };
        let (sticky_us, other_us) = (least_us(true), least_us(false));
        if sticky_us < f64::INFINITY && sticky_us - other_us <= self.max_penalty_us {
            candidates.retain(is_sticky);
        }
    }
}

/// The fewer prompt tokens are to be computed before and for the request, the better.
#[derive(Debug)]
struct TokenLoad {
    max_tokens: f64,
}

impl Scorer for TokenLoad {
    fn score(&self, asked: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        for (score, one) in scores.iter_mut().zip(candidates) {
            let tokens = one.uncached_tokens + asked.uncached_on(one);
            *score = 1.0 - (tokens as f64 / self.max_tokens).min(1.0);
        }
    }
}

/// Share of the prompt that is cached.
#[derive(Debug)]
struct PrefixShare;

impl Scorer for PrefixShare {
    fn score(&self, _: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        scores.iter_mut().zip(candidates).for_each(|(score, one)| *score = one.matched_share());
    }
}

/// 1 for the shortest waiting queue, 0 for the longest.
#[derive(Debug)]
struct QueueDepth;

impl Scorer for QueueDepth {
    fn score(&self, _: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        let waiting = || candidates.iter().map(|one| one.reported.waiting);
        let (least, most) = (waiting().min().unwrap_or(0), waiting().max().unwrap_or(0));
        for (score, one) in scores.iter_mut().zip(candidates) {
            let above = f64::from(most - one.reported.waiting);
            *score = if most == least { 1.0 } else { above / f64::from(most - least) };
        }
    }
}

/// Share of KV memory that is not in use.
#[derive(Debug)]
struct FreeKv;

impl Scorer for FreeKv {
    fn score(&self, _: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        scores.iter_mut().zip(candidates).for_each(|(score, one)| *score = 1.0 - one.reported.kv_use);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::pipeline::Reported;
    use crate::router::pipeline::tests::{asks, chosen};

    fn holds(share: f64, uncached_tokens: u64) -> Believed {
        let matched_tokens = (share * 1_000.0) as u32;
        Believed { matched_tokens, indexed_tokens: 1_000, uncached_tokens, ..Believed::default() }
    }

    #[test]
    fn the_gate_opens_when_every_replica_with_the_prefix_is_saturated() {
        let rule = rule(&RouterConstants::default());
        let of = |second: u64| [holds(0.9, 400_000), holds(0.85, second), holds(0.1, 0)];
        // 120,000 tokens take 7.5 s, 300,000 take 18.8 s.
        assert_eq!(chosen(&rule, &mut asks(1_000), &of(120_000)), 1);
        assert_eq!(chosen(&rule, &mut asks(1_000), &of(300_000)), 2);
        // 18 s to the token.
        assert_eq!(chosen(&rule, &mut asks(1_000), &of(286_704)), 1);
        assert_eq!(chosen(&rule, &mut asks(1_000), &of(286_705)), 2);
    }

    #[test]
    fn without_a_match_the_fewest_tokens_decide() {
        let rule = rule(&RouterConstants::default());
        assert_eq!(chosen(&rule, &mut asks(1_000), &[holds(0.7, 900), holds(0.0, 100), holds(0.0, 300)]), 1);
    }

    #[test]
    fn scores_are_weighted() {
        let reported = |waiting, kv_use| Reported { waiting, kv_use, ..Reported::default() };
        let one = Believed { reported: reported(10, 0.5), ..holds(1.0, 0) };
        let other = Believed { reported: reported(0, 0.25), ..holds(0.0, 0) };
        // 3 + 0 + 2 x .5 = 4 against 0 + 2 + 2 x .75 = 3.5.
        assert_eq!(chosen(&weighted_rule(&RouterConstants::default()), &mut asks(1_000), &[one, other]), 0);
        let light = RouterConstants { llmd_weights: [2.0, 2.0, 2.0], ..RouterConstants::default() };
        assert_eq!(chosen(&weighted_rule(&light), &mut asks(1_000), &[one, other]), 1);
    }
}
