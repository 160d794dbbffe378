//! The capacity search's grid and ranking.

use serde::Serialize;
use servescope_lab::capacity::{
    Capacity, CapacityStanding, Checked, Configuration, ConfigurationGrid, columns,
};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::scenario::{Scenario, ScenarioPatch};

use crate::views::Chart;

/// What a capacity search found.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CapacityReply {
    /// The capacity.
    pub capacity: Capacity,
    /// The terminal's words for it.
    pub described: CapacityDescribed,
    /// The runs of the search.
    #[serde(skip_serializing)]
    pub charts: Vec<Chart>,
}

/// Why no higher rate passes, the notes, and the limit that binds, in English.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CapacityDescribed {
    /// For a configuration whose price is known or not asked for.
    pub priced: String,
    /// Behind why there is no price.
    pub unpriced: String,
    /// The limit of the scheduler that binds; empty where none was found.
    pub binding: String,
}

/// The replicas that serve the load, simulated.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityChecked"))]
pub struct CheckedReply {
    /// What the simulation showed.
    #[serde(flatten)]
    pub checked: Checked,
    /// The terminal's words for it.
    pub described: CheckedDescribed,
}

/// What a check showed, in English.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CheckedDescribed {
    /// Whether the goal holds.
    pub check: String,
    /// What limits the deployment; empty where that is not known.
    pub limit: String,
}

impl From<Checked> for CheckedReply {
    fn from(checked: Checked) -> Self {
        let limit = checked.limit.map_or_else(String::new, |limit| limit.to_string());
        Self { described: CheckedDescribed { check: checked.describe(), limit }, checked }
    }
}

/// The order of configurations.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct StandingsReply {
    /// In the order of the configurations.
    pub standings: Vec<CapacityStanding>,
    /// Their costs.
    #[serde(skip_serializing)]
    pub charts: Vec<Chart>,
}

/// A configuration of a grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct GridConfiguration {
    /// The value of each axis.
    pub values: Vec<String>,
    /// All that it changes of the defaults.
    pub scenario: ScenarioPatch,
}

/// The configurations of a grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CapacityGrid {
    /// Paths of the axes.
    pub axes: Vec<&'static str>,
    /// Columns of the ranking's CSV.
    pub columns: Vec<&'static str>,
    /// Names the axes that have no effect.
    pub notes: Vec<Diagnostic>,
    /// Every combination of the axes.
    pub configurations: Vec<GridConfiguration>,
}

impl CapacityGrid {
    /// Of the grid of a scenario.
    ///
    /// # Errors
    /// What is wrong with the grid.
    pub fn of(scenario: &Scenario) -> Result<Self, Diagnostic> {
        let grid = ConfigurationGrid::of(scenario)?;
        let configurations = grid.configurations(scenario);
        Ok(Self {
            axes: grid.axes.iter().map(|axis| axis.id.row().id).collect(),
            columns: columns(&grid),
            notes: grid.notes(&configurations),
            configurations: configurations
                .into_iter()
                .map(|Configuration { values, scenario, .. }| GridConfiguration {
                    values,
                    scenario: scenario.patch(),
                })
                .collect(),
        })
    }
}
