//! A file: its settings and its requests as the engine takes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use servescope_cost::{Batch, BatchCost, LinearCost, StageTime};
use servescope_engine::queue::{Client, QueueConfig, QueuePolicy};
use servescope_engine::{
    Acceptance, AdapterConfig, AdapterMemory, DataParallel, Disaggregation, DraftMethod, DraftSchedule,
    Equals, Fleet, FleetConfig, HostCache, HostEviction, KvGroup, KvGroups, KvGroupsOfKind, KvRole,
    KvTransfer, LinkSharing, LoadFailure, Lockstep, LongPrefill, OffloadConnector, Pool, PoolConfig,
    RankChoice, ReplicaIndex, SchedulerKind, Speculation, VllmRules,
};
use servescope_tests::recorded_runs::{batch_times, flag, number, requests, whole};
use servescope_workload::trace::{
    ALL_BLOCKS, LabelMaker, NO_RANK, PrefixBlocks, RecordedDrafts, RecordedTransfers, Request, StreamedInput,
    TraceMetadata,
};
use servescope_workload::{BASE_MODEL, RequestId, Trace};

/// Settings that a file may have; another one would be passed over unseen.
const SETTINGS: [&str; 30] = [
    "block_size",
    "usable_blocks",
    "max_num_seqs",
    "max_num_batched_tokens",
    "long_prefill_token_threshold",
    "long_prefill_token_threshold_adaptive",
    "policy",
    "enable_prefix_caching",
    "watermark",
    "scheduler_reserve_full_isl",
    "async_scheduling",
    "max_model_len",
    "enable_chunked_prefill",
    "prefill_schedule_interval",
    "max_num_active_seqs",
    "max_loras",
    "pipeline_parallel_size",
    "windows",
    "connector",
    "num_cpu_blocks",
    "lazy_offload",
    "transfer_us",
    "speculative",
    "data_parallel_size",
    "lockstep",
    "dp_sync_interval",
    "clients",
    "engines",
    "decode",
    "kv_load_failure_policy",
];

/// More than a run lasts: no wait brings a request before one of a better class.
const NEVER_US: f64 = 1e12;

/// The cost model of every pipeline stage: verified drafts take the last one their time, and so does each pass of a drafter.
#[derive(Debug, Clone, Copy)]
struct Stages {
    linear: LinearCost,
    count: u32,
    verified_us: f64,
    drafted_us: f64,
}

impl BatchCost for Stages {
    fn stages(&self) -> u32 {
        self.count
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let linear = self.linear.stage_time(&Batch { drafts: 0, ..*batch }, is_last);
        let verified_us = f64::from(batch.drafts) * self.verified_us;
        let drafted_us = f64::from(batch.drafted) * self.drafted_us;
        StageTime { first_us: linear.first_us + verified_us + drafted_us, ..linear }
    }
}

/// A run to be repeated.
pub(crate) struct Given {
    pub(crate) file: Value,
    /// The engine's name of each request in the file.
    pub(crate) place_of: BTreeMap<u64, RequestId>,
    pub(crate) trace: Arc<Trace>,
    /// The settings of each pool of equal engines, in the order of the engines.
    pools: Vec<PoolConfig>,
    disaggregation: Option<Disaggregation>,
    queueing: QueueConfig,
    cost: Stages,
}

impl Given {
    pub(crate) fn read(file: &Value) -> Self {
        let given = &file["config"];
        for setting in given.as_object().expect("settings").keys() {
            assert!(SETTINGS.contains(&&**setting), "unknown setting {setting}");
        }
        let mut pools = vec![config(given)];
        pools.extend(given.get("decode").map(config));
        let config = pools[0];
        let drafting = pools[pools.len() - 1].speculation;
        let requests = requests(file);
        let (trace, classes) = trace(&requests, &config, drafting);
        let order = match given["policy"].as_str() {
            Some("fcfs") => QueuePolicy::Fcfs,
            Some("priority") => QueuePolicy::Priority { classes, ageing_us: NEVER_US },
            other => panic!("unknown policy {other:?}"),
        };
        Self {
            place_of: RequestId::first(requests.len())
                .zip(&requests)
                .map(|(place, request)| (id(request), place))
                .collect(),
            trace: Arc::new(trace),
            disaggregation: given.get("decode").map(disaggregation),
            pools,
            queueing: QueueConfig { policy: order, client: Client::User, predictions: None },
            cost: Stages {
                linear: batch_times(file),
                count: given["pipeline_parallel_size"].as_u64().unwrap_or(1) as u32,
                verified_us: file["law_us"]["e"].as_f64().unwrap_or(0.0),
                // An n-gram takes no time.
                drafted_us: drafting
                    .filter(|own| own.method != DraftMethod::Ngram)
                    .map_or(0.0, |_| number(&file["law_us"], "g")),
            },
            file: file.clone(),
        }
    }

