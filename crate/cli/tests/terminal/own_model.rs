//! `--model-config`: a model of one's own from its config.json.

use crate::{SLORA, file, folder, good, json, refused};

const CONFIG: &str = include_str!("../../../../tests/fuzz/corpus/model_config/llama.json");
const RUN: [&str; 9] = [
    "simulate",
    SLORA,
    "--set",
    "scheduler.kind=vllm_v1",
    "--set",
    "fleet.gpu=h100_sxm",
    "--set",
    "workload.duration_s=10",
    "--json",
];

fn config(name: &str, text: &str) -> String {
    file(&folder(name), "config.json", text)
}

#[test]
fn a_config_gives_the_digest_of_its_dimensions_and_of_its_model() {
    let path = config("own-model", CONFIG);
    let (_, note) = good(&[&RUN[..], &["--model-config", &path]].concat());
    assert!(note.contains("cost.kind: roofline in place of linear"), "{note}");
    let summary = json(&[&RUN[..], &["--model-config", &path]].concat());
    let digest =
        |more: &[&str]| json(&[&RUN[..], &["--set", "cost.kind=roofline"], more].concat())["digest"].clone();
    assert_eq!(summary["digest"], digest(&["--set", "fleet.model=own"]));
    assert_eq!(summary["digest"], digest(&["--set", "fleet.model=llama-3.1-8b"]));
    let own = digest(&["--model-config", &path, "--set", "fleet.model=own", "--set", "model.layers=16"]);
    assert_ne!(summary["digest"], own);
    // The file is of a model of the catalogue; taken for one of its own there is no measurement of it.
    let own = ["--model-config", &path, "--set", "fleet.model=own"];
    let summary = json(&[&RUN[..], &own].concat());
    assert_eq!(summary["expected_error"]["of"], "models");
    assert!(summary["expected_error"]["models"]["count"].as_u64().unwrap() >= 3);
    let (_, note) = good(&[&RUN[..], &own, &["--set", "cost.kind=kernels"]].concat());
    assert!(!note.contains("cost.kind"), "{note}");
    let (table, _) = good(&[&RUN[..8], &own].concat());
    assert!(table.contains("no measurement of this model; error of"), "{table}");
    let fitted = "fitted to other deployments of these models";
    assert!(!table.contains(fitted), "{table}");
    let kernels = ["--set", "cost.kind=kernels"];
    let (table, _) = good(&[&RUN[..8], &own, &kernels].concat());
    assert!(table.contains(fitted), "{table}");
}

#[test]
fn a_bad_config_is_refused_with_its_field() {
    let path = config("own-model-bad", &CONFIG.replace("\"vocab_size\": 128256", "\"vocab_size\": -1"));
    let printed = refused(&[&RUN[..], &["--model-config", &path]].concat());
    assert!(printed.contains("config.json: vocab_size: -1 is not between 1 and 10000000"), "{printed}");
    let path =
        config("own-model-large", &CONFIG.replace("\"num_hidden_layers\": 32", "\"num_hidden_layers\": 900"));
    let printed = refused(&[&RUN[..], &["--model-config", &path]].concat());
    assert!(
        printed.contains("own (900 × 4096) does not fit") && printed.contains("GB are missing on each"),
        "{printed}"
    );
}
