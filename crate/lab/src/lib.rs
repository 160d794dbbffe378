//! What if: one run of a scenario, and many runs of one question: which load a setting serves, which of two settings is
//! better, what a number does over a range, and what queueing theory says of it.
//!
//! ```
//! use servescope_lab::run::Run;
//! use servescope_settings::scenario::Scenario;
//! let mut scenario = Scenario::default();
//! scenario.set_text("workload.arrivals.cv", "4").unwrap();
//! let run = Run::simulate(&scenario, None).unwrap();
//! assert_eq!(run.summary().run.requests.offered, 396);
//! ```

pub mod applicable;
pub mod blame;
pub mod capacity;
pub mod closed_forms;
pub mod compare;
pub mod crossover;
pub mod metric;
pub mod replications;
pub mod run;
pub mod sweep;
pub mod threads;
