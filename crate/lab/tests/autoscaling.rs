//! Autoscalers as scenarios: how their delays show, and what does not combine with them.

use servescope_lab::run::{Run, RunSummary};
use servescope_settings::notes::{NoteContext, notes};
use servescope_settings::scenario::Scenario;

/// A replica of an H100 under a load that rises and falls every ten minutes.
const LOAD: [(&str, &str); 11] = [
    ("scheduler.kind", "vllm_v1"),
    ("cost.kind", "kernels"),
    ("fleet.gpu", "h100_sxm"),
    ("fleet.model", "llama-3.1-8b"),
    ("workload.adapters.count", "0"),
    ("workload.rate_rps", "40"),
    ("workload.duration_s", "1200"),
    ("workload.curve.kind", "diurnal"),
    ("workload.curve.period_s", "600"),
    ("workload.curve.swing", "0.6"),
    ("fleet.router", "least_outstanding"),
];

/// The HPA on requests, quick to drain.
const HPA: [(&str, &str); 5] = [
    ("fleet.autoscaling.kind", "hpa"),
    ("fleet.autoscaling.metric", "concurrency"),
    ("fleet.autoscaling.target", "40"),
    ("fleet.autoscaling.down_cooldown_s", "30"),
    ("fleet.autoscaling.max", "16"),
];

fn scenario(settings: &[&[(&str, &str)]]) -> Scenario {
    Scenario::of_version(5).with(&settings.concat()).unwrap_or_else(|error| panic!("{error}"))
}

fn summary(settings: &[&[(&str, &str)]]) -> RunSummary {
    Run::simulate(&scenario(settings), None).unwrap_or_else(|errors| panic!("{errors:?}")).summary()
}

#[test]
fn a_rule_swings_further_the_longer_a_start_takes() {
    for seed in ["1", "2"] {
        let of = |delay_s: &str| {
            let own = [("fleet.cold_start.delay_s", delay_s), ("seed", seed)];
            let run = summary(&[&LOAD, &HPA, &own]);
            (run.run.scaling.unwrap().started, run.gpu_s, run.run.ttft_s.p99.unwrap())
        };
        let [short, middle, long] = ["5", "60", "180"].map(of);
        assert!(
            long.0 as f64 > 1.5 * middle.0 as f64 && middle.0 > short.0,
            "seed {seed}: {short:?} {middle:?} {long:?}"
        );
        assert!(long.1 > middle.1 && middle.1 > short.1, "seed {seed}: GPU time");
        assert!(long.2 > middle.2 && middle.2 > short.2, "seed {seed}: P99 TTFT");
    }
}

/// A wider tolerance leaves the number alone more often.
#[test]
fn a_wider_tolerance_turns_less() {
    let turns = |tolerance: &str| {
        let of = |seed: &str| {
            let own = [("fleet.autoscaling.tolerance", tolerance), ("seed", seed)];
            summary(&[&LOAD, &HPA, &own]).run.scaling.unwrap().turns_per_h
        };
        ["1", "2", "3"].map(of).iter().sum::<f64>()
    };
    let [narrow, wide] = ["0.02", "0.4"].map(turns);
    assert!(wide < 0.8 * narrow, "{wide} of {narrow}");
}

/// A rule that waits for its replicas comes to n of them n starts later.
#[test]
fn a_rule_of_one_step_is_slower_than_the_hpa() {
    let step = [
        ("workload.curve.kind", "step"),
        ("workload.curve.start_s", "60"),
        ("workload.curve.factor", "4"),
        ("workload.duration_s", "900"),
        ("fleet.cold_start.delay_s", "90"),
    ];
    let third_ready_s = |rule: &[(&str, &str)]| {
        let run = Run::simulate(&scenario(&[&LOAD, &step, rule]), None).unwrap();
        let mut ready: Vec<f64> = run.report.replicas.iter().map(|life| life.ready_us / 1e6).collect();
        ready.sort_by(f64::total_cmp);
        ready.get(3).copied().unwrap_or(f64::INFINITY)
    };
    let hpa = third_ready_s(&HPA);
    let wva = third_ready_s(&[("fleet.autoscaling.kind", "wva_saturation")]);
    let dynamo = third_ready_s(&[("fleet.autoscaling.kind", "dynamo_load")]);
    assert!(hpa < 300.0, "{hpa}");
    // Three starts one after the other, and an interval before each.
    assert!(dynamo >= hpa + 2.0 * 90.0 && wva >= dynamo, "{hpa} {dynamo} {wva}");
}

/// Every rule runs beside every scheduler, to the end.
#[test]
fn every_rule_combines_with_every_scheduler() {
    let rules = ["hpa", "keda", "keda_tokens", "apa", "kpa", "wva_saturation", "dynamo_load"];
    let schedulers =
        ["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1", "sglang", "trtllm"];
    for (rule, scheduler) in rules.iter().flat_map(|rule| schedulers.map(|scheduler| (rule, scheduler))) {
        let settings = [
            ("scheduler.kind", scheduler),
            ("workload.rate_rps", "8"),
            ("workload.duration_s", "40"),
            ("workload.adapters.count", "0"),
            ("fleet.autoscaling.kind", rule),
            ("fleet.autoscaling.interval_s", "5"),
            ("fleet.autoscaling.scrape_s", "2"),
            ("fleet.cold_start.kind", "parts"),
            ("fleet.cold_start.image_gib", "0"),
            ("fleet.cold_start.compile_s", "3"),
            ("fleet.cold_start.probe_s", "2"),
        ];
        let run = Run::simulate(&scenario(&[&settings]), None)
            .unwrap_or_else(|e| panic!("{rule} {scheduler}: {e:?}"));
        let summary = run.summary();
        let requests = &summary.run.requests;
        assert_eq!(requests.completed + requests.rejected_total, requests.offered, "{rule} {scheduler}");
        assert!(requests.completed > 9 * requests.rejected_total, "{rule} {scheduler}");
        assert!(summary.run.scaling.is_some_and(|scaling| scaling.decisions >= 8), "{rule} {scheduler}");
    }
}

#[test]
fn two_pools_have_two_rules() {
    let pools = [
        ("fleet.pools", "fleet.gpu=a100_80_sxm,fleet.autoscaling.kind=keda,fleet.autoscaling.max=2"),
        ("fleet.cold_start.delay_s", "20"),
        ("workload.duration_s", "300"),
    ];
    let run = Run::simulate(&scenario(&[&LOAD, &HPA, &pools]), None).unwrap();
    let most = |pool: u16| {
        run.report
            .scaling
            .iter()
            .filter(|decision| decision.pool == pool)
            .map(|decision| decision.desired)
            .max()
    };
    assert!(most(0).is_some_and(|most| most > 2) && most(1).is_some_and(|most| most <= 2));
}

#[test]
fn settings_of_other_rules_are_said_to_do_nothing() {
    let settings = [
        ("fleet.autoscaling.kind", "wva_saturation"),
        ("fleet.autoscaling.schedule", "60:2"),
        ("fleet.autoscaling.tolerance", "0.2"),
        ("fleet.autoscaling.ttft_s", "1"),
        ("fleet.cold_start.compile_s", "30"),
    ];
    let notes = notes(&scenario(&[&settings]), &NoteContext::default());
    let named: Vec<&str> = notes.iter().map(|note| note.id.row().id).collect();
    for (path, _) in &settings[1..] {
        assert!(named.contains(path), "{path}: {named:?}");
    }
}
