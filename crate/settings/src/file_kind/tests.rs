use proptest::prelude::*;

use super::*;
use crate::parameters::{Id, Value};
use crate::scenario::Scenario;

fn kind(text: &str) -> FileKind {
    recognise(text.as_bytes()).unwrap_or_else(|unknown| panic!("{}: {text}", unknown.text())).kind
}

#[test]
fn every_kind_is_known_by_its_keys() {
    let cases = [
        (r#"{"workload": {"rate_rps": 3}}"#, FileKind::Scenario),
        ("{}", FileKind::Scenario),
        (r#"{"title": "a preset", "scenario": {"seed": 1}}"#, FileKind::Scenario),
        (r#"{"version": 1, "scenario": {}, "steps": [], "format": "servescope"}"#, FileKind::Scenario),
        ("arrival_s,user,input_tokens,output_tokens\n0,0,1,1\n", FileKind::Trace(Format::Servescope)),
        (
            r#"{"timestamp": 0, "input_length": 3, "output_length": 4, "hash_ids": [1"#,
            FileKind::Trace(Format::TimedTrace),
        ),
        (r#"[{"timestamp": 0, "requests": []}]"#, FileKind::Trace(Format::Aibrix)),
        ("[\n{\n\"id\": \"a\", \"conversations\": [{\"from\"", FileKind::Lengths(Format::Conversations)),
        (
            r#"{"custom_id": "r1", "method": "POST", "url": "/v1", "body": {}}"#,
            FileKind::Lengths(Format::OpenAiBatch),
        ),
        (r#"{"spans": [{"attributes": {}}]}"#, FileKind::Trace(Format::OtelSpans)),
        ("client_id,window_start_s,rate,cv,pattern\n", FileKind::Clients(Format::ServeGen)),
        (
            r#"{"date": "x", "model_id": "m", "num_prompts": 3, "request_rate": Infinity, "ttfts": [NaN"#,
            FileKind::Result(Tool::VllmBench),
        ),
        (
            r#"{"backend": "sglang", "request_rate": Infinity, "request_throughput": 3, "total_output_tokens_retokenized": 1"#,
            FileKind::Result(Tool::SglangBench),
        ),
        (r#"{"metadata": {}, "benchmarks": [{"requests": {}"#, FileKind::Result(Tool::GuideLlm)),
        (r#"{"load_summary": {"count": 3}, "successes": {}}"#, FileKind::Result(Tool::InferencePerf)),
        (
            r#"{"request_throughput": {"unit": "r/s", "avg": 2}, "request_latency": {"unit": "ms", "avg": 3}}"#,
            FileKind::Result(Tool::GenAiPerf),
        ),
        (r#"{"version": "0.2", "results": {"request_performance": {}}}"#, FileKind::Result(Tool::LlmD)),
        (
            r#"{"version": "0.1", "scenario": {}, "metrics": {"requests": {}, "latency": {}}}"#,
            FileKind::Result(Tool::LlmD),
        ),
        (
            "metrics:\n  latency:\n    request_latency: {mean: 1}\n  requests:\n    input_length:\n",
            FileKind::Result(Tool::LlmD),
        ),
        (
            "scenario:\n  run: |\n    vllm serve m\nresults: {request_performance: {}}\n",
            FileKind::Result(Tool::LlmD),
        ),
        ("services:\n  llm:\n    image: vllm/vllm-openai:v1\n", FileKind::LaunchLine(Server::Vllm)),
        (
            r#"[{"start_time": 1, "end_time": 2, "request": "", "info": {}}]"#,
            FileKind::Result(Tool::InferencePerfRequests),
        ),
        (r#"{"arrival_time_ns": 1, "sub_requests": []}"#, FileKind::Trace(Format::LlmServingSim)),
        (
            "instance id,request id,model,input,output,arrival,latency,TTFT,ITL\n",
            FileKind::Result(Tool::ServingSim),
        ),
        (r#"{"architectures": ["X"], "model_type": "llama"}"#, FileKind::ModelConfig),
        (r#"{"peft_type": "LORA", "r": 64, "lora_alpha": 16}"#, FileKind::AdapterConfig),
        ("servescope-profile 1\n", FileKind::OperatorTable),
        ("a,time_stats.mlp_up_proj.median\n", FileKind::OperatorTable),
        ("vllm serve m --max-num-seqs 3", FileKind::LaunchLine(Server::Vllm)),
        (
            "#!/bin/sh\nexport A=1\npython3 -m sglang.launch_server \\\n  --model-path m\n",
            FileKind::LaunchLine(Server::Sglang),
        ),
        ("https://x.test/a/#v=3&R=2", FileKind::Link),
        ("#v=3&R=2", FileKind::Link),
        (include_str!("../../../../static/patterns/traffic_wave.json"), FileKind::Curve(CurveForm::Pattern)),
        (
            r#"{"A": 1, "B": 2, "sigma": 0.1, "only_rise": false, "period": 3}"#,
            FileKind::Curve(CurveForm::Pattern),
        ),
        ("\"Time\",\"Success\"\n2025-03-01 10:00:00,2\n", FileKind::Curve(CurveForm::Rates)),
        ("Time,requests/s\n1740823200000,2\n", FileKind::Curve(CurveForm::Rates)),
        ("startTime,promptTokens,completionTokens\n2025-03-01T10:00:00+01:00,8,1\n", FileKind::Table),
        ("{\"ts\": 3, \"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 4}}\n", FileKind::Table),
        (r#"{"digest": "0", "requests": {}, "makespan_s": 3}"#, FileKind::Summary),
    ];
    for (text, wanted) in cases {
        assert_eq!(kind(text), wanted, "{text}");
        let found = recognise(text.as_bytes()).unwrap();
        assert!(!found.keys.is_empty(), "{text}");
        assert!(found.kind.command("FILE", text).starts_with("servescope "), "{text}");
    }
}

#[test]
fn what_is_of_no_known_kind_is_described() {
    let looks = |bytes: &[u8]| recognise(bytes).map_err(|unknown| (unknown.looks, unknown.keys.join(" ")));
    let known = |looks: &'static str, keys: &str| Err((looks, keys.to_owned()));
    assert_eq!(looks(b""), known("empty", ""));
    assert_eq!(looks(b" \n"), known("empty", ""));
    assert_eq!(looks(b"\x00\x01"), known("binary", ""));
    assert_eq!(looks(b"\xff"), known("binary", ""));
    assert_eq!(looks(br#"{"name": "x", "version": 3}"#), known("json", "name version"));
    assert_eq!(looks(b"[1, 2]"), known("json", "[1, 2]"));
    assert_eq!(looks(b"a,b\n1,2\n"), known("table", "a b"));
    assert_eq!(looks(b"apiVersion: v1\nkind: [Pod]\n"), known("yaml", "apiVersion kind"));
    assert_eq!(looks(b"dear reader"), known("text", "dear reader"));
    assert_eq!(looks(b"https://x.test/"), known("text", "https://x.test/"));
}

#[test]
fn a_kind_is_decided_from_the_head_of_a_long_file() {
    let long = format!(r#"{{"model_id": "m", "num_prompts": 9, "input_lens": [{}1]}}"#, "1, ".repeat(90_000));
    assert_eq!(kind(&long), FileKind::Result(Tool::VllmBench));
    let text = format!("vllm serve m {}é", "x".repeat(HEAD_BYTES - 14));
    assert_eq!(kind(&text), FileKind::LaunchLine(Server::Vllm));
}

#[test]
fn a_launch_line_takes_times_of_a_gpu_and_no_adapters_unless_it_says_so() {
    let launched = |line: &str, settings: &[(&str, &str)]| {
        let Some((server, _)) = Server::of_text(line) else { panic!("{line}") };
        server.launched(line, &Scenario::of_version(4).with(settings).unwrap())
    };
    let plain = launched("vllm serve meta-llama/Llama-3.1-8B-Instruct", &[("fleet.gpu", "h100_sxm")]);
    assert_eq!(plain.scenario.number(Id::Adapters), 0.0);
    assert_eq!(plain.scenario.choice(Id::CostKind), "kernels");
    assert_eq!(plain.assumed, ["fleet.gpu", "workload.adapters.count"]);
    assert_eq!(plain.set, ["scheduler.kind", "fleet.model", "cost.kind"]);
    let lora = launched("vllm serve who/knows --enable-lora --max-loras 4", &[("fleet.gpu", "a10g")]);
    assert_eq!(lora.scenario.number(Id::Adapters), 200.0);
    assert_eq!(lora.scenario.choice(Id::CostKind), "roofline");
    assert_eq!(lora.assumed, ["fleet.gpu", "fleet.model"]);
    assert!(lora.unknown.is_empty(), "{:?}", lora.unknown);
    let given = launched("vllm serve m", &[("cost.kind", "profile")]);
    assert_eq!(given.scenario.choice(Id::CostKind), "profile");
    let sglang = launched("python -m sglang.launch_server --model-path m --lora-paths a=b", &[]);
    assert_eq!(sglang.scenario.number(Id::Adapters), 200.0);
    let command = FileKind::LaunchLine(Server::Vllm).command("FILE", "vllm serve meta-llama/Llama-3.1-8B");
    assert!(command.ends_with(
        " --set workload.adapters.count=0 --set fleet.model=llama-3.1-8b --set cost.kind=roofline --set fleet.gpu=GPU"
    ), "{command}");
}

#[test]
fn flags_of_a_launch_line_are_settings() {
    let line = "$ CUDA_VISIBLE_DEVICES=0 vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 2 \\\n --max-num-seqs=128 --gpu-memory-utilization 0.95 --no-enable-prefix-caching --max-model-len 8K --kv-cache-dtype fp8_e4m3 --trust-remote-code --port 80";
    let (settings, unknown) = Server::Vllm.settings(line);
    let wanted = [
        "scheduler.kind=vllm_v1",
        "workload.adapters.count=0",
        "fleet.model=llama-3.1-8b",
        "fleet.tensor_parallel=2",
        "scheduler.max_running_requests=128",
    ];
    assert_eq!(settings[..5], wanted);
    assert_eq!(unknown, ["--trust-remote-code"]);
    let mut scenario = Scenario::of_version(4);
    for setting in &settings {
        let (path, value) = setting.split_once('=').unwrap();
        scenario.set_text(path, value).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(scenario.number(crate::parameters::Id::MaxRequestTokens), 8192.0);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "[\\[{\"a-z:, \n}\\]#=-]{0,80}", flags in "vllm serve [a-z0-9=.\"é -]{0,60}") {
        for head in [&bytes[..], text.as_bytes(), flags.as_bytes()] {
            if let Ok(found) = recognise(head) {
                let text = String::from_utf8_lossy(head);
                prop_assert!(!found.kind.command("a b", &text).is_empty());
            }
        }
    }
}

#[test]
fn lines_with_ranks_are_read_and_written() {
    let read = |server: Server, line: &str| {
        let launched = server.launched(line, &Scenario::of_version(4));
        assert!(launched.unknown.is_empty() && launched.errors.is_empty(), "{line}: {launched:?}");
        launched.scenario
    };
    let vllm = read(
        Server::Vllm,
        "vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 1 --data-parallel-size 8 --enable-expert-parallel --api-server-count 2",
    );
    let ranks = |scenario: &Scenario| {
        (
            scenario.data_parallel_size(),
            scenario.whole(Id::TensorParallel),
            scenario.choice(Id::RankPasses).to_owned(),
        )
    };
    assert_eq!(ranks(&vllm), (8, 1, "together".to_owned()));
    assert_eq!((vllm.get(Id::ExpertParallel), vllm.number(Id::ApiServers)), (Value::Flag(true), 2.0));
    let written = crate::vllm_serve::vllm_serve(&vllm, None).unwrap();
    for flag in ["--data-parallel-size 8", "--enable-expert-parallel", "--api-server-count 2"] {
        assert!(written.contains(flag), "{flag}: {written}");
    }
    let line =
        "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --dp 4 --ep-size 8";
    let apart = read(Server::Sglang, line);
    assert_eq!(ranks(&apart), (4, 8, "apart".to_owned()));
    let together = read(Server::Sglang, &format!("{line} --enable-dp-attention"));
    assert_eq!(ranks(&together), (4, 2, "together".to_owned()));
    let written = crate::sglang_serve::sglang_serve(&together, None).unwrap();
    for flag in ["--tp-size 8", "--dp-size 4", "--enable-dp-attention", "--ep-size 8"] {
        assert!(written.contains(flag), "{flag}: {written}");
    }
    let trtllm = read(Server::TrtLlm, "trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 8 --ep_size 8");
    assert_eq!(trtllm.get(Id::ExpertParallel), Value::Flag(true));
    let written = crate::trtllm_serve::trtllm_serve(&trtllm, None).unwrap();
    assert!(written.contains("--tp_size 8") && written.contains("--ep_size 8"), "{written}");
}
