//! Summaries of GenAI-Perf (`profile_export_genai_perf.json`, github.com/triton-inference-server/perf_analyzer) and of its successor
//! AIPerf (`profile_export_aiperf.json`): a metric a key with its unit, `avg` and percentiles, and the client's settings under
//! `input_config`. Of several runs AIPerf writes their means (`profile_export_aiperf_aggregate.json`) and all their requests as one
//! (`profile_export_aiperf_collated.json`).

use serde_json::Value as Json;
use servescope_settings::file_kind::Tool;

use super::ReadError;
use super::aiperf::{reported, unit_s};
use super::described::{Described, Offered, count, in_flight, mean_length, rate, stated};
use super::inference_perf::{of_throughput, seconds};
use super::json::JsonField;
use crate::overlay::measured::{Means, MeasuredRun, MeasuredTime};

/// Where the number in flight, or the rate, stands under `input_config` in one version or another.
const PLACES: [&str; 6] = [
    "/input_config/perf_analyzer/stimulus",
    "/input_config/loadgen",
    "/input_config/phases/0",
    "/input_config",
    "/load",
    "",
];

/// A summary of several runs in the form of one; of one run as it is.
fn of_one_run(json: &Json) -> Json {
    let mut one = json.clone();
    if let Some(metrics) = json.get("metrics").and_then(Json::as_object) {
        for (key, over_runs) in metrics {
            let Some((metric, statistic)) = key.rsplit_once('_') else { continue };
            let Some(mean) = over_runs.get("mean") else { continue };
            one[metric][statistic] = mean.clone();
            if let Some(unit) = over_runs.get("unit").filter(|unit| unit.is_string()) {
                one[metric]["unit"] = unit.clone();
            }
        }
    }
    if let Some(combined) = json.get("combined").and_then(Json::as_object) {
        for (metric, statistics) in combined {
            one[metric] = statistics.clone();
            if let Some(mean) = statistics.get("mean").filter(|_| statistics.is_object()) {
                one[metric]["avg"] = mean.clone();
            }
        }
    }
    one
}

/// Reads a summary.
pub(super) fn read(document: &Json, tool: Tool) -> Result<MeasuredRun, ReadError> {
    let json = of_one_run(document);
    let root = &JsonField::root(&json);
    let average = |key: &str| root.get(key).and_then(|metric| metric.get("avg"));
    let answered = average("request_count").or_else(|| root.get("request_latency")?.get("count"));
    let asked = || {
        root.json
            .pointer("/input_config")
            .and_then(|config| ["request_count", "num_prompts"].iter().find_map(|key| config.get(key)))
    };
    let requests = match (answered, asked()) {
        (Some(answered), _) => count(&answered)?,
        (None, Some(asked)) if asked.as_f64().is_some_and(|asked| asked > 0.0) => {
            count(&JsonField::root(asked))?
        }
        _ => of_rate(root)?,
    };
    if requests == 0 {
        return Err(ReadError::new("request_count", "0: no request was answered"));
    }
    let length = |key: &str| {
        let mean = average(key).ok_or_else(|| ReadError::new(format!("{key}.avg"), "missing"))?;
        mean_length(&mean)
    };
    let time = |key: &str| {
        root.get(key).map_or(Ok(MeasuredTime::default()), |metric| seconds(&metric, unit_s(&metric)?))
    };
    let number = |key: &str| average(key).map(|rate| rate.number(0.0, 1e12)).transpose();
    let means = Means {
        ttft_s: time("time_to_first_token")?,
        // Of each request its mean, without the first token.
        tpot_s: time("inter_token_latency")?,
        itl_s: time("inter_chunk_latency")?,
        e2e_s: time("request_latency")?,
        output_tokens_per_s: number("output_token_throughput")?,
        throughput_rps: number("request_throughput")?,
    };
    let mut notes = Vec::new();
    let offered = match offered(root)? {
        Some(offered) => offered,
        None => of_throughput(&means, &mut notes)?,
    };
    let (input, output) = (length("input_sequence_length")?, length("output_sequence_length")?);
    Described { tool, requests, input, output, offered, means, reported: reported(root.json), notes }.run()
}

/// The number of requests of a summary without it: those that the rate makes over the time that was measured.
fn of_rate(root: &JsonField) -> Result<usize, ReadError> {
    let average =
        |key: &str| root.get(key).and_then(|metric| metric.get("avg")).map(|value| value.number(0.0, 1e9));
    match (average("request_throughput"), average("benchmark_duration")) {
        (Some(rate), Some(duration)) => Ok((rate? * duration?).round().max(1.0) as usize),
        // Means do not depend on it where there are enough.
        _ => Ok(1000),
    }
}

/// How requests were offered; none where the settings do not say.
fn offered(root: &JsonField) -> Result<Option<Offered>, ReadError> {
    for place in PLACES {
        let Some(load) = root.json.pointer(place).filter(|load| load.is_object()) else { continue };
        let load = JsonField::root(load);
        let given = |key: &str| load.get(key).filter(|field| field.json.as_f64().is_some_and(|x| x > 0.0));
        if let Some(rps) = given("request_rate").or_else(|| given("rate")) {
            let rps = rate(&rps)?;
            let is_even = load
                .get("request_rate_mode")
                .or_else(|| load.get("arrival_pattern"))
                .is_some_and(|mode| mode.json == "constant");
            return Ok(rps.map(|rps| Offered::Rate { rps, cv: if is_even { 0.0 } else { 1.0 } }));
        }
        if let Some(most) = given("concurrency") {
            return in_flight(&most).map(|most| Some(Offered::InFlight(most)));
        }
    }
    Ok(None)
}

/// A run in a few words.
pub(super) fn label(root: &JsonField) -> String {
    offered(root).ok().flatten().map_or_else(|| "?".to_owned(), stated)
}
