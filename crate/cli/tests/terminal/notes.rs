//! Settings without effect, as the terminal prints them.

use serde_json::Value;

use crate::{folder, servescope, stderr, stdout, text};

/// The lines on standard error, and the codes and paths of the warnings.
fn told(arguments: &[&str]) -> (String, Vec<(String, String)>) {
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
    let (errors, warnings) = told(&short);
    assert_eq!((errors.as_str(), warnings.len()), ("", 0));
    let idle = ["--set", "scheduler.chunk_tokens=64", "--set", "workload.sampling.top_k=5"];
    let (errors, warnings) = told(&[&short[..], &idle].concat());
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
    let (errors, warnings) = told(&[&trace[..], &idle].concat());
    assert!(errors.contains("workload.rate_rps, workload.adapters.count (the trace decides it)"), "{errors}");
    assert!(errors.contains("seed (no random number is drawn"), "{errors}");
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    // Steps change requests that the settings made.
    let steps = ["simulate", "--json", "--step", "sort", "--set", "workload.duration_s=5"];
    let (errors, warnings) = told(&steps);
    assert!(!errors.contains("without effect") && warnings.is_empty(), "{errors}");
}

#[test]
fn other_verbs_tell_what_they_do_not_read() {
    let generated =
        servescope(&["generate", "--set", "workload.duration_s=5", "--set", "scheduler.order=lifo"]);
    let told = "without effect: scheduler.order (it acts on the simulated service only)";
    assert!(stderr(&generated).contains(told), "{}", stderr(&generated));
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
