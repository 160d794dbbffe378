//! Routers by the names of their systems: what a view that is late, divided or wrong costs, and the case in which each rule loses.

use servescope_engine::decisions::{Decision, Verdict};
use servescope_engine::first_difference::first_difference;
use servescope_lab::run::{Run, RunSummary, SimulationHandle};
use servescope_settings::scenario::Scenario;

/// Replicas of Llama-3.1-8B on an H100 behind a router.
fn base(router: &str) -> [(&'static str, &str); 8] {
    [
        ("scheduler.kind", "vllm_v1"),
        ("cost.kind", "roofline"),
        ("fleet.gpu", "h100_sxm"),
        ("fleet.model", "llama-3.1-8b"),
        ("fleet.replicas", "4"),
        ("workload.adapters.count", "0"),
        ("workload.duration_s", "30"),
        ("fleet.router", router),
    ]
}

fn run(router: &str, settings: &[(&str, &str)]) -> Run {
    let all = [&base(router)[..], settings].concat();
    let scenario = Scenario::of_version(4).with(&all).unwrap_or_else(|error| panic!("{error}"));
    Run::simulate(&scenario, None).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn summary(router: &str, settings: &[(&str, &str)]) -> RunSummary {
    run(router, settings).summary()
}

fn imbalance(summary: &RunSummary) -> f64 {
    summary.fleet.as_ref().and_then(|fleet| fleet.imbalance).expect("replicas ran")
}

fn ttft_p99(summary: &RunSummary) -> f64 {
    summary.run.ttft_s.p99.expect("enough requests")
}

fn hit_rate(summary: &RunSummary) -> f64 {
    summary.run.prefix_cache.and_then(|cache| cache.hit_rate).expect("a prefix cache")
}

/// Requests of each replica.
fn requests(summary: &RunSummary) -> Vec<u32> {
    summary.fleet.iter().flat_map(|fleet| &fleet.per_replica).map(|row| row.requests).collect()
}

/// Long prompts of talks that go on, with a system prompt of each of some users.
const TALKS: [(&str, &str); 5] = [
    ("workload.sessions.kind", "held"),
    ("workload.prefix.kind", "tree"),
    ("workload.rate_rps", "60"),
    ("workload.input_tokens.low", "200"),
    ("workload.input_tokens.high", "1500"),
];

const RULES: [&str; 9] = [
    "llmd",
    "llmd_weighted",
    "dynamo_kv",
    "sglang_cache_aware",
    "aibrix_prefix_cache",
    "ps_kvaware",
    "ps_prefixaware",
    "lmetric",
    "lpwl",
];

#[test]
fn events_without_delay_tell_the_truth() {
    for router in ["lpwl", "dynamo_kv", "llmd"] {
        let of = |kind: &str, delay: &str| {
            let view = [("fleet.router_index.kind", kind), ("fleet.router_index.event_delay_ms", delay)];
            run(router, &[&TALKS[..], &view, &[("workload.duration_s", "10")]].concat())
        };
        let (truth, events, never) = (of("true", "0"), of("precise", "0"), of("precise", "3600000"));
        assert_eq!(truth.report.digest(), events.report.digest(), "{router}");
        assert_eq!(truth.report.routing, events.report.routing, "{router}");
        assert_ne!(truth.report.digest(), never.report.digest(), "{router}");
        let never = never.report.routing.expect("an index");
        assert!(
            never.believed_tokens == 0 && never.missed_tokens == never.found_tokens,
            "{router}: {never:?}"
        );
    }
}

/// Sessions whose contexts do not fit on the GPUs together, with host memory for all of them.
const LONG_TALKS: [(&str, &str); 14] = [
    ("workload.sessions.kind", "held"),
    ("workload.sessions.turns.mean", "8"),
    ("workload.sessions.context_cap", "20000"),
    ("workload.think.mean_s", "30"),
    ("workload.prefix.kind", "tree"),
    ("workload.rate_rps", "8"),
    ("workload.duration_s", "120"),
    ("workload.input_tokens.low", "200"),
    ("workload.input_tokens.high", "4000"),
    ("workload.input_tokens.median", "1200"),
    ("fleet.kv_pool", "given"),
    ("scheduler.max_total_tokens", "60000"),
    ("scheduler.max_model_len", "22000"),
    ("fleet.host_cache.gib", "32"),
];

/// A router that does not see host memory sends a session away from what it could load.
#[test]
fn a_tier_that_the_router_does_not_see_is_worth_less() {
    let of = |gib: &str, weight: &str| {
        let view = [("fleet.router_index.kind", "true"), ("fleet.router_index.host_weight", weight)];
        let own = [("fleet.host_cache.gib", gib)];
        summary("lpwl", &[&LONG_TALKS[..], &own, if gib == "0" { &view[..1] } else { &view }].concat())
    };
    let mean = |summary: &RunSummary| summary.run.ttft_s.mean.expect("requests");
    let [without, unseen, seen] = [of("0", "0"), of("32", "0"), of("32", "0.8")].map(|run| mean(&run));
    println!("mean TTFT: {without:.3} s without host memory, {unseen:.3} s unseen, {seen:.3} s seen");
    assert!(unseen < without && without - seen > 1.5 * (without - unseen), "{seen} {unseen} {without}");
}

/// Both connectors tell of what they store and forget, so that events without a delay are the truth.
#[test]
fn events_of_host_memory_tell_the_truth() {
    for connector in ["offloading", "simple_cpu"] {
        let of = |kind: &str| {
            let view = [
                ("fleet.router_index.kind", kind),
                ("fleet.host_cache.connector", connector),
                ("fleet.host_cache.gib", "4"),
            ];
            let view = if kind == "precise" {
                [&view[..], &[("fleet.router_index.event_delay_ms", "0")]].concat()
            } else {
                view.to_vec()
            };
            run("dynamo_kv", &[&LONG_TALKS[..], &view, &[("workload.duration_s", "40")]].concat())
        };
        let (truth, events) = (of("true"), of("precise"));
        assert_eq!(truth.report.digest(), events.report.digest(), "{connector}");
    }
}

#[test]
fn rules_find_what_is_cached() {
    let turn = summary("round_robin", &TALKS);
    for router in RULES {
        let own = summary(router, &TALKS);
        let routing = own.run.routing.expect("an index");
        let [hits, in_turn] = [&own, &turn].map(hit_rate);
        assert!(hits > 1.05 * in_turn, "{router}: {hits} of the prompts found, {in_turn} in turn");
        assert_eq!(
            routing.believed_tokens - routing.false_tokens,
            routing.found_tokens - routing.missed_tokens,
            "{router}: what was believed and found is the same from both sides"
        );
        // Rules that look at the prompt tokens to compute are as quick as without an eye for the cache, and share alike.
        if ["llmd", "lmetric", "lpwl"].contains(&router) {
            assert!(ttft_p99(&own) < 1.1 * ttft_p99(&turn) && imbalance(&own) < 1.2, "{router}");
        }
    }
}

/// The direction of BLIS, whose TTFT P99 grows by 14 % with metrics that are 10 ms old and by 354 % at 100 ms.
#[test]
fn late_counts_make_a_herd() {
    let load = [("workload.rate_rps", "120"), ("fleet.replicas", "8")];
    let of = |counts: &str, scrape_ms: &str| {
        let view = [("fleet.router_view.counts", counts), ("fleet.router_view.scrape_ms", scrape_ms)];
        summary("least_outstanding", &[&load[..], &view].concat())
    };
    let own = of("own", "0");
    let present = of("scraped", "0");
    assert_eq!(ttft_p99(&own), ttft_p99(&present), "counts of the moment are the router's own");
    let late = ["10", "100", "1000", "5000"].map(|scrape_ms| of("scraped", scrape_ms));
    let times = late.each_ref().map(ttft_p99).map(|p99| p99 / ttft_p99(&own));
    assert!(times.is_sorted() && times[0] > 1.1 && times[1] > 2.0 && times[2] > 3.0, "{times:?}");
    let [quick, .., slow] = &late;
    assert!(imbalance(&own) < 1.05 && imbalance(quick) < 1.05 && imbalance(slow) > 2.0);
}

#[test]
fn routers_that_know_their_own_requests_only_share_worse() {
    for router in ["least_outstanding", "lmetric", "llmd"] {
        let of = |shards| summary(router, &[&TALKS[..], &[("fleet.router_view.shards", shards)]].concat());
        let [one, two, four] = ["1", "2", "4"].map(of);
        let p99 = [&one, &two, &four].map(ttft_p99);
        assert!(p99[1] > 1.05 * p99[0] && p99[2] > 1.1 * p99[0], "{router}: {p99:?} s");
        assert!(imbalance(&four) > imbalance(&one), "{router}");
    }
}

/// A prefix that all share, and more requests than one replica serves.
#[test]
fn one_hot_prefix_stays_on_one_replica() {
    let hot = |router: &str, more: &[(&str, &str)]| {
        let settings = [
            ("workload.prefix.kind", "tree"),
            ("workload.prefix.system_tokens", "2000"),
            ("workload.input_tokens.low", "100"),
            ("workload.input_tokens.high", "300"),
            ("workload.rate_rps", "60"),
        ];
        summary(router, &[&settings[..], more].concat())
    };
    let turn = hot("round_robin", &[]);
    let all = requests(&turn).iter().sum::<u32>();
    // llmd's gate is closed for as long as its replica's queue is less than 18 s long.
    for router in ["ps_prefixaware", "llmd"] {
        let own = hot(router, &[]);
        assert!(requests(&own).contains(&all), "{router}: {:?}", requests(&own));
        assert!(ttft_p99(&own) > 100.0 * ttft_p99(&turn), "{router}: {} s", ttft_p99(&own));
    }
    let gated = hot("llmd", &[("fleet.routers.llmd.max_ttft_penalty_ms", "20")]);
    for own in [&gated, &hot("sglang_cache_aware", &[]), &hot("dynamo_kv", &[]), &hot("lpwl", &[])] {
        assert!(requests(own).iter().all(|&count| count > all / 8), "{:?}", requests(own));
        assert!(ttft_p99(own) < 2.0 * ttft_p99(&turn), "{} s", ttft_p99(own));
    }
}

/// In a small pool blocks are evicted long before a router forgets them.
#[test]
fn an_index_that_remembers_longer_than_the_cache_believes_false_hits() {
    let small = [("fleet.kv_pool", "given"), ("scheduler.max_total_tokens", "40000")];
    let of =
        |setting| summary("lpwl", &[&TALKS[..], &small, &[setting]].concat()).run.routing.expect("an index");
    let [for_ever, seconds] = ["0", "2"].map(|ttl_s| of(("fleet.router_index.ttl_s", ttl_s)));
    assert!(for_ever.false_share.is_some_and(|share| share > 0.2), "{for_ever:?}");
    assert!(seconds.false_tokens == 0 && seconds.missed_tokens > for_ever.missed_tokens, "{seconds:?}");
    let truth = of(("fleet.router_index.kind", "true"));
    assert!(truth.false_tokens == 0 && truth.missed_tokens == 0, "{truth:?}");
}

/// Infera, issue 103: 448 of 448 requests went to one of two replicas, as there was no load between two requests.
#[test]
fn without_load_between_requests_the_cache_alone_decides() {
    let alone = [
        ("fleet.replicas", "2"),
        ("workload.loop", "closed"),
        ("workload.users.count", "1"),
        ("workload.prefix.kind", "tree"),
        ("workload.closed.requests", "448"),
        ("workload.duration_s", "86400"),
        ("workload.think.mean_s", "0.01"),
    ];
    for router in ["dynamo_kv", "lmetric"] {
        let requests = requests(&summary(router, &alone));
        assert!(requests.contains(&448), "{router}: {requests:?}");
    }
    assert_eq!(requests(&summary("round_robin", &alone)), [224, 224]);
}

/// What a router chose among is written down, and the first decision that differs is one of its own.
#[test]
fn a_view_that_is_late_is_told_by_the_first_choice_that_differs() {
    let of = |kind: &str, delay: &str| {
        let view = [("fleet.router_index.kind", kind), ("fleet.router_index.event_delay_ms", delay)];
        let settings = [&TALKS[..], &view, &[("workload.duration_s", "10")]].concat();
        let all = [&base("lpwl")[..], &settings].concat();
        let scenario = Scenario::of_version(4).with(&all).expect("settings of the table");
        SimulationHandle::begin(&scenario, None).expect("a run").with_decisions().run().report
    };
    let (late, truth) = (of("precise", "60000"), of("true", "0"));
    for report in [&late, &truth] {
        assert_eq!(report.choices.len(), report.trace.len());
        let routed = |decision: &&Decision| decision.verdict == Verdict::Routed;
        let decisions = report.decisions.as_deref().expect("decisions are kept");
        assert_eq!(decisions.iter().filter(routed).count(), report.trace.len());
        for choice in &report.choices {
            // lpwl leaves none out, and takes the highest score.
            let best = choice.replicas.iter().map(|one| one.score.expect("a score")).fold(f64::MIN, f64::max);
            let chosen = report.replica(choice.request.index());
            assert!(choice.replicas.iter().any(|one| one.replica == chosen && one.score == Some(best)));
        }
    }
    let differ = first_difference(&late, &truth).expect("the two views differ");
    let verdicts = [differ.a, differ.b].map(|decision| decision.map(|decision| decision.verdict));
    assert!(verdicts.contains(&Some(Verdict::Routed)), "{verdicts:?}");
}
