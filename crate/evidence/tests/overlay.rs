//! Measured over simulated: files that the tools wrote, and runs of our own that stand for measured ones.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use servescope_evidence::overlay::{
    Culprit, MeasuredRequest, MeasuredRun, Overlay, Sending, Taken, document, fit, read, read_among,
    take_over,
};
use servescope_lab::run::Run;
use servescope_settings::file_kind::Tool;
use servescope_settings::parameters::Id;
use servescope_settings::profiles::NamedText;
use servescope_settings::scenario::Scenario;
use servescope_testkit::cases;
use servescope_traces::loaded_trace::LoadedTrace;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/overlay").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(data(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn measured(name: &str, beside: Option<&str>) -> MeasuredRun {
    let (own, beside) = (text(name), beside.map(text));
    read(NamedText { name, text: &own }, |_| beside.as_deref())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn refused(text: &str) -> String {
    read(NamedText { name: "a", text }, |_| None).unwrap_err().to_string()
}

fn near(found: Option<f64>, expected: f64) {
    assert!(found.is_some_and(|x| (x / expected - 1.0).abs() < 1e-9), "{found:?}, not {expected}");
}

/// Mean over the requests that have it.
fn mean(run: &MeasuredRun, of: fn(&MeasuredRequest) -> Option<f64>) -> Option<f64> {
    let all: Vec<f64> = run.requests.iter().filter_map(of).collect();
    (all.len() == run.requests.len()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

#[test]
fn what_vllm_bench_wrote_gives_its_own_means_again() {
    let run = measured("vllm_bench.json", None);
    let json: serde_json::Value = serde_json::from_str(&text("vllm_bench.json")).unwrap();
    assert_eq!((run.tool, run.requests.len(), run.sending), (Tool::VllmBench, 24, Sending::Times));
    let ms = |key: &str| json[key].as_f64().unwrap() / 1e3;
    near(mean(&run, |r| r.ttft_s), ms("mean_ttft_ms"));
    near(mean(&run, MeasuredRequest::tpot_s), ms("mean_tpot_ms"));
    let gaps: Vec<f64> = run.requests.iter().flat_map(|r| &r.gaps_s).copied().collect();
    near(Some(gaps.iter().sum::<f64>() / gaps.len() as f64), ms("mean_itl_ms"));
    assert!(run.requests[0].sent_s == 0.0 && run.requests.is_sorted_by_key(|r| r.sent_s));
    assert!(run.reported.contains(&("max_num_seqs".to_owned(), "64".to_owned())));
    let in_flight = measured("vllm_bench_in_flight.json", None);
    assert_eq!((in_flight.requests.len(), in_flight.sending), (16, Sending::InFlight(4)));
}

#[test]
fn a_result_is_found_among_the_files_that_were_opened_with_it() {
    let names = ["profile_export_aiperf.json", "profile_export.jsonl"];
    let texts = names.map(|name| text(&format!("aiperf/{name}")));
    let files = [0, 1].map(|place| NamedText { name: names[place], text: &texts[place] });
    let found = read_among(&files, None).unwrap();
    assert_eq!(found, measured("aiperf/profile_export.jsonl", Some("aiperf/profile_export_aiperf.json")));
    assert_ne!(found.reported, read_among(&files[1..], None).unwrap().reported);
    // The settings alone are the summary of the same run.
    let summary = read_among(&files[..1], None).unwrap();
    assert_eq!((summary.tool, summary.requests.len()), (Tool::AiPerfSummary, found.requests.len()));
    near(summary.means.ttft_s.mean, mean(&found, |r| r.ttft_s).unwrap());
    assert!(read_among(&[], None).is_err());
    // As one module of the page hands it to the other.
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<MeasuredRun>(&json).unwrap(), found);
}

#[test]
fn what_inferencexs_client_wrote_has_lengths_and_means() {
    let run = measured("inferencex_client.json", None);
    assert_eq!((run.tool, run.requests.len(), run.sending), (Tool::VllmBench, 40, Sending::InFlight(4)));
    assert!(!run.has_times() && run.means.ttft_s.mean.is_some() && run.notes[0].contains("--save-detailed"));
    let row = measured("inferencex.json", None);
    assert_eq!((row.tool, row.requests.len(), row.sending), (Tool::InferenceX, 40, Sending::InFlight(4)));
    near(row.means.ttft_s.mean, run.means.ttft_s.mean.unwrap());
    near(row.means.output_tokens_per_s, run.means.output_tokens_per_s.unwrap());
    assert!(row.requests.iter().all(|r| (204..=256).contains(&r.input_tokens)));
    let mut scenario = Scenario::default();
    take_over(&row, &mut scenario);
    let server = [Id::FleetGpu, Id::Weights, Id::CostKind].map(|id| scenario.choice(id));
    assert_eq!(server, ["h100_sxm", "fp8", "kernels"]);
}

#[test]
fn what_aiperf_wrote_gives_its_own_means_again() {
    let run = measured("aiperf/profile_export.jsonl", Some("aiperf/profile_export_aiperf.json"));
    let json: serde_json::Value = serde_json::from_str(&text("aiperf/profile_export_aiperf.json")).unwrap();
    assert_eq!((run.tool, run.requests.len(), run.sending), (Tool::AiPerf, 12, Sending::Times));
    let ms = |key: &str| json[key]["avg"].as_f64().unwrap() / 1e3;
    near(mean(&run, |r| r.ttft_s), ms("time_to_first_token"));
    near(mean(&run, |r| r.e2e_s), ms("request_latency"));
    near(mean(&run, MeasuredRequest::tpot_s), ms("inter_token_latency"));
    assert_eq!(run.reported, [("model".to_owned(), "meta-llama/Llama-3.1-8B-Instruct".to_owned())]);
}

#[test]
fn what_guidellm_wrote_gives_its_own_means_again() {
    let run = measured("guidellm.json", None);
    let json: serde_json::Value = serde_json::from_str(&text("guidellm.json")).unwrap();
    assert_eq!((run.tool, run.requests.len(), run.sending), (Tool::GuideLlm, 8, Sending::InFlight(2)));
    let metrics = &json["benchmarks"][0]["metrics"];
    let own = |key: &str| metrics[key]["successful"]["mean"].as_f64().unwrap();
    near(mean(&run, |r| r.ttft_s), own("time_to_first_token_ms") / 1e3);
    near(mean(&run, |r| r.e2e_s), own("request_latency"));
    near(mean(&run, |r| Some(f64::from(r.input_tokens))), own("prompt_token_count"));
}

#[test]
fn what_llmservingsim_wrote_is_read_in_seconds() {
    let run = measured("llmservingsim/example_single_run.csv", None);
    assert_eq!((run.tool, run.requests.len(), run.sending), (Tool::ServingSim, 10, Sending::Times));
    let first = &run.requests[0];
    assert_eq!((&*first.name, first.input_tokens, first.output_tokens), ("0", 10, 70));
    near(first.ttft_s, 0.010_998_25);
    near(first.e2e_s, 0.782_066_433);
    near(first.ttft_s.map(|ttft| ttft + first.gaps_s.iter().sum::<f64>()), 0.782_066_433);
}

#[test]
fn a_recorded_server_gives_its_settings() {
    let run = measured("llmservingsim/requests.jsonl", Some("llmservingsim/meta.json"));
    assert_eq!((run.tool, run.requests.len()), (Tool::ServingSimBench, 30));
    near(run.requests[0].ttft_s, 27_537.350_135_653 - 27_536.660_701_067);
    let mut scenario = Scenario::default();
    scenario.set_text("scheduler.max_running_requests", "200").unwrap();
    let taken = take_over(&run, &mut scenario);
    let json = scenario.to_json();
    assert_eq!(json["fleet"]["gpu"], "rtx4090");
    assert_eq!(json["scheduler"]["max_total_tokens"], 2587.0 * 16.0);
    assert_eq!(json["scheduler"]["max_running_requests"], 200.0, "what the user sets goes first");
    assert!(taken.settings.iter().any(|t| t.path == "scheduler.batch_max_tokens" && t.value == "2048"));
    assert_eq!((&taken.notes[..], &taken.missing[..]), (&[][..], &[][..]));
}

#[test]
fn errors_name_the_place_the_bound_and_the_value() {
    let vllm = |from: &str, to: &str| refused(&text("vllm_bench.json").replacen(from, to, 1));
    assert!(vllm("\"ttfts\": [", "\"ttfts\": [-1, ").contains("ttfts: 25 entries, but input_lens has 24"));
    assert!(vllm("\"input_lens\": [2", "\"input_lens\": [-2").starts_with("input_lens[0]: -2"));
    let lines = text("llmservingsim/requests.jsonl");
    let reported = refused(&lines.replacen("\"first_token_ts\": 27537", "\"first_token_ts\": 7537", 1));
    assert!(
        reported.starts_with("line 1, first_token_ts: 7537") && reported.contains("is before"),
        "{reported}"
    );
    let table = text("llmservingsim/example_single_run.csv").replacen("570907776", "soon", 1);
    assert_eq!(
        refused(&table),
        "line 2, column arrival: \"soon\" is not a number from 0 to 100000000000000000"
    );
    let aiperf = text("aiperf/profile_export.jsonl").replace("\"unit\":\"ms\"", "\"unit\":\"weeks\"");
    assert!(refused(&aiperf).contains("is not one of ns, us, ms, s"), "{}", refused(&aiperf));
    assert!(
        refused("{\"queued_ts\": 1, ").starts_with("line 1, column"),
        "{}",
        refused("{\"queued_ts\": 1, ")
    );
    assert!(refused("hello").contains("not recognised"));
    assert!(refused("{\"disagg\": true, \"infmax_model_prefix\": \"\"}").starts_with("disagg: true"));
}

/// The run of a scenario, as if it had been measured.
fn as_measured(settings: &[(&str, &str)]) -> (Scenario, MeasuredRun) {
    let scenario = scenario(settings);
    let run = Run::simulate(&scenario, None).unwrap();
    let report = &run.report;
    let request = |id: usize| MeasuredRequest {
        name: id.to_string(),
        sent_s: report.trace.arrival_us[id] / 1e6,
        input_tokens: report.trace.input_tokens[id],
        output_tokens: report.trace.output_tokens[id],
        ttft_s: report.ttft_us(id).map(|us| us / 1e6),
        e2e_s: report.e2e_us(id).map(|us| us / 1e6),
        gaps_s: Vec::new(),
    };
    let requests = (0..report.results.len()).map(request).collect();
    let measured = MeasuredRun { tool: Tool::AiPerf, requests, ..MeasuredRun::default() };
    (scenario, measured)
}

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let common = [
        ("scheduler.kind", "vllm_v1"),
        ("cost.kind", "linear"),
        ("workload.adapters.count", "0"),
        ("workload.rate_rps", "1"),
        ("workload.duration_s", "200"),
    ];
    Scenario::of_version(4).with(&[&common[..], settings].concat()).unwrap()
}

