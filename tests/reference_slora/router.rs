//! `b_router_traces_*.jsonl`: whole runs of the router loop under every scheduler, equal to the microsecond, counters and
//! predictions as printed.

use servescope_engine::queue::ClientId;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::Outcome;
use servescope_engine::observer::{EventSink, RouterEvent};
use servescope_engine::queue::DrrConfig;
use servescope_engine::queue::OutputAccounting;
use servescope_engine::queue::{Client, QueueConfig, QueuePolicy};
use servescope_engine::queue::{Lift, Prediction, TokenCost, VtcConfig};
use servescope_engine::{AdapterConfig, AdapterLoading, Fleet, PoolConfig, Rejection, Report};
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use super::number;

/// Writes the steps of the router in the form of the reference.
#[derive(Debug)]
struct Steps {
    requests: Vec<Value>,
    adapters: Vec<String>,
    /// Whether clients' expected lengths are recorded.
    predicts: bool,
    /// The counters as last recorded.
    counters: Option<Value>,
    /// Whether the adapter is merged into the weights while a batch runs.
    merges: bool,
    steps: Vec<Value>,
    step: Map<String, Value>,
    running: Vec<RequestId>,
    joining: Vec<RequestId>,
    loaded: Vec<Value>,
    /// Rejected since the last decision: the router says so with the next one.
    rejected: Vec<Value>,
}

impl Steps {
    fn new(case: &Value, adapters: &[String]) -> Self {
        Self {
            requests: case["requests"].as_array().expect("requests").clone(),
            adapters: adapters.to_vec(),
            merges: case["scheduler"] == "peft",
            predicts: case["scheduler"] == "vtc_len_predict",
            counters: None,
            steps: Vec::new(),
            step: Map::new(),
            running: Vec::new(),
            joining: Vec::new(),
            loaded: Vec::new(),
            rejected: Vec::new(),
        }
    }

    fn id(&self, id: RequestId) -> Value {
        self.requests[id]["id"].clone()
    }

    fn insert(&mut self, key: &str, value: Value) {
        self.step.insert(key.into(), value);
    }

    fn add(&mut self, key: &str, value: Value) {
        if let Value::Array(list) = self.step.entry(key).or_insert_with(|| json!([])) {
            list.push(value);
        }
    }

    fn ids(&self, ids: &[RequestId]) -> Value {
        ids.iter().map(|&id| self.id(id)).collect()
    }

    fn decided(&mut self, at_us: f64) {
        self.insert("t_us", json!(at_us as u64));
        self.insert("sched", json!(true));
        let rejected = std::mem::take(&mut self.rejected);
        if !rejected.is_empty() {
            self.insert("rejected", json!(rejected));
        }
    }

    /// Ends a step; one of an idle router counts only for what it saw.
    fn push(&mut self) {
        let step = Value::Object(std::mem::take(&mut self.step));
        let recorded = ["arrived", "cancelled", "rejected", "counters", "predict"];
        if step["cost_us"] != 0 || recorded.iter().any(|key| step.get(key).is_some()) {
            self.steps.push(step);
        }
    }
}

