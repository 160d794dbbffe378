//! Which files `simulate --out` writes, and what stands in them at the edges.

use crate::{SLORA, folder, good, refused, text};

fn names(path: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn files_are_chosen_by_name() {
    let out = folder("chosen_files");
    let run = ["simulate", SLORA, "--set", "workload.duration_s=5", "--out", text(&out)];
    good(&[&run[..], &["--files", "requests.csv,trace.json"]].concat());
    assert_eq!(names(&out), ["requests.csv", "trace.json"]);
    good(&run);
    assert_eq!(names(&out).len(), 8);
    let error = refused(&[&run[..], &["--files", "request.csv"]].concat());
    assert!(error.contains("request.csv") && error.contains("requests.csv"), "{error}");
}

#[test]
fn files_of_events_are_left_out_of_a_run_with_very_many() {
    let out = folder("many_events");
    let settings = [
        "scheduler.kind=vllm",
        "cost.kind=roofline",
        "fleet.model=llama-2-7b",
        "fleet.pipeline_parallel=32",
        "workload.rate_rps=3",
        "workload.duration_s=30",
        "workload.adapters.count=0",
    ];
    let run: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let run = [&["simulate", SLORA, "--out", text(&out)], &run[..]].concat();
    let (_, note) = good(&run);
    assert!(note.contains("event_trace.json and trace.json left out of "), "{note}");
    assert_eq!(names(&out).len(), 7);
    let small = folder("few_events");
    let (_, note) = good(&["simulate", "--set", "workload.duration_s=5", "--out", text(&small)]);
    assert!(!note.contains("left out"), "{note}");
}

#[test]
fn operators_are_written_where_iteration_times_come_from_them() {
    let out = folder("operators");
    good(&["simulate", "--set", "workload.duration_s=5", "--set", "cost.kind=roofline", "--out", text(&out)]);
    let operators = std::fs::read_to_string(out.join("operators.csv")).expect("written");
    assert!(operators.starts_with("operator,class,calls,total_s,"), "{operators}");
    assert!(operators.contains("\nqkv_projection,linear,"), "{operators}");
    let linear = folder("no_operators");
    let settings = ["simulate", SLORA, "--set", "workload.duration_s=5", "--out", text(&linear)];
    good(&settings);
    assert!(!linear.join("operators.csv").exists());
    let (_, note) = good(&[&settings[..], &["--files", "operators.csv"]].concat());
    assert!(note.contains("operators.csv has no row"), "{note}");
}

#[test]
fn rates_over_time_are_a_scenario() {
    let out = folder("rates");
    std::fs::create_dir_all(&out).expect("made");
    let rates = out.join("rates.csv");
    std::fs::write(&rates, "Time,Success\n2025-03-01 10:00:00,1\n2025-03-01 10:00:10,3\n").expect("written");
    let (found, _) = good(&["open", text(&rates)]);
    assert!(found.contains("rates over time") && found.contains("servescope simulate "), "{found}");
    let (summary, _) = good(&["simulate", text(&rates), "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    assert!((5..=40).contains(&summary["requests"]["offered"].as_u64().expect("a count")), "{summary}");
}

#[test]
fn nothing_takes_less_than_no_time() {
    let out = folder("no_negative_times");
    good(&[
        "simulate",
        "--set",
        "scheduler.kind=vllm_v1",
        "--set",
        "cost.calibration=unit",
        "--set",
        "cost.adapters.load_base_ms=2.3136",
        "--set",
        "fleet.replicas=3",
        "--out",
        text(&out),
    ]);
    let batches = std::fs::read_to_string(out.join("batches.csv")).expect("written");
    let bad = batches.lines().skip(1).find(|row| row.split(',').any(|cell| cell.starts_with('-')));
    assert_eq!(bad, None);
    let summary = std::fs::read_to_string(out.join("summary.json")).expect("written");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    let split = summary["split_s"].as_object().expect("parts");
    assert!(split.values().all(|part| part.as_f64().is_none_or(|s| s >= 0.0)), "{split:?}");
}

#[test]
fn an_attempt_that_is_rejected_has_no_replica() {
    let out = folder("attempts");
    for kind in ["honour", "at_once"] {
        good(&[
            "simulate",
            "--set",
            "gateway.kind=proxy",
            "--set",
            "gateway.rpm=10",
            "--set",
            "gateway.over_quota=refuse",
            "--set",
            &format!("gateway.retry.kind={kind}"),
            "--set",
            "workload.duration_s=60",
            "--out",
            text(&out),
        ]);
        let events = std::fs::read_to_string(out.join("events.csv")).expect("written");
        let mut rejected = events.lines().filter(|row| row.contains(",attempt_rejected,")).peekable();
        assert!(rejected.peek().is_some(), "{kind}: nothing was rejected");
        assert!(rejected.all(|row| row.split(',').nth(3) == Some("")), "{kind}");
    }
}
