//! The format of a checkpoint's weights: by method, algorithm or bits, with the modules that have another one or stay at 16
//! bits. What a model weighs follows from all of them together: each module counts with its parameters.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use servescope_cost::deployment::WeightFormat;
use servescope_cost::models::{Attention, Model};

use super::layers::{Feed, Layer, Mixer};

/// Bytes of a number at 16 bits.
const WIDE: f64 = 2.0;

/// The format of most weights, and which share of the layers' matrices at 16 bits beside it gives what all weigh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    pub(super) weights: WeightFormat,
    pub(super) unquantized: f64,
    /// Whether the head has a format, too.
    pub(super) has_head: bool,
}

/// A format and the bytes of a number in it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Format {
    weights: WeightFormat,
    bytes: f64,
}

impl Format {
    const WIDE: Self = Self { weights: WeightFormat::Bf16, bytes: WIDE };

    fn of(weights: WeightFormat) -> Self {
        Self { weights, bytes: weights.bytes() }
    }

    /// So many bits, integers or floats, with a scale for each group.
    fn of_bits(bits: f64, is_float: bool, group: Option<f64>) -> Option<Self> {
        let format = match (bits as u32, is_float, group.map(|group| group as u32)) {
            (16 | 32, ..) => Self::WIDE,
            (8, true, _) => Self::of(WeightFormat::Fp8),
            (8, false, _) => Self::of(WeightFormat::Int8),
            (4, true, Some(32)) => Self::of(WeightFormat::Mxfp4),
            (4, true, _) => Self::of(WeightFormat::Nvfp4),
            (2..=6, ..) => {
                // A 16-bit scale for each group.
                let scales = group.filter(|group| *group > 0.0).map_or(0.0, |group| 2.0 / group);
                Self { weights: WeightFormat::Int4, bytes: bits / 8.0 + scales }
            }
            _ => return None,
        };
        Some(format)
    }

    /// By the name of an algorithm or a method.
    fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let has = |part: &str| name.contains(part);
        Some(match () {
            () if has("nvfp4") => Self::of(WeightFormat::Nvfp4),
            () if has("mxfp4") => Self::of(WeightFormat::Mxfp4),
            () if has("w4a") || has("int4") || has("4bit") => Self::of(WeightFormat::Int4),
            () if has("fp8") => Self::of(WeightFormat::Fp8),
            () if has("w8a") || has("int8") || has("8bit") => Self::of(WeightFormat::Int8),
            () => return None,
        })
    }
}

/// What a `quantization_config` or an `hf_quant_config.json` says; the name of a method that says nothing of a format.
///
/// `is_beside`: an MLP stands beside the experts of a layer, outside them.
pub(super) fn read(json: &Json, layers: &[Layer], model: &Model, is_beside: bool) -> Result<Found, String> {
    let text = |key: &str| json[key].as_str().unwrap_or_default();
    let method = text("quant_method").to_ascii_lowercase();
    let usual = usual(json, &method);
    let rules = Rules::of(json, usual);
    if usual.is_none() && rules.named.is_empty() {
        let name = [text("quant_method"), text("quant_algo"), text("quant_type")];
        return Err(name.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_owned());
    }
    // A method that packs the experts alone.
    let experts_only = method == "mxfp4" && rules.kept.is_empty();
    let mut weighed = vec![];
    for (index, layer) in layers.iter().enumerate() {
        for module in modules(*layer, model, is_beside) {
            let format =
                if experts_only && !module.is_expert { Format::WIDE } else { rules.format(index, &module) };
            weighed.push((format, module.parameters));
        }
    }
    let has_head = rules.named.has("lm_head");
    Ok(Found { has_head, ..summed(&weighed, usual) })
}

