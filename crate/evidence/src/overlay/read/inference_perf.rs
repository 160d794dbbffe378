//! inference-perf's summaries (github.com/kubernetes-sigs/inference-perf, `stage_N_lifecycle_metrics.json` and
//! `summary_lifecycle_metrics.json`): the load of a stage, and means and percentiles of what was answered, times in seconds.

use servescope_settings::file_kind::Tool;

use super::described::{Described, Offered, count, in_flight, mean_length, rate, stated};
use super::json::JsonField;
use super::{ReadError, note_failed};
use crate::overlay::measured::{MAX_S, Means, MeasuredRun, MeasuredTime};

/// Reads a summary.
pub(super) fn read(root: &JsonField) -> Result<MeasuredRun, ReadError> {
    let successes = root.need("successes")?;
    let load = root.need("load_summary")?;
    let answered = successes.get("count").or_else(|| load.get("count"));
    let requests = count(&answered.ok_or_else(|| ReadError::new("successes.count", "missing"))?)?;
    let failed = root.get("failures").and_then(|failures| failures.get("count"));
    let failed = failed.map_or(Ok(0), |failed| count(&failed))?;
    if requests == 0 {
        return Err(ReadError::new(
            "successes.count",
            format!("0: no request was answered, {failed} failed"),
        ));
    }
    let mut notes = Vec::new();
    note_failed(&mut notes, failed, requests + failed);
    let length = |keys: [&str; 2]| {
        let mean = keys.into_iter().find_map(|key| successes.get(key)?.get("mean"));
        let place = format!("successes.{}.mean", keys[1]);
        mean.ok_or_else(|| ReadError::new(place, "missing")).and_then(|mean| mean_length(&mean))
    };
    let latency = successes.get("latency");
    let time = |key: &str| {
        let metric = latency.as_ref().and_then(|latency| latency.get(key));
        metric.map_or(Ok(MeasuredTime::default()), |metric| seconds(&metric, 1.0))
    };
    let throughput = |key: &str| {
        let rate = successes.get("throughput").and_then(|all| all.get(key));
        rate.map(|rate| rate.number(0.0, 1e12)).transpose()
    };
    let means = Means {
        ttft_s: time("time_to_first_token")?,
        tpot_s: time("time_per_output_token")?,
        itl_s: time("inter_token_latency")?,
        e2e_s: time("request_latency")?,
        output_tokens_per_s: throughput("output_tokens_per_sec")?,
        throughput_rps: throughput("requests_per_sec")?,
    };
    let offered = match offered(root)? {
        Some(offered) => offered,
        None => of_throughput(&means, &mut notes)?,
    };
    let (input, output) =
        (length(["prompt_tokens", "prompt_len"])?, length(["output_tokens", "output_len"])?);
    Described {
        tool: Tool::InferencePerf,
        requests,
        input,
        output,
        offered,
        means,
        reported: Vec::new(),
        notes,
    }
    .run()
}

/// The load of a stage.
fn offered(root: &JsonField) -> Result<Option<Offered>, ReadError> {
    root.get("load_summary").map_or(Ok(None), |load| offered_in_stage(&load))
}

/// The load of a stage: a number in flight, or a rate, which it sends at as a Poisson process where nothing else is said.
pub(super) fn offered_in_stage(load: &JsonField) -> Result<Option<Offered>, ReadError> {
    for key in ["concurrency", "concurrency_level", "num_concurrency"] {
        if let Some(most) = load.get(key) {
            return in_flight(&most).map(|most| Some(Offered::InFlight(most)));
        }
    }
    for key in ["requested_rate", "achieved_rate", "rate"] {
        if let Some(rps) = load.get(key).map(|field| rate(&field)).transpose()?.flatten() {
            return Ok(Some(Offered::Rate { rps, cv: 1.0 }));
        }
    }
    Ok(None)
}

/// Offered at the rate that was served, where a file says no more.
pub(super) fn of_throughput(means: &Means, notes: &mut Vec<String>) -> Result<Offered, ReadError> {
    let rps = means.throughput_rps.filter(|rps| *rps > 0.0);
    let rps = rps.ok_or_else(|| {
        ReadError::new("the load", "neither a rate, nor a number in flight, nor a throughput is in the file")
    })?;
    notes.push(format!(
        "the file does not say how requests were offered; the rate that was served is taken, {rps:.3}/s"
    ));
    Ok(Offered::Rate { rps, cv: 1.0 })
}

/// A summary of a time in a unit of this many seconds: `mean` or `avg`, `median` or `p50`, and percentiles.
pub(super) fn seconds(metric: &JsonField, unit_s: f64) -> Result<MeasuredTime, ReadError> {
    let one = |keys: [&str; 2]| {
        let value = keys.into_iter().find_map(|key| metric.get(key));
        value.map(|value| Ok(value.number(0.0, MAX_S / unit_s)? * unit_s)).transpose()
    };
    Ok(MeasuredTime {
        mean: one(["mean", "avg"])?,
        p50: one(["median", "p50"])?,
        p90: one(["p90", "P90"])?,
        p95: one(["p95", "P95"])?,
        p99: one(["p99", "P99"])?,
    })
}

/// A stage in a few words.
pub(super) fn label(root: &JsonField) -> String {
    offered(root).ok().flatten().map_or_else(|| "?".to_owned(), stated)
}
