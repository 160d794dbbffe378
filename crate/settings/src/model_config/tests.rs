//! Fields of real and of made-up files, what is rejected, and that every text is read or rejected.

use proptest::prelude::*;
use servescope_cost::models::{Attention, Experts, Model, WindowKind};
use servescope_testkit::cases;

use super::*;
use crate::scenario::AdapterRanks;

const LLAMA: &str = r#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
    "intermediate_size": 14336, "max_position_embeddings": 131072, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 128000}"#;

const QWEN3_MOE: &str = r#"{"model_type": "qwen3_moe", "decoder_sparse_step": 1, "head_dim": 128, "hidden_size": 2048,
    "intermediate_size": 6144, "max_window_layers": 48, "mlp_only_layers": [], "moe_intermediate_size": 768,
    "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
    "num_key_value_heads": 4, "sliding_window": null, "tie_word_embeddings": false, "use_sliding_window": false,
    "vocab_size": 151936, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}"#;

const GEMMA3: &str = r#"{"model_type": "gemma3", "vision_config": {"hidden_size": 1152}, "torch_dtype": "bfloat16",
    "text_config": {"model_type": "gemma3_text", "head_dim": 128, "hidden_size": 5376, "intermediate_size": 21504,
    "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16, "sliding_window": 1024,
    "vocab_size": 262400, "mystery": 7}}"#;

const GPT2: &str = r#"{"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_ctx": 1024, "vocab_size": 50257}"#;

/// Linear attention three times out of four, experts, and an NVFP4 checkpoint that keeps some modules.
const HYBRID: &str = r#"{"model_type": "qwen3_5_moe", "quantization_config": {"quant_algo": "NVFP4", "quant_method": "modelopt",
    "exclude_modules": ["lm_head", "*linear_attn*", "model.language_model.layers.3.self_attn*", "re:.*shared_(expert|experts).*"]},
    "text_config": {"hidden_size": 2048, "num_hidden_layers": 40, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
    "full_attention_interval": 4, "linear_num_value_heads": 32, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
    "linear_key_head_dim": 128, "linear_conv_kernel_dim": 4, "num_experts": 256, "num_experts_per_tok": 8,
    "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "vocab_size": 248322, "mamba_ssm_dtype": "float32"}}"#;

/// Blocks one by one, and latent attention.
const BLOCKS: &str = r#"{"model_type": "nemotron_h", "hidden_size": 2688, "hybrid_override_pattern": "MEM*-EMEM*", "num_hidden_layers": 10,
    "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "mamba_num_heads": 64, "mamba_head_dim": 64, "n_groups": 8,
    "ssm_state_size": 128, "conv_kernel": 4, "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856,
    "intermediate_size": 1856, "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 3712, "vocab_size": 131072,
    "kv_lora_rank": 512, "q_lora_rank": null, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "num_nextn_predict_layers": 1}"#;

