//! `a_queue_decisions.jsonl`: one admission decision a line, of every queue.

use serde_json::{Value, json};
use servescope_engine::adapters::pool::AdapterPool;
use std::sync::{Arc, Mutex};

use servescope_engine::Outcome;
use servescope_engine::RequestResult;
use servescope_engine::observer::{EventSink, RouterEvent, Watch};
use servescope_engine::peak_memory::{KvFootprint, PeakKvEstimator};
use servescope_engine::queue::{QueueConfig, QueuePolicy};
use servescope_engine::slora::{AdmissionPass, Latency, Limits, SloraQueue};
use servescope_output::debugger::view::{PeakRowView, joining_row, sorted_list};
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use super::number;

/// Collects the memory tests.
#[derive(Debug, Default)]
struct Checks(Vec<(u32, i64, u32, usize, bool)>);

impl EventSink for Checks {
    fn emit(&mut self, event: RouterEvent<'_>) {
        if let RouterEvent::Check { id, need_tokens, adapter_tokens, requests, fits } = event {
            self.0.push((id.get(), need_tokens, adapter_tokens, requests, fits));
        }
    }
}

/// A server and its queue, driven decision by decision.
struct Server {
    limits: Limits,
    trace: Trace,
    results: Vec<RequestResult>,
    memory: PeakKvEstimator,
    adapters: AdapterPool,
    queue: SloraQueue,
    names: Vec<Value>,
    checks: Arc<Mutex<Checks>>,
}

impl Server {
    /// Puts every request of the case into the trace: those that wait or arrive, then those that run.
    fn new(case: &Value, order: QueuePolicy, requests: &[(f64, &Value)]) -> Self {
        let names: Vec<&String> = case["adapters"].as_object().expect("adapters").keys().collect();
        let mut trace = Trace {
            adapter_rank: names.iter().map(|n| number(&case["adapters"], n)).collect(),
            ..Trace::default()
        };
        let mut results = vec![RequestResult::default(); requests.len()];
        for ((arrival_us, request), fate) in requests.iter().zip(&mut results) {
            let adapter = request["adapter"].as_str().map_or(BASE_MODEL, |name| {
                names.iter().position(|n| *n == name).expect("the adapter is listed") as u32
            });
            trace.push(Request {
                arrival_us: *arrival_us,
                user: 0,
                adapter,
                input_tokens: number(request, "input_len"),
                output_tokens: 1,
                max_tokens: number(request, "max_output_len"),
            });
            if request["aborted"].as_bool().unwrap_or(false) {
                fate.outcome = Outcome::Cancelled;
            }
        }
        let limits = Limits {
            pool_tokens: number(case, "max_total_tokens"),
            batch_max_tokens: number(case, "batch_max_tokens"),
            max_running_requests: number(case, "running_max_req_size"),
            keeps_cancelled: true,
        };
        Self {
            queue: SloraQueue::new(
                QueueConfig { policy: order, ..QueueConfig::default() },
                limits.pool_tokens,
                &trace,
            ),
            limits,
            results,
            memory: PeakKvEstimator::default(),
            adapters: AdapterPool::new(trace.adapter_count(), &trace.adapter_rank),
            names: requests.iter().map(|(_, r)| r["id"].clone()).collect(),
            trace,
            checks: Arc::default(),
        }
    }

    fn decide(&mut self, now_us: f64) -> Vec<RequestId> {
        let mut picked = Vec::new();
        let latency = Latency {
            base_us: &|requests, length| f64::from(5 + requests * length),
            adapter_us: &|rank, requests, length| {
                f64::from(3 * rank) + (f64::from(requests * length * rank) / 8.0).floor()
            },
        };
        let mut watch = Watch::by(Box::new(Arc::clone(&self.checks)));
        let mut admission = AdmissionPass::new(
            self.limits,
            0,
            now_us,
            &self.trace,
            &self.results,
            &mut self.memory,
            &mut self.adapters,
            &mut picked,
            latency,
            &mut watch,
        );
        self.queue.decide(&mut admission);
        picked
    }

    fn name(&self, ids: &[RequestId]) -> Value {
        ids.iter().map(|&id| self.names[id].clone()).collect()
    }
}

