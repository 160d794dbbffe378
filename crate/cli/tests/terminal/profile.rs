//! `servescope profile`: a profile from files, its error, and what is rejected.

use crate::{file, folder, good, refused};

/// mlp.csv, attention.csv, all_reduce.csv, send_recv.csv and cpu_overheads.csv, a few rows of each.
const FILES: &str = include_str!("../../../../tests/fuzz/corpus/profile/files");

fn files(name: &str) -> [String; 5] {
    let folder = folder(name);
    let mut parts = FILES.split("---\n");
    ["mlp.csv", "attention.csv", "all_reduce.csv", "send_recv.csv", "cpu_overheads.csv"]
        .map(|name| file(&folder, name, parts.next().expect("five files")))
}

#[test]
fn a_profile_is_fitted_and_its_error_told_by_operator() {
    let [mlp, attention, all_reduce, send_recv, cpu] = files("profile");
    let out = folder("profile-out").join("p.txt");
    let out = out.to_str().unwrap();
    let base = ["profile", "fit", "--mlp", &mlp, "--model", "a/b", "--gpu", "g", "--layers", "80", "-o", out];
    let more =
        ["--attention", &attention, "--all-reduce", &all_reduce, "--send-recv", &send_recv, "--cpu", &cpu];
    let (table, note) = good(&[&base[..], &more].concat());
    assert!(note.is_empty(), "{note}");
    for (degree, operator, origin) in [
        ("1", "mlp_up_proj", "measured"),
        ("1", "attn_decode", "modelled"),
        ("2", "attn_decode", "measured"),
        ("2", "all_reduce", "measured"),
        ("2", "schedule", "modelled"),
    ] {
        let row = table.lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
        let is_there = |row: Vec<&str>| row.starts_with(&[degree, operator, origin]);
        assert!(row.into_iter().any(is_there), "{degree} {operator} {origin}:\n{table}");
    }
    let profile = std::fs::read_to_string(out).unwrap();
    assert!(profile.starts_with("servescope-profile 1\ngpu g\nmodel a/b\nlayers 80 hidden 8192"));
    let (table, note) = good(&[&base[..], &["--tp", "1", "--attention", &attention]].concat());
    assert!(note.contains("no degree leaves as many heads"), "{note}");
    assert!(!table.contains("all_reduce"), "{table}");
}

#[test]
fn the_operators_of_a_profile_are_told_with_the_sizes_of_their_inputs() {
    let [mlp, attention, all_reduce, send_recv, _] = files("profile-operators");
    let out = folder("profile-operators-out");
    let [profile, table] = ["p.txt", "operators.csv"].map(|name| out.join(name).to_str().unwrap().to_owned());
    let fit =
        ["profile", "fit", "--mlp", &mlp, "--model", "a/b", "--gpu", "g", "--layers", "80", "-o", &profile];
    let more = ["--attention", &attention, "--all-reduce", &all_reduce, "--send-recv", &send_recv];
    good(&[&fit[..], &more].concat());
    good(&["profile", "operators", "--profile", &profile, "-o", &table]);
    let own = std::fs::read_to_string(&table).unwrap();
    assert!(own.lines().any(|row| row.starts_with("mlp_up_proj,linear,measured,1,1,,,,")), "{own}");
    assert!(own.lines().any(|row| row.starts_with("attn_decode,decode_attention,measured,2,,,1,")), "{own}");
    let (shipped, _) = good(&["profile", "operators", "--gpu", "a100_80_sxm", "--model", "llama-2-7b"]);
    assert!(shipped.contains("\ninput_layernorm,pointwise,measured,1,1,,,,"), "{shipped}");
    let error = refused(&["profile", "operators", "--gpu", "a40", "--model", "gpt-5"]);
    assert!(error.contains("no profile of gpt-5 on a40"), "{error}");
}

#[test]
fn bad_profiling_data_is_refused_with_its_place() {
    let [mlp, _, all_reduce, ..] = files("profile-bad");
    let base = ["profile", "fit", "--model", "a/b", "--gpu", "g", "-o", "/nowhere/p.txt"];
    let printed = refused(&[&base[..], &["--mlp", &mlp]].concat());
    assert!(printed.contains("--layers N is missing"), "{printed}");
    let printed = refused(&[&base[..], &["--layers", "80", "--mlp", &all_reduce]].concat());
    assert!(printed.contains("there is no column num_tokens"), "{printed}");
    let printed = refused(&[&base[..], &["--layers", "80", "--mlp", &mlp]].concat());
    assert!(printed.contains("all_reduce.csv") && printed.contains("send_recv.csv"), "{printed}");
    let printed = refused(&[&base[..], &["--layers", "80", "--mlp", &mlp, "--tp", "3"]].concat());
    assert!(printed.contains("tp: a degree that mlp.csv holds"), "{printed}");
    let printed = refused(&["profile", "build", "/nowhere", "-o", "/nowhere"]);
    assert!(printed.contains("there is no compute/GPU/ORG/MODEL/mlp.csv"), "{printed}");
}

