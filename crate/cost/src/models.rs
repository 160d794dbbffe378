//! Models: the dimensions on which time and memory depend, and what follows from them.

mod table;

pub use table::MODELS;

use crate::model_shape::ModelShape;

/// One model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// The value of `fleet.model`.
    pub id: &'static str,
    /// Its usual name.
    pub name: &'static str,
    /// Layers.
    pub layers: u32,
    /// Hidden size.
    pub hidden: u32,
    /// What its attention looks like.
    pub attention: Attention,
    /// Hidden size of the MLP of dense layers; 0 where all layers have experts.
    pub mlp_hidden: u32,
    /// Whether the MLP has a gate: three matrices in place of two.
    pub gated_mlp: bool,
    /// Experts, for a mixture of them.
    pub experts: Option<Experts>,
    /// Rows of the embedding.
    pub vocabulary: u32,
    /// Whether the head is the embedding.
    pub tied_embeddings: bool,
    /// Parameters of a layer beside its matrices: norms, biases.
    pub layer_extras: u32,
    /// Parameters outside the layers beside embedding and head.
    pub extras: u32,
    /// Longest context it is made for, tokens.
    pub context: u32,
    /// Keys of [`crate::gpus::SOURCES`], blanks between.
    pub sources: &'static str,
}

/// Attention: which projections it has and what it keeps for each token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    /// Heads that share keys and values in groups; as many groups as heads is plain multi-head attention.
    Grouped {
        /// Query heads.
        heads: u32,
        /// Key and value heads.
        kv_heads: u32,
        /// Dimension of a head.
        head_dim: u32,
        /// Layers that look back no further than a window.
        window: Option<SlidingWindow>,
    },
    /// Multi-head latent attention (`DeepSeek`): keys and values are kept as one compressed vector.
    Latent {
        /// Heads.
        heads: u32,
        /// Rank of the queries' projection.
        query_rank: u32,
        /// Rank of the compressed keys and values.
        kv_rank: u32,
        /// Dimension of the rotary part.
        rope_dim: u32,
        /// Dimension of the other part of queries and keys.
        nope_dim: u32,
        /// Dimension of values.
        value_dim: u32,
    },
}

/// Layers with a sliding window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlidingWindow {
    /// Tokens that such a layer looks back.
    pub tokens: u32,
    /// How many layers do.
    pub layers: u32,
}

/// A mixture of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Experts {
    /// Experts of a layer.
    pub count: u32,
    /// How many of them a token goes through.
    pub per_token: u32,
    /// Experts that every token goes through beside those.
    pub shared: u32,
    /// Hidden size of one.
    pub hidden: u32,
    /// Layers that have a plain MLP instead.
    pub dense_layers: u32,
    /// Biases of one, parameters.
    pub biases: u32,
}

impl Experts {
    /// Experts of one layer that `tokens` tokens touch, in expectation, if each picks its own independently and evenly.
    pub fn touched(&self, tokens: f64) -> f64 {
        let (count, picks) = (f64::from(self.count), f64::from(self.per_token));
        count * (1.0 - libm::pow(1.0 - picks / count, tokens))
    }
}

impl Attention {
    /// Heads of queries.
    pub fn heads(&self) -> u32 {
        match *self {
            Self::Grouped { heads, .. } | Self::Latent { heads, .. } => heads,
        }
    }

    /// Parameters of a layer's projections.
    pub fn parameters(&self, hidden: u32) -> f64 {
        let h = f64::from(hidden);
        match *self {
            Self::Grouped { heads, kv_heads, head_dim, .. } => {
                2.0 * h * f64::from(head_dim) * (f64::from(heads) + f64::from(kv_heads))
            }
            Self::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim } => {
                let [n, q, c, r, k, v] =
                    [heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim].map(f64::from);
                h * q + q * n * (k + r) + h * (c + r) + c * n * (k + v) + n * v * h
            }
        }
    }

    /// Values that a layer keeps for a token.
    pub fn kv_values(&self) -> f64 {
        match *self {
            Self::Grouped { kv_heads, head_dim, .. } => 2.0 * f64::from(kv_heads) * f64::from(head_dim),
            Self::Latent { kv_rank, rope_dim, .. } => f64::from(kv_rank + rope_dim),
        }
    }

    /// Layers with a sliding window.
    pub fn window(&self) -> Option<SlidingWindow> {
        match *self {
            Self::Grouped { window, .. } => window,
            Self::Latent { .. } => None,
        }
    }
}

