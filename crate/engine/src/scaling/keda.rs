//! KEDA, which gives the HPA the sum of a metric over all replicas (`AverageValue`).
//!
//! [`Waiting`] is production-stack's default (a6c01db): waiting requests, a threshold of 5. [`Tokens`] is llm-d's guide for prompts:
//! the prompt tokens in flight are to be computed within 1.5 s, and KV memory is to be filled to 80 %; replicas that compute both
//! prompts and outputs take the greater number. **It loses** as the HPA does; tokens see a burst of long prompts earlier than KV
//! memory does, and waiting requests only when a queue is there.

use super::hpa::scaled;
use super::samples::mean;
use super::{Observed, ScalingRule, Smoothing, Wish};
use crate::config::scaling::ScalingMetric;
use crate::record::scaling::ScalingInput;

/// In how many seconds prompt tokens are to be computed.
const PREFILL_TARGET_S: f64 = 1.5;
/// Which share of KV memory is to be in use.
const KV_TARGET: f64 = 0.8;

/// Waiting requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) threshold: f64,
    pub(super) tolerance: f64,
    pub(super) window_us: f64,
}

impl ScalingRule for Waiting {
    fn wish(&mut self, seen: &Observed<'_>) -> Wish {
        let window = (seen.now_us, self.window_us);
        let Some(sum) = seen.samples.mean_sum(window, ScalingMetric::NumRequestsWaiting) else {
            return Wish::unknown(seen.replicas());
        };
        let replicas = desired(sum / self.threshold, seen.replicas(), self.tolerance);
        Wish::new(replicas, (ScalingInput::WaitingOfAll, sum, self.threshold))
    }

    fn smoothing(&self) -> Smoothing {
        Smoothing::Stabilization
    }

    fn boxed(&self) -> Box<dyn ScalingRule> {
        Box::new(*self)
    }
}

/// Prompt tokens and KV memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tokens {
    pub(super) tolerance: f64,
    pub(super) window_us: f64,
}

impl ScalingRule for Tokens {
    fn wish(&mut self, seen: &Observed<'_>) -> Wish {
        let window = (seen.now_us, self.window_us);
        let prefill_s: f64 = seen.samples.over(window, |sample| sample.prefill_s, mean).iter().sum();
        let Some(kv) = seen.samples.mean_sum(window, ScalingMetric::KvCacheUsage) else {
            return Wish::unknown(seen.replicas());
        };
        let of = |needed| desired(needed, seen.replicas(), self.tolerance);
        let [prefill, decode] = [of(prefill_s / PREFILL_TARGET_S), of(kv / KV_TARGET)];
        if prefill >= decode {
            Wish::new(prefill, (ScalingInput::PrefillSeconds, prefill_s, PREFILL_TARGET_S))
        } else {
            Wish::new(decode, (ScalingInput::KvOfAll, kv, KV_TARGET))
        }
    }

    fn smoothing(&self) -> Smoothing {
        Smoothing::Stabilization
    }

    fn boxed(&self) -> Box<dyn ScalingRule> {
        Box::new(*self)
    }
}

/// As many replicas as a sum calls for, in targets of one; unless that is nearly as many as there are.
fn desired(needed: f64, replicas: u32, tolerance: f64) -> u32 {
    let count = f64::from(replicas);
    scaled(needed / count, count, tolerance).unwrap_or(replicas)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{ReplicaSample, Samples, Scrape};
    use super::*;

    /// The wish for prompt tokens in flight, with a replica that computes so many in a second.
    fn by_tokens(tokens: f64, tokens_per_s: f64, replicas: u32) -> u32 {
        let mut samples = Samples::new(60e6, 0.0);
        let own = ReplicaSample { prefill_s: tokens / tokens_per_s, ..ReplicaSample::default() };
        samples.add(Scrape { time_us: 0.0, replicas: [own].into() });
        samples.show_until(0.0);
        let seen = Observed { now_us: 0.0, ready: replicas, starting: 0, role: None, samples: &samples };
        Tokens { tolerance: 0.1, window_us: 0.0 }.wish(&seen).replicas
    }

    #[test]
    fn prompt_tokens_in_flight_are_computed_within_a_second_and_a_half() {
        assert_eq!([6_000.0, 60_000.0].map(|tokens| by_tokens(tokens, 15_928.0, 2)), [1, 3]);
    }

    /// llm-d's worked example: prompts of 8,192 tokens on replicas of 2,696 tokens/s, at rates whose tokens of 1.5 s are in flight.
    #[test]
    fn the_worked_example_of_the_guide() {
        let in_flight = |rate_rps: f64| rate_rps * 8_192.0 * PREFILL_TARGET_S;
        let wishes = [0.15, 0.30, 0.50, 0.80, 1.40].map(|rate| by_tokens(in_flight(rate), 2_696.0, 10));
        assert_eq!(wishes, [1, 1, 2, 3, 5]);
    }

    #[test]
    fn waiting_requests_over_the_threshold() {
        let of = |waiting: f64| desired(waiting / 5.0, 2, 0.1);
        assert_eq!([of(0.0), of(5.0), of(10.5), of(11.5), of(23.0)], [0, 1, 2, 3, 5]);
    }
}
