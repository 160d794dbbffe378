//! Makes `tests/reference/`, the selection of reference vectors that every clone checks, from a folder with all of them:
//! `cargo run -p servescope-tests --example select_reference -- FOLDER`.
//!
//! One file for each rule that is tested. Left out: recorded measurements of other authors, and whatever was made from the
//! rows of real traces.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use serde_json::Value;

/// S-LoRA's and VTC's cases, and the key with the rule of a case.
const DECISIONS: [(&str, &str); 3] = [
    ("a_queue_decisions", "queue"),
    ("b_router_traces_slora", "scheduler"),
    ("b_router_traces_vtc_artifact", "scheduler"),
];

/// S-LoRA's and VTC's files with one rule each.
const WHOLE: [&str; 3] = ["c_trace_statistics", "d_metrics_slora", "d_fairness_vtc"];

/// S-LoRA's generated workloads: one or two values of each of the generator's parameters.
const WORKLOADS: [&str; 6] = [
    "n1_a1_R2_cv1_d300",
    "n200_a0.3_R2_cv1_d300",
    "n200_a1_R2_cv6_d300",
    "n32_a8_R2_cv8_d120",
    "n100_a1_R10_cv1_d300",
    "n400_a1_R1_cv1_d300",
];

/// Vidur's runs with generated lengths: each of its schedulers, restarts, pipeline stages, several replicas.
const RUNS: [&str; 8] = [
    "s02_vllm_7b_fixed_near",
    "s05_vllm_7b_heavy_smallmem",
    "s06_sarathi512_7b_uniform_near",
    "s11_orca_7b_uniform_near",
    "s13_lightllm_7b_uniform_near",
    "s15_ft_7b_fixed",
    "s18_sarathi512_70b_tp2pp2_uniform",
    "s21_vllm_7b_4rep_lor_heavy",
];

/// Vidur's operator tables that those runs name.
const TABLES: [&str; 2] = ["a100_Llama-2-7b-hf_tp1", "a100_Llama-2-70b-hf_tp2"];

/// Runs of SGLang's scheduler, one or two for each of its rules.
const SGLANG: [&str; 20] = [
    "worked_chunk",
    "worked_retract",
    "default_ratio",
    "chunked",
    "retract",
    "prefix_evict",
    "sessions_pressure",
    "evict_lfu",
    "lpm_128",
    "dfs_weight",
    "hrrn",
    "lora_base",
    "preempt_pressure",
    "queue_limit_priority",
    "interval",
    "mixed_pressure",
    "overlap_pressure",
    "overlap_aborts",
    "page_16_prefix",
    "ignore_eos_no_cache",
];

/// Runs of vLLM's scheduler, one or two for each of its rules.
const SCHEDULES: [&str; 19] = [
    "active_seqs_8",
    "async_2048",
    "kv_block_edges",
    "kv_pressure_isl",
    "long_prefill_256",
    "more_two_turns",
    "no_chunked_prefill",
    "over_max_model_len",
    "prefill_interval_4",
    "prefix_whole_prompt",
    "random_aborts_06",
    "random_aborts_14",
    "random_fcfs_14",
    "random_fcfs_18",
    "random_prefix_02",
    "random_prefix_12",
    "random_priority_06",
    "random_priority_20",
    "ties",
];

/// Runs of vLLM with groups of layers: memory that runs short, and a prefix cache.
const WINDOWS: [&str; 2] = ["window_prefix", "window_pressure"];