impl EventSink for Steps {
    fn emit(&mut self, event: RouterEvent<'_>) {
        match event {
            RouterEvent::Arrived(id) => self.add("arrived", self.id(id)),
            RouterEvent::Cancelled(id) => self.add("cancelled", self.id(id)),
            RouterEvent::Rejected(id) => self.rejected.push(self.id(id)),
            RouterEvent::Decided { at_us, picked } => {
                self.decided(at_us);
                self.joining = picked.to_vec();
                if !picked.is_empty() {
                    self.insert("picked", self.ids(picked));
                }
            }
            RouterEvent::Loaded(adapter) => self.loaded.push(json!(self.adapters[adapter as usize])),
            RouterEvent::Prefetched => {
                let loaded = std::mem::take(&mut self.loaded);
                self.insert("load_prefetch", json!(loaded));
            }
            RouterEvent::Offloaded(adapter) => self.add("offload", json!(self.adapters[adapter as usize])),
            RouterEvent::Prefill { duration_us, .. } => {
                let loaded = std::mem::take(&mut self.loaded);
                self.insert("load", json!(loaded));
                if self.merges && self.running.is_empty() {
                    self.insert("merge", json!(true));
                }
                self.insert("prefill", self.ids(&self.joining));
                self.insert("cost_us", json!(duration_us as u64));
                self.running.append(&mut self.joining.clone());
            }
            RouterEvent::Decode { at_us, duration_us, iterations, requests, decided } => {
                assert_eq!(iterations, 1);
                self.insert("t_us", json!(at_us as u64));
                self.insert("decode", json!(requests));
                self.insert("cost_us", json!(duration_us as u64));
                if decided {
                    self.insert("sched", json!(true));
                }
            }
            RouterEvent::Finished(id) => {
                self.add("finished", self.id(id));
                self.running.retain(|&other| other != id);
                let leaves_none = self.running.is_empty()
                    || self.joining.iter().all(|id| !self.running.contains(id)) && !self.joining.is_empty();
                if self.merges && leaves_none {
                    self.insert("unmerge", json!(true));
                }
            }
            RouterEvent::StepEnd { decode_steps_since_prefill, counters, predicted } => {
                self.step.entry("cost_us").or_insert(json!(0));
                self.insert("running", self.ids(&self.running));
                self.insert("wait_tokens", json!(decode_steps_since_prefill));
                self.joining.clear();
                let counters = counters.map(|values| by_name(values, &self.adapters, true));
                if counters != self.counters {
                    self.insert("counters", counters.clone().expect("an order keeps counters or does not"));
                    self.counters = counters;
                }
                if self.predicts {
                    self.insert("predict", by_name(predicted, &self.adapters, false));
                }
                self.push();
            }
            RouterEvent::TimedOut(_) | RouterEvent::Check { .. } => {}
        }
    }
}

struct Case {
    trace: Arc<Trace>,
    config: PoolConfig,
    cost: LinearCost,
    adapters: Vec<String>,
}

fn read(case: &Value) -> Case {
    let adapters: Vec<String> = case["adapters"].as_object().expect("adapters").keys().cloned().collect();
    let mut trace = Trace {
        adapter_rank: adapters.iter().map(|a| number(&case["adapters"], a)).collect(),
        ..Trace::default()
    };
    let requests = case["requests"].as_array().expect("requests");
    for request in requests {
        let name = request["adapter"].as_str();
        let adapter =
            name.map_or(BASE_MODEL, |n| adapters.iter().position(|a| a == n).expect("listed") as u32);
        trace.push(Request {
            arrival_us: request["arrival_us"].as_f64().expect("arrival_us"),
            user: 0,
            adapter,
            input_tokens: number(request, "input_len"),
            output_tokens: number(request, "output_len"),
            max_tokens: number(request, "max_output_len"),
        });
    }
    for cancel in case["cancels"].as_array().into_iter().flatten() {
        let id = requests.iter().position(|r| r["id"] == cancel["id"]).expect("the request is listed");
        trace.cancellations.push((cancel["at_us"].as_f64().expect("at_us"), id as u32));
    }
    trace.cancellations.sort_by(|a, b| a.0.total_cmp(&b.0));
    let scale = case["cost_scale"].as_f64().unwrap_or(1.0);
    let lora = !case["no_lora"].as_bool().unwrap_or(false);
    let cost = LinearCost {
        prefill_base_us: 10_000.0 * scale,
        prefill_per_token_us: 200.0 * scale,
        decode_base_us: 20_000.0 * scale,
        decode_per_request_us: 100.0 * scale,
        decode_per_kv_token_us: scale,
        overhead_us: 0.0,
        adapters: AdapterCost { load_per_rank_us: 100.0, ..AdapterCost::FREE },
    };
    Case {
        trace: Arc::new(trace),
        config: PoolConfig {
            blocks: number(case, "max_total_tokens"),
            max_batch_tokens: number(case, "batch_max_tokens"),
            max_requests: number(case, "running_max_req_size"),
            max_request_tokens: u32::MAX,
            max_input_tokens: u32::MAX,
            reference_quirks: true,
            lora_compute: lora,
            adapters: AdapterConfig {
                loading: AdapterLoading {
                    base_us: cost.adapters.load_base_us,
                    host_us_per_rank: cost.adapters.load_per_rank_us,
                    disk_us_per_rank: 0.0,
                },
                prefetch: case["prefetch"] == true,
                ..PoolConfig::slora().adapters
            },
            ..PoolConfig::slora()
        },
        cost,
        adapters,
    }
}

