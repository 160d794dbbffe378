//! Exit codes, messages, and the same answer by every way in.

use std::path::Path;

use serde_json::Value;

use crate::{SLORA, folder, json, refused, servescope, stderr, stdout, summary, text};

#[test]
fn a_file_a_link_and_settings_give_the_same_digest() {
    let path = folder("same").join("scenario.json");
    std::fs::write(
        &path,
        r#"{"workload": {"rate_rps": 1.7, "arrivals": {"cv": 3}, "adapters": {"ranks": [64, 8]}}}"#,
    )
    .expect("written");
    let by_file = summary(&[text(&path)]);
    let by_link = summary(&["--link", "http://127.0.0.1:8080/#v=1&R=1.7&cv=3&ranks=64,8&lang=zh"]);
    let by_settings = summary(&[
        SLORA,
        "--set",
        "workload.rate_rps=1.7",
        "--set",
        "workload.arrivals.cv=3",
        "--set",
        "workload.adapters.ranks=64,8",
    ]);
    assert_eq!(by_file, by_link);
    assert_eq!(by_file, by_settings);
    assert_ne!(by_file["digest"], summary(&[SLORA])["digest"]);
}

#[test]
fn the_presets_of_the_page_run_in_the_terminal() {
    let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../static/presets");
    let mut count = 0;
    for entry in presets.read_dir().expect("a folder") {
        let path = entry.expect("a file").path();
        if path.file_name().is_some_and(|name| name != "index.json") {
            assert!(summary(&[text(&path)])["requests"]["offered"].as_u64() > Some(0), "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 9, "{count} presets");
}

#[test]
fn a_generated_file_simulates_to_the_same_digest() {
    let path = folder("generated").join("trace.csv");
    let set = [SLORA, "--set", "workload.arrivals.cv=5", "--set", "workload.max_tokens.kind=cap"];
    let output = servescope(&[&["generate", "-o", text(&path)], &set[..]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let direct = summary(&set);
    let through_file = summary(&[SLORA, "--trace", text(&path)]);
    assert_eq!(direct["digest"], through_file["digest"]);

    let vidur = path.with_file_name("vidur.csv");
    let output = servescope(&["convert", text(&path), "--to", "vidur", "-o", text(&vidur)]);
    assert!(output.status.success(), "{}", stderr(&output));
    let inspect = |path: &Path| -> Value {
        let output = servescope(&["inspect", "--json", text(path)]);
        serde_json::from_str(&stdout(&output)).expect("--json prints JSON")
    };
    assert_eq!(inspect(&vidur)["format"], "vidur");
    assert_eq!(inspect(&vidur)["gaps_s"], inspect(&path)["gaps_s"]);
    assert_eq!(inspect(&vidur)["requests"], 420);
}

#[test]
fn out_writes_every_file_of_the_contract() {
    let path = folder("out");
    let printed =
        summary(&[SLORA, "--out", text(&path), "--charts", text(&path), "--set", "workload.duration_s=30"]);
    let read = |name: &str| std::fs::read_to_string(path.join(name)).expect("the file is there");
    assert_eq!(serde_json::from_str::<Value>(&read("summary.json")).expect("JSON"), printed);
    let requests = read("requests.csv");
    assert!(requests.starts_with(
        "id,arrival_s,user,adapter,input_tokens,output_tokens,max_tokens,replica,outcome,scheduled_s,first_token_s,\
         finish_s,preemptions"
    ));
    assert_eq!(requests.lines().count(), 43);
    let iterations = printed["batch"]["iterations"].as_u64().expect("a number") as usize;
    assert_eq!(read("batches.csv").lines().count(), iterations + 1);
    let trace: Value = serde_json::from_str(&read("trace.json")).expect("the Chrome trace is JSON");
    assert!(trace["traceEvents"].as_array().is_some_and(|events| events.len() > 60));
    assert!(read("latency_cdf.svg").starts_with("<svg"));
    for key in [
        "requests",
        "makespan_s",
        "ttft_s",
        "tbt_s",
        "slo",
        "batch",
        "kv",
        "gpu",
        "adapters",
        "per_user",
        "warnings",
    ] {
        assert!(printed.get(key).is_some(), "{key}");
    }
}

#[test]
fn a_wrong_file_is_called_one_in_a_few_lines() {
    let folder = folder("wrong");
    let reported = |name: &str, content: &Value| {
        let path = folder.join(name);
        std::fs::write(&path, content.to_string()).expect("written");
        let output = servescope(&["simulate", text(&path)]);
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    let many: serde_json::Map<String, Value> =
        (0..700).map(|i| (format!("trace-{i}.csv"), serde_json::json!({"rows": i}))).collect();
    let one = reported("stats.json", &many.into());
    assert_eq!(one.lines().count(), 1, "{one}");
    assert!(one.contains("this is no Servescope scenario: 700 of its 700 fields"), "{one}");
    let worn: serde_json::Map<String, Value> =
        (0..9).map(|i| (format!("made_up_{i}"), "x".repeat(5000).into())).collect();
    let four = reported("worn.json", &serde_json::json!({"workload": worn}));
    assert_eq!(four.lines().count(), 4, "{four}");
    assert!(four.contains("and 6 more") && four.len() < 2000, "{four}");
}

#[test]
fn bad_input_is_told_with_its_place_and_exits_with_2() {
    let dir = folder("bad");
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).expect("written");
        path
    };
    let negative = file("negative.csv", b"arrival_s,input_tokens,output_tokens\n0,5,5\n1,-5,5\n");
    let binary = file("binary.csv", b"\x7fELF\x02\x01\x01\0\0\0");
    let empty = file("empty.csv", b"");
    let typo = file("typo.json", br#"{"workload": {"rate": 2}}"#);
    let broken = file("broken.json", b"{");
    let cases: &[(&[&str], &str)] = &[
        (
            &["simulate", "--set", "workload.rate_rps=-1"],
            "workload.rate_rps: -1 is not between 0.001 and 100000",
        ),
        (&["simulate", "--set", "workload.rate_rps"], "PATH=VALUE expected"),
        (&["simulate", "--set", "workload.rate=3"], "the nearest is workload.rate_rps"),
        (&["simulate", "--set", "workload.rate_rps=1000", "--set", "workload.duration_s=1e6"], "5000000"),
        (&["simulate", SLORA, "--set", "workload.duration_s=0.2"], "make no request"),
        (&["simulate", "--trace", text(&negative)], "row 3, column input_tokens: -5 is not between 1 and"),
        (&["simulate", "--trace", text(&binary)], "not a text file"),
        (&["simulate", "--trace", text(&empty)], "the file is empty"),
        (&["simulate", "--trace", "/no/such/file"], "/no/such/file"),
        (&["simulate", text(&typo)], "workload.rate: there is no such parameter"),
        (&["simulate", text(&broken)], "no JSON"),
        (&["simulate", "--link", "#R=x"], "a number expected"),
        (&["simulate", "--link", "#preset=mm1"], "known to the page alone"),
        (&["convert", text(&negative), "--to", "parquet"], "known are servescope, vidur"),
        (&["inspect", text(&binary)], "not a text file"),
        (&["simulate", "--no-such-option"], "no-such-option"),
        (&[], "Usage"),
    ];
    for (arguments, message) in cases {
        let output = servescope(arguments);
        let reported = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {reported}");
        assert!(reported.contains(message), "{arguments:?}: {reported}");
        assert!(output.stdout.is_empty(), "{arguments:?}: printed {}", stdout(&output));
    }
}

#[test]
fn a_trace_goes_through_every_format_and_failed_requests_are_told() {
    let dir = folder("formats");
    let path = |name: &str| dir.join(name);
    let log = path("log.csv");
    let rows = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
                5,GPT-4,472,18,490,API log\n7.25,GPT-4,9,0,9,API log\n45,ChatGPT,1087,230,1317,Conversation log\n";
    std::fs::write(&log, rows).expect("written");
    let inspected = servescope(&["inspect", text(&log), "--json"]);
    let json: Value = serde_json::from_str(&stdout(&inspected)).expect("JSON");
    assert_eq!((&json["kind"], &json["rows"], &json["requests"]), (&"burstgpt".into(), &3.into(), &2.into()));
    assert_eq!(json["warnings"][0]["code"], "failed_rows");
    assert_eq!(json["failed_rows_zero_response"], 1);
    let vidur = path("vidur.csv");
    assert!(servescope(&["convert", text(&log), "--to", "vidur", "-o", text(&vidur)]).status.success());
    let lengths = "arrived_at,num_prefill_tokens,num_decode_tokens\n5,472,18\n45,1087,230\n";
    assert_eq!(std::fs::read_to_string(&vidur).expect("written"), lengths);
    for format in [
        "servescope",
        "servescope_jsonl",
        "burstgpt",
        "mooncake",
        "bailian",
        "aibrix",
        "aiperf",
        "timed_trace",
    ] {
        let there = path(format);
        assert!(servescope(&["convert", text(&log), "--to", format, "-o", text(&there)]).status.success());
        let back = servescope(&["convert", text(&there), "--to", "vidur"]);
        assert_eq!(stdout(&back), lengths, "{format}");
        assert!(
            stdout(&servescope(&["inspect", text(&there)])).contains(&format!(" {format}\n")),
            "{format}"
        );
    }
    let without_times = path("lengths.csv");
    std::fs::write(&without_times, "num_prefill_tokens,num_decode_tokens\n10,5\n").expect("written");
    assert!(servescope(&["inspect", text(&without_times)]).status.success());
    let simulated = servescope(&["simulate", "--trace", text(&without_times)]);
    assert_eq!(simulated.status.code(), Some(2));
    assert!(stderr(&simulated).contains("no arrival times"));
}

#[test]
fn every_verb_has_help_and_the_schema_names_every_parameter() {
    for verb in
        ["generate", "simulate", "inspect", "convert", "concat", "merge", "bodies", "schema", "validate"]
    {
        let output = servescope(&[verb, "--help"]);
        assert!(output.status.success() && stdout(&output).contains("Usage"), "{verb}");
    }
    let schema: Value = serde_json::from_str(&stdout(&servescope(&["schema"]))).expect("JSON");
    let rate = &schema["properties"]["workload"]["properties"]["rate_rps"];
    assert_eq!((&rate["type"], &rate["default"]), (&"number".into(), &6.into()));
    assert_eq!(schema["properties"]["scheduler"]["additionalProperties"], false);
}

#[test]
fn a_fit_writes_a_twin_and_a_scenario_that_can_be_read_again() {
    let dir = folder("fit");
    let (source, twin) = (dir.join("source.csv"), dir.join("twin.csv"));
    let set = [
        "--set",
        "workload.rate_rps=5",
        "--set",
        "workload.duration_s=600",
        "--set",
        "workload.users.count=5",
    ];
    let output = servescope(&[&["generate", "-o", text(&source)], &set[..]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let output = servescope(&["fit", text(&source), "--json", "--model", "curve", "-o", text(&twin)]);
    assert!(output.status.success(), "{}", stderr(&output));
    let fitted: Value = serde_json::from_str(&stdout(&output)).expect("--json prints JSON");
    for model in ["poisson", "gamma", "gamma_mle", "weibull_mle", "curve", "bursts"] {
        assert!(fitted["models"][model]["distance"]["gaps"].as_f64().is_some_and(|d| d < 0.2), "{model}");
    }
    let inspected = servescope(&["inspect", "--json", text(&twin)]);
    let inspected: Value = serde_json::from_str(&stdout(&inspected)).expect("--json prints JSON");
    assert_eq!(inspected["requests"], fitted["models"]["curve"]["requests"][1]);
    assert_eq!(inspected["users"], 5);
    let scenario = dir.join("scenario.json");
    std::fs::write(&scenario, fitted["scenario"].to_string()).expect("written");
    assert!(
        summary(&[text(&scenario)])["requests"]["offered"]
            .as_u64()
            .is_some_and(|n| (2800..3200).contains(&n))
    );
    let reported = servescope(&["fit", text(&source)]);
    assert!(stdout(&reported).contains("bursts resampled"), "{}", stdout(&reported));
    for bad in [&["--model", "gama"][..], &["--format", "wildchat"], &["--bin-s", "0"]] {
        let output = servescope(&[&["fit", text(&source)], bad].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    }
}

#[test]
fn every_scheduler_runs_a_fleet() {
    let settings = |kind: &str| {
        let sets = [
            format!("scheduler.kind={kind}"),
            "fleet.replicas=3".into(),
            "fleet.router=least_outstanding".into(),
            "workload.rate_rps=3".into(),
            "workload.duration_s=60".into(),
        ];
        sets.iter().flat_map(|set| ["--set".to_owned(), set.clone()]).collect::<Vec<_>>()
    };
    let mut digests = Vec::new();
    for kind in ["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1"] {
        let arguments = settings(kind);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let found = summary(&[&[SLORA], &arguments[..]].concat());
        assert_eq!(found["requests"]["completed"], 180, "{kind}");
        digests.push(found["digest"].clone());
    }
    digests.sort_by_key(ToString::to_string);
    digests.dedup();
    assert_eq!(digests.len(), 7, "two schedulers gave the same outcomes");
}

#[test]
fn vidurs_flags_make_a_run() {
    let folder = folder("vidur");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
    write("trace.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,10,3\n0.5,20,2\n");
    write(
        "meta.json",
        r#"{"num_layers": 2, "tensor_parallel_size": 1, "nccl_cpu_launch_overhead_ms": 0,
        "nccl_cpu_skew_overhead_per_device_ms": 0, "attention_prefill_batching_overhead_fraction": 0,
        "attention_decode_batching_overhead_fraction": 0, "kv_cache_prediction_granularity": 64, "cpu_overhead_ms": 0}"#,
    );
    let operators =
        "attn_pre_proj,attn_rope,attn_post_proj,input_layernorm,mlp_up_proj,mlp_act,mlp_down_proj,add";
    write("token_ops.csv", &format!("num_tokens,{operators}\n8,1,1,1,1,1,1,1,1\n16,2,2,2,2,2,2,2,2\n"));
    write("attn_decode.csv", "batch_size,kv_cache_size,attn_decode_ms\n1,0,1\n1,64,2\n");
    write("attn_prefill_runs.csv", "kv_cache_size,chunk_from,chunk_to,attn_prefill_ms\n0,1,4096,4\n");
    let flags = |router: &str| {
        write(
            "config.json",
            &format!(
                r#"{{"flags": {{"replica_scheduler_config_type": "vllm", "global_scheduler_config_type": "{router}",
                "trace_request_generator_config_trace_file": "trace.csv"}}}}"#
            ),
        );
        let (config, tables) = (folder.join("config.json"), folder.clone());
        servescope(&["simulate", "--json", "--vidur", text(&config), "--tables", text(&tables)])
    };
    let output = flags("round_robin");
    assert!(output.status.success(), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    // Two layers of 8 operators at 2 ms and attention at 4 ms; then two decodes of 8 at 1 ms and attention at 2 ms.
    let first = found["ttft_s"]["max"].as_f64().expect("a number");
    assert!((first - 2.0 * 0.020).abs() < 1e-12, "{first}");
    assert!((found["makespan_s"].as_f64().expect("a number") - (0.5 + 0.040 + 0.020)).abs() < 1e-12);
    let output = flags("best");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("global_scheduler_config_type"), "{}", stderr(&output));
}

#[test]
fn the_bench_measures_the_scenario_that_it_is_given() {
    let reported = json(&["bench", SLORA, "--json", "--rounds", "1", "--set", "workload.duration_s=60"]);
    let run = summary(&[SLORA, "--set", "workload.duration_s=60"]);
    assert_eq!(reported["requests"], 84);
    assert_eq!(reported["iterations"], run["batch"]["iterations"]);
    assert_eq!(reported["ttft_p50_s"], run["ttft_s"]["p50"]);
    for part in ["generate_s", "simulate_s", "summarise_s"] {
        assert!(reported[part].as_f64().unwrap() > 0.0, "{reported}");
    }
    refused(&["bench", "--json", "--set", "workload.rate_rps=-1"]);
    refused(&["bench", "--json", "--rounds", "0"]);
}
