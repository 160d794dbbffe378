//! The gateway from its settings to the numbers and files of a run.

use std::collections::BTreeMap;

use proptest::prelude::*;
use servescope_lab::run::Run;
use servescope_output::files;
use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;

const KINDS: [&str; 7] = ["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1"];

fn run(settings: &[(&str, &str)]) -> Run {
    let scenario = Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"));
    Run::simulate(&scenario, None).unwrap_or_else(|errors| panic!("{settings:?}: {errors:?}"))
}

fn with<'a>(settings: &[(&'a str, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [settings, more].concat()
}

/// One of four users sends nearly everything, from `share` of 2 requests a second, to an engine with room for all.
const HOG: &[(&str, &str)] = &[
    ("scheduler.kind", "vllm_v1"),
    ("cost.kind", "roofline"),
    ("fleet.gpu", "h100_sxm"),
    ("workload.adapters.count", "0"),
    ("workload.rate_rps", "2"),
    ("workload.users.count", "4"),
    ("workload.users.popularity", "list"),
    ("workload.users.shares", "97,1,1,1"),
    ("gateway.kind", "proxy"),
];

#[test]
fn a_proxy_without_a_limit_changes_nothing() {
    let more: [&[(&str, &str)]; 4] = [
        &[],
        &[("scheduler.order", "vtc"), ("workload.users.count", "5")],
        &[("scheduler.max_total_tokens", "4000"), ("scheduler.preemption", "swap")],
        &[("workload.loop", "closed"), ("fleet.replicas", "2")],
    ];
    for kind in KINDS {
        for more in more {
            let base = with(
                &[("scheduler.kind", kind), ("workload.duration_s", "60"), ("workload.rate_rps", "4")],
                more,
            );
            let direct = run(&base);
            let proxied = run(&with(&base, &[("gateway.kind", "proxy")]));
            assert_eq!(direct.report.digest(), proxied.report.digest(), "{base:?}");
            assert_eq!(direct.report.preemptions, proxied.report.preemptions, "{base:?}");
            let (one, other) = (direct.summary().run, proxied.summary().run);
            assert_eq!(one.ttft_s, other.ttft_s, "{base:?}");
            assert_eq!(one.slo.attainment, other.slo.attainment, "{base:?}");
        }
    }
}

/// Rejected requests of each user, and its requests.
fn rejected_of_users(run: &Run) -> BTreeMap<u32, (u32, u32)> {
    let mut counts = BTreeMap::new();
    for (id, result) in run.report.results.iter().enumerate() {
        let count: &mut (u32, u32) = counts.entry(run.report.trace.user[id]).or_default();
        count.0 += u32::from(matches!(result.outcome, servescope_engine::Outcome::Rejected(_)));
        count.1 += 1;
    }
    counts
}

#[test]
fn a_tenant_over_its_own_quota_is_no_overload() {
    let quotas: [&[(&str, &str)]; 4] = [
        &[("gateway.rpm", "30")],
        &[("gateway.rpm", "30"), ("gateway.window", "bucket")],
        &[("gateway.tpm.total", "15000")],
        &[("gateway.client_concurrency", "1")],
    ];
    for quota in quotas {
        for policy in ["shed", "fair_share"] {
            let run = run(&with(&with(HOG, quota), &[("gateway.load.policy", policy)]));
            let gateway = run.summary().gateway.expect("there was a proxy");
            assert!(gateway.state_share["underload"] > 0.999, "{quota:?}: {:?}", gateway.state_share);
            let held = gateway.held.values().sum::<u64>();
            assert!(held > 100, "{quota:?}: the hog is held back");
            let rejected = rejected_of_users(&run);
            assert!(rejected.values().all(|count| count.0 == 0), "{quota:?}, {policy}: {rejected:?}");
        }
    }
}

#[test]
fn a_tenant_over_its_own_quota_is_in_front_of_no_other() {
    // The estimate of the first token: what the hog's prompts wait for is its quota.
    for kind in ["slora", "vllm_v1"] {
        let checks = [
            ("scheduler.kind", kind),
            ("cost.kind", if kind == "slora" { "linear" } else { "roofline" }),
            ("gateway.rpm", "30"),
            ("gateway.checks", "rpm|tpm|concurrency|queue|kv|ttft"),
            ("gateway.ttft.bound_s", "8"),
        ];
        let run = run(&with(HOG, &checks));
        let rejected = rejected_of_users(&run);
        assert!(rejected[&0].0 > 0, "{kind}: the estimate stops the hog");
        assert!((1..4).all(|user| rejected[&user].0 == 0), "{kind}: {rejected:?}");
    }
}

