//! Named sets of coefficients, each with its origin.

use crate::linear::{AdapterCost, LinearCost};

/// How far a set of numbers can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Fitted to measurements of this GPU and model.
    Calibrated,
    /// Partly assumed; `source` says which part.
    Modelled,
}

/// A named set of coefficients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// The value of `cost.calibration`.
    pub id: &'static str,
    /// GPU.
    pub gpu: &'static str,
    /// Model.
    pub model: &'static str,
    /// How far to trust it.
    pub origin: Origin,
    /// Where the numbers come from.
    pub source: &'static str,
    /// KV pool that fits beside the model, tokens.
    pub pool_tokens: u32,
    /// Parameters of the model, for model FLOPs utilization.
    pub parameters: f64,
    /// Dense peak of the GPU in FLOP/s at 16 bits, where a source for it is at hand.
    pub peak_flops: Option<f64>,
    /// The coefficients.
    pub cost: LinearCost,
}

/// Every calibration; the first is the default.
pub static CALIBRATIONS: [Calibration; 3] = [
    Calibration {
        id: "a10g-llama-7b",
        gpu: "NVIDIA A10G 24 GB",
        model: "Llama-7B",
        origin: Origin::Calibrated,
        source: "Decode: fitted to the A10G profile that the authors of VTC publish (Sheng et al., OSDI 2024; mean \
                 error 3.5 %, largest 10.5 %). Prefill 0.22 ms a token from the same profile; its constant of 5 ms is \
                 assumed. Overhead and adapter terms tuned on seven rows of S-LoRA's published A10G results (Sheng et \
                 al., MLSys 2024); the overhead was settled at 1.45 ms with all rows in sight.",
        pool_tokens: 14_500,
        parameters: 6.738e9,
        peak_flops: None,
        cost: LinearCost {
            prefill_base_us: 5_000.0,
            prefill_per_token_us: 220.0,
            decode_base_us: 18_160.0,
            decode_per_request_us: 216.0,
            decode_per_kv_token_us: 1.89,
            overhead_us: 1_450.0,
            adapters: LORA_A10G,
        },
    },
    Calibration {
        id: "a100-80-opt-13b",
        gpu: "NVIDIA A100 80 GB",
        model: "OPT-13B",
        origin: Origin::Modelled,
        source: "Coefficients of DistServe's simulator for OPT-13B on one A100-80GB, below 95 sequences (Zhong et al., \
                 OSDI 2024; Apache-2.0), without its small quadratic prefill term. Adapter terms are those of the A10G \
                 set: not measured on this GPU.",
        pool_tokens: 65_000,
        parameters: 12.85e9,
        peak_flops: Some(312e12),
        cost: LinearCost {
            prefill_base_us: 18_100.0,
            prefill_per_token_us: 101.9,
            decode_base_us: 19_930.0,
            decode_per_request_us: 38.5,
            decode_per_kv_token_us: 0.627,
            overhead_us: 0.0,
            adapters: LORA_A10G,
        },
    },
    Calibration {
        id: "unit",
        gpu: "none",
        model: "none",
        origin: Origin::Modelled,
        source: "No hardware: 20 ms a decode iteration, everything else free. For comparing with closed forms.",
        pool_tokens: 1_000_000,
        parameters: 0.0,
        peak_flops: None,
        cost: LinearCost {
            prefill_base_us: 0.0,
            prefill_per_token_us: 0.0,
            decode_base_us: 20_000.0,
            decode_per_request_us: 0.0,
            decode_per_kv_token_us: 0.0,
            overhead_us: 0.0,
            adapters: AdapterCost::FREE,
        },
    },
];

/// The ids, in the order of [`CALIBRATIONS`].
pub const CALIBRATION_IDS: [&str; CALIBRATIONS.len()] = {
    let mut ids = [""; CALIBRATIONS.len()];
    let mut i = 0;
    while i < ids.len() {
        ids[i] = CALIBRATIONS[i].id;
        i += 1;
    }
    ids
};

const LORA_A10G: AdapterCost = AdapterCost {
    load_base_us: 4_000.0,
    load_per_rank_us: 1_800.0,
    prefill_factor: 1.04,
    decode_active_us: 500.0,
    decode_per_rank_us: 3.0,
};

impl Calibration {
    /// The calibration called `id`.
    pub fn named(id: &str) -> Option<&'static Self> {
        CALIBRATIONS.iter().find(|c| c.id == id)
    }
}