fn overlaid(measured: &MeasuredRun, scenario: &Scenario) -> Overlay {
    let trace = LoadedTrace::from_trace("measured", measured.trace());
    Overlay::of(measured, &Run::simulate(scenario, Some(&trace)).unwrap())
}

#[test]
fn a_run_over_itself_is_exact() {
    let (scenario, measured) = as_measured(&[]);
    let overlay = overlaid(&measured, &scenario);
    for metric in &overlay.metrics {
        // Of a rate there may be none: hardly anything ends in the last interval.
        assert!(metric.mape.is_some() || ["output_tokens_per_s", "throughput_rps"].contains(&metric.name));
        assert!(metric.mape.unwrap_or(0.0) < 1e-9 && metric.bias.unwrap().abs() < 1e-9, "{metric:?}");
        assert!(metric.correlation.unwrap() > 1.0 - 1e-9, "{metric:?}");
    }
    assert_eq!((overlay.cause.culprit, overlay.unfinished), (Culprit::None, 0));
    assert_eq!(overlay.by_length.iter().map(|b| b.requests).sum::<usize>(), measured.requests.len());
    let json = document(&measured, &scenario, &Taken::default(), &overlay, None);
    assert_eq!(json["requests"].as_array().unwrap().len(), measured.requests.len());
    assert!(json["likely_cause"].as_str().unwrap().contains("nothing to blame"));
}

