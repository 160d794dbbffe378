//! When separate pools for prefill and decode lose, and when they win: Qwen3-32B on H100, against the same GPUs together.

use servescope_engine::metrics::Summary;
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

/// Prompts of 4,000 tokens and answers of 200, at an even rate.
const BASE: [(&str, &str); 15] = [
    ("scheduler.kind", "vllm_v1"),
    ("scheduler.max_input_tokens", "16384"),
    ("scheduler.max_request_tokens", "20000"),
    ("cost.kind", "kernels"),
    ("fleet.gpu", "h100_sxm"),
    ("fleet.model", "qwen3-32b"),
    ("fleet.tensor_parallel", "2"),
    ("fleet.router", "least_outstanding"),
    ("workload.adapters.count", "0"),
    ("workload.curve.kind", "constant"),
    ("workload.duration_s", "60"),
    ("workload.input_tokens.kind", "fixed"),
    ("workload.input_tokens.value", "4000"),
    ("workload.output_tokens.kind", "fixed"),
    ("workload.output_tokens.value", "200"),
];

/// A run of so many replicas, of which some compute prompts alone; 0: each serves whole requests.
fn run([replicas, prefill]: [u32; 2], rate_rps: f64, more: &[(&str, &str)]) -> Summary {
    let counts = [replicas, prefill.max(1)].map(|count| count.to_string());
    let rate = rate_rps.to_string();
    let own = [
        ("fleet.replicas", &*counts[0]),
        ("fleet.disaggregation.kind", if prefill > 0 { "nixl" } else { "off" }),
        ("fleet.disaggregation.prefill_replicas", &counts[1]),
        ("workload.rate_rps", &rate),
    ];
    let mut scenario = Scenario::default();
    for (path, value) in BASE.iter().chain(&own).chain(more) {
        scenario.set_text(path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    Run::simulate(&scenario, None).unwrap().summary().run
}

fn ttft_s(run: &Summary) -> f64 {
    run.ttft_s.mean.expect("requests")
}

fn tpot_s(run: &Summary) -> f64 {
    run.tpot_s.mean.expect("tokens")
}

fn gap_s(run: &Summary) -> f64 {
    run.tbt_s.p99.expect("tokens")
}

fn e2e_s(run: &Summary) -> f64 {
    run.e2e_s.mean.expect("requests")
}

/// The rate of three replicas is bounded by the smaller of two pools: by one or two times what a prefill replica computes. Together they
/// do more than at either split.
#[test]
fn whole_replicas_bound_the_rate() {
    let rate = |prefill| run([3, prefill], 60.0, &[]).throughput_rps.expect("requests");
    let (together, one, two) = (rate(0), rate(1), rate(2));
    assert!((two / one - 2.0).abs() < 0.05, "{one} {two}");
    assert!(together > 1.05 * two, "{together} {two}");
}

/// Of cached prompts little is left to compute: prefill replicas idle, and the others decode everything.
#[test]
fn cached_prefixes_leave_the_prefill_replicas_idle() {
    let shared = [
        ("workload.input_tokens.value", "400"),
        ("workload.prefix.kind", "tree"),
        ("workload.prefix.system_tokens", "3600"),
        ("workload.prefix.adapter_tokens", "0"),
    ];
    let (together, apart) = (run([4, 0], 40.0, &shared), run([4, 2], 40.0, &shared));
    let hits = |run: &Summary| run.prefix_cache.and_then(|cache| cache.hit_rate).expect("a cache");
    assert!(hits(&together) > 0.89 && hits(&apart) > 0.89);
    assert!(tpot_s(&apart) > 1.4 * tpot_s(&together), "{} {}", tpot_s(&apart), tpot_s(&together));
    assert!(ttft_s(&apart) > 2.0 * ttft_s(&together) && e2e_s(&apart) > 1.4 * e2e_s(&together));
}

/// Turns of a conversation find their prompt cached at the prefill replica that computed the turn before, if they go there.
#[test]
fn a_prefill_router_that_knows_prefixes_spares_prompts() {
    let of = |router: &str| {
        let turns = [
            ("workload.input_tokens.value", "800"),
            ("workload.sessions.kind", "held"),
            ("workload.sessions.turns.kind", "geometric"),
            ("workload.sessions.turns.mean", "8"),
            ("workload.sessions.context_cap", "14000"),
            ("workload.think.mean_s", "2"),
            ("workload.prefix.kind", "tree"),
            ("fleet.disaggregation.prefill_router", router),
        ];
        let run = run([8, 4], 20.0, &turns);
        let computed = run.prefix_cache.and_then(|cache| cache.hit_rate).expect("a cache");
        (ttft_s(&run), computed)
    };
    let [(blind_s, blind), (knowing_s, knowing)] = ["least_outstanding", "prefix_affinity"].map(of);
    assert!(knowing > blind + 0.07 && knowing_s < 0.85 * blind_s, "{blind_s} {blind}, {knowing_s} {knowing}");
}

/// Answers have the KV memory of the decode replicas alone: requests wait for it, and are preempted.
#[test]
fn answers_have_a_part_of_the_memory() {
    let long = [("workload.input_tokens.value", "8000"), ("workload.output_tokens.value", "1500")];
    let (together, apart) = (run([4, 0], 3.5, &long), run([4, 2], 3.5, &long));
    let wait_s = apart.kv_transfer.expect("requests are disaggregated").mean_wait_s;
    assert!(wait_s > 5.0 && apart.preemptions > together.preemptions, "{wait_s}");
    assert!(ttft_s(&apart) > 2.0 * ttft_s(&together) && e2e_s(&apart) > 1.1 * e2e_s(&together));
}

/// A few tokens do not pay back the second queue.
#[test]
fn short_answers_do_not_pay_back_the_transfer() {
    let short = [("workload.output_tokens.value", "4")];
    let (together, apart) = (run([4, 0], 6.0, &short), run([4, 2], 6.0, &short));
    assert!(tpot_s(&apart) < tpot_s(&together) && e2e_s(&apart) > 1.3 * e2e_s(&together));
}

/// Where a pull takes longer than the prompt, nothing is gained.
#[test]
fn a_link_slower_than_the_prompts_loses() {
    let slow = [("fleet.transfer.gb_per_s", "0.5")];
    let (together, apart) = (run([4, 0], 6.0, &[]), run([4, 2], 6.0, &slow));
    assert!(apart.kv_transfer.expect("requests are disaggregated").mean_alone_s > ttft_s(&together));
    assert!(ttft_s(&apart) > 3.0 * ttft_s(&together) && e2e_s(&apart) > e2e_s(&together));
}

/// A burst of prompts finds few prefill replicas, and no help from the others.
#[test]
fn bursts_queue_at_few_prefill_replicas() {
    let burst = [
        ("workload.curve.kind", "spike"),
        ("workload.curve.factor", "8"),
        ("workload.curve.start_s", "20"),
        ("workload.curve.end_s", "25"),
    ];
    let [together, one, two] = [0, 1, 2].map(|prefill| run([4, prefill], 2.0, &burst));
    let last_s = |run: &Summary| run.ttft_s.p99.expect("requests");
    assert!(last_s(&one) > 2.0 * last_s(&two) && last_s(&two) > 3.0 * last_s(&together));
}

/// Long prompts without cache hits: tokens come evenly, and the first one waits for the transfer.
#[test]
fn long_prompts_do_not_disturb_what_decodes() {
    let (together, apart) = (run([4, 0], 6.0, &[]), run([4, 2], 6.0, &[]));
    assert!(gap_s(&apart) < 0.15 * gap_s(&together), "{} {}", gap_s(&apart), gap_s(&together));
    assert!(e2e_s(&apart) < 0.9 * e2e_s(&together) && ttft_s(&apart) > ttft_s(&together));
}

/// A bound on TPOT that is tighter than an iteration with a prompt: only apart it is kept.
#[test]
fn a_tight_bound_on_tpot_is_kept_apart_only() {
    let bound = [("slo.ttft_s", "4"), ("slo.tpot_s", "0.02")];
    let kept = |prefill| run([4, prefill], 6.0, &bound).slo.attainment_all.expect("requests");
    let (together, apart) = (kept(0), kept(2));
    assert!(apart > 0.95 && together < 0.5, "{together} {apart}");
}

/// Eight GPUs: four prefill replicas of one and a decode replica of four have the TPOT of four GPUs, and more prompts a second than one
/// replica of four.
#[test]
fn pools_of_different_parallelism_beat_equal_ones() {
    let unequal =
        [("fleet.tensor_parallel", "1"), ("fleet.disaggregation.decode", "fleet.tensor_parallel=4")];
    let unequal = run([5, 4], 7.0, &unequal);
    let twos = run([4, 2], 7.0, &[]);
    let fours = run([2, 1], 7.0, &[("fleet.tensor_parallel", "4")]);
    assert!(tpot_s(&unequal) < 0.75 * tpot_s(&twos), "{} {}", tpot_s(&unequal), tpot_s(&twos));
    assert!(ttft_s(&unequal) < 0.8 * ttft_s(&fours), "{} {}", ttft_s(&unequal), ttft_s(&fours));
    assert!(e2e_s(&unequal) < e2e_s(&fours) && e2e_s(&unequal) < 0.75 * e2e_s(&twos));
}
