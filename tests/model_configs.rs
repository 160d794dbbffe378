//! The `config.json` of models that people serve, read as a person's own: weights, and the KV cache and state of a request.
//!
//! A line of `data/model_configs.jsonl.gz` has the text of the file, that of the `hf_quant_config.json` beside it where there is
//! one, and what was counted from the modules that `transformers` 5.24 builds from it: parameters, bytes of the weights in
//! the formats of the file, KV bytes of a token at all layers that keep the whole context, groups of layers with a window (layers,
//! tokens, bytes of a token in a layer), bytes of the state of a request. `published` is the number of parameters that the
//! model's card, its files or its name give.

use std::path::Path;

use serde_json::Value;
use servescope_settings::model_config::ModelConfig;
use servescope_settings::scenario::{AdapterRanks, Scenario};

/// Files that are refused: a mixer whose cost no model here computes.
const REFUSED: [&str; 6] = [
    "deepseek-ai/DeepSeek-V4-Flash",
    "deepseek-ai/DeepSeek-V4-Pro",
    "nvidia/DeepSeek-V4-Flash-NVFP4",
    "nvidia/DeepSeek-V4-Pro-NVFP4",
    "sgl-project/DeepSeek-V4-Flash-FP8",
    "sgl-project/DeepSeek-V4-Pro-FP8",
];
/// Files whose published number of parameters is another: it counts a part that is left out here (the encoder of images, layers
/// that draft, embeddings by layer), or is a name that was rounded. The count from the modules holds for them.
const PUBLISHED_OTHERWISE: [&str; 10] = [
    "Qwen/Qwen3-VL-2B-Instruct",
    "Qwen/Qwen3-VL-32B-Instruct",
    "Qwen/Qwen3-VL-32B-Thinking",
    "Qwen/Qwen3-VL-8B-Instruct",
    "XiaomiMiMo/MiMo-7B-Base",
    "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
    "google/gemma-3-4b-it",
    "google/gemma-4-E2B-it",
    "google/gemma-4-E4B-it",
    "ibm-granite/granite-4.0-h-1b",
];
/// Files with an indexer beside attention that is not latent: its keys are left out, and a note names the field.
const INDEX_LEFT_OUT: [&str; 2] = ["MiniMaxAI/MiniMax-M3", "nvidia/MiniMax-M3-NVFP4"];

fn lines() -> (std::path::PathBuf, Vec<Value>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/model_configs.jsonl.gz");
    let lines = servescope_tests::json_lines(&path);
    (path, lines)
}

fn own_scenario() -> Scenario {
    let settings = [
        ("scheduler.kind", "vllm_v1"),
        ("cost.kind", "roofline"),
        ("fleet.gpu", "b300_sxm"),
        ("workload.adapters.count", "0"),
    ];
    Scenario::of_version(4).with(&settings).expect("these settings are known")
}

fn number(line: &Value, name: &str) -> f64 {
    line[name].as_f64().unwrap_or_else(|| panic!("{}: no {name}", line["model"]))
}

/// What is wrong with a file that was read.
fn differences(name: &str, line: &Value, config: &ModelConfig) -> Vec<String> {
    let mut scenario = own_scenario();
    if let Err(errors) = config.apply(&mut scenario) {
        return errors.into_iter().map(|error| error.message).collect();
    }
    let deployment = scenario.deployment();
    let model = deployment.model;
    let plan = scenario.memory_plan(AdapterRanks::default());
    let layers = f64::from(model.full_layers() - model.shared_kv_layers);
    let index =
        model.attention.indexer().map_or(0.0, |indexer| f64::from(indexer.layers) * indexer.kv_bytes());
    let state =
        model.recurrent.map_or(0.0, |layers| f64::from(layers.layers) * deployment.state_bytes_per_layer());
    let window = model.window.map(|window| {
        let layers = f64::from(window.layers - window.shared_kv_layers);
        [layers, f64::from(window.tokens), deployment.window_kv_bytes_per_layer()]
    });
    let windows: Vec<Vec<f64>> = serde_json::from_value(line["windows"].clone()).expect("lists of numbers");
    let mut wrong = Vec::new();
    let mut near = |name: &str, ours: f64, theirs: f64, share: f64| {
        if (ours - theirs).abs() > share * theirs.abs() {
            wrong.push(format!("{name} {ours}, not {theirs} ({:+.2} %)", 100.0 * (ours / theirs - 1.0)));
        }
    };
    near("parameters", model.parameters(), number(line, "parameters"), 0.02);
    near("active parameters", model.active_parameters(), number(line, "active"), 0.03);
    near("weight bytes", plan.weight_bytes, number(line, "weight_bytes"), 0.02);
    near(
        "KV bytes a token",
        layers * deployment.kv_bytes_per_layer(),
        number(line, "kv_bytes_per_token"),
        0.0,
    );
    if INDEX_LEFT_OUT.contains(&name) {
        let told = config.notes.iter().any(|note| note.message.contains("sparse_attention_config"));
        assert!(told && index == 0.0, "{name}: {:?}", config.notes);
    } else {
        near("index bytes a token", index, number(line, "index_bytes_per_token"), 0.0);
    }
    near("state bytes", state, number(line, "state_bytes"), 0.0);
    let published = line["published"].as_f64().filter(|_| !PUBLISHED_OTHERWISE.contains(&name));
    near("published parameters", model.parameters(), published.unwrap_or(model.parameters()), 0.02);
    if windows != window.map(|window| window.to_vec()).into_iter().collect::<Vec<_>>() {
        wrong.push(format!("windows {window:?}, not {windows:?}"));
    }
    wrong
}

#[test]
fn configs_of_models_that_people_serve_are_read_and_their_memory_is_right() {
    let (path, lines) = lines();
    let mut read = 0;
    let mut wrong = Vec::new();
    for line in &lines {
        let name = line["model"].as_str().expect("a name");
        let text = line["config"].as_str().expect("a text");
        match ModelConfig::read_beside("config.json", text, line["beside"].as_str()) {
            Ok(config) => {
                read += 1;
                assert!(!REFUSED.contains(&name), "{name} is read now");
                let found = differences(name, line, &config);
                if !found.is_empty() {
                    wrong.push(format!("{name}: {}", found.join("; ")));
                }
            }
            Err(errors) => {
                assert_eq!(errors.len(), 1, "{name}: one sentence, not {errors:?}");
                println!("{name} is refused: {}", errors[0].message);
                if !REFUSED.contains(&name) {
                    wrong.push(format!("{name}: {}", errors[0].message));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{read} of {} read", lines.len());
    assert!(10 * read > 9 * lines.len(), "{read} of {} read", lines.len());
    servescope_tests::report_cases(&path, lines.len());
}
