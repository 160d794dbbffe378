//! A model of one's own: the dimensions that the parameters give, and what does not fit together in them.

use std::borrow::Cow;

use servescope_cost::models::{
    Attention, Experts, Indexer, Model, OWN, RecurrentKind, RecurrentLayers, WindowKind, WindowLayers,
};

use super::Scenario;
use crate::diagnostic::Diagnostic;
use crate::parameters::Id;
use crate::parameters::choices::{ModelAttention, ModelStateKind, ModelWindowKind};

impl Scenario {
    /// Whether the model's dimensions are given one by one.
    pub fn has_own_model(&self) -> bool {
        self.choice(Id::FleetModel) == OWN
    }

    /// The model of the dimensions given. What they do not contain is as in Llama: two norms a layer without biases, and one
    /// before the head. Where they contradict each other ([`Scenario::own_model_problems`]), the nearest model that there can be.
    pub(super) fn own_model(&self) -> Model {
        let [layers, hidden] = [Id::ModelLayers, Id::ModelHidden].map(|id| self.whole(id));
        let attention = self.own_attention();
        let recurrent = self.own_recurrent(layers);
        let of_state = recurrent.map_or(0, |layers| layers.layers);
        // Some layer has attention.
        let layers_without_mixer = self.whole(Id::ModelMlpOnly).min(layers - of_state - 1);
        let attending = layers - of_state - layers_without_mixer;
        let window = self.own_window(&attention, attending);
        let full = attending - window.map_or(0, |window| window.layers);
        let layers_without_mlp = self.whole(Id::ModelMixerOnly).min(layers - layers_without_mixer);
        let experts = self.own_experts(layers - layers_without_mlp);
        let plain = experts.map_or(layers - layers_without_mlp, |experts| experts.dense_layers);
        Model {
            id: OWN,
            name: OWN,
            layers,
            hidden,
            attention,
            window,
            recurrent,
            layers_without_mixer,
            layers_without_mlp,
            shared_kv_layers: self.whole(Id::ModelSharedKv).min(full.saturating_sub(1)),
            mlp_hidden: if plain > 0 { self.whole(Id::ModelMlp) } else { 0 },
            gated_mlp: self.flag(Id::ModelGated),
            experts,
            checkpoint: None,
            unquantized: 0.0,
            vocabulary: self.whole(Id::ModelVocabulary),
            tied_embeddings: self.flag(Id::ModelTied),
            layer_extras: 2 * hidden,
            extras: hidden + self.whole(Id::ModelExtra),
            context: self.whole(Id::ModelContext),
            sources: "",
        }
    }

    fn own_attention(&self) -> Attention {
        let heads = self.whole(Id::ModelHeads);
        match self.chosen(ModelAttention::ID) {
            ModelAttention::Grouped => Attention::Grouped {
                heads,
                kv_heads: self.whole(Id::ModelKvHeads).min(heads),
                head_dim: self.whole(Id::ModelHeadDim),
                gated: self.flag(Id::ModelGate),
            },
            ModelAttention::Latent => Attention::Latent {
                heads,
                query_rank: self.whole(Id::ModelQueryRank),
                kv_rank: self.whole(Id::ModelKvRank),
                rope_dim: self.whole(Id::ModelRopeDim),
                nope_dim: self.whole(Id::ModelNopeDim),
                value_dim: self.whole(Id::ModelValueDim),
                indexer: (self.whole(Id::ModelIndexHeads) > 0).then(|| Indexer {
                    heads: self.whole(Id::ModelIndexHeads),
                    head_dim: self.whole(Id::ModelIndexDim),
                    top_tokens: self.whole(Id::ModelIndexTop),
                    layers: match self.whole(Id::ModelIndexLayers) {
                        0 => self.whole(Id::ModelLayers),
                        own => own.min(self.whole(Id::ModelLayers)),
                    },
                }),
            },
        }
    }

