//! GuideLLM's JSON report (github.com/vllm-project/guidellm, `--output kind=json`): benchmarks, each with its strategy, its metrics
//! and its requests, which are left out where the report is written with a sample size of 0. A sweep has one benchmark a rate.

use servescope_settings::file_kind::Tool;

use super::described::{Described, Offered, count, in_flight, mean_length, rate, stated};
use super::json::JsonField;
use super::{ReadError, note_failed, room};
use crate::overlay::measured::{MAX_S, Means, MeasuredRequest, MeasuredRun, MeasuredTime, Sending};

/// The benchmarks of a report.
pub(super) fn benchmarks<'a>(root: &JsonField<'a>) -> Result<Vec<JsonField<'a>>, ReadError> {
    let all = root.need("benchmarks")?;
    let items = all.items()?;
    if items.is_empty() {
        return Err(ReadError::new(all.place(), "the list is empty"));
    }
    Ok(items.iter().enumerate().map(|(place, item)| all.item(item, place)).collect())
}

/// Reads a benchmark of a report.
pub(super) fn read(root: &JsonField, benchmark: &JsonField) -> Result<MeasuredRun, ReadError> {
    let model = ["/config/spec/backend/model", "/args/model", "/args/backend/model"];
    let model = model.into_iter().find_map(|path| root.json.pointer(path)?.as_str());
    let reported: Vec<(String, String)> =
        model.map(|name| ("model".to_owned(), name.to_owned())).into_iter().collect();
    let of_status = benchmark.need("requests")?;
    let successful = of_status.need("successful")?;
    if successful.items()?.is_empty() {
        return described(benchmark, reported);
    }
    let mut notes = Vec::new();
    let mut requests = Vec::new();
    for (place, item) in successful.items()?.iter().enumerate() {
        room(&requests, &successful.place())?;
        requests.extend(request(&successful.item(item, place))?);
    }
    let others =
        ["errored", "incomplete"].map(|key| of_status.get(key).map_or(Ok(0), |list| Ok(list.items()?.len())));
    let [errored, incomplete] = others;
    let asked = successful.items()?.len() + errored? + incomplete?;
    note_failed(&mut notes, asked - requests.len(), asked);
    let sending = match offered(benchmark)? {
        Some(Offered::InFlight(most)) if (most as usize) < asked => Sending::InFlight(most),
        _ => Sending::Times,
    };
    Ok(MeasuredRun { tool: Tool::GuideLlm, requests, sending, reported, notes, ..MeasuredRun::default() })
}

/// A benchmark without its requests.
fn described(benchmark: &JsonField, reported: Vec<(String, String)>) -> Result<MeasuredRun, ReadError> {
    let Some(metrics) = benchmark.get("metrics") else {
        return Err(ReadError::new(benchmark.place(), "neither requests nor metrics are in the file"));
    };
    let total = |key: &str| metrics.get("request_totals").and_then(|totals| totals.get(key));
    let successful = |key: &str| metrics.get(key).and_then(|metric| metric.get("successful"));
    let requests = if let Some(total) = total("successful") {
        count(&total)?
    } else {
        let of_metric = successful("request_latency").or_else(|| successful("time_to_first_token_ms"));
        of_metric.and_then(|metric| metric.get("count")).map_or(Ok(0), |total| count(&total))?
    };
    let lost: usize =
        ["errored", "incomplete"].iter().filter_map(|key| total(key)).filter_map(|n| count(&n).ok()).sum();
    if requests == 0 {
        let message = format!("no request was answered; {lost} failed or were not complete");
        return Err(ReadError::new(format!("{}.metrics.request_totals", benchmark.place()), message));
    }
    let mut notes = vec!["the report was written without its requests (a sample size of 0)".to_owned()];
    note_failed(&mut notes, lost, requests + lost);
    let length = |key: &str| {
        let mean = successful(key).and_then(|metric| metric.get("mean"));
        let place = format!("{}.metrics.{key}.successful.mean", benchmark.place());
        mean.ok_or_else(|| ReadError::new(place, "missing")).and_then(|mean| mean_length(&mean))
    };
    let time = |key: &str, unit_s: f64| {
        successful(key).map_or(Ok(MeasuredTime::default()), |metric| time(&metric, unit_s))
    };
    let rate_of = |key: &str| {
        successful(key).and_then(|metric| metric.get("mean")).map(|mean| mean.number(0.0, 1e12)).transpose()
    };
    let means = Means {
        ttft_s: time("time_to_first_token_ms", 1e-3)?,
        // Of each request its mean, without the first token; `time_per_output_token_ms` has the first token in it.
        tpot_s: time("inter_token_latency_ms", 1e-3)?,
        e2e_s: time("request_latency", 1.0)?,
        output_tokens_per_s: rate_of("output_tokens_per_second")?,
        throughput_rps: rate_of("requests_per_second")?,
        ..Means::default()
    };
    let offered = match offered(benchmark)? {
        Some(offered) => offered,
        None => means
            .throughput_rps
            .filter(|rps| *rps > 0.0)
            .map_or(Offered::AtOnce, |rps| Offered::Rate { rps, cv: 1.0 }),
    };
    let (input, output) = (length("prompt_token_count")?, length("output_token_count")?);
    Described { tool: Tool::GuideLlm, requests, input, output, offered, means, reported, notes }.run()
}

