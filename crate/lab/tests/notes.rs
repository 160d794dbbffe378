//! Notes about settings without effect, in both directions, where the matrix does not look: over traces, for bodies and
//! capacity searches, and those that need the run.

use proptest::prelude::*;
use servescope_lab::run::Run;
use servescope_settings::notes::{NoteContext, Purpose, Reason, Traffic, idle, notes};
use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::{Trace, generate};

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"))
}

/// The reasons reported for a run, by path.
fn reported(run: &Run) -> Vec<(&'static str, &'static str)> {
    run.notes().iter().map(|note| (note.id.row().id, note.reason.name())).collect()
}

fn run(settings: &[(&str, &str)]) -> Run {
    Run::simulate(&scenario(settings), None).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// A trace of the workload of some settings, as if a file had brought it.
fn file(settings: &[(&str, &str)]) -> LoadedTrace {
    LoadedTrace::from_trace("file", generate(&scenario(settings).workload()))
}

/// A file of lengths and times, without adapters, users, sessions and prefixes.
fn plain() -> LoadedTrace {
    file(&[
        ("workload.adapters.count", "0"),
        ("workload.users.count", "1"),
        ("workload.duration_s", "10"),
        ("workload.rate_rps", "12"),
    ])
}

/// Settings of the workload with other values than their defaults.
const WORKLOAD: [(&str, &str); 27] = [
    ("workload.rate_rps", "5"),
    ("workload.arrivals.cv", "3"),
    ("workload.arrivals.kind", "even"),
    ("workload.adapters.count", "20"),
    ("workload.adapters.alpha", "0.3"),
    ("workload.adapters.popularity", "zipf"),
    ("workload.adapters.ranks", "64"),
    ("workload.lengths.from", "pairs"),
    ("workload.input_tokens.kind", "fixed"),
    ("workload.input_tokens.low", "9"),
    ("workload.input_tokens.high", "100"),
    ("workload.output_tokens.kind", "geometric"),
    ("workload.output_tokens.low", "9"),
    ("workload.output_tokens.high", "100"),
    ("workload.input_tokens.curve.kind", "step"),
    ("workload.length_correlation", "0.5"),
    ("workload.max_tokens.kind", "cap"),
    ("workload.users.count", "3"),
    ("workload.users.popularity", "uniform"),
    ("workload.users.zipf_s", "2"),
    ("workload.clients.kind", "each"),
    ("workload.loop", "closed"),
    ("workload.sessions.kind", "held"),
    ("workload.prefix.kind", "tree"),
    ("workload.curve.kind", "step"),
    ("workload.duration_s", "20"),
    ("workload.cut_at_duration", "true"),
];

#[test]
fn a_file_decides_every_setting_of_the_workload() {
    let (loaded, plain_run) = (plain(), Run::simulate(&Scenario::of_version(4), Some(&plain())).unwrap());
    for setting in WORKLOAD {
        let run = Run::simulate(&scenario(&[setting]), Some(&loaded)).unwrap();
        assert_eq!(reported(&run), [(setting.0, "file")]);
        assert_eq!(run.report.digest(), plain_run.report.digest(), "{}", setting.0);
        let warnings = run.summary().warnings;
        assert!(warnings.iter().any(|w| w.code == "no_effect_file" && w.path == setting.0), "{warnings:?}");
    }
    // A value that is written down counts, be it the default.
    let count = scenario(&[("workload.adapters.count", "200")]);
    assert_eq!(
        reported(&Run::simulate(&count, Some(&loaded)).unwrap()),
        [("workload.adapters.count", "file")]
    );
    // Made by these settings and then changed by steps, it follows them.
    let steps = LoadedTrace { is_generated: true, ..plain() };
    let run = Run::simulate(
        &scenario(&[("workload.rate_rps", "5"), ("workload.trace.rate_scale", "2")]),
        Some(&steps),
    );
    assert!(run.unwrap().notes().is_empty());
}

#[test]
fn what_a_file_lacks_is_a_condition_too() {
    let silent = [
        ("cost.adapters.decode_per_rank_ms", "1"),
        ("cost.adapters.load_base_ms", "100"),
        ("scheduler.prefetch_adapters", "true"),
        ("workload.trace.turns", "held"),
        ("seed", "7"),
    ];
    let base = Run::simulate(&Scenario::of_version(4), Some(&plain())).unwrap().report.digest();
    for setting in silent {
        let run = Run::simulate(&scenario(&[setting]), Some(&plain())).unwrap();
        assert_eq!(run.notes().len(), 1, "{setting:?}");
        assert_eq!(run.report.digest(), base, "{setting:?}");
    }
    let with_adapters = file(&[("workload.duration_s", "10")]);
    for setting in &silent[..3] {
        let run = Run::simulate(&scenario(&[*setting]), Some(&with_adapters)).unwrap();
        assert!(run.notes().is_empty(), "{setting:?}");
    }
    for (settings, is_idle) in [
        (&[("workload.trace.rate_scale", "2")][..], false),
        (&[("scheduler.order", "shortest"), ("scheduler.prediction.range", "0.5")], false),
        (&[("scheduler.order", "shortest")], true),
        (&[("scheduler.kind", "vllm"), ("fleet.router", "random")], true),
        (&[("scheduler.kind", "vllm"), ("fleet.router", "random"), ("fleet.replicas", "2")], false),
    ] {
        let digest = |seed| {
            let seed = [("seed", seed)];
            let scenario = scenario(&[settings, &seed].concat());
            let run = Run::simulate(&scenario, Some(&plain())).unwrap();
            let is_told = run.notes().iter().any(|note| note.reason == Reason::NoDraw);
            assert_eq!(is_told, is_idle, "{settings:?}");
            run.report.digest()
        };
        assert_eq!(digest("7") == digest("8"), is_idle, "{settings:?}");
    }
}

#[test]
fn a_trace_is_told_by_what_it_carries() {
    let carries = |settings: &[(&str, &str)]| {
        Traffic::of(&file(&[&[("workload.duration_s", "20")], settings].concat()).trace)
    };
    assert_eq!(Traffic::of(&plain().trace), Traffic { users: 1, ..Traffic::default() });
    assert_eq!(Traffic::of(&Trace::default()), Traffic::default());
    let traffic = carries(&[("workload.adapters.ranks", "8,64"), ("workload.prefix.kind", "tree")]);
    assert_eq!((traffic.adapters, traffic.users), (2, 2));
    assert!(
        traffic.has_ranks
            && traffic.has_prefixes
            && !traffic.has_sessions
            && !traffic.is_closed
            && !traffic.has_caps
    );
    let traffic = carries(&[("workload.sessions.kind", "held"), ("workload.max_tokens.kind", "cap")]);
    assert!(traffic.has_sessions && traffic.is_closed && traffic.has_caps && !traffic.has_ranks);
}

const DRR: [(&str, &str); 3] =
    [("scheduler.order", "drr"), ("workload.rate_rps", "6"), ("workload.duration_s", "40")];
const PLANNED: [(&str, &str); 7] = [
    ("workload.rate_rps", "14"),
    ("workload.input_tokens.kind", "fixed"),
    ("workload.input_tokens.value", "800"),
    ("scheduler.kind", "vllm"),
    ("cost.kind", "roofline"),
    ("workload.duration_s", "20"),
    ("workload.arrivals.cv", "4"),
];

#[test]
fn settings_that_were_called_idle_and_act_have_no_note() {
    for (base, setting) in [
        (&DRR[..], ("scheduler.fair.input_price", "20")),
        (&DRR, ("scheduler.fair.output_price", "40")),
        (&DRR, ("scheduler.fair.charging", "artifact")),
        // The prompt budget's default comes from the pool, and the pool's from the calibration.
        (&PLANNED, ("scheduler.max_total_tokens", "145000")),
        (&PLANNED, ("cost.calibration", "a100-80-opt-13b")),
    ] {
        let (plain, other) = (run(base), run(&[base, &[setting]].concat()));
        assert_ne!(plain.report.digest(), other.report.digest(), "{setting:?}");
        assert!(!reported(&other).iter().any(|(path, _)| *path == setting.0), "{:?}", reported(&other));
    }
    // With a budget of its own there is nothing left that the pool sets.
    let budget = [&PLANNED[..], &[("scheduler.batch_max_tokens", "4096")]].concat();
    for setting in [("scheduler.max_total_tokens", "145000"), ("cost.calibration", "a100-80-opt-13b")] {
        let (plain, other) = (run(&budget), run(&[&budget[..], &[setting]].concat()));
        assert_eq!(plain.report.digest(), other.report.digest(), "{setting:?}");
        assert_eq!(reported(&other), [(setting.0, "condition")]);
    }
}

#[test]
fn settings_that_were_silent_and_do_nothing_have_one() {
    let proxy =
        |checks| [("gateway.kind", "proxy"), ("gateway.checks", checks), ("workload.duration_s", "10")];
    let fleet = [("scheduler.kind", "vllm_v1"), ("workload.duration_s", "10")];
    let resident = [fleet[0], fleet[1], ("adapters.memory", "resident")];
    let bandwidths = [fleet[0], fleet[1], ("cost.kind", "roofline")];
    let each = [("workload.clients.kind", "each"), ("workload.duration_s", "10")];
    let sarathi = [("scheduler.kind", "sarathi"), ("workload.duration_s", "10")];
    let orca = [("scheduler.kind", "orca"), ("workload.duration_s", "10")];
    for (base, setting) in [
        (&resident[..], ("cost.adapters.load_base_ms", "100000")),
        (&resident, ("cost.adapters.load_per_rank_ms", "1000")),
        (&resident, ("adapters.max_loras", "1")),
        (&resident, ("adapters.max_lora_rank", "4")),
        (&bandwidths, ("cost.adapters.load_base_ms", "100000")),
        (&fleet, ("adapters.host_gb_per_s", "0.01")),
        (&fleet, ("adapters.disk_gb_per_s", "0.01")),
        (&fleet, ("adapters.max_cpu_loras", "100")),
        (&fleet, ("fleet.router", "least_kv")),
        (&sarathi, ("scheduler.batch_max_tokens", "100")),
        (&orca, ("scheduler.batch_max_tokens", "100")),
        (&each, ("workload.arrivals.cv", "4")),
        (&proxy("kv"), ("gateway.rpm", "1")),
        (&proxy("kv"), ("gateway.tpm.total", "100")),
        (&proxy("kv"), ("gateway.lending.on", "true")),
        (&proxy("rpm"), ("gateway.window", "gcra")),
        (&proxy("none"), ("gateway.order", "lifo")),
    ] {
        let (plain, other) = (run(base), run(&[base, &[setting]].concat()));
        assert_eq!(plain.report.digest(), other.report.digest(), "{setting:?}");
        assert!(reported(&other).contains(&(setting.0, "condition")), "{setting:?}: {:?}", reported(&other));
    }
    let rpm = run(&[("gateway.kind", "proxy"), ("gateway.checks", "kv"), ("gateway.rpm", "1")]);
    let text = rpm.notes()[0].text();
    assert_eq!(text, "gateway.rpm has no effect here: it acts where gateway.checks has rpm");
    // Behind a condition that holds in vain stands the reason why.
    let alone =
        run(&[("scheduler.kind", "vllm"), ("fleet.memory_margin", "0.2"), ("workload.duration_s", "5")]);
    let text = alone.notes()[0].text();
    assert_eq!(
        text,
        "fleet.memory_margin has no effect here: it acts where cost.kind is profile, roofline or kernels"
    );
}

#[test]
fn what_changes_the_tables_alone_says_so() {
    let fleet =
        [("scheduler.kind", "vllm_v1"), ("workload.duration_s", "20"), ("adapters.memory", "resident")];
    let digest_free = |run: &Run| {
        let mut json = serde_json::json!(run.summary().run);
        let labels = ["digest", "users", "per_user", "per_adapter", "adapters"];
        labels.iter().for_each(|label| json[*label] = serde_json::Value::Null);
        json
    };
    for setting in [
        ("workload.adapters.alpha", "0.1"),
        ("workload.adapters.popularity", "zipf"),
        ("workload.users.count", "40"),
        ("workload.users.zipf_s", "3"),
    ] {
        let (plain, other) = (run(&fleet), run(&[&fleet[..], &[setting]].concat()));
        assert_eq!(digest_free(&plain), digest_free(&other), "{setting:?}");
        assert_eq!(reported(&other), [(setting.0, "tables")]);
    }
    // With ranks that differ, where adapters are loaded, or where operators are counted, which adapters are asked for matters;
    // with a policy by client, which client asks.
    for base in [
        &[fleet[0], fleet[2], ("workload.adapters.ranks", "8,16")][..],
        &[fleet[0], fleet[1]],
        &[fleet[0], fleet[1], fleet[2], ("cost.kind", "roofline")],
        &[("workload.duration_s", "20")],
    ] {
        let alpha = run(&[base, &[("workload.adapters.alpha", "0.1")]].concat());
        assert!(reported(&alpha).is_empty(), "{:?}", reported(&alpha));
        assert_ne!(digest_free(&run(base)), digest_free(&alpha));
    }
    let order = [("scheduler.order", "vtc"), ("workload.rate_rps", "6"), ("workload.users.count", "40")];
    assert!(reported(&run(&order)).is_empty());
}

#[test]
fn what_a_scenario_is_read_for_decides_too() {
    let reasons = |settings: &[(&str, &str)], purpose| -> Vec<&str> {
        let context = NoteContext { purpose, ..NoteContext::default() };
        notes(&scenario(settings), &context).iter().map(|note| note.reason.name()).collect()
    };
    let sampling = [("workload.sampling.top_k", "5"), ("workload.sampling.top_p", "0.5")];
    assert_eq!(reasons(&sampling, Purpose::Run), ["bodies"; 2]);
    assert_eq!(reasons(&sampling, Purpose::Trace), ["bodies"; 2]);
    assert_eq!(reasons(&sampling, Purpose::Bodies), [""; 0]);
    let goal = [("capacity.ttft_s", "2"), ("slo.ttft_s", "2")];
    assert_eq!(reasons(&goal, Purpose::Run), ["capacity"]);
    assert_eq!(reasons(&goal, Purpose::Capacity), [""; 0]);
    assert_eq!(reasons(&goal, Purpose::Page), [""; 0]);
    let bound = [("gateway.kind", "proxy"), ("gateway.checks", "ttft"), ("slo.ttft_s", "2")];
    assert_eq!(reasons(&bound, Purpose::Capacity), [""; 0]);
    assert_eq!(reasons(&[("scheduler.order", "lifo"), ("seed", "3")], Purpose::Bodies), ["service"]);
    assert_eq!(reasons(&[("workload.trace.time_scale", "3")], Purpose::Run), ["needs_file"]);
    let (plain, capped) =
        (run(&[("workload.duration_s", "5")]), run(&[("workload.duration_s", "5"), sampling[0]]));
    assert_eq!(plain.report.digest(), capped.report.digest());
    assert_eq!(reported(&capped), [("workload.sampling.top_k", "bodies")]);
    // Where max_tokens is the true length, a run ends there anyway, and a real model may end before.
    let ignores = [("workload.sampling.ignore_eos", "true"), ("workload.sampling.pin_output", "true")];
    assert_eq!(reasons(&ignores, Purpose::Run), ["condition"; 2]);
    assert_eq!(reasons(&ignores, Purpose::Page), ["bodies"; 2]);
    assert_eq!(reasons(&ignores, Purpose::Bodies), [""; 0]);
}

#[test]
fn a_prompt_budget_below_the_longest_request_is_warned_of() {
    let warned = |kind| {
        let settings =
            [("scheduler.kind", kind), ("scheduler.batch_max_tokens", "300"), ("workload.duration_s", "10")];
        let summary = run(&settings).summary();
        let rejected = summary.run.requests.rejected_total > 0;
        (summary.warnings.iter().any(|warning| warning.code == "budget_below_prompt"), rejected)
    };
    for kind in ["slora", "vllm", "lightllm"] {
        assert_eq!(warned(kind), (true, true), "{kind}");
    }
    assert_eq!(warned("vllm_v1"), (false, false));
}

#[test]
fn behind_a_proxy_that_holds_everything_back_an_order_is_told_idle() {
    for kind in ["slora", "vllm_v1"] {
        let base = [
            ("scheduler.kind", kind),
            ("gateway.kind", "proxy"),
            ("gateway.checks", "kv"),
            ("workload.rate_rps", "1"),
            ("workload.adapters.count", "0"),
        ];
        let plain = run(&base);
        for order in ["lifo", "vtc", "priority", "drr"] {
            let sorted = run(&[&base[..], &[("scheduler.order", order)]].concat());
            assert_eq!(reported(&sorted), [("scheduler.order", "no_choice")], "{kind} {order}");
            assert_eq!(sorted.report.digest(), plain.report.digest());
        }
    }
    let swap =
        [("scheduler.kind", "sarathi"), ("scheduler.preemption", "swap"), ("workload.rate_rps", "0.5")];
    assert_eq!(reported(&run(&swap)), [("scheduler.preemption", "no_preemption")]);
    let tight = [&swap[..], &[("scheduler.max_total_tokens", "3100"), ("workload.rate_rps", "4")]].concat();
    assert!(reported(&run(&tight)).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the load: where the run says that its order had nothing to choose, arrival order gives the same run.
    #[test]
    fn a_note_that_an_order_had_no_choice_is_true(
        seed in 0..1000u32, rate in 1..40u32, order in 0..6usize, kind in 0..7usize, proxy: bool, pool in 600..6000u32, replicas in 1..4u32,
    ) {
        let kinds = ["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1"];
        let orders = ["lifo", "shortest", "priority", "vtc", "lcf", "drr"];
        let texts = [seed.to_string(), (f64::from(rate) * 0.25).to_string(), pool.to_string(), replicas.to_string()];
        let base = [
            ("seed", &*texts[0]),
            ("workload.rate_rps", &*texts[1]),
            ("workload.duration_s", "8"),
            ("workload.output_tokens.high", "80"),
            ("scheduler.max_request_tokens", "600"),
            ("scheduler.max_total_tokens", &*texts[2]),
            ("fleet.replicas", &*texts[3]),
            ("scheduler.kind", kinds[kind]),
            ("gateway.kind", if proxy { "proxy" } else { "direct" }),
            ("gateway.checks", "kv"),
        ];
        let Ok(sorted) = Run::simulate(&scenario(&[&base[..], &[("scheduler.order", orders[order])]].concat()), None) else {
            return Ok(());
        };
        if sorted.notes().iter().any(|note| note.reason == Reason::NoChoice) {
            prop_assert_eq!(sorted.report.digest(), run(&base).report.digest());
        }
    }
}

#[test]
fn every_parameter_that_a_file_decides_is_one_of_the_workload() {
    let context = plain().context(Purpose::Run);
    for &id in Id::ALL {
        let is_workload = id.row().id.starts_with("workload.")
            && !matches!(id.row().group, "trace" | "sampling" | "extra_request");
        assert_eq!(
            idle(&Scenario::of_version(4), &context, id) == Some(Reason::File),
            is_workload,
            "{}",
            id.row().id
        );
    }
}

#[test]
fn where_nothing_is_ever_lent_a_request_above_its_quota_does_not_wait_for_ever() {
    let settings = [
        ("gateway.kind", "proxy"),
        ("gateway.tpm.input", "30"),
        ("gateway.lending.on", "true"),
        ("gateway.lending.threshold", "0"),
        ("workload.duration_s", "6"),
    ];
    let summary = run(&settings).summary().run;
    assert_eq!(summary.requests.rejected["token_quota"], summary.requests.offered);
}
