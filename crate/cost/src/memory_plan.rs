//! What fits: weights and KV cache against the memory of the GPUs.

pub mod vidur;
mod whole;

pub use crate::model_shape::ModelShape;
pub use whole::{Ask, MemoryPlan};
