//! Iteration times that are off: what the settings say is what the run has, for every model of iteration times.

use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

fn run(settings: &[(&str, &str)]) -> Run {
    let base = [
        ("workload.rate_rps", "0.05"),
        ("workload.duration_s", "1200"),
        ("workload.adapters.count", "0"),
        ("scheduler.kind", "vllm_v1"),
    ];
    Run::simulate(&Scenario::of_version(4).with(&[&base[..], settings].concat()).unwrap(), None).unwrap()
}

fn tpot_s(run: &Run) -> f64 {
    run.summary().run.tpot_s.mean.unwrap()
}

#[test]
fn a_bias_makes_every_token_slower_by_that_share() {
    for kind in ["linear", "profile", "roofline", "kernels"] {
        let with = |bias: &str| run(&[("cost.kind", kind), ("cost.error.bias", bias)]);
        let plain = run(&[("cost.kind", kind)]);
        assert_eq!(with("0").report.digest(), plain.report.digest(), "{kind}");
        for (bias, factor) in [("0.5", 1.5), ("-0.5", 0.5)] {
            let ratio = tpot_s(&with(bias)) / tpot_s(&plain);
            // A slower server has more requests at once.
            assert!((ratio / factor - 1.0).abs() < 0.1, "{kind} {bias}: {ratio}");
        }
    }
}

#[test]
fn noise_is_drawn_by_the_seed_and_leaves_the_mean() {
    let with = |noise: &'static str, seed: &'static str| run(&[("cost.error.noise", noise), ("seed", seed)]);
    let (plain, noisy) = (with("0", "7"), with("0.3", "7"));
    assert_eq!(noisy.report.digest(), with("0.3", "7").report.digest());
    assert_ne!(noisy.report.digest(), plain.report.digest());
    assert!((tpot_s(&noisy) / tpot_s(&plain) - 1.0).abs() < 0.05);
    // Its factors come from a stream of their own: the requests are the same.
    assert_eq!(noisy.report.trace, plain.report.trace);
}

#[test]
fn every_scheduler_and_pipelines_run_with_errors() {
    for kind in ["slora", "lightllm", "static", "orca", "vllm", "sarathi", "vllm_v1"] {
        let error = [("cost.error.bias", "0.2"), ("cost.error.noise", "0.5"), ("scheduler.kind", kind)];
        let summary = run(&error).summary();
        assert_eq!(summary.run.requests.completed, summary.run.requests.offered, "{kind}");
        assert!(summary.run.gpu.busy.is_some_and(|busy| busy > 0.0 && busy <= 1.0), "{kind}");
    }
    let stages = [
        ("cost.error.noise", "0.5"),
        ("cost.kind", "roofline"),
        ("fleet.pipeline_parallel", "4"),
        ("scheduler.preemption", "recompute"),
    ];
    let summary = run(&stages).summary();
    assert_eq!(summary.run.requests.completed, summary.run.requests.offered);
}