    /// Every engine.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = ReplicaIndex> + use<> {
        let engines: u32 = self.pools.iter().map(engines_of).sum();
        ReplicaIndex::first(engines as usize)
    }

    /// The settings of an engine.
    pub(crate) fn config_of(&self, engine: ReplicaIndex) -> &PoolConfig {
        let mut before = 0;
        let is_behind = |pool: &&PoolConfig| {
            before += engines_of(pool);
            engine.index() < before as usize
        };
        self.pools.iter().find(is_behind).expect("an engine of a pool")
    }

    /// The engines before the run.
    pub(crate) fn fleet(&self) -> Fleet {
        let pools = self.pools.iter().map(|&config| Pool::new(config, Box::new(self.cost))).collect();
        let rules = FleetConfig { disaggregation: self.disaggregation, ..FleetConfig::default() };
        Fleet::new(Arc::clone(&self.trace), rules, pools).with_queue_policy(self.queueing.clone())
    }
}

fn engines_of(pool: &PoolConfig) -> u32 {
    pool.replicas * pool.data_parallel.ranks
}

/// Requests go to the engines of a role in turn, and pulls do not delay each other.
fn disaggregation(decode: &Value) -> Disaggregation {
    let load_failure = match decode["kv_load_failure_policy"].as_str() {
        Some("fail") => LoadFailure::Fail,
        Some("recompute") => LoadFailure::Recompute,
        other => panic!("unknown policy {other:?}"),
    };
    Disaggregation {
        route_us: number(&decode["transfer_us"], "route_us"),
        base_us: number(&decode["transfer_us"], "base_us"),
        sharing: LinkSharing::Alone,
        load_failure,
        ..Disaggregation::FREE
    }
}

/// An engine's part in handing requests over.
fn kv_transfer(given: &Value) -> Option<KvTransfer> {
    given.get("engines")?;
    let role = if given.get("decode").is_some() { KvRole::Producer } else { KvRole::Consumer };
    Some(KvTransfer { role, block_us: number(&given["transfer_us"], "per_block_us") })
}

fn id(request: &Value) -> u64 {
    request["id"].as_u64().expect("a request has an id")
}

fn config(given: &Value) -> PoolConfig {
    let blocks = whole(given, "usable_blocks");
    // vLLM counts its null block, too.
    let watermark_blocks = (number(given, "watermark") * f64::from(blocks + 1)) as u32;
    // Loading takes the driver no time.
    let adapters = match given["max_loras"].as_u64() {
        None => AdapterConfig::FREE,
        Some(slots) => AdapterConfig {
            memory: AdapterMemory::Slots,
            max_loras: slots as u32,
            max_cpu_loras: slots as u32,
            ..AdapterConfig::FREE
        },
    };
    let max_num_active_seqs =
        (!given["max_num_active_seqs"].is_null()).then(|| whole(given, "max_num_active_seqs"));
    PoolConfig {
        replicas: given["engines"].as_u64().unwrap_or(1) as u32,
        kv_transfer: kv_transfer(given),
        data_parallel: data_parallel(given),
        scheduler: SchedulerKind::VllmV1,
        adapters,
        blocks,
        block_size: whole(given, "block_size"),
        kv_groups: kv_groups(&given["windows"]),
        host_cache: host_cache(given),
        speculation: speculation(&given["speculative"]),
        watermark_blocks,
        max_requests: whole(given, "max_num_seqs"),
        max_batch_tokens: whole(given, "max_num_batched_tokens"),
        max_request_tokens: whole(given, "max_model_len"),
        prefix_cache: flag(given, "enable_prefix_caching"),
        vllm: VllmRules {
            scheduler_reserve_full_isl: flag(given, "scheduler_reserve_full_isl"),
            async_scheduling: flag(given, "async_scheduling"),
            // The recorded runs are of the scheduler alone.
            stages_wait_for_tokens: false,
            long_prefill_token_threshold: match whole(given, "long_prefill_token_threshold") {
                0 => LongPrefill::Unbounded,
                most if flag(given, "long_prefill_token_threshold_adaptive") => LongPrefill::Share(most),
                most => LongPrefill::Tokens(most),
            },
            enable_chunked_prefill: flag(given, "enable_chunked_prefill"),
            prefill_schedule_interval: whole(given, "prefill_schedule_interval"),
            max_num_active_seqs,
            max_num_queued_tokens: None,
            equals: Equals::FirstAdmitted,
        },
        ..PoolConfig::default()
    }
}

