//! A model of one's own from a `config.json` of Hugging Face: which of its fields give the dimensions of `model.*`.
//!
//! Field names and their defaults are those of the configuration classes of `transformers`. What the file contains beside the
//! dimensions, such as norms, positions and biases, is left out: it is under one percent of a model's parameters. Layers of
//! another kind than attention and MLP are rejected.

mod family;
mod fields;

use crate::diagnostic::Diagnostic;
use crate::file_kind::{self, FileKind};
use crate::json_text;
use crate::parameters::choices::{self, CostKind};
use crate::parameters::{Id, Value};
use crate::repeated_keys::repeated_keys;
use crate::scenario::Scenario;
use family::{ModelFamily, Windows};
use fields::Fields;

/// Longest text that is read, bytes; a `config.json` has some thousands.
pub const MOST_BYTES: usize = 1 << 20;

/// What a `config.json` contains about its model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// Parameters and their values.
    pub settings: Vec<(Id, Value)>,
    /// What was assumed or left out.
    pub notes: Vec<Diagnostic>,
}

impl ModelConfig {
    /// Reads a file of that name.
    ///
    /// # Errors
    /// Every [`Diagnostic`] found, with the field, the bound and the value: no JSON, a field that is missing or absurd, layers
    /// that a model's parameters cannot describe.
    pub fn read(name: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        if text.len() > MOST_BYTES {
            let message = format!("{name}: {} bytes; a config.json has at most {MOST_BYTES}", text.len());
            let error = Diagnostic::error("config_too_long", name, message).text("file", name);
            return Err(vec![error.number("value", text.len() as f64).number("max", MOST_BYTES as f64)]);
        }
        let json = json_text::parse(text).map_err(|error| vec![error.in_file(name)])?;
        if let Some(other) = file_kind::of_value(&json).filter(|found| found.kind != FileKind::ModelConfig) {
            let refusal = other.instead_of("config.json of a model", name);
            return Err(vec![Diagnostic { message: format!("{name}: {}", refusal.message), ..refusal }]);
        }
        let repeated = repeated_keys(text);
        if !repeated.is_empty() {
            return Err(repeated);
        }
        let mut fields = Fields::of(name, &json).map_err(|error| vec![error])?;
        let mut config = Self { settings: Vec::new(), notes: Vec::new() };
        if let Err(error) = fields.refuse() {
            return Err(vec![error]);
        }
        config.read_all(&mut fields);
        if !fields.errors.is_empty() {
            return Err(fields.errors);
        }
        config.notes.extend(fields.ignored());
        Ok(config)
    }

