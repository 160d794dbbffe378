//! How far operators stay below the peaks: efficiencies and fixed times, fitted on measured operators.
//!
//! Products and norms were measured on three GPUs (Vidur's profiles of 6 to 8 models at TP 1 to 8, MIT), attention on an A100
//! only, collectives on DGX A100 and DGX H100; LoRA operators are calibrated on S-LoRA's published rows. Other GPUs borrow the
//! shares of the measured one that is nearest in kind: [`Corrections::measured_on`] says which.

use crate::deployment::Deployment;
use crate::nodes;

/// What becomes of an operator's time at the peaks of its GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Efficiency {
    /// Added once, microseconds.
    pub fixed_us: f64,
    /// Share of the peak of products that is reached.
    pub compute: f64,
    /// Share of the memory bandwidth that is reached.
    pub memory: f64,
}

impl Efficiency {
    const fn new(fixed_us: f64, compute: f64, memory: f64) -> Self {
        Self { fixed_us, compute, memory }
    }

    const IDEAL: Self = Self::new(0.0, 1.0, 1.0);

    /// Microseconds of an operator of this many operations and bytes at peaks in operations and bytes per second. Where
    /// compute and memory traffic hide each other fully the longer one counts.
    pub fn us(&self, overlaps: bool, (flops, bytes): (f64, f64), (flops_s, bytes_s): (f64, f64)) -> f64 {
        let compute = flops / (self.compute * flops_s) * 1e6;
        let memory = bytes / (self.memory * bytes_s) * 1e6;
        let both = if overlaps { compute.max(memory) } else { (compute * compute + memory * memory).sqrt() };
        self.fixed_us + both
    }
}

/// Operations and bytes of a product of `tokens` rows of 16 bits with a matrix of this many inputs and outputs.
pub fn product_work(tokens: f64, (inputs, outputs): (f64, f64), weight_bytes: f64) -> (f64, f64) {
    (2.0 * tokens * inputs * outputs, inputs * outputs * weight_bytes + 2.0 * tokens * (inputs + outputs))
}

/// Efficiencies of one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corrections {
    /// Where products, norms and collectives were measured; "" for the peaks themselves.
    pub measured_on: &'static str,
    /// Whether compute and memory traffic hide each other fully, so that the longer one counts; measured products take the
    /// root of the sum of both squares.
    pub overlaps: bool,
    /// Matrix products.
    pub linear: Efficiency,
    /// Norms.
    pub norm: Efficiency,
    /// Rotary embedding, and writing keys and values.
    pub rotary: Efficiency,
    /// Activation of the MLP.
    pub activation: Efficiency,
    /// Sums with the residual.
    pub add: Efficiency,
    /// Embedding look-up.
    pub embedding: Efficiency,
    /// Attention of prompts.
    pub prefill: Efficiency,
    /// Share of the square of a chunk that is computed: a half is what causality asks for.
    pub prefill_square: f64,
    /// KV tokens by which a prompt's attention counts as longer.
    pub prefill_bias: f64,
    /// Attention of requests that decode.
    pub decode: Efficiency,
    /// Added to it for each request and head of keys, microseconds.
    pub decode_head_us: f64,
    /// All-reduce: fixed time, and as `memory` the share of the link's bandwidth that is reached.
    pub all_reduce: Efficiency,
    /// Sending on to the next stage, likewise.
    pub send: Efficiency,
    /// LoRA: a shrink or an expand of one module.
    pub lora: Efficiency,
    /// Added to it for each distinct adapter, microseconds.
    pub lora_group_us: f64,
}

impl Corrections {
    /// The data sheet's peaks.
    pub const NONE: Self = Self {
        measured_on: "",
        overlaps: true,
        linear: Efficiency::IDEAL,
        norm: Efficiency::IDEAL,
        rotary: Efficiency::IDEAL,
        activation: Efficiency::IDEAL,
        add: Efficiency::IDEAL,
        embedding: Efficiency::IDEAL,
        prefill: Efficiency::IDEAL,
        prefill_square: 0.5,
        prefill_bias: 0.0,
        decode: Efficiency::IDEAL,
        decode_head_us: 0.0,
        all_reduce: Efficiency::IDEAL,
        send: Efficiency::IDEAL,
        lora: Efficiency::IDEAL,
        lora_group_us: 0.0,
    };

    /// The corrections of a GPU: its own, or those of the measured one that is nearest in kind.
    pub fn of(gpu: &str) -> &'static Self {
        match gpu {
            "a100_40_sxm" | "a100_80_sxm" | "a100_80_pcie" => &A100,
            "a10" | "a10g" | "a40" | "l4" | "l40s" => const { &A40 },
            "rtx4090" => &RTX_4090,
            _ => &H100,
        }
    }

    /// Microseconds in which each GPU of a stage sends this many bytes to the next one: over the link of a node, and over the
    /// network for the share of the sends that leave it.
    pub fn send_us(&self, deployment: &Deployment, bytes: f64) -> f64 {
        let (gpu, send) = (deployment.gpu, &self.send);
        let link_bytes_s = gpu.link_gb_s.value * 1e9;
        let on_node_us = send.fixed_us + bytes / (send.memory * link_bytes_s) * 1e6;
        let leaving = nodes::share_of_sends(deployment);
        (1.0 - leaving) * on_node_us + leaving * (send.fixed_us + nodes::send_us(&gpu, bytes))
    }
}

