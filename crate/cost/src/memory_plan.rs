//! What fits: weights and KV cache against the memory of the GPUs.

mod drafter;
mod kv_token;
pub mod sglang;
pub mod vidur;
pub mod vllm;
mod weights;
mod whole;

pub use crate::model_shape::ModelShape;
pub use drafter::{DrafterMemory, layer_behind};
pub use kv_token::kv_token_bytes;
pub use weights::expert_bytes_of_gpu;
pub use whole::{Ask, MemoryPlan, Reserve};
