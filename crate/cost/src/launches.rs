//! Iterations whose kernels the host launches one by one, for no CUDA graph covers them. Launches run ahead of the GPU, so that such an
//! iteration takes at least as long as they do, and no longer where the GPU is busy anyway.

use crate::gpus::Gpu;

/// The largest iteration that vLLM captures a CUDA graph of by itself, tokens, where neither `max_num_seqs` nor the token budget
/// bounds it: [`captured_by_default`].
pub const CAPTURED_TOKENS: u32 = 512;
/// The same on GPUs of compute capability 10.x.
const CAPTURED_TOKENS_10: u32 = 1024;

/// vLLM's default of `max_cudagraph_capture_size` (`_set_cudagraph_sizes` in its `vllm/config/vllm.py`): room for twice
/// `max_num_seqs`, no more than fits into an iteration.
pub fn captured_by_default(gpu: &Gpu, max_num_seqs: u32, max_num_batched_tokens: u32) -> u32 {
    let most = if gpu.has_compute_capability_10() { CAPTURED_TOKENS_10 } else { CAPTURED_TOKENS };
    max_num_seqs.saturating_mul(2).min(most).min(max_num_batched_tokens).max(1)
}

/// What waiting may add to an iteration right above the captured size, as a share of the time of its kernels, and by
/// how much that share grows for each further captured size of tokens. Measured are an idle prompt of 512 and of 513 tokens (12.0
/// and 13.1 ms: Llama-3.1-8B on an H100) and prompts of 819 tokens and more, where launches count in full; what lies between is
/// not, and has no step that no measurement shows.
const ONSET: f64 = 0.1;
const RISE: f64 = 3.0;

/// How long the GPU waits in an iteration of `tokens` tokens whose kernels take `kernels_us` and whose launches, one by one,
/// `launches_us` microseconds. CUDA graphs cover iterations of up to `captured` tokens.
pub(crate) fn wait_us(kernels_us: f64, launches_us: f64, tokens: f64, captured: u32) -> f64 {
    let captured = f64::from(captured);
    if tokens <= captured {
        return 0.0;
    }
    let most_us = if captured > 0.0 {
        kernels_us * (ONSET + RISE * (tokens - captured) / captured)
    } else {
        f64::INFINITY
    };
    (launches_us - kernels_us).clamp(0.0, most_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_count_where_no_graph_covers_them_and_the_gpu_is_done_sooner() {
        assert_eq!(wait_us(1_000.0, 9_000.0, 512.0, 512), 0.0);
        assert!((wait_us(1_000.0, 9_000.0, 513.0, 512) - 105.859_375).abs() < 1e-9);
        assert_eq!(wait_us(4_000.0, 9_000.0, 1024.0, 512), 5_000.0);
        assert_eq!(wait_us(4_000.0, 9_000.0, 1.0, 0), 5_000.0);
        assert_eq!(wait_us(10_000.0, 9_000.0, 4096.0, 512), 0.0);
    }
}
