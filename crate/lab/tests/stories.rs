//! What the page's stories of long requests and of leaked reservations say holds on seeds that they were not chosen on.

use std::path::Path;

use serde_json::Value as Json;
use servescope_engine::metrics::Summary;
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

/// Seeds that no story was chosen on.
fn seeds() -> std::ops::Range<u32> {
    1000..1000 + if servescope_testkit::is_whole() { 40 } else { 4 }
}

fn set_all(scenario: &mut Scenario, path: &str, json: &Json) {
    match json {
        Json::Object(inner) => {
            let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            inner.iter().for_each(|(name, json)| set_all(scenario, &below(name), json));
        }
        Json::String(text) => scenario.set_text(path, text).unwrap(),
        other => scenario.set_text(path, &other.to_string()).unwrap(),
    }
}

/// The settings of a story without its policy, and with it.
fn sides(id: &str) -> (Scenario, Scenario) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../static/presets/{id}.json"));
    let story: Json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let (with, errors) = Scenario::from_json(&story["scenario"]);
    assert!(errors.is_empty(), "{errors:?}");
    let mut without = with.clone();
    set_all(&mut without, "", &story["without"]);
    (without, with)
}

fn summary(scenario: &Scenario, seed: u32) -> Summary {
    let mut scenario = scenario.clone();
    scenario.set_text("seed", &seed.to_string()).unwrap();
    Run::simulate(&scenario, None).unwrap_or_else(|errors| panic!("{errors:?}")).summary().run
}

/// The story's run without its policy and the one with it, for each seed.
fn both_sides(id: &str, judge: impl Fn(u32, &Summary, &Summary)) {
    let sides = sides(id);
    for seed in seeds() {
        let [without, with] = [&sides.0, &sides.1].map(|side| summary(side, seed));
        assert_eq!(with.requests.completed, with.requests.offered, "seed {seed}");
        judge(seed, &without, &with);
    }
}

fn attained(summary: &Summary) -> f64 {
    summary.slo.attainment_all.unwrap()
}

/// Short prompts are nine of ten, so most of the queueing delay is theirs.
#[test]
fn with_a_long_prefill_threshold_short_prompts_do_not_wait_behind_long_ones() {
    both_sides("tail_prompt_budget", |seed, without, with| {
        assert!(with.queue_s.mean < without.queue_s.mean.map(|s| s / 3.0), "seed {seed}");
        assert!(attained(with) > attained(without) + 0.15, "seed {seed}");
    });
}

/// A prompt of 24,000 tokens takes about a second whole, and a tenth of a second a chunk.
#[test]
fn with_a_small_token_budget_no_output_stops_for_a_long_prompt() {
    both_sides("tail_mixed_prefill", |seed, without, with| {
        assert!(with.tbt_s.max < without.tbt_s.max.map(|s| s / 5.0), "seed {seed}");
        assert!(attained(with) > 0.99 && attained(without) < 0.9, "seed {seed}");
    });
}

#[test]
fn with_the_shortest_output_first_the_mean_queueing_delay_falls() {
    both_sides("tail_mixed_decode", |seed, without, with| {
        assert!(with.queue_s.mean < without.queue_s.mean.map(|s| 0.8 * s), "seed {seed}");
        assert!(attained(with) > attained(without), "seed {seed}");
    });
}

#[test]
fn with_little_memory_the_kv_check_makes_requests_wait() {
    let (small, large) = sides("kv_memory");
    let mut unchecked = small.clone();
    unchecked.set_text("gateway.checks", "rpm|tpm|concurrency|queue").unwrap();
    for seed in seeds() {
        let [small, large, unchecked] = [&small, &large, &unchecked].map(|side| summary(side, seed));
        let [held, plenty, free] = [&small, &large, &unchecked].map(|run| run.ttft_s.p50.unwrap());
        assert!(held > 3.0 * plenty && free < 1.1 * plenty, "seed {seed}: {held} {plenty} {free}");
        assert!(unchecked.preemptions > 0 && small.preemptions == 0, "seed {seed}");
        assert!(unchecked.ttft_s.p99 > large.ttft_s.p99.map(|s| 1.5 * s), "seed {seed}");
    }
}

#[test]
fn with_leaked_reservations_a_quarter_times_out_beside_free_memory() {
    both_sides("leaks", |seed, without, with| {
        assert!(attained(with) > 0.99, "seed {seed}");
        assert!(4 * without.requests.timed_out > without.requests.offered, "seed {seed}");
        assert!(without.kv.mean_usage.is_some_and(|usage| usage < 0.5), "seed {seed}");
    });
}

fn median_ttft(summary: &Summary) -> f64 {
    summary.ttft_s.p50.unwrap()
}