fn main() {
    let from = PathBuf::from(std::env::args_os().nth(1).expect("a folder with all reference vectors"));
    let to = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference");
    slora(&from.join("slora"), &to.join("slora"));
    aibrix(&from.join("aibrix"), &to.join("aibrix"));
    for run in RUNS {
        copy(&from.join("vidur").join(run), &to.join("vidur").join(run), &["timing.json"]);
    }
    for tables in TABLES {
        let part = Path::new("vidur/operator-tables").join(tables);
        copy(&from.join(&part), &to.join(&part), &[]);
    }
    // The folder may lack those that were run for this project (`own_*`), which are taken where they are.
    let is_chosen = |name: &str| SCHEDULES.contains(&name) || name.starts_with("own_");
    for path in
        servescope_tests::files(&from.join("vllm"), |name| name.strip_suffix(".json").is_some_and(is_chosen))
    {
        write(&to.join("vllm").join(servescope_tests::plain_name(&path)), &servescope_tests::text(&path));
    }
    for name in SGLANG.map(|name| format!("{name}.json")) {
        let path = servescope_tests::file(&from.join("sglang"), &name).expect("a run of SGLang");
        write(&to.join("sglang").join(name), &servescope_tests::text(&path));
    }
    for name in WINDOWS {
        let (folder, name) = (from.join("vllm-next"), format!("{name}.json"));
        let path = servescope_tests::file(&folder, &name).expect("a run with groups of layers");
        write(&to.join("vllm-next").join(name), &servescope_tests::text(&path));
    }
}

fn slora(from: &Path, to: &Path) {
    for (name, key) in DECISIONS {
        let mut rules: BTreeMap<String, String> = BTreeMap::new();
        let cases = servescope_tests::json_lines(&from.join(format!("{name}.jsonl")));
        for case in &cases {
            let rule = case[key].as_str().expect("each case names its rule").to_owned();
            let lines = rules.entry(rule).or_default();
            lines.push_str(&case.to_string());
            lines.push('\n');
        }
        for (rule, lines) in rules {
            write(&to.join(format!("{name}.{rule}.jsonl")), &lines);
        }
    }
    for name in WHOLE {
        let name = format!("{name}.jsonl");
        write(&to.join(&name), &servescope_tests::text(&from.join(&name)));
    }
    let (from, to) = (from.join("traces_seed42"), to.join("traces_seed42"));
    let wanted = |line: &&str| WORKLOADS.iter().any(|name| line.contains(&format!("\"{name}.csv\"")));
    let index = servescope_tests::text(&from.join("index.jsonl"));
    write(
        &to.join("index.jsonl"),
        &index.lines().filter(wanted).flat_map(|line| [line, "\n"]).collect::<String>(),
    );
    for name in WORKLOADS {
        let name = format!("{name}.csv");
        write(&to.join(&name), &servescope_tests::text(&from.join(&name)));
    }
}

fn aibrix(from: &Path, to: &Path) {
    for path in servescope_tests::files(from, |name| has_ending(name, "json")) {
        let mut file = servescope_tests::json(&path);
        let has_cases_key = file.is_object();
        if let Some(object) = file.as_object_mut() {
            object.remove("azure_rows");
        }
        let cases = if has_cases_key { &mut file["cases"] } else { &mut file };
        cases.as_array_mut().expect("a list of cases").retain(|case| !is_of_a_real_trace(case));
        write(&to.join(servescope_tests::plain_name(&path)), &file.to_string());
    }
}

fn is_of_a_real_trace(case: &Value) -> bool {
    case["input"]["trace"].is_string() || case["arguments"]["trace_type"] == "azure"
}

fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == ending)
}

/// Copies the files of a folder, but for those named.
fn copy(from: &Path, to: &Path, without: &[&str]) {
    for path in servescope_tests::files(from, |name| !has_ending(name, "md")) {
        let name = servescope_tests::plain_name(&path);
        if !without.contains(&name.as_str()) {
            write(&to.join(name), &servescope_tests::text(&path));
        }
    }
}

/// Writes a text, packed and without a date, so that equal texts are equal files.
fn write(path: &Path, text: &str) {
    let folder = path.parent().expect("a file lies in a folder");
    std::fs::create_dir_all(folder).expect("the folder can be made");
    let name = path.file_name().expect("a file has a name").to_string_lossy();
    let file = std::fs::File::create(folder.join(format!("{name}.gz"))).expect("the file can be written");
    let mut packed = GzBuilder::new().mtime(0).write(file, Compression::best());
    packed.write_all(text.as_bytes()).and_then(|()| packed.try_finish()).expect("the file can be written");
}
