//! Scheduling policies, one a file: what joins the next iteration.

pub mod memory;
pub mod slora;