impl Model {
    /// The model whose id this is.
    pub fn named(id: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.id == id)
    }

    /// The dimensions that Vidur's planner counts; `None` for what it does not know: experts, latent attention.
    pub fn dense_shape(&self) -> Option<ModelShape> {
        match (self.experts, self.attention) {
            (None, Attention::Grouped { heads, kv_heads, .. }) => Some(ModelShape {
                layers: self.layers,
                hidden: self.hidden,
                query_heads: heads,
                kv_heads,
                mlp_hidden: self.mlp_hidden,
                gated_mlp: self.gated_mlp,
            }),
            _ => None,
        }
    }

    /// A dense model with these dimensions. What they do not contain is as in Llama: norms without biases, a head beside the
    /// embedding; its words are those of `like`, as it is itself where it has these dimensions.
    pub fn of_shape(shape: &ModelShape, like: &Self) -> Self {
        if like.dense_shape() == Some(*shape) {
            return *like;
        }
        let (heads, kv_heads, head_dim) = (shape.query_heads, shape.kv_heads, shape.head_dim());
        Self {
            id: "",
            name: "",
            layers: shape.layers,
            hidden: shape.hidden,
            attention: Attention::Grouped { heads, kv_heads, head_dim, window: None },
            mlp_hidden: shape.mlp_hidden,
            gated_mlp: shape.gated_mlp,
            experts: None,
            tied_embeddings: false,
            layer_extras: 2 * shape.hidden,
            extras: shape.hidden,
            sources: "",
            ..*like
        }
    }

    /// Layers with experts.
    pub fn expert_layers(&self) -> u32 {
        self.experts.map_or(0, |experts| self.layers - experts.dense_layers)
    }

    /// Matrices of an MLP or of an expert.
    pub fn mlp_matrices(&self) -> f64 {
        if self.gated_mlp { 3.0 } else { 2.0 }
    }

    /// Parameters of the MLP of a dense layer.
    pub fn mlp_parameters(&self) -> f64 {
        self.mlp_matrices() * f64::from(self.hidden) * f64::from(self.mlp_hidden)
    }

    /// Parameters of one expert, without its biases.
    pub fn expert_parameters(&self) -> f64 {
        self.experts.map_or(0.0, |e| self.mlp_matrices() * f64::from(self.hidden) * f64::from(e.hidden))
    }

    /// Parameters of the embedding, or of the head.
    pub fn vocabulary_parameters(&self) -> f64 {
        f64::from(self.vocabulary) * f64::from(self.hidden)
    }

    /// All parameters.
    pub fn parameters(&self) -> f64 {
        self.parameters_with(|experts| experts.count)
    }

    /// The parameters that one token goes through, embedding and head included.
    pub fn active_parameters(&self) -> f64 {
        self.parameters_with(|experts| experts.per_token)
    }

    fn parameters_with(&self, routed: fn(&Experts) -> u32) -> f64 {
        let layers = f64::from(self.layers);
        let dense = f64::from(self.layers - self.expert_layers());
        let tables = if self.tied_embeddings { 1.0 } else { 2.0 };
        let experts = self.experts.map_or(0.0, |e| {
            let routed = f64::from(routed(&e));
            let router = f64::from(e.count) * f64::from(self.hidden);
            (routed + f64::from(e.shared)) * self.expert_parameters() + routed * f64::from(e.biases) + router
        });
        layers * (self.attention.parameters(self.hidden) + f64::from(self.layer_extras))
            + dense * self.mlp_parameters()
            + f64::from(self.expert_layers()) * experts
            + tables * self.vocabulary_parameters()
            + f64::from(self.extras)
    }

    /// Values that all layers keep for a token while it is within every window.
    pub fn kv_values_per_token(&self) -> f64 {
        f64::from(self.layers) * self.attention.kv_values()
    }

    /// Inputs and outputs of the modules that an adapter changes: the projections of queries, keys, values and output; with
    /// latent attention, where queries, keys and values are compressed first, all five. (0, 0) stands for none.
    pub fn adapter_modules(&self) -> [(f64, f64); 5] {
        let h = f64::from(self.hidden);
        match self.attention {
            Attention::Grouped { heads, kv_heads, head_dim, .. } => {
                let [q, k] = [heads, kv_heads].map(|n| f64::from(n) * f64::from(head_dim));
                [(h, q), (h, k), (h, k), (q, h), (0.0, 0.0)]
            }
            Attention::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim } => {
                let [n, q, c, r, k, v] =
                    [heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim].map(f64::from);
                [(h, q), (q, n * (k + r)), (h, c + r), (c, n * (k + v)), (n * v, h)]
            }
        }
    }

    /// Parameters of one adapter for each unit of its rank: of each module a row of inputs and a column of outputs.
    pub fn adapter_parameters_per_rank(&self) -> f64 {
        let layer: f64 = self.adapter_modules().iter().map(|(inputs, outputs)| inputs + outputs).sum();
        f64::from(self.layers) * layer
    }
}

