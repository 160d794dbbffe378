//! An overlay as a JSON document and as a table of requests.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value as Json, json};
use servescope_settings::ordered::Ordered;
use servescope_settings::scenario::Scenario;

use super::compare::Overlay;
use super::fit::{CostFit, RefittedConstant};
use super::measured::MeasuredRun;
use super::pair::PairedMetric;
use super::taken::Taken;

/// Everything: `metrics` by name with the means of both runs, `distributions`, `by_input_length`, `likely_cause` (null while GPU or
/// model are `missing`), the settings and where they come from, and every request.
pub fn document(
    measured: &MeasuredRun,
    scenario: &Scenario,
    taken: &Taken,
    overlay: &Overlay,
    fit: Option<&CostFit>,
) -> Json {
    // Of another GPU or model than the measured one every difference has that cause.
    let is_told = taken.missing.is_empty();
    let mut document = json!({
        "tool": measured.tool.name(),
        "in_flight": measured.sending.in_flight(),
        "scenario": scenario.to_json(),
        "benchmarks": measured.benchmarks,
        "benchmark": measured.benchmark,
        "sending": measured.sending,
        "matched": overlay.is_matched,
        "taken_over": taken.settings,
        "missing": taken.missing,
        "metrics": overlaid_metrics(&overlay.metrics),
        "distributions": distributions(&overlay.metrics),
        "by_input_length": overlay.by_length,
        "likely_cause": is_told.then_some(&overlay.cause.sentence),
        "cause": is_told.then_some(&overlay.cause),
        "unfinished": overlay.unfinished,
    });
    if let Some(fit) = fit {
        document["fit"] = json!(OverlayFit::of(fit));
    }
    document["requests"] = json!(overlay.pairs);
    document
}

/// A quantity in a measured run and in its simulation; times in seconds, errors as shares.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct OverlaidMetric {
    /// Mean, or rate, measured.
    pub measured: Option<f64>,
    /// The same simulated.
    pub simulated: Option<f64>,
    /// Mean of the absolute errors of single requests over what was measured of each.
    pub mape: Option<f64>,
    /// Simulated mean over measured mean, less 1.
    pub bias: Option<f64>,
    /// Pearson's correlation.
    pub correlation: Option<f64>,
}

/// A constant before and after a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FittedConstant {
    /// As it was set.
    pub before: f64,
    /// As fitted.
    pub after: f64,
}

/// Metrics of one half of the requests before and after a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FittedHalf {
    /// With the constants as they were set.
    pub before: Ordered<OverlaidMetric>,
    /// With the fitted ones.
    pub after: Ordered<OverlaidMetric>,
}

/// Constants that were fitted on one half of the requests, and the errors on both halves.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct OverlayFit {
    /// By path.
    pub constants: Ordered<FittedConstant>,
    /// How many runs it took.
    pub runs: usize,
    /// Which requests were fitted, in English.
    pub rule: &'static str,
    /// The half that was fitted.
    pub fitted_half: FittedHalf,
    /// The other half.
    pub left_out_half: FittedHalf,
}

impl OverlayFit {
    /// Of a fit.
    pub fn of(fit: &CostFit) -> Self {
        let half = |[before, after]: &[Vec<PairedMetric>; 2]| FittedHalf {
            before: overlaid_metrics(before),
            after: overlaid_metrics(after),
        };
        let constant = |c: &RefittedConstant| {
            (c.id.row().id.to_owned(), FittedConstant { before: c.before, after: c.after })
        };
        Self {
            constants: fit.constants.iter().map(constant).collect(),
            runs: fit.runs,
            rule: "even places in the order of sending are fitted, odd ones left out",
            fitted_half: half(&fit.fitted_half),
            left_out_half: half(&fit.left_out_half),
        }
    }
}

/// The metrics by name.
pub fn overlaid_metrics(metrics: &[PairedMetric]) -> Ordered<OverlaidMetric> {
    let one = |metric: &PairedMetric| {
        let &PairedMetric { measured, simulated, mape, bias, correlation, .. } = metric;
        (metric.name.to_owned(), OverlaidMetric { measured, simulated, mape, bias, correlation })
    };
    metrics.iter().map(one).collect()
}

fn distributions(metrics: &[PairedMetric]) -> Json {
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
