//! Orders of service in a fleet's lines, from their settings to the numbers of a run.

use servescope_lab::run::Run;
use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;

const KINDS: [&str; 6] = ["static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1"];

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"))
}

/// A replica that gets more than it can serve, three quarters of it from one of two users.
fn overloaded(kind: &str, order: &str, more: &[(&str, &str)]) -> Run {
    let mut settings = vec![
        ("scheduler.kind", kind),
        ("scheduler.order", order),
        ("scheduler.max_total_tokens", "6000"),
        ("workload.rate_rps", "12"),
        ("workload.duration_s", "60"),
        ("workload.users.count", "2"),
        ("workload.users.shares", "3,1"),
    ];
    settings.extend(more);
    Run::simulate(&scenario(&settings), None).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// The mean wait of a user's requests for their first iteration, seconds.
fn wait(run: &Run, user: u32) -> f64 {
    let report = &run.report;
    let own = (0..report.results.len()).filter(|&id| report.trace.user[id] == user);
    let waits: Vec<f64> =
        own.filter_map(|id| Some(report.scheduled_us(id)? - report.trace.arrival_us[id])).collect();
    waits.iter().sum::<f64>() / waits.len() as f64 / 1e6
}

#[test]
fn every_fleet_keeps_every_order_that_needs_no_batcher() {
    for kind in KINDS {
        let fcfs = overloaded(kind, "fcfs", &[]);
        for order in ["lifo", "shortest", "priority", "vtc", "lcf", "drr", "rpm"] {
            let run = overloaded(kind, order, &[]);
            let summary = run.summary().run;
            assert_eq!(summary.requests.unfinished, 0, "{kind} {order}");
            assert_ne!(run.report.digest(), fcfs.report.digest(), "{kind} {order} changes nothing");
            let counters = matches!(order, "vtc" | "lcf" | "drr");
            assert_eq!(run.report.counters.is_some(), counters, "{kind} {order}");
            if order == "rpm" {
                assert!(summary.requests.rejected_total > 0);
            }
            if counters {
                let (greedy, modest) = (wait(&run, 0), wait(&run, 1));
                assert!(modest < 0.7 * greedy, "{kind} {order}: {modest} s and {greedy} s");
            }
        }
        // First come, first served keeps no counters, and serves all alike.
        assert!(fcfs.report.counters.is_none());
        assert!((wait(&fcfs, 1) / wait(&fcfs, 0) - 1.0).abs() < 0.2, "{kind}");
    }
}

#[test]
fn settings_of_an_order_matter_in_a_fleet() {
    let of = |order: &str, path: &str, value: &str| {
        let path = if path.is_empty() { "seed" } else { path };
        let value = if path == "seed" { "1" } else { value };
        overloaded("vllm_v1", order, &[(path, value), ("seed", "1")]).report
    };
    for (order, path, value) in [
        ("vtc", "scheduler.fair.weights", "1,5"),
        ("vtc", "scheduler.fair.cost", "profile"),
        ("vtc", "scheduler.fair.output_price", "0"),
        ("vtc", "scheduler.fair.charging", "artifact"),
        ("vtc", "scheduler.fair.prediction", "predicted"),
        ("lcf", "scheduler.fair.prediction", "history"),
        ("drr", "scheduler.round_robin.quantum", "5000"),
        ("drr", "scheduler.fair.weights", "1,5"),
        ("priority", "scheduler.priority.ageing_s", "1"),
        ("rpm", "scheduler.rpm.limit", "50"),
        ("shortest", "scheduler.prediction.range", "1"),
    ] {
        assert!(
            scenario(&[("scheduler.kind", "vllm_v1"), ("scheduler.order", order)])
                .is_active(Id::from_path(path).unwrap())
        );
        assert_ne!(of(order, path, value).digest(), of(order, "", "").digest(), "{order}: {path}");
    }
    let (fcfs, shortest) = (of("fcfs", "", ""), of("shortest", "", ""));
    let mean = |report: &servescope_engine::Report| {
        let waits = (0..report.results.len())
            .map(|id| report.scheduled_us(id).unwrap() - report.trace.arrival_us[id]);
        waits.sum::<f64>()
    };
    assert!(mean(&shortest) < 0.9 * mean(&fcfs));
}

#[test]
fn the_gateway_charges_by_the_same_settings() {
    let of = |order: &str, more: &[(&str, &str)]| {
        let mut settings = vec![
            ("gateway.kind", "proxy"),
            ("gateway.checks", "kv"),
            ("gateway.order", order),
            ("gateway.queue_timeout_s", "0"),
        ];
        settings.extend(more);
        overloaded("vllm_v1", "fcfs", &settings).report
    };
    for (order, path, value) in [
        ("vtc", "scheduler.fair.cost", "profile"),
        ("vtc", "scheduler.fair.charging", "artifact"),
        ("lcf", "scheduler.fair.cost", "profile"),
        ("drr", "scheduler.fair.charging", "artifact"),
    ] {
        let (plain, other) = (of(order, &[]), of(order, &[(path, value)]));
        assert_ne!(plain.digest(), other.digest(), "{order}: {path}");
    }
    // Every token that is seen counts, the first one too.
    let ideal = of("vtc", &[("scheduler.fair.charging", "ideal")]);
    assert_eq!(ideal.digest(), of("vtc", &[]).digest());
    // Both lines may have an order.
    let both = of("vtc", &[("scheduler.order", "shortest")]);
    assert!(both.counters.is_none() && both.results.iter().all(|result| result.finish_us.is_some()));
}

#[test]
fn an_order_that_needs_a_batcher_is_refused_by_name() {
    for kind in KINDS {
        for order in ["early_abort", "cluster", "peft", "pets"] {
            let scenario = scenario(&[("scheduler.kind", kind), ("scheduler.order", order)]);
            let errors = Run::simulate(&scenario, None).map(|_| ()).unwrap_err();
            assert_eq!(errors.len(), 1);
            let error = &errors[0];
            assert_eq!((error.code, error.path.as_str()), ("order_needs_slora", "scheduler.order"));
            let kept = "fcfs, lifo, shortest, priority, vtc, lcf, drr, rpm";
            assert!(error.message.contains(order) && error.message.contains(kept), "{error}");
        }
    }
    let slora = scenario(&[("scheduler.order", "pets")]);
    assert!(slora.problems().is_empty());
}
