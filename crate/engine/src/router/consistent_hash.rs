//! Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam 2018): the first replica clockwise from a request's hash
//! on a ring that has no more than its share of the load.
//!
//! A session hashes by itself, a prompt without one by its first block, any other request by its user. **It loses** where keys are
//! few: the bound spreads them, and with every overflow the cache of the next replica is cold.

use std::sync::Arc;

use super::pipeline::{Asked, Believed, Filter, Picker, Pipeline, Scorer};
use crate::config::routing::RouterConstants;

/// Points of a replica on the ring: as many as the hash ring of Python's uhashring has, within a factor of two.
const POINTS: u64 = 64;

pub(super) fn rule(constants: &RouterConstants) -> Pipeline {
    Pipeline {
        filters: vec![Arc::new(BoundedLoad { bound: constants.hash_bound })],
        scorers: vec![(1.0, Arc::new(OnRing))],
        picker: Picker::HighestFirst,
    }
}

/// Leaves the replicas that have less than so many times the mean load, the request included.
#[derive(Debug)]
struct BoundedLoad {
    bound: f64,
}

impl Filter for BoundedLoad {
    fn keep(&self, _: &mut Asked, candidates: &mut Vec<Believed>) {
        let all = candidates.iter().map(|one| u64::from(one.requests)).sum::<u64>() + 1;
        let most = (self.bound * all as f64 / candidates.len() as f64).ceil();
        if candidates.iter().any(|one| f64::from(one.requests) + 1.0 <= most) {
            candidates.retain(|one| f64::from(one.requests) + 1.0 <= most);
        }
    }
}

#[derive(Debug)]
struct OnRing;

impl Scorer for OnRing {
    fn score(&self, asked: &mut Asked, candidates: &[Believed], scores: &mut [f64]) {
        RingOrder::of(asked.session.unwrap_or(asked.key)).score(candidates, scores);
    }
}

/// The order of replicas clockwise from a point of the ring.
pub(super) struct RingOrder(u64);

impl RingOrder {
    /// From the point of a key on.
    pub(super) fn of(key: u64) -> Self {
        Self(mix(key ^ 0x5bd1_e995_7b93_a1f3))
    }

    /// The nearer clockwise, the better.
    pub(super) fn score(&self, candidates: &[Believed], scores: &mut [f64]) {
        for (score, one) in scores.iter_mut().zip(candidates) {
            let point = |number: u64| mix(u64::from(one.place.get()) * POINTS + number);
            let distance = (0..POINTS).map(|number| point(number).wrapping_sub(self.0)).min();
            *score = -(distance.unwrap_or(u64::MAX) as f64);
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::pipeline::tests::{asks, chosen};

    #[test]
    fn a_replica_that_goes_takes_its_own_keys_along_only() {
        let rule = rule(&RouterConstants::default());
        let all = [Believed::default(); 8];
        let of = |key, candidates: &[Believed]| chosen(&rule, &mut Asked { key, ..asks(1) }, candidates);
        let mut counts = [0u32; 8];
        for key in 0..8_000 {
            let place = of(key, &all);
            counts[place] += 1;
            let without_last = of(key, &all[..7]);
            assert!(place == 7 || place == without_last, "key {key} moved from {place} to {without_last}");
        }
        assert!(counts.iter().all(|&count| (600..1_500).contains(&count)), "{counts:?}");
    }

    #[test]
    fn above_the_bound_the_next_replica_on_the_ring_is_taken() {
        let rule = rule(&RouterConstants::default());
        let of = |loads: [u32; 4]| {
            let candidates = loads.map(|requests| Believed { requests, ..Believed::default() });
            chosen(&rule, &mut asks(1), &candidates)
        };
        let usual = of([0; 4]);
        let with = |load| {
            let mut loads = [10; 4];
            loads[usual] = load;
            of(loads)
        };
        // 1.25 x 43 / 4 is 13.4, so that 14 are allowed; with 14 there, 1.25 x 45 / 4 is 14.06.
        assert_eq!((with(12), with(14)), (usual, usual));
        assert_ne!(with(20), usual);
    }
}
