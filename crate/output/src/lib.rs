//! What is shown of a run: charts, tables, files, and the replies to the page.

pub mod debugger;
pub mod files;
pub mod monitor;
pub mod replies;
pub mod views;
pub mod why;
