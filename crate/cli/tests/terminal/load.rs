//! Load, SLO capacity and what makes requests wait, of four settings that were told wrongly once. The browser's `load.spec.ts`
//! holds the page to the same numbers.

use std::path::Path;

use serde_json::Value;

use crate::{SLORA, file, folder, good, json};

/// The scenario of a preset, as a file.
fn preset(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../static/presets/{name}.json"));
    let text = std::fs::read_to_string(path).expect("a preset");
    let preset: Value = serde_json::from_str(&text).expect("JSON");
    file(&folder(&format!("load_{name}")), "scenario.json", &preset["scenario"].to_string())
}

const README: &str = "#v=2&R=4&D=200&n=0&in=fixed&out=fixed&u=4&up=list&ush=9,1,1,1&gk=proxy&gc=32&gor=fcfs";

/// Four H100 with room for more, behind a quota.
const QUOTA: &str = "#v=2&R=10&D=120&n=0&u=4&gpu=h100_sxm&mdl=llama-3.1-8b&rep=4&sched=vllm_v1&cost=roofline&gk=proxy&gtt=60000";

fn load(printed: &Value) -> f64 {
    printed["gpu"]["load"].as_f64().expect("the load is always there")
}

/// What a long run serves in which requests always wait.
fn served_in_overload(settings: &[&str]) -> f64 {
    let overload = ["--set", "workload.rate_rps=40", "--set", "workload.duration_s=400"];
    let printed = json(&[&["simulate", "--json"], settings, &overload].concat());
    printed["throughput_rps"].as_f64().unwrap()
}

#[test]
fn a_burst_leaves_room() {
    let burst = preset("burst");
    let printed = json(&["simulate", &burst, "--json", "--capacity"]);
    let slo_rps = printed["capacity"]["slo_rps"].as_f64().unwrap();
    assert!((0.1..0.3).contains(&slo_rps), "{slo_rps}");
    let saturated = printed["capacity"]["saturated_rps"].as_f64().unwrap();
    let served = served_in_overload(&[SLORA]);
    assert!((saturated / served - 1.0).abs() < 0.04, "{saturated} and {served}");
    assert!(load(&printed) < 0.75 && printed["gpu"]["busy"].as_f64().unwrap() > load(&printed));
    let (text, _) = good(&["simulate", &burst, "--capacity"]);
    assert!(text.contains(&format!("; holds up to {slo_rps:.4} req/s; goodput")), "{text}");
    assert!(text.contains(&format!("which serve {saturated:.3} when saturated")), "{text}");
}

#[test]
fn the_load_of_one_server_is_its_utilisation() {
    let printed = json(&["simulate", &preset("mm1"), "--json"]);
    assert!((load(&printed) - 0.8).abs() < 0.01, "{}", load(&printed));
    assert!(printed.get("capacity").is_none(), "it is searched where it is asked for");
}

#[test]
fn a_limit_is_not_blamed_where_the_replicas_are_the_bound() {
    let printed = json(&["simulate", "--link", README, "--json", "--why"]);
    assert!((0.97..1.06).contains(&load(&printed)), "{}", load(&printed));
    let codes: Vec<&str> = warnings(&printed).collect();
    assert!(codes.contains(&"backlog_at_gateway"), "{codes:?}");
    let causes = printed["why"]["waiting"].as_array().unwrap();
    let [cause] = &causes[..] else { panic!("{causes:?}") };
    assert_eq!((&cause["suspect"], &cause["metric"]), (&"replicas".into(), &"throughput_rps".into()));
    let (text, _) = good(&["simulate", "--link", README, "--why"]);
    assert!(text.contains(
        "why: more arrives than the replicas serve: with twice as many replicas 3.19 req/s in place of 2.17 (20 seeds)"
    ));
    assert!(!text.contains("held back"));
}

#[test]
fn a_quota_is_blamed_where_the_replicas_have_room() {
    let printed = json(&["simulate", "--link", QUOTA, "--json", "--why", "--capacity"]);
    assert!(load(&printed) < 0.1, "{}", load(&printed));
    let rates = &printed["capacity"];
    assert!(rates["slo_rps"].as_f64() < rates["saturated_rps"].as_f64().map(|rps| 0.3 * rps), "{rates}");
    let causes = printed["why"]["waiting"].as_array().unwrap();
    let [cause] = &causes[..] else { panic!("{causes:?}") };
    assert_eq!(cause["suspect"], "tpm");
    assert!(cause["without"].as_f64() > cause["with"].as_f64().map(|with| 1.5 * with), "{cause}");
}

#[test]
fn the_search_says_what_saturated_replicas_serve() {
    let (text, _) = good(&["capacity", SLORA, "--set", "capacity.most_requests=5000"]);
    let line = text.lines().find(|line| line.starts_with("saturated ")).expect("a line");
    let served: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let printed = json(&["simulate", SLORA, "--json", "--capacity"]);
    let saturated = printed["capacity"]["saturated_rps"].as_f64().unwrap();
    assert!((served / saturated - 1.0).abs() < 0.05, "{line}, saturated {saturated}");
}

fn warnings(printed: &Value) -> impl Iterator<Item = &str> {
    printed["warnings"].as_array().unwrap().iter().filter_map(|warning| warning["code"].as_str())
}