/// The format that has most of the parameters, and the share beside it.
fn summed(weighed: &[(Format, f64)], usual: Option<Format>) -> Found {
    let total: f64 = weighed.iter().map(|(_, parameters)| parameters).sum();
    let bytes: f64 = weighed.iter().map(|(format, parameters)| format.bytes * parameters).sum();
    let most = WeightFormat::ALL.into_iter().filter(|format| *format != WeightFormat::Bf16).max_by(|a, b| {
        let of = |wanted: WeightFormat| {
            weighed.iter().filter(|(format, _)| format.weights == wanted).map(|(_, n)| n).sum::<f64>()
        };
        of(*a).total_cmp(&of(*b)).then((*b as u32).cmp(&(*a as u32)))
    });
    let is_some = weighed.iter().any(|(format, _)| format.weights != WeightFormat::Bf16);
    let weights = match most {
        Some(most) if is_some => most,
        _ if total > 0.0 => WeightFormat::Bf16,
        _ => usual.map_or(WeightFormat::Bf16, |format| format.weights),
    };
    let own = weights.bytes();
    let unquantized = if total > 0.0 && own < WIDE { (bytes / total - own) / (WIDE - own) } else { 0.0 };
    // Four digits, as far as a link or a file has to keep them.
    Found { weights, unquantized: (unquantized.clamp(0.0, 1.0) * 1e4).round() / 1e4, has_head: false }
}

/// The format of the modules that no rule names.
fn usual(json: &Json, method: &str) -> Option<Format> {
    let groups = json["config_groups"].as_object();
    let of_group =
        |group: &Json| of_scheme(&group["weights"]).or_else(|| Format::named(group["format"].as_str()?));
    let general = groups.and_then(|groups| {
        groups.values().find(|group| {
            let targets = group["targets"].as_array();
            targets.is_none_or(|targets| targets.iter().any(|target| target == "Linear"))
        })
    });
    if let Some(found) = general.and_then(of_group) {
        return Some(found);
    }
    if groups.is_some_and(|groups| !groups.is_empty()) {
        return None;
    }
    let number = |keys: &[&str]| keys.iter().find_map(|key| json[*key].as_f64());
    let bits = number(&["bits", "num_bits", "w_bit", "weight_bits", "nbits"]);
    let group = number(&["group_size", "q_group_size"]);
    if json["load_in_4bit"] == true {
        return Some(Format::of(WeightFormat::Int4));
    }
    if json["load_in_8bit"] == true {
        return Some(Format::of(WeightFormat::Int8));
    }
    let algorithm = json["quant_algo"].as_str().or(json["quant_type"].as_str()).unwrap_or_default();
    if algorithm.eq_ignore_ascii_case("mixed_precision") {
        return None;
    }
    // Quark and others say it of the weights in a global scheme.
    let global = &json["global_quant_config"]["weight"];
    Format::named(algorithm)
        .or_else(|| Format::named(method).filter(|_| bits.is_none()))
        .or_else(|| Format::of_bits(bits?, json["data_type"] == "float" || method.contains("fp"), group))
        .or_else(|| Format::named(global["dtype"].as_str()?))
}

/// The weights of one group of compressed-tensors.
fn of_scheme(weights: &Json) -> Option<Format> {
    Format::of_bits(weights["num_bits"].as_f64()?, weights["type"] == "float", weights["group_size"].as_f64())
}

/// Which modules have which format.
struct Rules {
    usual: Option<Format>,
    /// Modules that are named with a format.
    named: Named,
    /// Modules that stay at 16 bits.
    kept: Named,
}

/// Modules that are named with a format: by layer, as the names of one layer need not be looked at for the others.
#[derive(Default)]
struct Named {
    of_any: Vec<(Pattern, Format)>,
    of_layer: BTreeMap<usize, Vec<(Pattern, Format)>>,
}

impl Named {
    /// Names that are looked at for every layer, and for one; real files have some tens, and a few thousand.
    const MOST_OF_ANY: usize = 128;
    const MOST_OF_LAYER: usize = 8192;

