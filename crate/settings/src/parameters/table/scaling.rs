//! Rows of the number of replicas over time: autoscaling, cold start, drain.

use crate::parameters::builder::{choice, number, row, whole};
use crate::parameters::choices;
use crate::parameters::conditions::{
    COUNT_CHANGES, FAILS, ON_HARDWARE, SCALES, SCALES_BY_RATIO, SCALES_BY_TARGET, STARTS_IN_PARTS,
    STARTS_REPLICAS, above, any, when_in, when_not_in,
};
use crate::parameters::id::Id;
use crate::parameters::kind::{Kind, Parameter};

#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
    (Id::ScalingKind, row("fleet.autoscaling.kind", "ask", "fleet", choice(choices::Autoscaler::ID))
        .doc("Autoscaler", "What sets the number of replicas during a run: given times, or a rule that reads the replicas' metrics: Kubernetes' HPA; KEDA on waiting requests (production-stack) or on prompt tokens and KV memory (llm-d's guide); AIBrix's APA and KPA; llm-d's WVA by saturation; Dynamo's load planner. Rules are exact; how fleets fare under them was not compared with measured runs.")),
    (Id::PoolSchedule, row("fleet.autoscaling.schedule", "asc", "fleet", Kind::Text { most: 2000 })
        .when(&[when_in(Id::ScalingKind, &["schedule"])])
        .doc("Replicas over time", "The number of replicas from given times (seconds) on, as 60:4,300:1; before the first time, the number above. Surplus replicas get no new requests, finish those that they have, and stop.")),
    (Id::ScalingMetric, row("fleet.autoscaling.metric", "asm", "fleet", choice(choices::SCALING_METRIC))
        .when(&[SCALES_BY_TARGET])
        .doc("Metric", "What the rule compares with its target, for each replica: waiting requests (vllm:num_requests_waiting), waiting and running requests, or the share of KV blocks in use (vllm:kv_cache_usage_perc).")),
    (Id::ScalingTarget, row("fleet.autoscaling.target", "ast", "fleet", number(0.001, 1_000_000.0, 5.0)).log(0.1, 1000.0, 0.1)
        .when(&[any(&[SCALES_BY_TARGET, when_in(Id::ScalingKind, &["keda"])])])
        .doc("Target", "The value of the metric for each replica at which the number stays. Defaults: 5 waiting requests (production-stack), 100 waiting and running ones (Knative), .8 of the KV blocks.")),
    (Id::OptimizationTarget, row("fleet.autoscaling.optimization_target", "aso", "fleet", choice(choices::PlannerTarget::ID))
        .when(&[when_in(Id::ScalingKind, &["dynamo_load"])])
        .doc("Planner's target", "What Dynamo's planner holds (optimization_target): throughput or latency by bounds on queued prompt tokens and KV tokens, or SLA by estimates of TTFT and ITL.")),
    (Id::ScalingTtft, row("fleet.autoscaling.ttft_s", "att", "fleet", number(0.001, 10_000.0, 0.5)).unit("s").log(0.05, 10.0, 0.01)
        .when(&[when_in(Id::OptimizationTarget, &["sla"])])
        .doc("TTFT target", "Estimated time to the first token that the planner holds.")),
    (Id::ScalingItl, row("fleet.autoscaling.itl_s", "ati", "fleet", number(0.0001, 100.0, 0.05)).unit("s").log(0.005, 1.0, 0.001)
        .when(&[when_in(Id::OptimizationTarget, &["sla"])])
        .doc("ITL target", "Estimated time between tokens that the planner holds.")),
    (Id::ScalingPrefillSpeed, row("fleet.autoscaling.prefill_tokens_per_s", "asp", "fleet", number(0.0, 100_000_000.0, 0.0)).unit("tokens/s").linear(0.0, 50_000.0, 100.0)
        .when(&[when_in(Id::ScalingKind, &["keda_tokens"])])
        .doc("Prefill speed", "Prompt tokens that a replica computes in a second, by which the rule divides those in flight; llm-d's guide measures it. 0: by the pool's own model of iteration times.")),
    (Id::ScalingMin, row("fleet.autoscaling.min", "asn", "fleet", whole(1.0, 1024.0, 1.0)).linear(1.0, 16.0, 1.0)
        .when(&[SCALES])
        .doc("Fewest replicas", "The rule never goes below this number (minReplicas); a fleet without replicas is not modelled.")),
    (Id::ScalingMax, row("fleet.autoscaling.max", "asx", "fleet", whole(1.0, 1024.0, 8.0)).linear(1.0, 32.0, 1.0)
        .when(&[SCALES])
        .doc("Most replicas", "The rule never goes above this number (maxReplicas, or the planner's GPU budget).")),
    (Id::ScalingInterval, row("fleet.autoscaling.interval_s", "asi", "fleet", number(0.1, 86_400.0, 15.0)).unit("s").linear(1.0, 120.0, 1.0)
        .when(&[SCALES])
        .doc("Decision interval", "From one decision of the rule to the next. Defaults: 15 s (HPA and AIBrix), 30 s (KEDA), 60 s (WVA), 5 s (Dynamo).")),
    (Id::ScrapeInterval, row("fleet.autoscaling.scrape_s", "ass", "fleet", number(0.1, 86_400.0, 15.0)).unit("s").linear(1.0, 60.0, 1.0)
        .when(&[SCALES])
        .doc("Scrape interval", "How often the metrics of the ready replicas are read; a rule sees nothing newer than the last scrape.")),
    (Id::ScrapeDelay, row("fleet.autoscaling.scrape_delay_s", "asd", "fleet", number(0.0, 86_400.0, 0.0)).unit("s").linear(0.0, 60.0, 1.0)
        .when(&[SCALES])
        .doc("Scrape delay", "From a scrape until the rule can see it.")),
    (Id::ScalingWindow, row("fleet.autoscaling.window_s", "asw", "fleet", number(0.0, 86_400.0, 0.0)).unit("s").linear(0.0, 300.0, 5.0)
        .when(&[when_in(Id::ScalingKind, &["hpa", "apa", "keda", "keda_tokens"])])
        .doc("Metric window", "Over how long a metric is averaged; 0: the last scrape. The other rules have windows of their own.")),
    (Id::ScalingTolerance, row("fleet.autoscaling.tolerance", "asl", "fleet", number(0.0, 1.0, 0.1)).linear(0.0, 0.5, 0.01)
        .when(&[SCALES_BY_RATIO])
        .doc("Tolerance", "While the metric is within this share of its target the number stays.")),
    (Id::UpCooldown, row("fleet.autoscaling.up_cooldown_s", "auc", "fleet", number(0.0, 86_400.0, 0.0)).unit("s").linear(0.0, 600.0, 5.0)
        .when(&[SCALES])
        .doc("Pause before adding", "HPA and KEDA: the lowest wish of this long counts when replicas are added (stabilization window). Other rules: none is added for this long after a change.")),
    (Id::DownCooldown, row("fleet.autoscaling.down_cooldown_s", "adc", "fleet", number(0.0, 86_400.0, 300.0)).unit("s").linear(0.0, 600.0, 5.0)
        .when(&[SCALES])
        .doc("Pause before draining", "HPA and KEDA: the highest wish of this long counts when replicas drain (stabilization window). Other rules: none drains for this long after a change. Default: 300 s; WVA and Dynamo 0.")),
    (Id::StepUp, row("fleet.autoscaling.step_up", "asu", "fleet", whole(0.0, 1024.0, 0.0)).linear(0.0, 16.0, 1.0).off_at_zero()
        .when(&[SCALES])
        .doc("Most added at once", "Most replicas that one decision adds, beside the rule's own bounds. 0 = no limit.")),
    (Id::StepDown, row("fleet.autoscaling.step_down", "asq", "fleet", whole(0.0, 1024.0, 0.0)).linear(0.0, 16.0, 1.0).off_at_zero()
        .when(&[SCALES])
        .doc("Most drained at once", "Most replicas that one decision drains, beside the rule's own bounds. 0 = no limit.")),
    (Id::DrainPick, row("fleet.drain.pick", "drp", "fleet", choice(choices::DRAIN_PICK)).usual("least_loaded")
        .when(&[any(&[COUNT_CHANGES, when_not_in(Id::Pools, &[""])])])
        .doc("Which replica drains", "Where there are to be fewer replicas: the newest one, the one with the fewest requests, or any. Replicas that are still starting are always cancelled first.")),
    (Id::ColdStartKind, row("fleet.cold_start.kind", "csk", "fleet", choice(choices::ColdStartKind::ID))
        .when(&[STARTS_REPLICAS])
        .doc("Cold start", "How long a replica takes to start: one time, or the sum of its parts, which varies and ends at a readiness probe.")),
    (Id::StartUp, row("fleet.cold_start.delay_s", "csd", "fleet", number(0.0, 86_400.0, 60.0)).unit("s").linear(0.0, 600.0, 1.0)
        .when(&[STARTS_REPLICAS, when_in(Id::ColdStartKind, &["total"])])
        .doc("Start-up delay", "From the decision to start a replica until it can be given requests: node, image, weights, compilation and graphs. The replica is billed from the decision on, and starts with empty caches.")),
    (Id::StartMachine, row("fleet.cold_start.node_s", "csn", "fleet", number(0.0, 86_400.0, 0.0)).unit("s").linear(0.0, 600.0, 5.0)
        .when(&[STARTS_IN_PARTS])
        .doc("Machine", "Until a machine with free GPUs is there; 0: one is.")),
    (Id::StartImage, row("fleet.cold_start.image_gib", "cso", "fleet", number(0.0, 10_000.0, 12.0)).unit("GiB").linear(0.0, 50.0, 0.5)
        .when(&[STARTS_IN_PARTS])
        .doc("Image size", "The container image that the machine pulls; 0: it has it.")),
    (Id::StartImageRate, row("fleet.cold_start.image_gb_per_s", "csr", "fleet", number(0.001, 10_000.0, 1.0)).unit("GB/s").log(0.05, 10.0, 0.05)
        .when(&[STARTS_IN_PARTS, above(Id::StartImage, 0.0)])
        .doc("Image pull", "How fast the image is pulled and unpacked.")),
    (Id::StartWeightsRate, row("fleet.cold_start.weights_gb_per_s", "csx", "fleet", number(0.001, 10_000.0, 2.0)).unit("GB/s").log(0.1, 50.0, 0.1)
        .when(&[STARTS_IN_PARTS, ON_HARDWARE])
        .doc("Weights", "How fast the weights of the model, whose bytes are known, are read and copied to the GPUs of a replica.")),
    (Id::StartCompile, row("fleet.cold_start.compile_s", "csc", "fleet", number(0.0, 86_400.0, 45.0)).unit("s").linear(0.0, 300.0, 5.0)
        .when(&[STARTS_IN_PARTS])
        .doc("Compilation and graphs", "Compilation, profiling run and capture of CUDA graphs.")),
    (Id::StartProbe, row("fleet.cold_start.probe_s", "csb", "fleet", number(0.0, 3_600.0, 10.0)).unit("s").linear(0.0, 60.0, 1.0)
        .when(&[STARTS_IN_PARTS])
        .doc("Readiness probe", "The replica is ready at the first probe after its start (periodSeconds); probes are this far apart. 0: at once.")),
    (Id::StartVariation, row("fleet.cold_start.jitter", "csj", "fleet", number(0.0, 5.0, 0.1)).linear(0.0, 1.0, 0.01)
        .when(&[STARTS_IN_PARTS])
        .doc("Variation", "Standard deviation of the time before the probe over its mean; it is lognormal, and drawn for each replica.")),
    (Id::FailureTimes, row("fleet.failures.at_s", "fla", "fleet", Kind::Text { most: 2000 })
        .doc("Failures at", "Times in seconds, as 120,300, at each of which one of the ready replicas fails, drawn at random. Its requests are lost, and another replica starts in its place.")),
    (Id::FailureInterval, row("fleet.failures.mtbf_s", "flm", "fleet", number(0.0, 1e9, 0.0)).unit("s").linear(0.0, 3600.0, 10.0)
        .doc("Mean time between failures", "How long a replica runs on average until it fails (MTBF); times are exponential. 0: none fails beside those at given times.")),
    (Id::FailureRetries, row("fleet.failures.retries", "flr", "fleet", whole(0.0, 100.0, 3.0)).linear(0.0, 10.0, 1.0)
        .when(&[FAILS])
        .doc("Retries after a failure", "How often the router sends a request again whose replica failed: it begins from the start, and tokens that it had are thrown away. 0: it ends with an error.")),
];