fn check_decision(case: &Value) {
    let id = &case["id"];
    let order = match case["queue"].as_str() {
        Some("slora") => QueuePolicy::Fcfs,
        Some("cluster") => QueuePolicy::Cluster { adapters: number(case, "batch_num_adapters") },
        Some("peft") => QueuePolicy::Peft,
        Some("pets") => {
            let model = json!({
                "alpha(bs,len)": "5 + bs*len",
                "beta(rank,bs,len)": "3*rank + floor(bs*len*rank/8)",
            });
            assert_eq!(case["latency_model"], model, "{id}: another latency model");
            QueuePolicy::Pets
        }
        other => panic!("{id}: an unknown queue, {other:?}"),
    };
    let waiting = case["waiting"].as_array().expect("waiting");
    let running = case["running"].as_array().expect("running");
    let all: Vec<(f64, &Value)> = waiting.iter().chain(running).map(|r| (0.0, r)).collect();
    let mut server = Server::new(case, order, &all);
    for (i, request) in running.iter().enumerate() {
        let id = waiting.len() + i;
        let produced = number(request, "output_len");
        let left = number(request, "max_output_len") - produced - 1;
        server.memory.insert(KvFootprint::new(0, number(request, "input_len") + produced, left));
        server.adapters.acquire(server.trace.adapter[id]);
        server.queue.joined(RequestId::new(id as u32), 0, &server.trace);
    }
    for id in RequestId::first(waiting.len()) {
        server.queue.arrive(id, 0.0, &server.trace);
    }
    let mut ahead = Vec::new();
    let (trace, results) = (&server.trace, &server.results);
    server.queue.look_ahead(server.limits.batch_max_tokens, trace, results, |id| ahead.push(id));
    let picked = server.decide(0.0);

    let expect = &case["expect"];
    assert_eq!(server.name(&picked), expect["picked"], "{id}: picked");
    assert_eq!(json!(picked.is_empty()), expect["returned_none"], "{id}: returned none");
    assert_eq!(server.name(&server.queue.waiting()), expect["left"], "{id}: left in the queue");
    let checks: Vec<Value> = server
        .checks
        .lock()
        .expect("no other thread watches")
        .0
        .iter()
        .map(|(id, need, adapter_tokens, n, fits)| {
            let name = &server.names[*id as usize];
            json!({"id": name, "need_max_token_num": need, "adapter_size": adapter_tokens, "n": n, "ok": fits})
        })
        .collect();
    assert_eq!(json!(checks), expect["checks"], "{id}: memory tests");
    check_debugger(&server, running, &server.checks.lock().expect("no other thread watches").0, id);
    if let Some(next) = expect.get("prefetch_next_batch") {
        let ours = if ahead.is_empty() { Value::Null } else { server.name(&ahead) };
        let theirs = if *next == json!([]) { &Value::Null } else { next };
        assert_eq!(ours, *theirs, "{id}: look-ahead");
    }
}

/// The sorted list that the decision debugger shows gives the need of each memory test, the requests tested before it among it.
fn check_debugger(server: &Server, running: &[Value], checks: &[(u32, i64, u32, usize, bool)], id: &Value) {
    let of_running = |request: &Value| {
        let produced = number(request, "output_len");
        let (used, left) =
            (number(request, "input_len") + produced, number(request, "max_output_len") - produced - 1);
        PeakRowView { request: None, used: used.into(), left: left.into(), tokens: 0, joins: false }
    };
    let lengths = |id: u32| [server.trace.input_tokens[id as usize], server.trace.max_tokens[id as usize]];
    for (place, &(_, need, adapter_tokens, requests, fits)) in checks.iter().enumerate() {
        let joining = checks[..=place].iter().map(|check| joining_row(check.0, lengths(check.0), 1));
        let (rows, worst) =
            sorted_list(running.iter().map(of_running).chain(joining).collect()).expect("a row");
        assert_eq!((rows[worst].tokens, rows.len()), (need, requests), "{id}: the debugger's list");
        let limit = i64::from(server.limits.pool_tokens) - i64::from(adapter_tokens);
        let may_run = requests <= server.limits.max_running_requests as usize;
        assert_eq!(rows[worst].tokens < limit && may_run, fits, "{id}: the debugger's verdict");
    }
}

/// A run of early-abort decisions without a running batch.
fn check_abort(case: &Value) {
    let steps = case["steps"].as_array().expect("steps");
    let mut all = Vec::new();
    for step in steps {
        let at = step["arrive_at_us"].as_f64().expect("arrive_at_us");
        all.extend(step["arrivals"].as_array().expect("arrivals").iter().map(|r| (at, r)));
    }
    let mut server = Server::new(case, QueuePolicy::EarlyAbort { bound_us: 6e6 }, &all);
    let mut ids = RequestId::first(all.len());
    for (i, step) in steps.iter().enumerate() {
        let id = format!("{}, step {i}", case["id"]);
        for _ in step["arrivals"].as_array().into_iter().flatten() {
            let next = ids.next().expect("as many as arrive");
            let at_us = server.trace.arrival_us[next];
            server.queue.arrive(next, at_us, &server.trace);
        }
        let picked = server.decide(step["call_at_us"].as_f64().expect("call_at_us"));
        assert_eq!(server.name(&picked), step["picked"], "{id}: picked");
        assert_eq!(server.name(server.queue.rejected()), step["aborted"], "{id}: aborted");
        let mut left = server.queue.waiting();
        left.reverse();
        assert_eq!(server.name(&left), step["left_newest_first"], "{id}: left");
        let (rate, size, last) = server.queue.abort_estimates().expect("early abort keeps estimates");
        let ours = json!([rate, size, last]);
        assert_eq!(
            ours,
            json!([step["apprx_req_rate"], step["apprx_bs"], step["last_req_num"]]),
            "{id}: estimates"
        );
        // Each of these decisions stands before an empty server.
        server.memory = PeakKvEstimator::default();
        picked.iter().for_each(|&id| server.adapters.release(server.trace.adapter[id]));
    }
}

#[test]
fn decisions() {
    for path in super::reference("a_queue_decisions") {
        let cases = servescope_tests::json_lines(&path);
        for case in &cases {
            if case["queue"] == "abort" { check_abort(case) } else { check_decision(case) }
        }
        servescope_tests::report_cases(&path, cases.len());
    }
}
