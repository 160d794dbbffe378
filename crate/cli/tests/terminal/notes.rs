//! Settings without effect, as the terminal prints them.

use serde_json::Value;

use crate::{SLORA, folder, good, refused, servescope, stderr, stdout, text};

/// The lines on standard error, and the codes and paths of the warnings.
fn printed(arguments: &[&str]) -> (String, Vec<(String, String)>) {
    let output = servescope(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let word = |warning: &Value, key: &str| warning[key].as_str().expect("a text").to_owned();
    let warnings = json["warnings"].as_array().expect("a list");
    let severity = |warning| if word(warning, "code").starts_with("no_effect") { "note" } else { "warning" };
    assert!(warnings.iter().all(|warning| warning["severity"] == severity(warning)), "{warnings:?}");
    (stderr(&output), warnings.iter().map(|w| (word(w, "code"), word(w, "path"))).collect())
}

#[test]
fn settings_without_effect_stand_on_standard_error_and_among_the_warnings() {
    let short = ["simulate", "--json", "--set", "workload.duration_s=5"];
    let (errors, warnings) = printed(&short);
    assert_eq!((errors.as_str(), warnings.len()), ("", 0));
    let idle = ["--set", "scheduler.chunk_tokens=64", "--set", "workload.sampling.top_k=5"];
    let (errors, warnings) = printed(&[&short[..], &idle].concat());
    assert_eq!(
        errors,
        "servescope: note: without effect: scheduler.chunk_tokens (it acts where scheduler.kind is sarathi)\n\
         servescope: note: without effect: workload.sampling.top_k (it acts on request bodies only, not on \
         simulated requests)\n"
    );
    let expected = [("no_effect", "scheduler.chunk_tokens"), ("no_effect_bodies", "workload.sampling.top_k")];
    assert_eq!(warnings, expected.map(|(code, path)| (code.to_owned(), path.to_owned())));
}

#[test]
fn a_trace_decides_the_workload_and_the_terminal_says_so() {
    let path = folder("notes").join("lengths.csv");
    std::fs::write(&path, "arrival_s,input_tokens,output_tokens\n0,10,5\n1,20,6\n").expect("written");
    let trace = ["simulate", "--json", "--trace", text(&path)];
    let idle = ["--set", "workload.adapters.count=5", "--set", "workload.rate_rps=9", "--set", "seed=3"];
    let (errors, warnings) = printed(&[&trace[..], &idle].concat());
    assert!(errors.contains("workload.rate_rps, workload.adapters.count (the trace decides it)"), "{errors}");
    assert!(errors.contains("seed (no random number is drawn"), "{errors}");
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    // Steps change requests that the settings made.
    let steps = ["simulate", "--json", "--step", "sort", "--set", "workload.duration_s=5"];
    let (errors, warnings) = printed(&steps);
    assert!(!errors.contains("without effect") && warnings.is_empty(), "{errors}");
}

#[test]
fn other_verbs_tell_what_they_do_not_read() {
    let generated =
        servescope(&["generate", "--set", "workload.duration_s=5", "--set", "scheduler.order=lifo"]);
    let printed = "without effect: scheduler.order (it acts on the simulated service only)";
    assert!(stderr(&generated).contains(printed), "{}", stderr(&generated));
    let found = servescope(&[
        "capacity",
        "--set",
        "workload.duration_s=20",
        "--set",
        "slo.ttft_s=3",
        "--set",
        "workload.sampling.temperature=0.5",
        "--set",
        "capacity.tolerance=0.5",
        "--grid",
        "scheduler.kind=slora,vllm",
        "--set",
        "fleet.replicas=2",
    ]);
    let errors = stderr(&found);
    assert!(errors.contains("it acts on request bodies only"), "{errors}");
    // It bounds the search.
    assert!(!errors.contains("slo.ttft_s"), "{errors}");
    // It acts in one of the two configurations.
    assert!(!errors.contains("fleet.replicas"), "{errors}");
}

#[test]
fn a_warning_is_told_from_a_note() {
    let overloaded = ["simulate", "--set", "workload.rate_rps=30", "--set", "workload.duration_s=60"];
    let output = servescope(&[&overloaded[..], &["--set", "scheduler.chunk_tokens=64"]].concat());
    assert!(stdout(&output).contains("\nwarning: "), "{}", stdout(&output));
    assert!(stderr(&output).starts_with("servescope: note: without effect: scheduler.chunk_tokens"));
}

/// A proxy that rejects over its quota and holds no request.
const QUOTA: [&str; 8] = [
    "--set",
    "gateway.kind=proxy",
    "--set",
    "gateway.rpm=40",
    "--set",
    "gateway.over_quota=refuse",
    "--set",
    "workload.rate_rps=5",
];

#[test]
fn what_the_run_does_not_need_is_told() {
    let run = [&["simulate", "--json"], &QUOTA[..]].concat();
    let (errors, warnings) = printed(&run);
    assert!(!errors.contains("without effect"), "{errors} {warnings:?}");
    let is_told_of = |errors: &str, path: &str| {
        let is_told = |line: &str| line.contains("without effect") && line.contains(&format!(": {path} ("));
        errors.lines().any(is_told)
    };
    for setting in [
        "gateway.queue_timeout_s=1",
        "gateway.load.dwell_s=50",
        "gateway.load.hysteresis=0.5",
        "gateway.order=lifo",
    ] {
        let (path, _) = setting.split_once('=').expect("a path and a value");
        let (errors, warnings) = printed(&[&run[..], &["--set", setting]].concat());
        assert!(is_told_of(&errors, path), "{setting}: {errors}");
        assert!(
            warnings.iter().any(|(code, at)| code.starts_with("no_effect") && at == path),
            "{warnings:?}"
        );
    }
    for (settings, path) in [
        (["workload.cut_at_duration=true", "workload.arrivals.kind=even"], "workload.cut_at_duration"),
        (["scheduler.original_blocking=true", "workload.duration_s=20"], "scheduler.original_blocking"),
        (
            ["scheduler.kind=vllm_v1", "scheduler.enable_chunked_prefill=false"],
            "scheduler.enable_chunked_prefill",
        ),
    ] {
        let (errors, _) = printed(&["simulate", "--json", SLORA, "--set", settings[0], "--set", settings[1]]);
        assert!(is_told_of(&errors, path), "{settings:?}: {errors}");
    }
}

#[test]
fn a_setting_goes_by_the_name_that_was_given() {
    let error = refused(&["simulate", "--set", "scheduler.max_num_seqs=none"]);
    assert!(error.contains("scheduler.max_num_seqs: "), "{error}");
    let (errors, _) = printed(&[
        "simulate",
        "--json",
        "--set",
        "scheduler.kind=vllm_v1",
        "--set",
        "scheduler.enable_prefix_caching=false",
    ]);
    assert!(errors.contains("scheduler.enable_prefix_caching"), "{errors}");
    for (flag, path) in [
        ("max_num_seqs", "scheduler.max_running_requests"),
        ("gpu-memory-utilization", "fleet.memory_margin"),
        ("scheduler.tensor_parallel_size", "fleet.tensor_parallel"),
        ("max_loras", "adapters.max_loras"),
    ] {
        let error = refused(&["simulate", "--set", &format!("{flag}=4")]);
        assert!(error.contains(&format!("{flag}: ")) && error.contains(&format!(" is {path}")), "{error}");
    }
    let twice = ["--set", "scheduler.max_num_seqs=5", "--set", "scheduler.max_running_requests=9"];
    let error = refused(&[&["simulate"], &twice[..]].concat());
    assert!(error.contains("the same parameter as scheduler.max_num_seqs"), "{error}");
    // One name twice: the later one wins, as everywhere on a command line.
    good(&["simulate", "--set", "scheduler.max_num_seqs=5", "--set", "scheduler.max_num_seqs=9"]);
    let error = refused(&["simulate", "--set", "gateway.kind=proxy", "--set", "gateway.checks=rpm,tpm"]);
    assert!(error.contains("| separates several"), "{error}");
}
