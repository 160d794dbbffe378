//! The page's module with the simulator: parameters, links, every scheduler and order of service, gateways, fleets, the search
//! for capacity, and the drawing of charts. Files, fits and exports are in the other module, `servescope-studio`; what both
//! have in common is in `servescope-boundary`.

mod canvas;
mod capacity;
mod chart;
mod deployment;
mod fleet;
mod monitor;
mod own_profile;
mod page;
mod published;
mod seeds;
mod simulator;
mod tables;

pub use capacity::{CapacitySearch, capacity_grid, capacity_standings};
pub use chart::ChartSurface;
pub use page::*;
pub use published::published_figures;
pub use seeds::seed_ranges;
pub use simulator::Simulator;
pub use tables::take_table;
