//! The scenario's autoscaler, and how long its replicas take to start.

use servescope_engine::{Autoscaling, ColdStart, OptimizationTarget, ScalingKind, ScalingMetric};

use super::adapters::AdapterRanks;
use super::{CostKind, Scenario};
use crate::diagnostic::Diagnostic;
use crate::parameters::choices::{self, Autoscaler, ColdStartKind, PlannerTarget};
use crate::parameters::{Id, Value};

const GIB: f64 = 1_073_741_824.0;

impl Scenario {
    /// Whether a rule chooses the number of replicas.
    pub fn autoscales(&self) -> bool {
        self.chosen(Autoscaler::ID) != Autoscaler::Schedule
    }

    /// The target of a rule that has one: production-stack's for waiting requests, Knative's for requests, and the share of KV blocks
    /// that llm-d's rules take as saturated.
    pub(super) fn usual_scaling_target(&self) -> Value {
        let by_metric = match self.chosen(choices::SCALING_METRIC) {
            _ if self.chosen(Autoscaler::ID) == Autoscaler::Keda => 5.0,
            ScalingMetric::NumRequestsWaiting => 5.0,
            ScalingMetric::Concurrency => 100.0,
            ScalingMetric::KvCacheUsage => 0.8,
        };
        Value::Number(by_metric)
    }

    /// From one decision to the next, by the rule's own default.
    pub(super) fn usual_scaling_interval(&self) -> Value {
        Value::Number(match self.chosen(Autoscaler::ID) {
            Autoscaler::Keda | Autoscaler::KedaTokens => 30.0,
            Autoscaler::WvaSaturation => 60.0,
            Autoscaler::DynamoLoad => 5.0,
            Autoscaler::Schedule | Autoscaler::Hpa | Autoscaler::Apa | Autoscaler::Kpa => 15.0,
        })
    }

    /// The pause before replicas drain, by the rule's own default.
    pub(super) fn usual_down_cooldown(&self) -> Value {
        let has_none =
            matches!(self.chosen(Autoscaler::ID), Autoscaler::WvaSaturation | Autoscaler::DynamoLoad);
        Value::Number(if has_none { 0.0 } else { 300.0 })
    }

    /// The rule as the engine has it; `None`: the number of replicas follows given times.
    pub(super) fn autoscaling(&self) -> Option<Autoscaling> {
        let us = |id: Id| self.number(id) * 1e6;
        let step = |id: Id| match self.whole(id) {
            0 => u32::MAX,
            most => most,
        };
        Some(Autoscaling {
            kind: self.scaling_kind()?,
            min: self.whole(Id::ScalingMin),
            max: self.whole(Id::ScalingMax),
            interval_us: us(Id::ScalingInterval),
            scrape_us: us(Id::ScrapeInterval),
            scrape_delay_us: us(Id::ScrapeDelay),
            window_us: if self.is_active(Id::ScalingWindow) { us(Id::ScalingWindow) } else { 0.0 },
            up_cooldown_us: us(Id::UpCooldown),
            down_cooldown_us: us(Id::DownCooldown),
            step_up: step(Id::StepUp),
            step_down: step(Id::StepDown),
        })
    }

    fn scaling_kind(&self) -> Option<ScalingKind> {
        let metric = self.chosen(choices::SCALING_METRIC);
        let target = self.number(Id::ScalingTarget);
        let tolerance = self.number(Id::ScalingTolerance);
        Some(match self.chosen(Autoscaler::ID) {
            Autoscaler::Schedule => return None,
            Autoscaler::Hpa => ScalingKind::Hpa { metric, target, tolerance },
            Autoscaler::Apa => ScalingKind::Apa { metric, target, tolerance },
            Autoscaler::Kpa => ScalingKind::Kpa { metric, target, tolerance },
            Autoscaler::Keda => ScalingKind::Keda { threshold: target, tolerance },
            Autoscaler::KedaTokens => {
                let per_s = self.number(Id::ScalingPrefillSpeed);
                ScalingKind::KedaTokens { prefill_tokens_per_s: (per_s > 0.0).then_some(per_s), tolerance }
            }
            Autoscaler::WvaSaturation => ScalingKind::WvaSaturation,
            Autoscaler::DynamoLoad => match self.chosen(PlannerTarget::ID) {
                PlannerTarget::Throughput => ScalingKind::DynamoEasy(OptimizationTarget::Throughput),
                PlannerTarget::Latency => ScalingKind::DynamoEasy(OptimizationTarget::Latency),
                PlannerTarget::Sla => ScalingKind::DynamoSla {
                    ttft_us: self.number(Id::ScalingTtft) * 1e6,
                    itl_us: self.number(Id::ScalingItl) * 1e6,
                },
            },
        })
    }

