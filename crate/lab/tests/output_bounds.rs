//! Runs and request bodies have the same lengths, whatever the sampling asks of outputs.

use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;
use servescope_traces::arrivals::trace_of;
use servescope_traces::bodies::{BodyNames, bodies_text};
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::Trace;
use servescope_workload::prompts::{Endpoint, Form};

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = Scenario::of_version(4);
    for (path, value) in [("workload.duration_s", "60"), ("workload.max_tokens.kind", "cap")] {
        scenario.set_text(path, value).unwrap();
    }
    for (path, value) in settings {
        scenario.set_text(path, value).unwrap();
    }
    scenario
}

/// What each body asks for: least tokens, most tokens, and whether the end of sequence is ignored.
fn asked(scenario: &Scenario, trace: &Trace) -> Vec<(u32, u32, bool)> {
    let names = BodyNames {
        form: Form::Vllm,
        endpoint: Endpoint::Completions,
        model: "model".to_owned(),
        adapter_name: "{adapter}".to_owned(),
    };
    let text = bodies_text(scenario, trace, names).unwrap();
    let body = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let number = |name: &str| line["body"][name].as_u64().unwrap() as u32;
        (number("min_tokens"), number("max_tokens"), line["body"]["ignore_eos"].as_bool().unwrap())
    };
    text.lines().map(body).collect()
}

const CASES: [&[(&str, &str)]; 7] = [
    &[],
    &[("workload.sampling.ignore_eos", "true")],
    &[("workload.sampling.min_tokens", "300")],
    &[("workload.sampling.min_tokens", "2000")],
    &[("workload.sampling.max_new_tokens", "100")],
    &[("workload.sampling.pin_output", "true")],
    &[("workload.sampling.ignore_eos", "true"), ("workload.sampling.max_new_tokens", "64")],
];

/// What a server may answer to a body: a length from the least to the most, and the most where it never ends by itself.
#[test]
fn bodies_ask_for_the_lengths_of_the_run() {
    let plain = trace_of(&scenario(&[]), None).unwrap();
    for case in CASES {
        let scenario = scenario(case);
        let run = Run::simulate(&scenario, None).unwrap();
        let trace = &run.report.trace;
        let over_file =
            trace_of(&scenario, Some(&LoadedTrace::from_trace("t.csv", (*plain).clone()))).unwrap();
        assert_eq!(over_file.output_tokens, trace.output_tokens, "{case:?}");
        assert_eq!(over_file.max_tokens, trace.max_tokens, "{case:?}");
        for (id, (least, most, ignores)) in asked(&scenario, trace).into_iter().enumerate() {
            let output = trace.output_tokens[id];
            assert!((least..=most).contains(&output), "{case:?}: {least} to {most}, {output}");
            assert!(!ignores || output == most, "{case:?}");
            assert!(ignores || output == most || output == plain.output_tokens[id].max(least), "{case:?}");
            assert_eq!(most, trace.max_tokens[id], "{case:?}");
        }
    }
}

#[test]
fn ignoring_the_end_of_sequence_fills_the_memory() {
    let usage = |settings: &[(&str, &str)]| {
        Run::simulate(&scenario(settings), None).unwrap().summary().run.kv.mean_usage.unwrap()
    };
    let (early, late) = (usage(&[]), usage(&[("workload.sampling.ignore_eos", "true")]));
    assert!(late > early, "{early} {late}");
}

/// A later turn holds the longer answers before it.
#[test]
fn contexts_of_sessions_grow_by_what_was_answered() {
    let sessions = [("workload.sessions.kind", "timed"), ("workload.rate_rps", "4")];
    let short = trace_of(&scenario(&sessions), None).unwrap();
    let more = [&sessions[..], &[("workload.sampling.min_tokens", "400")]].concat();
    let long = trace_of(&scenario(&more), None).unwrap();
    let sum = |tokens: &[u32]| tokens.iter().map(|&t| u64::from(t)).sum::<u64>();
    assert!(long.output_tokens.iter().all(|&tokens| tokens >= 400));
    assert!(sum(&long.input_tokens) > sum(&short.input_tokens));
}
