//! `vllm bench serve --save-result` (vllm/benchmarks/serve.py) and SGLang's `bench_serving --output-file`, which comes from it: one
//! object a run, with `--save-detailed` (SGLang: `--output-details`) a list a quantity, each with one entry a request. InferenceX's
//! client is a fork of the first.
//!
//! Older versions do not write the end-to-end time of a request: it is its TTFT and the gaps after it. vLLM writes the times of
//! sending since January 2026, SGLang does not: without them arrivals are drawn at the rate of the file.

use servescope_settings::file_kind::Tool;

use super::described::{Described, Length, Offered, count, in_flight, rate, send, stated};
use super::json::JsonField;
use super::{ReadError, note_failed, room};
use crate::overlay::measured::{MAX_S, Means, MeasuredRequest, MeasuredRun, MeasuredTime, Sending};

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
fn column<'a>(root: &JsonField<'a>, key: &str, rows: usize) -> Result<Option<JsonField<'a>>, ReadError> {
    let Some(field) = root.get(key) else { return Ok(None) };
    match field.items()?.len() {
        found if found == rows => Ok(Some(field)),
        0 => Ok(None),
        found => Err(ReadError::new(field.place(), format!("{found} entries, but input_lens has {rows}"))),
    }
}

/// How the requests of a run were offered.
fn offered(root: &JsonField) -> Result<Offered, ReadError> {
    let rps = root.get("request_rate").map(|field| rate(&field)).transpose()?.flatten();
    if let Some(rps) = rps {
        let burstiness = root.get("burstiness").map_or(Ok(1.0), |field| field.number(1e-6, 1e12))?;
        // Gaps of a gamma distribution of this shape.
        return Ok(Offered::Rate { rps, cv: 1.0 / libm::sqrt(burstiness) });
    }
    let most = root.get("max_concurrency").map(|field| in_flight(&field)).transpose()?;
    Ok(most.map_or(Offered::AtOnce, Offered::InFlight))
}

/// A run in a few words.
pub(super) fn label(root: &JsonField) -> String {
    offered(root).map_or_else(|_| "?".to_owned(), stated)
}

/// Reads a run.
pub(super) fn read(root: &JsonField, tool: Tool) -> Result<MeasuredRun, ReadError> {
    let mut notes = Vec::new();
    if tool == Tool::SglangBench {
        notes.push("measured with SGLang, simulated as vLLM".to_owned());
    }
    let offered = offered(root)?;
    if let (Offered::Rate { .. }, Some(most)) = (offered, root.get("max_concurrency")) {
        let most = in_flight(&most)?;
        notes.push(format!(
            "the client held back what would have been above {most} in flight; that is not simulated"
        ));
    }
    let lens = match root.get("input_lens") {
        Some(lens) if !lens.items()?.is_empty() => lens,
        _ => return described(root, tool, offered, notes),
    };
    let rows = lens.items()?;
    let columns = BenchColumns {
        input: lens.clone(),
        output: column(root, "output_lens", rows.len())?
            .ok_or_else(|| ReadError::new("output_lens", "missing"))?,
        ttft: column(root, "ttfts", rows.len())?,
        itls: column(root, "itls", rows.len())?,
        latencies: column(root, "latencies", rows.len())?,
        starts: column(root, "start_times", rows.len())?,
        errors: column(root, "errors", rows.len())?,
    };
    let mut requests = Vec::with_capacity(rows.len());
    for place in 0..rows.len() {
        room(&requests, "input_lens")?;
        requests.extend(columns.request(place)?);
    }
    note_failed(&mut notes, rows.len() - requests.len(), rows.len());
    let has_starts = columns.starts.is_some();
    let sending = match offered {
        Offered::InFlight(most) if (most as usize) < rows.len() => Sending::InFlight(most),
        _ if has_starts => Sending::Times,
        Offered::Rate { .. } => {
            notes.push(format!(
                "the file has no times of sending (start_times); arrivals are drawn ({}), and distributions are compared, not single requests",
                stated(offered)
            ));
            send(&mut requests, offered)
        }
        // All of them at once.
        _ => Sending::Times,
    };
    let mut means = means(root)?;
    if columns.ttft.is_none() {
        let flag = if tool == Tool::SglangBench { "--output-details" } else { "--save-detailed" };
        notes.push(format!("the file has lengths and means only; {flag} writes every request"));
    } else {
        means = Means {
            ttft_s: MeasuredTime::default(),
            tpot_s: MeasuredTime::default(),
            itl_s: MeasuredTime::default(),
            e2e_s: MeasuredTime::default(),
            ..means
        };
        if has_starts && sending == Sending::Times {
            means = Means::default();
        }
    }
    Ok(MeasuredRun {
        tool,
        requests,
        sending,
        means,
        reported: reported(root),
        notes,
        ..MeasuredRun::default()
    })
}