/// The id of a model that is in no catalogue: its dimensions are given one by one.
pub const OWN: &str = "own";

/// The ids, in the order of [`MODELS`].
pub const MODEL_IDS: [&str; MODELS.len()] = {
    let mut ids = [""; MODELS.len()];
    let mut i = 0;
    while i < ids.len() {
        ids[i] = MODELS[i].id;
        i += 1;
    }
    ids
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_of_the_published_names() {
        let billions = |id: &str| {
            let model = Model::named(id).unwrap();
            (model.parameters() / 1e9, model.active_parameters() / 1e9)
        };
        for (id, all, active) in [
            ("llama-2-7b", 6.738, 6.738),
            ("llama-3.1-8b", 8.030, 8.030),
            ("qwen2.5-3b", 3.086, 3.086),
            ("mixtral-8x7b", 46.703, 12.880),
            ("gpt-oss-20b", 20.915, 4.187),
            ("deepseek-v3", 671.026, 37.552),
            ("phi-2", 2.780, 2.780),
            ("bloom-176b", 176.247, 176.247),
        ] {
            let (found, found_active) = billions(id);
            assert!((found - all).abs() < 1e-3 && (found_active - active).abs() < 1e-3, "{id}: {found}");
        }
    }

    #[test]
    fn few_tokens_touch_few_experts_and_many_touch_all() {
        let experts = Model::named("mixtral-8x7b").unwrap().experts.unwrap();
        assert!((experts.touched(1.0) - 2.0).abs() < 1e-12);
        assert!((experts.touched(2.0) - 3.5).abs() < 1e-12);
        assert!(experts.touched(1e4) > 7.999);
    }

    /// An adapter of rank 16 of Llama-7B on these four projections has 16.8 million parameters, as peft counts them.
    #[test]
    fn adapters_have_the_parameters_that_peft_counts() {
        let model = Model::named("llama-2-7b").unwrap();
        assert_eq!(16.0 * model.adapter_parameters_per_rank(), 16_777_216.0);
    }

    #[test]
    fn every_model_has_a_known_source_and_its_own_id() {
        for model in MODELS {
            assert_eq!(Model::named(model.id), Some(&model));
            assert!(model.sources.split(' ').all(|key| crate::gpus::source(key).is_some()), "{}", model.id);
        }
    }
}
