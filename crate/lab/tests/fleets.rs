//! Fleets as scenarios: what a run uses is at most all there is, prefixes are routed to where they are cached, and the KV
//! memory is as large as was asked for.

use proptest::prelude::*;
use servescope_lab::{Failure, Run, RunSummary, Scenario};

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = Scenario::default();
    for (path, value) in settings {
        scenario.set_text(path, value).unwrap_or_else(|failure| panic!("{path}={value}: {failure:?}"));
    }
    scenario
}

fn summary(settings: &[(&str, &str)]) -> RunSummary {
    Run::simulate(&scenario(settings), None).expect("the scenario is sound").summary()
}

fn failure(settings: &[(&str, &str)]) -> Failure {
    Run::simulate(&scenario(settings), None).expect_err("the scenario is not sound").remove(0)
}

fn check_use(summary: &RunSummary) -> Result<(), TestCaseError> {
    const ROUNDING: f64 = 1e-9;
    let (kv, gpu) = (&summary.run.kv, &summary.run.gpu);
    let peak = kv.peak_usage.unwrap_or(0.0);
    prop_assert!(peak <= 1.0 && kv.mean_usage.unwrap_or(0.0) <= peak + ROUNDING, "{kv:?}");
    for share in [gpu.busy, gpu.bandwidth, gpu.mfu] {
        prop_assert!(share.is_none_or(|share| (0.0..=1.0 + ROUNDING).contains(&share)), "{gpu:?}");
    }
    for row in summary.fleet.iter().flat_map(|fleet| &fleet.per_replica) {
        for share in [row.busy, row.mean_kv, row.peak_kv, row.bandwidth] {
            prop_assert!(share.is_none_or(|share| (0.0..=1.0 + ROUNDING).contains(&share)), "{row:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn no_stack_uses_more_than_all(
        scheduler in prop::sample::select(&["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1"][..]),
        cost in prop::sample::select(&["linear", "roofline"][..]), blocks_as_original in any::<bool>(),
        replicas in 1u32..4, rate in 0.5..4.0f64, pool in 300u32..1_500, budget in 100u32..1_200, seed in 0u32..1_000,
    ) {
        let [replicas, rate, pool, budget, seed, original] = [
            replicas.to_string(), rate.to_string(), pool.to_string(), budget.to_string(), seed.to_string(),
            blocks_as_original.to_string(),
        ];
        let run = Run::simulate(&scenario(&[
            ("scheduler.kind", scheduler), ("cost.kind", cost), ("fleet.kv_pool", "given"),
            ("fleet.replicas", &replicas), ("workload.rate_rps", &rate), ("scheduler.max_total_tokens", &pool),
            ("scheduler.batch_max_tokens", &budget), ("seed", &seed), ("workload.duration_s", "30"),
            ("scheduler.original_blocking", &original),
        ]), None);
        // A budget below the longest request may be refused.
        if let Ok(run) = run {
            check_use(&run.summary())?;
        }
    }
}

#[test]
fn a_stuck_run_ends_at_its_last_iteration() {
    for scheduler in ["vllm", "sarathi"] {
        let summary = summary(&[
            ("scheduler.kind", scheduler),
            ("workload.rate_rps", "1"),
            ("workload.duration_s", "60"),
            ("scheduler.max_total_tokens", "700"),
            ("scheduler.batch_max_tokens", "600"),
            ("scheduler.original_blocking", "true"),
        ]);
        assert!(summary.run.requests.unfinished > 0);
        check_use(&summary).unwrap();
    }
}

/// Eight replicas of Llama-3.1-8B under held sessions of 200 adapters that share a system prompt of 128 tokens.
fn sessions(router: &str, others: &[(&str, &str)]) -> RunSummary {
    let settings = [
        ("scheduler.kind", "vllm_v1"),
        ("cost.kind", "roofline"),
        ("fleet.gpu", "h100_sxm"),
        ("fleet.model", "llama-3.1-8b"),
        ("fleet.replicas", "8"),
        ("scheduler.prefix_cache", "true"),
        ("workload.sessions.kind", "held"),
        ("workload.prefix.kind", "tree"),
        ("workload.rate_rps", "150"),
        ("workload.duration_s", "30"),
        ("workload.adapters.count", "200"),
        ("fleet.router", router),
    ];
    summary(&[&settings[..], others].concat())
}

#[test]
fn prefix_affinity_finds_what_is_cached_and_uses_every_replica() {
    let none = [("workload.adapters.count", "0"), ("workload.prefix.system_tokens", "0")];
    for others in [&[][..], &none[..]] {
        let [turn, least, prefix] =
            ["round_robin", "least_outstanding", "prefix_affinity"].map(|router| sessions(router, others));
        let hits = |summary: &RunSummary| summary.run.prefix_cache.unwrap().hit_rate.unwrap();
        assert!(hits(&prefix) > 1.3 * hits(&turn), "{} after {}", hits(&prefix), hits(&turn));
        assert!(hits(&prefix) > 1.3 * hits(&least), "{} after {}", hits(&prefix), hits(&least));
        let ttft = |summary: &RunSummary| summary.run.ttft_s.mean.unwrap();
        assert!(ttft(&prefix) <= ttft(&least), "{} s after {} s", ttft(&prefix), ttft(&least));
        let rows = &prefix.fleet.as_ref().unwrap().per_replica;
        let mean = rows.iter().map(|row| f64::from(row.requests)).sum::<f64>() / rows.len() as f64;
        assert!(rows.iter().all(|row| f64::from(row.requests) > 0.5 * mean), "{rows:?}");
        // What the caches spared was not computed.
        let lookups = prefix.run.prefix_cache.unwrap();
        let read = |row: &servescope_lab::engine::metrics::fleet::ReplicaRow| row.prefix_hit_rate.is_some();
        assert!(rows.iter().all(read) && lookups.cached_tokens < lookups.looked_up_tokens);
    }
}

#[test]
fn affinity_to_nothing_starves_no_replica() {
    for router in ["adapter_affinity", "prefix_affinity"] {
        for replicas in ["8", "32"] {
            let summary = sessions(
                router,
                &[
                    ("fleet.replicas", replicas),
                    ("workload.adapters.count", "0"),
                    ("workload.sessions.kind", "none"),
                    ("workload.rate_rps", "20"),
                ],
            );
            let rows = &summary.fleet.as_ref().unwrap().per_replica;
            let mean = rows.iter().map(|row| f64::from(row.requests)).sum::<f64>() / rows.len() as f64;
            assert!(
                rows.iter().all(|row| f64::from(row.requests) > 0.5 * mean),
                "{router}, {replicas}: {rows:?}"
            );
        }
    }
}

const H100_8B: [(&str, &str); 5] = [
    ("scheduler.kind", "vllm_v1"),
    ("cost.kind", "roofline"),
    ("fleet.gpu", "h100_sxm"),
    ("fleet.model", "llama-3.1-8b"),
    ("workload.adapters.count", "0"),
];

#[test]
fn kv_memory_may_be_asked_for() {
    let pool = |others: &[(&str, &str)]| summary(&[&H100_8B[..], others].concat()).run.kv.pool_tokens;
    // 2 x 32 layers x 8 heads x 128 numbers of 2 bytes: 128 KiB a token.
    assert_eq!(pool(&[("fleet.kv_cache_gib", "8")]), 65_536);
    // Per GPU: two GPUs hold half of each token.
    assert_eq!(pool(&[("fleet.kv_cache_gib", "8"), ("fleet.tensor_parallel", "2")]), 131_072);
    assert_eq!(pool(&[("fleet.kv_cache_gib", "8"), ("fleet.memory_margin", "0.5")]), 65_536);
    assert_eq!(pool(&[("fleet.kv_cache_gib", "0")]), pool(&[]));
    let refused = failure(&[&H100_8B[..], &[("fleet.kv_cache_gib", "100")]].concat());
    assert_eq!(
        (refused.code, refused.path.as_str()),
        ("kv_does_not_fit", "fleet.kv_cache_gib"),
        "{refused:?}"
    );
}

#[test]
fn adapters_that_do_not_fit_are_named() {
    let adapters = [("workload.adapters.count", "5000"), ("workload.adapters.ranks", "16")];
    let refused = failure(&[&H100_8B[..], &adapters].concat());
    assert_eq!(refused.code, "adapters_do_not_fit");
    assert!(refused.message.contains("adapters") && refused.message.contains("Llama-3.1-8B"), "{refused:?}");
    let refused = failure(&[&H100_8B[..], &[("fleet.model", "llama-3.1-70b")]].concat());
    assert_eq!(refused.code, "does_not_fit");
}
