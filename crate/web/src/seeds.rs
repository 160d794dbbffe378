//! The headline numbers over further seeds: measured in a thread of the pool, one run at a time, and their ranges for the page's thread.

use std::collections::BTreeMap;

use servescope_boundary::convert::object;
use servescope_boundary::types::{JsFailure, JsHeadline, JsHeadlines, JsSeedRanges};
use servescope_lab::metric::{Measured, Metric};
use servescope_lab::replications::Change;
use wasm_bindgen::prelude::*;

use crate::compare::{Comparer, nothing_ran};

/// The headline numbers of a run, by key path.
type Headline = BTreeMap<String, Option<f64>>;

#[wasm_bindgen]
impl Comparer {
    /// The headline numbers of the finished run.
    ///
    /// # Errors
    /// When there is none.
    pub fn finish_headline(&mut self) -> Result<JsHeadline, JsFailure> {
        let run = self.runs.pop().ok_or_else(nothing_ran)?;
        let metrics = Metric::headline();
        let values = Measured::of(&run, &metrics).values;
        let headline: Headline = metrics.iter().map(|metric| metric.path().to_owned()).zip(values).collect();
        Ok(object(&headline).unchecked_into())
    }
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
        runs.iter().map(|run| run.as_ref()?.get(path).copied().flatten()).collect()
    };
    let one = |metric: &Metric| {
        let path = metric.path();
        Some((path.to_owned(), Change::of(&values(&runs, path), &values(&former, path))?))
    };
    let ranges: BTreeMap<String, Change> = Metric::headline().iter().filter_map(one).collect();
    object(&ranges).unchecked_into()
}
