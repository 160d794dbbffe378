//! Requests: those that a scenario makes, and those of a trace file: its statistics, what it was made from, a scenario that
//! resembles it, its request bodies; and the files that a scenario is read from.

pub mod arrivals;
pub mod bodies;
pub mod curve_file;
pub mod fit;
pub mod inspect;
pub mod lengths_file;
pub mod loaded_trace;
pub mod recipe;
pub mod scenario_file;
