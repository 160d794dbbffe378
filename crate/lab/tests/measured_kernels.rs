//! Measured kernels: what runs, what is refused, and what changes the times.

use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = Scenario::of_version(4);
    let common = [
        ("scheduler.kind", "vllm_v1"),
        ("cost.kind", "kernels"),
        ("fleet.gpu", "h100_sxm"),
        ("fleet.model", "llama-3.1-8b"),
        ("workload.duration_s", "20"),
    ];
    for (path, value) in common.iter().chain(settings) {
        scenario.set_text(path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    scenario
}

fn tpot_s(settings: &[(&str, &str)]) -> f64 {
    Run::simulate(&scenario(settings), None).unwrap().summary().run.tpot_s.mean.unwrap()
}

#[test]
fn a_model_runs_with_the_kernels_of_its_gpu_and_says_which() {
    let run = Run::simulate(&scenario(&[]), None).unwrap();
    assert!(run.summary().run.requests.completed > 0);
    let source = scenario(&[]).cost_source().unwrap();
    assert_eq!(
        (source.kind, &*source.name),
        ("kernels", "nccl 2.29.2, vllm 0.19.0, vllm 0.24.0 on NVIDIA H100 SXM5")
    );
    // The head has more outputs than any product that was timed; two GPUs share it.
    assert_eq!(source.stand_ins, ["gemm:bfloat16:128256:4096"]);
    let shared = scenario(&[("fleet.tensor_parallel", "2")]).cost_source().unwrap();
    assert_eq!(shared.stand_ins, [] as [String; 0]);
}

#[test]
fn format_gpus_scheduling_and_adapters_change_the_times() {
    let plain = tpot_s(&[("workload.adapters.count", "0")]);
    assert!(tpot_s(&[("workload.adapters.count", "0"), ("fleet.weights", "fp8")]) < 0.9 * plain);
    assert!(tpot_s(&[("workload.adapters.count", "0"), ("fleet.tensor_parallel", "2")]) < 0.9 * plain);
    assert!(tpot_s(&[("workload.adapters.count", "0"), ("fleet.gpu", "a100_80_sxm")]) > 1.2 * plain);
    assert!(
        tpot_s(&[("workload.adapters.count", "0"), ("scheduler.async_scheduling", "false")]) > plain + 1e-3
    );
    assert!(tpot_s(&[("workload.adapters.count", "64")]) > 1.01 * plain);
}

#[test]
fn stages_share_the_layers_and_an_iteration_of_all_takes_longer() {
    let alone = [("workload.adapters.count", "0"), ("workload.rate_rps", "0.2")];
    let tpot_s = |stages| tpot_s(&[alone[0], alone[1], ("fleet.pipeline_parallel", stages)]);
    let (one, two, four) = (tpot_s("1"), tpot_s("2"), tpot_s("4"));
    // Requests that are alone wait for every stage: nothing is gained, and each send adds its time.
    assert!(two > one && two < 1.1 * one, "{one} {two}");
    assert!((four - one) / (two - one) > 2.0, "{one} {two} {four}");
    // As many requests as there are stages are served side by side.
    let busy = [("workload.adapters.count", "0"), ("workload.rate_rps", "400"), ("workload.duration_s", "5")];
    let rate = |stages| {
        let settings = [&busy[..], &[("fleet.pipeline_parallel", stages)]].concat();
        Run::simulate(&scenario(&settings), None).unwrap().summary().run.throughput_rps.unwrap()
    };
    let (one, two) = (rate("1"), rate("2"));
    assert!(two > 1.3 * one && two < 2.0 * one, "{one} {two}");
    let source = scenario(&[("fleet.pipeline_parallel", "2")]).cost_source().unwrap();
    assert!(source.stand_ins.contains(&"send_recv:2".to_owned()), "{:?}", source.stand_ins);
}

#[test]
fn what_was_not_measured_is_refused_with_what_there_is() {
    let refused = |settings: &[(&str, &str)]| {
        let errors = Run::simulate(&scenario(settings), None).unwrap_err();
        (errors[0].code, errors[0].message.clone())
    };
    let (code, message) = refused(&[("fleet.gpu", "a40")]);
    assert!(code == "no_kernels" && message.contains("NVIDIA H100 SXM5"), "{message}");
    let (code, message) = refused(&[("fleet.weights", "int8")]);
    assert!(code == "no_kernels_of_format" && message.ends_with("there is bf16, fp8"), "{message}");
    let (code, message) = refused(&[("fleet.weights", "int4")]);
    assert!(code == "no_kernels_of_format" && message.ends_with("there is bf16, fp8"), "{message}");
    let (code, message) = refused(&[("fleet.model", "phi-2")]);
    assert!(code == "no_kernels_of_model" && message.contains("prefill:bfloat16:80"), "{message}");
    let own = [("fleet.model", "gpt-oss-120b"), ("fleet.tensor_parallel", "4")];
    let (code, message) = refused(&own);
    assert!(code == "no_kernels_of_format" && message.ends_with("there is int4, mxfp4"), "{message}");
}