/// Settings of a short run with timed operators.
const TIMED: [&str; 12] = [
    "--set",
    "fleet.gpu=a100_80_sxm",
    "--set",
    "scheduler.kind=vllm_v1",
    "--set",
    "cost.kind=profile",
    "--set",
    "fleet.model=llama-2-7b",
    "--set",
    "workload.duration_s=20",
    "--set",
    "workload.adapters.count=0",
];

fn shipped() -> String {
    format!("{}/../../static/profiles/a100_Llama-2-7b-hf.txt", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_profile_of_ones_own_stands_for_the_shipped_one() {
    let own = shipped();
    let run = |more: &[&str]| -> serde_json::Value {
        let (out, note) = good(&[&["simulate"], &TIMED[..], &["--json"], more].concat());
        // A profile of one's own stands for that of any model.
        assert!(note.lines().all(|line| line.contains("on requests: fleet.model (")), "{note}");
        serde_json::from_str(&out).unwrap()
    };
    let shipped = run(&[]);
    assert_eq!(run(&["--profile", &own])["digest"], shipped["digest"]);
    let folder = folder("profile-own");
    let slower = std::fs::read_to_string(&own).unwrap().replacen("layers 32", "layers 64", 1);
    let slower = file(&folder, "slower.txt", &slower);
    let twice = run(&["--profile", &slower]);
    let mean = |json: &serde_json::Value| json["tbt_s"]["mean"].as_f64().unwrap();
    assert!(mean(&twice) > 1.5 * mean(&shipped), "{} {}", mean(&twice), mean(&shipped));

    let capacity = |more: &[&str]| {
        let goal = ["--set", "capacity.ttft_s=2", "--set", "capacity.tolerance=0.2", "--json"];
        let (out, _) = good(&[&["capacity"], &TIMED[..], &goal, more].concat());
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        json["ranking"][0]["capacity"]["rate_rps"].as_f64().unwrap()
    };
    assert!(capacity(&["--profile", &slower]) < 0.8 * capacity(&[]));
    assert_eq!(capacity(&["--profile", &own]).to_bits(), capacity(&[]).to_bits());
}

#[test]
fn a_profile_that_cannot_be_used_is_told() {
    let folder = folder("profile-own-bad");
    let own = shipped();
    let text = std::fs::read_to_string(&own).unwrap();
    let bad = file(&folder, "bad.txt", &text.replacen("hidden 4096", "hidden fish", 1));
    let printed = refused(&[&["simulate"], &TIMED[..], &["--profile", &bad]].concat());
    assert!(printed.contains("bad.txt: row 4, column hidden") && printed.contains("fish"), "{printed}");
    let degree = ["--set", "fleet.tensor_parallel=3", "--profile", &own];
    let printed = refused(&[&["simulate"], &TIMED[..], &degree].concat());
    assert!(printed.contains("there is fleet.tensor_parallel 1, 2, 4, 8"), "{printed}");
    let printed = refused(&[&["capacity"], &TIMED[..], &["--profile", "/nowhere.txt"]].concat());
    assert!(printed.contains("/nowhere.txt"), "{printed}");
    let (_, note) = good(&["simulate", "--profile", &own, "--json"]);
    assert!(note.contains("only where cost.kind is profile"), "{note}");
}

/// Qwen2.5-7B on two GPUs: 14 query and 2 KV heads of 128 on each, a gated MLP of 18,944.
#[test]
fn what_to_time_for_a_model_is_told() {
    let (table, _) =
        good(&["profile", "needs", "--set", "fleet.model=qwen2.5-7b", "--tp", "2", "--max-tokens", "64"]);
    for row in [
        "mlp.csv,attn_pre_proj,2,[tokens x 3584] x [3584 x 2304],tokens 1 2 4 8 16 32 64",
        "mlp.csv,mlp_up_proj,2,[tokens x 3584] x [3584 x 18944],tokens 1 2 4 8 16 32 64",
        "mlp.csv,mlp_down_proj,2,[tokens x 9472] x [9472 x 3584],tokens 1 2 4 8 16 32 64",
        "all_reduce.csv,all_reduce,2,over 2 GPUs,bytes 7168 14336 28672 57344 114688 229376 458752",
    ] {
        assert!(table.contains(row), "{row}\n{table}");
    }
    assert!(!good(&["profile", "needs", "--set", "fleet.model=phi-2"]).0.contains("all_reduce"));
    let experts = refused(&["profile", "needs", "--set", "fleet.model=mixtral-8x7b"]);
    assert!(experts.contains("experts"), "{experts}");
    assert!(refused(&["profile", "needs", "--tp", "5"]).contains("heads cannot be shared"));
}
