//! What if: the parameter table, scenarios made of it, runs, what a page or a terminal shows of them, and validation.
//!
//! ```
//! use servescope_lab::{Run, Scenario};
//! let mut scenario = Scenario::default();
//! scenario.set_text("workload.arrivals.cv", "4").unwrap();
//! let run = Run::simulate(&scenario, None).unwrap();
//! assert_eq!(run.summary().run.requests.offered, 600);
//! ```

pub mod backlog;
pub mod bodies;
pub mod capacity;
pub mod closed_forms;
pub mod compare;
pub mod failure;
pub mod files;
pub mod fit;
pub mod growth;
pub mod inspect;
pub mod limits;
pub mod link;
pub mod measured;
pub mod metric;
pub mod monitor;
pub mod notes;
pub mod parameters;
pub mod profiles;
pub mod published;
pub mod recipe;
pub mod repeated_keys;
pub mod replications;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod silicon;
pub mod sweep;
pub mod thresholds;
pub mod validate;
pub mod vidur;
pub mod views;

pub use failure::Failure;
pub use run::{LoadedTrace, Run, RunSummary, Running};
pub use scenario::Scenario;

pub use servescope_cost as cost;
pub use servescope_engine as engine;
pub use servescope_workload as workload;
