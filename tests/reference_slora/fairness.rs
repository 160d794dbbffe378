//! `d_fairness_vtc.jsonl`: what VTC's benchmark suite prints for given responses.

use serde_json::Value;
use servescope_engine::metrics::fairness::{Fairness, ServedRequest, Ticks, tokens_per_s};

/// Asserts that two trees of numbers agree to the last digits of a sum of floating-point numbers.
fn agree(ours: &Value, theirs: &Value, what: &str) {
    match (ours, theirs) {
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{what}: length");
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| agree(a, b, &format!("{what}[{i}]")));
        }
        _ => match (ours.as_f64(), theirs.as_f64()) {
            (Some(a), Some(b)) => {
                assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{what}: {a}, expected {b}");
            }
            _ => assert_eq!(ours, theirs, "{what}"),
        },
    }
}

fn check(case: &Value) {
    let id = &case["id"];
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or_else(|| panic!("{id}: {key}"));
    let expect = &case["expect"];
    let users = expect["users"].as_array().expect("users");
    let mut served = Vec::new();
    for row in case["responses"].as_array().expect("responses") {
        let (arrival_s, first, latency) =
            (number(row, "req_time"), number(row, "first_token_latency"), number(row, "request_latency"));
        if first >= 0.0 {
            served.push(ServedRequest {
                client: users.iter().position(|u| *u == row["adapter_dir"]).expect("the user is listed"),
                input_tokens: number(row, "prompt_len"),
                output_tokens: number(row, "output_len"),
                arrival_s,
                first_token_s: arrival_s + first,
                finish_s: arrival_s + latency,
            });
        }
    }
    let ticks = Ticks {
        duration_s: number(case, "T"),
        window_s: number(case, "window"),
        warm_up_s: number(case, "warmup"),
        parts: number(case, "num_x") as u32,
    };
    let f = Fairness::measure(&served, users.len(), &ticks);
    let gap_variance =
        f.gap.iter().map(|g| libm::pow(g - f.mean_gap(), 2.0)).sum::<f64>() / f.gap.len() as f64;
    let reported = serde_json::json!({
        "users": users,
        "x_ticks": f.ticks_s,
        "req_rate": f.demand,
        "service": f.service,
        "response_time": f.response_s,
        "service_diff": f.gap,
        "service_diff_profile_cost": f.profiled_gap,
        "acc_service_max_minus_min": f.accumulated_gap,
        "max_diff": f.max_gap(),
        "avg_diff": f.mean_gap(),
        "diff_var": gap_variance,
        "throughput": tokens_per_s(&served, number(case, "total_time")),
    });
    for (key, theirs) in expect.as_object().expect("expect") {
        agree(&reported[key], theirs, &format!("{id}: {key}"));
    }
}

#[test]
fn fairness() {
    for path in super::reference("d_fairness_vtc") {
        let cases = servescope_tests::json_lines(&path);
        cases.iter().for_each(check);
        servescope_tests::report_cases(&path, cases.len());
    }
}