/// What is blamed where only `changed` differs from the measured run.
fn blamed(common: &[(&str, &str)], changed: &[(&str, &str)]) -> (Culprit, String) {
    let (_, measured) = as_measured(common);
    let overlay = overlaid(&measured, &scenario(&[common, changed].concat()));
    (overlay.cause.culprit, overlay.cause.sentence)
}

#[test]
fn the_constant_that_was_changed_is_blamed() {
    let blames = |common: &[(&str, &str)], changed: &[(&str, &str)], culprit: Culprit| {
        let (found, sentence) = blamed(common, changed);
        assert_eq!(found, culprit, "{changed:?}: {sentence}");
    };
    // Lengths without order in time, hardly any queue, answers short enough for the TTFT to count.
    let light = [
        ("workload.rate_rps", "0.3"),
        ("workload.duration_s", "600"),
        ("workload.output_tokens.kind", "uniform"),
        ("workload.output_tokens.low", "2"),
        ("workload.output_tokens.high", "6"),
    ];
    blames(&light, &[("cost.linear.prefill_per_token_ms", "0.5")], Culprit::PrefillRate);
    blames(&light, &[("cost.linear.prefill_per_token_ms", "0.1")], Culprit::PrefillRate);
    blames(&light, &[("cost.linear.prefill_base_ms", "60")], Culprit::Overhead);
    blames(&[], &[("cost.linear.decode_base_ms", "30")], Culprit::DecodeTime);
    // Overloaded, few enough decode costs for tokens to come at the same rate.
    let heavy = [
        ("workload.rate_rps", "6"),
        ("workload.duration_s", "100"),
        ("cost.linear.decode_per_request_ms", "0"),
        ("cost.linear.decode_per_kv_token_ms", "0"),
        ("scheduler.max_total_tokens", "6000"),
    ];
    blames(&heavy, &[("scheduler.max_total_tokens", "4000")], Culprit::KvBlocks);
}

