//! Models: the dimensions on which time and memory depend, and what follows from them.

mod table;

pub use table::MODELS;

use crate::formats::WeightFormat;
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
    /// Attention over the whole context, and of layers with a window that says nothing else.
    pub attention: Attention,
    /// Layers whose attention looks back no further than a window.
    pub window: Option<WindowLayers>,
    /// Layers that keep a state of a fixed size for each request, and no keys and values.
    pub recurrent: Option<RecurrentLayers>,
    /// Layers with an MLP alone.
    pub layers_without_mixer: u32,
    /// Layers with attention or a state alone.
    pub layers_without_mlp: u32,
    /// Layers with attention over the whole context that read the keys and values of an earlier layer, and keep none.
    pub shared_kv_layers: u32,
    /// Hidden size of the MLP of dense layers; 0 where all layers have experts.
    pub mlp_hidden: u32,
    /// Whether the MLP has a gate: three matrices in place of two.
    pub gated_mlp: bool,
    /// Experts, for a mixture of them.
    pub experts: Option<Experts>,
    /// The format in which its weights are published; `None`: 16 bits.
    pub checkpoint: Option<WeightFormat>,
    /// Share of the layers' matrices that stay at 16 bits where the weights are in a smaller format.
    pub unquantized: f64,
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
        /// Whether queries have a gate of their own size, which multiplies what attention gives (Qwen3-Next).
        gated: bool,
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
        /// The indexer that picks the tokens that are attended to, where there is one (DeepSeek Sparse Attention).
        indexer: Option<Indexer>,
    },
}

/// DeepSeek Sparse Attention: small heads score every token, and attention reads those that score best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexer {
    /// Its heads.
    pub heads: u32,
    /// Dimension of its one key.
    pub head_dim: u32,
    /// Tokens that attention reads.
    pub top_tokens: u32,
    /// Layers that have one of their own; the others attend to what an earlier one has picked.
    pub layers: u32,
}

impl Indexer {
    /// Bytes that a layer keeps for a token: an FP8 key, and a 32-bit scale for every 128 of its values
    /// (vllm/model_executor/models/deepseek_v2.py, `DeepseekV32IndexerCache`).
    pub fn kv_bytes(&self) -> f64 {
        f64::from(self.head_dim) + 4.0 * f64::from(self.head_dim.div_ceil(128))
    }

    fn parameters(&self, hidden: f64, query_rank: f64) -> f64 {
        let [n, dim] = [self.heads, self.head_dim].map(f64::from);
        query_rank * n * dim + hidden * dim + hidden * n
    }
}

/// How a layer's window moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowKind {
    /// The last tokens.
    Sliding,
    /// The tokens of the same chunk: windows that stand side by side (Llama 4).
    Chunked,
}

/// Layers whose attention looks back no further than a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowLayers {
    /// How it moves.
    pub kind: WindowKind,
    /// Tokens that such a layer looks back.
    pub tokens: u32,
    /// How many layers do.
    pub layers: u32,
    /// How many of these read the keys and values of an earlier layer, and keep none.
    pub shared_kv_layers: u32,
    /// Their key and value heads.
    pub kv_heads: u32,
    /// Dimension of their heads.
    pub head_dim: u32,
}

/// What a layer with a state of fixed size computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecurrentKind {
    /// Gated delta rule (Qwen3-Next): a matrix of keys by values for each head, projections of queries, keys, values and a gate.
    GatedDelta,
    /// Mamba-2: a matrix of head dimension by state size for each head, keys shared by groups of heads.
    Mamba2,
}

/// Layers with a state of fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecurrentLayers {
    /// What they compute.
    pub kind: RecurrentKind,
    /// How many there are.
    pub layers: u32,
    /// Heads of values.
    pub heads: u32,
    /// Dimension of one.
    pub head_dim: u32,
    /// Heads of keys, or groups that share them.
    pub key_heads: u32,
    /// Dimension of a key: the state's other side.
    pub state: u32,
    /// Tokens that the convolution before it spans.
    pub convolution: u32,
    /// Bytes of a value of the state.
    pub state_bytes: u32,
}

impl WindowLayers {
    /// Attention of such a layer, with the query heads of the others.
    pub fn attention(&self, others: &Attention) -> Attention {
        match *others {
            Attention::Grouped { heads, gated, .. } => {
                Attention::Grouped { heads, kv_heads: self.kv_heads, head_dim: self.head_dim, gated }
            }
            latent @ Attention::Latent { .. } => latent,
        }
    }
}

