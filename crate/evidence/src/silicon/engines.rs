//! The serving engine of a row, and how InferenceX starts SGLang.

use servescope_cost::gpus::Gpu;
use servescope_settings::kernels::KernelEngine;

use super::file::{SiliconRow, gpu};

impl SiliconRow {
    /// Its serving engine.
    pub fn engine(&self) -> KernelEngine {
        match self.backend.as_str() {
            "sglang" => KernelEngine::Sglang,
            "trtllm" => KernelEngine::TensorRtLlm,
            _ => KernelEngine::Vllm,
        }
    }

    /// Whether all its requests have the nominal lengths, so that those of a closed loop stay in step: AIConfigurator's own client sends
    /// such, and reports means of whole nanoseconds. Its rows of two decimals are of another client, whose lengths are not known.
    /// InferenceX's lengths are uniform.
    pub(super) fn has_fixed_lengths(&self) -> bool {
        let is_rounded = |ms: f64| (100.0 * ms - (100.0 * ms).round()).abs() < 1e-6;
        self.origin == "aic-auto-gap" && !(is_rounded(self.ttft_ms) && is_rounded(self.tpot_ms))
    }

    /// Whether InferenceX measured it. AIConfigurator's `gap-csv` repeats InferenceX's rows of SGLang, some to the last digit.
    fn is_of_inferencex(&self) -> bool {
        matches!(self.origin.as_str(), "inferencex" | "gap-csv")
    }
}

/// Flags of a server of SGLang; `None`: not set.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct SglangFlags {
    pub(super) chunked_prefill_size: Option<u32>,
    pub(super) max_running_requests: Option<u32>,
    /// `--mem-fraction-static`.
    pub(super) static_share: Option<f64>,
    /// `--scheduler-recv-interval`.
    pub(super) recv_interval: u32,
}

/// From so many requests in flight on InferenceX's scripts for Blackwell let SGLang receive every [`SELDOM`] decodes, below every
/// [`OFTEN`].
const MANY_IN_FLIGHT: u32 = 16;
const SELDOM: u32 = 30;
const OFTEN: u32 = 10;

impl SglangFlags {
    /// Those of InferenceX's scripts (SemiAnalysisAI/InferenceX 843c625, benchmarks/single_node, `dsr1_*`, `qwen3.5_*` and `glm5_*`, on
    /// B200, B300 and H200); of other origins none are known.
    pub(super) fn of(row: &SiliconRow) -> Self {
        let usual = Self { recv_interval: 1, ..Self::default() };
        if !row.is_of_inferencex() {
            return usual;
        }
        let model = row.model.to_ascii_lowercase();
        let is_qwen = model.contains("qwen3.5");
        let is_nvfp4 = row.gemm_format == "nvfp4" || row.moe_format == "nvfp4";
        let is_deepseek_fp4 = model.contains("deepseek") && is_nvfp4;
        let chunk = if is_qwen || is_deepseek_fp4 { 16_384 } else { 32_768 };
        let is_blackwell = gpu(&row.system).is_some_and(Gpu::has_compute_capability_10);
        // Ranks of attention receive at every turn; of GLM-5 only the 4-bit script has an interval.
        let never_waits = row.layout.attention_data_parallel > 1 || (model.contains("glm-5") && !is_nvfp4);
        let in_flight = row.in_flight.unwrap_or(0);
        let recv_interval = match (is_blackwell && !never_waits, in_flight >= MANY_IN_FLIGHT) {
            (false, _) => 1,
            (true, true) => SELDOM,
            (true, false) => OFTEN,
        };
        Self {
            chunked_prefill_size: Some(chunk),
            static_share: Some(if is_qwen { 0.8 } else { 0.82 }),
            recv_interval,
            ..usual
        }
    }
}
