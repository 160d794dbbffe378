//! How far a result can be trusted: closed forms, saturated servers, published rows, measured times, measured deployments.

pub mod alarms;
pub mod applicable;
pub mod closed_forms;
mod digits;
pub mod measured;
pub mod overlay;
pub mod published;
pub mod silicon;
pub mod thresholds;
pub mod validate;