fn p99_ttft(summary: &Summary) -> f64 {
    summary.ttft_s.p99.unwrap()
}

#[test]
fn long_documents_cost_the_tail_and_not_the_median() {
    both_sides("will_long_context", |seed, without, with| {
        assert!(median_ttft(with) < 1.5 * median_ttft(without), "seed {seed}");
        assert!(p99_ttft(with) > 10.0 * p99_ttft(without), "seed {seed}");
        assert!(with.tbt_s.p99 > without.tbt_s.p99.map(|s| 1.3 * s), "seed {seed}");
    });
}

#[test]
fn eight_slots_make_sixty_four_adapters_wait_beside_free_memory() {
    both_sides("will_few_slots", |seed, without, with| {
        assert!(median_ttft(with) > 20.0 * median_ttft(without), "seed {seed}");
        let is_free = |run: &Summary| run.kv.mean_usage.is_some_and(|usage| usage < 0.5);
        assert!(is_free(with) && is_free(without), "seed {seed}");
    });
}

#[test]
fn a_quota_makes_a_busy_user_wait_beside_a_free_gpu() {
    let of = |run: &Summary, user: i64| {
        run.per_user.iter().find(|row| row.id == user).and_then(|row| row.ttft_mean_s).unwrap()
    };
    both_sides("will_quota", |seed, quota, fair| {
        assert!(of(quota, 0) > 120.0 && of(fair, 0) < 1.0, "seed {seed}");
        assert!(of(quota, 1) < 0.1 && of(fair, 1) < 0.1, "seed {seed}");
    });
}

#[test]
fn an_l40s_serves_what_an_h100_does_several_times_as_slowly() {
    both_sides("will_gpu", |seed, large, small| {
        assert!(median_ttft(small) > 3.0 * median_ttft(large), "seed {seed}");
        assert!(small.tbt_s.p50 > large.tbt_s.p50.map(|s| 2.5 * s), "seed {seed}");
    });
}

#[test]
fn prefix_caching_keeps_up_where_it_would_be_overloaded_without() {
    both_sides("will_prefix_cache", |seed, without, with| {
        assert!(median_ttft(without) > 10.0 * median_ttft(with), "seed {seed}");
        assert!(without.throughput_rps < with.throughput_rps.map(|rps| 0.95 * rps), "seed {seed}");
    });
}

#[test]
fn host_memory_shortens_the_ttft_of_agents_whose_sessions_leave_the_gpu() {
    both_sides("will_host_cache", |seed, without, with| {
        let p90 = |run: &Summary| run.ttft_s.p90.unwrap_or(f64::NAN);
        assert!(p90(without) > 3.0 * p90(with), "seed {seed}: {} {}", p90(without), p90(with));
        let host = with.host_cache.expect("a tier");
        assert!(host.hit_rate.is_some_and(|rate| rate > 0.05), "seed {seed}: {host:?}");
        assert!(without.host_cache.is_none(), "seed {seed}");
    });
}

/// Batches of prompts follow one another on SGLang, and no running request gets a token meanwhile; first tokens come as soon.
#[test]
fn on_sglang_tokens_stall_for_prompts() {
    both_sides("will_sglang", |seed, without, with| {
        assert!(with.tbt_s.max > without.tbt_s.max.map(|s| 1.5 * s), "seed {seed}");
        assert!(with.ttft_s.mean < without.ttft_s.mean.map(|s| 1.1 * s), "seed {seed}");
    });
}

/// Rows of drafts and a drafter that reads prompts cost first tokens where the room is nearly full; half as many requests get their
/// tokens almost twice as fast.
#[test]
fn drafts_delay_first_tokens_in_a_nearly_full_room() {
    both_sides("will_drafts", |seed, without, with| {
        let mean = |run: &Summary| run.ttft_s.mean.expect("requests");
        assert!(mean(with) > 1.35 * mean(without), "seed {seed}: {} {}", mean(with), mean(without));
        assert!(with.tpot_s.p50 > without.tpot_s.p50.map(|s| 0.7 * s), "seed {seed}");
    });
    let (without, with) = sides("will_drafts");
    let half = |side: &Scenario| {
        let mut side = side.clone();
        side.set_text("workload.rate_rps", "20").unwrap();
        summary(&side, 1).tpot_s.p50.expect("requests")
    };
    assert!(half(&with) < 0.62 * half(&without), "{} {}", half(&with), half(&without));
}

