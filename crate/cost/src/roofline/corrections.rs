//! How far operators stay below the peaks: efficiencies and fixed times, fitted on measured operators.
//!
//! Products and norms were measured on three GPUs (Vidur's profiles of 6 to 8 models at TP 1 to 8, MIT), attention on an A100
//! only, collectives on DGX A100 and DGX H100. Other GPUs borrow the shares of the measured one that is nearest in kind:
//! [`Corrections::measured_on`] says which.

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
    /// Added to it for each further GPU, microseconds.
    pub all_reduce_peer_us: f64,
    /// Sending on to the next stage, likewise.
    pub send: Efficiency,
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
        all_reduce_peer_us: 0.0,
        send: Efficiency::IDEAL,
    };

    /// The corrections of a GPU: its own, or those of the measured one that is nearest in kind.
    pub fn of(gpu: &str) -> &'static Self {
        match gpu {
            "a100_40_sxm" | "a100_80_sxm" | "a100_80_pcie" => &A100,
            "a10" | "a10g" | "a40" | "l4" | "l40s" | "rtx4090" => &A40,
            _ => &H100,
        }
    }

    /// Whether they were measured on this GPU itself, attention apart.
    pub fn is_measured_on(gpu: &str) -> bool {
        matches!(gpu, "a100_80_sxm" | "a40" | "h100_sxm")
    }
}

/// Attention as measured on an A100: the kernel of these profiles computes the whole square of a chunk.
const ATTENTION: Corrections = Corrections {
    overlaps: false,
    prefill: Efficiency::new(16.6, 0.436, 0.823),
    prefill_square: 1.0,
    prefill_bias: 573.0,
    decode: Efficiency::new(12.1, 0.436, 0.823),
    decode_head_us: 0.0222,
    ..Corrections::NONE
};

const A100: Corrections = Corrections {
    measured_on: "a100_80_sxm",
    linear: Efficiency::new(5.51, 0.722, 0.800),
    norm: Efficiency::new(4.68, 1.0, 0.470),
    rotary: Efficiency::new(3.19, 1.0, 0.502),
    activation: Efficiency::new(4.10, 1.0, 0.545),
    add: Efficiency::new(1.76, 1.0, 1.0),
    embedding: Efficiency::new(4.74, 1.0, 0.171),
    all_reduce: Efficiency::new(38.6, 1.0, 0.534),
    all_reduce_peer_us: 1.07,
    send: Efficiency::new(13.2, 1.0, 0.927),
    ..ATTENTION
};

static H100: Corrections = Corrections {
    measured_on: "h100_sxm",
    linear: Efficiency::new(5.14, 0.728, 0.903),
    norm: Efficiency::new(3.96, 1.0, 0.520),
    rotary: Efficiency::new(2.44, 1.0, 0.567),
    activation: Efficiency::new(2.78, 1.0, 0.650),
    add: Efficiency::new(1.31, 1.0, 1.0),
    embedding: Efficiency::new(3.71, 1.0, 0.201),
    all_reduce: Efficiency::new(27.8, 1.0, 0.783),
    all_reduce_peer_us: 0.494,
    send: Efficiency::new(7.60, 1.0, 0.793),
    ..ATTENTION
};

static A40: Corrections = Corrections {
    measured_on: "a40",
    linear: Efficiency::new(2.88, 0.763, 0.781),
    norm: Efficiency::new(3.79, 1.0, 0.692),
    rotary: Efficiency::new(2.24, 1.0, 0.942),
    activation: Efficiency::new(2.72, 1.0, 0.858),
    add: Efficiency::new(0.90, 1.0, 1.0),
    embedding: Efficiency::new(3.19, 1.0, 0.530),
    // No all-reduce was measured on an A40.
    all_reduce: A100.all_reduce,
    all_reduce_peer_us: 1.07,
    send: A100.send,
    ..ATTENTION
};
