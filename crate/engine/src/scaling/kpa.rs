//! Knative's autoscaler as `AIBrix` has it: a stable window for the usual case, a panic window for bursts.
//!
//! After pkg/controller/podautoscaler/algorithm/kpa.go of vllm-project/aibrix (e3e10f9), with its windows of 180 and 60 s: it panics
//! where the metric over the panic window is more than twice that over the stable one, and then never goes below the highest
//! number of this panic, until a stable window has passed without that ratio. **It loses** where load is spiky and starts are slow:
//! every panic is paid for a stable window long.

use super::hpa::scaled;
use super::{Observed, ScalingRule, Wish};
use crate::config::scaling::ScalingMetric;
use crate::record::scaling::ScalingInput;

/// The stable window, microseconds.
pub(super) const STABLE_WINDOW_US: f64 = 180_000_000.0;
/// The panic window, microseconds.
const PANIC_WINDOW_US: f64 = 60_000_000.0;
/// Above this ratio of the metric over both windows it panics.
const PANIC_THRESHOLD: f64 = 2.0;
/// By how much the number grows and shrinks at most in one decision.
const MOST_RATE: f64 = 2.0;

/// The rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kpa {
    metric: ScalingMetric,
    target: f64,
    tolerance: f64,
    panic: Option<Panic>,
}

/// A panic under way.
#[derive(Debug, Clone, Copy)]
struct Panic {
    /// When the metric was above the threshold last, microseconds.
    last_us: f64,
    /// The highest number since it began.
    most: u32,
}

impl Kpa {
    pub(super) fn new(metric: ScalingMetric, target: f64, tolerance: f64) -> Self {
        Self { metric, target, tolerance, panic: None }
    }

    /// What the metrics of all replicas over both windows call for.
    fn desired(&mut self, replicas: u32, [stable, panic]: [f64; 2], now_us: f64) -> u32 {
        let count = f64::from(replicas);
        let bounded = |metric: f64| {
            let wished = scaled(metric / self.target / count, count, self.tolerance).unwrap_or(replicas);
            f64::from(wished).max((count / MOST_RATE).floor()).min((count * MOST_RATE).ceil().max(1.0)) as u32
        };
        let wished = [bounded(stable), bounded(panic)];
        let is_burst = panic > 0.0 && (stable <= 0.0 || panic / stable > PANIC_THRESHOLD);
        if is_burst {
            let most = self.panic.map_or(replicas, |panic| panic.most);
            self.panic = Some(Panic { last_us: now_us, most });
        }
        self.panic = self.panic.filter(|panic| now_us - panic.last_us < STABLE_WINDOW_US);
        match &mut self.panic {
            Some(panic) => {
                panic.most = panic.most.max(wished[0]).max(wished[1]);
                panic.most
            }
            None => wished[0],
        }
    }
}

impl ScalingRule for Kpa {
    fn wish(&mut self, seen: &Observed<'_>) -> Wish {
        let over = |window_us| seen.samples.mean_sum((seen.now_us, window_us), self.metric);
        let (Some(stable), Some(panic)) = (over(STABLE_WINDOW_US), over(PANIC_WINDOW_US)) else {
            return Wish::unknown(seen.replicas());
        };
        let replicas = self.desired(seen.replicas(), [stable, panic], seen.now_us);
        let (input, value) = match self.panic {
            Some(_) => (ScalingInput::PanicWindow, panic),
            None => (ScalingInput::StableWindow, stable),
        };
        Wish::new(replicas, (input, value, self.target * f64::from(seen.replicas())))
    }

    fn boxed(&self) -> Box<dyn ScalingRule> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_keeps_its_highest_number() {
        let mut rule = Kpa::new(ScalingMetric::Concurrency, 10.0, 0.1);
        // 100 over 40 is above 2: ten replicas, of four at most eight.
        assert_eq!(rule.desired(4, [40.0, 100.0], 0.0), 8);
        assert_eq!(rule.desired(8, [40.0, 60.0], 60e6), 8);
        // A stable window later the panic is over.
        assert_eq!(rule.desired(8, [40.0, 40.0], 179e6), 8);
        assert_eq!(rule.desired(8, [40.0, 40.0], 180e6), 4);
    }

    #[test]
    fn within_the_tolerance_the_number_stays() {
        let mut rule = Kpa::new(ScalingMetric::Concurrency, 10.0, 0.1);
        assert_eq!(rule.desired(4, [43.0, 43.0], 0.0), 4);
        assert_eq!(rule.desired(4, [45.0, 45.0], 0.0), 5);
        assert_eq!(rule.desired(4, [4.0, 4.0], 0.0), 2);
    }
}