#[test]
fn waits_for_the_engine_are_overload_all_the_same() {
    let busy = [
        ("workload.rate_rps", "6"),
        ("workload.duration_s", "100"),
        ("workload.users.count", "4"),
        ("gateway.kind", "proxy"),
        ("gateway.rpm", "300"),
    ];
    for checks in ["rpm|kv", "rpm|concurrency"] {
        let run = run(&with(&busy, &[("gateway.checks", checks), ("gateway.concurrency", "16")]));
        let gateway = run.summary().gateway.expect("there was a proxy");
        assert!(gateway.state_share["overload"] > 0.5, "{checks}: {:?}", gateway.state_share);
    }
}

/// Tokens a minute that the hog was let through with, in four minutes after the first bursts.
fn hogs_tokens_a_minute(run: &Run) -> f64 {
    let report = &run.report;
    let forwarded_us = &report.gateway.as_ref().expect("there was a proxy").forwarded_us;
    let own = (0..report.results.len())
        .filter(|&id| report.trace.user[id] == 0 && (30e6..270e6).contains(&forwarded_us[id]));
    f64::from(own.map(|id| report.trace.input_tokens[id] + report.trace.output_tokens[id]).sum::<u32>()) / 4.0
}

#[test]
fn lending_goes_on_while_the_borrower_waits_and_stops_at_the_floor() {
    let lent = |over_quota, window, floor| {
        hogs_tokens_a_minute(&run(&with(
            HOG,
            &[
                ("workload.rate_rps", "5"),
                ("gateway.tpm.total", "30000"),
                ("gateway.lending.on", "true"),
                ("gateway.queue_timeout_s", "20"),
                ("gateway.over_quota", over_quota),
                ("gateway.window", window),
                ("gateway.burst_s", "10"),
                ("gateway.lending.floor", floor),
            ],
        )))
    };
    for window in ["sliding", "fixed", "sub_10s", "bucket", "gcra"] {
        let (wait, refuse) = (lent("wait", window, "0"), lent("refuse", window, "0"));
        assert!(wait > 90_000.0 && wait > 0.9 * refuse, "{window}: {wait} and {refuse}");
        // A quarter of what all four have stays with each of the other three; a half; all.
        for (floor, most) in [("0.5", 75_000.0), ("1", 30_000.0)] {
            for over_quota in ["wait", "refuse"] {
                let tokens = lent(over_quota, window, floor);
                let is_within = tokens > 0.9 * most && tokens < 1.02 * most;
                assert!(is_within, "{window}, {over_quota}, floor {floor}: {tokens}, {most}");
            }
        }
    }
}

#[test]
fn the_proxy_believes_the_pool_that_it_is_told() {
    let base = [
        ("workload.rate_rps", "3"),
        ("workload.duration_s", "60"),
        ("workload.adapters.count", "0"),
        ("gateway.kind", "proxy"),
        ("gateway.checks", "kv"),
    ];
    let of = |pool, engine| {
        run(&with(&base, &[("gateway.kv.pool_tokens", pool), ("scheduler.max_total_tokens", engine)]))
    };
    let digest = |run: &Run| run.report.digest();
    assert_eq!(digest(&of("0", "8000")), digest(&of("8000", "8000")), "0 is the engine's own");
    // A small belief holds requests back for an engine that has room: as if the engine were small.
    let (small, own) = (of("4000", "8000"), of("4000", "4000"));
    let kv = |run: &Run| run.summary().run.kv.peak_usage.expect("there was a pool");
    assert!(kv(&small) < 0.55 && kv(&own) > 0.7, "{} {}", kv(&small), kv(&own));
    assert!(small.report.gateway.as_ref().is_some_and(|log| log.pool_tokens == 4_000.0));
    // A large one lets everything through at once: as if there were no check.
    assert_eq!(digest(&of("1000000000", "8000")), {
        digest(&run(&with(&base, &[("gateway.checks", "none"), ("scheduler.max_total_tokens", "8000")])))
    });
}

/// One row of `events.csv`.
#[derive(Debug, Clone)]
struct Row {
    time_s: f64,
    event: String,
    attempt: Option<u32>,
    reason: String,
}

