//! What the page's modules take and give back, as structs: their TypeScript types are generated from these. The columns of charts
//! go as typed arrays, so serde leaves the charts of a reply out and the boundary adds them.

mod capacity;
mod compare;
mod crossover;
mod debugger;
mod file_kind;
mod model;
mod monitor;
mod overlay;
mod profile;
mod request_facts;
mod seeds;
mod sources;
mod sweep;

use serde::{Deserialize, Serialize};
use servescope_evidence::published::figures::PublishedFigure;
use servescope_lab::run::RunSummary;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::scenario::ScenarioPatch;

pub use capacity::{
    CapacityDescribed, CapacityGrid, CapacityReply, CheckedDescribed, CheckedReply, GridConfiguration,
    StandingsReply,
};
pub use compare::ComparedPair;
pub use crossover::{CrossoverKnown, CrossoverNeed, CrossoverSpec, CrossoverStep};
pub use debugger::DebuggerStep;
pub use file_kind::{LengthsFile, RecognisedFile, curve_of_file, scenario_of_file};
pub use model::OwnModel;
pub use monitor::{ChartedClient, MonitorColumn, MonitorRequest, MonitorRow, MonitorView};
pub use overlay::OverlayReply;
pub use profile::{FittedError, FittedProfile, ProfileFile, ProfileFiles};
pub use request_facts::RequestFacts;
pub use seeds::{Headline, SeedRun};
pub use sources::{
    BestDistribution, BestUsers, FactView, FieldView, FitReply, FitRow, FittedDistributions, ListedRow,
    Peeked, PeekedColumn, PeekedRole, RowsLeftOut, Shaped, SourceInfo, StepKindView, StepKinds, StepNote,
    StepRefusal, StepRefusals, TraceShape, TrafficCharts,
};
pub use sweep::{SweepPlan, SweepResults, SweepSpec};

use crate::views::{Chart, SplitBy};

/// Thrown by every call that can fail.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CallErrors {
    /// What is wrong.
    pub errors: Vec<Diagnostic>,
}

/// How to look at a run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct RunOptions {
    /// Columns of the time charts, about one a pixel.
    pub columns: f64,
    /// Zoom of the time charts in seconds, or null for the whole run.
    pub window: Option<(f64, f64)>,
    /// Groups of `time_split`.
    pub split_by: SplitBy,
    /// Names of the charts in sight: they come with the summary, the others when asked for. Null: all.
    pub in_sight: Option<Vec<String>>,
}

/// A finished run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct RunReply {
    /// Its summary.
    pub summary: RunSummary,
    /// Its charts in sight.
    #[serde(skip_serializing)]
    pub charts: Vec<Chart>,
    /// When the last request arrives, seconds.
    pub traffic_end_s: f64,
}

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ParsedLink {
    /// What is good of it.
    pub scenario: ScenarioPatch,
    /// What is not.
    pub problems: Vec<Diagnostic>,
}

/// Published points beside simulated curves.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FiguresReply {
    /// The points and how far the curves are from them.
    pub figures: Vec<PublishedFigure>,
    /// A chart each.
    #[serde(skip_serializing)]
    pub charts: Vec<Chart>,
}
