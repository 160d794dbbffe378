//! `a_queue_decisions.jsonl`: one admission decision a line.

use serde_json::{Value, json};
use servescope_engine::SchedulerConfig;
use servescope_engine::adapters::AdapterPool;
use servescope_engine::observer::{Event, Observer};
use servescope_engine::scheduler::memory::{Entry, MemoryEstimate};
use servescope_engine::scheduler::slora::{Candidate, decide};
use servescope_workload::BASE_MODEL;

/// Collects the memory tests.
#[derive(Default)]
struct Checks(Vec<(u32, i64, u32, usize, bool)>);

impl Observer for Checks {
    fn see<'a>(&mut self, event: impl FnOnce() -> Event<'a>) {
        if let Event::Check { id, need_tokens, adapter_tokens, requests, fits } = event() {
            self.0.push((id, need_tokens, adapter_tokens, requests, fits));
        }
    }
}

fn number(value: &Value, key: &str) -> u32 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} is missing in {value}")) as u32
}

fn check(case: &Value) {
    let names: Vec<&String> = case["adapters"].as_object().expect("adapters").keys().collect();
    let ranks: Vec<u32> = names.iter().map(|n| number(&case["adapters"], n)).collect();
    let adapter = |request: &Value| {
        request["adapter"].as_str().map_or(BASE_MODEL, |name| {
            names.iter().position(|n| *n == name).expect("the adapter is listed") as u32
        })
    };
    let mut adapters = AdapterPool::new(ranks.len(), &ranks);
    let mut memory = MemoryEstimate::default();
    for request in case["running"].as_array().expect("running") {
        let produced = number(request, "output_len");
        let left = number(request, "max_output_len") - produced - 1;
        memory.insert(Entry::new(0, number(request, "input_len") + produced, left));
        adapters.acquire(adapter(request));
    }
    let waiting = case["waiting"].as_array().expect("waiting");
    let queue = waiting.iter().enumerate().map(|(i, request)| Candidate {
        id: i as u32,
        input_tokens: number(request, "input_len"),
        max_tokens: number(request, "max_output_len"),
        adapter: adapter(request),
        cancelled: request["aborted"].as_bool().unwrap_or(false),
    });
    let config = SchedulerConfig {
        max_total_tokens: number(case, "max_total_tokens"),
        batch_max_tokens: number(case, "batch_max_tokens"),
        max_running_requests: number(case, "running_max_req_size"),
        ..SchedulerConfig::default()
    };
    let mut picked = Vec::new();
    let mut checks = Checks::default();
    let decision = decide(&config, 0, queue, &mut memory, &mut adapters, &mut picked, &mut checks);

    let name = |id: &u32| waiting[*id as usize]["id"].clone();
    let expect = &case["expect"];
    let id = &case["id"];
    assert_eq!(json!(picked.iter().map(name).collect::<Vec<_>>()), expect["picked"], "{id}: picked");
    assert_eq!(json!(picked.is_empty()), expect["returned_none"], "{id}: returned none");
    let left: Vec<Value> = waiting[decision.leaving..].iter().map(|r| r["id"].clone()).collect();
    assert_eq!(json!(left), expect["left"], "{id}: left in the queue");
    let checks: Vec<Value> = checks
        .0
        .iter()
        .map(|(id, need, adapter_tokens, n, fits)| {
            json!({"id": name(id), "need_max_token_num": need, "adapter_size": adapter_tokens, "n": n, "ok": fits})
        })
        .collect();
    assert_eq!(json!(checks), expect["checks"], "{id}: memory tests");
}

#[test]
fn fcfs_decisions() {
    for path in super::reference("a_queue_decisions") {
        let cases = servescope_tests::json_lines(&path);
        let fcfs: Vec<&Value> = cases.iter().filter(|c| c["queue"] == "slora").collect();
        fcfs.iter().for_each(|case| check(case));
        servescope_tests::told(&path, fcfs.len());
    }
}
