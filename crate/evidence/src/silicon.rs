//! Measured deployments: files of mean TTFT and TPOT by model, GPU, parallelism, lengths and requests in flight, each row run
//! as it was measured and compared.
//!
//! The form is that of `silicon_sample.csv` of NVIDIA's AIConfigurator (Apache-2.0), whose rows are mostly exports of the public
//! InferenceX benchmark, with columns added: a hash of the deployment, repeated measurements, server flags, and
//! AIConfigurator's own predictions.
//!
//! **What calibration may see.** A deployment whose hash is odd ([`SiliconRow::is_left_out`]) is never used to calibrate a constant. Its
//! rows are summed up apart.

mod closed_loop;
mod disaggregated;
mod engines;
mod errors;
mod expected;
mod file;
mod playground;
mod predict;
mod report;
mod server;
mod shipped;

pub(crate) use closed_loop::nominal_length;
pub use errors::{Errors, errors};
pub use expected::expected_errors;
pub use file::{Flags, SiliconError, SiliconRow, WorkerLayout, Workers, gpu, read};
pub use playground::scenario;
pub use predict::{Predicted, PredictedLatency, predict, predict_with};
pub use report::{RowGroup, document, groups, table};
pub(crate) use server::model;
pub use server::{Constants, NotAnswered, TimeSource};
pub use shipped::shipped;
