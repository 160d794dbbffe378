//! `d_metrics_slora.jsonl`: what S-LoRA's benchmark suite prints for given responses.

use serde_json::Value;
use servescope_engine::metrics::slora::{Response, measure};

const TTFT_BOUND_S: f64 = 6.0;

fn check(case: &Value) {
    let rows = case["rows"].as_array().expect("rows");
    let responses: Vec<Response> = rows
        .iter()
        .map(|row| Response {
            input_tokens: row["input_len"].as_u64().expect("input_len") as u32,
            output_tokens: row["output_len"].as_u64().expect("output_len") as u32,
            latency_s: row["latency"].as_f64().unwrap_or(f64::NAN),
            first_token_s: row["first_token_latency"].as_f64().filter(|&t| t >= 0.0),
        })
        .collect();
    let total_s = case["benchmark_time_s"].as_f64().expect("benchmark_time_s");
    let m = measure(&responses, total_s, case["req_rate"].as_f64().expect("req_rate"), TTFT_BOUND_S);
    let printed = [
        ("num_abort", m.rejected as f64),
        ("throughput", m.throughput_rps),
        ("strip_throughput", m.strip_throughput_rps),
        ("avg_latency", m.latency_s),
        ("avg_per_token_latency", m.per_token_s),
        ("avg_per_output_token_latency", m.per_output_token_s),
        ("avg_first_token_latency", m.first_token_s),
        ("avg_satisfaction", m.satisfaction),
        ("avg_attainment", m.attainment),
        ("p90_first_token", m.first_token_p90_s),
        ("p50_first_token", m.first_token_p50_s),
        ("p10_satisfaction", m.satisfaction_p10),
        ("p50_satisfaction", m.satisfaction_p50),
    ];
    for (name, ours) in printed {
        let Some(theirs) = case["expect"].get(name) else { continue };
        let id = &case["id"];
        match theirs.as_f64() {
            Some(theirs) => {
                let scale = theirs.abs().max(1e-9);
                assert!(((ours - theirs) / scale).abs() < 1e-9, "{id}, {name}: {ours}, expected {theirs}");
            }
            None => assert!(!ours.is_finite(), "{id}, {name}: {ours}, expected none"),
        }
    }
}

#[test]
fn metrics() {
    for path in super::reference("d_metrics_slora") {
        let cases = servescope_tests::json_lines(&path);
        cases.iter().for_each(check);
        servescope_tests::report_cases(&path, cases.len());
    }
}
