//! `servescope overlay`: measured runs over their simulation.

use std::path::Path;

use crate::{folder, good, json, refused, text};

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/overlay").join(name);
    text(&path).to_owned()
}

#[test]
fn every_tools_file_is_laid_over_its_simulation() {
    for (file, requests) in [
        ("vllm_bench.json", 24),
        ("vllm_bench_in_flight.json", 16),
        ("aiperf/profile_export.jsonl", 12),
        ("guidellm.json", 8),
        ("inferencex.json", 40),
        ("inferencex_client.json", 40),
        ("llmservingsim/example_single_run.csv", 10),
        ("llmservingsim/requests.jsonl", 30),
    ] {
        let found = json(&["overlay", &data(file), "--json"]);
        assert_eq!(found["requests"].as_array().unwrap().len(), requests, "{file}");
        for name in ["ttft_s", "tpot_s", "e2e_s"] {
            let metric = &found["metrics"][name];
            let both = [&metric["measured"], &metric["simulated"]];
            assert!(both.iter().all(|x| x.as_f64().is_some_and(|x| x > 0.0)), "{file} {name}: {metric}");
            let (measured, simulated) = (both[0].as_f64().unwrap(), both[1].as_f64().unwrap());
            assert!((metric["bias"].as_f64().unwrap() - (simulated / measured - 1.0)).abs() < 1e-12);
        }
        // A cause is named where GPU and model are known, from the file or from the user.
        assert_eq!(
            found["likely_cause"].is_null(),
            !found["missing"].as_array().unwrap().is_empty(),
            "{file}"
        );
        let server = ["--set", "fleet.gpu=h100_sxm", "--set", "fleet.model=llama-3.1-8b"];
        let arguments = |more: &[&str]| [&["overlay", &data(file)], &server[..], more].concat().join("\n");
        let with = json(&arguments(&["--json"]).lines().collect::<Vec<_>>());
        assert!(with["likely_cause"].as_str().is_some_and(|cause| cause.ends_with('.')), "{file}");
        let (table, _) = good(&arguments(&[]).lines().collect::<Vec<_>>());
        assert!(table.contains("likely cause: ") && table.contains("ttft_s"), "{table}");
    }
}

#[test]
fn gpu_and_model_are_asked_for_and_runs_of_a_file_are_chosen() {
    let file = data("summaries/guidellm_sweep.json");
    let (table, notes) = good(&["overlay", &file]);
    let asked = "the file does not name the GPU; no cause is named until you do: --set fleet.gpu=NAME";
    assert!(
        notes.contains(asked) && table.contains(asked) && !table.contains("likely cause"),
        "{notes}{table}"
    );
    assert!(
        notes.contains("the file has 3 runs; run 1 is read") && notes.contains("3 = constant, 4/s"),
        "{notes}"
    );
    let third = json(&["overlay", &file, "--benchmark", "3", "--json"]);
    assert_eq!((&third["benchmark"], third["requests"].as_array().unwrap().len()), (&3.into(), 40));
    assert_eq!(third["metrics"]["ttft_s"]["measured"], 0.045);
    assert!(refused(&["overlay", &file, "--benchmark", "4"]).contains("4 is not between 1 and 3"));
}

#[test]
fn what_the_user_sets_goes_before_what_the_file_tells() {
    let file = data("llmservingsim/requests.jsonl");
    let found = json(&["overlay", &file, "--json"]);
    assert_eq!(found["scenario"]["scheduler"]["max_total_tokens"], 41392.0);
    assert!(found["taken_over"].as_array().unwrap().iter().any(|taken| taken["path"] == "fleet.gpu"));
    let set = json(&["overlay", &file, "--json", "--set", "scheduler.max_total_tokens=9008"]);
    assert_eq!(set["scenario"]["scheduler"]["max_total_tokens"], 9008.0);
    assert_ne!(set["metrics"]["ttft_s"]["simulated"], found["metrics"]["ttft_s"]["simulated"]);
}

#[test]
fn charts_requests_and_a_fit_are_written() {
    let folder = folder("overlay");
    let (charts, csv) = (folder.join("charts"), folder.join("requests.csv"));
    let file = data("llmservingsim/requests.jsonl");
    let (table, _) = good(&[
        "overlay",
        &file,
        "--charts",
        text(&charts),
        "--csv",
        text(&csv),
        "--fit",
        "cost.host.base_ms,cost.host.per_request_ms",
    ]);
    assert!(table.contains("cost.host.base_ms = 0.126 -> ") && table.contains("other half"), "{table}");
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 31);
    for name in ["ttft", "itl", "e2e"] {
        for kind in ["distribution", "requests"] {
            let svg = std::fs::read_to_string(charts.join(format!("{name}_{kind}.svg"))).unwrap();
            assert!(svg.contains("measured") && svg.trim_end().ends_with("</svg>"));
        }
    }
    assert!(charts.join("ttft_error_by_input.svg").exists());
}

#[test]
fn what_cannot_be_read_or_fitted_is_refused() {
    let printed = refused(&["overlay", &data("README.md")]);
    assert!(printed.contains("README.md: the file: not recognised"), "{printed}");
    let printed = refused(&["overlay", &data("vllm_bench.json"), "--fit", "a,b,c,d"]);
    assert!(printed.contains("4 constants"), "{printed}");
    let printed = refused(&["overlay", &data("vllm_bench_in_flight.json"), "--set", "fleet.gpu=abacus"]);
    assert!(printed.contains("fleet.gpu"), "{printed}");
    let printed = refused(&["overlay", &data("inferencex.json"), "--as-sent"]);
    assert!(printed.contains("does not contain the times"), "{printed}");
}
