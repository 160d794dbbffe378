//! What is shown of a run: charts, tables and files.

pub mod debugger;
pub mod files;
pub mod monitor;
pub mod replies;
pub mod views;
pub mod why;
