//! How far a result can be trusted: published rows, saturated servers, measured times, measured deployments, and a measured
//! run beside ours.

pub mod alarms;
mod digits;
mod figures_file;
pub mod measured;
pub mod overlay;
pub mod published;
pub mod silicon;
pub mod thresholds;
pub mod validate;
