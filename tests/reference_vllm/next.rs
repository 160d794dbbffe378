//! The runs of the folder `vllm-next`, which are of one engine or more and have what those of `vllm` have not: read in the form of
//! `vllm` where the engine follows them.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use servescope_tests::recorded_runs::list;

use super::chunks;

/// Kinds of runs by the start of their names.
const KINDS: [&str; 7] = ["spec", "pd", "offload", "dp_dense", "dp_moe", "streaming", "window"];

/// Every run of a known kind.
pub(crate) fn runs() -> Vec<PathBuf> {
    let root = servescope_tests::reference().join("vllm-next");
    let all =
        servescope_tests::files(&root, |name| Path::new(name).extension().is_some_and(|end| end == "json"));
    for path in &all {
        let name = servescope_tests::plain_name(path);
        let is_known = KINDS.iter().any(|kind| name.starts_with(&format!("{kind}_")));
        assert!(is_known, "{name} is of an unknown kind");
    }
    all
}

/// A run of one engine, of the ranks of one replica, or of prefill and decode engines, in the form of those of `vllm`, with a list of
/// iterations for each.
pub(crate) fn in_form_of_vllm(file: &Value) -> Value {
    if file["deployment"] == "pd" {
        return of_prefill_and_decode(file, list(file, "engines"));
    }
    let chunked;
    let file = if file["deployment"] == "streaming" {
        chunked = chunks::in_requests(file);
        &chunked
    } else {
        file
    };
    let engines = list(file, "engines");
    assert!(
        file["deployment"] == if engines.len() == 1 { "one" } else { "dp" },
        "an engine, or ranks of one replica"
    );
    assert!(engines.iter().all(|engine| *engine == engines[0]), "equal engines");
    let mut config = object(&engines[0]);
    config.insert("data_parallel_size".to_owned(), json!(engines.len()));
    for (key, otherwise) in
        [("lockstep", json!(false)), ("dp_sync_interval", json!(16)), ("clients", json!(1))]
    {
        config.insert(key.to_owned(), file.get(key).cloned().unwrap_or(otherwise));
    }
    if config["connector"].is_null() {
        for setting in ["connector", "role", "kv_load_failure_policy", "num_cpu_blocks", "lazy_offload"] {
            config.remove(setting);
        }
    } else {
        assert_eq!(config.remove("role"), Some(json!("kv_both")), "the host's memory is written and read");
        config.remove("kv_load_failure_policy");
        config.insert("transfer_us".to_owned(), file["transfer_us"].clone());
    }
    let of_engine =
        |own: &Value| -> Vec<Value> { own.as_array().expect("iterations").iter().map(iteration).collect() };
    let iterations: Vec<Vec<Value>> = list(file, "iterations").iter().map(of_engine).collect();
    let results: Vec<Value> = list(file, "results").iter().map(|own| result(own, &iterations)).collect();
    json!({
        "config": config, "law_us": file["law_us"], "requests": file["requests"], "iterations": iterations, "results": results,
    })
}

/// The settings of the prefill engine, and beside them under `decode` those of the decode engines; engines of a kind are equal.
fn of_prefill_and_decode(file: &Value, engines: &[Value]) -> Value {
    let of_role = |role: &str| -> Vec<&Value> {
        list(file, role).iter().map(|place| &engines[place.as_u64().expect("a place") as usize]).collect()
    };
    let [prefill, decode] = ["prefill", "decode"].map(|role| {
        let all = of_role(role);
        assert!(all.iter().all(|engine| *engine == all[0]), "equal engines of a role");
        let mut config = object(all[0]);
        assert_eq!(config.remove("connector"), Some(json!("NixlConnector")));
        let expected = if role == "prefill" { "kv_producer" } else { "kv_consumer" };
        assert_eq!(config.remove("role"), Some(json!(expected)));
        for setting in ["num_cpu_blocks", "lazy_offload"] {
            config.remove(setting);
        }
        config.insert("engines".to_owned(), json!(all.len()));
        config.insert("transfer_us".to_owned(), file["transfer_us"].clone());
        config
    });
    let mut config = prefill;
    config.insert("decode".to_owned(), json!(decode));
    let of_engine = |own: &Value| -> Vec<Value> {
        own.as_array().expect("iterations").iter().map(|own| pulls_are_loads(iteration(own))).collect()
    };
    let iterations: Vec<Vec<Value>> = list(file, "iterations").iter().map(of_engine).collect();
    let all: Vec<Value> = {
        let mut all = iterations.concat();
        all.sort_by(|one, other| start_us(one).total_cmp(&start_us(other)));
        all
    };
    let results: Vec<Value> =
        list(file, "results").iter().map(|own| result(own, std::slice::from_ref(&all))).collect();
    json!({
        "config": config, "law_us": file["law_us"], "requests": file["requests"], "iterations": iterations, "results": results,
    })
}

fn start_us(iteration: &Value) -> f64 {
    iteration["start_us"].as_f64().unwrap_or(f64::NAN)
}

fn pulls_are_loads(mut iteration: Value) -> Value {
    let pulls = iteration["pulls"].take();
    iteration["loads"] = pulls;
    iteration
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

fn iteration(iteration: &Value) -> Value {
    let member = |own: &Value| {
        let admitted = if own["admitted"] == true { "admitted" } else { "" };
        let padded = own["padded"] == true;
        json!([own["id"], own["tokens"], own["computed"], own["kind"], admitted, own["drafts"], padded])
    };
    let mut iteration = object(iteration);
    let scheduled: Vec<Value> = iteration["scheduled"].as_array().into_iter().flatten().map(member).collect();
    iteration.insert("scheduled".to_owned(), json!(scheduled));
    json!(iteration)
}

/// A result. That a request is first scheduled is when its batch is formed here, and when it starts in the runs of `vllm`.
fn result(result: &Value, iterations: &[Vec<Value>]) -> Value {
    let holds = |iteration: &&Value| list(iteration, "scheduled").iter().any(|own| own[0] == result["id"]);
    let engine = result["engine"].as_u64().unwrap_or(0) as usize;
    let first = iterations[engine].iter().find(holds);
    let time = |key: &str| first.map_or(Value::Null, |iteration| iteration[key].clone());
    // What decodes alone has no time at a prefill engine.
    let scheduled =
        [&result["first_scheduled_us"], &result["decode_scheduled_us"]].into_iter().find(|us| !us.is_null());
    assert_eq!(time("decided_us"), *scheduled.unwrap_or(&Value::Null), "request {}", result["id"]);
    let cached: Vec<u64> = list(result, "cached_tokens").iter().filter_map(Value::as_u64).collect();
    let mut result = object(result);
    result.insert("first_scheduled_us".to_owned(), time("start_us"));
    result.insert("cached_tokens_first".to_owned(), json!(cached.first()));
    result.insert("cached_tokens_all".to_owned(), json!(cached.iter().sum::<u64>()));
    json!(result)
}
