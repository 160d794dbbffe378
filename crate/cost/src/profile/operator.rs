//! The operators of a transformer's iteration as Vidur's profiler names them, and where a table's times come from.

use crate::batch::OperatorClass;

/// What an operator's time depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Tokens of the iteration; once a layer.
    Tokens,
    /// Bytes of the message.
    Bytes,
    /// Requests of the iteration; once a stage.
    Requests,
}

/// An operator whose time depends on one quantity. Attention depends on two: see
/// [`AttentionFormula`](super::AttentionFormula).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operator {
    /// Its name in Vidur's files.
    pub name: &'static str,
    /// The column of Vidur's files that is taken.
    pub column: &'static str,
    /// What it is part of.
    pub class: OperatorClass,
    /// What its time depends on.
    pub by: By,
}

/// An operator that Vidur's profiler times on the GPU.
macro_rules! timed {
    ($name:literal, $class:ident, $by:ident) => {
        Operator {
            name: $name,
            column: concat!("time_stats.", $name, ".median"),
            class: OperatorClass::$class,
            by: By::$by,
        }
    };
}

/// A part of the host's overhead.
const fn host(name: &'static str, column: &'static str) -> Operator {
    Operator { name, column, class: OperatorClass::Host, by: By::Requests }
}

/// All of them. A layer has each token operator once; those whose data are absent cost nothing.
pub const OPERATORS: [Operator; 18] = [
    timed!("input_layernorm", Pointwise, Tokens),
    timed!("attn_pre_proj", Linear, Tokens),
    timed!("attn_rope", Pointwise, Tokens),
    timed!("attn_kv_cache_save", Pointwise, Tokens),
    timed!("attn_post_proj", Linear, Tokens),
    timed!("post_attention_layernorm", Pointwise, Tokens),
    timed!("mlp_up_proj", Linear, Tokens),
    timed!("mlp_act", Pointwise, Tokens),
    timed!("mlp_down_proj", Linear, Tokens),
    timed!("add", Pointwise, Tokens),
    timed!("all_reduce", Communication, Bytes),
    timed!("send_recv", Communication, Bytes),
    // Sending to a stage in another node.
    Operator { name: "send_recv_across", ..timed!("send_recv", Communication, Bytes) },
    host("schedule", "schedule_median"),
    host("sampler_e2e", "sampler_e2e_median"),
    host("prepare_inputs_e2e", "prepare_inputs_e2e_median"),
    host("process_model_outputs", "process_model_outputs_median"),
    host("ray_comm_time", "ray_comm_time_mean"),
];

impl Operator {
    /// The operator of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        OPERATORS.iter().find(|o| o.name == name)
    }

    /// Whether every layer has it: a profile without it is none. The others are absent from older profiles, from models
    /// with one norm a layer, or from one GPU.
    pub fn is_needed(&self) -> bool {
        self.by == By::Tokens && !matches!(self.name, "attn_kv_cache_save" | "post_attention_layernorm")
    }
}

/// Where times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "TimedOrigin", rename_all = "snake_case"))]
pub enum Origin {
    /// Taken on the hardware.
    Measured,
    /// Between measured samples, filled in by a rule.
    Reconstructed,
    /// Another GPU's, scaled.
    Synthetic,
    /// A formula.
    Modelled,
}

impl Origin {
    /// Every origin, the best first.
    pub const ALL: [Self; 4] = [Self::Measured, Self::Reconstructed, Self::Synthetic, Self::Modelled];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        ["measured", "reconstructed", "synthetic", "modelled"][self as usize]
    }

    /// The origin of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|o| o.name() == name)
    }
}
