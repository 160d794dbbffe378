//! Numbers drawn from a report: distributions, the summary, tables, S-LoRA's own measures, columns for charts.

pub mod columns;
pub mod departures;
pub mod distribution;
pub mod failures;
pub mod fairness;
pub mod fleet;
pub mod gateway;
pub mod groups;
pub mod kv_transfers;
pub mod lanes;
pub mod monitor;
pub mod operators;
pub mod ranks;
pub mod scaling;
pub mod seats;
pub mod slo;
pub mod slora;
pub mod summary;
pub mod token_gaps;
pub mod usage;

pub use distribution::Distribution;
pub use fleet::{FleetSummary, fleet_summary};
pub use gateway::{GatewaySummary, gateway_summary};
pub use groups::GroupRow;
pub use slo::{Slo, SloCount, SloScore};
pub use summary::{CutOutputs, Summary, summarise};
pub use usage::{FleetUtilization, usage};
