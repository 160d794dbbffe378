//! The statistics of a trace as JSON and as text.

use serde_json::{Value as Json, json};
use servescope_workload::Trace;
use servescope_workload::statistics::{DISPERSION_WINDOWS_S, PERCENTILES, Spread, Statistics};

fn spread(spread: Option<&Spread>) -> Json {
    let Some(s) = spread else { return Json::Null };
    let mut json = json!({"n": s.count, "mean": s.mean, "cv": s.cv, "min": s.min});
    for (p, x) in PERCENTILES.iter().zip(s.percentiles) {
        json[format!("p{p}")] = x.into();
    }
    json["max"] = s.max.into();
    json
}

/// The statistics of a trace.
pub fn to_json(trace: &Trace) -> Json {
    let s = Statistics::of(trace);
    let dispersion: serde_json::Map<String, Json> =
        DISPERSION_WINDOWS_S.iter().zip(s.dispersion).map(|(w, d)| (format!("{w}s"), json!(d))).collect();
    json!({
        "requests": s.requests,
        "span_s": s.span_s,
        "rate_rps": s.rate_rps,
        "gaps_s": spread(s.gaps_s.as_ref()),
        "zero_gaps": s.zero_gaps,
        "index_of_dispersion": dispersion,
        "input_tokens": spread(s.input_tokens.as_ref()),
        "output_tokens": spread(s.output_tokens.as_ref()),
        "users": s.users,
        "adapters": s.adapters,
    })
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
                "{name:<17} mean {:.1}, p50 {p50}, p90 {p90}, p99 {p99}, max {}",
                x.mean, x.max
            ));
        }
    }
    lines.push(format!("users             {}", s.users));
    lines.push(format!("adapters          {}", s.adapters));
    lines.join("\n")
}
