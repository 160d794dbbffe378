//! Closed loops, sessions, clients and shared prefixes, from their settings to the numbers of a run.

use servescope_engine::Preemption;
use servescope_lab::run::Run;
use servescope_settings::link;
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::BASE_MODEL;

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let scenario = Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"));
    // An address says the same.
    let (again, problems) = link::parse(&link::encode(&scenario));
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(again.to_json(), scenario.to_json());
    scenario
}

fn run(settings: &[(&str, &str)]) -> Run {
    Run::simulate(&scenario(settings), None).unwrap_or_else(|errors| panic!("{errors:?}"))
}

#[test]
fn a_closed_loop_slows_down_with_its_server() {
    let of = |users: &str, scheduler: &str| {
        run(&[
            ("scheduler.kind", scheduler),
            ("workload.loop", "closed"),
            ("workload.users.count", users),
            ("workload.think.mean_s", "8"),
            ("workload.duration_s", "3000"),
        ])
    };
    for (users, scheduler) in
        [("5", "slora"), ("40", "slora"), ("200", "slora"), ("5", "vllm"), ("40", "vllm_v1")]
    {
        let run = of(users, scheduler);
        let n: f64 = users.parse().unwrap();
        let summary = run.summary().run;
        assert_eq!(summary.requests.unfinished, 0);
        // No user has two requests under way, and all stop at 3000 s.
        let report = &run.report;
        let mut until = vec![0.0; n as usize];
        for id in 0..report.results.len() {
            let sent = report.trace.arrival_us[id];
            let end = &mut until[report.trace.user[id] as usize];
            assert!(sent >= *end && sent < 3000e6, "request {id}");
            *end = report.results[id].finish_us.unwrap_or(sent);
        }
        // X = N / (Z + R), but for the beginning, where users come back one by one.
        let rate = summary.requests.offered as f64 / 3000.0;
        let expected = n / (8.0 + summary.e2e_s.mean.unwrap());
        assert!((rate / expected - 1.0).abs() < 0.05, "{users}: {rate} against {expected}");
        assert_eq!(summary.strip_throughput_rps, None);
    }
}

#[test]
fn a_loop_that_is_out_of_requests_says_so() {
    let run = run(&[("workload.loop", "closed"), ("workload.closed.requests", "50")]);
    assert_eq!(run.report.results.len(), 50);
    assert!(run.summary().warnings.iter().any(|w| w.code == "loop_ran_out"));
}

#[test]
fn sessions_wait_for_their_answers() {
    for scheduler in ["slora", "sarathi"] {
        sessions_wait_under(scheduler);
    }
}

fn sessions_wait_under(scheduler: &str) {
    let base = [
        ("workload.sessions.kind", "held"),
        ("workload.sessions.turns.mean", "6"),
        ("seed", "3"),
        ("scheduler.kind", scheduler),
    ];
    let run = run(&base);
    let report = &run.report;
    let metadata = report.trace.metadata.as_ref().unwrap();
    let mut end = vec![0.0f64; metadata.session.names.len()];
    for id in 0..report.results.len() {
        let end = &mut end[metadata.session.index[id] as usize];
        assert!(report.trace.arrival_us[id] >= *end);
        *end = report.results[id].finish_us.unwrap_or(report.trace.arrival_us[id]);
        assert!(report.trace.input_tokens[id] <= 2048);
    }
    // The same conversations with times fixed in advance: as many requests, other times.
    let mut fixed = scenario(&base);
    fixed.set_text("workload.sessions.kind", "timed").unwrap();
    let fixed = Run::simulate(&fixed, None).unwrap();
    assert_eq!(fixed.report.results.len(), report.results.len());
    assert!(fixed.report.trace.closed_loop.is_none());
}

#[test]
fn shared_beginnings_are_told_and_found() {
    let run = run(&[
        ("workload.rate_rps", "2"),
        ("workload.prefix.kind", "tree"),
        ("workload.prefix.block_tokens", "32"),
        ("workload.sessions.kind", "held"),
        ("workload.adapters.count", "4"),
    ]);
    let summary = run.summary();
    let prefix = summary.prefix.unwrap();
    assert_eq!(prefix.block_tokens, 32);
    assert!(prefix.hit_share > 0.3 && prefix.hit_share < 0.95, "{}", prefix.hit_share);
    assert!(Run::simulate(&Scenario::of_version(4), None).unwrap().summary().prefix.is_none());
}

