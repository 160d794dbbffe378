//! Vidur's flags: synthetic requests, the shipped profile, and flags that are not Vidur's.

use serde_json::{Value, json};

use crate::{file, folder, good, refused, summary};

fn config(name: &str, flags: &Value) -> String {
    file(&folder(name), "config.json", &flags.to_string())
}

fn requests(path: &str) -> f64 {
    summary(&["--vidur", path])["requests"]["completed"].as_f64().expect("a number")
}

#[test]
fn synthetic_requests_run_on_the_shipped_profile() {
    let path = config(
        "vidur_synthetic",
        &json!({
            "request_generator_config_type": "synthetic",
            "synthetic_request_generator_config_num_requests": 100,
            "length_generator_config_type": "zipf",
            "zipf_request_length_generator_config_theta": 0.6,
            "zipf_request_length_generator_config_max_tokens": 4096,
            "interval_generator_config_type": "gamma",
            "gamma_request_interval_generator_config_qps": 2.0,
            "replica_scheduler_config_type": "vllm",
            "metrics_config_output_dir": "out",
        }),
    );
    let run = summary(&["--vidur", &path]);
    assert_eq!(run["requests"]["completed"], 100);
    // A prompt for each 21st of the tokens.
    assert!((run["pd_ratio"].as_f64().expect("a number") - 20.0).abs() < 1.0);
    let (_, note) = good(&["simulate", "--vidur", &path]);
    assert!(note.contains("shipped profile of meta-llama/Llama-2-7b-hf on a100"), "{note}");
    // Defaults are Vidur's: 128 requests of 2048 and 512 tokens.
    let plain = config("vidur_defaults", &json!({}));
    assert!((requests(&plain) - 128.0).abs() < 0.5);
    assert_eq!(summary(&["--vidur", &plain])["pd_ratio"], 4.0);
    let timed = config("vidur_duration", &json!({"synthetic_request_generator_config_duration": 20}));
    assert!((3.0..30.0).contains(&requests(&timed)));
}

#[test]
fn files_of_lengths_and_gaps_are_read_beside_the_configuration() {
    let dir = folder("vidur_files");
    file(&dir, "lengths.csv", "num_prefill_tokens,num_decode_tokens\n100,10\n3000,1500\n");
    file(
        &dir,
        "gaps.csv",
        "arrival_time\n1970-01-04 12:00:01\n1970-01-04 12:00:02\n1970-01-04 12:00:05\n1970-01-04 12:00:09\n",
    );
    let flags = json!({
        "request_generator_config_type": "synthetic",
        "length_generator_config_type": "trace",
        "trace_request_length_generator_config_trace_file": "lengths.csv",
        "interval_generator_config_type": "trace",
        "trace_request_interval_generator_config_trace_file": "gaps.csv",
    });
    let path = file(&dir, "config.json", &flags.to_string());
    let (_, note) = good(&["simulate", "--vidur", &path]);
    assert!(note.contains("2 of 128 requests"), "{note}");
    assert!((requests(&path) - 2.0).abs() < 0.5);
    std::fs::remove_file(dir.join("gaps.csv")).expect("it is there");
    assert!(refused(&["simulate", "--vidur", &path]).contains("gaps.csv"));
}

#[test]
fn a_runs_own_nested_configuration_means_the_same() {
    let nested = json!({
        "seed": 42, "log_level": "info", "time_limit": 0,
        "cluster_config": {
            "num_replicas": 2,
            "replica_config": {"model_name": "microsoft/phi-2", "device": "a40", "world_size": 1,
                "model_config": {"num_layers": 32}},
            "global_scheduler_config": {"name": "lor"},
            "replica_scheduler_config": {"name": "sarathi", "chunk_size": 256},
        },
        "request_generator_config": {
            "name": "synthetic", "seed": 7, "num_requests": 50, "duration": null, "max_tokens": 4096,
            "length_generator_config": {"name": "uniform", "seed": 42, "max_tokens": 4096, "min_tokens": 100,
                "prefill_to_decode_ratio": 4.0},
            "interval_generator_config": {"name": "poisson", "seed": 42, "qps": 5.0},
        },
        "execution_time_predictor_config": {"name": "random_forrest", "k_fold_cv_splits": 10,
            "skip_cpu_overhead_modeling": true},
        "metrics_config": {"write_metrics": true},
    });
    let flat = json!({
        "cluster_config_num_replicas": 2,
        "replica_config_model_name": "microsoft/phi-2",
        "replica_config_device": "a40",
        "global_scheduler_config_type": "lor",
        "sarathi_scheduler_config_chunk_size": 256,
        "request_generator_config_type": "synthetic",
        "synthetic_request_generator_config_seed": 7,
        "synthetic_request_generator_config_num_requests": 50,
        "length_generator_config_type": "uniform",
        "uniform_request_length_generator_config_min_tokens": 100,
        "uniform_request_length_generator_config_prefill_to_decode_ratio": 4.0,
        "poisson_request_interval_generator_config_qps": 5.0,
        "seed": 42,
    });
    let [nested, flat] = [config("vidur_nested", &nested), config("vidur_flat", &flat)];
    assert_eq!(summary(&["--vidur", &nested])["digest"], summary(&["--vidur", &flat])["digest"]);
}

#[test]
fn what_is_not_vidurs_is_refused_by_name_and_what_it_ignores_is_told() {
    let unknown = config("vidur_unknown", &json!({"synthetic_request_generator_config_num_request": 5}));
    let printed = refused(&["simulate", "--vidur", &unknown]);
    assert!(printed.contains("synthetic_request_generator_config_num_request:"), "{printed}");
    let idle = config("vidur_idle", &json!({"gamma_request_interval_generator_config_cv": 3.0}));
    let (_, note) = good(&["simulate", "--vidur", &idle]);
    assert!(
        note.contains("without effect, as in Vidur: gamma_request_interval_generator_config_cv"),
        "{note}"
    );
    for (name, flags, why) in [
        (
            "scramble",
            json!({"length_generator_config_type": "zipf", "zipf_request_length_generator_config_scramble": true}),
            "scramble: true is not supported",
        ),
        (
            "theta",
            json!({"length_generator_config_type": "zipf", "zipf_request_length_generator_config_theta": 1.0}),
            "theta: 1 is not between 0 and 0.999",
        ),
        ("qps", json!({"poisson_request_interval_generator_config_qps": 0}), "qps: 0 is not between"),
        (
            "static",
            json!({"interval_generator_config_type": "static", "synthetic_request_generator_config_duration": 5}),
            "5 s never pass",
        ),
        (
            "many",
            json!({"synthetic_request_generator_config_duration": 1e8}),
            "makes 50000000 requests, at most 5000000",
        ),
        ("kind", json!({"request_generator_config_type": "magic"}), "none of synthetic, trace_replay"),
        ("profile", json!({"replica_config_model_name": "internlm/internlm2-20b"}), "there is "),
        ("degree", json!({"replica_config_tensor_parallel_size": 3}), "tensor_parallel_size 1, 2, 4"),
        ("replay", json!({"request_generator_config_type": "trace_replay"}), "--trace FILE is missing"),
    ] {
        let printed = refused(&["simulate", "--vidur", &config(&format!("vidur_bad_{name}"), &flags)]);
        assert!(printed.contains(why), "{name}: {printed}");
    }
    let named = config("vidur_both", &json!({"request_generator_config_type": "synthetic"}));
    let trace = file(
        &folder("vidur_both_trace"),
        "t.csv",
        "arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,5\n",
    );
    assert!(refused(&["simulate", "--vidur", &named, "--trace", &trace]).contains("drop one of the two"));
}
