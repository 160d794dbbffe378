//! What happens to a trace: refusals, the waiting line, batching, adapter memory, iterations.
//!
//! ```text
//! Trace ──> gateway ─────> router ────> waiting queue ──> scheduler ──> iterations ──> Report
//!           rate limits,   which        one scheduling    what joins    prefill,       columns, metrics,
//!           KV admission   replica      policy            the batch     decode         series, explanations
//! ```
//!
//! Time is in microseconds, f64. Nothing here reads a clock, iterates a hash map or depends on threads: equal inputs give
//! equal bits on every machine.

pub mod adapters;
mod arrivals;
pub mod explain;
pub mod fleet;
pub mod gateway;
pub mod metrics;
pub mod observer;
pub mod report;
pub mod scheduler;
pub mod timeline;

pub use fleet::{Fleet, FleetConfig};
pub use gateway::Refusal;
pub use report::{Outcome, Report, Split};