    fn add(&mut self, name: &str, format: Format) {
        let pattern = Pattern::of(name);
        let (list, most) = match pattern.layer {
            Some(layer) => (self.of_layer.entry(layer).or_default(), Self::MOST_OF_LAYER),
            None => (&mut self.of_any, Self::MOST_OF_ANY),
        };
        if list.len() < most {
            list.push((pattern, format));
        }
    }

    fn is_empty(&self) -> bool {
        self.of_any.is_empty() && self.of_layer.is_empty()
    }

    /// The format of the first name that a module has.
    fn find(&self, layer: usize, module: &Module) -> Option<Format> {
        let of_layer = self.of_layer.get(&layer).into_iter().flatten();
        let mut all = of_layer.chain(&self.of_any);
        all.find(|(pattern, _)| pattern.names(layer, module)).map(|(_, format)| *format)
    }

    /// Whether something has this name and no other.
    fn has(&self, name: &str) -> bool {
        self.of_any.iter().any(|(pattern, _)| pattern.is(name))
    }
}

impl Rules {
    fn of(json: &Json, usual: Option<Format>) -> Self {
        let mut named = Named::default();
        for group in json["config_groups"].as_object().into_iter().flat_map(|groups| groups.values()) {
            let Some(format) = of_scheme(&group["weights"]) else { continue };
            let targets = group["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
            for target in targets.iter().filter_map(Json::as_str).filter(|target| *target != "Linear") {
                named.add(target, format);
            }
        }
        for (module, how) in json["quantized_layers"].as_object().into_iter().flatten() {
            if let Some(format) = how["quant_algo"].as_str().and_then(Format::named) {
                named.add(module, format);
            }
        }
        let lists = [
            "modules_to_not_convert",
            "ignore",
            "exclude_modules",
            "ignored_layers",
            "exclude",
            "llm_int8_skip_modules",
        ];
        let mut kept = Named::default();
        for name in lists.iter().filter_map(|key| json[*key].as_array()).flatten().filter_map(Json::as_str) {
            kept.add(name, Format::WIDE);
        }
        Self { usual, named, kept }
    }

    fn format(&self, layer: usize, module: &Module) -> Format {
        let own = self.kept.find(layer, module).or_else(|| self.named.find(layer, module));
        own.or(self.usual).unwrap_or(Format::WIDE)
    }
}

/// A module of a layer under the names that model classes give it, behind the layer's.
struct Module {
    names: &'static [&'static str],
    parameters: f64,
    is_expert: bool,
}

/// Where the layers are, before their number.
const ROOTS: [&str; 6] = [
    "model.layers.",
    "model.language_model.layers.",
    "language_model.model.layers.",
    "language_model.layers.",
    "backbone.layers.",
    "transformer.h.",
];

