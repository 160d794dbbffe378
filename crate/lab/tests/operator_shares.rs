//! What iterations spend their time on: where the cost model answers for all that only decode, it is what it says of each.

use proptest::prelude::*;
use servescope_cost::{OperatorClass, StageParts, Work};
use servescope_engine::metrics::operators::RunTotals;
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

/// Models of iteration times that answer for all iterations that only decode, with a deployment that each knows.
const MODELS: [&[(&str, &str)]; 3] = [
    &[("cost.kind", "profile")],
    &[("cost.kind", "kernels"), ("fleet.gpu", "h100_sxm"), ("fleet.model", "llama-3.1-8b")],
    &[("cost.kind", "roofline"), ("fleet.gpu", "h100_sxm"), ("fleet.model", "llama-3.1-8b")],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sums_are_those_of_every_run(
        model in prop::sample::select(&MODELS[..]),
        scheduler in prop::sample::select(&["vllm", "sarathi", "vllm_v1", "slora"][..]),
        stages in prop::sample::select(&["1", "2", "4"][..]),
        adapters in prop::sample::select(&["0", "3", "200"][..]),
        memory in prop::sample::select(&["unified", "slots", "resident"][..]),
        bias in prop::sample::select(&["0", "0.3"][..]),
        rate_rps in 1u32..20, seed in 0u32..1_000,
    ) {
        let (rate_rps, seed) = (rate_rps.to_string(), seed.to_string());
        let mut scenario = Scenario::of_version(4);
        let settings = [
            ("scheduler.kind", scheduler),
            ("fleet.pipeline_parallel", if scheduler == "slora" { "1" } else { stages }),
            ("workload.adapters.count", adapters),
            ("adapters.memory", memory),
            ("cost.error.bias", bias),
            ("workload.rate_rps", &rate_rps),
            ("workload.duration_s", "10"),
            ("seed", &seed),
        ];
        for (path, value) in model.iter().copied().chain(settings) {
            scenario.set_text(path, value).unwrap();
        }
        let Ok(run) = Run::simulate(&scenario, None) else { return Err(TestCaseError::reject("cannot be")) };
        let report = &run.report;
        let (mut us, mut work) = (StageParts::default(), Work::default());
        for iterations in &report.timeline.iterations {
            let cost = &*report.pool(iterations.replica).cost;
            let totals = RunTotals::of(&report.timeline, cost, iterations);
            us.iter_mut().zip(totals.us).for_each(|(sum, part)| *sum += part);
            let of_run = totals.work.unwrap();
            work.flops += of_run.flops;
            work.bytes += of_run.bytes;
        }
        for (class, (found, expected)) in OperatorClass::ALL.iter().zip(run.usage().totals_us.iter().zip(us)) {
            prop_assert!((found - expected).abs() <= 1e-9 * expected, "{class:?}: {found} and {expected}");
        }
        let found = run.usage().replicas[0].work.unwrap();
        prop_assert!((found.flops - work.flops).abs() <= 1e-9 * work.flops);
        prop_assert!((found.bytes - work.bytes).abs() <= 1e-9 * work.bytes);
    }
}
