//! Benchmark reports of llm-d (github.com/llm-d/llm-d-benchmark, `benchmark_report`): version 0.1 has its numbers under `metrics`,
//! version 0.2 under `results.request_performance.aggregate`; each statistic has its units. They are written as YAML, or as JSON.

use servescope_settings::file_kind::Tool;

use super::described::{Described, Offered, count, in_flight, mean_length, rate, stated};
use super::inference_perf::{of_throughput, offered_in_stage, seconds};
use super::json::JsonField;
use super::{ReadError, note_failed};
use crate::overlay::measured::{Means, MeasuredRun, MeasuredTime};

/// Reads a report.
pub(super) fn read(root: &JsonField) -> Result<MeasuredRun, ReadError> {
    let results =
        root.get("results").and_then(|results| results.get("request_performance")?.get("aggregate"));
    let metrics = results.map_or_else(|| root.need("metrics"), Ok)?;
    let asked = metrics.need("requests")?;
    let total = asked.need("total")?;
    let failed: usize = ["failures", "incomplete"]
        .into_iter()
        .filter_map(|key| asked.get(key))
        .map(|field| count(&field))
        .sum::<Result<usize, _>>()?;
    let requests = count(&total)?.saturating_sub(failed);
    if requests == 0 {
        return Err(ReadError::new(total.place(), format!("no request was answered, {failed} failed")));
    }
    let mut notes = Vec::new();
    note_failed(&mut notes, failed, requests + failed);
    let length = |key: &str| mean_length(&asked.need(key)?.need("mean")?);
    let latency = metrics.get("latency");
    let time = |key: &str| {
        let metric = latency.as_ref().and_then(|latency| latency.get(key));
        metric.map_or(Ok(MeasuredTime::default()), |metric| seconds(&metric, unit_s(&metric)?))
    };
    let number = |keys: [&str; 2]| {
        let all = metrics.get("throughput");
        let field = keys.into_iter().find_map(|key| all.as_ref()?.get(key));
        let field = field.map(|field| field.get("mean").unwrap_or(field));
        field.map(|field| field.number(0.0, 1e12)).transpose()
    };
    let means = Means {
        ttft_s: time("time_to_first_token")?,
        tpot_s: time("time_per_output_token")?,
        itl_s: time("inter_token_latency")?,
        e2e_s: time("request_latency")?,
        output_tokens_per_s: number(["output_token_rate", "output_tokens_per_sec"])?,
        throughput_rps: number(["request_rate", "requests_per_sec"])?,
    };
    let reported = reported(root)?;
    let offered = match offered(root)? {
        Some(offered) => offered,
        None => of_throughput(&means, &mut notes)?,
    };
    let (input, output) = (length("input_length")?, length("output_length")?);
    Described { tool: Tool::LlmD, requests, input, output, offered, means, reported, notes }.run()
}

/// The units of a statistic as seconds; without any, seconds.
fn unit_s(metric: &JsonField) -> Result<f64, ReadError> {
    let Some(units) = metric.get("units") else { return Ok(1.0) };
    match units.text()?.split('/').next().unwrap_or_default() {
        "ms" => Ok(1e-3),
        "s" => Ok(1.0),
        _ => Err(units.bad("one of ms, s, ms/token, s/token")),
    }
}

/// How requests were offered; none where the report does not say.
fn offered(root: &JsonField) -> Result<Option<Offered>, ReadError> {
    let load = root.get("scenario").and_then(|scenario| scenario.get("load"));
    let Some(load) = load else { return Ok(None) };
    let mut is_unbounded = false;
    for place in ["standardized", "args"] {
        let Some(load) = load.get(place) else { continue };
        for key in ["rate_qps", "request_rate"] {
            match load.get(key).map(|field| rate(&field)).transpose()? {
                Some(Some(rps)) => return Ok(Some(Offered::Rate { rps, cv: 1.0 })),
                Some(None) => is_unbounded = true,
                None => {}
            }
        }
        for key in ["concurrency", "max_concurrency"] {
            if let Some(most) = load.get(key) {
                return in_flight(&most).map(|most| Some(Offered::InFlight(most)));
            }
        }
    }
    if let Some(stage) = stage(&load)? {
        return offered_in_stage(&stage);
    }
    Ok(is_unbounded.then_some(Offered::AtOnce))
}

/// The stage of inference-perf's configuration that the report is of.
fn stage<'a>(load: &JsonField<'a>) -> Result<Option<JsonField<'a>>, ReadError> {
    let stages = load.get("args").and_then(|config| config.get("load")?.get("stages"));
    let place = load.get("metadata").and_then(|metadata| metadata.get("stage"));
    let (Some(stages), Some(place)) = (stages, place) else { return Ok(None) };
    let place = count(&place)?;
    Ok(stages.items()?.get(place).map(|json| stages.item(json, place)))
}

/// The model and the accelerators of the report.
fn reported(root: &JsonField) -> Result<Vec<(String, String)>, ReadError> {
    let mut reported = Vec::new();
    let Some(scenario) = root.get("scenario") else { return Ok(reported) };
    let mut take = |name: &str, field: Option<JsonField>| {
        reported.extend(field.and_then(|field| field.setting()).map(|value| (name.to_owned(), value)));
    };
    take("model", scenario.get("model").and_then(|model| model.get("name")));
    if let Some(host) = scenario.get("host") {
        let types = host.get("type").map_or(Ok(&[][..]), |types| types.items())?;
        apart(types.iter().any(|kind| kind == "prefill"), "scenario.host.type")?;
        let hosts = host.get("accelerator").map_or(Ok(&[][..]), |list| list.items())?;
        if let Some(first) = hosts.first() {
            let first = JsonField::root(first);
            take("gpu", first.get("model"));
            take("tp", first.get("parallelism").and_then(|parallelism| parallelism.get("tp")));
        }
    }
    let stack = scenario.get("stack").map_or(Ok(&[][..]), |stack| stack.items())?;
    let engines: Vec<JsonField> = stack
        .iter()
        .filter_map(|component| JsonField::root(component).get("standardized"))
        .filter(|engine| engine.get("accelerator").is_some() || engine.get("model").is_some())
        .collect();
    apart(
        engines.iter().any(|engine| engine.get("role").is_some_and(|role| role.json == "prefill")),
        "scenario.stack",
    )?;
    if let Some(engine) = engines.first() {
        take("model", engine.get("model").and_then(|model| model.get("name").or(Some(model))));
        let accelerator = engine.get("accelerator");
        take("gpu", accelerator.as_ref().and_then(|accelerator| accelerator.get("model")));
        let parallelism = accelerator.as_ref().and_then(|accelerator| accelerator.get("parallelism"));
        take(
            "tp",
            parallelism.or_else(|| engine.get("parallelism")).and_then(|parallelism| parallelism.get("tp")),
        );
        take("replicas", engine.get("replicas"));
    }
    Ok(reported)
}

fn apart(is_apart: bool, place: &str) -> Result<(), ReadError> {
    if !is_apart {
        return Ok(());
    }
    Err(ReadError::new(place, "servers apart for prompts and outputs are not simulated"))
}

/// A report in a few words.
pub(super) fn label(root: &JsonField) -> String {
    offered(root).ok().flatten().map_or_else(|| "?".to_owned(), stated)
}
