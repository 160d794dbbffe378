//! The lab's tests from outside, as one program: each file is a module of it.

mod anything;
mod capacity;
mod combinations;
mod fleets;
mod gateway;
mod growth;
mod load;
#[path = "matrix/main.rs"]
mod matrix;
mod notes;
mod orders;
mod output_bounds;
mod overlay;
mod overlay_summaries;
mod stories;
mod time_error;
mod workloads;

servescope_testkit::every_file_is_a_module!();