impl RecurrentLayers {
    /// Channels that the convolution runs over.
    pub fn channels(&self) -> f64 {
        f64::from(self.heads) * f64::from(self.head_dim)
            + 2.0 * f64::from(self.key_heads) * f64::from(self.state)
    }

    /// Outputs of the projection before the recurrence: the convolution's channels, a gate as wide as the values, and of each
    /// head one number (Mamba-2) or two.
    pub fn projected(&self) -> f64 {
        let numbers = match self.kind {
            RecurrentKind::GatedDelta => 2.0,
            RecurrentKind::Mamba2 => 1.0,
        };
        self.channels() + self.inner() + numbers * f64::from(self.heads)
    }

    /// Values of all heads.
    pub fn inner(&self) -> f64 {
        f64::from(self.heads) * f64::from(self.head_dim)
    }

    /// Parameters of a layer.
    pub fn parameters(&self, hidden: u32) -> f64 {
        let h = f64::from(hidden);
        h * self.projected() + self.inner() * h + self.channels() * f64::from(self.convolution)
    }

    /// Values of the recurrent state of a layer, for a request.
    pub fn state_values(&self) -> f64 {
        self.inner() * f64::from(self.state)
    }

    /// Values that the convolution keeps of the last tokens, at 16 bits.
    pub fn convolution_values(&self) -> f64 {
        self.channels() * f64::from(self.convolution.saturating_sub(1))
    }
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
    /// Hidden size of one of these.
    pub shared_hidden: u32,
    /// Hidden size of one of the others.
    pub hidden: u32,
    /// Width in which tokens go through them, where that is not the model's own (Nemotron-3's latent experts); 0: the model's.
    pub latent: u32,
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
            Self::Grouped { heads, kv_heads, head_dim, gated } => {
                let queries = f64::from(heads) * if gated { 1.5 } else { 1.0 };
                2.0 * h * f64::from(head_dim) * (queries + f64::from(kv_heads))
            }
            Self::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim, indexer } => {
                let [n, q, c, r, k, v] =
                    [heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim].map(f64::from);
                let queries = if query_rank > 0 { h * q + q * n * (k + r) } else { h * n * (k + r) };
                let index = indexer.map_or(0.0, |indexer| indexer.parameters(h, q));
                queries + h * (c + r) + c * n * (k + v) + n * v * h + index
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

    /// The same that reads every token.
    #[must_use]
    pub fn without_indexer(self) -> Self {
        match self {
            Self::Grouped { .. } => self,
            Self::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim, .. } => {
                Self::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim, indexer: None }
            }
        }
    }

    /// The indexer of sparse attention.
    pub fn indexer(&self) -> Option<Indexer> {
        match *self {
            Self::Grouped { .. } => None,
            Self::Latent { indexer, .. } => indexer,
        }
    }
}

