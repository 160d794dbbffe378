//! An overlay as a JSON document and as a table of requests.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use super::compare::{Metric, Overlay};
use super::fit::Fit;
use super::measured::{MeasuredRun, Sending};
use super::taken::Taken;
use crate::scenario::Scenario;

/// Everything: `metrics` by name with the means of both runs, `distributions`, `by_input_length`, `likely_cause`, the settings
/// and where they come from, and every request.
pub fn document(
    measured: &MeasuredRun,
    scenario: &Scenario,
    taken: &[Taken],
    overlay: &Overlay,
    fit: Option<&Fit>,
) -> Json {
    let in_flight = match measured.sending {
        Sending::Times => None,
        Sending::InFlight(most) => Some(most),
    };
    let taken: Vec<Json> = taken
        .iter()
        .map(|taken| json!({"path": taken.path, "value": taken.value, "from": taken.from}))
        .collect();
    let mut document = json!({
        "tool": measured.tool.name(),
        "in_flight": in_flight,
        "scenario": scenario.to_json(),
        "taken_over": taken,
        "metrics": metrics(&overlay.metrics),
        "distributions": distributions(&overlay.metrics),
        "by_input_length": overlay.by_length,
        "likely_cause": overlay.cause.sentence,
        "cause": overlay.cause,
        "unfinished": overlay.unfinished,
    });
    if let Some(fit) = fit {
        let halves =
            |halves: &[Vec<Metric>; 2]| json!({"before": metrics(&halves[0]), "after": metrics(&halves[1])});
        let constants: Map<String, Json> = fit
            .constants
            .iter()
            .map(|c| (c.id.row().id.to_owned(), json!({"before": c.before, "after": c.after})))
            .collect();
        document["fit"] = json!({
            "constants": constants,
            "runs": fit.runs,
            "rule": "even places in the order of sending are fitted, odd ones left out",
            "fitted_half": halves(&fit.fitted_half),
            "left_out_half": halves(&fit.left_out_half),
        });
    }
    document["requests"] = json!(overlay.pairs);
    document
}

fn metrics(metrics: &[Metric]) -> Json {
    let rows = metrics.iter().map(|metric| {
        let value = json!({
            "measured": metric.measured,
            "simulated": metric.simulated,
            "mape": metric.mape,
            "bias": metric.bias,
            "correlation": metric.correlation,
        });
        (metric.name.to_owned(), value)
    });
    Json::Object(rows.collect())
}

fn distributions(metrics: &[Metric]) -> Json {
    let rows = metrics.iter().filter(|metric| metric.simulated_distribution.mean.is_some()).map(|metric| {
        let both = json!({
            "measured": metric.measured_distribution,
            "simulated": metric.simulated_distribution,
        });
        (metric.name.to_owned(), both)
    });
    Json::Object(rows.collect())
}

/// A row a request, with the times of both runs.
pub fn requests_csv(overlay: &Overlay) -> String {
    let mut text = String::from(
        "id,sent_s,input_tokens,output_tokens,measured_ttft_s,simulated_ttft_s,measured_tpot_s,simulated_tpot_s,measured_e2e_s,simulated_e2e_s\n",
    );
    let cell = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for pair in &overlay.pairs {
        let (m, s) = (&pair.measured, &pair.simulated);
        let times = [m.ttft_s, s.ttft_s, m.tpot_s, s.tpot_s, m.e2e_s, s.e2e_s].map(cell).join(",");
        let _ = writeln!(
            text,
            "{},{},{},{},{times}",
            pair.id, pair.sent_s, pair.input_tokens, pair.output_tokens
        );
    }
    text
}
