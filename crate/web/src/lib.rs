//! The WebAssembly boundary of the page: the only crate that knows JavaScript.
//!
//! In goes one plain object by serde; out comes a summary the same way and columns as owned typed arrays. Errors are
//! thrown as `{ failures: [{ code, path, message, params }] }`. The TypeScript types are in `boundary.d.ts`.
//!
//! Three modules are built of this crate, by feature: `page`, which the page starts with; `engine`, the simulator with every
//! scheduler, fetched when a scenario asks for one that the first module lacks; and `studio`, fetched when somebody opens a
//! file or the workload studio. Traces go from one to the other as columns.

#[cfg(feature = "page")]
mod canvas;
#[cfg(feature = "engine")]
mod capacity;
#[cfg(feature = "page")]
mod chart;
mod convert;
#[cfg(feature = "engine")]
mod deployment;
#[cfg(feature = "engine")]
mod fleet;
#[cfg(feature = "studio")]
mod hand_over;
#[cfg(feature = "engine")]
mod monitor;
#[cfg(feature = "engine")]
mod own_profile;
#[cfg(feature = "page")]
mod page;
#[cfg(feature = "engine")]
mod published;
#[cfg(any(feature = "page", feature = "studio"))]
mod read_chart;
#[cfg(feature = "simulator")]
mod simulator;
#[cfg(feature = "studio")]
mod studio;
#[cfg(feature = "studio")]
mod svg;
#[cfg(feature = "engine")]
mod tables;
#[cfg(feature = "simulator")]
mod take_over;
mod types;

#[cfg(feature = "engine")]
pub use capacity::{CapacitySearch, capacity_grid, capacity_standings};
#[cfg(feature = "page")]
pub use chart::ChartSurface;
#[cfg(feature = "page")]
pub use page::*;
#[cfg(feature = "engine")]
pub use published::published_figures;
#[cfg(feature = "simulator")]
pub use simulator::Simulator;
#[cfg(feature = "studio")]
pub use studio::{Studio, body_forms, step_kinds, writable_formats};
#[cfg(feature = "studio")]
pub use svg::chart_svg;
#[cfg(feature = "engine")]
pub use tables::take_table;
