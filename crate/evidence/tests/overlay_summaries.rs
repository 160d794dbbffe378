//! Results of which the file has means, or no times of sending: their workload is made again, and means are compared.

use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;
use servescope_evidence::overlay::{
    MeasuredRun, Overlay, Sending, document, fit, fittable, read_benchmark, take_over,
};
use servescope_lab::run::Run;
use servescope_settings::file_kind::Tool;
use servescope_settings::file_kind::{FileKind, recognise};
use servescope_settings::profiles::NamedText;
use servescope_settings::scenario::Scenario;
use servescope_testkit::cases;
use servescope_traces::loaded_trace::LoadedTrace;

/// Every file, its tool, how its first run was sent, its requests, and its mean TTFT, seconds.
const FILES: [(&str, Tool, Sending, usize, f64); 13] = [
    ("vllm_bench.json", Tool::VllmBench, Sending::Drawn, 200, 0.042),
    ("vllm_without_starts.json", Tool::VllmBench, Sending::Drawn, 4, 0.04),
    ("sglang.jsonl", Tool::SglangBench, Sending::InFlight(8), 64, 0.042),
    ("guidellm_sweep.json", Tool::GuideLlm, Sending::InFlight(1), 3, 0.04),
    ("inference_perf.json", Tool::InferencePerf, Sending::Drawn, 597, 0.03),
    ("inference_perf_requests.json", Tool::InferencePerfRequests, Sending::Times, 11, 0.501 / 11.0),
    ("genai_perf.json", Tool::GenAiPerf, Sending::InFlight(2), 80, 0.05),
    ("aiperf.json", Tool::AiPerfSummary, Sending::Drawn, 80, 0.05),
    ("aiperf_aggregate.json", Tool::AiPerfSummary, Sending::Drawn, 80, 0.05),
    ("llm_d_0_1.json", Tool::LlmD, Sending::Drawn, 118, 0.06),
    ("llm_d_0_2.json", Tool::LlmD, Sending::InFlight(4), 118, 0.06),
    ("llm_d_0_1.yaml", Tool::LlmD, Sending::Drawn, 118, 0.06),
    ("llm_d_0_2.yaml", Tool::LlmD, Sending::InFlight(4), 118, 0.06),
];

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/overlay/summaries").join(name);
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn run_of(name: &str, benchmark: Option<usize>) -> MeasuredRun {
    let text = text(name);
    read_benchmark(NamedText { name, text: &text }, |_| None, benchmark)
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn overlaid(
    run: &MeasuredRun,
    settings: &[(&str, &str)],
) -> (Scenario, servescope_evidence::overlay::Taken, Overlay) {
    let mut scenario = Scenario::of_version(4);
    for (path, value) in settings {
        scenario.set_text(path, value).unwrap();
    }
    let taken = take_over(run, &mut scenario);
    let simulated =
        Run::simulate(&scenario, Some(&LoadedTrace::from_trace("measured", run.trace()))).unwrap();
    let overlay = Overlay::of(run, &simulated);
    (scenario, taken, overlay)
}

const SERVER: [(&str, &str); 2] = [("fleet.gpu", "h100_sxm"), ("fleet.model", "llama-3.1-8b")];

#[test]
fn every_summary_is_recognised_read_and_compared_by_its_means() {
    for (name, tool, sending, requests, ttft_s) in FILES {
        assert_eq!(recognise(text(name).as_bytes()).unwrap().kind, FileKind::Result(tool), "{name}");
        let run = run_of(name, None);
        assert_eq!((run.tool, run.sending, run.requests.len()), (tool, sending, requests), "{name}");
        let (_, _, overlay) = overlaid(&run, &SERVER);
        let metric = overlay.metric("ttft_s").unwrap();
        let close = |found: Option<f64>, wanted: f64| found.is_some_and(|x| (x / wanted - 1.0).abs() < 1e-9);
        assert!(close(metric.measured, ttft_s), "{name}: {:?}", metric.measured);
        assert!(metric.simulated.is_some() && metric.bias.is_some(), "{name}");
        if !run.is_matched() {
            assert_eq!((metric.mape, metric.correlation), (None, None), "{name}");
            assert!(
                run.notes.iter().any(|note| note.contains("means") || note.contains("drawn")),
                "{name}: {:?}",
                run.notes
            );
        }
        if !run.has_times() {
            assert!(metric.measured_distribution.p99.is_some(), "{name}");
            assert!(overlay.metric("throughput_rps").unwrap().measured.is_some(), "{name}");
        }
    }
}

#[test]
fn lengths_and_rates_are_those_of_the_file() {
    let mean = |run: &MeasuredRun| {
        let sum: f64 = run.requests.iter().map(|r| f64::from(r.input_tokens)).sum();
        sum / run.requests.len() as f64
    };
    assert!((mean(&run_of("inference_perf.json", None)) - 200.4).abs() < 0.01);
    let sglang = run_of("sglang.jsonl", None);
    assert!(sglang.requests.iter().all(|r| (250..=500).contains(&r.input_tokens)));
    let last_s = |run: &MeasuredRun| run.requests.iter().map(|r| r.sent_s).fold(0.0, f64::max);
    assert!((last_s(&run_of("inference_perf.json", None)) / 59.7 - 1.0).abs() < 0.15);
    // At equal intervals.
    assert!((last_s(&run_of("aiperf.json", None)) - 79.0 / 3.5).abs() < 1e-9);
}

#[test]
fn a_run_of_several_is_chosen() {
    let sweep = run_of("guidellm_sweep.json", None);
    assert_eq!((sweep.benchmark, sweep.benchmarks.len()), (1, 3));
    assert!(
        sweep.benchmarks[2].contains("constant") && sweep.benchmarks[2].contains("4/s"),
        "{:?}",
        sweep.benchmarks
    );
    let third = run_of("guidellm_sweep.json", Some(3));
    assert_eq!((third.benchmark, third.requests.len(), third.sending), (3, 40, Sending::Drawn));
    assert!(!third.has_times());
    assert_eq!(run_of("guidellm_sweep.json", Some(2)).sending, Sending::Times);
    assert_eq!(run_of("sglang.jsonl", Some(2)).sending, Sending::Drawn);
    for (name, asked) in [("guidellm_sweep.json", 4), ("guidellm_sweep.json", 0), ("vllm_bench.json", 2)] {
        let text = text(name);
        let error = read_benchmark(NamedText { name, text: &text }, |_| None, Some(asked)).unwrap_err();
        assert!(error.to_string().contains("is not between 1 and"), "{error}");
    }
}

#[test]
fn no_cause_is_named_until_gpu_and_model_are_known() {
    let run = run_of("guidellm_sweep.json", None);
    let (scenario, taken, overlay) = overlaid(&run, &[]);
    assert_eq!(taken.missing, ["fleet.gpu"], "the file names its model");
    let json = document(&run, &scenario, &taken, &overlay, None);
    assert!(json["likely_cause"].is_null() && json["cause"].is_null());
    assert_eq!(json["requests"].as_array().unwrap().len(), 3);
    let (scenario, taken, overlay) = overlaid(&run, &SERVER);
    assert_eq!(taken.missing_text(), None);
    let json = document(&run, &scenario, &taken, &overlay, None);
    assert!(json["likely_cause"].is_string());
    assert_eq!(overlaid(&run_of("inference_perf.json", None), &[]).1.missing, ["fleet.gpu", "fleet.model"]);
    assert_eq!(overlaid(&run_of("llm_d_0_1.json", None), &[]).1.missing, [] as [&str; 0]);
    // A time model with constants of its own knows neither.
    assert_eq!(
        overlaid(&run_of("inference_perf.json", None), &[("cost.kind", "linear")]).1.missing,
        [] as [&str; 0]
    );
}

#[test]
fn constants_that_can_be_fitted_have_an_effect() {
    let run = run_of("guidellm_sweep.json", None);
    let (scenario, ..) = overlaid(&run, &SERVER);
    let paths = fittable(&scenario);
    assert!(!paths.is_empty() && paths.iter().all(|path| path.starts_with("cost.")), "{paths:?}");
    assert!(!paths.iter().any(|path| path.starts_with("cost.linear.")), "{paths:?}");
    let drawn = run_of("vllm_without_starts.json", None);
    let error = fit(&drawn, &scenario, &[paths[0].to_owned()]).unwrap_err();
    assert!(error.to_string().contains("when they were sent"), "{error}");
}

#[test]
fn what_was_not_answered_is_told_with_its_numbers() {
    let refused = |name: &str, from: &str, to: &str| {
        let text = text(name).replace(from, to);
        read_benchmark(NamedText { name, text: &text }, |_| None, Some(1)).unwrap_err().to_string()
    };
    let stated = refused("llm_d_0_1.json", "\"total\": 120", "\"total\": 2");
    assert!(stated.contains("no request was answered, 2 failed"), "{stated}");
    let stated = refused("inference_perf.json", "597", "0");
    assert!(stated.contains("3 failed"), "{stated}");
    let stated = refused("vllm_bench.json", "\"total_input_tokens\": 80000", "\"total_input_tokens\": -1");
    assert!(stated.starts_with("total_input_tokens: -1 is not a number from 0"), "{stated}");
    let stated = refused("llm_d_0_2.json", "\"role\": \"replica\"", "\"role\": \"prefill\"");
    assert!(stated.contains("servers apart"), "{stated}");
}

#[test]
fn a_report_of_yaml_is_known_by_its_keys_wherever_they_stand() {
    let of = |text: &str| recognise(text.as_bytes()).map(|found| found.kind);
    let known = Ok(FileKind::Result(Tool::LlmD));
    for name in ["llm_d_0_1.yaml", "llm_d_0_2.yaml"] {
        for before in ["", "# written by hand\n\n", "---\n", "\u{feff}"] {
            assert_eq!(of(&format!("{before}{}", text(name))), known, "{name} {before:?}");
        }
    }
    // What is said of the servers may be longer than what is looked at.
    let series = "      - {ts: '2025-11-05T18:00:42Z', value: 3}\n".repeat(9_000);
    let (before, behind) = ("  observability:\n", "    components:\n");
    let long = text("llm_d_0_2.yaml")
        .replace(&format!("{before}{behind}"), &format!("{before}    series:\n{series}{behind}"));
    assert!(long.len() > 400_000);
    assert_eq!(of(&long), known);
    let file = NamedText { name: "report.yaml", text: &long };
    assert_eq!(read_benchmark(file, |_| None, None).unwrap().requests.len(), 118);
    // Reports of a sweep after one another.
    let two = format!("---\n{}---\n{}", text("llm_d_0_1.yaml"), text("llm_d_0_2.yaml"));
    let second = read_benchmark(NamedText { name: "all.yaml", text: &two }, |_| None, Some(2)).unwrap();
    assert_eq!((second.benchmark, second.benchmarks.len(), second.sending), (2, 2, Sending::InFlight(4)));
    let other = recognise(b"apiVersion: v1\nkind: Pod\n").unwrap_err();
    assert_eq!(other.text(), "YAML of no known kind; it begins with apiVersion, kind");
}

#[test]
fn what_is_wrong_in_yaml_is_told_with_its_line_and_column() {
    let refused = |from: &str, to: &str| {
        let text = text("llm_d_0_2.yaml").replacen(from, to, 1);
        read_benchmark(NamedText { name: "a", text: &text }, |_| None, None).unwrap_err().to_string()
    };
    let stated = refused("    total_restarts: 0", "    total_restarts: [0");
    assert!(stated.starts_with("line 5, column 16: no YAML: "), "{stated}");
    assert_eq!(
        refused("mean: 0.7", "mean: -1"),
        "results.request_performance.aggregate.latency.request_latency.mean: -1 is not a number from 0 to 100000000"
    );
    let mut bomb = "a0: &a0 [lol]\nresults: {request_performance: 1}\n".to_owned();
    (1..40).for_each(|level| {
        writeln!(bomb, "a{level}: &a{level} [{}]", format!("*a{}, ", level - 1).repeat(9)).unwrap();
    });
    let stated =
        read_benchmark(NamedText { name: "a", text: &bomb }, |_| None, None).unwrap_err().to_string();
    assert!(stated.contains("no YAML: anchors and aliases copy more than"), "{stated}");
}

#[test]
fn requests_of_inference_perf_have_their_times_and_gaps() {
    let run = run_of("inference_perf_requests.json", None);
    assert_eq!(run.notes, ["1 of 12 requests failed in the measured run and are left out"]);
    assert_eq!(run.reported, [("model".to_owned(), "meta-llama/Llama-3.1-8B-Instruct".to_owned())]);
    let first = &run.requests[0];
    assert_eq!((first.sent_s, first.input_tokens, first.output_tokens, first.gaps_s.len()), (0.0, 200, 8, 7));
    assert!(
        (first.tpot_s().unwrap() - 0.0565 / 7.0).abs() < 1e-9
            && (first.itl_s().unwrap() - 0.008).abs() < 1e-9
    );
    // Counts directly in `info`, as versions of 2025 have them.
    assert_eq!((run.requests[6].sent_s, run.requests[6].input_tokens), (1.75, 207));
    let of = |text: &str| recognise(text.as_bytes()).unwrap().kind;
    let long = format!(r#"[{{"start_time": 3.5, "end_time": 4, "request": "{}"}}]"#, "x".repeat(200_000));
    assert_eq!(of(&long), FileKind::Result(Tool::InferencePerfRequests));
    let refused = |from: &str, to: &str| {
        let text = text("inference_perf_requests.json").replace(from, to);
        read_benchmark(NamedText { name: "a", text: &text }, |_| None, None).unwrap_err().to_string()
    };
    assert_eq!(refused("71234.5965", "1"), "request 1, end_time: 1 is before 71234.596, the event before it");
    let stated = refused("71234.548", "1");
    assert!(
        stated.starts_with("request 1, info.response_metrics.output_token_times[1]: 1 is before"),
        "{stated}"
    );
}

/// A text with one piece put in place of what is there.
fn changed(text: &str, at: usize, piece: &str) -> String {
    let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
    let from = places[at % places.len()];
    let to = places.get(at % places.len() + piece.len().max(1)).copied().unwrap_or(text.len());
    format!("{}{piece}{}", &text[..from], &text[to..])
}

proptest! {
    #![proptest_config(cases(200, 5_000))]

    #[test]
    fn any_change_of_a_file_is_read_within_bounds_or_refused(
        which in 0..FILES.len(),
        at in any::<usize>(),
        piece in "[-0-9eE.,:{}\\[\\]\" a-z\n]{0,6}|null|-1|1e999|NaN|Infinity",
        benchmark in prop::option::of(0_usize..5),
    ) {
        let text = changed(&text(FILES[which].0), at, &piece);
        match read_benchmark(NamedText { name: "a", text: &text }, |_| None, benchmark) {
            Ok(run) => {
                prop_assert!(!run.requests.is_empty() && run.trace().len() == run.requests.len());
                for request in &run.requests {
                    prop_assert!(request.output_tokens >= 1 && request.sent_s >= 0.0 && request.sent_s.is_finite());
                }
                let rates = [run.means.output_tokens_per_s, run.means.throughput_rps];
                prop_assert!(rates.iter().flatten().all(|rate| rate.is_finite() && *rate >= 0.0));
            }
            Err(error) => prop_assert!(!error.place.is_empty() && !error.message.is_empty()),
        }
    }
}
