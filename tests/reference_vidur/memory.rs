//! The memory planner against the derived numbers of each run, and the blocks in use against `batches.csv.gz`.

use serde_json::Value;
use servescope_cost::memory_plan::ModelShape;
use servescope_cost::memory_plan::vidur::{Device, plan};

use super::cases;

/// Layers, hidden size, query heads, KV heads, hidden size of the MLP, of the models that runs were made for.
fn model(name: &str) -> ModelShape {
    let [layers, hidden, query_heads, kv_heads, mlp_hidden] = match name {
        "meta-llama/Llama-2-7b-hf" => [32, 4096, 32, 32, 11_008],
        "meta-llama/Llama-2-70b-hf" => [80, 8192, 64, 8, 28_672],
        "codellama/CodeLlama-34b-Instruct-hf" => [48, 8192, 64, 8, 22_016],
        "meta-llama/Meta-Llama-3-8B" => [32, 4096, 32, 8, 14_336],
        "meta-llama/Meta-Llama-3-70B" => [80, 8192, 64, 8, 28_672],
        "internlm/internlm-20b" => [60, 5120, 40, 40, 13_824],
        "Qwen/Qwen-72B" => [80, 8192, 64, 64, 24_576],
        other => panic!("the dimensions of {other} are not in this test"),
    };
    ModelShape { layers, hidden, query_heads, kv_heads, mlp_hidden, gated_mlp: true }
}

#[test]
fn blocks_and_slots_are_the_planners() {
    for case in cases() {
        let (flags, derived) = (&case.config["flags"], &case.config["derived"]);
        let number = |value: &Value, default: u32| value.as_u64().map_or(default, |n| n as u32);
        let text = |key: &str| flags[key].as_str().unwrap_or_default();
        let stages = number(&flags["replica_config_num_pipeline_stages"], 1);
        let max_tokens = number(&flags["trace_request_generator_config_max_tokens"], 4096);
        let device = Device {
            memory_gib: if text("replica_config_device") == "a40" { 45.0 } else { 80.0 },
            margin: flags["replica_config_memory_margin_fraction"].as_f64().unwrap_or(0.1),
            tensor_parallel: number(&flags["replica_config_tensor_parallel_size"], 1),
            stages,
        };
        let found = plan(&model(text("replica_config_model_name")), &device, max_tokens);
        let cap = number(&derived["batch_size_cap"], 128);
        let name = case.name();
        let slots = &derived["max_batch_size_memory_planner_capped"];
        assert_eq!(u64::from(found.slots.min(cap)), slots.as_u64().expect("slots"), "{name}: slots");
        let scheduler = text("replica_scheduler_config_type");
        if flags.get(format!("{scheduler}_scheduler_config_num_blocks")).is_none() {
            let blocks = found.blocks(max_tokens, number(&derived["block_size"], 16), stages);
            let expected = derived["num_blocks_per_replica"].as_u64().expect("blocks");
            assert_eq!(u64::from(blocks), expected, "{name}: blocks");
        }
        servescope_tests::told(&case.folder.join("config.json"), 2);
    }
}