/// The tier of host memory, with the time that the driver takes for a copy.
fn host_cache(given: &Value) -> Option<HostCache> {
    let connector = match given["connector"].as_str()? {
        "OffloadingConnector" => OffloadConnector::Offloading,
        "SimpleCPUOffloadConnector" => OffloadConnector::SimpleCpu,
        other => panic!("unknown connector {other}"),
    };
    let block_us = number(&given["transfer_us"], "per_block_us");
    Some(HostCache {
        connector,
        blocks: whole(given, "num_cpu_blocks"),
        eviction: HostEviction::Lru,
        store_threshold: 0,
        prompts_only: true,
        lazy: flag(given, "lazy_offload"),
        base_us: number(&given["transfer_us"], "base_us"),
        load_block_us: block_us,
        store_block_us: block_us,
    })
}

fn data_parallel(given: &Value) -> DataParallel {
    if given["data_parallel_size"].is_null() {
        return DataParallel::ONE;
    }
    let lockstep = Lockstep { sync_interval: whole(given, "dp_sync_interval"), rearranging: None };
    DataParallel {
        ranks: whole(given, "data_parallel_size"),
        lockstep: flag(given, "lockstep").then_some(lockstep),
        choice: RankChoice::Vllm,
        front_ends: whole(given, "clients"),
    }
}

fn speculation(given: &Value) -> Option<Speculation> {
    let method = match given["method"].as_str()? {
        "ngram" => DraftMethod::Ngram,
        "draft_model" => DraftMethod::DraftModel,
        "eagle" | "eagle3" | "mtp" => DraftMethod::Eagle,
        "dflash" => DraftMethod::Dflash,
        other => panic!("unknown method {other}"),
    };
    let ranges = |ranges: &Vec<Value>| {
        let of = |range: &Value| [0, 2].map(|at| range[at].as_u64().expect("a range") as u32).into();
        DraftSchedule::new(&ranges.iter().map(of).collect::<Vec<(u32, u32)>>()).expect("ranges in order")
    };
    Some(Speculation {
        method,
        parallel_drafting: given["parallel_drafting"] == true,
        num_speculative_tokens: whole(given, "num_speculative_tokens"),
        by_batch_size: given["num_speculative_tokens_per_batch_size"].as_array().map(ranges),
        lookahead_block_hashes: method == DraftMethod::Eagle
            && given["disable_lookahead_block_hashes"] != true,
        acceptance: Acceptance::Recorded,
    })
}

/// A group of layers for each window; 0: full attention.
fn kv_groups(windows: &Value) -> KvGroups {
    let Some(windows) = windows.as_array() else { return KvGroups::FULL };
    let mut kinds: Vec<KvGroupsOfKind> = Vec::new();
    for window in windows {
        let kind = match window.as_u64() {
            Some(0) => KvGroup::Full,
            Some(tokens) => KvGroup::SlidingWindow(tokens as u32),
            None => panic!("a window of {window}"),
        };
        match kinds.last_mut() {
            Some(of) if of.kind == kind => of.count += 1,
            _ => kinds.push(KvGroupsOfKind { kind, count: 1, ratio: 1 }),
        }
    }
    KvGroups::new(&kinds).expect("few kinds of groups")
}

