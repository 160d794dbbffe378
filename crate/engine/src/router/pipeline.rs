//! A routing rule as three parts, each of which can be replaced by another: filters leave replicas out, scorers rate those that are
//! left, and a picker takes one of them.
//!
//! The order is that of llm-d's scheduler (pkg/epp/scheduling of llm-d/llm-d-router), into which the rules of the other systems
//! are put.

use std::fmt::Debug;
use std::sync::Arc;

use servescope_workload::stream::Stream;

use crate::replica_index::ReplicaIndex;

/// What a router believes of a replica when a request arrives.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Believed {
    pub(crate) place: ReplicaIndex,
    /// Tokens of the prompt that are cached there; those on its host count what the router gives them.
    pub(crate) matched_tokens: u32,
    /// What of these is for blocks on the host.
    pub(crate) host_matched_tokens: u32,
    /// Tokens of the prompt that are in whole blocks of the index.
    pub(crate) indexed_tokens: u32,
    /// Requests that wait or run.
    pub(crate) requests: u32,
    /// Tokens of prompts that were sent there, are not cached there, and have no first token yet.
    pub(crate) uncached_tokens: u64,
    /// Distinct blocks of the prompts of the router's own requests there, the new one included.
    pub(crate) decode_blocks: u64,
    /// Blocks that an approximate index remembers of it.
    pub(crate) index_blocks: usize,
    /// Requests that were sent there in the last minute.
    pub(crate) recent_requests: u32,
    pub(crate) reported: Reported,
}

/// What a replica says of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reported {
    /// Requests that wait or run.
    pub(crate) requests: u32,
    /// Requests that wait.
    pub(crate) waiting: u32,
    /// Requests that hold memory.
    pub(crate) running: u32,
    /// KV memory in use or promised to the waiting queue, tokens.
    pub(crate) kv_tokens: u64,
    /// KV memory in use over all.
    pub(crate) kv_use: f64,
}

impl Believed {
    /// Share of the prompt's whole blocks that are cached.
    pub(crate) fn matched_share(&self) -> f64 {
        if self.indexed_tokens == 0 {
            0.0
        } else {
            f64::from(self.matched_tokens) / f64::from(self.indexed_tokens)
        }
    }
}

/// The request that is routed.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) prompt_tokens: u32,
    /// Tokens of a block of the index.
    pub(crate) block_tokens: u32,
    /// What requests of one session have in common; `None`: it belongs to none.
    pub(crate) session: Option<u64>,
    /// What the start of the prompt is, or who sent it.
    pub(crate) key: u64,
    /// Of the client: tokens that it was given within the window, and the fewest and the most of any client.
    pub(crate) client_tokens: [f64; 3],
    /// What is drawn for this request alone.
    pub(crate) draws: Stream,
}

impl Asked {
    /// Prompt tokens that a replica would have to compute.
    pub(crate) fn uncached_on(&self, one: &Believed) -> u64 {
        u64::from(self.prompt_tokens.saturating_sub(one.matched_tokens))
    }
}

/// Leaves replicas out; one at least stays.
pub(crate) trait Filter: Debug + Send + Sync {
    fn keep(&self, asked: &mut Asked, candidates: &mut Vec<Believed>);
}

/// Rates replicas: the highest is the best.
pub(crate) trait Scorer: Debug + Send + Sync {
    fn score(&self, asked: &mut Asked, candidates: &[Believed], scores: &mut [f64]);
}

/// Which one of the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Picker {
    /// The highest; of equal ones any.
    HighestAtRandom,
    /// The highest; of equal ones the first.
    HighestFirst,
    /// The highest; of equal ones that with the fewest requests, and of those the first.
    HighestLeastLoaded,
    /// Drawn: each counts e to the power of its score over this temperature, scores from 0 to 1.
    Softmax(f64),
}

/// A rule.
#[derive(Debug, Clone)]
pub(crate) struct Pipeline {
    pub(crate) filters: Vec<Arc<dyn Filter>>,
    /// Each with its weight.
    pub(crate) scorers: Vec<(f64, Arc<dyn Scorer>)>,
    pub(crate) picker: Picker,
}

