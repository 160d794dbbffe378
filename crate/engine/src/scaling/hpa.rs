//! Kubernetes' horizontal pod autoscaler: the ratio of a metric to its target, rounded up.
//!
//! After pkg/controller/podautoscaler of Kubernetes: replica_calculator.go (`calcPlainMetricReplicas`) for the number, horizontal.go
//! (`calculateScaleUpLimitWithScalingRules`) for the default policies: at most the greater of 4 pods and 100 % more in 15 s. Pods
//! without a metric, which start, count as 0 where the number would grow and as the target where it would shrink.
//! **It loses** where a burst is shorter than a start: what it adds is ready when the burst is over, and stays for the
//! stabilization window.

use super::{Observed, ScalingRule, Smoothing, Wish};
use crate::config::scaling::ScalingMetric;
use crate::record::scaling::ScalingInput;

/// Most pods that a period adds, whatever there are.
const PODS_PER_PERIOD: u32 = 4;

/// The rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hpa {
    pub(super) metric: ScalingMetric,
    pub(super) target: f64,
    pub(super) tolerance: f64,
    pub(super) window_us: f64,
}

impl ScalingRule for Hpa {
    fn wish(&mut self, seen: &Observed<'_>) -> Wish {
        let values = seen.samples.means((seen.now_us, self.window_us), self.metric);
        if values.is_empty() {
            return Wish::unknown(seen.replicas());
        }
        let mean = super::samples::mean(&values);
        let replicas = desired(&values, seen.replicas(), self.target, self.tolerance);
        Wish::new(replicas, (input_of(self.metric), mean, self.target))
    }

    fn smoothing(&self) -> Smoothing {
        Smoothing::Stabilization
    }

    fn most_after(&self, replicas_before: u32) -> u32 {
        replicas_before.saturating_add(PODS_PER_PERIOD.max(replicas_before))
    }

    fn boxed(&self) -> Box<dyn ScalingRule> {
        Box::new(*self)
    }
}

/// The name of a metric among what rules read.
pub(super) fn input_of(metric: ScalingMetric) -> ScalingInput {
    match metric {
        ScalingMetric::NumRequestsWaiting => ScalingInput::NumRequestsWaiting,
        ScalingMetric::Concurrency => ScalingInput::Concurrency,
        ScalingMetric::KvCacheUsage => ScalingInput::KvCacheUsage,
    }
}

/// How many pods there are to be of `replicas`, by the metrics of those that have one.
pub(super) fn desired(values: &[f64], replicas: u32, target: f64, tolerance: f64) -> u32 {
    let measured = values.len() as f64;
    let missing = f64::from(replicas) - measured;
    let sum: f64 = values.iter().sum();
    let ratio = sum / measured / target;
    if missing <= 0.0 {
        return scaled(ratio, measured, tolerance).unwrap_or(replicas);
    }
    let counted_as = if ratio > 1.0 { 0.0 } else { target };
    let all = (sum + missing * counted_as) / f64::from(replicas) / target;
    let turns = (ratio > 1.0) != (all > 1.0);
    let wished = scaled(all, f64::from(replicas), tolerance).filter(|_| !turns).unwrap_or(replicas);
    if all > 1.0 { wished.max(replicas) } else { wished.min(replicas) }
}

/// So many times a ratio, rounded up; `None`: the ratio is within the tolerance.
pub(super) fn scaled(ratio: f64, count: f64, tolerance: f64) -> Option<u32> {
    ((ratio - 1.0).abs() > tolerance).then(|| (ratio * count).ceil() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_pods_by_the_ratio_of_metric_and_target() {
        let of = |ratio: f64| desired(&[10.0 * ratio; 4], 4, 10.0, 0.1);
        assert_eq!([of(1.09), of(1.11), of(0.89), of(0.5)], [4, 5, 4, 2]);
        assert_eq!([of(0.0), of(3.0)], [0, 12]);
    }

    #[test]
    fn pods_that_start_count_as_nothing_going_up_and_as_the_target_going_down() {
        // Two pods at twice the target and two that start: on average at the target.
        assert_eq!(desired(&[20.0; 2], 4, 10.0, 0.1), 4);
        assert_eq!(desired(&[60.0; 2], 4, 10.0, 0.1), 12);
        // Two pods at a tenth and two that count as the target: .55 of four.
        assert_eq!(desired(&[1.0; 2], 4, 10.0, 0.1), 3);
    }

    #[test]
    fn at_most_four_pods_or_twice_as_many_are_added_in_a_period() {
        let rule = Hpa { metric: ScalingMetric::KvCacheUsage, target: 0.8, tolerance: 0.1, window_us: 0.0 };
        assert_eq!([1, 4, 9].map(|before| rule.most_after(before)), [5, 8, 18]);
    }
}
