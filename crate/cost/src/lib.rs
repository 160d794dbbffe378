//! How long an iteration takes on the GPU.
//!
//! The engine asks through [`BatchCost`] and does not know which model answers. Times are microseconds.

pub mod batch;
pub mod batch_stages;
pub mod calibration;
mod deployed;
pub mod deployment;
mod disturbed;
pub mod expert_balance;
pub mod expert_layout;
pub mod formats;
pub mod gpus;
pub mod kernels;
pub mod kv_groups;
pub mod launches;
pub mod linear;
pub mod memory_plan;
mod model_shape;
pub mod models;
pub mod nodes;
pub mod profile;
pub mod roofline;
pub mod speculative;

pub use batch::{
    Batch, BatchCost, Chunk, DecodeUsage, LoraBatch, OperatorClass, OperatorTime, Peak, RankRows, StageParts,
    StageTime, Work,
};
pub use batch_stages::{BatchStages, DecodeLine, StageConstants, TokenLine};
pub use calibration::{CALIBRATIONS, Calibration};
pub use deployed::Deployed;
pub use deployment::{Deployment, KvFormat, WeightFormat};
pub use disturbed::{Disturbed, TimeError};
pub use expert_balance::ExpertBalance;
pub use expert_layout::{AllToAll, ExpertLayout};
pub use gpus::Gpu;
pub use linear::{AdapterCost, LinearCost, LinearDecode};
pub use models::Model;
pub use roofline::{Corrections, HostTime, LoraKernels, Roofline};
pub use speculative::{DraftPass, Drafter, Speculative};
