//! Autoscaling of a pool: which rule chooses the number of its replicas, how often, within which bounds; and how long a replica takes
//! to start.

use servescope_workload::distribution::normal_quantile;
use servescope_workload::stream::Stream;

/// What a rule with a target compares with it; the names are vLLM's, but for the concurrency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalingMetric {
    /// Waiting requests of a replica (`vllm:num_requests_waiting`).
    NumRequestsWaiting,
    /// Waiting and running requests of a replica.
    Concurrency,
    /// Share of a replica's KV blocks that are in use (`vllm:kv_cache_usage_perc`).
    KvCacheUsage,
}

/// What Dynamo's load planner compares with bounds of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptimizationTarget {
    /// Replicas are added when tokens for a whole context are queued or KV memory is full.
    Throughput,
    /// Replicas are added much earlier.
    Latency,
}

/// The rule that chooses the number of replicas of a pool, with the constants that are its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScalingKind {
    /// Kubernetes' horizontal pod autoscaler.
    Hpa {
        /// What is compared.
        metric: ScalingMetric,
        /// With what, for each replica.
        target: f64,
        /// Within this share of the target nothing changes.
        tolerance: f64,
    },
    /// `AIBrix`'s autoscaler for pods.
    Apa {
        /// What is compared.
        metric: ScalingMetric,
        /// With what, for each replica.
        target: f64,
        /// Within this share of the target nothing changes.
        tolerance: f64,
    },
    /// Knative's autoscaler as `AIBrix` has it, with a stable and a panic window.
    Kpa {
        /// What is compared.
        metric: ScalingMetric,
        /// With what, for each replica.
        target: f64,
        /// Within this share of the target nothing changes.
        tolerance: f64,
    },
    /// KEDA on waiting requests, as production-stack sets it.
    Keda {
        /// Waiting requests for each replica.
        threshold: f64,
        /// Within this share of the threshold nothing changes.
        tolerance: f64,
    },
    /// KEDA on prompt tokens in flight and KV memory, as llm-d's guide sets it.
    KedaTokens {
        /// Prompt tokens that a replica computes in a second; `None`: by the pool's own model of iteration times.
        prefill_tokens_per_s: Option<f64>,
        /// Within this share nothing changes.
        tolerance: f64,
    },
    /// llm-d's workload variant autoscaler, by saturation of KV memory and queues.
    WvaSaturation,
    /// Dynamo's load planner with bounds on shares.
    DynamoEasy(OptimizationTarget),
    /// Dynamo's load planner with estimates against latency targets.
    DynamoSla {
        /// Time to first token, microseconds.
        ttft_us: f64,
        /// Time between tokens, microseconds.
        itl_us: f64,
    },
}

/// Which replica of a pool drains when it shrinks; replicas that are still starting are always cancelled first, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DrainChoice {
    /// The one that was started last.
    Newest,
    /// The one with the fewest requests, the newest of equal ones.
    #[default]
    LeastLoaded,
    /// Any.
    Random,
}

/// How the number of replicas of a pool follows its load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Autoscaling {
    /// The rule.
    pub kind: ScalingKind,
    /// Fewest replicas; at least 1.
    pub min: u32,
    /// Most replicas; at least `min`.
    pub max: u32,
    /// From one decision to the next, microseconds; positive.
    pub interval_us: f64,
    /// From one look at the replicas' metrics to the next, microseconds; positive.
    pub scrape_us: f64,
    /// From a look until the rule has it, microseconds.
    pub scrape_delay_us: f64,
    /// Over how long a metric with a target is averaged, microseconds; 0: the last look.
    pub window_us: f64,
    /// How long no replica is added after a change; of rules that are smoothed by their wishes the lowest wish of this long counts.
    pub up_cooldown_us: f64,
    /// How long no replica is taken away after a change; of rules that are smoothed by their wishes the highest wish of this long
    /// counts.
    pub down_cooldown_us: f64,
    /// Most replicas that one decision adds.
    pub step_up: u32,
    /// Most replicas that one decision takes away.
    pub step_down: u32,
}

/// A cold start: how long a replica takes from the decision to start it until it can be given requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColdStart {
    /// Machine, image, weights, compilation and graphs, microseconds.
    pub work_us: f64,
    /// Standard deviation of that time over its mean; it is lognormal.
    pub variation: f64,
    /// Readiness is looked at this often from the beginning on, microseconds; 0: all the time.
    pub probe_us: f64,
    /// Seed of the times that are drawn.
    pub seed: u64,
}

impl ColdStart {
    /// The same time for every replica.
    pub const fn fixed(work_us: f64) -> Self {
        Self { work_us, variation: 0.0, probe_us: 0.0, seed: 0 }
    }

    /// How long a replica of a fleet takes, by its number.
    pub(crate) fn time_us(&self, replica: usize) -> f64 {
        let mut work_us = self.work_us;
        if self.variation > 0.0 {
            let uniform = Stream::named(self.seed, "fleet.cold_start").item(replica).uniform();
            let variance = libm::log1p(self.variation * self.variation);
            work_us *= libm::exp(variance.sqrt() * normal_quantile(uniform) - variance / 2.0);
        }
        if self.probe_us > 0.0 { (work_us / self.probe_us).ceil() * self.probe_us } else { work_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_ready_at_the_first_probe_after_its_work() {
        let start = |work_us, probe_us| ColdStart { probe_us, ..ColdStart::fixed(work_us) }.time_us(0);
        assert_eq!([start(41.0, 0.0), start(41.0, 10.0), start(40.0, 10.0)], [41.0, 50.0, 40.0]);
    }

    #[test]
    fn times_that_vary_have_the_mean_and_the_deviation_that_were_set() {
        let cold = ColdStart { variation: 0.25, seed: 7, ..ColdStart::fixed(120.0) };
        let times: Vec<f64> = (0..4_000).map(|replica| cold.time_us(replica)).collect();
        let mean = times.iter().sum::<f64>() / 4_000.0;
        let variance = times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>() / 4_000.0;
        assert!((mean / 120.0 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean / 0.25 - 1.0).abs() < 0.05, "{variance}");
    }
}
