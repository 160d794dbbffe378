//! Which layers a `config.json` has: of each what mixes tokens, and what works on one token alone. Fields list layers one by
//! one, give a pattern or an interval, or leave it to the model's class; a value counts before a field's presence.

use serde_json::Value as Json;

use super::family::{ModelFamily, Windows};
use super::fields::Fields;

/// What mixes tokens in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mixer {
    /// Attention over the whole context.
    Full,
    /// Attention within a sliding window.
    Sliding,
    /// Attention within its chunk.
    Chunked,
    /// A state of fixed size.
    State,
    Nothing,
}

/// What works on one token alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feed {
    Dense,
    Experts,
    Nothing,
}

/// One layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) mixer: Mixer,
    pub(super) feed: Feed,
}

/// All layers; `None` beside an error.
pub(super) fn layers(
    fields: &mut Fields<'_>,
    family: ModelFamily,
    count: usize,
    is_mixture: bool,
) -> Option<Vec<Layer>> {
    if let Some(name) = block_field(fields) {
        return blocks(fields, name, count);
    }
    let mixers = mixers(fields, family, count)?;
    let feeds = feeds(fields, count, is_mixture)?;
    if family.parallel_state {
        // Attention and a state side by side, then an MLP: a layer with a state alone and one with both others.
        let pairs = mixers.into_iter().zip(feeds).flat_map(|(mixer, feed)| {
            [Layer { mixer: Mixer::State, feed: Feed::Nothing }, Layer { mixer, feed }]
        });
        return Some(pairs.collect());
    }
    Some(mixers.into_iter().zip(feeds).map(|(mixer, feed)| Layer { mixer, feed }).collect())
}

