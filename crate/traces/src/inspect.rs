//! The statistics of a trace, or of a file, as JSON and as text.

mod kinds;
mod parts;
mod settings;

use serde_json::{Value as Json, json};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::file_kind::trace_error;
use servescope_workload::Trace;
use servescope_workload::formats::{self, FormatError};
use servescope_workload::statistics::{DISPERSION_WINDOWS_S, PERCENTILES, PrefixHits, Spread, Statistics};
use servescope_workload::trace::NO_REQUEST;

use crate::loaded_trace::LoadedTrace;
use parts::tidy;
pub use settings::settings;

fn spread(spread: Option<&Spread>) -> Json {
    let Some(s) = spread else { return Json::Null };
    let mut json = json!({"n": s.count, "mean": tidy(s.mean), "cv": tidy(s.cv), "min": tidy(s.min)});
    for (p, x) in PERCENTILES.iter().zip(s.percentiles) {
        json[format!("p{p}")] = tidy(x);
    }
    json["max"] = tidy(s.max);
    json
}

/// A file that was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspected {
    /// Its statistics: those of its kind, those of its trace, its format and what was noticed.
    pub json: Json,
    /// The trace in it; `None` where the file has no times.
    pub loaded: Option<LoadedTrace>,
}

/// Looks at a file of any known format. Requests whose output length the file does not have get `any_output_tokens`, or what
/// [`formats::TraceFile::assume_output`] says.
///
/// # Errors
/// [`Diagnostic`] with the row and the column.
pub fn file(name: &str, bytes: &[u8], any_output_tokens: Option<u32>) -> Result<Inspected, Diagnostic> {
    let mut file = formats::open(bytes).map_err(|error| trace_error(name, bytes, &error))?;
    file.assume_output(any_output_tokens);
    let format = file.format.name();
    let of_kind = kinds::statistics(&file);
    let (mut json, loaded) = match file.into_trace() {
        Err(FormatError::NoTimes { .. }) => {
            (json!({"requests": of_kind["rows"].as_u64().unwrap_or(0), "warnings": []}), None)
        }
        read => {
            let loaded = LoadedTrace::of(name, read)?;
            let mut json = to_json(&loaded.trace);
            json["warnings"] = json!(loaded.warnings);
            (json, Some(loaded))
        }
    };
    json["format"] = format.into();
    merge(&mut json, of_kind);
    Ok(Inspected { json, loaded })
}

/// Adds the entries of one object to another, over those of the same name.
fn merge(json: &mut Json, more: Json) {
    if let (Json::Object(entries), Json::Object(more)) = (json, more) {
        entries.extend(more);
    }
}

/// The statistics of a trace.
pub fn to_json(trace: &Trace) -> Json {
    let s = Statistics::of(trace);
    let dispersion: serde_json::Map<String, Json> = DISPERSION_WINDOWS_S
        .iter()
        .zip(s.dispersion)
        .map(|(w, d)| (format!("{w}s"), json!(d.map(tidy))))
        .collect();
    json!({
        "requests": s.requests,
        "span_s": tidy(s.span_s),
        "rate_rps": s.rate_rps.map(tidy),
        "gaps_s": spread(s.gaps_s.as_ref()),
        "zero_gaps": tidy(s.zero_gaps),
        "index_of_dispersion": dispersion,
        "input_tokens": spread(s.input_tokens.as_ref()),
        "output_tokens": spread(s.output_tokens.as_ref()),
        "pd_ratio": s.pd_ratio().map(tidy),
        "users": s.users,
        "adapters": s.adapters,
        "held": held(trace),
    })
}

/// Requests that wait for another one; `None` where none does.
fn held(trace: &Trace) -> Option<usize> {
    let closed_loop = trace.closed_loop.as_ref().filter(|closed_loop| closed_loop.holds_any())?;
    Some(closed_loop.depends_on.iter().filter(|&&before| before != NO_REQUEST).count())
}

/// A number of tokens to a tenth, without the zero behind the point.
fn tenths(tokens: f64) -> String {
    let text = format!("{tokens:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// The same as aligned text.
pub fn to_text(trace: &Trace) -> String {
    let s = Statistics::of(trace);
    let number = |x: Option<f64>, unit: &str| x.map_or("-".to_owned(), |x| format!("{x:.4}{unit}"));
    let mut lines = vec![
        format!("requests          {}", s.requests),
        format!("span              {:.3} s", s.span_s),
        format!("rate              {}", number(s.rate_rps, " req/s")),
        format!("gap cv            {}", number(s.gaps_s.as_ref().map(|g| g.cv), "")),
        format!("zero gaps         {:.2} %", 100.0 * s.zero_gaps),
    ];
    for (window, d) in DISPERSION_WINDOWS_S.iter().zip(s.dispersion) {
        lines.push(format!("dispersion {:>4} s  {}", window, number(d, "")));
    }
    for (name, spread) in [("input tokens", &s.input_tokens), ("output tokens", &s.output_tokens)] {
        if let Some(x) = spread {
            let [.., p50, _, p90, _, p99] = x.percentiles;
            lines.push(format!(
                "{name:<17} mean {}, p50 {}, p90 {}, p99 {}, max {}",
                tenths(x.mean),
                tenths(p50),
                tenths(p90),
                tenths(p99),
                tenths(x.max)
            ));
        }
    }
    lines.push(format!("P:D ratio         {} prompt tokens for each output token", number(s.pd_ratio(), "")));
    lines.push(format!("users             {}", s.users));
    lines.push(format!("adapters          {}", s.adapters));
    if let Some(hits) = PrefixHits::of(trace) {
        let (share, block) = (100.0 * hits.share(), hits.block_tokens);
        lines.push(format!(
            "prefix hits       {share:.2} % of prompt tokens, no limit to the cache, blocks of {block}"
        ));
    }
    if let Some(held) = held(trace) {
        lines.push(format!(
            "held requests     {held} wait for another one; arrivals are the earliest possible"
        ));
    }
    lines.join("\n")
}
