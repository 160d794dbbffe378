//! The waiting queue of a replica and its scheduling policies, one a file: which request is looked at next.
//!
//! ```text
//! WaitingQueue ──────> ClientQueue ─────────> fcfs | lifo | sjf | priority    a key for each request
//!  preempted requests,  requests by client;   vtc                             least counter, with or without lift (LCF)
//!  what clients are     the gateway's proxy   drr                             turns, deficit counters
//!  charged              waits in it too
//! ```
//!
//! Where LoRA slots are short, first come, first served keeps its requests by adapter (`adapter_queue`). Policies that look at
//! the running batch belong to the scheduler that has one: [`crate::slora`].

mod adapter_lists;
mod adapter_queue;
pub mod client_queue;
pub mod drr;
pub mod fairness;
pub mod fcfs;
pub mod lifo;
pub mod policy;
pub mod prediction;
pub mod priority;
pub mod priority_queue;
pub mod queue_key;
pub mod rpm;
pub mod service_counters;
pub mod sjf;
mod token_charges;
pub mod token_cost;
pub mod vtc;
pub(crate) mod waiting_queue;

pub use crate::client::{Client, ClientId};
pub use drr::DrrConfig;
pub use policy::{QueueConfig, QueuePolicy};
pub use prediction::Prediction;
pub use service_counters::OutputAccounting;
pub use token_cost::TokenCost;
pub use vtc::{Lift, VtcConfig};
