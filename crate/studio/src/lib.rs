//! The page's module for files, fits and exports: readers and writers of traces, statistics, distributions and profiles fitted to
//! measurements, charts as SVG. The page fetches it when a file or the workload studio is opened; the simulator is the
//! other module, `servescope-web`.

mod crossover;
mod file_kind;
mod fit_profile;
mod model_config;
mod result_file;
mod studio;
mod svg;
mod sweep;

pub use crossover::CrossoverSearch;
pub use file_kind::{curve_file, recognise_file, scenario_file};
pub use fit_profile::fit_profile;
pub use model_config::model_config;
pub use result_file::read_result;
pub use studio::{Studio, body_forms, step_kinds, writable_formats};
pub use svg::chart_svg;
pub use sweep::{Sweeps, sweep_csv, sweep_results};