/// Eight ranks have room for the requests that wait under tensor parallelism; with few requests they are slower in everything.
#[test]
fn ranks_shorten_the_ttft_where_kv_memory_is_short_and_lose_where_it_is_not() {
    let mean = |run: &Summary| run.ttft_s.mean.expect("requests");
    let tpot = |run: &Summary| run.tpot_s.mean.expect("tokens");
    both_sides("will_ranks", |seed, tensor, ranks| {
        assert!(mean(ranks) < 0.4 * mean(tensor), "seed {seed}: {} {}", mean(ranks), mean(tensor));
        assert!(tpot(ranks) > tpot(tensor), "seed {seed}");
    });
    let (tensor, ranks) = sides("will_ranks");
    let few = |mut side: Scenario| {
        side.set_text("workload.rate_rps", "4").unwrap();
        summary(&side, 1)
    };
    let (tensor, ranks) = (few(tensor), few(ranks));
    assert!(mean(&ranks) > 1.4 * mean(&tensor) && tpot(&ranks) > 1.4 * tpot(&tensor));
}

/// The burst is over before a replica is ready; of one that is longer than a start the new replicas serve most.
#[test]
fn an_autoscaler_pays_for_a_burst_that_is_over_before_its_replicas_are_ready() {
    let gpu_s = |side: &Scenario, seed: u32| {
        let mut side = side.clone();
        side.set_text("seed", &seed.to_string()).unwrap();
        Run::simulate(&side, None).unwrap().summary().gpu_s
    };
    let (fixed, scaled) = sides("will_autoscale");
    both_sides("will_autoscale", |seed, without, with| {
        let [slowest_fixed, slowest] = [without, with].map(|run| run.ttft_s.p99.expect("requests"));
        assert!(slowest > 20.0 && slowest > 0.99 * slowest_fixed, "seed {seed}: {slowest} {slowest_fixed}");
        assert!(with.scaling.is_some_and(|scaling| scaling.started == 3 && scaling.starting_s == 360.0));
        assert!(gpu_s(&scaled, seed) > 2.5 * gpu_s(&fixed, seed), "seed {seed}");
    });
    let long = |side: &Scenario| {
        let mut side = side.clone();
        side.set_text("workload.curve.end_s", "360").unwrap();
        summary(&side, 1)
    };
    let (fixed, scaled) = (long(&fixed), long(&scaled));
    assert!(median_ttft(&scaled) < 0.1 && median_ttft(&fixed) > 60.0, "a burst longer than a start");
}

#[test]
fn prefill_apart_evens_gaps_and_loses_under_load() {
    let mean = |run: &Summary| run.ttft_s.mean.expect("requests");
    let tpot = |run: &Summary| run.tpot_s.mean.expect("tokens");
    let gap = |run: &Summary| run.tbt_s.p99.expect("tokens");
    both_sides("will_apart", |seed, together, apart| {
        assert!(gap(apart) < 0.2 * gap(together), "seed {seed}: {} {}", gap(apart), gap(together));
        assert!(tpot(apart) < 0.85 * tpot(together), "seed {seed}");
        assert!(mean(apart) > 1.2 * mean(together), "seed {seed}");
        let transfers = apart.kv_transfer.expect("requests are disaggregated");
        assert!(transfers.share == 1.0 && transfers.mean_pull_s >= transfers.mean_alone_s, "{transfers:?}");
    });
    let (together, apart) = sides("will_apart");
    let with = |mut side: Scenario, path: &str, value: &str| {
        side.set_text(path, value).unwrap();
        summary(&side, 1)
    };
    let rate = "workload.rate_rps";
    let (whole, halves) = (mean(&with(together, rate, "30")), mean(&with(apart.clone(), rate, "30")));
    assert!(halves > 10.0 * whole, "{whole} {halves}");
    let slow = with(apart.clone(), "fleet.transfer.gb_per_s", "2.5");
    assert!(mean(&slow) > 1.5 * mean(&summary(&apart, 1)));
}

#[test]
fn a_router_that_knows_the_caches_halves_the_ttft_of_agents() {
    both_sides("will_router", |seed, turn, with| {
        let hits =
            |summary: &Summary| summary.prefix_cache.and_then(|cache| cache.hit_rate).expect("a cache");
        let mean = |summary: &Summary| summary.ttft_s.mean.expect("requests");
        assert!(hits(with) > hits(turn) + 0.1, "seed {seed}: {} {}", hits(with), hits(turn));
        assert!(mean(with) < 0.6 * mean(turn), "seed {seed}: {} {}", mean(with), mean(turn));
    });
}

#[test]
fn a_small_bound_on_sequences_makes_requests_wait_beside_free_memory() {
    both_sides("will_flags", |seed, without, with| {
        assert!(median_ttft(with) > 1.0 && median_ttft(without) < 0.05, "seed {seed}");
        assert!(with.kv.mean_usage.is_some_and(|usage| usage < 0.5), "seed {seed}");
        assert!(with.tbt_s.p50 < without.tbt_s.p50, "seed {seed}");
    });
}
