//! A model of one's own from a `config.json` of Hugging Face: which of its fields give the dimensions of `model.*`.
//!
//! Field names and their defaults are those of the configuration classes of `transformers`. What the file contains beside the
//! dimensions, such as norms, positions and biases, is left out: it is under one percent of a model's parameters. Layers of
//! another kind than attention and MLP are rejected.

pub mod adapter;
mod family;
mod fields;
mod formats;
mod layers;

use serde_json::Value as Json;
use servescope_cost::deployment::WeightFormat;
use servescope_cost::models::{MODELS, Model, OWN};

use crate::diagnostic::Diagnostic;
use crate::file_kind::{self, FileKind};
use crate::json_text;
use crate::parameters::choices::{self, CostKind, ModelStateKind, ModelWindowKind};
use crate::parameters::{Id, Value};
use crate::repeated_keys::repeated_keys;
use crate::scenario::Scenario;
use family::ModelFamily;
use fields::Fields;
use layers::{Feed, Layer, Mixer};

/// How files name the experts of a layer.
const EXPERTS: [&str; 4] = ["num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"];
/// How files name the longest context.
const CONTEXT: [&str; 5] = ["max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"];
/// Fields of layers that only draft tokens.
const DRAFTING: [&str; 6] = [
    "num_nextn_predict_layers",
    "num_mtp_modules",
    "mtp_num_hidden_layers",
    "mtp_use_dedicated_embeddings",
    "mtp_transformer_layers",
    "use_mtp",
];