#[test]
fn clients_have_expected_shares() {
    let run = run(&[
        ("workload.clients.kind", "each"),
        ("workload.users.count", "4"),
        ("workload.users.popularity", "list"),
        ("workload.users.shares", "4,3,2,1"),
        ("workload.adapters.count", "3"),
        ("workload.clients.adapters", "2,0,-1,2"),
        ("workload.clients.cvs", "0.5"),
        ("workload.rate_rps", "4"),
    ]);
    let summary = run.summary().run;
    for row in &summary.per_user {
        let expected = [0.4, 0.3, 0.2, 0.1][row.id as usize];
        assert_eq!(row.expected_share, Some(expected));
        assert!((row.share - expected).abs() < 0.05, "user {}: {}", row.id, row.share);
    }
    let expected = [0.3 + 0.2 / 3.0, 0.2 / 3.0, 0.5 + 0.2 / 3.0];
    for row in &summary.per_adapter {
        assert!((row.expected_share.unwrap() - expected[row.id as usize]).abs() < 1e-12);
        assert!((row.share - expected[row.id as usize]).abs() < 0.06, "adapter {}", row.id);
    }
}

#[test]
fn what_cannot_be_is_refused_at_its_parameter() {
    let problem = |settings: &[(&str, &str)]| scenario(settings).problems()[0].message.clone();
    assert_eq!(
        problem(&[("workload.clients.kind", "each"), ("workload.clients.adapters", "3,200")]),
        "workload.clients.adapters: 200 is not between -1 and 199"
    );
    let blocks = [
        ("workload.prefix.kind", "tree"),
        ("workload.prefix.block_tokens", "1"),
        ("workload.rate_rps", "10000"),
    ];
    let many = problem(&blocks);
    assert!(many.starts_with("workload.prefix.block_tokens: the prompts have"), "{many}");
    assert!(many.contains("Use 68 tokens a block or more"), "{many}");
    // Without effect they are no problem.
    assert!(scenario(&[("workload.clients.adapters", "3,200")]).problems().is_empty());
}

#[test]
fn clients_may_leave_every_scheduler() {
    let of = |scheduler: &str, more: &[(&str, &str)]| {
        let settings = [
            &[("scheduler.kind", scheduler), ("workload.rate_rps", "4"), ("workload.adapters.count", "0")],
            more,
        ]
        .concat();
        let scenario = scenario(&settings);
        let mut trace = servescope_traces::arrivals::trace_of(&scenario, None).unwrap().as_ref().clone();
        // Every third client waits for 2 s.
        trace.cancellations =
            (0..trace.len()).step_by(3).map(|id| (trace.arrival_us[id] + 2e6, id as u32)).collect();
        trace.sort_cancellations();
        let loaded = LoadedTrace::from_trace("leaving", trace);
        Run::simulate(&scenario, Some(&loaded)).unwrap().summary().run.requests
    };
    for scheduler in ["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1"] {
        let counts = of(scheduler, &[]);
        assert!(counts.cancelled > 0 && counts.unfinished == 0, "{scheduler}: {counts:?}");
        let counts = of(scheduler, &[("gateway.queue_timeout_s", "5"), ("gateway.concurrency", "60")]);
        assert!(counts.timed_out > 0 && counts.unfinished == 0, "{scheduler}: {counts:?}");
        let counts = of(scheduler, &[("gateway.concurrency", "20")]);
        assert!(counts.rejected["concurrency"] > 0, "{scheduler}: {counts:?}");
    }
}

#[test]
fn swapping_knows_the_bytes_of_a_token() {
    let of = |more: &[(&str, &str)]| {
        let base = [("scheduler.kind", "sarathi"), ("scheduler.preemption", "swap")];
        match scenario(&[&base, more].concat()).pool().preemption {
            Preemption::Swap { host_blocks, us_per_block } => (host_blocks, us_per_block),
            other => panic!("{other:?}"),
        }
    };
    // 512 KiB a token, 16 tokens a block: 8 MiB.
    let (host_blocks, us_per_block) = of(&[]);
    assert_eq!(host_blocks, 512);
    assert!((us_per_block - 8.0 * 1_048_576.0 / 31.5e3).abs() < 1e-9);
    // Two GPUs hold half of a token each, over a link each.
    let roofline = [("cost.kind", "roofline"), ("fleet.tensor_parallel", "1")];
    let (one, two) = (of(&roofline), of(&[roofline[0], ("fleet.tensor_parallel", "2")]));
    assert!((one.1 / two.1 - 2.0).abs() < 1e-9 && two.0 / one.0 == 2);
}

