//! A file: its settings and its requests as the engine takes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use servescope_cost::LinearCost;
use servescope_engine::queue::{Client, QueueConfig, QueuePolicy};
use servescope_engine::{
    AdapterConfig, AdapterMemory, Fleet, PoolConfig, RadixEviction, RetractionPolicy, SchedulePolicy,
    SchedulerKind, SglangRules,
};
use servescope_tests::recorded_runs::{batch_times, flag, number, requests, whole};
use servescope_workload::trace::{PrefixBlocks, Request, TraceMetadata};
use servescope_workload::{BASE_MODEL, RequestId, Trace};

/// Settings that a file may have; another one would be passed over unseen.
const SETTINGS: [&str; 23] = [
    "max_total_tokens",
    "page_size",
    "max_running_requests",
    "chunked_prefill_size",
    "max_prefill_tokens",
    "prefill_max_requests",
    "context_length",
    "schedule_policy",
    "schedule_conservativeness",
    "enable_mixed_chunk",
    "disable_overlap_schedule",
    "disable_radix_cache",
    "radix_eviction_policy",
    "enable_priority_scheduling",
    "schedule_low_priority_values_first",
    "disable_priority_preemption",
    "priority_scheduling_preemption_threshold",
    "retraction_policy",
    "max_queued_requests",
    "prefill_decode_interval",
    "prefill_decode_interval_min_bs",
    "min_free_slots_delay",
    "max_loras_per_batch",
];

/// A setting that is read beside those.
const CLIP: &str = "clip_max_new_tokens";

/// The class of a request without a priority: worse than all others.
const WORST: f64 = 1e18;

/// More than a run lasts: no wait brings a request before one of a better class.
const NEVER_US: f64 = 1e12;

/// A run to be repeated.
pub(crate) struct Given {
    pub(crate) file: Value,
    /// The engine's name of each request in the file.
    pub(crate) place_of: BTreeMap<u64, RequestId>,
    pub(crate) trace: Arc<Trace>,
    pub(crate) config: PoolConfig,
    queueing: QueueConfig,
    cost: LinearCost,
}

impl Given {
    pub(crate) fn read(file: &Value) -> Self {
        let given = &file["config"];
        for setting in given.as_object().expect("settings").keys() {
            assert!(SETTINGS.contains(&&**setting) || setting == CLIP, "unknown setting {setting}");
        }
        let config = config(file);
        let requests = requests(file);
        let sign = if flag(given, "schedule_low_priority_values_first") { 1.0 } else { -1.0 };
        let (trace, classes) = trace(&requests, sign, flag(given, "enable_priority_scheduling"));
        let has_adapters = trace.adapter.iter().any(|&adapter| adapter != BASE_MODEL);
        Self {
            place_of: RequestId::first(requests.len())
                .zip(&requests)
                .map(|(place, request)| (id(request), place))
                .collect(),
            trace: Arc::new(trace),
            config: PoolConfig { lora_compute: has_adapters, ..config },
            queueing: QueueConfig {
                policy: QueuePolicy::Priority { classes, ageing_us: NEVER_US },
                client: Client::User,
                predictions: None,
            },
            cost: batch_times(file),
            file: file.clone(),
        }
    }

    /// The engine before the run.
    pub(crate) fn fleet(&self) -> Fleet {
        Fleet::of_pool(Arc::clone(&self.trace), self.config, Box::new(self.cost))
            .with_queue_policy(self.queueing.clone())
    }
}

fn id(request: &Value) -> u64 {
    request["id"].as_u64().expect("a request has an id")
}

