//! A model of one's own, described by its configuration file, beside the one of the catalogue.

use servescope_lab::run::Run;
use servescope_settings::model_config::ModelConfig;
use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;

const LLAMA: &str = r#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
    "intermediate_size": 14336, "max_position_embeddings": 131072, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 128256}"#;

fn scenario(text: &str) -> Scenario {
    let mut scenario = Scenario::of_version(4)
        .with(&[("scheduler.kind", "vllm_v1"), ("fleet.gpu", "h100_sxm"), ("workload.duration_s", "10")])
        .unwrap();
    let config = ModelConfig::read("config.json", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let notes = config.apply(&mut scenario).unwrap();
    assert_eq!(notes.into_iter().map(|note| note.code).collect::<Vec<_>>(), ["config_known", "config_cost"]);
    scenario
}

#[test]
fn a_model_of_the_catalogue_runs_alike_from_its_config() {
    let own = scenario(LLAMA);
    for cost in ["roofline", "kernels"] {
        let mut known = own.clone();
        known.set_text("cost.kind", cost).unwrap();
        assert_eq!(known.get(Id::FleetModel).to_text(), "llama-3.1-8b");
        // The defaults of one's own model are Llama-3.1-8B's.
        let mut own = known.clone();
        own.set_text("fleet.model", "own").unwrap();
        let run = |scenario: &Scenario| Run::simulate(scenario, None).unwrap().summary();
        let (own, known) = (run(&own), run(&known));
        assert_eq!(own.run.e2e_s.mean, known.run.e2e_s.mean, "{cost}");
        assert_eq!(own.run.kv.mean_usage, known.run.kv.mean_usage, "{cost}");
    }
}