    /// How long a replica takes to start.
    pub fn cold_start(&self, ranks: AdapterRanks) -> ColdStart {
        match self.chosen(ColdStartKind::ID) {
            ColdStartKind::Total => ColdStart::fixed(self.number(Id::StartUp) * 1e6),
            ColdStartKind::Parts => ColdStart {
                work_us: self.cold_start_parts_s(ranks).iter().sum::<f64>() * 1e6,
                variation: self.number(Id::StartVariation),
                probe_us: self.number(Id::StartProbe) * 1e6,
                seed: self.number(Id::Seed) as u64,
            },
        }
    }

    /// Machine, image, weights, compilation and graphs of a replica that starts, seconds. The linear model of iteration times knows
    /// no weights.
    pub fn cold_start_parts_s(&self, ranks: AdapterRanks) -> [f64; 4] {
        let image_s = self.number(Id::StartImage) * GIB / (self.number(Id::StartImageRate) * 1e9);
        let weights = if self.cost_kind() == CostKind::Linear {
            0.0
        } else {
            self.memory_plan(ranks).weight_bytes * f64::from(self.gpus_per_replica())
        };
        let weights_s = weights / (self.number(Id::StartWeightsRate) * 1e9);
        [self.number(Id::StartMachine), image_s, weights_s, self.number(Id::StartCompile)]
    }

    /// The fewest replicas are more than the most.
    pub(super) fn scaling_problem(&self) -> Option<Diagnostic> {
        let (min, max) = (self.number(Id::ScalingMin), self.number(Id::ScalingMax));
        (self.autoscales() && min > max)
            .then(|| Diagnostic::out_of_range(Id::ScalingMin.row().id, min, 1.0, max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(settings: &[(&str, &str)]) -> Scenario {
        Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn rules_have_the_defaults_of_their_systems() {
        let of = |kind: &str| {
            let own = scenario(&[("fleet.autoscaling.kind", kind)]).autoscaling().unwrap();
            (own.interval_us / 1e6, own.down_cooldown_us / 1e6)
        };
        let kinds = ["hpa", "keda", "keda_tokens", "apa", "kpa", "wva_saturation", "dynamo_load"];
        let expected = [
            (15.0, 300.0),
            (30.0, 300.0),
            (30.0, 300.0),
            (15.0, 300.0),
            (15.0, 300.0),
            (60.0, 0.0),
            (5.0, 0.0),
        ];
        assert_eq!(kinds.map(of), expected);
        assert_eq!(scenario(&[]).autoscaling(), None);
        let target = |metric: &str| {
            let own = scenario(&[("fleet.autoscaling.kind", "hpa"), ("fleet.autoscaling.metric", metric)]);
            own.number(Id::ScalingTarget)
        };
        let metrics = ["num_requests_waiting", "concurrency", "kv_cache_usage_perc"];
        assert_eq!(metrics.map(target), [5.0, 100.0, 0.8]);
    }

    #[test]
    fn a_start_is_the_sum_of_its_parts_with_the_weights_of_the_model() {
        let own = scenario(&[
            ("scheduler.kind", "vllm_v1"),
            ("cost.kind", "roofline"),
            ("fleet.model", "llama-3.1-8b"),
            ("fleet.gpu", "h100_sxm"),
            ("fleet.tensor_parallel", "2"),
            ("fleet.autoscaling.kind", "hpa"),
            ("fleet.cold_start.kind", "parts"),
            ("fleet.cold_start.node_s", "30"),
            ("fleet.cold_start.image_gib", "10"),
            ("fleet.cold_start.image_gb_per_s", "0.5"),
        ]);
        let [machine, image, weights, compile] = own.cold_start_parts_s(AdapterRanks::default());
        assert_eq!((machine, compile), (30.0, 45.0));
        assert!((image - 21.474_836_48).abs() < 1e-9);
        // 8.03 billion parameters of 2 bytes at 2 GB/s.
        assert!((weights / 8.03 - 1.0).abs() < 0.01, "{weights}");
        let start = own.cold_start(AdapterRanks::default());
        assert_eq!(start.work_us, (machine + image + weights + compile) * 1e6);
        assert_eq!((start.variation, start.probe_us), (0.1, 10e6));
    }

    #[test]
    fn the_fewest_replicas_are_at_most_the_most() {
        let wrong = [("fleet.autoscaling.min", "4"), ("fleet.autoscaling.max", "3")];
        let rule = [("fleet.autoscaling.kind", "hpa")];
        let problems = scenario(&[&rule[..], &wrong].concat()).problems();
        assert_eq!(
            problems.iter().map(|problem| &*problem.path).collect::<Vec<_>>(),
            ["fleet.autoscaling.min"]
        );
        assert!(scenario(&wrong).problems().is_empty(), "without a rule both do nothing");
    }
}
