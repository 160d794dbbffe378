//! `AIBrix`'s routers `prefix-cache` and `vtc-basic` (pkg/plugins/gateway/algorithms/prefix_cache.go and vtc/vtc_basic.go of
//! vllm-project/aibrix).
//!
//! `prefix-cache` takes the best match among replicas that are not busier than usual. `vtc-basic` places clients by how many tokens
//! they were given of late: the more, the higher the replica's number. **They lose** on late counts: the running requests are those
//! of the last scrape, so that a burst between two scrapes goes to one replica.

use std::sync::Arc;

use super::pipeline::{
    Asked, Believed, Filter, Picker, Pipeline, Scorer, keep_least_loaded, range_of_requests, score_least,
};
use crate::config::routing::RouterConstants;

/// Least tokens for which a client is placed one replica further.
const LEAST_STEP_TOKENS: f64 = 1_000.0;
/// What is drawn beside the score of each replica, at the most.
const JITTER: f64 = 0.1;

pub(super) fn prefix_cache(constants: &RouterConstants) -> Pipeline {
    let &RouterConstants { aibrix_imbalance: most_more, aibrix_deviations: deviations, .. } = constants;
    Pipeline {
        filters: vec![Arc::new(Balance { most_more }), Arc::new(WithinDeviation { deviations })],
        scorers: vec![(1.0, Arc::new(Match))],
        picker: Picker::HighestLeastLoaded,
    }
}

pub(super) fn vtc(constants: &RouterConstants) -> Pipeline {
    let &RouterConstants { vtc_weights: [fairness, utilization], vtc_max_load: max_load, .. } = constants;
    Pipeline {
        filters: Vec::new(),
        scorers: vec![
            (fairness, Arc::new(ClientPlace)),
            (utilization, Arc::new(Utilization { max_load })),
            (1.0, Arc::new(Jitter)),
        ],
        picker: Picker::HighestFirst,
    }
}

/// Leaves the least loaded where loads differ by much.
#[derive(Debug)]
struct Balance {
    most_more: f64,
}

impl Filter for Balance {
    fn keep(&self, _: &mut Asked, candidates: &mut Vec<Believed>) {
        let (least, most) = range_of_requests(candidates);
        if f64::from(most - least) > self.most_more {
            keep_least_loaded(candidates);
        }
    }
}

/// Leaves those whose load is at most so many standard deviations above the mean.
#[derive(Debug)]
struct WithinDeviation {
    deviations: f64,
}

impl Filter for WithinDeviation {
    fn keep(&self, _: &mut Asked, candidates: &mut Vec<Believed>) {
        let loads = || candidates.iter().map(|one| f64::from(one.requests));
        let count = candidates.len() as f64;
        let mean = loads().sum::<f64>() / count;
        let variance = loads().map(|load| (load - mean) * (load - mean)).sum::<f64>() / count;
        let most = mean + self.deviations * libm::sqrt(variance);
        candidates.retain(|one| f64::from(one.requests) <= most);
    }
}

/// Share of the prompt that is cached.
#[derive(Debug)]
struct Match;

impl Scorer for Match {
    fn score(&self, _: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        scores.iter_mut().zip(candidates).for_each(|(score, one)| *score = one.matched_share());
    }
}

/// How far the replica is from the place of the client.
#[derive(Debug)]
struct ClientPlace;

impl Scorer for ClientPlace {
    fn score(&self, asked: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        let [tokens, fewest, most] = asked.client_tokens;
        let step = f64::midpoint(fewest, most).max(LEAST_STEP_TOKENS);
        let place = (tokens / step).min(candidates.len() as f64 - 1.0);
        scores.iter_mut().enumerate().for_each(|(at, score)| *score = -(at as f64 - place).abs());
    }
}

/// Running requests over those of a full load.
#[derive(Debug)]
struct Utilization {
    max_load: f64,
}

impl Scorer for Utilization {
    fn score(&self, _: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        score_least(scores, candidates, |one| (f64::from(one.requests) / self.max_load).min(1.0));
    }
}

/// A little that is drawn.
#[derive(Debug)]
struct Jitter;

impl Scorer for Jitter {
    fn score(&self, asked: &mut Asked, _: &[Believed], scores: &mut [f64]) {
        scores.iter_mut().for_each(|score| *score = -JITTER * asked.draws.uniform());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::pipeline::tests::{asks, chosen};

    #[test]
    fn a_match_on_a_replica_that_is_busier_than_usual_is_passed_over() {
        let rule = prefix_cache(&RouterConstants::default());
        let of = |first: u32| {
            let loads = [(first, 900), (2, 0), (2, 300), (2, 0)];
            let candidates = loads.map(|(requests, matched_tokens)| Believed {
                requests,
                matched_tokens,
                indexed_tokens: 1_000,
                ..Believed::default()
            });
            chosen(&rule, &mut asks(1_000), &candidates)
        };
        // A mean of 4 and a deviation of 3.46: 10 is above 7.46, though the spread of 8 is none of more than 8.
        assert_eq!(of(10), 2);
        // A spread of 9: the least loaded, whatever is cached; of three equal ones that with the best match.
        assert_eq!(of(11), 2);
        assert_eq!(of(2), 0);
    }

    #[test]
    fn a_spread_above_the_bound_leaves_the_least_loaded() {
        let of = |requests, matched_tokens| Believed {
            requests,
            matched_tokens,
            indexed_tokens: 1_000,
            ..Believed::default()
        };
        let rule = prefix_cache(&RouterConstants { aibrix_deviations: 9.0, ..RouterConstants::default() });
        assert_eq!(chosen(&rule, &mut asks(1_000), &[of(10, 900), of(2, 0)]), 0);
        assert_eq!(chosen(&rule, &mut asks(1_000), &[of(11, 900), of(2, 0)]), 1);
    }

    #[test]
    fn the_more_tokens_a_client_had_the_further_its_replica() {
        let rule = vtc(&RouterConstants::default());
        let of = |tokens| {
            let candidates = [Believed::default(); 4];
            let mut asked = Asked { client_tokens: [tokens, 0.0, 8_000.0], ..asks(1_000) };
            chosen(&rule, &mut asked, &candidates)
        };
        // A step has 4,000 tokens; the last replica takes all that have more.
        assert_eq!([0.0, 4_000.0, 8_000.0, 90_000.0].map(of), [0, 1, 2, 3]);
        // A full load of a hundred requests counts as much as half a step.
        let busy = [100, 0].map(|requests| Believed { requests, ..Believed::default() });
        let at =
            |tokens| chosen(&rule, &mut Asked { client_tokens: [tokens, 0.0, 8_000.0], ..asks(1) }, &busy);
        assert_eq!(at(2_000.0), 1);
    }
}
