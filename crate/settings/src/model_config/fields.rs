//! The fields of a `config.json`, read one by one, so that what is left over is known.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

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

/// Fields of models whose layers cannot be described: with the code of the rejection. One that is 0, false, null or empty says
/// that there are none.
const REFUSED: &[(&str, &str)] = &[
    ("compress_ratios", "config_other_layers"),
    ("ssm_cfg", "config_other_layers"),
    ("state_size", "config_other_layers"),
    ("mamba_dt_rank", "config_other_layers"),
    ("ffn_config", "config_other_layers"),
    ("attn_config", "config_other_layers"),
    ("altup_num_inputs", "config_other_layers"),
    ("zero_expert_num", "config_other_layers"),
    ("encoder_layers", "config_encoder"),
];
/// Models with an encoder alone.
const ENCODERS: &[&str] =
    &["bert", "roberta", "distilbert", "xlm-roberta", "deberta-v2", "electra", "modernbert", "vit", "clip"];

/// Whether a value says that there is none of something.
fn is_none(json: &Json) -> bool {
    match json {
        Json::Null => true,
        Json::Bool(on) => !on,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(list) => list.is_empty(),
        Json::Object(object) => object.is_empty(),
    }
}

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
        let has = |name: &str| self.inner.get(name).is_some_and(|json| !is_none(json));
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
            "config_encoder" => {
                "a model with an encoder; only models that generate token by token are simulated"
            }
            _ => "layers of a kind whose cost is not known here",
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

    /// A number above 0 of the first of these fields that has one, whatever its bounds; 0, false and null are none.
    pub(super) fn amount(&mut self, names: &[&'static str]) -> Option<f64> {
        let values: Vec<_> = names.iter().filter_map(|name| self.get(name)).collect();
        values.into_iter().find_map(|json| json.as_f64().filter(|number| *number > 0.0))
    }

    /// The same within the bounds of a parameter; of a list, its first entry above 0.
    pub(super) fn bounded(&mut self, names: &[&'static str], id: Id) -> Option<f64> {
        let values: Vec<_> = names.iter().map(|name| (*name, self.get(name))).collect();
        let (name, json) =
            values.into_iter().find_map(|(name, json)| Some((name, json.filter(|json| !is_none(json))?)))?;
        let first = |json: &Json| match json {
            Json::Array(list) => list.iter().filter_map(Json::as_f64).find(|number| *number > 0.0),
            other => other.as_f64(),
        };
        let Some(x) = first(json) else {
            let value = shown(&json.to_string());
            let error = self.error("config_not_a_number", name, &format!("a number expected, got {value}"));
            self.errors.push(error.text("value", &value));
            return None;
        };
        self.in_bounds(name, x, id);
        Some(x)
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<&'a str> {
        self.get(name).and_then(Json::as_str)
    }

    /// A list that is not empty.
    pub(super) fn list(&mut self, name: &'static str) -> Option<&'a [Json]> {
        self.get(name).and_then(Json::as_array).map(Vec::as_slice).filter(|list| !list.is_empty())
    }

    pub(super) fn object(&mut self, name: &'static str) -> Option<&'a Map<String, Json>> {
        self.get(name).and_then(Json::as_object)
    }

    /// A list of layers by their places from 0 on.
    pub(super) fn places(&mut self, name: &'static str) -> Vec<usize> {
        let list = self.list(name).unwrap_or_default();
        list.iter().filter_map(Json::as_u64).map(|place| place as usize).collect()
    }

    /// Reports a value that says that layers are of a kind that cannot be described.
    pub(super) fn refuse_value(&mut self, name: &'static str) {
        let error = self.refusal("config_other_layers", name);
        self.errors.push(error);
    }

    /// Reports a list that does not have an entry for each layer.
    pub(super) fn wrong_length(&mut self, name: &'static str, found: usize, layers: usize) {
        let why = format!("{found} kinds of layers for {layers} layers");
        let error = self.error("config_kinds", name, &why);
        self.errors.push(error.number("value", found as f64).number("layers", layers as f64));
    }

    /// What the file says of the format of its weights, or the file beside it; and whether it names a type of numbers.
    pub(super) fn quantization(&mut self) -> (Option<&'a Json>, bool) {
        let has_type = self.get("torch_dtype").or_else(|| self.get("dtype")).is_some();
        (self.get("quantization_config").or_else(|| self.get("quantization")), has_type)
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
