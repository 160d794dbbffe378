//! A tier of host memory in whole scenarios: where it loses.

use servescope_engine::metrics::Summary;
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

/// Sessions that leave the GPU between their turns, for a minute and a half.
fn summary(settings: &[(&str, &str)]) -> Summary {
    let mut scenario = Scenario::of_version(5);
    let own = [
        ("workload.curve.kind", "constant"),
        ("workload.duration_s", "90"),
        ("workload.rate_rps", "2"),
        ("workload.adapters.count", "0"),
        ("workload.sessions.kind", "held"),
        ("workload.sessions.turns.mean", "6"),
        ("workload.sessions.context_cap", "20000"),
        ("workload.think.mean_s", "5"),
        ("workload.prefix.kind", "tree"),
        ("workload.input_tokens.median", "800"),
        ("fleet.kv_pool", "given"),
        ("scheduler.max_total_tokens", "24000"),
        ("scheduler.max_model_len", "22000"),
    ];
    for (path, value) in own.iter().chain(settings) {
        scenario.set_text(path, value).unwrap_or_else(|e| panic!("{path}: {e}"));
    }
    Run::simulate(&scenario, None).expect("a run").summary_of(1).run
}

fn mean_ttft_s(settings: &[(&str, &str)]) -> f64 {
    summary(settings).ttft_s.mean.expect("requests")
}

/// Blocks leave a host that holds less than the live sessions need just before they are asked for: it is written, and not read.
#[test]
fn a_tier_smaller_than_the_live_sessions_finds_nothing() {
    let of = |gib: &str| summary(&[("fleet.host_cache.gib", gib)]).host_cache.expect("a tier");
    let (small, large) = (of("2"), of("64"));
    println!("2 GiB: {small:?}; 64 GiB: {large:?}");
    assert!(small.hit_rate < Some(0.02) && small.stored_blocks > 1_000, "{small:?}");
    assert!(large.hit_rate > Some(0.1), "{large:?}");
}

#[test]
fn a_tier_on_a_slow_link_loses() {
    let without = mean_ttft_s(&[]);
    let fast = mean_ttft_s(&[("fleet.host_cache.gib", "64")]);
    // vLLM loads whatever it finds, also where computing it again takes less time.
    let slow = mean_ttft_s(&[("fleet.host_cache.gib", "64"), ("fleet.host_cache.gb_per_s", "1")]);
    println!("mean TTFT: {without:.3} s without a tier, {fast:.3} s at 32 GB/s, {slow:.3} s at 1 GB/s");
    assert!(fast < without && slow > 1.5 * without, "{without} {fast} {slow}");
}
