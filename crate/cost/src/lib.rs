//! How long an iteration takes on the GPU.
//!
//! The engine asks through [`IterationCost`] (S-LoRA's router loop) or [`BatchCost`] (replicas of a fleet) and does not know
//! which model answers. Times are microseconds.

pub mod batch;
pub mod calibration;
pub mod deployment;
pub mod gpus;
pub mod linear;
pub mod memory_plan;
pub mod models;
pub mod profile;
pub mod roofline;

pub use batch::{
    Batch, BatchCost, Chunk, DecodeUsage, LoraBatch, OperatorClass, Peak, StageParts, StageTime, Work,
};
pub use calibration::{CALIBRATIONS, Calibration};
pub use deployment::{Deployment, KvFormat, WeightFormat};
pub use gpus::Gpu;
pub use linear::{AdapterCost, LinearCost, LinearDecode};
pub use models::Model;
pub use roofline::{Corrections, HostTime, Roofline};

/// What goes into one prefill iteration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PrefillShape {
    /// Requests whose prompts are processed together.
    pub requests: u32,
    /// Tokens of all prompts.
    pub tokens: f64,
    /// Whether any request of it uses an adapter.
    pub any_adapter: bool,
}

/// What stays the same over a run of decode iterations between two changes of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DecodeShape {
    /// Requests in the batch, each produces one token an iteration.
    pub requests: u32,
    /// KV tokens read by the run's first iteration; each iteration adds `requests`.
    pub kv_tokens: f64,
    /// Sum over requests of their adapters' ranks.
    pub rank_sum: f64,
    /// Whether any request uses an adapter.
    pub any_adapter: bool,
}

/// A model of iteration times.
pub trait IterationCost {
    /// The times of a run of decode iterations.
    type Decode: DecodeRun;

    /// Duration of a prefill iteration.
    fn prefill_us(&self, shape: &PrefillShape) -> f64;

    /// The times of the decode iterations that start now.
    fn decode(&self, shape: &DecodeShape) -> Self::Decode;

    /// Duration of copying one adapter to the GPU.
    fn adapter_load_us(&self, rank: u32) -> f64;
}

/// Times of consecutive decode iterations of one batch.
pub trait DecodeRun: Copy {
    /// Duration of the first `iterations` together. Increasing, and 0 at 0.
    ///
    /// The clock after k iterations is defined as start + `elapsed_us(k)`, whether the k are charged at once or one by
    /// one: that is what makes both ways equal to the last bit.
    fn elapsed_us(&self, iterations: u32) -> f64;

    /// Duration of iteration `index` (0 = first).
    fn iteration_us(&self, index: u32) -> f64;

    /// The least number of iterations, at least 1, after which `elapsed_us` is at least `time_us`.
    fn iterations_until(&self, time_us: f64) -> u32;
}
