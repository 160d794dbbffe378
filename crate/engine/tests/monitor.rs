//! The monitor's numbers add up: clients to the run, windows to clients, time in the system to Little's law.

use std::sync::Arc;

use crate::given::{any_config, any_cost, any_rules, any_trace, fleet, requests};
use proptest::prelude::*;
use servescope_cost::LinearCost;
use servescope_engine::metrics::Slo;
use servescope_engine::metrics::fairness::{Fairness, ServedRequest, Ticks, largest_gap};
use servescope_engine::metrics::monitor::{Cell, ClientTotals, Monitor, MonitorOptions, ServiceFairness};
use servescope_engine::queue::DrrConfig;
use servescope_engine::queue::VtcConfig;
use servescope_engine::queue::{Client, QueueConfig, QueuePolicy};
use servescope_engine::timeline::IterationRun;
use servescope_engine::{
    Fleet, FleetConfig, Outcome, PoolConfig, Preemption, Rejection, Report, SchedulerKind, SglangRules,
    TrtllmRules, VllmRules,
};
use servescope_workload::trace::{ClosedLoop, NO_REQUEST, Request};
use servescope_workload::{BASE_MODEL, Trace};

const ALL: MonitorOptions =
    MonitorOptions { client: Client::User, window_us: None, windows: 9, most: 2, slo: Slo::of_ttft(0.5) };

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

fn any_order() -> impl Strategy<Value = QueuePolicy> {
    prop_oneof![
        Just(QueuePolicy::Fcfs),
        Just(QueuePolicy::Lifo),
        (1u32..9).prop_map(|limit| QueuePolicy::Rpm { limit }),
        (1e5..3e6f64).prop_map(|bound_us| QueuePolicy::EarlyAbort { bound_us }),
        Just(QueuePolicy::Vtc(VtcConfig::default())),
        Just(QueuePolicy::Drr(DrrConfig::default())),
    ]
}

fn any_client() -> impl Strategy<Value = Client> {
    prop_oneof![Just(Client::User), Just(Client::Adapter)]
}

prop_compose! {
    fn any_run()(
        trace in any_trace(), config in any_config(), rules in any_rules(10_000_000), cost in any_cost(),
        order in any_order(), client in any_client(),
    ) -> (Report, f64) {
        let queueing = QueueConfig { policy: order, client, ..QueueConfig::default() };
        let report = fleet(Arc::new(trace), (rules, config), cost).with_queue_policy(queueing).run();
        (report, rules.queue_timeout_us)
    }
}

prop_compose! {
    fn any_fleet_run()(
        trace in any_trace(),
        cost in any_cost(),
        scheduler in prop::sample::select(&SchedulerKind::ALL[..]),
        replicas in 1u32..4,
        blocks in 400u32..1_200,
        max_requests in 1u32..12,
        queue_timeout_us in prop_oneof![2 => Just(f64::INFINITY), 1 => 0.0..1e7f64],
        preemption in prop_oneof![
            Just(Preemption::Recompute), Just(Preemption::Regenerate),
            Just(Preemption::Swap { host_blocks: 500, us_per_block: 3.0 }),
        ],
        async_scheduling in any::<bool>(),
    ) -> (Report, f64, bool) {
        let vllm = VllmRules { async_scheduling, ..VllmRules::default() };
        let config = PoolConfig {
            scheduler, replicas, blocks, max_requests, preemption, block_size: 1, max_request_tokens: 500,
            vllm,
            sglang: SglangRules { overlap_schedule: async_scheduling, ..SglangRules::default() },
            trtllm: TrtllmRules { overlap_schedule: async_scheduling, ..TrtllmRules::default() },
            ..PoolConfig::default()
        };
        // An iteration that is scheduled before the last token is there computes one more for a request that ends before its
        // `max_tokens`; no client holds that.
        let ends_are_known = trace.max_tokens == trace.output_tokens;
        let forms_ahead = matches!(scheduler, SchedulerKind::VllmV1 | SchedulerKind::Sglang | SchedulerKind::Trtllm);
        let wastes = forms_ahead && async_scheduling && !ends_are_known;
        let rules = FleetConfig { queue_timeout_us, ..FleetConfig::default() };
        (fleet(Arc::new(trace), (rules, config), cost).run(), queue_timeout_us, wastes)
    }
}