#[test]
fn a_fit_finds_the_constants_again_and_holds_on_the_other_half() {
    let truth = [("cost.linear.prefill_per_token_ms", "0.4"), ("cost.linear.decode_base_ms", "25")];
    let (_, measured) = as_measured(&truth);
    let paths = truth.map(|(path, _)| path.to_owned());
    let found = fit(&measured, &scenario(&[]), &paths).unwrap();
    for (constant, (path, value)) in found.constants.iter().zip(truth) {
        let value: f64 = value.parse().unwrap();
        assert!((constant.after / value - 1.0).abs() < 0.04, "{path}: {} for {value}", constant.after);
    }
    let e2e = |half: &[servescope_evidence::overlay::PairedMetric]| half[3].mape.unwrap();
    let [before, after] = &found.left_out_half;
    assert!(e2e(before) > 0.15 && e2e(after) < 0.02, "{} {}", e2e(before), e2e(after));
}

#[test]
fn constants_that_cannot_be_fitted_are_named() {
    let (scenario, measured) = as_measured(&[("workload.duration_s", "20")]);
    let reported = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        fit(&measured, &scenario, &paths).unwrap_err().to_string()
    };
    assert!(reported(&["a", "b", "c", "d"]).contains("4 constants"));
    assert!(reported(&["cost.speed"]).contains("no such parameter"));
    assert!(reported(&["cost.kind"]).contains("not a number"));
    assert!(reported(&["cost.host.base_ms"]).contains("no effect"));
    let twice = "cost.linear.decode_base_ms";
    assert!(reported(&[twice, twice]).contains("named twice"));
}

/// A piece of a real file after a change.
fn changed(text: &str, at: usize, piece: &str) -> String {
    let at = (at % text.len().max(1)..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let rest = (at + piece.len()..=text.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(text.len());
    format!("{}{piece}{}", &text[..at], &text[rest..])
}

proptest! {
    #![proptest_config(cases(200, 5_000))]

    #[test]
    fn any_change_of_a_file_is_read_within_bounds_or_refused(
        which in 0_usize..7,
        at in any::<usize>(),
        piece in "[-0-9eE.,:{}\\[\\]\" a-z\n]{0,6}|null|-1|1e999|NaN",
    ) {
        let names = [
            "vllm_bench.json",
            "vllm_bench_in_flight.json",
            "aiperf/profile_export.jsonl",
            "inferencex_client.json",
            "inferencex.json",
            "llmservingsim/example_single_run.csv",
            "llmservingsim/requests.jsonl",
        ];
        let text = changed(&text(names[which]), at, &piece);
        match read(NamedText { name: "a", text: &text }, |_| None) {
            Ok(run) => {
                prop_assert!(!run.requests.is_empty());
                for request in &run.requests {
                    prop_assert!(request.output_tokens >= 1 && request.sent_s >= 0.0);
                    let times = [request.ttft_s, request.e2e_s, request.tpot_s(), request.itl_s()];
                    prop_assert!(times.iter().flatten().all(|t| t.is_finite() && *t >= 0.0), "{request:?}");
                }
                prop_assert_eq!(run.trace().len(), run.requests.len());
            }
            Err(error) => prop_assert!(!error.place.is_empty() && !error.message.is_empty()),
        }
    }
}