/// The field in which layers are one block each: a state, attention, an MLP or experts (Nemotron-H).
fn block_field(fields: &mut Fields<'_>) -> Option<&'static str> {
    if fields.text("hybrid_override_pattern").is_some_and(|pattern| !pattern.is_empty()) {
        return Some("hybrid_override_pattern");
    }
    ["layers_block_type", "layer_types"].into_iter().find(|name| {
        fields.list(name).is_some_and(|list| list.iter().any(|kind| kind == "moe" || kind == "mlp"))
    })
}

/// The layers of that field; `None` beside an error.
fn blocks(fields: &mut Fields<'_>, name: &'static str, count: usize) -> Option<Vec<Layer>> {
    let layer = |kind: &str| {
        let (mixer, feed) = match kind {
            "M" | "mamba" | "mamba2" => (Mixer::State, Feed::Nothing),
            "*" | "attention" | "full_attention" => (Mixer::Full, Feed::Nothing),
            "E" | "moe" => (Mixer::Nothing, Feed::Experts),
            "-" | "mlp" => (Mixer::Nothing, Feed::Dense),
            _ => return None,
        };
        Some(Layer { mixer, feed })
    };
    let found: Option<Vec<Layer>> = match fields.text(name) {
        Some(pattern) => pattern.chars().map(|block| layer(block.encode_utf8(&mut [0; 4]))).collect(),
        None => fields.list(name)?.iter().map(|kind| layer(kind.as_str()?)).collect(),
    };
    checked(fields, name, found, count)
}

/// A list of as many entries as there are layers: some files list the layers that draft, too. `None`, beside an error, for
/// another length or an entry that is not known.
fn checked<T>(
    fields: &mut Fields<'_>,
    name: &'static str,
    found: Option<Vec<T>>,
    count: usize,
) -> Option<Vec<T>> {
    let Some(mut found) = found else {
        fields.refuse_value(name);
        return None;
    };
    let drafting = fields.amount(&["num_nextn_predict_layers", "num_mtp_modules"]).unwrap_or(0.0) as usize;
    if found.len() < count || found.len() - count > drafting {
        fields.wrong_length(name, found.len(), count);
        return None;
    }
    found.truncate(count);
    Some(found)
}

fn mixers(fields: &mut Fields<'_>, family: ModelFamily, count: usize) -> Option<Vec<Mixer>> {
    let named = |kind: &Json| {
        Some(match kind.as_str()? {
            "full_attention" | "attention" | "full" | "deepseek_sparse_attention" => Mixer::Full,
            "sliding_attention" | "sliding_window" | "local" => Mixer::Sliding,
            "chunked_attention" => Mixer::Chunked,
            "linear_attention" | "mamba" | "mamba2" | "kda" => Mixer::State,
            _ => return None,
        })
    };
    for name in ["layer_types", "layers_block_type"] {
        if let Some(list) = fields.list(name) {
            let found = list.iter().map(named).collect();
            return checked(fields, name, found, count);
        }
    }
    let flagged = |zero: Mixer, one: Mixer| {
        move |kind: &Json| match kind.as_f64()? {
            0.0 => Some(zero),
            1.0 => Some(one),
            _ => None,
        }
    };
    if let Some(list) = fields.list("hybrid_layer_pattern") {
        let found = list.iter().map(flagged(Mixer::Full, Mixer::Sliding)).collect();
        return checked(fields, "hybrid_layer_pattern", found, count);
    }
    if let Some(list) = fields.list("attn_type_list") {
        // 0 is lightning attention, whose state and cost are another's.
        let found = list.iter().map(|kind| (kind.as_f64() == Some(1.0)).then_some(Mixer::Full)).collect();
        return checked(fields, "attn_type_list", found, count);
    }
    if let Some(config) = fields.object("linear_attn_config") {
        let full: Vec<usize> = config
            .get("full_attn_layers")
            .and_then(Json::as_array)
            .map(|list| list.iter().filter_map(Json::as_u64).map(|layer| layer as usize).collect())
            .unwrap_or_default();
        let kind = |layer: usize| if full.contains(&(layer + 1)) { Mixer::Full } else { Mixer::State };
        return Some((0..count).map(kind).collect());
    }
    if fields.amount(&["linear_num_value_heads"]).is_some() {
        let every = fields.amount(&["full_attention_interval"]).unwrap_or(4.0).max(1.0) as usize;
        let kind = |layer: usize| if (layer + 1).is_multiple_of(every) { Mixer::Full } else { Mixer::State };
        return Some((0..count).map(kind).collect());
    }
    if fields.object("attn_layer_indices").is_some() || fields.list("attn_layer_indices").is_some() {
        let full = fields.places("attn_layer_indices");
        let kind = |layer: usize| if full.contains(&layer) { Mixer::Full } else { Mixer::State };
        return Some((0..count).map(kind).collect());
    }
    Some(windows(fields, family, count))
}

/// Layers with a window where no list says which: those that have positions, every n-th not, all, or none.
fn windows(fields: &mut Fields<'_>, family: ModelFamily, count: usize) -> Vec<Mixer> {
    if fields.amount(&["attention_chunk_size"]).is_some() && family.windows == Windows::WithPositions {
        let listed = fields.list("no_rope_layers").filter(|list| list.len() == count).map(<[Json]>::to_vec);
        let every = fields.amount(&["no_rope_layer_interval"]).unwrap_or(4.0).max(1.0) as usize;
        return (0..count)
            .map(|layer| {
                let is_full = match &listed {
                    Some(list) => list[layer].as_f64() == Some(0.0),
                    None => (layer + 1).is_multiple_of(every),
                };
                if is_full { Mixer::Full } else { Mixer::Chunked }
            })
            .collect();
    }
    fields.skip(&["max_window_layers"]);
    let is_given = fields.amount(&["sliding_window"]).is_some();
    let is_used = fields.flag("use_sliding_window").unwrap_or(family.windows != Windows::Off);
    if !is_given || !is_used {
        return vec![Mixer::Full; count];
    }
    let first = match family.windows {
        Windows::Off => fields.amount(&["max_window_layers"]).unwrap_or(0.0) as usize,
        _ => 0,
    };
    let every = match family.windows {
        Windows::Every(usual) => {
            let pattern = ["sliding_window_pattern", "_sliding_window_pattern"];
            Some(fields.amount(&pattern).unwrap_or(usual).max(1.0) as usize)
        }
        Windows::All | Windows::Off | Windows::WithPositions => None,
    };
    let kind = |layer: usize| {
        let is_full = layer < first || every.is_some_and(|every| (layer + 1).is_multiple_of(every));
        if is_full { Mixer::Full } else { Mixer::Sliding }
    };
    (0..count).map(kind).collect()
}

fn feeds(fields: &mut Fields<'_>, count: usize, is_mixture: bool) -> Option<Vec<Feed>> {
    if !is_mixture {
        return Some(vec![Feed::Dense; count]);
    }
    if let Some(list) = fields.list("mlp_layer_types") {
        let named = |kind: &Json| match kind.as_str()? {
            "dense" => Some(Feed::Dense),
            "sparse" | "moe" => Some(Feed::Experts),
            _ => None,
        };
        let found = list.iter().map(named).collect();
        return checked(fields, "mlp_layer_types", found, count);
    }
    if let Some(list) = fields.list("moe_layer_freq") {
        let flagged = |kind: &Json| match kind.as_f64()? {
            0.0 => Some(Feed::Dense),
            1.0 => Some(Feed::Experts),
            _ => None,
        };
        let found = list.iter().map(flagged).collect();
        return checked(fields, "moe_layer_freq", found, count);
    }
    let listed = fields.places("moe_layers");
    let enumerated = fields.text("moe_layers_enum").map(|text| {
        text.split(',').filter_map(|layer| layer.trim().parse::<usize>().ok()).collect::<Vec<_>>()
    });
    let only = Some(listed).filter(|list| !list.is_empty()).or(enumerated);
    let mlp_only = fields.places("mlp_only_layers");
    let first = fields.amount(&["first_k_dense_replace"]).unwrap_or(0.0) as usize;
    let first_with = fields.amount(&["moe_layer_start_index"]).unwrap_or(0.0) as usize;
    let step = |fields: &mut Fields<'_>, names: &[&'static str]| {
        fields.amount(names).unwrap_or(1.0).max(1.0) as usize
    };
    let step_from_end =
        step(fields, &["decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"]);
    let frequency = step(fields, &["moe_layer_freq"]);
    let has_experts = |layer: usize| match &only {
        Some(list) => list.contains(&layer),
        None => {
            layer >= first.max(first_with)
                && (layer + 1).is_multiple_of(step_from_end)
                && layer.is_multiple_of(frequency)
                && !mlp_only.contains(&layer)
        }
    };
    Some((0..count).map(|layer| if has_experts(layer) { Feed::Experts } else { Feed::Dense }).collect())
}

