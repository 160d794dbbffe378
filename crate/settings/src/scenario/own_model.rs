//! A model of one's own: the dimensions that the parameters give, and what does not fit together in them.

use std::borrow::Cow;

use servescope_cost::models::{Attention, Experts, Model, OWN, SlidingWindow};

use super::Scenario;
use crate::diagnostic::Diagnostic;
use crate::parameters::Id;

impl Scenario {
    /// Whether the model's dimensions are given one by one.
    pub fn has_own_model(&self) -> bool {
        self.choice(Id::FleetModel) == OWN
    }

    /// The model of the dimensions given. What they do not contain is as in Llama: two norms a layer without biases, and one
    /// before the head. Where they contradict each other ([`Scenario::own_model_problems`]), the nearest model that there can be.
    pub(super) fn own_model(&self) -> Model {
        let [layers, hidden, heads] =
            [Id::ModelLayers, Id::ModelHidden, Id::ModelHeads].map(|id| self.whole(id));
        let window = (self.whole(Id::ModelWindow) > 0)
            .then(|| SlidingWindow {
                tokens: self.whole(Id::ModelWindow),
                layers: self.whole(Id::ModelWindowLayers).min(layers),
            })
            .filter(|window| window.layers > 0);
        let count = self.whole(Id::ModelExperts);
        let experts = (count > 0).then(|| Experts {
            count,
            per_token: self.whole(Id::ModelExpertsPerToken).min(count),
            shared: self.whole(Id::ModelSharedExperts),
            hidden: self.whole(Id::ModelExpertSize),
            dense_layers: self.whole(Id::ModelDenseLayers).min(layers - 1),
            biases: 0,
        });
        let has_mlp = experts.is_none_or(|experts| experts.dense_layers > 0);
        Model {
            id: OWN,
            name: OWN,
            layers,
            hidden,
            attention: Attention::Grouped {
                heads,
                kv_heads: self.whole(Id::ModelKvHeads).min(heads),
                head_dim: self.whole(Id::ModelHeadDim),
                window,
            },
            mlp_hidden: if has_mlp { self.whole(Id::ModelMlp) } else { 0 },
            gated_mlp: self.flag(Id::ModelGated),
            experts,
            vocabulary: self.whole(Id::ModelVocabulary),
            tied_embeddings: self.flag(Id::ModelTied),
            layer_extras: 2 * hidden,
            extras: hidden,
            context: self.whole(Id::ModelContext),
            sources: "",
        }
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
        for (id, min, max) in [
            (Id::ModelExpertsPerToken, 1.0, self.number(Id::ModelExperts)),
            (Id::ModelDenseLayers, 0.0, layers - 1.0),
            (Id::ModelWindowLayers, 0.0, layers),
        ] {
            let value = self.number(id);
            if self.is_active(id) && value > max {
                problems.push(Diagnostic::out_of_range(id.row().id, value, min, max));
            }
        }
        problems
    }
}
