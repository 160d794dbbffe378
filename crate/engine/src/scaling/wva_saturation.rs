//! llm-d's workload variant autoscaler, first version: by what is left below saturation.
//!
//! After internal/saturation of llm-d-incubation/workload-variant-autoscaler (b08b1c7): a replica is saturated from 80 % of its KV
//! memory or 5 waiting requests on; one replica is added where the others have less than 10 % or 3 requests left on average,
//! and one is taken away where they would still have both with its load. It reads the maxima of a minute, and does nothing while
//! a replica starts. **It loses** in a burst: each further replica takes an interval and a start.

use super::samples::{greatest, mean};
use super::{Observed, ScalingRule, Wish};
use crate::record::scaling::ScalingInput;

/// From this share of KV memory on a replica is saturated.
const SATURATED_KV: f64 = 0.8;
/// From so many waiting requests on.
const SATURATED_QUEUE: f64 = 5.0;
/// The least share of KV memory that is to be left.
const SPARE_KV: f64 = 0.1;
/// The fewest waiting requests that are to be left.
const SPARE_QUEUE: f64 = 3.0;
/// Over how long maxima are taken, microseconds.
const WINDOW_US: f64 = 60_000_000.0;

/// The rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct WvaSaturation;

impl ScalingRule for WvaSaturation {
    fn wish(&mut self, seen: &Observed<'_>) -> Wish {
        let window = (seen.now_us, WINDOW_US);
        let kv = seen.samples.over(window, |sample| sample.kv_use, greatest);
        let queue = seen.samples.over(window, |sample| f64::from(sample.waiting), greatest);
        if kv.is_empty() {
            return Wish::unknown(seen.replicas());
        }
        let (step, decided) = step(&kv.into_iter().zip(queue).collect::<Vec<_>>());
        Wish::new(seen.replicas().saturating_add_signed(step), decided)
    }

    fn waits_for_starts(&self) -> bool {
        true
    }

    fn boxed(&self) -> Box<dyn ScalingRule> {
        Box::new(*self)
    }
}

/// Whether a replica is added or taken away, by share of KV memory and waiting requests of each; and what decided.
fn step(replicas: &[(f64, f64)]) -> (i32, (ScalingInput, f64, f64)) {
    let has_room = |&&(kv, queue): &&(f64, f64)| kv < SATURATED_KV && queue < SATURATED_QUEUE;
    let others: Vec<(f64, f64)> = replicas.iter().filter(has_room).copied().collect();
    let column = |of: fn(&(f64, f64)) -> f64| others.iter().map(of).collect::<Vec<f64>>();
    let (kv, queue) = (column(|own| own.0), column(|own| own.1));
    // Where all are saturated nothing is left.
    let left = |column: &[f64], bound: f64| if others.is_empty() { 0.0 } else { bound - mean(column) };
    let [spare_kv, spare_queue] = [left(&kv, SATURATED_KV), left(&queue, SATURATED_QUEUE)];
    let by_kv = (ScalingInput::SpareKv, spare_kv, SPARE_KV);
    if spare_kv < SPARE_KV {
        return (1, by_kv);
    }
    if spare_queue < SPARE_QUEUE {
        return (1, (ScalingInput::SpareQueue, spare_queue, SPARE_QUEUE));
    }
    let Some(fewer) = others.len().checked_sub(1).filter(|&fewer| fewer > 0) else { return (0, by_kv) };
    let spread = |column: &[f64]| column.iter().sum::<f64>() / fewer as f64;
    let [kv, queue] = [SATURATED_KV - spread(&kv), SATURATED_QUEUE - spread(&queue)];
    if kv < SPARE_KV {
        (0, (ScalingInput::SpareKv, kv, SPARE_KV))
    } else if queue < SPARE_QUEUE {
        (0, (ScalingInput::SpareQueue, queue, SPARE_QUEUE))
    } else {
        (-1, (ScalingInput::SpareKv, kv, SPARE_KV))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_added_where_little_is_left() {
        let (up, (input, value, bound)) = step(&[(0.75, 0.0), (0.76, 0.0)]);
        assert_eq!((up, input, bound), (1, ScalingInput::SpareKv, 0.1));
        assert!((value - 0.045).abs() < 1e-12);
        assert_eq!(step(&[(0.2, 3.0), (0.2, 2.0)]).0, 1);
        assert_eq!(step(&[(0.9, 0.0), (0.2, 7.0)]).0, 1, "all are saturated");
    }

    #[test]
    fn a_replica_is_taken_away_where_the_others_have_room_for_its_load() {
        let (down, (input, value, _)) = step(&[(0.3, 0.0), (0.3, 0.0)]);
        assert_eq!((down, input), (-1, ScalingInput::SpareKv));
        assert!((value - 0.2).abs() < 1e-12);
        // On one of them .71 would be in use.
        assert_eq!(step(&[(0.36, 0.0), (0.35, 0.0)]).0, 0);
        // On one of them 3 requests would wait.
        assert_eq!(step(&[(0.1, 1.0), (0.1, 2.0)]).0, 0);
    }

    #[test]
    fn the_last_replica_stays() {
        assert_eq!(step(&[(0.1, 0.0)]).0, 0);
    }
}
