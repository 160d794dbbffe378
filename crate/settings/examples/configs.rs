use servescope_settings::model_config::ModelConfig;
use servescope_settings::scenario::{AdapterRanks, Scenario};
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let beside = path.replace(".json", ".hf_quant_config.json");
        let beside = std::fs::read_to_string(beside).ok();
        let name = std::path::Path::new(&path).file_name().unwrap().to_str().unwrap().to_owned();
        match ModelConfig::read_beside(&name, &text, beside.as_deref()) {
            Err(errors) => println!("{{\"file\":\"{name}\",\"error\":{:?}}}", errors.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("; ")),
            Ok(config) => {
                let mut s = Scenario::of_settings(&[("scheduler.kind", "vllm_v1"), ("cost.kind", "roofline"), ("fleet.gpu", "b300_sxm"), ("workload.adapters.count", "0")]).unwrap();
                let notes = match config.apply(&mut s) { Ok(n) => n, Err(e) => { println!("{{\"file\":\"{name}\",\"error\":{:?}}}", format!("apply {}", e[0].message)); continue } };
                let d = s.deployment();
                let m = d.model;
                let plan = s.memory_plan(AdapterRanks::default());
                let layers = f64::from(m.full_layers() - m.shared_kv_layers);
                println!("{}", serde_json::json!({"file": name, "parameters": m.parameters(), "active": m.active_parameters(), "weight_bytes": plan.weight_bytes,
                  "kv": layers * d.kv_bytes_per_layer(), "index": m.attention.indexer().map_or(0.0, |i| f64::from(i.layers) * i.kv_bytes()),
                  "window": m.window.map(|w| (w.layers - w.shared_kv_layers, w.tokens, d.window_kv_bytes_per_layer())), "state": m.recurrent.map_or(0.0, |r| f64::from(r.layers) * d.state_bytes_per_layer()),
                  "model": m.id, "weights": format!("{:?}", d.weights), "unq": m.unquantized, "notes": notes.iter().map(|n| n.message.clone()).collect::<Vec<_>>()}));
            }
        }
    }
}
