//! Speculative decoding in whole scenarios: where it wins, and where it loses.

use servescope_engine::metrics::Summary;
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

/// A burst of requests of one length under vLLM, of which so many run at once.
fn summary(batch: u32, settings: &[(&str, &str)]) -> Summary {
    let mut scenario = Scenario::of_version(4);
    let (batch, rate) = (batch.to_string(), (4 * batch).to_string());
    let own = [
        ("scheduler.kind", "vllm_v1"),
        ("workload.duration_s", "1"),
        ("workload.rate_rps", &*rate),
        ("workload.arrivals.kind", "even"),
        ("workload.adapters.count", "0"),
        ("workload.input_tokens.kind", "fixed"),
        ("workload.input_tokens.value", "200"),
        ("workload.output_tokens.kind", "fixed"),
        ("workload.output_tokens.value", "200"),
        ("scheduler.max_num_batched_tokens", "2048"),
        ("scheduler.max_num_seqs", &*batch),
    ];
    for (path, value) in own.iter().chain(settings) {
        scenario.set_text(path, value).unwrap_or_else(|e| panic!("{path}: {e}"));
    }
    Run::simulate(&scenario, None).unwrap_or_else(|e| panic!("{e:?}")).summary_of(1).run
}

/// The line that SpecDecode-Bench fits to Llama-3.1-8B on an H100.
const LLAMA: [(&str, &str); 8] = [
    ("cost.kind", "linear"),
    ("cost.linear.prefill_base_ms", "0"),
    ("cost.linear.prefill_per_token_ms", "0.02101"),
    ("cost.linear.decode_base_ms", "5.886"),
    ("cost.linear.decode_per_request_ms", "0.02101"),
    ("cost.linear.decode_per_kv_token_ms", "0.0000393"),
    ("cost.linear.overhead_ms", "1.207"),
    ("scheduler.max_total_tokens", "400000"),
];

/// By how much more tokens a second come out with drafts than without.
fn speed_up(batch: u32, base: &[(&str, &str)], drafts: &[(&str, &str)]) -> f64 {
    let all: Vec<(&str, &str)> = base.iter().chain(drafts).copied().collect();
    let (with, without) = (summary(batch, &all), summary(batch, base));
    assert_eq!(with.requests.completed, without.requests.completed);
    with.output_tokens_per_s.expect("tokens") / without.output_tokens_per_s.expect("tokens")
}

const NGRAM: [(&str, &str); 4] = [
    ("cost.speculation.method", "ngram"),
    ("cost.speculation.num_speculative_tokens", "5"),
    ("cost.speculation.acceptance", "length"),
    ("cost.speculation.length", "1.18"),
];

/// Most n-gram drafts are wrong: their rows cost nothing beside one request's weights, and as much as requests in a full room.
#[test]
fn n_grams_win_alone_and_lose_in_a_batch_of_128() {
    let [alone, full] = [1, 128].map(|batch| speed_up(batch, &LLAMA, &NGRAM));
    println!("n-gram, 1.18 tokens a verification: {alone:.2} at batch 1, {full:.2} at batch 128");
    assert!(alone > 1.08 && full < 0.9, "{alone} {full}");
}

/// A gate that stops drafts in large batches keeps what they win in small ones.
#[test]
fn a_gate_loses_nothing_in_a_full_room() {
    let gate = [("cost.speculation.gate", "batch_below"), ("cost.speculation.batch_below", "16")];
    let gated: Vec<(&str, &str)> = NGRAM.iter().chain(&gate).copied().collect();
    let [alone, full] = [1, 128].map(|batch| speed_up(batch, &LLAMA, &gated));
    println!("n-gram below 16 requests: {alone:.2} at batch 1, {full:.2} at batch 128");
    assert!(alone > 1.08 && full > 0.97, "{alone} {full}");
}

/// 93 % of the drafts are right, and the server is slower: a round of drafts takes 25 ms on a step of 16.3 ms
/// (vllm-project/vllm#44697: 43.7 tokens a second, 61.2 without).
#[test]
fn slow_rounds_of_drafts_lose_in_a_pipeline() {
    let base = [
        ("cost.kind", "profile"),
        ("fleet.gpu", "a100_80_sxm"),
        ("fleet.model", "llama-2-70b"),
        ("fleet.tensor_parallel", "4"),
        ("fleet.pipeline_parallel", "2"),
    ];
    let drafts = [
        ("cost.speculation.method", "eagle"),
        ("cost.speculation.num_speculative_tokens", "1"),
        ("cost.speculation.rate", "0.93"),
        ("cost.speculation.draft_cost_ratio", "1.53"),
    ];
    let slow = speed_up(2, &base, &drafts);
    let fast = speed_up(2, &base, &[&drafts[..3], &[("cost.speculation.draft_cost_ratio", "0.05")]].concat());
    println!("93 % right in a pipeline: {slow:.2} with rounds of 1.53 steps, {fast:.2} with rounds of 0.05");
    assert!(slow < 0.95 && fast > 1.3, "{slow} {fast}");
}

/// Layers behind the model, as the roofline has them: the saving shrinks with the batch.
#[test]
fn a_layer_of_the_model_wins_less_in_larger_batches() {
    let base = [("cost.kind", "roofline"), ("fleet.gpu", "h100_sxm"), ("fleet.model", "llama-3.1-8b")];
    let drafts = [
        ("cost.speculation.method", "mtp"),
        ("cost.speculation.acceptance", "table"),
        ("cost.speculation.table", "qwen3.5_mtp"),
    ];
    let [few, many] = [4, 256].map(|batch| speed_up(batch, &base, &drafts));
    println!("MTP with 3 drafts: {few:.2} at batch 4, {many:.2} at batch 256");
    assert!(few > 1.8 && many < few, "{few} {many}");
    let all: Vec<(&str, &str)> = base.iter().chain(&drafts).copied().collect();
    let own = summary(16, &all).speculation.expect("drafts were verified");
    let length = own.acceptance_length.expect("a length");
    assert!((length - 3.33).abs() < 0.1, "{own:?}");
    assert_eq!(own.accepted_tokens + own.rejected_tokens, own.drafted_tokens);
    assert!(own.accepted_per_position.is_sorted_by(|one, next| one >= next), "{own:?}");
    assert_eq!(own.accepted_per_position.len(), 3);
}
