//! The waiting line and its orders of service, one policy a file: what joins the next iteration.
//!
//! ```text
//! Order (a setting) ──> Line (its waiting requests) ──> Admission (one decision) ──> picked
//!                        who is looked at, when           memory test, prompt budget
//! ```

pub mod accounts;
pub mod admission;
pub mod batch_aware;
pub mod client_queue;
pub mod cluster;
pub mod early_abort;
pub mod fcfs;
pub mod keyed;
pub mod lifo;
pub mod line;
pub mod order;
pub mod peft;
pub mod pets;
pub mod prediction;
pub mod priority;
pub mod round_robin;
pub mod rpm;
pub mod shortest;
pub mod tariff;
pub mod vtc;

pub use admission::{Admission, DecodeSpan, Latency, Limits};
pub use order::{Client, Order, Queueing};