impl Pipeline {
    /// A replica among some, of which there is one at least, and the scores of those that no filter left out.
    pub(crate) fn choose(
        &self,
        asked: &mut Asked,
        mut candidates: Vec<Believed>,
    ) -> (Believed, Vec<(ReplicaIndex, f64)>) {
        for filter in &self.filters {
            filter.keep(asked, &mut candidates);
        }
        let mut scores = vec![0.0; candidates.len()];
        let mut own = scores.clone();
        for (weight, scorer) in &self.scorers {
            scorer.score(asked, &candidates, &mut own);
            scores.iter_mut().zip(&own).for_each(|(sum, score)| *sum += weight * score);
        }
        let chosen = candidates[self.picker.pick(asked, &candidates, &scores)];
        (chosen, candidates.iter().map(|one| one.place).zip(scores).collect())
    }
}

impl Picker {
    fn pick(self, asked: &mut Asked, candidates: &[Believed], scores: &[f64]) -> usize {
        let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut best = (0..scores.len()).filter(|&at| scores[at] == highest);
        match self {
            Self::HighestFirst => best.next().unwrap_or(0),
            Self::HighestLeastLoaded => best.min_by_key(|&at| candidates[at].requests).unwrap_or(0),
            Self::HighestAtRandom => {
                let best: Vec<usize> = best.collect();
                // Nothing is drawn where there is no choice, so that the draws of other parts stay as they are.
                if best.len() < 2 {
                    best.first().copied().unwrap_or(0)
                } else {
                    best[below(asked, best.len())]
                }
            }
            Self::Softmax(temperature) => {
                let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
                let range = highest - lowest;
                let share = |score: f64| if range > 0.0 { (score - lowest) / range } else { 0.0 };
                // The highest has e^0, so that none overflows.
                let weights: Vec<f64> = scores
                    .iter()
                    .map(|&score| libm::exp((share(score) - share(highest)) / temperature))
                    .collect();
                let mut left = asked.draws.uniform() * weights.iter().sum::<f64>();
                let drawn = weights.iter().position(|weight| {
                    left -= weight;
                    left < 0.0
                });
                drawn.unwrap_or(weights.len() - 1)
            }
        }
    }
}

/// A whole number below another, drawn.
fn below(asked: &mut Asked, count: usize) -> usize {
    ((asked.draws.uniform() * count as f64) as usize).min(count - 1)
}

/// Leaves the candidates with the fewest requests.
pub(crate) fn keep_least_loaded(candidates: &mut Vec<Believed>) {
    let least = candidates.iter().map(|one| one.requests).min();
    candidates.retain(|one| Some(one.requests) == least);
}

/// The fewest requests of a candidate, and the most.
pub(crate) fn range_of_requests(candidates: &[Believed]) -> (u32, u32) {
    let requests = || candidates.iter().map(|one| one.requests);
    (requests().min().unwrap_or(0), requests().max().unwrap_or(0))
}

/// Rates by a number of each replica of which the least is the best.
pub(crate) fn score_least(scores: &mut [f64], candidates: &[Believed], number: impl Fn(&Believed) -> f64) {
    for (score, one) in scores.iter_mut().zip(candidates) {
        *score = -number(one);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A request with a prompt of this many tokens.
    pub(crate) fn asks(prompt_tokens: u32) -> Asked {
        Asked {
            prompt_tokens,
            block_tokens: 16,
            session: None,
            key: 0,
            client_tokens: [0.0; 3],
            draws: Stream::named(42, "fleet.router"),
        }
    }

    /// The place of the replica that a rule chooses.
    pub(crate) fn chosen(rule: &Pipeline, asked: &mut Asked, candidates: &[Believed]) -> usize {
        let placed = ReplicaIndex::first(candidates.len()).zip(candidates);
        rule.choose(asked, placed.map(|(place, &one)| Believed { place, ..one }).collect()).0.place.index()
    }

    #[test]
    fn equal_replicas_are_picked_as_asked() {
        let of = |picker| Pipeline { filters: Vec::new(), scorers: Vec::new(), picker };
        let candidates = [3, 1, 1].map(|requests| Believed { requests, ..Believed::default() });
        assert_eq!(chosen(&of(Picker::HighestFirst), &mut asks(1), &candidates), 0);
        assert_eq!(chosen(&of(Picker::HighestLeastLoaded), &mut asks(1), &candidates), 1);
        for picker in [Picker::HighestAtRandom, Picker::Softmax(1.0)] {
            let mut asked = asks(1);
            let mut counts = [0u32; 3];
            (0..3_000).for_each(|_| counts[chosen(&of(picker), &mut asked, &candidates)] += 1);
            assert!(counts.iter().all(|&count| (900..1_100).contains(&count)), "{picker:?}: {counts:?}");
        }
    }
}