    /// Layers with a window, of `most` layers with attention.
    fn own_window(&self, attention: &Attention, most: u32) -> Option<WindowLayers> {
        let &Attention::Grouped { heads, kv_heads, head_dim, .. } = attention else { return None };
        let layers = self.whole(Id::ModelWindowLayers).min(most);
        let tokens = self.whole(Id::ModelWindow);
        let or = |id: Id, other: u32| match self.whole(id) {
            0 => other,
            own => own,
        };
        (tokens > 0 && layers > 0).then(|| WindowLayers {
            kind: match self.chosen(ModelWindowKind::ID) {
                ModelWindowKind::Sliding => WindowKind::Sliding,
                ModelWindowKind::Chunked => WindowKind::Chunked,
            },
            tokens,
            layers,
            shared_kv_layers: self.whole(Id::ModelWindowSharedKv).min(layers - 1),
            kv_heads: or(Id::ModelWindowKvHeads, kv_heads).min(heads),
            head_dim: or(Id::ModelWindowHeadDim, head_dim),
        })
    }

    /// Layers with a state, of `most` layers; the last one has attention.
    fn own_recurrent(&self, most: u32) -> Option<RecurrentLayers> {
        let layers = self.whole(Id::ModelStateLayers).min(most - 1);
        (layers > 0).then(|| RecurrentLayers {
            kind: match self.chosen(ModelStateKind::ID) {
                ModelStateKind::GatedDelta => RecurrentKind::GatedDelta,
                ModelStateKind::Mamba2 => RecurrentKind::Mamba2,
            },
            layers,
            heads: self.whole(Id::ModelStateHeads),
            head_dim: self.whole(Id::ModelStateHeadDim),
            key_heads: self.whole(Id::ModelStateKeyHeads),
            state: self.whole(Id::ModelStateKeyDim),
            convolution: self.whole(Id::ModelConvolution),
            state_bytes: self.whole(Id::ModelStateBytes),
        })
    }

    /// Experts, in `most` layers with an MLP.
    fn own_experts(&self, most: u32) -> Option<Experts> {
        let count = self.whole(Id::ModelExperts);
        let hidden = self.whole(Id::ModelExpertSize);
        let shared = self.whole(Id::ModelSharedExperts);
        let shared_hidden = match self.whole(Id::ModelSharedSize) {
            0 => hidden,
            own => own,
        };
        (count > 0 && most > 0).then(|| Experts {
            count,
            per_token: self.whole(Id::ModelExpertsPerToken).min(count),
            shared,
            shared_hidden: if shared > 0 { shared_hidden } else { 0 },
            hidden,
            latent: self.whole(Id::ModelExpertLatent),
            dense_layers: self.whole(Id::ModelDenseLayers).min(most - 1),
            biases: 0,
        })
    }

    /// The name of a model of one's own: it has none but its dimensions.
    pub(super) fn own_name(&self) -> Cow<'static, str> {
        format!("{OWN} ({} × {})", self.number(Id::ModelLayers), self.number(Id::ModelHidden)).into()
    }

    /// What does not fit together in the dimensions of a model of one's own, each at the parameter to change.
    pub(crate) fn own_model_problems(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        let [heads, kv_heads] = [Id::ModelHeads, Id::ModelKvHeads].map(|id| self.whole(id));
        if self.is_active(Id::ModelKvHeads) && heads % kv_heads != 0 {
            let path = Id::ModelKvHeads.row().id;
            let message = format!("{path}: {heads} heads of queries cannot share {kv_heads} KV heads evenly");
            let error = Diagnostic::error("kv_heads_not_shared", path, message);
            problems.push(error.number("value", kv_heads.into()).number("heads", heads.into()));
        }
        let layers = self.number(Id::ModelLayers);
        let mixing = layers - self.number(Id::ModelMlpOnly);
        let attending = mixing - self.number(Id::ModelStateLayers);
        for (id, min, max) in [
            (Id::ModelExpertsPerToken, 1.0, self.number(Id::ModelExperts)),
            (Id::ModelDenseLayers, 0.0, layers - self.number(Id::ModelMixerOnly) - 1.0),
            (Id::ModelWindowLayers, 0.0, attending),
            (Id::ModelWindowSharedKv, 0.0, self.number(Id::ModelWindowLayers) - 1.0),
            (Id::ModelSharedKv, 0.0, attending - 1.0),
            (Id::ModelStateLayers, 0.0, mixing - 1.0),
            (Id::ModelMlpOnly, 0.0, layers - 1.0),
            (Id::ModelMixerOnly, 0.0, mixing),
        ] {
            let value = self.number(id);
            if self.is_active(id) && value > max {
                problems.push(Diagnostic::out_of_range(id.row().id, value, min, max));
            }
        }
        problems
    }
}
