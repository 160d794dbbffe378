//! Any text as a config.json of Hugging Face: never a panic; a model that is read has a memory plan and times that are finite,
//! and survives the address.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_cost::{Batch, BatchCost};
use servescope_settings::model_config::ModelConfig;
use servescope_settings::scenario::{AdapterRanks, Scenario};
use servescope_settings::link;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(config) = ModelConfig::read("config.json", text) else { return };
    let mut scenario = Scenario::of_version(4);
    if config.apply(&mut scenario).is_ok() {
        assert_eq!(link::parse(&link::encode(&scenario)).0.to_json(), scenario.to_json());
        let plan = scenario.memory_plan(AdapterRanks::default());
        assert!(plan.weight_bytes.is_finite() && plan.kv_token_bytes > 0.0);
        let batch = Batch { decodes: 3, decode_kv_tokens: 900.0, ..Batch::default() };
        assert!(scenario.roofline().stage_time(&batch, true).first_us.is_finite());
    }
});
