//! `servescope capacity`: one configuration, a grid, a trace, and what is rejected.

use serde_json::Value;

use crate::{file, folder, good, json, refused};

const GOAL: [&str; 4] = ["--set", "capacity.ttft_s=6", "--set", "workload.duration_s=60"];

#[test]
fn the_answer_does_not_depend_on_threads_or_on_how_it_is_printed() {
    let grid = ["--grid", "scheduler.kind=slora,vllm_v1", "--grid", "fleet.replicas=1,2"];
    let arguments = [&["capacity"], &GOAL[..], &grid].concat();
    let one = json(&[&arguments[..], &["--threads", "1", "--json"]].concat());
    assert_eq!(one, json(&[&arguments[..], &["--threads", "3", "--json"]].concat()));
    let ranking = one["ranking"].as_array().expect("a ranking");
    assert_eq!(ranking.len(), 4);
    let csv = folder("capacity").join("ranking.csv");
    let (table, _) = good(&[&arguments[..], &["--csv", csv.to_str().unwrap()]].concat());
    assert!(table.lines().nth(5).unwrap().starts_with("Ranked by what serves the load for least"));
    assert!(table.lines().nth(6).is_none_or(|best| best.starts_with("Rank 1 on the page: #v=")));
    let rows = std::fs::read_to_string(csv).unwrap();
    assert!(rows.starts_with("scheduler.kind,fleet.replicas,rate_rps,"));
    assert!(ranking[0]["link"].as_str().is_some_and(|link| link.starts_with("#v=")));
    let best = ranking[0]["capacity"]["rate_rps"].as_f64().unwrap();
    assert_eq!(rows.lines().nth(1).unwrap().split(',').nth(2).unwrap().parse::<f64>().unwrap(), best);
}

#[test]
fn a_trace_has_a_capacity_too() {
    let rows: Vec<String> = (0..200).map(|i| format!("{},100,20", 0.1 * f64::from(i))).collect();
    let rows = rows.join("\n");
    let trace =
        file(&folder("capacity-trace"), "t.csv", &format!("arrival_s,input_tokens,output_tokens\n{rows}"));
    let found = json(&[&["capacity", "--trace", &trace, "--json"], &GOAL[..]].concat());
    let only = &found["ranking"][0]["capacity"];
    assert!(only["rate_rps"].as_f64() < only["missed_rps"].as_f64());
    let first: &Value = &only["probes"][0]["rate_rps"];
    assert!((first.as_f64().unwrap() / (200.0 / 19.9) - 1.0).abs() < 1e-9);
}

#[test]
fn bad_grids_and_goals_are_refused() {
    assert!(
        refused(&["capacity", "--grid", "fleet.replicas=0"]).contains("fleet.replicas: 0 is not between 1")
    );
    assert!(refused(&["capacity", "--grid", "fleet.replicas"]).contains("PATH=VALUE,VALUE"));
    assert!(refused(&["capacity", "--set", "workload.loop=closed"]).contains("workload.loop"));
    let twice = ["capacity", "--set", "capacity.grid=seed=1,2", "--grid", "seed=3"];
    assert!(refused(&twice).contains("seed is named twice"));
}