impl Model {
    /// The model whose id this is.
    pub fn named(id: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.id == id)
    }

    /// The dimensions that Vidur's planner counts; `None` for what it does not know: experts, latent attention,
    /// layers with a fixed state or of one kind of operator alone.
    pub fn dense_shape(&self) -> Option<ModelShape> {
        if self.has_other_layers() {
            return None;
        }
        match (self.experts, self.attention) {
            (None, Attention::Grouped { heads, kv_heads, gated: false, .. }) => Some(ModelShape {
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
            attention: Attention::Grouped { heads, kv_heads, head_dim, gated: false },
            mlp_hidden: shape.mlp_hidden,
            gated_mlp: shape.gated_mlp,
            experts: None,
            checkpoint: None,
            unquantized: 0.0,
            tied_embeddings: false,
            layer_extras: 2 * shape.hidden,
            extras: shape.hidden,
            sources: "",
            ..*like
        }
    }

    /// Whether it has the dimensions of another, what the other does not contain aside: names, norms, biases, formats, context.
    pub fn has_dimensions_of(&self, other: &Self) -> bool {
        let experts = |model: &Self| model.experts.map(|experts| Experts { biases: 0, ..experts });
        let layers = |model: &Self| (model.layers, model.layers_without_mixer, model.layers_without_mlp);
        let shape = |model: &Self| (model.hidden, model.mlp_hidden, model.vocabulary, model.shared_kv_layers);
        layers(self) == layers(other)
            && shape(self) == shape(other)
            && (self.attention, self.window, self.recurrent)
                == (other.attention, other.window, other.recurrent)
            && (experts(self), self.gated_mlp, self.tied_embeddings)
                == (experts(other), other.gated_mlp, other.tied_embeddings)
    }

    /// Whether some layers are not attention and an MLP.
    pub fn has_other_layers(&self) -> bool {
        self.recurrent.is_some() || self.layers_without_mixer > 0 || self.layers_without_mlp > 0
    }

    /// Layers whose attention looks back no further than a window.
    pub fn window_layers(&self) -> u32 {
        self.window.map_or(0, |window| window.layers)
    }

    /// Layers with a state of fixed size.
    pub fn recurrent_layers(&self) -> u32 {
        self.recurrent.map_or(0, |recurrent| recurrent.layers)
    }

    /// Layers with attention over the whole context.
    pub fn full_layers(&self) -> u32 {
        self.layers - self.window_layers() - self.recurrent_layers() - self.layers_without_mixer
    }

    /// Layers with attention.
    pub fn attention_layers(&self) -> u32 {
        self.full_layers() + self.window_layers()
    }

    /// Layers with an MLP or experts.
    pub fn mlp_layers(&self) -> u32 {
        self.layers - self.layers_without_mlp
    }

    /// Layers with experts.
    pub fn expert_layers(&self) -> u32 {
        self.experts.map_or(0, |experts| self.mlp_layers() - experts.dense_layers)
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
        self.experts.map_or(0.0, |e| {
            let width = if e.latent > 0 { e.latent } else { self.hidden };
            self.mlp_matrices() * f64::from(width) * f64::from(e.hidden)
        })
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
        let tables = if self.tied_embeddings { 1.0 } else { 2.0 };
        let experts = self.experts.map_or(0.0, |e| {
            let routed = f64::from(routed(&e));
            routed * (self.expert_parameters() + f64::from(e.biases))
                + self.shared_expert_parameters()
                + f64::from(e.count) * f64::from(self.hidden)
                + 2.0 * f64::from(self.hidden) * f64::from(e.latent)
        });
        self.mixer_parameters()
            + f64::from(self.layers) * f64::from(self.layer_extras)
            + f64::from(self.mlp_layers() - self.expert_layers()) * self.mlp_parameters()
            + f64::from(self.expert_layers()) * experts
            + tables * self.vocabulary_parameters()
            + f64::from(self.extras)
    }

    /// Parameters of attention and of what stands in its place, of all layers.
    pub fn mixer_parameters(&self) -> f64 {
        let indexed = self.attention.indexer().map_or(0, |indexer| indexer.layers);
        let [with, without] =
            [self.attention, self.attention.without_indexer()].map(|kind| kind.parameters(self.hidden));
        let full = f64::from(self.full_layers()) * without + f64::from(indexed) * (with - without);
        let windowed = self.window.map_or(0.0, |window| {
            f64::from(window.layers) * window.attention(&self.attention).parameters(self.hidden)
        });
        let recurrent =
            self.recurrent.map_or(0.0, |layers| f64::from(layers.layers) * layers.parameters(self.hidden));
        full + windowed + recurrent
    }

    /// Parameters of the experts of a layer that every token goes through.
    pub fn shared_expert_parameters(&self) -> f64 {
        self.experts.map_or(0.0, |e| {
            f64::from(e.shared) * self.mlp_matrices() * f64::from(self.hidden) * f64::from(e.shared_hidden)
        })
    }

    /// Values that all layers keep for a token while it is within every window.
    pub fn kv_values_per_token(&self) -> f64 {
        let full = f64::from(self.full_layers() - self.shared_kv_layers) * self.attention.kv_values();
        full + self.window.map_or(0.0, |window| {
            let kept = window.layers - window.shared_kv_layers;
            f64::from(kept) * window.attention(&self.attention).kv_values()
        })
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
            Attention::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim, .. } => {
                let [n, q, c, r, k, v] =
                    [heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim].map(f64::from);
                [(h, q), (q, n * (k + r)), (h, c + r), (c, n * (k + v)), (n * v, h)]
            }
        }
    }

    /// Parameters of one adapter for each unit of its rank: of each module a row of inputs and a column of outputs.
    pub fn adapter_parameters_per_rank(&self) -> f64 {
        let layer: f64 = self.adapter_modules().iter().map(|(inputs, outputs)| inputs + outputs).sum();
        f64::from(self.attention_layers()) * layer
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
        for model in &MODELS {
            assert_eq!(Model::named(model.id), Some(model));
            assert!(model.sources.split(' ').all(|key| crate::gpus::source(key).is_some()), "{}", model.id);
        }
    }
}
