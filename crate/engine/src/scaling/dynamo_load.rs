//! Dynamo's load planner: every 5 s one replica more or less, and nothing while one starts.
//!
//! After components/src/dynamo/planner/core of ai-dynamo/dynamo (1.6.1). [`Easy`] compares shares with bounds: queued prompt tokens over
//! the longest context, and KV tokens in use and queued over those that fit. [`Sla`] compares estimates of both latencies with their
//! targets: it adds a replica only where every replica misses, and takes one away where the others would keep four fifths of the
//! target with its load. Dynamo fits its estimates to what its engines report; here the pool's own model of iteration times
//! makes them. A pool of prefill replicas follows prompts alone, one of decode replicas outputs alone; one that computes both grows where
//! either asks for it and shrinks where both do. **It loses** in a burst, as each further replica takes a start; and the latency targets
//! where one replica is hot and the others are not.

use super::samples::greatest;
use super::{Observed, ScalingRule, Wish};
use crate::config::disaggregation::KvRole;
use crate::config::scaling::OptimizationTarget;
use crate::record::scaling::ScalingInput;

/// Which share of a target is still to be kept after a replica was taken away.
const SENSITIVITY: f64 = 0.8;

/// Bounds on shares: a replica is added above the first one and taken away below the second one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Easy {
    prefill: [f64; 2],
    decode: [f64; 2],
}

impl Easy {
    /// The planner's own bounds for a target.
    pub(super) fn new(target: OptimizationTarget) -> Self {
        match target {
            OptimizationTarget::Throughput => Self { prefill: [1.0, 0.1], decode: [1.0, 0.6] },
            OptimizationTarget::Latency => Self { prefill: [0.1, 0.0], decode: [0.4, 0.1] },
        }
    }
}

impl ScalingRule for Easy {
    fn wish(&mut self, seen: &Observed<'_>) -> Wish {
        let newest = seen.samples.newest();
        if newest.is_empty() {
            return Wish::unknown(seen.replicas());
        }
        let prefill: Vec<f64> = newest.iter().map(|sample| sample.queued_prefill).collect();
        let decode: Vec<f64> = newest.iter().map(|sample| sample.scheduled_kv).collect();
        let prefill_step = easy_step(&prefill, self.prefill, true);
        let decode_step = easy_step(&decode, self.decode, false);
        let step = joined(seen.role, prefill_step, decode_step);
        let (input, value, bounds) = if follows_prompts(seen.role, prefill_step, decode_step) {
            (ScalingInput::QueuedPrefill, greatest(&prefill), self.prefill)
        } else {
            (ScalingInput::ScheduledKv, greatest(&decode), self.decode)
        };
        let bound = bounds[usize::from(step < 0)];
        Wish::new(seen.replicas().saturating_add_signed(step), (input, value, bound))
    }

    fn waits_for_starts(&self) -> bool {
        true
    }

    fn boxed(&self) -> Box<dyn ScalingRule> {
        Box::new(*self)
    }
}

/// One more where any share is above the upper bound, or at it where that counts; one less where all are below the lower one, or
/// at it where that is nothing.
fn easy_step(shares: &[f64], [upper, lower]: [f64; 2], from_bound_on: bool) -> i32 {
    if shares.iter().any(|&share| share > upper || from_bound_on && share >= upper) {
        return 1;
    }
    let is_low = |&share: &f64| share < lower || share <= 0.0;
    -i32::from(shares.iter().all(is_low))
}

/// The step of a pool.
fn joined(role: Option<KvRole>, prefill: i32, decode: i32) -> i32 {
    match role {
        Some(KvRole::Producer) => prefill,
        Some(KvRole::Consumer) => decode,
        None if prefill > 0 || decode > 0 => 1,
        None => prefill.max(decode),
    }
}

/// Whether prompts decide the step of a pool, and not outputs.
fn follows_prompts(role: Option<KvRole>, prefill: i32, decode: i32) -> bool {
    role.map_or(prefill > decode, |role| role == KvRole::Producer)
}

/// Latency targets, microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sla {
    pub(super) ttft_us: f64,
    pub(super) itl_us: f64,
}

