//! The page's module with the simulator: parameters, links, every scheduler and scheduling policy, gateways, fleets, the search
//! for capacity, and the drawing of charts. Files, fits and exports are in the other module, `servescope-studio`; what both
//! have in common is in `servescope-boundary`.

mod canvas;
mod capacity;
mod chart;
mod compare;
mod debugger;
mod deployment;
mod fleet;
mod inputs;
mod load;
mod moment;
mod monitor;
mod overlay;
mod page;
mod published;
mod seeds;
mod simulator;
mod tables;
mod why;

pub use capacity::{CapacitySearch, capacity_grid, capacity_standings, grid_to_begin_with};
pub use chart::ChartSurface;
pub use compare::{Comparer, compare_seeds, comparison};
pub use debugger::Stepper;
pub use overlay::Overlayer;
pub use page::*;
pub use published::{published_figures, relative_errors};
pub use seeds::{seed_bands, seed_ranges, seed_spans};
pub use simulator::Simulator;
pub use tables::take_table;
