//! What fits: weights and KV cache against the memory of the GPUs.

pub mod sglang;
pub mod vidur;
pub mod vllm;
mod weights;
mod whole;

pub use crate::model_shape::ModelShape;
pub use whole::{Ask, MemoryPlan, Reserve};