/// The requests, and the class of each user: every priority is a user of its own.
fn trace(requests: &[&Value], config: &PoolConfig, drafting: Option<Speculation>) -> (Trace, Vec<f64>) {
    let block_size = config.block_size;
    // A connector knows blocks by plain hashes.
    let looks_ahead = drafting.is_some_and(|own| own.lookahead_block_hashes) && config.kv_transfer.is_none();
    let counts = |list: &Value| -> Vec<u64> {
        list.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
    };
    let adapters = requests.iter().filter_map(|request| request["adapter"].as_u64()).max();
    let adapter_rank = vec![8; adapters.map_or(0, |most| most as usize + 1)];
    let mut trace = Trace { adapter_rank, ..Trace::default() };
    let mut classes: Vec<f64> = Vec::new();
    let mut blocks = Blocks { looks_ahead, ..Blocks::default() };
    let mut drafts = RecordedDrafts::default();
    let mut prefix = PrefixBlocks::new(block_size);
    let rank_of = |request: &&Value| request["rank"].as_u64().map_or(NO_RANK, |rank| rank as u16);
    let rank = requests.iter().map(rank_of).collect();
    let fails_at =
        |request: &&Value| request["load_fails_at_block"].as_u64().map_or(ALL_BLOCKS, |at| at as u32);
    let transfers = RecordedTransfers {
        decode_only: requests.iter().map(|request| request["decode_only"] == true).collect(),
        load_fails_at: requests.iter().map(fails_at).collect(),
    };
    let mut session = LabelMaker::default();
    requests.iter().for_each(|request| session.push(request["session"].as_str()));
    let streamed = StreamedInput {
        goes_on: requests.iter().map(|request| request["goes_on"] == true).collect(),
        open_until_us: requests
            .iter()
            .map(|request| request["open_until_us"].as_f64().unwrap_or(0.0))
            .collect(),
    };
    for (place, request) in (0..).zip(requests) {
        let class = request["priority"].as_f64().unwrap_or(0.0);
        let user = classes.iter().position(|&other| other == class).unwrap_or_else(|| {
            classes.push(class);
            classes.len() - 1
        });
        let output_tokens = whole(request, "output_tokens");
        trace.push(Request {
            arrival_us: number(request, "arrival_us"),
            user: user as u32,
            adapter: request["adapter"].as_u64().map_or(BASE_MODEL, |adapter| adapter as u32),
            input_tokens: whole(request, "input_tokens"),
            output_tokens,
            max_tokens: output_tokens,
        });
        let mut ids = blocks.of(request, block_size as usize);
        let answer = ids.split_off(ids.len().min((whole(request, "input_tokens") / block_size) as usize));
        prefix.push(ids);
        prefix.outputs.push(answer);
        drafts.accepted.push(counts(&request["accept"]));
        drafts.proposed.push(counts(&request["draft"]));
        if let Some(at_us) = request["cancel_us"].as_f64() {
            trace.cancellations.push((at_us, place));
        }
    }
    let session = session.finish();
    trace.metadata = Some(Box::new(TraceMetadata {
        prefix,
        drafts,
        rank,
        transfers,
        session,
        streamed,
        ..TraceMetadata::default()
    }));
    trace.sort_cancellations();
    (trace, classes)
}

/// Names of blocks: equal ones for equal tokens after equal blocks, and where hashes look ahead before an equal token.
#[derive(Default)]
pub(crate) struct Blocks {
    names: BTreeMap<(u64, Vec<u64>), u64>,
    looks_ahead: bool,
}

impl Blocks {
    pub(crate) fn of(&mut self, request: &Value, block_size: usize) -> Vec<u64> {
        let part = |key: &str| request[key].as_array().into_iter().flatten().filter_map(Value::as_u64);
        let tokens: Vec<u64> = part("tokens").chain(part("answer")).collect();
        let mut before = 0;
        let width = block_size + usize::from(self.looks_ahead);
        let blocks = tokens.windows(width).step_by(block_size);
        blocks
            .map(|block| {
                let fresh = self.names.len() as u64 + 1;
                before = *self.names.entry((before, block.to_vec())).or_insert(fresh);
                before
            })
            .collect()
    }
}
