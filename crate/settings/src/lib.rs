//! What a person sets: the parameter table, a scenario made of it, its links and its schema, the notes about settings without
//! effect, models of one's own, operator tables of one's own, measured kernels, and Vidur's flags. What a file is, and JSON and YAML
//! as tools write them, too.
//!
//! ```
//! use servescope_settings::scenario::Scenario;
//! let mut scenario = Scenario::default();
//! scenario.set_text("workload.arrivals.cv", "4").unwrap();
//! assert_eq!(scenario.problems(), []);
//! ```

mod acceptance_tables;
pub mod deployment_files;
pub mod diagnostic;
pub mod expected_error;
pub mod file_kind;
pub mod json_text;
pub mod kernels;
pub mod launch_command;
pub mod link;
pub mod model_config;
pub mod notes;
pub mod ordered;
pub mod parameters;
pub mod profiles;
pub mod real_traffic;
pub mod repeated_keys;
pub mod scenario;
pub mod schema;
mod server_flags;
pub mod sglang_serve;
mod shipped;
pub mod tables;
pub mod trtllm_serve;
pub mod vidur;
pub mod vllm_serve;
pub mod yaml_text;
