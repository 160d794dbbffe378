//! The headline numbers and the curves of further seeds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use servescope_lab::metric::{Measured, Metric};
use servescope_lab::run::Run;

use crate::views::bands::{self, SeedCurve, SeedSpans};

/// The headline numbers of a run by key path; null where the run has too few requests for one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Headline(pub BTreeMap<String, Option<f64>>);

/// A run of a further seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SeedRun {
    /// Its headline numbers.
    pub headline: Headline,
    /// Its curves on the axes of the run that is shown.
    pub curves: Vec<SeedCurve>,
}

impl SeedRun {
    /// Of a run; without curves where there are no axes.
    pub fn of(run: &Run, spans: Option<&SeedSpans>) -> Self {
        let metrics = Metric::headline();
        let values = Measured::of(run, &metrics).values;
        Self {
            headline: Headline(metrics.iter().map(|metric| metric.path().to_owned()).zip(values).collect()),
            curves: spans.map(|spans| bands::of_run(run, spans)).unwrap_or_default(),
        }
    }
}