/// The matrices of a layer.
fn modules(layer: Layer, model: &Model, is_beside: bool) -> Vec<Module> {
    let hidden = f64::from(model.hidden);
    let mut all = Vec::new();
    let mut add = |names: &'static [&'static str], parameters: f64| {
        all.push(Module { names, parameters, is_expert: false });
    };
    let windowed = model.window.map_or(model.attention, |window| window.attention(&model.attention));
    match layer.mixer {
        Mixer::Full => attention(&model.attention, hidden, &mut add),
        Mixer::Sliding | Mixer::Chunked => attention(&windowed, hidden, &mut add),
        Mixer::State => {
            if let Some(state) = model.recurrent {
                let inner = state.inner();
                add(
                    &[
                        "linear_attn.in_proj_qkv",
                        "linear_attn.in_proj_qkvz",
                        "mixer.in_proj",
                        "mamba.in_proj",
                        "self_attn.q_proj",
                    ],
                    hidden * state.channels(),
                );
                add(
                    &[
                        "linear_attn.in_proj_z",
                        "linear_attn.in_proj_qkvz",
                        "mixer.in_proj",
                        "mamba.in_proj",
                        "self_attn.g_proj",
                    ],
                    hidden * inner,
                );
                add(
                    &["linear_attn.out_proj", "mixer.out_proj", "mamba.out_proj", "self_attn.o_proj"],
                    hidden * inner,
                );
            }
        }
        Mixer::Nothing => {}
    }
    let mlp = model.mlp_parameters() / model.mlp_matrices();
    match layer.feed {
        Feed::Dense => {
            if model.gated_mlp {
                add(&["mlp.gate_proj", "feed_forward.gate_proj"], mlp);
            }
            add(&["mlp.up_proj", "feed_forward.up_proj", "mixer.up_proj"], mlp);
            add(&["mlp.down_proj", "feed_forward.down_proj", "mixer.down_proj"], mlp);
        }
        Feed::Experts => {
            let shared: &'static [&'static str] = if is_beside {
                &["mlp.up_proj"]
            } else {
                &[
                    "mlp.shared_experts.up_proj",
                    "mlp.shared_expert.up_proj",
                    "mixer.shared_experts.up_proj",
                    "feed_forward.shared_expert.up_proj",
                    "block_sparse_moe.shared_experts.up_proj",
                ]
            };
            add(shared, model.shared_expert_parameters());
            let count = model.experts.map_or(0.0, |experts| f64::from(experts.count));
            let names: &'static [&'static str] = if is_beside {
                &["experts.0.up_proj", "experts", "moe.experts"]
            } else {
                &[
                    "mlp.experts.0.up_proj",
                    "mlp.experts",
                    "mixer.experts.0.up_proj",
                    "block_sparse_moe.experts.0.w1",
                    "block_sparse_moe.experts.0.up_proj",
                    "feed_forward.experts.0.up_proj",
                    "moe.up_proj",
                ]
            };
            all.push(Module { names, parameters: count * model.expert_parameters(), is_expert: true });
        }
        Feed::Nothing => {}
    }
    all
}

fn attention(kind: &Attention, hidden: f64, add: &mut impl FnMut(&'static [&'static str], f64)) {
    match *kind {
        Attention::Grouped { heads, kv_heads, head_dim, gated } => {
            let [n, k, d] = [heads, kv_heads, head_dim].map(f64::from);
            let queries = if gated { 2.0 * n } else { n };
            add(&["self_attn.q_proj", "self_attn.qkv_proj", "mixer.q_proj"], hidden * queries * d);
            add(&["self_attn.k_proj", "self_attn.qkv_proj", "mixer.k_proj"], hidden * k * d);
            add(&["self_attn.v_proj", "self_attn.qkv_proj", "mixer.v_proj"], hidden * k * d);
            add(&["self_attn.o_proj", "mixer.o_proj"], hidden * n * d);
        }
        Attention::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim, .. } => {
            let [n, q, c, r, k, v] =
                [heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim].map(f64::from);
            if query_rank > 0 {
                add(&["self_attn.q_a_proj", "self_attn.fused_qkv_a_proj"], hidden * q);
                add(&["self_attn.q_b_proj"], q * n * (k + r));
            } else {
                add(&["self_attn.q_proj"], hidden * n * (k + r));
            }
            add(&["self_attn.kv_a_proj_with_mqa", "self_attn.fused_qkv_a_proj"], hidden * (c + r));
            add(&["self_attn.kv_b_proj"], c * n * (k + v));
            add(&["self_attn.o_proj"], n * v * hidden);
        }
    }
}

/// A name of modules: plain, with stars, or a regular expression behind `re:`, of which dots, stars and alternatives are read.
struct Pattern {
    /// Alternatives, each cut at its stars; one without a star is a part of a name between dots.
    globs: Vec<Vec<String>>,
    /// The layer, where it stands behind one of the known roots: others need not be looked at.
    layer: Option<usize>,
}

