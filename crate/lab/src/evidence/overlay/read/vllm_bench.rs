//! `vllm bench serve --save-result --save-detailed` (vllm/benchmarks/serve.py): one JSON object with a list a quantity, each
//! with one entry a request. InferenceX's client is a fork of it, and what SGLang's writes differs in more than names.
//!
//! Older versions do not write the end-to-end time of a request: it is its TTFT and the gaps after it. Without
//! `--save-detailed` there are only means, and in InferenceX's fork the lengths.

use serde_json::Value as Json;

use super::json::Field;
use super::{ReadError, Tool, room, tell_failed};
use crate::evidence::overlay::measured::{MAX_S, Means, MeasuredRequest, MeasuredRun, Sending};

/// Keys about the client or the result; what else stands there was added with `--metadata`.
const OWN: [&str; 12] = [
    "date",
    "endpoint_type",
    "backend",
    "label",
    "tokenizer_id",
    "num_prompts",
    "best_of",
    "request_rate",
    "burstiness",
    "max_concurrency",
    "duration",
    "completed",
];

/// A column with one entry a request.
fn column<'a>(root: &Field<'a>, key: &str, rows: usize) -> Result<Option<Field<'a>>, ReadError> {
    let Some(field) = root.get(key) else { return Ok(None) };
    match field.items()?.len() {
        found if found == rows => Ok(Some(field)),
        0 => Ok(None),
        found => Err(ReadError::new(key, format!("{found} entries, but input_lens has {rows}"))),
    }
}

/// Reads a document.
pub(super) fn read(json: &Json) -> Result<MeasuredRun, ReadError> {
    let root = Field::root(json);
    let lens = root.get("input_lens").ok_or_else(|| {
        ReadError::new(
            "input_lens",
            "missing; run `vllm bench serve` with --save-detailed beside --save-result",
        )
    })?;
    let rows = lens.items()?;
    let mut notes = Vec::new();
    let columns = Columns {
        input: lens.clone(),
        output: column(&root, "output_lens", rows.len())?
            .ok_or_else(|| ReadError::new("output_lens", "missing"))?,
        ttft: column(&root, "ttfts", rows.len())?,
        itls: column(&root, "itls", rows.len())?,
        latencies: column(&root, "latencies", rows.len())?,
        starts: column(&root, "start_times", rows.len())?,
        errors: column(&root, "errors", rows.len())?,
    };
    let mut requests = Vec::with_capacity(rows.len());
    for place in 0..rows.len() {
        room(&requests, "input_lens")?;
        requests.extend(columns.request(place)?);
    }
    tell_failed(&mut notes, rows.len() - requests.len(), rows.len());
    let sending = sending(&root, columns.starts.is_some(), rows.len())?;
    let means = if columns.ttft.is_some() { Means::default() } else { means(&root)? };
    if columns.ttft.is_none() {
        notes.push("the file has means only; --save-detailed writes every request".to_owned());
    }
    Ok(MeasuredRun { tool: Tool::VllmBench, requests, sending, means, reported: reported(&root), notes })
}

struct Columns<'a> {
    input: Field<'a>,
    output: Field<'a>,
    ttft: Option<Field<'a>>,
    itls: Option<Field<'a>>,
    latencies: Option<Field<'a>>,
    starts: Option<Field<'a>>,
    errors: Option<Field<'a>>,
}

impl<'a> Columns<'a> {
    fn at(field: &Field<'a>, place: usize) -> Result<Field<'a>, ReadError> {
        Ok(field.item(&field.items()?[place], place))
    }

    /// A request; none of one that failed.
    fn request(&self, place: usize) -> Result<Option<MeasuredRequest>, ReadError> {
        let at = |field: &Option<Field<'a>>| field.as_ref().map(|f| Self::at(f, place)).transpose();
        if let Some(error) = at(&self.errors)?
            && !error.text()?.is_empty()
        {
            return Ok(None);
        }
        let output_tokens = Self::at(&self.output, place)?.tokens()?;
        if output_tokens == 0 {
            return Ok(None);
        }
        let ttft_s = at(&self.ttft)?.map(|ttft| ttft.seconds(1.0)).transpose()?;
        let gaps_s = at(&self.itls)?.map_or(Ok(Vec::new()), |itls| itls.times(1.0))?;
        let is_whole = self.itls.is_some() && (output_tokens == 1 || !gaps_s.is_empty());
        let of_gaps = ttft_s.filter(|_| is_whole).map(|ttft_s| ttft_s + gaps_s.iter().sum::<f64>());
        Ok(Some(MeasuredRequest {
            name: place.to_string(),
            // The client's clock counts from any moment.
            sent_s: at(&self.starts)?.map_or(Ok(0.0), |start| start.number(-1e12, 1e12))?,
            input_tokens: Self::at(&self.input, place)?.tokens()?,
            output_tokens,
            ttft_s,
            e2e_s: at(&self.latencies)?.map(|latency| latency.seconds(1.0)).transpose()?.or(of_gaps),
            gaps_s,
        }))
    }
}

/// A rate without bound and a bound on the requests in flight make a closed loop.
fn sending(root: &Field, has_starts: bool, rows: usize) -> Result<Sending, ReadError> {
    let is_unbounded = match root.get("request_rate") {
        None => true,
        Some(rate) if rate.json.is_string() => rate.text()? == "inf",
        Some(rate) => {
            rate.number(0.0, 1e9)?;
            false
        }
    };
    let in_flight = root.get("max_concurrency").map(|most| most.number(1.0, 1e9)).transpose()?;
    match in_flight {
        Some(most) if is_unbounded && (most as usize) < rows => Ok(Sending::InFlight(most as u32)),
        // All of them at once.
        _ if is_unbounded && !has_starts => Ok(Sending::Times),
        _ if !has_starts => Err(ReadError::new(
            "start_times",
            "missing, so it is not known when requests were sent; vLLM writes them from 0.11 on",
        )),
        _ => Ok(Sending::Times),
    }
}

fn means(root: &Field) -> Result<Means, ReadError> {
    let mean = |key: &str, unit: f64| {
        root.get(key).map(|value| Ok(value.number(0.0, MAX_S / unit)? * unit)).transpose()
    };
    Ok(Means {
        ttft_s: mean("mean_ttft_ms", 1e-3)?,
        tpot_s: mean("mean_tpot_ms", 1e-3)?,
        itl_s: mean("mean_itl_ms", 1e-3)?,
        e2e_s: mean("mean_e2el_ms", 1e-3)?,
        output_tokens_per_s: mean("output_throughput", 1.0)?,
        throughput_rps: mean("request_throughput", 1.0)?,
    })
}

/// The model, and what was added with `--metadata`.
fn reported(root: &Field) -> Vec<(String, String)> {
    let Some(fields) = root.json.as_object() else { return Vec::new() };
    let is_setting = |key: &str| !OWN.contains(&key);
    let settings = fields.keys().filter(|key| is_setting(key));
    settings
        .filter_map(|key| {
            Some((if key == "model_id" { "model" } else { key }.to_owned(), root.get(key)?.setting()?))
        })
        .collect()
}