/// All but a fleet's own part and the load, whichever is asked for first.
#[test]
fn a_summary_without_utilization_has_the_numbers_of_the_whole_one() {
    let reported = |run: &Run, is_quick: bool| {
        let summary = if is_quick { run.summary_without_utilization() } else { run.summary() };
        serde_json::to_value(summary).unwrap()
    };
    for settings in [
        &[("scheduler.kind", "vllm_v1"), ("cost.kind", "profile"), ("workload.adapters.count", "0")][..],
        &[
            ("scheduler.kind", "sarathi"),
            ("fleet.replicas", "2"),
            ("fleet.pipeline_parallel", "2"),
            ("cost.kind", "roofline"),
        ],
        &[("scheduler.kind", "vllm"), ("scheduler.max_total_tokens", "3000"), ("gateway.kind", "proxy")],
        &[("workload.rate_rps", "6")],
    ] {
        let (first, second) = (run(settings), run(settings));
        let (early, mut whole) = (reported(&first, true), reported(&first, false));
        assert_eq!(reported(&second, false), whole, "{settings:?}");
        assert_eq!(reported(&second, true), early, "{settings:?}");
        assert!(whole["gpu"]["load"].is_number());
        whole["gpu"]["load"] = serde_json::Value::Null;
        if !whole["fleet"].is_null() {
            assert!(whole["gpu"]["busy"].is_number() && whole["fleet"]["per_replica"].is_array());
            whole["fleet"] = serde_json::Value::Null;
            whole["gpu"]["mfu"] = serde_json::Value::Null;
            whole["gpu"]["bandwidth"] = serde_json::Value::Null;
        }
        assert_eq!(early, whole, "{settings:?}");
    }
}

/// Coefficient of variation of the gaps between the requests of each adapter, and how many it has.
fn adapter_cvs(trace: &servescope_workload::Trace) -> Vec<(usize, f64)> {
    (0..trace.adapter_count() as u32)
        .map(|adapter| {
            let times: Vec<f64> = (0..trace.len())
                .filter(|&id| trace.adapter[id] == adapter)
                .map(|id| trace.arrival_us[id])
                .collect();
            let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
            (times.len(), f64::sqrt(variance) / mean)
        })
        .collect()
}

#[test]
fn each_adapter_can_have_its_own_arrival_process() {
    let of = |per: &str| {
        let scenario = scenario(&[
            ("workload.arrivals.cv", "4"),
            ("workload.arrivals.per", per),
            ("workload.adapters.count", "5"),
            ("workload.rate_rps", "2"),
            ("workload.duration_s", "100000"),
        ]);
        adapter_cvs(&servescope_traces::arrivals::trace_of(&scenario, None).unwrap())
    };
    for (count, cv) in of("all") {
        assert!((cv - 2.0).abs() < 0.15, "one thinned process: {cv} of {count}");
    }
    for (count, cv) in of("adapter") {
        assert!((cv - 4.0).abs() < 0.4, "a process of its own: {cv} of {count}");
        assert!((count as f64 / 40_000.0 - 1.0).abs() < 4.0 * 4.0 / f64::sqrt(40_000.0), "{count}");
    }
    // Where each user has a process of its own the setting means nothing, and the control is off.
    let mut both = scenario(&[("workload.clients.kind", "each"), ("workload.arrivals.per", "adapter")]);
    let per = servescope_settings::parameters::Id::ArrivalsPer;
    assert!(!both.is_active(per));
    let with = servescope_traces::arrivals::trace_of(&both, None).unwrap();
    both.set_text("workload.arrivals.per", "all").unwrap();
    assert_eq!(with, servescope_traces::arrivals::trace_of(&both, None).unwrap());
}

