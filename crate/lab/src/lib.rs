//! What if: the parameter table, scenarios made of it, runs, what a page or a terminal shows of them, and validation.
//!
//! Each folder uses only those before it: `settings`, `run`, `traces`, `what_if`, `evidence`, `output`. Their modules are
//! offered at the root.
//!
//! ```
//! use servescope_lab::{Run, Scenario};
//! let mut scenario = Scenario::default();
//! scenario.set_text("workload.arrivals.cv", "4").unwrap();
//! let run = Run::simulate(&scenario, None).unwrap();
//! assert_eq!(run.summary().run.requests.offered, 420);
//! ```

pub mod diagnostic;
mod ordered;

mod evidence;
mod output;
pub mod run;
mod settings;
mod traces;
mod what_if;

pub use evidence::{
    alarms, applicable, closed_forms, measured, overlay, published, silicon, thresholds, validate,
};
pub use ordered::Ordered;
pub use output::{debugger, files, monitor, replies, views, why};
pub use run::{backlog, growth, limits};
pub use settings::{
    expected_error, file_kind, json_text, kernels, link, model_config, notes, parameters, profiles,
    real_traffic, repeated_keys, scenario, schema, tables, vidur, vllm_serve,
};
pub use traces::{bodies, curve_file, fit, inspect, lengths_file, recipe, scenario_file};
pub use what_if::{blame, capacity, compare, metric, replications, sweep, turn};

pub use diagnostic::Diagnostic;
pub use run::{Load, LoadedTrace, Run, RunSummary, SimulationHandle};
pub use scenario::Scenario;

pub use servescope_cost as cost;
pub use servescope_engine as engine;
pub use servescope_workload as workload;
