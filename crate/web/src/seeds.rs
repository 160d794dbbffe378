//! The headline numbers and the curves of further seeds: made in a thread of the pool, one run at a time, and their ranges and bands
//! for the page's thread.

use std::collections::BTreeMap;

use servescope_boundary::chart_from_js::read_named;
use servescope_boundary::convert::{charts, object};
use servescope_boundary::types::{
    JsCallErrors, JsCharts, JsHeadlines, JsSeedCurves, JsSeedRanges, JsSeedRun, JsSeedSpans,
};
use servescope_lab::metric::Metric;
use servescope_lab::replications::SeedRange;
use servescope_output::replies::{Headline, SeedRun};
use servescope_output::views::bands::{self, SeedCurve, SeedSpans};
use wasm_bindgen::prelude::*;

use crate::compare::{Comparer, nothing_ran};

#[wasm_bindgen]
impl Comparer {
    /// The headline numbers of the finished run, and its curves on these axes.
    ///
    /// # Errors
    /// When there is none.
    pub fn finish_seed(&mut self, spans: &JsSeedSpans) -> Result<JsSeedRun, JsCallErrors> {
        let run = self.runs.pop().ok_or_else(nothing_ran)?;
        Ok(object(&SeedRun::of(&run, spans_of(spans).as_ref())).unchecked_into())
    }
}

fn spans_of(spans: &JsSeedSpans) -> Option<SeedSpans> {
    serde_wasm_bindgen::from_value(spans.into()).ok()
}

/// The axes of these charts for [`Comparer::finish_seed`]; null where they have none.
///
/// # Errors
/// Charts that cannot be read.
#[wasm_bindgen]
pub fn seed_spans(shown: &JsCharts) -> Result<JsSeedSpans, JsCallErrors> {
    Ok(object(&SeedSpans::of(&read_named(shown, &bands::NAMES)?)).unchecked_into())
}

/// The bands of the shown charts over their own curves and those of further seeds on the same axes.
///
/// # Errors
/// Charts that cannot be read.
#[wasm_bindgen]
pub fn seed_bands(shown: &JsCharts, runs: &JsSeedCurves) -> Result<JsCharts, JsCallErrors> {
    let shown = read_named(shown, &bands::NAMES)?;
    let Some(spans) = SeedSpans::of(&shown) else { return Ok(charts(&[]).unchecked_into()) };
    let mut all: Vec<Vec<SeedCurve>> = serde_wasm_bindgen::from_value(runs.into()).unwrap_or_default();
    all.push(bands::of_charts(&shown, &spans));
    Ok(charts(&bands::bands(&shown, &spans, &all)).unchecked_into())
}

/// The range of each headline number over the runs of a setting, one a seed, and its change from those of the setting before,
/// which have the same seeds in the same order; null stands for a run that is missing.
#[wasm_bindgen]
pub fn seed_ranges(runs: &JsHeadlines, former: &JsHeadlines) -> JsSeedRanges {
    let read = |runs: &JsHeadlines| -> Vec<Option<Headline>> {
        serde_wasm_bindgen::from_value(runs.into()).unwrap_or_default()
    };
    let (runs, former) = (read(runs), read(former));
    let values = |runs: &[Option<Headline>], path: &str| -> Vec<Option<f64>> {
        runs.iter().map(|run| run.as_ref()?.0.get(path).copied().flatten()).collect()
    };
    let one = |metric: &Metric| {
        let path = metric.path();
        Some((path.to_owned(), SeedRange::of(&values(&runs, path), &values(&former, path))?))
    };
    let ranges: BTreeMap<String, SeedRange> = Metric::headline().iter().filter_map(one).collect();
    object(&ranges).unchecked_into()
}