/// A step with lists whose order has no meaning sorted, and without what is empty.
fn normal(step: &Value) -> Value {
    let mut step = step.clone();
    let fields = step.as_object_mut().expect("a step is an object");
    for key in ["load", "load_prefetch", "offload"] {
        if let Some(Value::Array(names)) = fields.get_mut(key) {
            names.sort_by_key(ToString::to_string);
        }
    }
    for key in ["counters", "predict"] {
        for value in fields.get_mut(key).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
        {
            *value = json!(value.as_f64());
        }
    }
    fields.remove("predict_len");
    if fields.get("predict") == Some(&json!({})) {
        fields.remove("predict");
    }
    fields.retain(|key, value| key == "running" || key == "load_prefetch" || *value != json!([]));
    fields.sort_keys();
    step
}

fn check_requests(case: &Value, report: &Report) {
    let case_id = &case["id"];
    let requests = case["requests"].as_array().expect("requests");
    let mut expected = case["expect"]["requests"].as_array().expect("requests").iter().peekable();
    let stuck = case["expect"]["never_scheduled"].as_array().expect("never_scheduled");
    for (id, request) in requests.iter().enumerate() {
        let name = &request["id"];
        let fate = &report.results[id];
        let recorded = expected.next_if(|e| e["id"] == *name);
        let first = recorded.and_then(|e| e["first_token_us"].as_f64());
        assert_eq!(report.first_token_us(id), first, "{case_id}, {name}: first token");
        assert_eq!(
            fate.finish_us,
            recorded.and_then(|e| e["finish_us"].as_f64()),
            "{case_id}, {name}: finish"
        );
        if let Some(recorded) = recorded {
            assert_eq!(
                u64::from(fate.produced),
                recorded["tokens"].as_u64().unwrap_or(0),
                "{case_id}, {name}: tokens"
            );
            // The original takes a request that it gives up for one whose client went away.
            let ended_early = matches!(
                fate.outcome,
                Outcome::Cancelled | Outcome::Rejected(Rejection::RateLimit | Rejection::EarlyAbort)
            );
            assert_eq!(ended_early, recorded["cancelled"] == true, "{case_id}, {name}: cancelled");
        }
        assert_eq!(
            fate.outcome == Outcome::Unfinished,
            stuck.contains(name),
            "{case_id}, {name}: never scheduled"
        );
    }
    assert!(expected.next().is_none(), "requests in another order");
}

/// The scheduling policy of a case. Precedence as in S-LoRA: the scheduler's name, then `batch_num_adapters`, then
/// `enable_abort`.
fn order(case: &Value) -> QueuePolicy {
    let is_artifact = case["implementation"] == "VTC-artifact";
    // Weights beyond the last adapter are of no client.
    let adapters = case["adapters"].as_object().map_or(0, Map::len);
    let weights = case["fair_weights"].as_array().into_iter().flatten().take(adapters);
    let weights: Vec<f64> = weights.filter_map(Value::as_f64).collect();
    let accounting = if is_artifact { OutputAccounting::Artifact } else { OutputAccounting::Slora };
    let fair = VtcConfig {
        weights: weights.clone(),
        accounting,
        cost: match case["cost_func"].as_str() {
            None | Some("linear") => TokenCost::Linear,
            Some("profile") => TokenCost::Profile,
            other => panic!("an unknown cost function, {other:?}"),
        },
        ..VtcConfig::default()
    };
    match case["scheduler"].as_str().expect("scheduler") {
        "vtc_fair" => QueuePolicy::Vtc(fair),
        "lcf_fair" => QueuePolicy::Vtc(VtcConfig { lift: Lift::Never, ..fair }),
        "vtc_max_fair" => QueuePolicy::Vtc(VtcConfig { lift: Lift::Max, ..fair }),
        "vtc_len_predict" => QueuePolicy::Vtc(VtcConfig { prediction: Prediction::History, ..fair }),
        "vtc_oracle" => QueuePolicy::Vtc(VtcConfig { prediction: Prediction::Given, ..fair }),
        "mdrr_fair" => QueuePolicy::Drr(DrrConfig { weights, accounting, ..DrrConfig::default() }),
        "lshare_fair" => QueuePolicy::Rpm { limit: number(case, "rate_limit") },
        "pets" => QueuePolicy::Pets,
        "peft" => QueuePolicy::Peft,
        "slora" if case["batch_num_adapters"].is_u64() => {
            QueuePolicy::Cluster { adapters: number(case, "batch_num_adapters") }
        }
        "slora" if case["enable_abort"] == true => QueuePolicy::EarlyAbort { bound_us: 6e6 },
        "slora" => QueuePolicy::Fcfs,
        other => panic!("an unknown scheduler, {other}"),
    }
}

