//! The cost of a request does not grow with their number, whatever schedules, queues or bounds them: ten times the requests take at
//! most one and a half times as long for each. Time is that of this thread on a core, the least of several rounds, so that others
//! on the machine do not count.

use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

/// Requests of the shorter and the longer run.
const SIZES: [u32; 2] = [10_000, 100_000];

/// How much longer a request may take in the longer run.
const MOST: f64 = 1.5;

/// Rounds after which the least time is taken for the time; more only where it is too long.
const ROUNDS: [usize; 2] = [2, 8];

/// Nanoseconds of this thread on a core, counted at the ticks of the clock; none on a system that does not count them.
fn on_core_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// More requests come than are served, so that those that wait are as many as those that come.
fn scenario(settings: &[(&str, &str)], requests: u32) -> Scenario {
    const RATE_RPS: u32 = 100;
    let duration_s = (requests / RATE_RPS).to_string();
    let mut all = vec![
        ("workload.rate_rps", "100"),
        ("workload.duration_s", &*duration_s),
        ("workload.users.count", "20"),
        ("workload.input_tokens.high", "100"),
        ("workload.output_tokens.high", "40"),
        ("workload.adapters.count", "8"),
        ("scheduler.max_total_tokens", "2000"),
        ("fleet.kv_pool", "given"),
    ];
    all.extend(settings);
    Scenario::of_version(4).with(&all).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

/// Nanoseconds a request, over as many runs as have the requests of the longest together: a tick is longer than a short run.
fn cost(settings: &[(&str, &str)], requests: u32) -> Option<f64> {
    let scenario = scenario(settings, requests);
    let (before, mut sent) = (on_core_ns()?, 0);
    for _ in 0..SIZES[1] / requests {
        let run = Run::simulate(&scenario, None).unwrap_or_else(|errors| panic!("{settings:?}: {errors:?}"));
        sent += run.report.results.len();
    }
    let ns = on_core_ns()? - before;
    assert!(sent > SIZES[1] as usize / 2, "{settings:?}: {sent} requests");
    Some(ns as f64 / sent as f64)
}

fn grows(settings: &[(&str, &str)]) -> Option<String> {
    let [few, many] = SIZES;
    let mut least = [f64::INFINITY; 2];
    for round in 1..=ROUNDS[1] {
        least = [least[0].min(cost(settings, few)?), least[1].min(cost(settings, many)?)];
        if round >= ROUNDS[0] && least[1] <= MOST * least[0] {
            return None;
        }
    }
    let [few_us, many_us] = least.map(|ns| ns / 1e3);
    Some(format!("{settings:?}: {many_us:.2} us a request of {many}, {few_us:.2} of {few}"))
}

fn none_grows(cases: &[&[(&str, &str)]]) {
    let grown: Vec<String> = cases.iter().filter_map(|case| grows(case)).collect();
    assert!(grown.is_empty(), "{}", grown.join("\n"));
}

#[test]
fn of_no_scheduler() {
    let kinds = ["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1"];
    let cases = kinds.map(|kind| [("scheduler.kind", kind)]);
    none_grows(&cases.each_ref().map(|case| &case[..]));
}

#[test]
fn of_no_order() {
    let orders = ["lifo", "shortest", "priority", "vtc", "lcf", "drr", "rpm", "early_abort"];
    let cases = orders.map(|order| [("scheduler.order", order)]);
    none_grows(&cases.each_ref().map(|case| &case[..]));
}

#[test]
fn of_no_limit() {
    const V1: (&str, &str) = ("scheduler.kind", "vllm_v1");
    none_grows(&[
        &[V1, ("scheduler.max_num_queued_tokens", "100000000")],
        &[V1, ("scheduler.max_num_queued_tokens", "10000")],
        &[V1, ("scheduler.max_num_active_seqs", "4")],
        &[V1, ("scheduler.order", "priority")],
        &[V1, ("fleet.pipeline_parallel", "2"), ("cost.kind", "roofline")],
        &[V1, ("workload.prefix.kind", "tree"), ("workload.sessions.kind", "timed")],
        &[("gateway.concurrency", "50")],
        &[("gateway.queue_timeout_s", "20")],
    ]);
}

#[test]
fn of_no_gateway() {
    const PROXY: (&str, &str) = ("gateway.kind", "proxy");
    none_grows(&[
        &[PROXY, ("gateway.rpm", "100")],
        &[PROXY, ("gateway.rpm", "100"), ("gateway.over_quota", "refuse")],
        &[PROXY, ("gateway.tpm.total", "10000")],
        &[PROXY, ("gateway.client_concurrency", "4")],
        &[PROXY, ("gateway.checks", "concurrency"), ("gateway.concurrency", "50")],
        &[PROXY, ("gateway.checks", "kv"), ("gateway.order", "vtc")],
        &[PROXY, ("gateway.checks", "kv|queue"), ("gateway.queue.requests", "100")],
        &[PROXY, ("gateway.checks", "kv"), ("gateway.queue_timeout_s", "20")],
        &[PROXY, ("gateway.rpm", "100"), ("gateway.over_quota", "refuse"), ("gateway.retry.kind", "backoff")],
    ]);
}
