//! How a model lies on GPUs, and the kernels that run there, each with its table.

use super::base::{ExpertShape, Heads};
use super::curves::{DecodeTable, TokenCurve};
use super::{Grid, NumberFormat};
use crate::deployment::KvFormat;
use crate::expert_layout::AllToAll;
use crate::gpus::Gpu;
use crate::models::Model;

/// How a model lies on GPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// GPU.
    pub gpu: Gpu,
    /// Model.
    pub model: Model,
    /// GPUs that share attention.
    pub tensor_parallel: u32,
    /// Replicas of attention that share the experts.
    pub attention_data_parallel: u32,
    /// GPUs that share each expert.
    pub expert_tensor_parallel: u32,
    /// Groups of GPUs with different experts.
    pub expert_parallel: u32,
    /// How tokens of attention's replicas get to the experts.
    pub all_to_all: AllToAll,
    /// Format of attention's projections.
    pub attention: NumberFormat,
    /// Format of dense MLPs.
    pub mlp: NumberFormat,
    /// Format of experts.
    pub experts: NumberFormat,
    /// KV cache.
    pub kv: KvFormat,
    /// Whether GPUs of a node read each other's memory; else sums go through the memory of the host.
    pub has_peer_access: bool,
}

/// A product whose matrix is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Product {
    pub(super) format: NumberFormat,
    pub(super) outputs: f64,
    pub(super) inputs: f64,
    pub(super) curve: TokenCurve,
    /// Where tokens that are no multiple of 4 are copied first.
    pub(super) ragged: Option<TokenCurve>,
}

/// Attention of one kind of layers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) layers: f64,
    pub(super) heads: Heads,
    pub(super) prefill: Grid,
    pub(super) decode: DecodeTable,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum AttentionKernels {
    Grouped {
        /// Before attention and behind it.
        projections: Box<[Product; 2]>,
        spans: Vec<Span>,
    },
    /// Projections are in the tables.
    Latent { heads: f64, kv_bytes: f64, prefill: Grid, decode: DecodeTable },
}

/// Sums over the GPUs that share a layer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sum {
    pub(super) curve: TokenCurve,
    /// Whether they go through the memory of the host, though they were timed without that.
    pub(super) is_staged: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExpertKernels {
    pub(super) layers: f64,
    pub(super) router: Product,
    pub(super) shape: ExpertShape,
    pub(super) format: NumberFormat,
    pub(super) curve: TokenCurve,
    pub(super) shared: Option<[Product; 2]>,
}

/// There is no such table, and none that stands in for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTable(pub String);
