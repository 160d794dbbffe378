//! The lab's tests from outside, as one program: each file is a module of it.

mod autoscaling;
mod capacity;
mod combinations;
mod default_scenario;
mod disaggregation;
mod fleets;
mod growth;
mod host_cache;
mod kernel_bounds;
mod load;
#[path = "matrix/main.rs"]
mod matrix;
mod measured_kernels;
mod notes;
mod operator_shares;
mod orders;
mod output_bounds;
mod own_models;
mod ranks;
mod routers;
mod speculation;
mod stories;
mod streaming_input;
mod time_error;
mod timed_profiles;
mod token_prices;
mod workloads;

servescope_testkit::every_file_is_a_module!();
