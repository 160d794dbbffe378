//! Where a run's knee lies: all requests at once are served at the rate that its load figure is a share of, and the same
//! traffic grows a queue above that rate and none below it.

use std::sync::Arc;

use servescope_engine::{Fleet, Report};
use servescope_lab::capacity::{Goal, Miss, Probe};
use servescope_lab::run::Run;
use servescope_lab::run::growth::{Growth, GrowthVerdict};
use servescope_settings::scenario::Scenario;
use servescope_workload::Trace;
use servescope_workload::scale::stretch_time;
use servescope_workload::trace::Request;

use super::{Setup, cases};

/// Growth in fewer requests is lost in the chance of their arrivals.
const LEAST: usize = 200;

/// How many times over traffic goes on at most.
const COPIES: u32 = 8;

/// The capacities are given to four decimals.
const ROUNDED: f64 = 6e-5;

fn run(setup: &Setup, trace: Trace) -> Report {
    Fleet::of_pool(Arc::new(trace), setup.run.pool, Box::new(setup.cost.clone())).run()
}

/// The traffic this many times over.
fn repeated(trace: &Trace, times: u32) -> Trace {
    let mut all = trace.clone();
    let last_us = trace.arrival_us.last().copied().unwrap_or(0.0);
    let span_us = last_us * (1.0 + 1.0 / trace.len() as f64);
    for k in 1..times {
        for id in 0..trace.len() {
            let request = trace.request(id);
            all.push(Request { arrival_us: request.arrival_us + f64::from(k) * span_us, ..request });
        }
    }
    all
}

/// By how much the queue grows at a rate; the traffic goes on until that is decided.
fn grows(setup: &Setup, load: f64, times: f64) -> Option<f64> {
    let mut trace = Trace::clone(&setup.trace);
    stretch_time(&mut trace, load / times);
    let mut scenario = Scenario::of_version(4);
    for bound in ["capacity.ttft_s", "capacity.tpot_s", "capacity.queue_s"] {
        scenario.set_text(bound, "100000").expect("a bound that nothing breaks");
    }
    let goal = Goal::of(&scenario);
    for copies in [1, 2, 4, COPIES] {
        let report = run(setup, repeated(&trace, copies));
        let window_us = [report.trace.arrival_us[0], *report.trace.arrival_us.last().expect("requests")];
        let growth = Growth::of_report(&report, window_us);
        let probe = Probe::of(times, &Run::of(report, &scenario), &goal);
        if let Some(Miss::Growing { growth }) = probe.miss {
            return Some(growth);
        }
        if !matches!(growth.verdict(), GrowthVerdict::TooShort { .. }) {
            return None;
        }
    }
    None
}

/// The rate at which requests are served that all come at once.
fn served_at_once(setup: &Setup, times: u32) -> f64 {
    let mut at_once = repeated(&setup.trace, times);
    at_once.arrival_us.fill(0.0);
    let report = run(setup, at_once);
    let end_s = report.results.iter().filter_map(|fate| fate.finish_us).fold(0.0, f64::max) / 1e6;
    report.results.len() as f64 / end_s
}

#[test]
fn the_knee_lies_where_the_load_says() {
    let mut checked = 0;
    for case in cases() {
        let number = |name: &str| case.config[name].as_f64();
        let (Some(load), Some(qps)) = (number("offered_load_of_capacity"), number("saturated_capacity_qps"))
        else {
            continue;
        };
        let Some(setup) = case.setup() else { continue };
        checked += 1;
        let served = served_at_once(&setup, 1);
        // The last, longest requests run alone, which counts less the more come before them.
        let most = served_at_once(&setup, COPIES);
        let (above, below) = (grows(&setup, load, 2.0 * most / qps), grows(&setup, load, 0.8));
        println!(
            "{}: {served:.3} requests/s at once, {qps:.3} in the file, {most:.3} of {COPIES} times as many; growth at twice \
             that {above:?}, at 0.8 of the file's {below:?}",
            case.name()
        );
        assert!((served - qps).abs() < ROUNDED, "{}: {served} against {qps}", case.name());
        if setup.trace.len() < LEAST || case.config["arrival_process"] != "poisson" {
            continue;
        }
        assert!(above.is_some(), "{}: no queue grows at twice the capacity", case.name());
        assert_eq!(below, None, "{}: a queue grows at 0.8 of the capacity", case.name());
    }
    println!("checked {checked} cases");
}
