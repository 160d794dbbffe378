//! What laws of queueing theory say of the points of a sweep.

use serde::{Deserialize, Serialize};

use super::Sweep;
use crate::laws::{Obstacle, law};

/// A law at a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ExpectedValue {
    /// The law's name.
    pub law: String,
    /// What it says, in the metric's unit.
    pub value: f64,
}

/// What laws say of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "SweepExpected"))]
pub struct Expected {
    /// A value each point, in the order of the sweep; none where no law holds.
    pub points: Vec<Option<ExpectedValue>>,
    /// What breaks the law at the first point where none holds.
    #[cfg_attr(feature = "types", ts(as = "Vec<crate::laws::LawObstacle>"))]
    pub obstacles: Vec<Obstacle>,
}

impl Sweep {
    /// What laws say of each metric; none of a metric that no law speaks of, and of a trace, whose arrivals have no distribution.
    pub fn expected(&self) -> Vec<Option<Expected>> {
        let metrics = self.metrics.iter();
        if self.inputs.trace.is_some() {
            return metrics.map(|_| None).collect();
        }
        metrics
            .map(|metric| {
                let mut expected = Expected { points: Vec::new(), obstacles: Vec::new() };
                for index in (0..self.runs()).step_by(self.seeds.len()) {
                    let found = law(&self.scenario(index), metric)?;
                    if let Err(obstacles) = &found
                        && expected.obstacles.is_empty()
                    {
                        expected.obstacles.clone_from(obstacles);
                    }
                    let value =
                        found.ok().map(|law| ExpectedValue { law: law.name.to_owned(), value: law.value });
                    expected.points.push(value);
                }
                Some(expected)
            })
            .collect()
    }
}
