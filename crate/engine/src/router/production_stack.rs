//! Routers of vLLM's production-stack (src/vllm_router/routers/routing_logic.py of vllm-project/production-stack).
//!
//! `kvaware` asks the cache's controller for the longest match and, where too much of the prompt is missing, stays with the
//! session; `prefixaware` follows a trie of prompts that never forgets; `session` follows the session alone.
//! **They lose** where a few prefixes or sessions are most of the traffic: none of the three looks at the load of the replica that
//! it stays with.

use std::sync::Arc;

use super::consistent_hash::RingOrder;
use super::pipeline::{Asked, Believed, Filter, Picker, Pipeline, Scorer, score_least};
use crate::config::routing::RouterConstants;

/// The longest match, else the session's replica, else the one with the fewest requests of late.
pub(super) fn kvaware(constants: &RouterConstants) -> Pipeline {
    Pipeline {
        filters: vec![Arc::new(LongMatch { most_missing: constants.ps_kvaware_threshold })],
        scorers: vec![(1.0, Arc::new(SessionOrRate))],
        picker: Picker::HighestFirst,
    }
}

/// One of those with the longest match.
pub(super) fn prefixaware() -> Pipeline {
    Pipeline {
        filters: vec![Arc::new(LongMatch { most_missing: f64::INFINITY })],
        scorers: Vec::new(),
        picker: Picker::HighestAtRandom,
    }
}

/// The session's replica, else the one with the fewest requests of late.
pub(super) fn session() -> Pipeline {
    Pipeline {
        filters: Vec::new(),
        scorers: vec![(1.0, Arc::new(SessionOrRate))],
        picker: Picker::HighestFirst,
    }
}

/// Leaves the replicas with the longest match, if no more than so many tokens of the prompt are missing.
#[derive(Debug)]
struct LongMatch {
    most_missing: f64,
}

impl Filter for LongMatch {
    fn keep(&self, asked: &mut Asked, candidates: &mut Vec<Believed>) {
        let best = candidates.iter().map(|one| one.matched_tokens).max().unwrap_or(0);
        if f64::from(asked.prompt_tokens.saturating_sub(best)) <= self.most_missing {
            candidates.retain(|one| one.matched_tokens == best);
        }
    }
}

/// The replica of the session on a ring; for a request without one that with the fewest requests in the last minute.
#[derive(Debug)]
struct SessionOrRate;

impl Scorer for SessionOrRate {
    fn score(&self, asked: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        match asked.session {
            Some(session) => RingOrder::of(session).score(candidates, scores),
            None => score_least(scores, candidates, |one| f64::from(one.recent_requests)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::pipeline::tests::{asks, chosen};

    #[test]
    fn too_much_missing_and_the_session_decides() {
        let rule = kvaware(&RouterConstants::default());
        let of = |matched_tokens| {
            [matched_tokens, 0, 0, 0].map(|matched_tokens| Believed {
                matched_tokens,
                recent_requests: 5,
                ..Believed::default()
            })
        };
        let in_session = |session| Asked { session: Some(session), ..asks(10_000) };
        let of_session = |session| chosen(&super::session(), &mut in_session(session), &of(0));
        let elsewhere =
            (0..99).find(|&session| of_session(session) != 0).expect("not all are on one replica");
        assert_eq!(chosen(&rule, &mut in_session(elsewhere), &of(8_001)), 0);
        assert_eq!(chosen(&rule, &mut in_session(elsewhere), &of(7_999)), of_session(elsewhere));
        // Without a session, the fewest requests of late.
        let mut candidates = of(7_999);
        candidates[2].recent_requests = 4;
        assert_eq!(chosen(&rule, &mut asks(10_000), &candidates), 2);
    }

    #[test]
    fn any_replica_with_the_longest_match_will_do() {
        let of = |matched_tokens| Believed { matched_tokens, ..Believed::default() };
        let mut asked = asks(1_000);
        let chosen = (0..200).map(|_| chosen(&prefixaware(), &mut asked, &[of(32), of(0), of(32)]));
        let chosen: std::collections::BTreeSet<usize> = chosen.collect();
        assert_eq!(chosen.into_iter().collect::<Vec<_>>(), [0, 2]);
    }
}
