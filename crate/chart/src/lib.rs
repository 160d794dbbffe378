//! The model of a chart: what the lab makes of a run, the page and the terminal hand on, and `servescope-charts` draws.

mod model;
mod role;
mod unknown;

pub use model::{Axis, AxisKind, Chart, Mark, ScaleKind, Series};
pub use role::{Marker, Role};
pub use unknown::UnknownName;
