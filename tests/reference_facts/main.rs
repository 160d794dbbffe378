//! The tables of GPUs and models against the file of facts that they were taken from.
//!
//! The folder is the one that `SERVESCOPE_REFERENCE` names, otherwise `tests/reference/`; every `*facts.json` in it is read. A
//! GPU or a model that the file has and the tables lack is an error; figures that the file leaves open are not compared.

use serde_json::Value;
use servescope_cost::gpus::{Fact, Gpu};
use servescope_cost::models::{Attention, Model};

fn facts() -> Vec<(std::path::PathBuf, Value)> {
    let root = servescope_tests::reference();
    let paths = servescope_tests::files(&root, |name| name.ends_with("facts.json"));
    let read = |path: std::path::PathBuf| {
        let json = servescope_tests::json(&path);
        (path, json)
    };
    paths.into_iter().map(read).collect()
}

fn each<'a>(json: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    json[key].as_object().into_iter().flatten()
}

#[test]
fn gpus_are_those_of_the_file() {
    for (path, json) in facts() {
        let mut checked = 0;
        for (id, theirs) in each(&json, "gpus") {
            let gpu = Gpu::named(id).unwrap_or_else(|| panic!("no GPU {id}"));
            let same = |field: &str, ours: Option<Fact>| {
                if let Some(value) = theirs[field]["value"].as_f64() {
                    let ours = ours.unwrap_or_else(|| panic!("{id}: no {field}"));
                    assert_eq!(ours.value, value, "{id}: {field}");
                    let sources = theirs[field]["sources"].as_array().into_iter().flatten();
                    let sources: Vec<&str> = sources.filter_map(Value::as_str).collect();
                    assert_eq!(ours.sources, sources.join(" "), "{id}: {field}");
                }
            };
            same("bf16_dense_tflops", Some(gpu.bf16_tflops));
            same("fp8_dense_tflops", gpu.fp8_tflops);
            same("memory_gb", Some(gpu.memory_gb));
            same("memory_bandwidth_gb_s", Some(gpu.bandwidth_gb_s));
            same("scale_up_gb_s_unidirectional_per_gpu", Some(gpu.link_gb_s));
            same("tdp_w", gpu.tdp_w);
            if theirs["fp8_dense_tflops"]["value"].is_null() {
                assert!(gpu.fp8_tflops.is_none(), "{id}: FP8 without a source");
            }
            let prices = theirs["prices"].as_array().map_or(&[][..], Vec::as_slice);
            assert_eq!(prices.len(), gpu.prices.len(), "{id}: prices");
            for price in prices {
                let (usd, source) = (price["usd_per_gpu_hour"].as_f64(), price["source"].as_str());
                let known = |p: &servescope_cost::gpus::Price| {
                    Some(p.usd_per_hour) == usd && Some(p.source) == source
                };
                assert!(gpu.prices.iter().any(known), "{id}: {price}");
            }
            checked += 1;
        }
        servescope_tests::report_cases(&path, checked);
    }
}

#[test]
fn models_are_those_of_the_file() {
    for (path, json) in facts() {
        let mut checked = 0;
        for (id, theirs) in each(&json, "models") {
            let model = Model::named(id).unwrap_or_else(|| panic!("no model {id}"));
            let same = |field: &str, ours: f64| {
                if let Some(value) = theirs[field].as_f64() {
                    assert_eq!(ours, value, "{id}: {field}");
                }
            };
            same("layers", model.layers.into());
            same("hidden_size", model.hidden.into());
            same("attention_heads", model.attention.heads().into());
            same("intermediate_size", model.mlp_hidden.into());
            same("vocab_size", model.vocabulary.into());
            same("max_position_embeddings", model.context.into());
            same("params_total_derived", model.parameters());
            same("params_active_derived", model.active_parameters());
            same("weight_bytes_16bit_derived", 2.0 * model.parameters());
            same("kv_bytes_per_token_16bit_derived", 2.0 * model.kv_values_per_token());
            same("lora_qkvo_bytes_per_rank_16bit_derived", 2.0 * model.adapter_parameters_per_rank());
            if let Attention::Grouped { kv_heads, head_dim, .. } = model.attention {
                same("kv_heads", kv_heads.into());
                same("head_dim", head_dim.into());
                same("sliding_window", model.window.map_or(0.0, |w| w.tokens.into()));
            }
            if let Some(experts) = model.experts {
                same("experts", experts.count.into());
                same("experts_per_token", experts.per_token.into());
                same("shared_experts", experts.shared.into());
                same("dense_layers", experts.dense_layers.into());
                same("moe_intermediate_size", experts.hidden.into());
            }
            checked += 1;
        }
        servescope_tests::report_cases(&path, checked);
    }
}
