//! The waiting queue of a replica and its scheduling policies, one a file: which request is looked at next.
//!
//! ```text
//! WaitingQueue ──> ClientQueue ──> fcfs | lifo | shortest | priority        a key for each request
//!  preempted        requests by    vtc (least counter, with or without lift)
//!  requests,        client; the    round_robin                              counters of service
//!  charges          gateway's too
//! ```
//!
//! Policies that look at the running batch are the scheduler's own: [`crate::slora`].

pub mod accounts;
pub mod client_queue;
pub mod fairness;
pub mod fcfs;
pub mod keyed;
pub mod lifo;
pub mod order;
pub mod prediction;
pub mod priority;
pub mod round_robin;
pub mod rpm;
pub mod shortest;
pub mod tariff;
mod token_charges;
pub mod vtc;
pub(crate) mod waiting_queue;

pub use order::{Client, Order, Queueing};
