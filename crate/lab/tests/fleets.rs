//! Fleets as scenarios: what a run uses is at most all there is, prefixes are routed to where they are cached, and the KV
//! memory is as large as was asked for.

use proptest::prelude::*;
use servescope_lab::run::{Run, RunSummary};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::scenario::Scenario;

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"))
}

fn summary(settings: &[(&str, &str)]) -> RunSummary {
    Run::simulate(&scenario(settings), None).expect("the scenario is sound").summary()
}

fn error(settings: &[(&str, &str)]) -> Diagnostic {
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
        // A budget below the longest request may be rejected.
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
        let read = |row: &servescope_engine::metrics::fleet::ReplicaRow| row.prefix_hit_rate.is_some();
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
    // One block is never given to a request, and the longest request has to fit.
    let short = [("scheduler.max_model_len", "512")];
    let pool =
        |others: &[(&str, &str)]| summary(&[&H100_8B[..], &short, others].concat()).run.kv.pool_tokens + 16;
    // 2 x 32 layers x 8 heads x 128 numbers of 2 bytes: 128 KiB a token.
    assert_eq!(pool(&[("fleet.kv_cache_gib", "8")]), 65_536);
    // Per GPU: two GPUs hold half of each token.
    assert_eq!(pool(&[("fleet.kv_cache_gib", "8"), ("fleet.tensor_parallel", "2")]), 131_072);
    assert_eq!(pool(&[("fleet.kv_cache_gib", "8"), ("fleet.memory_margin", "0.5")]), 65_536);
    assert_eq!(pool(&[("fleet.kv_cache_gib", "0")]), pool(&[]));
    // Every size that is left fits: none is lost to rounding.
    for tenths in 2..40 {
        let gib = format!("{}", f64::from(tenths) / 10.0);
        let tokens = (f64::from(tenths) / 10.0 * 8192.0) as u32 / 16 * 16;
        assert_eq!(pool(&[("fleet.kv_cache_gib", &gib)]), tokens, "{gib} GiB");
    }
    // As vLLM's flag takes it: 5g is 5e9 bytes, of which Qwen2.5-3B's 36 layers of 2 heads take 36,864 a token.
    let qwen = |size: &str| pool(&[("fleet.model", "qwen2.5-3b"), ("fleet.kv_cache_gib", size)]);
    assert_eq!((qwen("5g"), qwen("0.5g"), qwen("5GiB")), (135_632, 13_552, 145_632));
    let refused = error(&[&H100_8B[..], &[("fleet.kv_cache_gib", "100")]].concat());
    assert_eq!(
        (refused.code, refused.path.as_str()),
        ("kv_does_not_fit", "fleet.kv_cache_gib"),
        "{refused:?}"
    );
}

#[test]
fn adapters_that_do_not_fit_are_named() {
    let many = [("workload.adapters.count", "5000"), ("workload.adapters.ranks", "16")];
    let with = |others: &[(&'static str, &'static str)]| [&H100_8B[..], &many, others].concat();
    let refused = error(&with(&[("adapters.memory", "resident")]));
    assert_eq!((refused.code, refused.path.as_str()), ("adapters_do_not_fit", "adapters.memory"));
    assert!(refused.message.contains("adapters") && refused.message.contains("Llama-3.1-8B"), "{refused:?}");
    let refused = error(&[&H100_8B[..], &[("fleet.model", "llama-3.1-70b")]].concat());
    assert_eq!(refused.code, "does_not_fit");
    // 5,000 adapters of rank 16 take 320,000 tokens under the linear model.
    let linear = [("cost.kind", "linear"), ("adapters.memory", "resident")];
    let refused = error(&with(&linear));
    assert_eq!((refused.code, refused.path.as_str()), ("adapters_over_pool", "adapters.memory"));
    // Slots and what comes and goes leave room.
    for memory in ["slots", "unified"] {
        let adapters = summary(&with(&[("adapters.memory", memory)])).run.adapters;
        assert!(adapters.loads > 0, "{memory}: {adapters:?}");
    }
}