/// The events of each request, in the order of the file.
fn stories(run: &Run) -> BTreeMap<usize, Vec<Row>> {
    let text = files::events_csv(&run.report);
    let mut stories: BTreeMap<usize, Vec<Row>> = BTreeMap::new();
    let mut before = f64::NEG_INFINITY;
    for line in text.lines().skip(1) {
        let [time_s, event, id, _, attempt, reason] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let time_s: f64 = time_s.parse().unwrap();
        assert!(time_s >= before, "{line} comes too late");
        before = time_s;
        stories.entry(id.parse().unwrap()).or_default().push(Row {
            time_s,
            event: event.to_owned(),
            attempt: attempt.parse().ok(),
            reason: reason.to_owned(),
        });
    }
    stories
}

/// Checks that a request's events are one consistent story that ends as requests.csv says.
fn check_story(id: usize, story: &[Row], outcome: &str, left_s: &str, (has_gateway, is_async): (bool, bool)) {
    let described = || format!("request {id}: {story:?}");
    assert_eq!(story[0].event, "arrived", "{}", described());
    let mut state = "arrived";
    let mut attempt = u32::from(has_gateway);
    for row in &story[1..] {
        let next = row.event.as_str();
        let follows: &[&str] = match next {
            "attempt_rejected" | "attempt_timed_out" | "admitted" => &["arrived", "retried"],
            "retried" => &["attempt_rejected", "attempt_timed_out"],
            "scheduled" if has_gateway => &["admitted"],
            "scheduled" => &["arrived"],
            "refused" | "timed_out" => &["arrived", "retried", "admitted"],
            "preempted" => &["scheduled", "first_token", "resumed"],
            "resumed" => &["preempted"],
            // With asynchronous scheduling a preempted request still gets the token that is under way.
            "first_token" if is_async => &["scheduled", "resumed", "preempted"],
            "first_token" => &["scheduled", "resumed"],
            "finished" if is_async => &["first_token", "resumed", "preempted"],
            "finished" => &["first_token", "resumed"],
            "left" => &[
                "arrived",
                "attempt_rejected",
                "attempt_timed_out",
                "retried",
                "admitted",
                "scheduled",
                "preempted",
                "resumed",
                "first_token",
            ],
            other => panic!("{other}: {}", described()),
        };
        assert!(follows.contains(&state), "{next} after {state}: {}", described());
        attempt += u32::from(next == "retried");
        let is_gateways = has_gateway
            && ["attempt_rejected", "attempt_timed_out", "retried", "admitted", "refused", "timed_out"]
                .contains(&next);
        assert_eq!(row.attempt, is_gateways.then_some(attempt), "{}", described());
        assert_eq!(!row.reason.is_empty(), matches!(next, "attempt_rejected" | "refused"), "{}", described());
        let is_under_way = next == "first_token" && state == "preempted";
        state = if is_under_way { state } else { next };
    }
    let last = &story[story.len() - 1];
    let ends = ["finished", "left", "refused", "timed_out"];
    assert_eq!(
        story.iter().filter(|row| ends.contains(&row.event.as_str())).count(),
        usize::from(outcome != "unfinished")
    );
    match outcome {
        "unfinished" => assert_eq!(left_s, ""),
        _ => assert_eq!(left_s.parse::<f64>().unwrap(), last.time_s, "{}", described()),
    }
    match outcome {
        "completed" => assert_eq!(last.event, "finished"),
        "cancelled" => assert_eq!(last.event, "left"),
        "timed_out" => assert_eq!(last.event, "timed_out"),
        "unfinished" => {}
        reason => assert_eq!((last.event.as_str(), last.reason.as_str()), ("refused", reason)),
    }
}

