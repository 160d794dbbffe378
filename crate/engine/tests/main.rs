//! The engine's tests from outside, as one program: each file is a module of it.

mod closed_loop;
#[path = "fleet/main.rs"]
mod fleet;
mod fleet_laws;
mod fleet_orders;
mod gateway;
mod given;
mod monitor;
mod orders;
mod properties;
mod slo;
mod usage;

servescope_testkit::every_file_is_a_module!();