/// 8 slots of rank 16 of all linear modules of Llama-3.1-8B: 8 x 16 x 5,242,880 bytes, at 128 KiB a token; adapters that stay
/// have the four projections of attention, 1,703,936 bytes for each unit of rank.
#[test]
fn slots_are_taken_from_the_pool_where_adapters_are_asked_for() {
    let pool = |others: &[(&'static str, &'static str)]| {
        summary(&[&H100_8B[..], others].concat()).run.kv.pool_tokens
    };
    let adapters = |others: &[(&'static str, &'static str)]| {
        pool(&[&[("workload.adapters.count", "20"), ("workload.adapters.ranks", "8,16")], others].concat())
    };
    let none = pool(&[]);
    assert_eq!(none, pool(&[("adapters.max_loras", "64")]), "no request asks for an adapter");
    let near = |pool: u32, tokens: u32| assert!((none - pool).abs_diff(tokens) <= 16, "{}", none - pool);
    near(adapters(&[]), 8 * 16 * 40);
    near(adapters(&[("adapters.max_lora_rank", "64")]), 8 * 64 * 40);
    near(adapters(&[("adapters.max_loras", "20")]), 20 * 16 * 40);
    near(adapters(&[("adapters.memory", "resident")]), 20 * 12 * 13);
    assert_eq!(adapters(&[("adapters.memory", "unified")]), none);
}

#[test]
fn the_host_keeps_at_least_what_is_in_slots() {
    let adapters = [("workload.adapters.count", "20"), ("adapters.max_cpu_loras", "4")];
    let refused = error(&[&H100_8B[..], &adapters].concat());
    assert_eq!((refused.code, refused.path.as_str()), ("out_of_range", "adapters.max_cpu_loras"));
}

#[test]
fn a_rank_above_the_slots_is_rejected_and_counted() {
    let adapters = [
        ("workload.adapters.count", "20"),
        ("workload.adapters.ranks", "8,64"),
        ("adapters.max_lora_rank", "16"),
    ];
    let requests = summary(&[&H100_8B[..], &adapters].concat()).run.requests;
    assert_eq!(requests.rejected["lora_rank"], requests.rejected_total);
    assert!(requests.rejected_total > 0 && requests.completed > 0);
}

/// 64 adapters on 8 replicas: a replica that keeps to its own loads less and answers sooner.
#[test]
fn adapter_affinity_pays_off() {
    let with = |router: &'static str| {
        let adapters = [
            ("workload.adapters.count", "64"),
            ("workload.adapters.ranks", "64"),
            ("fleet.replicas", "8"),
            ("workload.rate_rps", "40"),
            ("workload.duration_s", "60"),
            ("fleet.router", router),
        ];
        summary(&[&H100_8B[..], &adapters].concat()).run
    };
    let (in_turn, by_adapter) = (with("round_robin"), with("adapter_affinity"));
    assert!(2 * by_adapter.adapters.loads <= in_turn.adapters.loads, "{:?}", by_adapter.adapters);
    assert!(by_adapter.ttft_s.mean < in_turn.ttft_s.mean, "{:?}", by_adapter.ttft_s);
}

/// At a batch of 32 an iteration grows with its distinct adapters, and one adapter for all costs less than half of what 32 do.
#[test]
fn an_iteration_grows_with_its_distinct_adapters() {
    let profile: [(&str, &str); 4] = [
        ("scheduler.kind", "vllm_v1"),
        ("cost.kind", "profile"),
        ("fleet.gpu", "a100_80_sxm"),
        ("fleet.model", "llama-2-7b"),
    ];
    for hardware in [&H100_8B[..4], &profile] {
        let tpot = |count: &'static str| {
            let load = [
                ("workload.adapters.count", count),
                ("workload.rate_rps", "32"),
                ("workload.duration_s", "1"),
                ("workload.arrivals.kind", "batch"),
                ("workload.arrivals.batch_size", "32"),
                ("workload.input_tokens.kind", "fixed"),
                ("workload.output_tokens.kind", "fixed"),
                ("adapters.max_loras", "32"),
            ];
            summary(&[hardware, &load].concat()).run.tpot_s.mean.unwrap()
        };
        let [none, one, eight, all] = ["0", "1", "8", "400"].map(tpot);
        assert!(none < one && one < eight && eight < all, "{none} {one} {eight} {all}");
        assert!(one - none < 0.5 * (all - none), "{none} {one} {all}");
    }
}