/// Every client's requests are all of the run's, and every window's are the clients'.
fn check_sums(report: &Report, monitor: &Monitor) {
    let all = |of: &dyn Fn(&ClientTotals) -> u64| monitor.clients.iter().map(of).sum::<u64>();
    let results = |of: &dyn Fn(usize) -> u64| (0..report.results.len()).map(of).sum::<u64>();
    let outcomes = |outcome: Outcome| results(&|id| u64::from(report.results[id].outcome == outcome));
    assert_eq!(all(&|c| c.offered.into()), report.results.len() as u64);
    assert_eq!(all(&|c| c.admitted.into()), results(&|id| u64::from(report.scheduled_us(id).is_some())));
    assert_eq!(all(&|c| c.completed.into()), outcomes(Outcome::Completed));
    assert_eq!(all(&|c| c.timed_out.into()), outcomes(Outcome::TimedOut));
    assert_eq!(all(&|c| c.cancelled.into()), outcomes(Outcome::Cancelled));
    assert_eq!(all(&|c| c.unfinished.into()), outcomes(Outcome::Unfinished));
    for (place, reason) in Rejection::ALL.into_iter().enumerate() {
        assert_eq!(all(&|c| c.refused[place].into()), outcomes(Outcome::Rejected(reason)));
    }
    assert_eq!(all(&|c| c.output_tokens), results(&|id| report.results[id].produced.into()));
    let fairness = ServiceFairness {
        clients: monitor.clients.len(),
        jain: monitor.jain,
        largest_gap_per_s: monitor.largest_gap_per_s,
    };
    assert_eq!(ServiceFairness::measure(report, monitor.client), fairness);
    for (row, client) in monitor.clients.iter().enumerate() {
        assert_eq!(
            client.offered,
            client.completed
                + client.refused_total()
                + client.timed_out
                + client.cancelled
                + client.unfinished
        );
        if row < ALL.most {
            check_windows(monitor.cells.row(row), &[client]);
        }
    }
    if monitor.cells.has_others() {
        let others: Vec<&ClientTotals> = monitor.clients.iter().skip(ALL.most).collect();
        check_windows(monitor.cells.row(monitor.cells.rows() - 1), &others);
    }
}

fn check_windows(cells: &[Cell], clients: &[&ClientTotals]) {
    let counted = |cell: &dyn Fn(&Cell) -> u64, client: &dyn Fn(&ClientTotals) -> u64| {
        assert_eq!(cells.iter().map(cell).sum::<u64>(), clients.iter().map(|c| client(c)).sum::<u64>());
    };
    counted(&|w| w.offered.into(), &|c| c.offered.into());
    counted(&|w| w.admitted.into(), &|c| c.admitted.into());
    counted(&|w| w.completed.into(), &|c| c.completed.into());
    counted(&|w| w.refused_total().into(), &|c| c.refused_total().into());
    counted(&|w| w.timed_out.into(), &|c| c.timed_out.into());
    counted(&|w| w.input_tokens, &|c| c.input_tokens);
    counted(&|w| w.wasted_tokens, &|c| c.wasted_tokens);
    let added = |cell: &dyn Fn(&Cell) -> f64, client: &dyn Fn(&ClientTotals) -> f64| {
        let (windows, total): (f64, f64) =
            (cells.iter().map(cell).sum(), clients.iter().map(|c| client(c)).sum());
        assert!(near(windows, total), "{windows} in windows, {total} of clients");
        assert!(cells.iter().map(cell).all(|part| part >= -1e-6 * (1.0 + total)), "a negative window");
    };
    added(&|w| w.output_tokens, &|c| c.output_tokens as f64);
    added(&|w| w.service(), &ClientTotals::service);
    added(&|w| w.in_system_us / 1e6, &|c| c.in_system_s);
    added(&|w| w.kv_token_us / 1e6, &|c| c.kv_token_s);
}