fn config(file: &Value) -> PoolConfig {
    let given = &file["config"];
    let page = whole(given, "page_size");
    let optional = |key: &str| (!given[key].is_null()).then(|| whole(given, key));
    let chunk = given["chunked_prefill_size"].as_i64().expect("a chunk size");
    // Loading takes the driver no time.
    let adapters = match given["max_loras_per_batch"].as_u64() {
        None => AdapterConfig::FREE,
        Some(slots) => AdapterConfig {
            memory: AdapterMemory::Slots,
            max_loras: slots as u32,
            max_cpu_loras: slots as u32,
            ..AdapterConfig::FREE
        },
    };
    let preempts = !flag(given, "disable_priority_preemption");
    PoolConfig {
        scheduler: SchedulerKind::Sglang,
        adapters,
        blocks: whole(file, "pool_tokens") / page,
        block_size: page,
        watermark_blocks: 0,
        max_requests: whole(given, "max_running_requests"),
        max_request_tokens: whole(given, "context_length"),
        prefix_cache: !flag(given, "disable_radix_cache"),
        sglang: SglangRules {
            chunked_prefill_size: u32::try_from(chunk).ok().filter(|&size| size > 0),
            max_prefill_tokens: whole(given, "max_prefill_tokens"),
            prefill_max_requests: optional("prefill_max_requests"),
            schedule_policy: match given["schedule_policy"].as_str() {
                Some("fcfs") => SchedulePolicy::Fcfs,
                Some("lpm") => SchedulePolicy::LongestPrefix,
                Some("dfs-weight") => SchedulePolicy::DfsWeight,
                Some("lof") => SchedulePolicy::LongestOutput,
                Some("hrrn") => SchedulePolicy::ResponseRatio,
                Some("shortest-prefill-first") => SchedulePolicy::ShortestPrefill,
                other => panic!("unknown policy {other:?}"),
            },
            schedule_conservativeness: number(given, "schedule_conservativeness"),
            enable_mixed_chunk: flag(given, "enable_mixed_chunk"),
            overlap_schedule: !flag(given, "disable_overlap_schedule"),
            radix_eviction_policy: match given["radix_eviction_policy"].as_str() {
                Some("lru") => RadixEviction::Lru,
                Some("lfu") => RadixEviction::Lfu,
                Some("fifo") => RadixEviction::Fifo,
                Some("filo") => RadixEviction::Filo,
                Some("mru") => RadixEviction::Mru,
                Some("slru") => RadixEviction::Slru,
                Some("priority") => RadixEviction::Priority,
                other => panic!("unknown eviction {other:?}"),
            },
            enable_priority_scheduling: flag(given, "enable_priority_scheduling"),
            schedule_low_priority_values_first: flag(given, "schedule_low_priority_values_first"),
            priority_scheduling_preemption_threshold: preempts
                .then(|| whole(given, "priority_scheduling_preemption_threshold")),
            retraction_policy: match given["retraction_policy"].as_str() {
                Some("length") => RetractionPolicy::Length,
                Some("priority") => RetractionPolicy::Priority,
                other => panic!("unknown retraction {other:?}"),
            },
            max_queued_requests: optional("max_queued_requests"),
            prefill_decode_interval: optional("prefill_decode_interval").unwrap_or(0),
            prefill_decode_interval_min_bs: whole(given, "prefill_decode_interval_min_bs"),
            // The runs receive at every turn of the loop.
            recv_interval: 1,
            min_free_slots_delay: optional("min_free_slots_delay"),
            max_loras_per_batch: optional("max_loras_per_batch"),
            clip_max_new_tokens: whole(given, CLIP),
        },
        ..PoolConfig::default()
    }
}

/// The requests, and the class of each user: every priority is a user of its own.
fn trace(requests: &[&Value], sign: f64, has_priorities: bool) -> (Trace, Vec<f64>) {
    let adapters = requests.iter().filter_map(|request| request["lora"].as_u64()).max();
    let adapter_rank = vec![8; adapters.map_or(0, |most| most as usize + 1)];
    let mut trace = Trace { adapter_rank, ..Trace::default() };
    let mut classes: Vec<f64> = Vec::new();
    let mut tokens = Tokens::default();
    let mut prefix = PrefixBlocks::new(1);
    let mut ignores_eos = Vec::new();
    for (place, request) in (0..).zip(requests) {
        let none = if has_priorities { WORST } else { 0.0 };
        let class = request["priority"].as_f64().map_or(none, |priority| sign * priority);
        let user = classes.iter().position(|&other| other == class).unwrap_or_else(|| {
            classes.push(class);
            classes.len() - 1
        });
        let input_tokens = whole(request, "input_tokens");
        trace.push(Request {
            arrival_us: number(request, "arrival_us"),
            user: user as u32,
            adapter: request["lora"].as_u64().map_or(BASE_MODEL, |adapter| adapter as u32),
            input_tokens,
            output_tokens: whole(request, "output_tokens"),
            max_tokens: whole(request, "max_new_tokens"),
        });
        let mut ids = tokens.of(request);
        let answer = ids.split_off(ids.len().min(input_tokens as usize));
        prefix.push(ids);
        prefix.outputs.push(answer);
        ignores_eos.push(request["ignore_eos"] == true);
        if let Some(at_us) = request["abort_us"].as_f64() {
            trace.cancellations.push((at_us, place));
        }
    }
    trace.metadata = Some(Box::new(TraceMetadata { prefix, ignores_eos, ..TraceMetadata::default() }));
    trace.sort_cancellations();
    (trace, classes)
}

/// Names of tokens: equal ones for equal tokens after equal tokens.
#[derive(Default)]
struct Tokens(BTreeMap<(u64, String, u64), u64>);

impl Tokens {
    fn of(&mut self, request: &Value) -> Vec<u64> {
        let id = id(request);
        let segments = |key: &str, own: &str, count: &str| -> Vec<(String, u64, u64)> {
            match request[key].as_array() {
                Some(all) => {
                    let of = |part: &Value| {
                        let number = |at: usize| part[at].as_u64().expect("a segment's tokens");
                        (part[0].as_str().expect("a segment").to_owned(), number(1), number(2))
                    };
                    all.iter().map(of).collect()
                }
                None => vec![(format!("{own}{id}"), 0, whole(request, count).into())],
            }
        };
        let parts = segments("prompt", "p", "input_tokens");
        let answer = segments("answer", "a", "output_tokens");
        let mut before = 0;
        let mut ids = Vec::new();
        for (segment, start, count) in parts.into_iter().chain(answer) {
            for at in start..start + count {
                let fresh = self.0.len() as u64 + 1;
                before = *self.0.entry((before, segment.clone(), at)).or_insert(fresh);
                ids.push(before);
            }
        }
        ids
    }
}