/// The lengths that the original's random generator predicted, as it drew them.
fn drawn(case: &Value) -> Option<Vec<f64>> {
    let requests = case["requests"].as_array().expect("requests");
    let mut predicted: Vec<f64> = requests.iter().map(|r| f64::from(number(r, "max_output_len"))).collect();
    let mut any = false;
    for step in case["expect"]["steps"].as_array().expect("steps") {
        for (name, length) in step["predict_len"].as_object().into_iter().flatten() {
            let id = requests.iter().position(|r| r["id"] == *name).expect("the request is listed");
            predicted[id] = length.as_f64().expect("a predicted length");
            any = true;
        }
    }
    any.then_some(predicted)
}

/// Client names with numbers, in the order of the clients' first requests.
fn by_name(values: &[(ClientId, f64)], adapters: &[String], round: bool) -> Value {
    let number = |v: f64| if round { format!("{v:.9}").parse().expect("a number") } else { v };
    let entry = |&(client, v): &(ClientId, f64)| (adapters[client.index()].clone(), json!(number(v)));
    Value::Object(values.iter().map(entry).collect())
}

/// Steps of the run in the form of the reference, with counters where they changed.
fn simulate(case: &Value, queueing: &QueueConfig, known: &Case) -> (Vec<Value>, Report) {
    let steps = Arc::new(Mutex::new(Steps::new(case, &known.adapters)));
    let report = Fleet::of_pool(Arc::clone(&known.trace), known.config, Box::new(known.cost))
        .with_queue_policy(queueing.clone())
        .without_fast_forward()
        .watched(Box::new(Arc::clone(&steps)))
        .run();
    let steps = std::mem::take(&mut steps.lock().expect("no other thread watches").steps);
    (steps, report)
}

/// Whether a step contains only what was predicted before, which the reference repeats at every poll of an idle router.
fn repeats(step: &Value, before: &Value) -> bool {
    let recorded = ["t_us", "sched", "cost_us", "running", "wait_tokens", "predict"];
    let fields = step.as_object().expect("a step is an object");
    fields.keys().all(|key| recorded.contains(&key.as_str()))
        && step["cost_us"] == 0
        && step["predict"] == before["predict"]
}

#[test]
fn router_runs() {
    for path in super::reference("b_router_traces") {
        let cases = servescope_tests::json_lines(&path);
        for case in &cases {
            let id = &case["id"];
            let known = read(case);
            let queueing =
                QueueConfig { policy: order(case), client: Client::Adapter, predictions: drawn(case) };
            let (ours, report) = simulate(case, &queueing, &known);
            check_requests(case, &report);
            let mut ours = ours.iter().peekable();
            let mut before = &Value::Null;
            for theirs in case["expect"]["steps"].as_array().expect("steps") {
                let same_time = ours.peek().is_some_and(|step| step["t_us"] == theirs["t_us"]);
                if repeats(theirs, before) && !same_time {
                    continue;
                }
                before = theirs;
                let step = ours.next().unwrap_or_else(|| panic!("{id}: no step for {theirs}"));
                assert_eq!(normal(step), normal(theirs), "{id}");
            }
            // The reference ends with its last request; the router then finds no request, which may still move counters.
            let end_us = case["expect"]["end_us"].as_u64().expect("end_us");
            let is_after = |step: &Value| step["cost_us"] == 0 && step["t_us"].as_u64() >= Some(end_us);
            assert!(ours.all(is_after), "{id}: more steps than expected");
            let fleet = || {
                Fleet::of_pool(Arc::clone(&known.trace), known.config, Box::new(known.cost))
                    .with_queue_policy(queueing.clone())
            };
            assert_eq!(fleet().run(), report, "{id}: leaps differ from single steps");
            let recorded = servescope_tests::causes::add_up(fleet().with_decisions().run(), &id.to_string());
            assert_eq!(recorded, report, "{id}: with decisions leaps differ from single steps");
        }
        servescope_tests::report_cases(&path, cases.len());
    }
}
