//! The fields of a `config.json`, read one by one, so that what is left over is known.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};
use servescope_cost::deployment::WeightFormat;

use crate::diagnostic::{Diagnostic, shown};
use crate::parameters::Id;

/// A constructor of [`Diagnostic`].
type Make = fn(&'static str, &str, String) -> Diagnostic;

/// Fields that say nothing of dimensions, whatever their value.
const WITHOUT_BEARING: &[&str] = &[
    "_name_or_path",
    "architectures",
    "auto_map",
    "transformers_version",
    "use_cache",
    "initializer_range",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "rope_local_base_freq",
    "hidden_act",
    "hidden_activation",
    "activation_function",
    "pretraining_tp",
    "torch_dtype",
    "dtype",
    "norm_topk_prob",
    "output_router_logits",
    "attention_bias",
    "mlp_bias",
    "partial_rotary_factor",
    "query_pre_attn_scalar",
    "is_decoder",
    "add_cross_attention",
    "is_encoder_decoder",
    "num_labels",
    "id2label",
    "label2id",
    "problem_type",
    "task_specific_params",
];
/// The same by the end of their names.
const ENDS_WITHOUT_BEARING: &[&str] = &[
    "_token_id",
    "_dropout",
    "_pdrop",
    "_eps",
    "_epsilon",
    "_coef",
    "_init",
    "_token_index",
    "_softcapping",
];

/// Fields of models whose layers are no attention and MLP of one size, or whose attention keeps another cache: with the code
/// of the rejection.
const REFUSED: &[(&str, &str)] = &[
    ("kv_lora_rank", "config_latent"),
    ("index_topk", "config_other_layers"),
    ("block_configs", "config_other_layers"),
    ("ssm_cfg", "config_other_layers"),
    ("state_size", "config_other_layers"),
    ("mamba_d_state", "config_other_layers"),
    ("attn_type_list", "config_other_layers"),
    ("linear_num_key_heads", "config_other_layers"),
    ("interleave_moe_layer_step", "config_other_layers"),
    ("layers_block_type", "config_other_layers"),
    ("hybrid_override_pattern", "config_other_layers"),
    ("ffn_config", "config_other_layers"),
    ("attn_config", "config_other_layers"),
    ("altup_num_inputs", "config_other_layers"),
    ("encoder_layers", "config_encoder"),
];
/// Models with an encoder alone.
const ENCODERS: &[&str] =
    &["bert", "roberta", "distilbert", "xlm-roberta", "deberta-v2", "electra", "modernbert", "vit", "clip"];

/// The fields of one model.
pub(super) struct Fields<'a> {
    file: &'a str,
    /// Of the model of language where the file has several.
    inner: &'a Map<String, Json>,
    outer: &'a Map<String, Json>,
    /// Name of the inner object and a dot; empty where there is one object only.
    prefix: &'static str,
    used: BTreeSet<&'static str>,
    pub(super) errors: Vec<Diagnostic>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(file: &'a str, json: &'a Json) -> Result<Self, Diagnostic> {
        let Json::Object(outer) = json else {
            let message = format!("{file}: no config.json of a model: an object of fields expected");
            return Err(Diagnostic::error("config_no_object", file, message).text("file", file));
        };
        let (inner, prefix) = match outer.get("text_config") {
            Some(Json::Object(inner)) => (inner, "text_config."),
            _ => (outer, ""),
        };
        let used = BTreeSet::from(["model_type", "text_config"]);
        Ok(Self { file, inner, outer, prefix, used, errors: Vec::new() })
    }

    /// A field's value; null is none.
    fn get(&mut self, name: &'static str) -> Option<&'a Json> {
        self.used.insert(name);
        self.inner.get(name).or_else(|| self.outer.get(name)).filter(|json| !json.is_null())
    }

    /// Takes fields for read that have no bearing beside the others.
    pub(super) fn skip(&mut self, names: &[&'static str]) {
        self.used.extend(names);
    }

    fn place(&self, name: &str) -> String {
        let prefix = if self.inner.contains_key(name) { self.prefix } else { "" };
        format!("{prefix}{name}")
    }

    fn of_field(&self, make: Make, code: &'static str, field: &str, why: &str) -> Diagnostic {
        let field = self.place(field);
        let message = format!("{}: {field}: {why}", self.file);
        make(code, self.file, message).text("file", self.file).text("field", &field)
    }

    fn error(&self, code: &'static str, field: &str, why: &str) -> Diagnostic {
        self.of_field(Diagnostic::error, code, field, why)
    }

    /// What the model is of; empty where the file does not say.
    pub(super) fn model_type(&self) -> String {
        let of = |fields: &Map<String, Json>| fields.get("model_type").and_then(Json::as_str).map(shown);
        of(self.inner).or_else(|| of(self.outer)).unwrap_or_default()
    }

    /// Why no parameters can describe the model.
    pub(super) fn refuse(&self) -> Result<(), Diagnostic> {
        let model_type = self.model_type();
        let has = |name: &str| self.inner.get(name).is_some_and(|json| !json.is_null());
        let is_set = |fields: &Map<String, Json>| fields.get("is_encoder_decoder") == Some(&Json::Bool(true));
        if is_set(self.inner) || is_set(self.outer) || ENCODERS.contains(&&*model_type) {
            let field = if ENCODERS.contains(&&*model_type) { "model_type" } else { "is_encoder_decoder" };
            return Err(self.refusal("config_encoder", field));
        }
        REFUSED
            .iter()
            .find(|(name, _)| has(name))
            .map_or(Ok(()), |(name, code)| Err(self.refusal(code, name)))
    }

    fn refusal(&self, code: &'static str, field: &str) -> Diagnostic {
        let why = match code {
            "config_latent" => {
                "multi-head latent attention, which model.* does not describe; fleet.model has deepseek-v3 and kimi-k2"
            }
            "config_encoder" => {
                "a model with an encoder; only models that generate token by token are simulated"
            }
            _ => "layers that are no attention and MLP of one size, which model.* does not describe",
        };
        self.error(code, field, why)
    }

    /// The first of these fields that is there, as a whole number within the bounds of a parameter.
    pub(super) fn number(&mut self, names: &[&'static str], id: Id) -> Option<f64> {
        let values: Vec<_> = names.iter().map(|name| (*name, self.get(name))).collect();
        let (name, json) = values.into_iter().find_map(|(name, json)| Some((name, json?)))?;
        let Some(x) = json.as_f64() else {
            let value = shown(&json.to_string());
            let error = self.error("config_not_a_number", name, &format!("a number expected, got {value}"));
            self.errors.push(error.text("value", &value));
            return None;
        };
        self.in_bounds(name, x, id);
        Some(x)
    }

    /// Reports a number that is not whole or beyond the bounds of a parameter.
    pub(super) fn in_bounds(&mut self, name: &str, x: f64, id: Id) {
        let (min, max) = id.row().bounds().expect("a number has bounds");
        if !(min..=max).contains(&x) {
            let error =
                self.error("config_out_of_range", name, &format!("{x} is not between {min} and {max}"));
            self.errors.push(error.number("value", x).number("min", min).number("max", max));
        } else if x != x.trunc() {
            let error = self.error("config_not_a_number", name, &format!("a whole number expected, got {x}"));
            self.errors.push(error.text("value", &x.to_string()));
        }
    }

    /// The same of a field that must be there; its lower bound where it is not, beside the error.
    pub(super) fn needed(&mut self, names: &[&'static str], id: Id) -> f64 {
        let before = self.errors.len();
        let found = self.number(names, id);
        if found.is_none() && self.errors.len() == before {
            let message = format!("{}: {} is missing", self.file, names.join(" or "));
            let error = Diagnostic::error("config_missing", self.file, message);
            self.errors.push(error.text("file", self.file).text("field", names[0]));
        }
        found.or(id.row().bounds().map(|(min, _)| min)).unwrap_or(1.0)
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        let json = self.get(name)?;
        if let Json::Bool(on) = json {
            return Some(*on);
        }
        let value = shown(&json.to_string());
        let error = self.error("config_not_a_flag", name, &format!("true or false expected, got {value}"));
        self.errors.push(error.text("value", &value));
        None
    }

    /// How many layers a list of kinds gives this kind; the others must be of full attention.
    pub(super) fn layers_of(&mut self, name: &'static str, kind: &str, layers: f64) -> Option<f64> {
        let json = self.get(name)?;
        let Json::Array(kinds) = json else {
            let value = shown(&json.to_string());
            let error = self.error("config_not_a_list", name, &format!("a list expected, got {value}"));
            self.errors.push(error.text("value", &value));
            return None;
        };
        if kinds.len() as f64 != layers {
            let why = format!("{} kinds of layers for {layers} layers", kinds.len());
            let error = self.error("config_kinds", name, &why);
            self.errors.push(error.number("value", kinds.len() as f64).number("layers", layers));
        }
        let known = [kind, "full_attention"];
        if let Some(other) =
            kinds.iter().find(|json| !json.as_str().is_some_and(|text| known.contains(&text)))
        {
            let value = shown(&other.to_string());
            let error = self.refusal("config_other_layers", name);
            self.errors.push(error.text("value", &value));
        }
        Some(kinds.iter().filter(|json| json.as_str() == Some(kind)).count() as f64)
    }

    /// How many layers of a mixture have a plain MLP.
    pub(super) fn dense_layers(&mut self, layers: f64) -> f64 {
        let first = self.number(&["first_k_dense_replace"], Id::ModelDenseLayers).unwrap_or(0.0);
        let step = self.number(&["decoder_sparse_step"], Id::ModelDenseLayers).unwrap_or(1.0).max(1.0);
        let frequency = self.number(&["moe_layer_freq"], Id::ModelDenseLayers).unwrap_or(1.0).max(1.0);
        let listed: Vec<f64> = match self.get("mlp_only_layers") {
            Some(Json::Array(list)) => list.iter().filter_map(Json::as_f64).collect(),
            _ => Vec::new(),
        };
        let is_dense = |layer: u32| {
            let layer = f64::from(layer);
            layer < first
                || (layer + 1.0) % step != 0.0
                || layer % frequency != 0.0
                || listed.contains(&layer)
        };
        (0..layers.clamp(0.0, 1e4) as u32).filter(|&layer| is_dense(layer)).count() as f64
    }

    /// The format of the weights where the file contains it; the name of one that is not known.
    pub(super) fn weights(&mut self) -> Option<Result<WeightFormat, String>> {
        let has_type = self.get("torch_dtype").or_else(|| self.get("dtype")).is_some();
        let Some(json) = self.get("quantization_config") else {
            return has_type.then_some(Ok(WeightFormat::Bf16));
        };
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_ascii_lowercase();
        let method = text("quant_method");
        let group = json["config_groups"].as_object().and_then(|groups| groups.values().next());
        let bits = match group {
            Some(group) => group["weights"]["num_bits"].as_u64(),
            None => json["bits"].as_u64().or_else(|| json["w_bit"].as_u64()),
        };
        let is_float = group.is_some_and(|group| group["weights"]["type"] == "float");
        let format = match (&*method, bits) {
            ("fp8" | "fbgemm_fp8", _) => Some(WeightFormat::Fp8),
            ("mxfp4", _) | ("gptq" | "awq" | "compressed-tensors", Some(4)) => Some(WeightFormat::Int4),
            ("compressed-tensors", Some(8)) if is_float => Some(WeightFormat::Fp8),
            ("gptq" | "awq" | "compressed-tensors", Some(8)) => Some(WeightFormat::Int8),
            ("bitsandbytes", _) if json["load_in_4bit"] == true => Some(WeightFormat::Int4),
            ("bitsandbytes", _) if json["load_in_8bit"] == true => Some(WeightFormat::Int8),
            ("modelopt", _) if text("quant_algo") == "fp8" => Some(WeightFormat::Fp8),
            ("modelopt", _) if text("quant_algo") == "nvfp4" => Some(WeightFormat::Int4),
            _ => None,
        };
        Some(format.ok_or(method))
    }

    /// A warning of weights in a format that is not known.
    pub(super) fn unknown_weights(&self, method: &str) -> Diagnostic {
        let method = shown(method);
        let why = format!("the format {method:?} is not known; fleet.weights stays as it is");
        self.of_field(Diagnostic::warning, "config_weights", "quantization_config", &why)
            .text("value", &method)
    }

    /// A note that the file leaves a field to its class.
    pub(super) fn assumed(&self, name: &str, value: &str) -> Diagnostic {
        let why = format!("not there; {value} is taken");
        self.of_field(Diagnostic::note, "config_assumed", name, &why).text("value", value)
    }

    /// A warning that the class is not known.
    pub(super) fn unknown_type(&self) -> Diagnostic {
        let value = self.model_type();
        let why = format!(
            "{value:?} is not known; its fields are read as Llama's: gated MLP, attention in every layer"
        );
        self.of_field(Diagnostic::warning, "config_type", "model_type", &why).text("value", &value)
    }

    /// A note on the fields that have not been read and may bear on times or memory.
    pub(super) fn ignored(&self) -> Option<Diagnostic> {
        const MOST: usize = 12;
        let bears = |name: &&String| {
            !self.used.contains(name.as_str())
                && !WITHOUT_BEARING.contains(&name.as_str())
                && !ENDS_WITHOUT_BEARING.iter().any(|end| name.ends_with(end))
        };
        let is_inner = !self.prefix.is_empty();
        let mut names: Vec<String> =
            self.inner.keys().filter(bears).map(|name| self.place(&shown(name))).collect();
        names.extend(self.outer.keys().filter(|_| is_inner).filter(bears).map(|name| shown(name)));
        if names.is_empty() {
            return None;
        }
        let more = names.len().saturating_sub(MOST);
        names.truncate(MOST);
        let mut list = names.join(", ");
        if more > 0 {
            list = format!("{list}, … ({more})");
        }
        let message = format!("{}: these fields are ignored: {list}", self.file);
        Some(
            Diagnostic::note("config_ignored", self.file, message)
                .text("file", self.file)
                .text("fields", &list),
        )
    }
}