fn scenario(text: &str) -> (Scenario, Vec<&'static str>) {
    let mut scenario = Scenario::of_version(4)
        .with(&[("scheduler.kind", "vllm_v1"), ("fleet.gpu", "h100_sxm"), ("workload.duration_s", "10")])
        .unwrap();
    let config = ModelConfig::read("config.json", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let notes = config.apply(&mut scenario).unwrap();
    (scenario, notes.into_iter().map(|note| note.code).collect())
}

fn grouped(heads: u32, kv_heads: u32, head_dim: u32) -> Attention {
    Attention::Grouped { heads, kv_heads, head_dim, gated: false }
}

#[test]
fn mixtures_windows_and_older_names_are_read() {
    let (own, notes) = scenario(QWEN3_MOE);
    assert_eq!(notes, ["config_known", "config_cost"]);
    let known = Model::named("qwen3-30b-a3b").unwrap();
    let model = own.deployment().model;
    assert_eq!((model.layers, model.hidden, model.attention), (known.layers, known.hidden, known.attention));
    assert_eq!((model.experts, model.vocabulary, model.mlp_hidden), (known.experts, known.vocabulary, 0));
    assert_eq!(own.choice(Id::Weights), "fp8");

    let (own, notes) = scenario(GEMMA3);
    assert_eq!(notes, ["config_assumed", "config_assumed", "config_ignored", "config_cost"]);
    let model = own.deployment().model;
    assert_eq!(model.attention, grouped(32, 16, 128));
    let window = model.window.unwrap();
    assert_eq!((window.kind, window.tokens, window.layers), (WindowKind::Sliding, 1024, 52));
    assert!(model.tied_embeddings && model.gated_mlp);

    let (own, notes) = scenario(GPT2);
    assert_eq!(notes, ["config_assumed", "config_assumed", "config_assumed", "config_cost"]);
    let model = own.deployment().model;
    assert_eq!((model.attention, model.mlp_hidden), (grouped(12, 12, 64), 3072));
    assert!(!model.gated_mlp && (model.parameters() / 124e6 - 1.0).abs() < 0.01, "{}", model.parameters());
}

#[test]
fn layers_of_several_kinds_are_read_one_by_one() {
    let model = scenario(HYBRID).0.deployment().model;
    let state = model.recurrent.unwrap();
    assert_eq!((model.full_layers(), state.layers, state.heads, state.state_bytes), (10, 30, 32, 4));
    let experts = model.experts.unwrap();
    assert_eq!(
        (experts.count, experts.shared, experts.shared_hidden, experts.dense_layers),
        (256, 1, 512, 0)
    );
    // Experts and nine of ten layers' attention are in 4.5 bits, the rest in 16.
    let share = model.unquantized;
    assert!((0.02..0.05).contains(&share), "{share}");
    let blocks = scenario(BLOCKS).0.deployment().model;
    let kinds = (blocks.full_layers(), blocks.recurrent_layers(), blocks.expert_layers());
    assert_eq!((kinds, blocks.layers_without_mixer, blocks.layers_without_mlp), ((2, 4, 3), 4, 6));
    assert!(matches!(blocks.attention, Attention::Latent { query_rank: 0, kv_rank: 512, .. }));
}

/// Names of modules: a part between dots, stars, and regular expressions with brackets; none of them takes long to read.
#[test]
fn a_checkpoint_may_name_its_modules_in_any_way() {
    let share = |ignore: &str| {
        let text = HYBRID.replace(r#""lm_head", "*linear_attn*""#, &format!("{ignore}, \"*linear_attn*\""));
        scenario(&text).0.deployment().model.unquantized
    };
    let usual = share(r#""lm_head""#);
    assert!(share(r#""self_attn""#) > usual);
    assert_eq!(share(r#""re:.*self_attn\\.(q|k|v|o)_proj$""#), share(r#""self_attn""#));
    assert_eq!(share(&format!("\"re:{}\"", "(".repeat(400))), usual);
    assert_eq!(share(&format!("\"{}\"", "*".repeat(100_000))), usual);
    assert!(share(&vec![r#""model.layers.0.mlp.experts""#; 9_000].join(", ")) >= usual);
}

#[test]
fn layers_without_experts_are_counted() {
    let with = |more: &str| {
        let text = QWEN3_MOE.replace(r#""mlp_only_layers": []"#, more);
        scenario(&text).0.deployment().model.experts
    };
    let dense = |experts: Option<Experts>| experts.unwrap().dense_layers;
    assert_eq!(dense(with(r#""mlp_only_layers": [0, 5]"#)), 2);
    assert_eq!(dense(with(r#""first_k_dense_replace": 3"#)), 3);
    let every = QWEN3_MOE.replace(r#""decoder_sparse_step": 1"#, r#""decoder_sparse_step": 2"#);
    assert_eq!(dense(scenario(&every).0.deployment().model.experts), 24);
    let shared = with(r#""shared_expert_intermediate_size": 3072"#);
    assert_eq!(shared.map(|experts| (experts.shared, experts.shared_hidden)), Some((1, 3072)));
}

#[test]
fn kv_and_adapter_bytes_follow_from_the_shape() {
    let mut own = scenario(LLAMA).0;
    own.set_text("model.kv_heads", "4").unwrap();
    // Keys and values of 32 layers with 4 heads of 128 at 16 bits.
    assert_eq!(own.kv_token_bytes(), f64::from(2 * 32 * 4 * 128 * 2));
    let per_rank = own.deployment().adapter_bytes_per_rank();
    // Queries and output of 4,096 each beside 4,096, keys and values of 512 beside it.
    assert_eq!(per_rank, 2.0 * 32.0 * f64::from(2 * (4096 + 4096) + 2 * (4096 + 512)));
}

#[test]
fn a_model_that_does_not_fit_says_how_much_is_missing() {
    let mut own = scenario(LLAMA).0;
    own.set_text("model.layers", "400").unwrap();
    let error = own.pool_tokens(AdapterRanks::default()).unwrap_err();
    assert_eq!(error.code, "does_not_fit");
    assert!(error.message.starts_with("fleet.model: own (400 × 4096) does not fit: "), "{}", error.message);
}

#[test]
fn what_is_wrong_is_told_with_field_bound_and_value() {
    let refusal = |from: &str, to: &str| {
        let error = ModelConfig::read("c.json", &LLAMA.replace(from, to)).unwrap_err().remove(0);
        (error.code, error.message)
    };
    let (code, message) = refusal("\"vocab_size\": 128000", "\"vocabulary\": 1");
    assert_eq!((code, &*message), ("config_missing", "c.json: vocab_size or padded_vocab_size is missing"));
    let (code, message) = refusal("\"num_hidden_layers\": 32", "\"num_hidden_layers\": 5000");
    assert_eq!(
        (code, &*message),
        ("config_out_of_range", "c.json: num_hidden_layers: 5000 is not between 1 and 1000")
    );
    let (code, message) = refusal("\"hidden_size\": 4096", "\"hidden_size\": \"wide\"");
    assert_eq!(
        (code, &*message),
        ("config_not_a_number", "c.json: hidden_size: a number expected, got \"wide\"")
    );
    let (code, _) = refusal("\"hidden_size\": 4096", "\"hidden_size\": 4099");
    assert_eq!(code, "config_not_a_number");
    let (code, message) = refusal("\"rope_theta\": 500000.0", "\"compress_ratios\": [0, 4]");
    assert!(
        code == "config_other_layers" && message.starts_with("c.json: compress_ratios: layers of a kind"),
        "{message}"
    );
    let (code, message) = refusal("\"rope_theta\": 500000.0", "\"kv_lora_rank\": 512");
    assert_eq!((code, &*message), ("config_missing", "c.json: qk_rope_head_dim is missing"));
    let (code, _) = refusal("\"rope_theta\": 500000.0", "\"layer_types\": [\"mamba\"]");
    assert_eq!(code, "config_kinds");
    assert_eq!(refusal("\"model_type\": \"llama\"", "\"model_type\": \"bert\"").0, "config_encoder");
    assert_eq!(refusal("\"rope_theta\": 500000.0", "\"hidden_size\": 64").0, "repeated_key");
    assert_eq!(refusal("\"model_type\"", "model_type").0, "bad_json");
    assert_eq!(ModelConfig::read("c.json", "[]").unwrap_err()[0].code, "config_no_object");
    assert_eq!(
        ModelConfig::read("c.json", &" ".repeat(MOST_BYTES + 1)).unwrap_err()[0].code,
        "config_too_long"
    );
}

#[test]
fn an_unknown_architecture_is_read_as_llama_with_a_note_and_what_is_ignored() {
    let text = LLAMA.replace("\"llama\"", "\"strange\"").replace("\"rope_theta\"", "\"strange_layers\"");
    let config = ModelConfig::read("c.json", &text).unwrap();
    let refusal: Vec<&str> = config.notes.iter().map(|note| &*note.message).collect();
    assert_eq!(refusal.len(), 2, "{refusal:?}");
    assert!(refusal[0].contains("\"strange\" is not known"), "{refusal:?}");
    assert_eq!(refusal[1], "c.json: these fields are ignored: strange_layers");
}

#[test]
fn dimensions_that_contradict_each_other_are_refused_and_leave_the_scenario_alone() {
    let text = QWEN3_MOE.replace("\"num_experts_per_tok\": 8", "\"num_experts_per_tok\": 200");
    let mut scenario = Scenario::of_version(4);
    let errors = ModelConfig::read("c.json", &text).unwrap().apply(&mut scenario).unwrap_err();
    assert_eq!(errors[0].path, "model.experts_per_token");
    assert_eq!(scenario, Scenario::of_version(4));
    let text = LLAMA.replace("\"num_key_value_heads\": 8", "\"num_key_value_heads\": 7");
    let errors = ModelConfig::read("c.json", &text).unwrap().apply(&mut scenario).unwrap_err();
    assert_eq!(errors[0].code, "kv_heads_not_shared");
}

/// A number, or what stands in its place in a broken file.
fn broken() -> impl Strategy<Value = String> {
    prop_oneof![
        (-3i64..2_000_000).prop_map(|x| x.to_string()),
        any::<f64>().prop_filter("JSON", |x| x.is_finite()).prop_map(|x| format!("{x:e}")),
        prop::sample::select(vec!["null", "true", "\"7\"", "[1]", "{}", "1e308", "0", "-0.0"])
            .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(cases(300, 10_000))]

    /// Whatever stands in some of the fields: an error, or a model whose plan and times are finite.
    #[test]
    fn no_config_leads_to_a_time_that_is_none(
        which in 0..6usize, changes in prop::collection::vec((any::<prop::sample::Index>(), broken()), 0..4),
        cut in prop::option::of(0..700usize),
    ) {
        let text = [LLAMA, QWEN3_MOE, GEMMA3, GPT2, HYBRID, BLOCKS][which];
        let mut json: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).unwrap();
        for (place, value) in &changes {
            let keys: Vec<String> = json.keys().cloned().collect();
            json.insert(place.get(&keys).clone(), serde_json::from_str(value).unwrap());
        }
        let mut text = serde_json::Value::Object(json).to_string();
        if let Some(cut) = cut.filter(|cut| *cut < text.len() && changes.is_empty()) {
            text.truncate((0..=cut).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0));
        }
        let mut scenario = Scenario::of_version(4);
        if let Ok(config) = ModelConfig::read("c.json", &text)
            && config.apply(&mut scenario).is_ok()
        {
            let plan = scenario.memory_plan(AdapterRanks::default());
            prop_assert!(plan.weight_bytes.is_finite() && plan.kv_token_bytes > 0.0 && plan.missing_bytes.is_finite());
            let batch = servescope_cost::Batch { decodes: 3, decode_kv_tokens: 900.0, ..Default::default() };
            let us = servescope_cost::BatchCost::stage_time(&scenario.roofline(), &batch, true).first_us;
            prop_assert!(us.is_finite() && us > 0.0, "{us}");
        }
    }
}