/// A run of which the file has no lists.
fn described(
    root: &JsonField,
    tool: Tool,
    offered: Offered,
    mut notes: Vec<String>,
) -> Result<MeasuredRun, ReadError> {
    let completed = root.get("completed").map_or_else(|| root.need("num_prompts"), Ok)?;
    let requests = count(&completed)?;
    if requests == 0 {
        return Err(ReadError::new(completed.place(), "0: no request was answered"));
    }
    let length = |total: &str, nominal: &str| -> Result<Length, ReadError> {
        if tool == Tool::SglangBench
            && let (Some(most), Some(share)) = (root.get(nominal), root.get("random_range_ratio"))
            && root
                .get("dataset_name")
                .is_some_and(|name| name.json.as_str().is_some_and(|name| name.starts_with("random")))
        {
            let most = most.number(1.0, 1e7)?;
            let low = (most * share.number(0.0, 1.0)?).floor().max(1.0);
            return Ok(Length::Between(low as u32, most as u32));
        }
        let total = root.need(total)?.number(0.0, 1e15)?;
        Ok(Length::Mean(total / requests as f64))
    };
    let (input, output) = (
        length("total_input_tokens", "random_input_len")?,
        length("total_output_tokens", "random_output_len")?,
    );
    if let (Length::Mean(input), Length::Mean(output)) = (input, output) {
        notes.push(format!(
            "every request has the mean lengths, {input:.1} prompt and {output:.1} output tokens"
        ));
    }
    Described { tool, requests, input, output, offered, means: means(root)?, reported: reported(root), notes }
        .run()
}

struct BenchColumns<'a> {
    input: JsonField<'a>,
    output: JsonField<'a>,
    ttft: Option<JsonField<'a>>,
    itls: Option<JsonField<'a>>,
    latencies: Option<JsonField<'a>>,
    starts: Option<JsonField<'a>>,
    errors: Option<JsonField<'a>>,
}

impl<'a> BenchColumns<'a> {
    fn at(field: &JsonField<'a>, place: usize) -> Result<JsonField<'a>, ReadError> {
        Ok(field.item(&field.items()?[place], place))
    }

    /// A request; none of one that failed.
    fn request(&self, place: usize) -> Result<Option<MeasuredRequest>, ReadError> {
        let at = |field: &Option<JsonField<'a>>| field.as_ref().map(|f| Self::at(f, place)).transpose();
        if let Some(error) = at(&self.errors)?.filter(|error| !error.json.is_null())
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

fn means(root: &JsonField) -> Result<Means, ReadError> {
    let number = |key: &str, unit: f64| {
        root.get(key).map(|value| Ok(value.number(0.0, MAX_S / unit)? * unit)).transpose()
    };
    let time = |names: &[&str]| -> Result<MeasuredTime, ReadError> {
        MeasuredTime::by_prefix(|mark| {
            for name in names {
                if let Some(value) = number(&format!("{mark}_{name}_ms"), 1e-3)? {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        })
    };
    Ok(Means {
        ttft_s: time(&["ttft"])?,
        tpot_s: time(&["tpot"])?,
        itl_s: time(&["itl"])?,
        e2e_s: time(&["e2el", "e2e_latency"])?,
        output_tokens_per_s: number("output_throughput", 1.0)?,
        throughput_rps: number("request_throughput", 1.0)?,
    })
}

/// The model, and what was added with `--metadata`.
fn reported(root: &JsonField) -> Vec<(String, String)> {
    let Some(fields) = root.json.as_object() else { return Vec::new() };
    let is_setting = |key: &str| !OWN.contains(&key);
    let settings = fields.keys().filter(|key| is_setting(key));
    settings
        .filter_map(|key| {
            Some((if key == "model_id" { "model" } else { key }.to_owned(), root.get(key)?.setting()?))
        })
        .collect()
}