/// Checks the stories of all requests, and that they sum to the summary's counts.
fn check_events(run: &Run) {
    let stories = stories(run);
    let whole = run.summary();
    let (summary, gateway) = (whole.run, whole.gateway);
    let has_gateway = gateway.is_some();
    let is_async = run.scenario.choice(Id::SchedulerKind) == "vllm_v1";
    let csv = files::requests_csv(&run.report);
    let mut rows = csv.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let heading = rows.next().unwrap();
    let place = |name: &str| heading.iter().position(|&column| column == name).unwrap();
    let (outcome, left) = (place("outcome"), place("left_s"));
    for (id, row) in rows.enumerate() {
        check_story(id, &stories[&id], row[outcome], row[left], (has_gateway, is_async));
    }
    assert_eq!(stories.len() as u64, summary.requests.offered);
    let count = |event: &str| stories.values().flatten().filter(|row| row.event == event).count() as u64;
    let of_reason = |events: &[&str], reason: &str| {
        stories
            .values()
            .flatten()
            .filter(|row| events.contains(&row.event.as_str()) && row.reason == reason)
            .count() as u64
    };
    let requests = &summary.requests;
    assert_eq!(count("finished"), requests.completed);
    assert_eq!(count("timed_out"), requests.timed_out);
    assert_eq!(count("refused"), requests.rejected_total);
    for (reason, rejected) in &requests.rejected {
        assert_eq!(of_reason(&["refused"], reason), *rejected, "{reason}");
    }
    assert_eq!(count("preempted"), run.report.preemptions);
    let Some(gateway) = gateway else { return };
    assert_eq!(gateway.unlisted_attempts, 0);
    assert_eq!(count("arrived") + count("retried"), gateway.attempts);
    assert_eq!(count("attempt_timed_out") + count("timed_out"), gateway.timeouts);
    for (reason, refusals) in &gateway.refusals {
        assert_eq!(of_reason(&["attempt_rejected", "refused"], reason), *refusals, "{reason}");
    }
    let retried = stories.values().filter(|story| story.iter().any(|row| row.event == "retried")).count();
    assert_eq!(retried as u64, gateway.retried);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn the_events_of_each_request_are_one_story(
        scheduler in prop::sample::select(&KINDS[..]),
        checks in prop::sample::select(&["", "rpm|queue|kv", "queue|tpm|concurrency", "ttft|kv", "none"][..]),
        retry in prop::sample::select(&["never", "at_once", "backoff", "honour"][..]),
        refuse in prop::sample::select(&["wait", "refuse"][..]),
        timeout in prop::sample::select(&["0", "0.5", "3"][..]),
        direct in any::<bool>(), closed in any::<bool>(),
        pool in prop::sample::select(&["1500", "6000"][..]),
        rate in 1.0..12f64, seed in 0u32..999,
    ) {
        let (rate, seed) = (rate.to_string(), seed.to_string());
        check_events(&run(&[
            ("scheduler.kind", scheduler), ("scheduler.max_total_tokens", pool), ("workload.rate_rps", &rate),
            ("workload.duration_s", "30"), ("workload.users.count", "3"), ("seed", &seed),
            ("workload.adapters.count", "0"), ("workload.loop", if closed { "closed" } else { "open" }),
            ("gateway.kind", if direct { "direct" } else { "proxy" }), ("gateway.checks", checks),
            ("gateway.rpm", "20"), ("gateway.tpm.total", "9000"), ("gateway.queue.requests", "8"),
            ("gateway.concurrency", "9"), ("gateway.over_quota", refuse), ("gateway.queue_timeout_s", timeout),
            ("gateway.ttft.bound_s", "2"), ("gateway.retry.kind", retry),
        ]));
    }
}

#[test]
fn time_outs_retries_and_returns_are_in_the_files() {
    let storm = run(&[
        ("workload.rate_rps", "8"),
        ("workload.duration_s", "60"),
        ("gateway.kind", "proxy"),
        ("gateway.checks", "queue|kv"),
        ("gateway.queue.requests", "20"),
        ("gateway.queue_timeout_s", "3"),
        ("gateway.retry.kind", "backoff"),
    ]);
    check_events(&storm);
    let text = files::events_csv(&storm.report);
    for event in ["attempt_rejected", "attempt_timed_out", "retried", "admitted", "timed_out", "refused"] {
        assert!(text.contains(&format!(",{event},")), "there is no {event}");
    }
    let tight = run(&[
        ("scheduler.kind", "vllm_v1"),
        ("scheduler.max_total_tokens", "3000"),
        ("workload.adapters.count", "0"),
        ("workload.rate_rps", "6"),
        ("workload.duration_s", "60"),
    ]);
    check_events(&tight);
    let count = |event: &str| files::events_csv(&tight.report).matches(&format!(",{event},")).count();
    let last_tokens = count("preempted") - count("resumed");
    assert!(count("preempted") > 20 && last_tokens < 5, "{last_tokens} ended with a token under way");
}