/// Attention as measured on an A100: the kernel of these profiles computes the whole square of a chunk. Efficiencies above 1
/// are real: what a small operator reads is still in the cache.
const ATTENTION: Corrections = Corrections {
    overlaps: false,
    prefill: Efficiency::new(11.45, 0.3954, 0.8425),
    prefill_square: 1.0,
    prefill_bias: 499.7,
    decode: Efficiency::new(14.71, 0.3954, 0.8425),
    decode_head_us: 0.0201,
    lora: LORA,
    lora_group_us: LORA_GROUP_US,
    ..Corrections::NONE
};

/// LoRA operators, calibrated on S-LoRA's published rows, not timed by themselves. The linear model whose adapter terms were
/// tuned on those rows (Llama-7B on an A10G with 200 adapters: see [`crate::calibration`]) adds 0.5 ms and 3 us for each
/// unit of rank to an iteration. With some 30 requests of 28 distinct adapters, all of rank 8 (S1) or of a mean rank of 30
/// (S2), that is 1.22 and 3.2 ms. Weights and activations take 1.98 ms of the difference at 1.087 times the A10G's
/// bandwidth: part of what these small operators read is still in the cache. 0.355 ms are left for launches (256 in 32
/// layers) and for going from adapter to adapter (28 times in each), which the rows do not separate: a third is given to
/// launches, which a replayed graph makes short, and two to adapters. Other GPUs borrow these numbers.
const LORA: Efficiency = Efficiency::new(0.4622, 0.7, 1.087);
const LORA_GROUP_US: f64 = 0.033;

const A100: Corrections = Corrections {
    measured_on: "a100_80_sxm",
    linear: Efficiency::new(5.958, 0.722, 0.8319),
    norm: Efficiency::new(4.962, 1.0, 0.452),
    rotary: Efficiency::new(3.601, 1.0, 0.5),
    activation: Efficiency::new(4.965, 1.0, 0.5471),
    add: Efficiency::new(1.896, 1.0, 1.069),
    embedding: Efficiency::new(2.864, 1.0, 0.1588),
    all_reduce: Efficiency::new(38.9, 1.0, 0.5076),
    send: Efficiency::new(13.73, 1.0, 0.927),
    ..ATTENTION
};

static H100: Corrections = Corrections {
    measured_on: "h100_sxm",
    linear: Efficiency::new(5.623, 0.7395, 0.9426),
    norm: Efficiency::new(4.022, 1.0, 0.5365),
    rotary: Efficiency::new(2.701, 1.0, 0.567),
    activation: Efficiency::new(3.175, 1.0, 0.6865),
    add: Efficiency::new(1.29, 1.0, 1.094),
    embedding: Efficiency::new(2.073, 1.0, 0.1795),
    all_reduce: Efficiency::new(26.94, 1.0, 0.7442),
    send: Efficiency::new(7.28, 1.0, 0.7961),
    prefill: Efficiency::new(ATTENTION.prefill.fixed_us, CAUSAL_COMPUTE, ATTENTION.prefill.memory),
    prefill_square: 0.5,
    prefill_bias: CAUSAL_BIAS,
    ..ATTENTION
};

/// Attention of prompts since Hopper: kernels compute what causality asks for. Prompts of 4,096 tokens and more run at 573 TFLOP/s on
/// an H100 and at 1,093 on a B200 in AIConfigurator's tables, and shorter ones as if each query met this many tokens more.
const CAUSAL_COMPUTE: f64 = 0.55;
const CAUSAL_BIAS: f64 = 150.0;

const A40: Corrections = Corrections {
    measured_on: "a40",
    linear: Efficiency::new(3.38, 0.7571, 0.7902),
    norm: Efficiency::new(3.941, 1.0, 0.692),
    rotary: Efficiency::new(2.639, 1.0, 0.913),
    activation: Efficiency::new(3.268, 1.0, 0.8922),
    add: Efficiency::new(0.9178, 1.0, 1.016),
    embedding: Efficiency::new(1.912, 1.0, 0.5057),
    // No collective was measured on a node of A40s alone.
    all_reduce: A100.all_reduce,
    send: A100.send,
    ..ATTENTION
};

/// Share of its 1,008 GB/s at which a GeForce RTX 4090 copies memory: 919 GB/s (github.com/binbinsh/gpu-bench, `memcpy` on the
/// device; 920 GB/s in github.com/xytpai/nvbench). Its memory has no ECC, which takes a part of an A40's bandwidth.
const RTX_4090_MEMORY: f64 = 0.912;
/// Share of its 165 TFLOP/s in products of 16 bits. One of 8192 x 8192 x 8192 reaches 175 (the same gpu-bench: it clocks above
/// the peak's clock, and its power does not hold it back); those of 2048 tokens reach 0.92 to 1.0 of such a one on an A100 and an
/// RTX PRO 6000 (AIConfigurator's tables).
const RTX_4090_COMPUTE: f64 = 1.0;

/// Fixed times and pointwise operators as on an A40, products and attention at what an RTX 4090 itself was timed at.
static RTX_4090: Corrections = Corrections {
    linear: Efficiency::new(A40.linear.fixed_us, RTX_4090_COMPUTE, RTX_4090_MEMORY),
    prefill: Efficiency::new(ATTENTION.prefill.fixed_us, ATTENTION.prefill.compute, RTX_4090_MEMORY),
    decode: Efficiency::new(ATTENTION.decode.fixed_us, ATTENTION.decode.compute, RTX_4090_MEMORY),
    ..A40
};