/// Little's law: the integral of a user's requests in the system over time is the sum of their times in it.
fn check_little(report: &Report, monitor: &Monitor, queue_timeout_us: f64) {
    let cancelled = |id: usize| {
        let at = report.trace.cancellations.iter().find(|c| c.1 as usize == id).map(|c| c.0);
        at.unwrap().max(report.trace.arrival_us[id])
    };
    for client in &monitor.clients {
        // +1 at every arrival, -1 at every departure, integrated over time.
        let mut changes = Vec::new();
        let mut sojourns_us = 0.0;
        for (id, result) in report.results.iter().enumerate() {
            if i64::from(report.trace.user[id]) != client.id {
                continue;
            }
            let arrival = report.trace.arrival_us[id];
            let left = match (result.finish_us, result.outcome) {
                (Some(finish), _) => finish,
                (None, Outcome::Cancelled) => cancelled(id),
                (None, Outcome::TimedOut) => arrival + queue_timeout_us,
                (None, Outcome::Unfinished) => monitor.end_us,
                (None, Outcome::Rejected(Rejection::EarlyAbort)) => {
                    let departure = report.timeline.departures.iter().find(|d| d.id.index() == id);
                    departure.expect("it was refused while it waited").time_us
                }
                (None, _) => arrival,
            };
            changes.extend([(arrival, 1.0), (left, -1.0)]);
            sojourns_us += left - arrival;
        }
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut count, mut then, mut integral_us) = (0.0, 0.0, 0.0);
        for (time, change) in changes {
            integral_us += count * (time - then);
            (count, then) = (count + change, time);
        }
        assert!((integral_us - sojourns_us).abs() <= 1e-6 * (1.0 + sojourns_us));
        assert!((client.in_system_s * 1e6 - sojourns_us).abs() <= 1e-6 * (1.0 + sojourns_us));
    }
}

fn timeline_kv(report: &Report) -> f64 {
    let held =
        |run: &IterationRun| (run.end_us - run.start_us) * 0.5 * (run.kv_tokens + run.kv_tokens_at_end());
    report.timeline.iterations.iter().map(held).sum::<f64>() / 1e6
}

fn held(monitor: &Monitor) -> f64 {
    monitor.clients.iter().map(|client| client.kv_token_s).sum()
}

