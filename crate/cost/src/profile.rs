//! Iteration times from profiles: an operator's time by tokens, bytes, batch size, KV length, chunk.
//!
//! [`RawTables`] hold the medians that Vidur's profiler took; [`Profile`] is the compact form that is fitted to them,
//! shipped, written and read as a text; [`CompactTables`] are what an engine asks: one degree of a profile with its
//! pipeline stages. [`ExactTables`] look up Vidur's own predictions with Vidur's roundings, to compare with its runs.

mod attention;
mod fit;
mod fitted_profile;
mod grid;
mod least_squares;
mod line;
mod operator;
mod profiling_csv;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod vidur_tables;

pub use attention::{
    AttentionFormula, AttentionHeads, DecodeFormula, MeasuredAttention, PrefillFormula, Speed,
};
pub use fit::OperatorError;
pub use fitted_profile::CompactTables;
pub use grid::KnotGrid;
pub use line::{KnotLine, Knots};
pub use operator::{By, OPERATORS, Operator, TimedOrigin};
pub use profiling_csv::{RawAttention, RawDegree, RawLine, RawNetwork, RawTables};
pub use table::ProfileError;
pub use vidur_tables::{ExactTables, LayerSettings};

use crate::model_shape::ModelShape;

/// One operator of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorLine {
    /// Which.
    pub operator: &'static Operator,
    /// Where its times come from.
    pub origin: TimedOrigin,
    /// Its times.
    pub knots: Knots,
}

/// Attention of one degree.
#[derive(Debug, Clone, PartialEq)]
pub struct AttentionProfile {
    /// Where its times come from.
    pub origin: TimedOrigin,
    /// Decoding, where there is no table.
    pub decode_formula: DecodeFormula,
    /// Prompts; what a table's ratios refer to.
    pub prefill_formula: PrefillFormula,
    /// Decoding by requests and KV tokens of each: tenths of a microsecond.
    pub decode: Option<KnotGrid>,
    /// Prompts by chunk and KV tokens: thousandths of the formula.
    pub prefill: Option<KnotGrid>,
}

/// Relative errors against the raw medians: median and 95th percentile, in ten-thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FitErrors {
    /// Of the token operators of a layer together, over the profiled numbers of tokens.
    pub layer: [u32; 2],
    /// Of attention, over the profiled points; where it is modelled, the error of the formula where it was measured.
    pub attention: [u32; 2],
}

/// One degree of tensor parallelism.
#[derive(Debug, Clone, PartialEq)]
pub struct Degree {
    /// GPUs that share each layer.
    pub degree: u32,
    /// How far it is from what was measured.
    pub errors: FitErrors,
    /// Operators.
    pub lines: Vec<OperatorLine>,
    /// Attention.
    pub attention: AttentionProfile,
}

/// What messages take between GPUs of another kind of node than the profile's own. They depend on bytes alone, so every
/// model of the GPU has the same.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeNetwork {
    /// Its name, without spaces.
    pub name: String,
    /// GPUs in a node.
    pub node_gpus: u32,
    /// Sending on, within a node and to another.
    pub lines: Vec<OperatorLine>,
    /// All-reduces by the GPUs that share a layer, ascending.
    pub all_reduces: Vec<(u32, OperatorLine)>,
}

impl NodeNetwork {
    /// Whether as many GPUs can share a layer: what they send each other was timed.
    pub fn has_degree(&self, degree: u32) -> bool {
        degree == 1 || self.all_reduces.iter().any(|(gpus, _)| *gpus == degree)
    }
}

/// The operator times of one model on one GPU, in a few kilobytes for all degrees.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The GPU's name.
    pub gpu: String,
    /// The model's name.
    pub model: String,
    /// Its dimensions.
    pub shape: ModelShape,
    /// GPUs in a node.
    pub node_gpus: u32,
    /// Operators that do not depend on the degree: sending on.
    pub lines: Vec<OperatorLine>,
    /// By degree, ascending.
    pub degrees: Vec<Degree>,
    /// Other nodes that have this GPU.
    pub networks: Vec<NodeNetwork>,
}

impl Profile {
    /// The node of that name, where the profile has it.
    pub fn network(&self, name: &str) -> Option<&NodeNetwork> {
        self.networks.iter().find(|network| network.name == name)
    }

    /// Settings as Vidur has them, without host overhead.
    pub fn settings(&self, degree: u32, stages: u32) -> LayerSettings {
        let penalty = if self.shape.query_heads > self.shape.kv_heads { 0.1 } else { 0.0 };
        LayerSettings {
            layers: self.shape.layers,
            stages,
            tensor_parallel: degree,
            launch_ms: 0.02,
            skew_ms: 0.0,
            prefill_penalty: penalty,
            decode_penalty: penalty,
            kv_granularity: 64,
            cpu_ms: 0.0,
        }
    }

    /// The degree, where the profile has it.
    pub fn degree(&self, degree: u32) -> Option<&Degree> {
        self.degrees.iter().find(|d| d.degree == degree)
    }
}