impl ScalingRule for Sla {
    fn wish(&mut self, seen: &Observed<'_>) -> Wish {
        let newest = seen.samples.newest();
        if newest.is_empty() {
            return Wish::unknown(seen.replicas());
        }
        let ttft: Vec<f64> = newest.iter().map(|sample| sample.ttft_us).collect();
        let itl: Vec<f64> = newest.iter().map(|sample| sample.itl_us).collect();
        let kv: f64 = newest.iter().map(|sample| sample.scheduled_kv).sum();
        let fits = seen.role == Some(KvRole::Producer) || kv <= newest.len() as f64 - 1.0;
        let ttft_step = sla_step(&ttft, self.ttft_us, fits);
        let itl_step = sla_step(&itl, self.itl_us, fits);
        let step = joined(seen.role, ttft_step, itl_step);
        let (input, value_us, target_us) = if follows_prompts(seen.role, ttft_step, itl_step) {
            (ScalingInput::EstimatedTtft, greatest(&ttft), self.ttft_us)
        } else {
            (ScalingInput::EstimatedItl, greatest(&itl), self.itl_us)
        };
        let decided = (input, value_us / 1e6, target_us / 1e6);
        Wish::new(seen.replicas().saturating_add_signed(step), decided)
    }

    fn waits_for_starts(&self) -> bool {
        true
    }

    fn boxed(&self) -> Box<dyn ScalingRule> {
        Box::new(*self)
    }
}

/// One more where all estimates are above the target; one less where each would stay well below it on one replica fewer, on which
/// the KV tokens of all have to fit.
fn sla_step(estimates: &[f64], target: f64, fits: bool) -> i32 {
    if estimates.iter().all(|&estimate| estimate > target) {
        return 1;
    }
    let count = estimates.len() as f64;
    let stays_below = |&estimate: &f64| estimate * count / (count - 1.0) < SENSITIVITY * target;
    -i32::from(fits && count > 1.0 && estimates.iter().all(stays_below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_full_replica_adds_one_and_all_that_are_low_take_one_away() {
        let easy = Easy::new(OptimizationTarget::Throughput);
        let decode = |shares: [f64; 2]| easy_step(&shares, easy.decode, false);
        assert_eq!([decode([1.01, 0.2]), decode([0.59, 0.59]), decode([0.61, 0.1])], [1, -1, 0]);
        let prefill = |shares: [f64; 2]| easy_step(&shares, easy.prefill, true);
        assert_eq!([prefill([1.0, 0.0]), prefill([0.09, 0.0]), prefill([0.1, 0.0])], [1, -1, 0]);
        let early = Easy::new(OptimizationTarget::Latency);
        let of = |shares: [f64; 2]| easy_step(&shares, early.prefill, true);
        assert_eq!([of([0.1, 0.0]), of([0.0, 0.0]), of([0.05, 0.0])], [1, -1, 0]);
    }

    #[test]
    fn a_pool_that_computes_both_grows_for_either_and_shrinks_for_both() {
        let steps = [(1, -1), (0, 1), (-1, 0), (-1, -1)];
        let of = |role| steps.map(|(prefill, decode)| joined(role, prefill, decode));
        assert_eq!(of(None), [1, 1, 0, -1]);
        assert_eq!(of(Some(KvRole::Producer)), [1, 0, -1, -1]);
        assert_eq!(of(Some(KvRole::Consumer)), [-1, 1, 0, -1]);
    }

    #[test]
    fn every_replica_has_to_miss_its_target_before_one_is_added() {
        assert_eq!(sla_step(&[60.0, 40.0], 50.0, true), 0);
        assert_eq!(sla_step(&[60.0, 51.0], 50.0, true), 1);
    }

    #[test]
    fn one_is_taken_away_where_the_others_keep_four_fifths_of_the_target() {
        // 19 x 2 = 38 < 40, and 21 x 2 = 42.
        assert_eq!(sla_step(&[19.0, 19.0], 50.0, true), -1);
        assert_eq!(sla_step(&[21.0, 19.0], 50.0, true), 0);
        assert_eq!(sla_step(&[19.0, 19.0], 50.0, false), 0, "KV memory would not hold");
        assert_eq!(sla_step(&[1.0], 50.0, true), 0, "the last one stays");
    }
}
