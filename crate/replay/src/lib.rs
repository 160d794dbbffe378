//! Sends requests to a server of OpenAI's API or of S-LoRA's, by time stamps or in a closed loop, and takes the time of each token of its
//! answers.
//!
//! A request in flight has a thread of its own, which reads its answer and takes a time at each arrival of bytes from one
//! monotonic clock. Everything is bounded: the rate, the number of requests, those in flight, each answer's length and time,
//! and the time of the whole run.

mod answer;
mod events;
mod exchange;
mod exposition;
mod plan;
mod record;
mod schedule;
mod send;
mod server;
mod target;

pub use answer::{Answer, Piece};
pub use events::{EventReader, MAX_EVENT_BYTES, TooLong};
pub use exchange::{Failure, FailureKind, MAX_ANSWER_BYTES};
pub use exposition::{Exposition, MAX_LINES, MetricSample};
pub use plan::{PlanError, Planned, ReplayLimits, ReplayPlan};
pub use record::{Companion, companion, lines};
pub use schedule::Schedule;
pub use send::{ReplayOutcome, SendLateness, Sent, replay};
pub use server::{Facts, Usage, facts, usage};
pub use target::{Target, TargetError};