/// Longest text that is read, bytes; a `config.json` has some thousands, one that lists the
/// format of every module some millions.
pub const MOST_BYTES: usize = 8 << 20;

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
        Self::read_beside(name, text, None)
    }

    /// Reads a file of that name, and the `hf_quant_config.json` beside it, where there is one: older checkpoints of NVIDIA have
    /// the format of their weights there.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_beside(name: &str, text: &str, quantization: Option<&str>) -> Result<Self, Vec<Diagnostic>> {
        let beside = quantization.map(json_text::parse).transpose();
        let beside = beside.map_err(|error| vec![error.in_file("hf_quant_config.json")])?;
        if text.len() > MOST_BYTES {
            let message = format!("{name}: {} bytes; a config.json has at most {MOST_BYTES}", text.len());
            let error = Diagnostic::error("config_too_long", name, message).text("file", name);
            return Err(vec![error.number("value", text.len() as f64).number("max", MOST_BYTES as f64)]);
        }
        let json = json_text::parse(text).map_err(|error| vec![error.in_file(name)])?;
        if let Some(other) = file_kind::of_value(&json).filter(|found| found.kind != FileKind::ModelConfig) {
            let refusal = other.instead_of("config.json of a model", name, text);
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
        config.read_all(&mut fields, beside.as_ref());
        if !fields.errors.is_empty() {
            return Err(fields.errors);
        }
        config.notes.extend(fields.ignored());
        config.recognise(name);
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

    fn read_all(&mut self, fields: &mut Fields<'_>, beside: Option<&Json>) {
        let family = ModelFamily::named(&fields.model_type());
        if family.is_none() {
            self.notes.push(fields.unknown_type());
        }
        let family = family.unwrap_or(ModelFamily::LLAMA);
        self.settings.push((Id::FleetModel, Value::Choice(OWN)));
        let listed = ["layers_block_type", "layer_types"].into_iter().find_map(|name| fields.list(name));
        let names = ["num_hidden_layers", "n_layer", "num_layers", "n_layers"];
        let count = match (fields.bounded(&names, Id::ModelLayers), listed) {
            (None, Some(list)) => list.len() as f64,
            (Some(count), _) => count,
            (None, None) => fields.needed(&names, Id::ModelLayers),
        };
        let hidden = fields.needed(&["hidden_size", "n_embd", "n_embed", "d_model", "dim"], Id::ModelHidden);
        self.set(Id::ModelHidden, hidden);
        let experts = fields.bounded(&EXPERTS, Id::ModelExperts).unwrap_or(0.0);
        let experts = if fields.flag("enable_moe_block") == Some(false) { 0.0 } else { experts };
        let searched = layers::searched(fields, hidden);
        let most = count.clamp(1.0, 1e3) as usize;
        let layers = match &searched {
            Some(searched) => Some(searched.layers.clone()),
            None => layers::layers(fields, family, most, experts > 0.0),
        };
        let Some(layers) = layers else { return };
        self.set(Id::ModelLayers, layers.len() as f64);
        self.mixers(fields, family, &layers, hidden, searched.as_ref().map(|searched| searched.group));
        let names = ["vocab_size", "padded_vocab_size"];
        let vocabulary = match fields.bounded(&names, Id::ModelVocabulary) {
            Some(rows) => rows,
            None if family.vocabulary > 0.0 => {
                self.notes.push(fields.assumed(names[0], &family.vocabulary.to_string()));
                family.vocabulary
            }
            None => fields.needed(&names, Id::ModelVocabulary),
        };
        self.set(Id::ModelVocabulary, vocabulary);
        self.feeds(fields, family, &layers, hidden, (experts, searched.map(|searched| searched.width)));
        match fields.bounded(&CONTEXT, Id::ModelContext) {
            Some(context) => self.set(Id::ModelContext, context),
            None => {
                self.notes
                    .push(fields.assumed(CONTEXT[0], &Id::ModelContext.row().default_value().to_text()));
            }
        }
        let tied = fields.flag("tie_word_embeddings");
        if tied.is_none() {
            self.notes.push(fields.assumed("tie_word_embeddings", &family.tied.to_string()));
        }
        self.per_layer_embeddings(fields, vocabulary, layers.len() as f64, hidden);
        self.settings.push((Id::ModelGated, Value::Flag(family.gated)));
        self.settings.push((Id::ModelTied, Value::Flag(tied.unwrap_or(family.tied))));
        self.weights(fields, beside, &layers);
    }

    /// Embeddings that every layer has of its own (Gemma 3n and 4), with the projections to and from them.
    fn per_layer_embeddings(&mut self, fields: &mut Fields<'_>, vocabulary: f64, layers: f64, hidden: f64) {
        let width = fields.amount(&["hidden_size_per_layer_input"]);
        let rows = fields.amount(&["vocab_size_per_layer_input"]).unwrap_or(vocabulary);
        if let Some(width) = width {
            self.set(Id::ModelExtra, layers * width * (rows + 3.0 * hidden));
        }
    }

    /// Layers that mix tokens.
    fn mixers(
        &mut self,
        fields: &mut Fields<'_>,
        family: ModelFamily,
        layers: &[Layer],
        hidden: f64,
        group: Option<f64>,
    ) {
        let of = |mixer: Mixer| layers::count(layers, |layer| layer.mixer == mixer);
        self.set(Id::ModelMlpOnly, of(Mixer::Nothing));
        let states = of(Mixer::State);
        self.set(Id::ModelStateLayers, states);
        if states > 0.0 {
            self.state(fields, family);
        }
        let heads = fields.needed(&["num_attention_heads", "n_head", "n_heads"], Id::ModelHeads);
        self.set(Id::ModelHeads, heads);
        if fields.amount(&["kv_lora_rank"]).is_some() {
            self.latent(fields);
            return;
        }
        self.grouped(fields, family, hidden, heads, group);
        let (sliding, chunked) = (of(Mixer::Sliding), of(Mixer::Chunked));
        let names: &[&'static str] = if chunked > 0.0 {
            &["attention_chunk_size"]
        } else {
            &["sliding_window", "sliding_window_size", "attention_window_size"]
        };
        let short = sliding.max(chunked);
        // A window as long as the longest context cuts nothing off.
        let context = fields.amount(&CONTEXT).unwrap_or(f64::INFINITY);
        let window = fields.bounded(names, Id::ModelWindow);
        let window = window.filter(|window| short > 0.0 && *window < context).unwrap_or(0.0);
        fields.skip(&["sliding_window_size", "attention_chunk_size"]);
        self.set(Id::ModelWindow, window);
        if window > 0.0 {
            self.set(Id::ModelWindowLayers, short);
            let kind = if chunked > 0.0 { ModelWindowKind::Chunked } else { ModelWindowKind::Sliding };
            self.settings.push((Id::ModelWindowKind, ModelWindowKind::ID.value(kind)));
        }
        if let Some(last) = fields.amount(&["num_kv_shared_layers"]) {
            let [full, windowed] = layers::sharing(layers, last);
            self.set(Id::ModelSharedKv, full);
            if window > 0.0 {
                self.set(Id::ModelWindowSharedKv, windowed);
            }
        }
    }

    /// Attention with keys and values of each head. Where layers with a window have heads of their own, a file names either
    /// theirs (`swa_…`) or those of the others (`global_…`).
    fn grouped(
        &mut self,
        fields: &mut Fields<'_>,
        family: ModelFamily,
        hidden: f64,
        heads: f64,
        group: Option<f64>,
    ) {
        let names = ["num_key_value_heads", "num_kv_heads", "multi_query_group_num", "num_attention_groups"];
        let is_multi_query =
            fields.flag("multi_query") == Some(true) && fields.flag("new_decoder_architecture") != Some(true);
        let given = match group {
            Some(group) => Some((heads / group.max(1.0)).max(1.0)),
            None if is_multi_query => Some(1.0),
            None => fields.bounded(&names, Id::ModelKvHeads),
        };
        if given.is_none() {
            self.notes.push(fields.assumed(names[0], &heads.to_string()));
        }
        let kv_heads = given.unwrap_or(heads);
        let dim = fields.bounded(&["head_dim", "attention_head_dim"], Id::ModelHeadDim);
        let dim = dim.unwrap_or_else(|| {
            let dim = hidden / heads.max(1.0);
            if fields.errors.is_empty() {
                fields.in_bounds("hidden_size over num_attention_heads", dim, Id::ModelHeadDim);
            }
            dim
        });
        // Keys and values of two sizes are kept and computed as if both had their mean.
        let mean = |values: Option<f64>, keys: f64| values.map_or(keys, |values| f64::midpoint(values, keys));
        let dim = mean(fields.bounded(&["v_head_dim"], Id::ModelHeadDim), dim);
        let global = fields.bounded(&["global_head_dim"], Id::ModelHeadDim);
        let global_heads = fields.bounded(&["num_global_key_value_heads"], Id::ModelKvHeads);
        let windowed = fields.bounded(&["swa_head_dim"], Id::ModelHeadDim);
        let windowed = windowed.map(|keys| mean(fields.bounded(&["swa_v_head_dim"], Id::ModelHeadDim), keys));
        let windowed_heads = fields.bounded(&["swa_num_key_value_heads"], Id::ModelKvHeads);
        fields.skip(&["swa_num_attention_heads"]);
        self.set(Id::ModelKvHeads, global_heads.unwrap_or(kv_heads));
        self.set(Id::ModelHeadDim, global.unwrap_or(dim));
        if let Some(heads) = windowed_heads.or(global_heads.map(|_| kv_heads)) {
            self.set(Id::ModelWindowKvHeads, heads);
        }
        if let Some(dim) = windowed.or(global.map(|_| dim)) {
            self.set(Id::ModelWindowHeadDim, dim);
        }
        let gate = fields.flag("attn_output_gate").or_else(|| fields.flag("attention_output_gate"));
        self.settings.push((Id::ModelGate, Value::Flag(gate.unwrap_or(family.gated_attention))));
    }

    fn latent(&mut self, fields: &mut Fields<'_>) {
        self.settings
            .push((Id::ModelAttention, choices::ModelAttention::ID.value(choices::ModelAttention::Latent)));
        let query = fields.bounded(&["q_lora_rank"], Id::ModelQueryRank).unwrap_or(0.0);
        self.set(Id::ModelQueryRank, query);
        for (name, id) in [
            ("kv_lora_rank", Id::ModelKvRank),
            ("qk_rope_head_dim", Id::ModelRopeDim),
            ("qk_nope_head_dim", Id::ModelNopeDim),
            ("v_head_dim", Id::ModelValueDim),
        ] {
            let value = fields.needed(&[name], id);
            self.set(id, value);
        }
        fields.skip(&["num_key_value_heads", "head_dim", "qk_head_dim"]);
        let Some(heads) = fields.bounded(&["index_n_heads"], Id::ModelIndexHeads) else { return };
        self.set(Id::ModelIndexHeads, heads);
        for (name, id) in [("index_head_dim", Id::ModelIndexDim), ("index_topk", Id::ModelIndexTop)] {
            let value = fields.needed(&[name], id);
            self.set(id, value);
        }
        if let Some(kinds) = fields.list("indexer_types") {
            self.set(Id::ModelIndexLayers, kinds.iter().filter(|kind| *kind == "full").count() as f64);
        }
    }

    /// Layers with a state, by the names of linear attention, of Mamba-2 and of Kimi's.
    fn state(&mut self, fields: &mut Fields<'_>, family: ModelFamily) {
        let is_delta = fields.amount(&["linear_num_value_heads"]).is_some();
        let inner = fields.object("linear_attn_config");
        let kind =
            if is_delta || inner.is_some() { ModelStateKind::GatedDelta } else { ModelStateKind::Mamba2 };
        self.settings.push((Id::ModelStateKind, ModelStateKind::ID.value(kind)));
        let of_inner = |name: &str| inner.and_then(|config| config.get(name)).and_then(Json::as_f64);
        for (names, id, own) in [
            (
                ["linear_num_value_heads", "mamba_num_heads", "mamba_n_heads"],
                Id::ModelStateHeads,
                "num_heads",
            ),
            (["linear_value_head_dim", "mamba_head_dim", "mamba_d_head"], Id::ModelStateHeadDim, "head_dim"),
            (["linear_num_key_heads", "n_groups", "mamba_n_groups"], Id::ModelStateKeyHeads, "num_heads"),
            (["linear_key_head_dim", "ssm_state_size", "mamba_d_state"], Id::ModelStateKeyDim, "head_dim"),
            (
                ["linear_conv_kernel_dim", "conv_kernel", "mamba_d_conv"],
                Id::ModelConvolution,
                "short_conv_kernel_size",
            ),
        ] {
            let value = of_inner(own).unwrap_or_else(|| fields.needed(&names, id));
            self.set(id, value);
        }
        let named =
            ["mamba_ssm_cache_dtype", "mamba_ssm_dtype"].into_iter().find_map(|name| fields.text(name));
        self.set(
            Id::ModelStateBytes,
            match named {
                Some("float32") => 4.0,
                Some(_) => 2.0,
                None => family.state_bytes,
            },
        );
    }

    /// MLPs and experts.
    fn feeds(
        &mut self,
        fields: &mut Fields<'_>,
        family: ModelFamily,
        layers: &[Layer],
        hidden: f64,
        (experts, searched): (f64, Option<f64>),
    ) {
        let mlp_names = [
            "dense_intermediate_size",
            "intermediate_size_mlp",
            "intermediate_size",
            "ffn_dim",
            "n_inner",
            "ffn_hidden_size",
        ];
        let of = |feed: Feed| layers::count(layers, |layer| layer.feed == feed);
        self.set(Id::ModelMixerOnly, of(Feed::Nothing));
        let with_experts = of(Feed::Experts);
        let experts = if with_experts > 0.0 { experts } else { 0.0 };
        self.set(Id::ModelExperts, experts);
        // A mixture without dense layers may give their size all the same, and what drafting layers have.
        fields.skip(&mlp_names);
        fields.skip(&DRAFTING);
        if experts > 0.0 {
            self.experts(fields, family, of(Feed::Dense));
        }
        if of(Feed::Dense) == 0.0 {
            return;
        }
        let usual = 4.0 * hidden;
        let size = match searched {
            Some(width) => width,
            None if family.gated => fields.needed(&mlp_names, Id::ModelMlp),
            None => fields.bounded(&mlp_names, Id::ModelMlp).unwrap_or_else(|| {
                self.notes.push(fields.assumed("intermediate_size", &usual.to_string()));
                usual
            }),
        };
        // Of the layers that read another's keys and values the MLP may be twice as wide: all are given the mean.
        let doubled = fields.flag("use_double_wide_mlp") == Some(true);
        let wide = if doubled { fields.amount(&["num_kv_shared_layers"]).unwrap_or(0.0) } else { 0.0 };
        self.set(Id::ModelMlp, (size * (1.0 + wide / layers.len().max(1) as f64)).round());
    }

    fn experts(&mut self, fields: &mut Fields<'_>, family: ModelFamily, dense: f64) {
        let picks = [
            "num_experts_per_tok",
            "num_experts_per_token",
            "experts_per_token",
            "top_k_experts",
            "moe_topk",
            "moe_top_k",
            "moe_k",
        ];
        let per_token = fields.needed(&picks, Id::ModelExpertsPerToken);
        let sizes = ["moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size"];
        let size = fields.bounded(&sizes, Id::ModelExpertSize);
        let size = size.unwrap_or_else(|| fields.needed(&sizes, Id::ModelExpertSize));
        self.set(Id::ModelExpertsPerToken, per_token);
        self.set(Id::ModelExpertSize, size);
        self.set(Id::ModelDenseLayers, dense);
        let latent = fields.bounded(&["moe_latent_size", "routed_expert_hidden_size"], Id::ModelExpertLatent);
        if let Some(width) = latent {
            self.set(Id::ModelExpertLatent, width);
        }
        let count = fields.bounded(&["n_shared_experts", "num_shared_experts"], Id::ModelSharedExperts);
        let together = fields.bounded(
            &[
                "shared_expert_intermediate_size",
                "moe_shared_expert_intermediate_size",
                "share_expert_dim",
                "shared_intermediate_size",
            ],
            Id::ModelSharedSize,
        );
        // Experts beside an MLP in the same layer: the MLP is an expert that all tokens go through.
        let beside = fields.flag("enable_moe_block") == Some(true);
        let mlp = beside.then(|| fields.needed(&["intermediate_size"], Id::ModelSharedSize));
        let usual = family.one_shared.then_some(size);
        let (count, of_one) = match (count, together.or(mlp).or(usual)) {
            (Some(count), Some(size)) => (count, size),
            (Some(count), None) => (count, size),
            (None, Some(size)) => (1.0, size),
            (None, None) => (0.0, 0.0),
        };
        self.set(Id::ModelSharedExperts, count);
        if count > 0.0 && of_one != size {
            self.set(Id::ModelSharedSize, of_one);
        }
    }

    fn weights(&mut self, fields: &mut Fields<'_>, beside: Option<&Json>, layers: &[Layer]) {
        if !fields.errors.is_empty() {
            return;
        }
        let is_beside = fields.flag("enable_moe_block") == Some(true);
        let (own, has_type) = fields.quantization();
        let Some(json) = own.or(beside.map(|json| json.get("quantization").unwrap_or(json))) else {
            if has_type {
                self.settings.push((Id::Weights, choices::WEIGHTS.value(WeightFormat::Bf16)));
            }
            return;
        };
        let Ok(model) = self.model() else { return };
        match formats::read(json, layers, &model, is_beside) {
            Ok(found) => {
                self.settings.push((Id::Weights, choices::WEIGHTS.value(found.weights)));
                if found.weights != WeightFormat::Bf16 {
                    self.set(Id::Unquantized, found.unquantized);
                    self.settings.push((Id::QuantizedHead, Value::Flag(found.has_head)));
                }
            }
            Err(method) => self.notes.push(fields.unknown_weights(&method)),
        }
    }

    /// The model of the settings so far.
    fn model(&self) -> Result<Model, Diagnostic> {
        let mut scenario = Scenario::default();
        scenario.set(Id::CostKind, CostKind::ID.value(CostKind::Roofline))?;
        for (id, value) in &self.settings {
            scenario.set(*id, value.clone())?;
        }
        Ok(scenario.deployment().model)
    }

    /// Takes the model of the catalogue that has these dimensions for it.
    fn recognise(&mut self, file: &str) {
        let Ok(own) = self.model() else { return };
        let Some(known) = MODELS.iter().find(|known| known.has_dimensions_of(&own)) else { return };
        self.settings.retain(|(id, _)| [Id::Weights, Id::Unquantized, Id::QuantizedHead].contains(id));
        self.settings.insert(0, (Id::FleetModel, Value::Choice(known.id)));
        let message = format!("fleet.model: {}, which has these dimensions", known.id);
        let note = Diagnostic::note("config_known", Id::FleetModel.row().id, message);
        self.notes.retain(|note| note.code != "config_assumed");
        self.notes.insert(0, note.text("file", file).text("model", known.name));
    }
}

#[cfg(test)]
mod tests;