impl Pattern {
    fn of(text: &str) -> Self {
        /// Longer names are none that a module has.
        const LONGEST: usize = 512;
        if text.len() > LONGEST {
            return Self { globs: Vec::new(), layer: None };
        }
        let plain = match text.strip_prefix("re:") {
            Some(expression) => {
                let open = expression.trim_start_matches('^');
                let glob = open
                    .replace("\\d+", "*")
                    .replace("[0-9]+", "*")
                    .replace(".*", "*")
                    .replace(".+", "*")
                    .replace("\\.", ".")
                    .replace(".?", "*");
                match glob.strip_suffix('$') {
                    Some(whole) => whole.to_owned(),
                    // From the start of a name on.
                    None => format!("{glob}*"),
                }
            }
            None => text.to_owned(),
        };
        let globs = alternatives(&plain)
            .into_iter()
            .map(|glob| glob.split('*').map(str::to_owned).collect())
            .collect();
        let behind = plain.split("layers.").nth(1).unwrap_or_default();
        let digits = behind.split('.').next().unwrap_or_default().trim_end_matches('*');
        let ends = behind.len() > digits.len() && behind[digits.len()..].starts_with('.');
        Self { globs, layer: digits.parse().ok().filter(|_| ends) }
    }

    /// Whether it names this and nothing else.
    fn is(&self, name: &str) -> bool {
        self.globs.iter().any(|glob| glob.iter().map(String::as_str).eq([name]))
    }

    fn names(&self, layer: usize, module: &Module) -> bool {
        if self.layer.is_some_and(|own| own != layer) {
            return false;
        }
        self.globs.iter().any(|glob| {
            ROOTS.iter().any(|root| {
                module.names.iter().any(|name| {
                    let full = format!("{root}{layer}.{name}");
                    match glob.as_slice() {
                        [plain] => between_dots(&full, plain),
                        // It may name what the module is a part of.
                        parts => {
                            let owners = full.match_indices('.').map(|(at, _)| &full[..at]);
                            is_glob(&full, parts) || owners.into_iter().any(|owner| is_glob(owner, parts))
                        }
                    }
                })
            })
        })
    }
}

/// The texts that the alternatives in brackets stand for, bracket by bracket.
fn alternatives(text: &str) -> Vec<String> {
    /// Of an expression with more brackets or texts, the first ones.
    const MOST_BRACKETS: usize = 8;
    const MOST: usize = 256;
    let mut all = vec![text.to_owned()];
    for _ in 0..MOST_BRACKETS {
        let cut = |text: &String| {
            let open = text.find('(')?;
            let close = open + text[open..].find(')')?;
            Some((open, close))
        };
        if !all.iter().any(|text| cut(text).is_some()) {
            break;
        }
        let each = |text: String| match cut(&text) {
            None => vec![text],
            Some((open, close)) => {
                let inner = text[open + 1..close].trim_start_matches("?:");
                let tail = text[close + 1..].trim_start_matches(['?', '+']);
                inner.split('|').map(|one| format!("{}{one}{tail}", &text[..open])).collect()
            }
        };
        all = all.into_iter().flat_map(each).take(MOST).collect();
    }
    all
}

/// Whether a name has this part, from a dot to a dot.
fn between_dots(name: &str, part: &str) -> bool {
    !part.is_empty()
        && name.match_indices(part).any(|(at, _)| {
            let end = at + part.len();
            (at == 0 || part.starts_with('.') || name.as_bytes()[at - 1] == b'.')
                && (end == name.len() || part.ends_with('.') || name.as_bytes()[end] == b'.')
        })
}

/// Whether a name is of these parts with anything between them.
fn is_glob(name: &str, parts: &[String]) -> bool {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    let Some(mut rest) = name.strip_prefix(first.as_str()) else { return false };
    for part in &parts[1..parts.len() - 1] {
        let Some(at) = rest.find(part.as_str()) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last.as_str())
}
