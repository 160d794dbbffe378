//! Values of closed forms of queueing theory at the points of a sweep.

use serde::{Deserialize, Serialize};

use super::Sweep;
use crate::applicable::{Obstacle, closed_form_of};

/// A closed form at a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ExpectedValue {
    /// The queueing model whose closed form it is, or the name of the bound.
    #[serde(alias = "law")]
    pub model: String,
    /// What it says, in the metric's unit.
    pub value: f64,
}

/// Values of closed forms for one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "SweepExpected"))]
pub struct Expected {
    /// A value each point, in the order of the sweep; none where no closed form holds.
    pub points: Vec<Option<ExpectedValue>>,
    /// The settings that violate its conditions at the first point where none holds.
    #[cfg_attr(feature = "types", ts(as = "Vec<crate::applicable::ClosedFormObstacle>"))]
    pub obstacles: Vec<Obstacle>,
}

impl Sweep {
    /// Values of closed forms for each metric; none for a metric without one, and for a trace, whose arrivals have no
    /// distribution.
    pub fn expected(&self) -> Vec<Option<Expected>> {
        let metrics = self.metrics.iter();
        if self.inputs.trace.is_some() {
            return metrics.map(|_| None).collect();
        }
        metrics
            .map(|metric| {
                let mut expected = Expected { points: Vec::new(), obstacles: Vec::new() };
                for index in (0..self.runs()).step_by(self.seeds.len()) {
                    let found = closed_form_of(&self.scenario(index), metric)?;
                    if let Err(obstacles) = &found
                        && expected.obstacles.is_empty()
                    {
                        expected.obstacles.clone_from(obstacles);
                    }
                    let value = found
                        .ok()
                        .map(|form| ExpectedValue { model: form.name.to_owned(), value: form.value });
                    expected.points.push(value);
                }
                Some(expected)
            })
            .collect()
    }
}
