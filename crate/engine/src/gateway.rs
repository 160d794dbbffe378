//! What stands before the engine: the bounds of its server, and the proxy of a multi-tenant service.
//!
//! ```text
//! clients ──> frontend ──> proxy (quotas, queue, KV feasibility) ──> the engine's own bounds ──> waiting queue
//! ```

mod charge;
mod client_loads;
pub mod config;
pub mod estimate;
pub(crate) mod frontend;
mod ledger;
pub mod load;
pub mod log;
mod meters;
pub mod prediction;
pub(crate) mod proxy;
mod quotas;
mod record;
pub mod reservations;
pub mod reserved;
pub mod retries;
mod waits;
pub mod window;

pub use config::GatewayConfig;
pub use log::GatewayLog;