/// How many layers have it.
pub(super) fn count(layers: &[Layer], has: impl Fn(&Layer) -> bool) -> f64 {
    layers.iter().filter(|layer| has(layer)).count() as f64
}

/// Widths of the MLPs of layers that differ (`block_configs` of a model found by a search over architectures), and whether each
/// has attention and an MLP.
pub(super) struct Searched {
    pub(super) layers: Vec<Layer>,
    /// Query heads of a KV head, alike in all layers.
    pub(super) group: f64,
    /// Mean width of the MLPs.
    pub(super) width: f64,
}

/// The layers of `block_configs`; `None` where it is not there or beside an error.
pub(super) fn searched(fields: &mut Fields<'_>, hidden: f64) -> Option<Searched> {
    let list = fields.list("block_configs")?.to_vec();
    let is_on = |json: &Json| json.as_bool() == Some(true);
    let (mut layers, mut groups, mut widths) = (Vec::new(), Vec::new(), Vec::new());
    for block in &list {
        let (attention, feed) = (&block["attention"], &block["ffn"]);
        if is_on(&attention["replace_with_linear"]) || is_on(&feed["replace_with_linear"]) {
            fields.refuse_value("block_configs");
            return None;
        }
        let mixer = if is_on(&attention["no_op"]) { Mixer::Nothing } else { Mixer::Full };
        if mixer == Mixer::Full {
            groups.push(attention["n_heads_in_group"].as_f64().unwrap_or(1.0));
        }
        if !is_on(&feed["no_op"]) {
            // Two thirds of the multiple, filled up to 256 (transformers' code of these models, `_ffn_mult_to_intermediate_size`).
            let plain = (2.0 * feed["ffn_mult"].as_f64().unwrap_or(0.0) * hidden / 3.0).trunc();
            widths.push((plain / 256.0).ceil() * 256.0);
        }
        let feed = if is_on(&feed["no_op"]) { Feed::Nothing } else { Feed::Dense };
        layers.push(Layer { mixer, feed });
    }
    let group = *groups.first()?;
    if groups.iter().any(|other| *other != group) || widths.is_empty() {
        fields.refuse_value("block_configs");
        return None;
    }
    let width = (widths.iter().sum::<f64>() / widths.len() as f64).round();
    Some(Searched { layers, group, width })
}

/// Layers whose attention reads the keys and values of earlier ones, the last ones of the model: those that see all tokens,
/// and those with a window.
pub(super) fn sharing(layers: &[Layer], last: f64) -> [f64; 2] {
    let from = layers.len().saturating_sub(last as usize);
    let of = |has: fn(&Layer) -> bool| count(&layers[from..], has);
    [
        of(|layer| layer.mixer == Mixer::Full),
        of(|layer| matches!(layer.mixer, Mixer::Sliding | Mixer::Chunked)),
    ]
}
