//! `AIBrix`'s autoscaler for pods: like the HPA, with a tolerance on each side and bounds on how fast the number changes.
//!
//! After pkg/controller/podautoscaler/algorithm/apa.go of vllm-project/aibrix (e3e10f9), with its defaults: the number at most doubles
//! and at most halves. **It loses** as the HPA does, and where one metric is read while another is short.

use super::hpa::input_of;
use super::samples::mean;
use super::{Observed, ScalingRule, Wish};
use crate::config::scaling::ScalingMetric;

/// By how much the number grows and shrinks at most in one decision.
const MOST_RATE: f64 = 2.0;

/// The rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Apa {
    pub(super) metric: ScalingMetric,
    pub(super) target: f64,
    pub(super) tolerance: f64,
    pub(super) window_us: f64,
}

impl ScalingRule for Apa {
    fn wish(&mut self, seen: &Observed<'_>) -> Wish {
        let values = seen.samples.means((seen.now_us, self.window_us), self.metric);
        if values.is_empty() {
            return Wish::unknown(seen.replicas());
        }
        let mean = mean(&values);
        let replicas = desired(seen.replicas(), mean / self.target, self.tolerance);
        Wish::new(replicas, (input_of(self.metric), mean, self.target))
    }

    fn boxed(&self) -> Box<dyn ScalingRule> {
        Box::new(*self)
    }
}

fn desired(replicas: u32, ratio: f64, tolerance: f64) -> u32 {
    let count = f64::from(replicas);
    let wished = (count * ratio).ceil();
    if ratio > 1.0 + tolerance {
        wished.min((count * MOST_RATE).ceil()) as u32
    } else if ratio < 1.0 - tolerance {
        wished.max((count / MOST_RATE).floor()) as u32
    } else {
        replicas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_at_most_doubles_and_halves() {
        let of = |ratio| desired(4, ratio, 0.1);
        assert_eq!([of(3.0), of(0.2), of(1.1), of(1.2), of(0.9), of(0.7)], [8, 2, 4, 5, 4, 3]);
    }
}