#[test]
fn a_scenario_without_requests_names_the_setting_that_is_the_reason() {
    let refused = |settings: &[(&str, &str)]| {
        let errors = Run::simulate(&scenario(settings), None).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
        (errors[0].code, errors[0].path.clone(), errors[0].message.clone())
    };
    let (code, path, message) =
        refused(&[("workload.sessions.kind", "held"), ("workload.sessions.turns.mean", "10000")]);
    assert_eq!((code, path.as_str()), ("no_sessions", "workload.sessions.turns.mean"));
    assert!(message.contains("420 requests") && message.contains("0.042 sessions, below 1"), "{message}");
    let (code, path, message) = refused(&[("workload.rate_rps", "0.001")]);
    assert_eq!((code, path.as_str()), ("no_requests", "workload.duration_s"));
    assert!(message.contains("0.3, below 1"), "{message}");
    // 1.2 requests are expected; the process of the only adapter brings none with this seed.
    let none = (0..50).find_map(|seed| {
        let scenario = scenario(&[
            ("workload.arrivals.per", "adapter"),
            ("workload.adapters.count", "1"),
            ("workload.rate_rps", "0.004"),
            ("seed", &seed.to_string()),
        ]);
        servescope_traces::arrivals::trace_of(&scenario, None).err()
    });
    let errors = none.expect("a third of the seeds brings none");
    assert_eq!((errors[0].code, errors[0].path.as_str()), ("no_arrivals", "workload.duration_s"));
}

#[test]
fn rates_by_adapter_are_requests_over_the_time_of_arrivals() {
    let run = run(&[("workload.adapters.count", "3"), ("workload.duration_s", "1000")]);
    let last_s = run.report.trace.arrival_us.last().unwrap() / 1e6;
    let summary = run.summary();
    for rows in [&summary.run.per_adapter, &summary.run.per_user] {
        let sum: f64 = rows.iter().map(|row| row.rate_rps.unwrap()).sum();
        assert!((sum * last_s / 1400.0 - 1.0).abs() < 1e-9, "{sum}");
    }
    let row = &summary.run.per_adapter[0];
    assert_eq!(row.rate_rps, Some(f64::from(row.offered) / last_s));
}

#[test]
fn a_request_of_ones_own_joins_those_of_the_workload_or_of_a_file() {
    let own = [
        ("workload.extra_request.input_tokens", "700"),
        ("workload.extra_request.output_tokens", "30"),
        ("workload.extra_request.time_s", "20"),
        ("workload.extra_request.user", "4"),
        ("workload.extra_request.adapter", "2"),
    ];
    for settings in [
        &[("workload.duration_s", "60")][..],
        &[("workload.loop", "closed"), ("workload.users.count", "5"), ("workload.duration_s", "60")],
        &[("workload.sessions.kind", "held"), ("workload.duration_s", "60")],
    ] {
        let without = run(settings);
        let with = run(&[settings, &own].concat());
        let id = with.summary().extra_request.expect("the settings ask for it") as usize;
        assert_eq!(without.summary().extra_request, None);
        let trace = &with.report.trace;
        let sent = trace.request(id);
        assert_eq!((sent.arrival_us, sent.input_tokens, sent.output_tokens, sent.user), (20e6, 700, 30, 4));
        assert_eq!((sent.adapter, trace.rank_of(2)), (2, without.report.trace.rank_of(2)));
        assert!(with.report.results[id].finish_us.is_some());
        // In a closed loop, when the others are sent depends on how it is served.
        if without.report.trace.closed_loop.is_some() {
            continue;
        }
        let others = trace.filter(|other| other != id);
        let alone = without.report.trace.as_ref();
        assert_eq!((&others.arrival_us, &others.input_tokens), (&alone.arrival_us, &alone.input_tokens));
        let of_file = Run::simulate(&scenario(&own), Some(&LoadedTrace::from_trace("file", alone.clone())));
        let of_file = of_file.unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!(of_file.summary().extra_request, Some(id as u32));
        // First come, first served knows no users: the request's user is seen in the tables alone.
        let notes = of_file.notes();
        let without_effect =
            notes.iter().map(|note| note.id.row().id).filter(|path| path.contains("extra_request"));
        assert_eq!(without_effect.collect::<Vec<_>>(), ["workload.extra_request.user"]);
    }
    // It asks for an adapter that is there, or for the base model.
    let beyond =
        [&own[..4], &[("workload.extra_request.adapter", "3"), ("workload.adapters.count", "3")]].concat();
    let errors = Run::simulate(&scenario(&beyond), None).expect_err("there are three adapters");
    assert_eq!(errors[0].path, "workload.extra_request.adapter");
    assert!(errors[0].message.contains('2'), "{}", errors[0].message);
    let base = run(&own[..4]);
    let id = base.summary().extra_request.expect("the settings ask for it") as usize;
    assert_eq!(base.report.trace.request(id).adapter, BASE_MODEL);
}