proptest! {
    #![proptest_config(servescope_testkit::cases(30, 300))]

    #[test]
    fn clients_and_windows_add_up(run in any_run(), client in any_client()) {
        let (report, queue_timeout_us) = run;
        let monitor = Monitor::measure(&report, &MonitorOptions { client, ..ALL });
        check_sums(&report, &monitor);
        let reported = timeline_kv(&report);
        prop_assert!(near(held(&monitor), reported), "{} held by clients, {reported} by the batch", held(&monitor));
        prop_assert_eq!(monitor.kv_interpolated, 0);
        prop_assert!(monitor.jain.is_none_or(|jain| jain <= 1.0 + 1e-12 && jain * monitor.clients.len() as f64 >= 1.0 - 1e-9));
        if client == Client::User {
            check_little(&report, &monitor, queue_timeout_us);
        }
        // A part of the run is cut out of it.
        let part = MonitorOptions { client, window_us: Some((monitor.end_us / 4.0, monitor.end_us / 2.0)), windows: 4, ..ALL };
        let part = Monitor::measure(&report, &part);
        for (cut, whole) in part.clients.iter().zip(&monitor.clients) {
            prop_assert!(near(cut.kv_token_s, whole.kv_token_s));
            prop_assert_eq!(&ClientTotals { kv_token_s: whole.kv_token_s, ..cut.clone() }, whole);
        }
        let quarter = MonitorOptions { client, windows: 16, ..ALL };
        let whole = Monitor::measure(&report, &quarter);
        for row in 0..whole.cells.rows() {
            for (a, b) in part.cells.row(row).iter().zip(&whole.cells.row(row)[4..8]) {
                prop_assert!(near(a.kv_token_us, b.kv_token_us) && near(a.in_system_us, b.in_system_us), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn of_fleets_too(run in any_fleet_run(), client in any_client()) {
        let (report, queue_timeout_us, wastes) = run;
        let monitor = Monitor::measure(&report, &MonitorOptions { client, ..ALL });
        check_sums(&report, &monitor);
        if client == Client::User {
            check_little(&report, &monitor, queue_timeout_us);
        }
        let evicted = (0..report.results.len()).filter(|&id| report.preemptions(id) > 0).count() as u64;
        prop_assert_eq!(monitor.kv_interpolated, evicted);
        prop_assert!(held(&monitor) >= 0.0);
        // Whole prompts, all answered: then the timeline says the same to the token.
        let all_read = report.results.iter().all(|result| result.outcome != Outcome::Cancelled);
        let whole = report.timeline.iterations.iter().all(|run| {
            report.timeline.iterations.chunks(run).iter().all(|chunk| chunk.kv_tokens == 0)
        });
        let read: u64 = report.timeline.iterations.iter().map(|run| u64::from(run.prompt_tokens)).sum();
        let first_read: u64 = monitor.clients.iter().map(|client| client.input_tokens).sum();
        if evicted == 0 && all_read && whole && read == first_read && !wastes {
            let reported = timeline_kv(&report);
            prop_assert!(near(held(&monitor), reported), "{} held by clients, {reported} by the batches", held(&monitor));
        }
        // What was computed: every prompt and all tokens but the last of each output, and what was lost and computed again.
        if all_read && !wastes {
            let decoded: u64 = (report.timeline.iterations.iter())
                .map(|run| u64::from(run.iterations) * u64::from(run.decodes)).sum();
            let needed: u64 = report.results.iter().enumerate()
                .filter(|(id, _)| report.first_token_us(*id).is_some())
                .map(|(id, result)| u64::from(report.trace.input_tokens[id]) + u64::from(result.produced) - 1).sum();
            let wasted: u64 = monitor.clients.iter().map(|client| client.wasted_tokens).sum();
            prop_assert_eq!(read + decoded, needed + wasted);
        }
    }

    #[test]
    fn relabelling_users_permutes_rows(trace in any_trace(), config in any_config(), cost in any_cost(), order in any_order()) {
        let mut relabelled = trace.clone();
        relabelled.user.iter_mut().for_each(|user| *user = 3 - *user);
        let measure = |trace: Trace| {
            let queueing = QueueConfig { policy: order.clone(), ..QueueConfig::default() };
            let report = Fleet::of_pool(Arc::new(trace), config, Box::new(cost)).with_queue_policy(queueing).run();
            Monitor::measure(&report, &MonitorOptions { most: 4, ..ALL })
        };
        let (a, b) = (measure(trace), measure(relabelled));
        let windows = |monitor: &Monitor, flip: bool| {
            let mut rows: Vec<(ClientTotals, Vec<Cell>)> = (0..monitor.cells.rows())
                .map(|row| (monitor.clients[row].clone(), monitor.cells.row(row).to_vec()))
                .collect();
            if flip {
                rows.iter_mut().for_each(|(client, _)| client.id = 3 - client.id);
            }
            rows.sort_by_key(|(client, _)| client.id);
            rows
        };
        let (a, b) = (windows(&a, true), windows(&b, false));
        prop_assert_eq!(a.len(), b.len());
        for ((totals_a, cells_a), (totals_b, cells_b)) in a.iter().zip(&b) {
            prop_assert_eq!(totals_a, totals_b);
            for (one, other) in cells_a.iter().zip(cells_b) {
                prop_assert_eq!(one, other);
            }
        }
    }

    #[test]
    fn the_largest_gap_is_the_benchmarks(
        rows in prop::collection::vec((0usize..4, 1u32..900, 1u32..400, 0.0..600.0f64, 0.0..60.0f64, 0.0..90.0f64), 1..80),
    ) {
        let served: Vec<ServedRequest> = rows.iter().map(|&(client, input, output, arrival_s, waits, lasts)| ServedRequest {
            client, input_tokens: input.into(), output_tokens: output.into(), arrival_s,
            first_token_s: arrival_s + waits, finish_s: arrival_s + waits + lasts,
        }).collect();
        let ticks = Ticks::paper(600.0);
        let slow = Fairness::measure(&served, 4, &ticks).max_gap();
        let quick = largest_gap(served.iter().copied(), 4, &ticks).unwrap();
        prop_assert!((slow - quick).abs() <= 1e-9 * (1.0 + slow), "{slow} {quick}");
    }

    #[test]
    fn counters_over_time_lead_to_those_at_the_end(
        trace in any_trace(), config in any_config(), cost in any_cost(), stretch in 1.0..400.0f64,
    ) {
        let mut trace = trace;
        trace.arrival_us.iter_mut().for_each(|time| *time *= stretch);
        let queueing = QueueConfig { policy: QueuePolicy::Vtc(VtcConfig::default()), ..QueueConfig::default() };
        let report = Fleet::of_pool(Arc::new(trace), config, Box::new(cost)).with_queue_policy(queueing).run();
        let counters = report.counters.as_ref().unwrap();
        prop_assert!(counters.samples.len() <= 256);
        prop_assert!(counters.samples.windows(2).all(|pair| pair[0].time_us < pair[1].time_us));
        // VTC only ever charges and lifts.
        for pair in counters.samples.windows(2) {
            prop_assert!(pair[0].values.iter().zip(&pair[1].values).all(|(before, after)| before <= after));
        }
        if let Some(last) = counters.samples.last() {
            prop_assert!(last.values.iter().zip(&counters.values).all(|(before, (_, at_end))| before <= at_end));
        }
        let monitor = Monitor::measure(&report, &ALL);
        for client in &monitor.clients {
            let at_end = counters.values.iter().find(|(id, _)| i64::from(id.get()) == client.id).map(|c| c.1);
            prop_assert_eq!(client.counter, at_end);
        }
    }
}

/// However long a run is, it has at most 256 samples, and at least half as many where something happens all the time.
#[test]
fn samples_thin_out_evenly() {
    use servescope_workload::BASE_MODEL;
    use servescope_workload::trace::Request;
    for seconds in [20u32, 100, 1_500, 9_000] {
        let mut trace = Trace::default();
        for second in 0..seconds {
            let (user, arrival_us) = (second % 3, f64::from(second) * 1e6);
            let request = Request {
                arrival_us,
                user,
                adapter: BASE_MODEL,
                input_tokens: 10,
                output_tokens: 40,
                max_tokens: 40,
            };
            trace.push(request);
        }
        let queueing =
            QueueConfig { policy: QueuePolicy::Vtc(VtcConfig::default()), ..QueueConfig::default() };
        let cost = servescope_cost::CALIBRATIONS[0].cost;
        let report = Fleet::of_pool(Arc::new(trace), PoolConfig::slora(), Box::new(cost))
            .with_queue_policy(queueing)
            .run();
        let samples = report.counters.unwrap().samples;
        let expected = 4 * seconds as usize;
        assert!(samples.len() <= 256 && samples.len() + 5 >= expected.min(128), "{} samples", samples.len());
        let widest = samples.windows(2).map(|pair| pair[1].time_us - pair[0].time_us).fold(0.0, f64::max);
        assert!(widest < 2.5 * f64::from(seconds) * 1e6 / expected.min(128) as f64, "{widest}");
    }
}

/// Two users, one request each, at known times: every number by hand.
#[test]
fn two_requests_by_hand() {
    let cost = LinearCost {
        prefill_base_us: 1e6,
        prefill_per_token_us: 0.0,
        decode_base_us: 1e6,
        decode_per_request_us: 0.0,
        decode_per_kv_token_us: 0.0,
        overhead_us: 0.0,
        adapters: servescope_cost::AdapterCost::FREE,
    };
    let trace = requests([(0.0, 0, BASE_MODEL, 10, 4), (10e6, 1, BASE_MODEL, 10, 2)]);
    let config = PoolConfig { idle_poll_us: 0.0, ..PoolConfig::slora() };
    let report = Fleet::of_pool(Arc::new(trace), config, Box::new(cost)).run();
    let monitor = Monitor::measure(&report, &MonitorOptions { windows: 12, most: 5, ..ALL });
    assert_eq!(monitor.end_us, 12e6);
    let [first, second] = &monitor.clients[..] else { panic!("two clients") };
    assert_eq!((first.id, second.id), (0, 1));
    // Prefill of a second, then three iterations that hold 11, 12 and 13 tokens, taken as a straight line.
    assert_eq!(first.kv_token_s, 5.0 + 36.0);
    assert_eq!(first.in_system_s, 4.0);
    assert_eq!((first.service(), second.service()), (18.0, 14.0));
    assert_eq!(first.tails.ttft_s.p50, Some(1.0));
    assert_eq!(
        (first.tails.tpot_s.p50, first.tails.e2e_s.p50, first.tails.e2e_s.p95),
        (Some(1.0), Some(4.0), None)
    );
    assert_eq!(first.attainment(), Some(0.0));
    assert_eq!(monitor.jain, Some(32.0 * 32.0 / (2.0 * (18.0 * 18.0 + 14.0 * 14.0))));
    assert_eq!(monitor.largest_gap_per_s, None);
    let kv: Vec<f64> = monitor.cells.row(0).iter().map(|cell| cell.kv_token_us / 1e6).collect();
    assert!(near(kv[0], 5.0) && near(kv[2], 12.0) && kv[4] == 0.0, "{kv:?}");
    let served: Vec<f64> = monitor.cells.row(0).iter().map(Cell::service).collect();
    // The prompt and its token count when they are there, the others come evenly.
    assert_eq!(served[..6], [0.0, 14.0, 2.0, 2.0, 0.0, 0.0]);
}

/// The last adapter's only request waits for itself and is never sent: the base model is then the client behind fewer adapters.
#[test]
fn counters_find_their_client_where_an_adapter_is_never_sent() {
    let mut trace = Trace::default();
    let mut closed_loop = ClosedLoop { until_us: f64::INFINITY, ..ClosedLoop::default() };
    for (adapter, before) in [(BASE_MODEL, NO_REQUEST), (0, NO_REQUEST), (3, 2)] {
        let (user, input_tokens, output_tokens, max_tokens) = (0, 10, 5, 5);
        trace.push(Request { arrival_us: 0.0, user, adapter, input_tokens, output_tokens, max_tokens });
        closed_loop.push(before, 0.0);
    }
    trace.closed_loop = Some(Box::new(closed_loop));
    let trace = Arc::new(trace);
    let queueing = QueueConfig {
        policy: QueuePolicy::Vtc(VtcConfig::default()),
        client: Client::Adapter,
        ..QueueConfig::default()
    };
    let cost = servescope_cost::CALIBRATIONS[0].cost;
    let report = Fleet::of_pool(trace, PoolConfig::slora(), Box::new(cost)).with_queue_policy(queueing).run();
    let monitor = Monitor::measure(&report, &MonitorOptions { client: Client::Adapter, most: 4, ..ALL });
    let counter = |id: i64| monitor.clients.iter().find(|client| client.id == id).unwrap().counter;
    assert_eq!(report.trace.len(), 2);
    assert_eq!(counter(-1), counter(0));
    assert!(counter(-1).is_some_and(|counter| counter > 10.0));
}