/// A distribution of a metric.
fn time(metric: &JsonField, unit_s: f64) -> Result<MeasuredTime, ReadError> {
    let one = |field: Option<JsonField>| {
        field.map(|field| Ok(field.number(0.0, MAX_S / unit_s)? * unit_s)).transpose()
    };
    let percentile = |key: &str| metric.get("percentiles").and_then(|all| all.get(key));
    Ok(MeasuredTime {
        mean: one(metric.get("mean"))?,
        p50: one(metric.get("median").or_else(|| percentile("p50")))?,
        p90: one(percentile("p90"))?,
        p95: one(percentile("p95"))?,
        p99: one(percentile("p99"))?,
    })
}

/// A request; none of one without an answer.
fn request(entry: &JsonField) -> Result<Option<MeasuredRequest>, ReadError> {
    let output_tokens = entry.need("output_tokens")?.tokens()?;
    if output_tokens == 0 {
        return Ok(None);
    }
    let time = |key: &str, unit_s: f64| entry.get(key).map(|t| t.seconds(unit_s)).transpose();
    let sent = entry.get("request_start_time").map_or_else(|| entry.need("start_time"), Ok)?;
    Ok(Some(MeasuredRequest {
        name: entry.get("request_id").and_then(|id| id.setting()).unwrap_or_default(),
        sent_s: sent.number(0.0, 1e12)?,
        input_tokens: entry.need("prompt_tokens")?.tokens()?,
        output_tokens,
        ttft_s: time("time_to_first_token_ms", 1e-3)?,
        e2e_s: time("request_latency", 1.0)?,
        gaps_s: Vec::new(),
    }))
}

fn strategy<'a>(benchmark: &JsonField<'a>) -> Option<JsonField<'a>> {
    ["config", "args", "scheduler"].into_iter().find_map(|key| benchmark.get(key)?.get("strategy"))
}

/// The strategies `synchronous`, `concurrent` and `throughput` keep requests in flight, the others send at a rate; none where the
/// report does not say.
fn offered(benchmark: &JsonField) -> Result<Option<Offered>, ReadError> {
    let Some(strategy) = strategy(benchmark) else { return Ok(None) };
    let at_rate = |cv: f64| {
        let rps = strategy.get("rate").map(|field| rate(&field)).transpose()?.flatten();
        Ok(rps.map(|rps| Offered::Rate { rps, cv }))
    };
    match strategy.get("type_").map(|kind| kind.text()).transpose()? {
        Some("synchronous") => Ok(Some(Offered::InFlight(1))),
        Some("concurrent") => Ok(Some(Offered::InFlight(in_flight(&strategy.need("streams")?)?))),
        Some("throughput") => {
            let most = strategy.get("max_concurrency").map(|most| in_flight(&most)).transpose()?;
            Ok(Some(most.map_or(Offered::AtOnce, Offered::InFlight)))
        }
        Some("constant") => at_rate(0.0),
        _ => at_rate(1.0),
    }
}

/// A benchmark in a few words.
pub(super) fn label(benchmark: &JsonField) -> String {
    let kind = strategy(benchmark).and_then(|strategy| strategy.get("type_")?.setting());
    let stated = offered(benchmark).ok().flatten().map(stated);
    [kind, stated].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