    /// Gives the model to a scenario, and an iteration-time model that knows it where the scenario has none. What should be
    /// known about it is [`Self::notes`] and what this returns.
    ///
    /// # Errors
    /// [`Diagnostic`] where the dimensions contradict each other.
    pub fn apply(&self, scenario: &mut Scenario) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let mut with = scenario.clone();
        for (id, value) in &self.settings {
            with.set(*id, value.clone()).map_err(|error| vec![error])?;
        }
        let mut notes = self.notes.clone();
        if !matches!(with.cost_kind(), CostKind::Roofline | CostKind::Kernels) {
            let was = with.cost_kind().name();
            let message = format!("cost.kind: roofline in place of {was}, which does not know the model");
            notes.push(Diagnostic::note("config_cost", Id::CostKind.row().id, message).text("value", was));
            with.set(Id::CostKind, CostKind::ID.value(CostKind::Roofline)).map_err(|error| vec![error])?;
        }
        let problems = with.own_model_problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        *scenario = with;
        Ok(notes)
    }

    fn set(&mut self, id: Id, value: f64) {
        self.settings.push((id, Value::Number(value)));
    }

    fn read_all(&mut self, fields: &mut Fields<'_>) {
        let family = ModelFamily::named(&fields.model_type());
        if family.is_none() {
            self.notes.push(fields.unknown_type());
        }
        let family = family.unwrap_or(ModelFamily::LLAMA);
        self.settings.push((Id::FleetModel, Value::Choice(servescope_cost::models::OWN)));
        let layers =
            fields.needed(&["num_hidden_layers", "n_layer", "num_layers", "n_layers"], Id::ModelLayers);
        let hidden = fields.needed(&["hidden_size", "n_embd", "n_embed", "d_model"], Id::ModelHidden);
        self.set(Id::ModelLayers, layers);
        self.set(Id::ModelHidden, hidden);
        self.attention(fields, hidden);
        self.windows(fields, family, layers);
        let vocabulary = fields.needed(&["vocab_size", "padded_vocab_size"], Id::ModelVocabulary);
        self.set(Id::ModelVocabulary, vocabulary);
        self.layers(fields, family, layers, hidden);
        let names = ["max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"];
        match fields.number(&names, Id::ModelContext) {
            Some(context) => self.set(Id::ModelContext, context),
            None => {
                self.notes.push(fields.assumed(names[0], &Id::ModelContext.row().default_value().to_text()));
            }
        }
        let tied = fields.flag("tie_word_embeddings");
        if tied.is_none() {
            self.notes.push(fields.assumed("tie_word_embeddings", &family.tied.to_string()));
        }
        self.settings.push((Id::ModelGated, Value::Flag(family.gated)));
        self.settings.push((Id::ModelTied, Value::Flag(tied.unwrap_or(family.tied))));
        self.weights(fields);
    }

    fn attention(&mut self, fields: &mut Fields<'_>, hidden: f64) {
        let heads = fields.needed(&["num_attention_heads", "n_head", "n_heads"], Id::ModelHeads);
        self.set(Id::ModelHeads, heads);
        let names = ["num_key_value_heads", "num_kv_heads", "multi_query_group_num"];
        let is_multi_query =
            fields.flag("multi_query") == Some(true) && fields.flag("new_decoder_architecture") != Some(true);
        let kv_heads = if is_multi_query { Some(1.0) } else { fields.number(&names, Id::ModelKvHeads) };
        if kv_heads.is_none() {
            self.notes.push(fields.assumed(names[0], &heads.to_string()));
        }
        self.set(Id::ModelKvHeads, kv_heads.unwrap_or(heads));
        let dim = fields.number(&["head_dim"], Id::ModelHeadDim).unwrap_or_else(|| {
            let dim = hidden / heads.max(1.0);
            if fields.errors.is_empty() {
                fields.in_bounds("hidden_size over num_attention_heads", dim, Id::ModelHeadDim);
            }
            dim
        });
        self.set(Id::ModelHeadDim, dim);
    }

    fn windows(&mut self, fields: &mut Fields<'_>, family: ModelFamily, layers: f64) {
        let given = fields.number(&["sliding_window"], Id::ModelWindow);
        let is_used = fields.flag("use_sliding_window").unwrap_or(family.windows != Windows::Off);
        let kinds = fields.layers_of("layer_types", "sliding_attention", layers);
        let short = match (kinds, family.windows) {
            (Some(count), _) => count,
            (None, Windows::Off) => {
                layers - fields.number(&["max_window_layers"], Id::ModelWindowLayers).unwrap_or(0.0)
            }
            (None, Windows::All) => layers,
            (None, Windows::Every(usual)) => {
                let pattern = ["sliding_window_pattern", "_sliding_window_pattern"];
                let every = fields.number(&pattern, Id::ModelWindowLayers).unwrap_or(usual).max(1.0);
                layers - (layers / every).floor()
            }
        };
        let window = given.filter(|_| is_used && short > 0.0).unwrap_or(0.0);
        self.set(Id::ModelWindow, window);
        if window > 0.0 {
            self.set(Id::ModelWindowLayers, short.min(layers));
        }
    }

    /// MLPs and experts.
    fn layers(&mut self, fields: &mut Fields<'_>, family: ModelFamily, layers: f64, hidden: f64) {
        let mlp_names = ["intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"];
        let names = ["num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"];
        let experts = fields.number(&names, Id::ModelExperts).unwrap_or(0.0);
        self.set(Id::ModelExperts, experts);
        let mut dense = layers;
        if experts > 0.0 {
            // Of a mixture without dense layers it says nothing.
            fields.skip(&mlp_names);
            dense = fields.dense_layers(layers);
            let picks =
                ["num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "moe_k"];
            let per_token = fields.needed(&picks, Id::ModelExpertsPerToken);
            let size = fields.number(&["moe_intermediate_size"], Id::ModelExpertSize);
            let size = size.unwrap_or_else(|| fields.needed(&mlp_names, Id::ModelExpertSize));
            self.set(Id::ModelExpertsPerToken, per_token);
            self.set(Id::ModelExpertSize, size);
            let shared = fields.number(&["n_shared_experts", "num_shared_experts"], Id::ModelSharedExperts);
            let shared = shared.unwrap_or_else(|| {
                let together = fields.number(&["shared_expert_intermediate_size"], Id::ModelExpertSize);
                (together.unwrap_or(0.0) / size).ceil()
            });
            self.set(Id::ModelSharedExperts, shared);
            self.set(Id::ModelDenseLayers, dense);
        }
        if dense > 0.0 {
            let usual = 4.0 * hidden;
            let size = if family.gated {
                fields.needed(&mlp_names, Id::ModelMlp)
            } else {
                fields.number(&mlp_names, Id::ModelMlp).unwrap_or_else(|| {
                    self.notes.push(fields.assumed(mlp_names[0], &usual.to_string()));
                    usual
                })
            };
            self.set(Id::ModelMlp, size);
        }
    }

    fn weights(&mut self, fields: &mut Fields<'_>) {
        match fields.weights() {
            Some(Ok(format)) => self.settings.push((Id::Weights, choices::WEIGHTS.value(format))),
            Some(Err(method)) => self.notes.push(fields.unknown_weights(&method)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;
