//! `b_router_traces_*.jsonl`: whole runs of the router loop, equal to the microsecond.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::observer::{Event, Observer};
use servescope_engine::report::Outcome;
use servescope_engine::{Report, SchedulerConfig, Simulation};
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, Trace};

use super::number;

/// Writes the steps of the router in the form of the reference.
struct Steps<'a> {
    requests: &'a [Value],
    adapters: &'a [String],
    steps: Vec<Value>,
    step: Map<String, Value>,
    running: Vec<u32>,
    joining: Vec<u32>,
}

impl<'a> Steps<'a> {
    fn new(requests: &'a [Value], adapters: &'a [String]) -> Self {
        let (steps, step) = (Vec::new(), Map::new());
        Self { requests, adapters, steps, step, running: Vec::new(), joining: Vec::new() }
    }

    fn id(&self, id: u32) -> Value {
        self.requests[id as usize]["id"].clone()
    }

    fn add(&mut self, key: &str, value: Value) {
        if let Value::Array(list) = self.step.entry(key).or_insert_with(|| json!([])) {
            list.push(value);
        }
    }

    fn ids(&self, ids: &[u32]) -> Value {
        ids.iter().map(|&id| self.id(id)).collect()
    }
}

impl Observer for Steps<'_> {
    fn see<'e>(&mut self, event: impl FnOnce() -> Event<'e>) {
        match event() {
            Event::Arrived(id) => self.add("arrived", self.id(id)),
            Event::Cancelled(id) => self.add("cancelled", self.id(id)),
            Event::Decided { at_us, picked } => {
                self.step.insert("t_us".into(), json!(at_us as u64));
                self.step.insert("sched".into(), json!(true));
                self.joining = picked.to_vec();
                if !picked.is_empty() {
                    self.step.insert("picked".into(), self.ids(picked));
                    self.step.insert("load".into(), json!([]));
                }
            }
            Event::Loaded(adapter) => self.add("load", json!(self.adapters[adapter as usize])),
            Event::Offloaded(adapter) => self.add("offload", json!(self.adapters[adapter as usize])),
            Event::Prefill { duration_us, .. } => {
                self.step.insert("prefill".into(), self.ids(&self.joining));
                self.step.insert("cost_us".into(), json!(duration_us as u64));
                self.running.append(&mut self.joining.clone());
            }
            Event::Decode { at_us, duration_us, iterations, requests, decided } => {
                assert_eq!(iterations, 1);
                self.step.insert("t_us".into(), json!(at_us as u64));
                self.step.insert("decode".into(), json!(requests));
                self.step.insert("cost_us".into(), json!(duration_us as u64));
                if decided {
                    self.step.insert("sched".into(), json!(true));
                }
            }
            Event::Finished(id) => {
                self.add("finished", self.id(id));
                self.running.retain(|&other| other != id);
            }
            Event::StepEnd { wait_tokens } => {
                let worked = self.step.contains_key("cost_us");
                if worked {
                    self.step.insert("running".into(), self.ids(&self.running));
                    self.step.insert("wait_tokens".into(), json!(wait_tokens));
                }
                let step = Value::Object(std::mem::take(&mut self.step));
                // A step of an idle router is told only for what it saw.
                if worked || step.get("arrived").is_some() || step.get("cancelled").is_some() {
                    self.steps.push(step);
                }
            }
            Event::Refused(_) | Event::Check { .. } | Event::Rejected(_) | Event::Prefetched => {}
        }
    }
}

struct Case {
    trace: Arc<Trace>,
    config: SchedulerConfig,
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
    Case {
        trace: Arc::new(trace),
        config: SchedulerConfig {
            max_total_tokens: number(case, "max_total_tokens"),
            batch_max_tokens: number(case, "batch_max_tokens"),
            max_running_requests: number(case, "running_max_req_size"),
            max_request_tokens: u32::MAX,
            max_input_tokens: u32::MAX,
            original_blocking: true,
            lora_compute: lora,
            ..SchedulerConfig::default()
        },
        cost: LinearCost {
            prefill_base_us: 10_000.0 * scale,
            prefill_per_token_us: 200.0 * scale,
            decode_base_us: 20_000.0 * scale,
            decode_per_request_us: 100.0 * scale,
            decode_per_kv_token_us: scale,
            overhead_us: 0.0,
            adapters: AdapterCost { load_per_rank_us: 100.0, ..AdapterCost::FREE },
        },
        adapters,
    }
}

/// A step with lists whose order has no meaning sorted, and without what is empty.
fn normal(step: &Value) -> Value {
    let mut step = step.clone();
    let fields = step.as_object_mut().expect("a step is an object");
    for key in ["load", "offload"] {
        if let Some(Value::Array(names)) = fields.get_mut(key) {
            names.sort_by_key(ToString::to_string);
        }
    }
    fields.retain(|key, value| key == "running" || *value != json!([]));
    fields.sort_keys();
    step
}

fn check_requests(case: &Value, report: &Report) {
    let requests = case["requests"].as_array().expect("requests");
    let mut expected = case["expect"]["requests"].as_array().expect("requests").iter().peekable();
    let stuck = case["expect"]["never_scheduled"].as_array().expect("never_scheduled");
    for (id, request) in requests.iter().enumerate() {
        let name = &request["id"];
        let fate = &report.fates[id];
        let told = expected.next_if(|e| e["id"] == *name);
        let first = told.and_then(|e| e["first_token_us"].as_f64());
        assert_eq!(report.first_token_us(id), first, "{name}: first token");
        assert_eq!(fate.finish_us, told.and_then(|e| e["finish_us"].as_f64()), "{name}: finish");
        if let Some(told) = told {
            assert_eq!(u64::from(fate.produced), told["tokens"].as_u64().unwrap_or(0), "{name}: tokens");
            assert_eq!(fate.outcome == Outcome::Cancelled, told["cancelled"] == true, "{name}: cancelled");
        }
        assert_eq!(fate.outcome == Outcome::Unfinished, stuck.contains(name), "{name}: never scheduled");
    }
    assert!(expected.next().is_none(), "requests in another order");
}

#[test]
fn router_runs() {
    for path in super::reference("b_router_traces") {
        let cases = servescope_tests::json_lines(&path);
        let options = ["prefetch", "batch_num_adapters", "enable_abort"];
        let plain = cases.iter().filter(|c| {
            let set = |key: &str| !matches!(c.get(key), None | Some(Value::Null | Value::Bool(false)));
            c["scheduler"] == "slora" && !options.iter().any(|o| set(o))
        });
        let mut checked = 0;
        for case in plain {
            let id = &case["id"];
            let Case { trace, config, cost, adapters } = read(case);
            let requests = case["requests"].as_array().expect("requests");
            let mut steps = Steps::new(requests, &adapters);
            let mut simulation = Simulation::new(Arc::clone(&trace), config, cost).step_by_step();
            while !simulation.advance(1, &mut steps) {}
            let report = simulation.finish();
            check_requests(case, &report);
            let expected = case["expect"]["steps"].as_array().expect("steps");
            for (ours, theirs) in steps.steps.iter().zip(expected) {
                let mut ours = normal(ours);
                let theirs = normal(theirs);
                if ours.get("t_us").is_none() {
                    ours["t_us"] = theirs["t_us"].clone();
                }
                assert_eq!(normal(&ours), theirs, "{id}");
            }
            assert_eq!(steps.steps.len(), expected.len(), "{id}: number of steps");
            assert_eq!(
                Simulation::new(trace, config, cost).run(),
                report,
                "{id}: leaps differ from single steps"
            );
            checked += 1;
        }
        servescope_tests::told(&path, checked);
    }
}
