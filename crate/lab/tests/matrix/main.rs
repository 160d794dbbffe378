//! Every parameter with every scheduler and every cost model: it changes a result, or it has a note. Never neither, never
//! both.
//!
//! A setting that changes the tables by user and by adapter and nothing else of the run has a note that says so.
//!
//! Nothing is expected by hand. The conditions of the parameter table are walked to switch a parameter on; where they hold it
//! must change a number in one of the scenarios that the walk makes, and where they do not it must change none. A result is
//! every number of `summary.json` but the digest, the bounds that stand
//! there as they were given, and the names of rows; for the rows of the capacity search its answer; for those of request
//! bodies the bodies.

mod outcome;
mod values;
mod walk;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use outcome::{Outcomes, Seen, aim};
use servescope_settings::notes::{NoteContext, Purpose, Reason, idle, only_tables};
use servescope_settings::parameters::{Condition, Id, Kind, Value};
use servescope_settings::scenario::Scenario;
use walk::{STACK, Step, activated};

/// What was seen of a parameter in a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    /// It changes a result.
    Effect,
    /// It has a note, and changes none.
    Note,
    /// It has the note that it changes the tables by user and by adapter only, and does.
    Tables,
    /// Every other value is an error.
    Rejected,
    /// It has no note, and changes none.
    Silent,
    /// It has a note in a scenario, and changes a result there.
    Wrong,
}

impl Cell {
    fn letter(self) -> char {
        match self {
            Self::Effect => 'E',
            Self::Note => 'n',
            Self::Tables => 't',
            Self::Rejected => 'X',
            Self::Silent => 'S',
            Self::Wrong => 'W',
        }
    }
}

/// Whether every way to meet a parameter's conditions must show an effect of its own; otherwise one of them must.
const STRICT: bool = false;

/// Small loads on which most settings show: one that is crowded in a small pool, one with shared prefixes and sessions that
/// leaves room, one in bursts with timeouts.
const LOADS: [&[(&str, &str)]; 3] = [
    &[
        ("workload.rate_rps", "12"),
        ("workload.duration_s", "6"),
        ("workload.arrivals.cv", "2"),
        ("workload.output_tokens.high", "150"),
        ("workload.input_tokens.high", "250"),
        ("workload.users.count", "4"),
        ("workload.adapters.count", "5"),
        ("workload.adapters.ranks", "8,64"),
        ("workload.max_tokens.cap", "120"),
        ("gateway.checks", "rpm|tpm|concurrency|queue|kv"),
        ("gateway.predict.cold_start", "2"),
        ("scheduler.max_total_tokens", "2012"),
        ("adapters.max_loras", "2"),
        ("scheduler.max_request_tokens", "330"),
        ("gateway.load.wait_s", "1"),
        ("fleet.kv_pool", "given"),
    ],
    &[
        ("workload.rate_rps", "6"),
        ("gateway.checks", "rpm|tpm|concurrency|queue|kv"),
        ("workload.duration_s", "8"),
        ("workload.users.count", "3"),
        ("workload.adapters.count", "6"),
        ("workload.adapters.ranks", "8,64"),
        ("workload.prefix.kind", "tree"),
        ("fleet.replicas", "2"),
    ],
    &[
        ("workload.rate_rps", "15"),
        ("workload.duration_s", "4"),
        ("workload.output_tokens.kind", "fixed"),
        ("workload.output_tokens.value", "100"),
        ("workload.max_tokens.kind", "cap"),
        ("workload.max_tokens.cap", "200"),
        ("workload.input_tokens.high", "1500"),
        ("workload.adapters.ranks", "64"),
        ("workload.sessions.kind", "held"),
        ("workload.think.mean_s", "1"),
        ("scheduler.max_total_tokens", "2012"),
        ("adapters.max_loras", "2"),
        ("scheduler.max_running_requests", "8"),
        ("gateway.queue_timeout_s", "4"),
        ("fleet.kv_pool", "given"),
    ],
];

/// Prompts longer than a small token budget in a small pool, where vLLM's rules for chunks of prompts show.
const VLLM_LOAD: &[(&str, &str)] = &[
    ("workload.rate_rps", "12"),
    ("workload.duration_s", "6"),
    ("workload.adapters.count", "0"),
    ("workload.output_tokens.high", "150"),
    ("workload.input_tokens.high", "900"),
    ("scheduler.batch_max_tokens", "256"),
    ("scheduler.max_total_tokens", "3000"),
    ("scheduler.max_request_tokens", "1200"),
    ("fleet.kv_pool", "given"),
];

/// Users of unequal priority whose prompts begin alike, in a small pool, where SGLang's rules show; and fewer slots than requests.
const SGLANG_LOAD: &[(&str, &str)] = &[
    ("workload.rate_rps", "14"),
    ("workload.duration_s", "8"),
    ("workload.arrivals.cv", "2"),
    ("workload.adapters.count", "0"),
    ("workload.users.count", "12"),
    ("workload.prefix.kind", "tree"),
    ("workload.prefix.system_tokens", "64"),
    ("workload.prefix.user_tokens", "160"),
    ("workload.input_tokens.high", "300"),
    ("workload.output_tokens.high", "400"),
    ("workload.max_tokens.kind", "cap"),
    ("workload.max_tokens.cap", "600"),
    ("scheduler.max_total_tokens", "1800"),
    ("scheduler.max_request_tokens", "1200"),
    ("scheduler.max_running_requests", "8"),
    ("scheduler.chunked_prefill_size", "256"),
    ("scheduler.max_prefill_tokens", "500"),
    ("scheduler.schedule_conservativeness", "0.1"),
    ("scheduler.clip_max_new_tokens", "40"),
    ("scheduler.priority.classes", "0,20,40"),
    ("fleet.kv_pool", "given"),
];
const SGLANG_SLOTS: &[(&str, &str)] = &[
    ("workload.rate_rps", "14"),
    ("workload.duration_s", "8"),
    ("workload.adapters.count", "0"),
    ("workload.users.count", "12"),
    ("workload.input_tokens.high", "300"),
    ("workload.output_tokens.high", "200"),
    ("scheduler.max_request_tokens", "1200"),
    ("scheduler.max_running_requests", "4"),
    ("scheduler.priority.classes", "0,20,40"),
];

/// Prompts longer than a small token budget, and clients that declare more than they get, in a small pool, where TensorRT-LLM's rules show.
const TRTLLM_LOAD: &[(&str, &str)] = &[
    ("workload.rate_rps", "12"),
    ("workload.duration_s", "6"),
    ("workload.adapters.count", "0"),
    ("workload.output_tokens.high", "150"),
    ("workload.input_tokens.high", "600"),
    ("workload.max_tokens.kind", "cap"),
    ("workload.max_tokens.cap", "400"),
    ("scheduler.batch_max_tokens", "256"),
    ("scheduler.max_total_tokens", "3000"),
    ("scheduler.max_request_tokens", "1200"),
    ("scheduler.enable_chunked_prefill", "true"),
    ("fleet.kv_pool", "given"),
];

/// Short prompts on several GPUs, which are done before the host has launched what no CUDA graph covers.
const LAUNCH_LOAD: &[(&str, &str)] = &[
    ("workload.rate_rps", "6"),
    ("workload.duration_s", "8"),
    ("workload.adapters.count", "0"),
    ("fleet.tensor_parallel", "4"),
];

/// Prompts that share their starts, and requests of unequal lengths, on several replicas behind a router that remembers little.
const ROUTER_LOAD: &[(&str, &str)] = &[
    ("workload.rate_rps", "30"),
    ("workload.duration_s", "6"),
    ("workload.users.count", "4"),
    ("workload.adapters.count", "3"),
    ("workload.adapters.ranks", "8,64"),
    ("workload.input_tokens.high", "200"),
    ("workload.output_tokens.high", "150"),
    ("workload.sessions.kind", "held"),
    ("workload.think.mean_s", "1"),
    ("workload.prefix.kind", "tree"),
    ("workload.prefix.system_tokens", "600"),
    ("fleet.replicas", "3"),
    ("scheduler.max_running_requests", "6"),
    ("fleet.router_index.blocks", "40"),
    ("fleet.routers.sglang_cache_aware.balance_abs_threshold", "1"),
];

/// Users whose prompts begin alike, some of them often, above a host that forgets.
const HOST_LOAD: &[(&str, &str)] = &[
    ("workload.rate_rps", "12"),
    ("workload.duration_s", "8"),
    ("workload.adapters.count", "0"),
    ("workload.users.count", "12"),
    ("workload.prefix.kind", "tree"),
    ("workload.prefix.system_tokens", "64"),
    ("workload.prefix.user_tokens", "320"),
    ("workload.input_tokens.high", "200"),
    ("workload.output_tokens.high", "100"),
    ("scheduler.max_total_tokens", "2012"),
    ("scheduler.max_request_tokens", "900"),
    ("fleet.kv_pool", "given"),
    ("fleet.host_cache.gib", "1.5"),
    ("fleet.replicas", "2"),
];

/// Bursts on three data-parallel ranks that run every pass together, with pauses between them.
const RANK_LOAD: &[(&str, &str)] = &[
    ("workload.rate_rps", "6"),
    ("workload.duration_s", "10"),
    ("workload.arrivals.cv", "4"),
    ("workload.adapters.count", "0"),
    ("workload.output_tokens.high", "60"),
    ("workload.input_tokens.high", "250"),
    ("fleet.data_parallel_size", "3"),
    ("fleet.rank_passes", "together"),
];

/// Ranks that share experts, on GPUs on which every way to them was timed; rearranged, a pass waits for them a few times a run.
const EXPERT_LOAD: &[(&str, &str)] = &[
    ("workload.rate_rps", "6"),
    ("workload.duration_s", "6"),
    ("workload.adapters.count", "0"),
    ("fleet.gpu", "h200_sxm"),
    ("fleet.model", "mixtral-8x7b"),
    ("fleet.tensor_parallel", "2"),
    ("fleet.data_parallel_size", "2"),
    ("fleet.rank_passes", "together"),
    ("fleet.eplb.step_interval", "40"),
    ("fleet.eplb.use_async", "false"),
];

/// More requests than a replica serves, then fewer, under a rule that looks every second.
const SCALING_LOAD: &[(&str, &str)] = &[
    ("workload.rate_rps", "6"),
    ("workload.duration_s", "30"),
    ("workload.curve.kind", "spike"),
    ("workload.curve.start_s", "4"),
    ("workload.curve.end_s", "12"),
    ("workload.curve.factor", "5"),
    ("workload.adapters.count", "0"),
    ("workload.output_tokens.high", "60"),
    ("workload.input_tokens.high", "250"),
    ("fleet.replicas", "2"),
    ("fleet.autoscaling.kind", "hpa"),
    ("fleet.autoscaling.metric", "concurrency"),
    ("fleet.autoscaling.target", "3"),
    ("fleet.autoscaling.max", "5"),
    ("fleet.autoscaling.interval_s", "1"),
    ("fleet.autoscaling.scrape_s", "1"),
    ("fleet.autoscaling.down_cooldown_s", "2"),
    ("fleet.cold_start.delay_s", "2"),
    ("fleet.cold_start.image_gb_per_s", "20"),
    ("fleet.cold_start.weights_gb_per_s", "20"),
    ("fleet.cold_start.compile_s", "3"),
    ("fleet.cold_start.probe_s", "1"),
];

/// What that has beside it where the planner's bound on TTFT is to be broken.
const PLANNER_LOAD: (&str, &str) = ("fleet.autoscaling.ttft_s", "0.02");

/// Bursts of prompts with a shared beginning on two prefill and two decode replicas with slow links.
const DISAGGREGATION_LOAD: &[(&str, &str)] = &[
    ("workload.rate_rps", "12"),
    ("workload.duration_s", "10"),
    ("workload.arrivals.cv", "4"),
    ("workload.adapters.count", "0"),
    ("workload.output_tokens.high", "60"),
    ("workload.input_tokens.high", "250"),
    ("workload.prefix.kind", "tree"),
    ("workload.prefix.system_tokens", "200"),
    ("fleet.replicas", "4"),
    ("fleet.disaggregation.kind", "nixl"),
    ("fleet.disaggregation.prefill_replicas", "2"),
    ("fleet.disaggregation.threshold", "100"),
    ("fleet.transfer.gb_per_s", "1"),
];

/// What all have: a pair of GPU and model whose operators were timed, and curves that change within the run.
const COMMON: [(&str, &str); 10] = [
    ("fleet.gpu", "a100_80_sxm"),
    ("fleet.model", "llama-2-7b"),
    // A search lengthens a run until its answer is certain; here it is enough that another setting gives another answer.
    ("capacity.most_requests", "4000"),
    ("workload.curve.period_s", "4"),
    ("workload.curve.start_s", "2"),
    ("workload.curve.end_s", "5"),
    ("workload.input_tokens.curve.start_s", "2"),
    ("workload.input_tokens.curve.end_s", "5"),
    ("workload.output_tokens.curve.start_s", "2"),
    ("workload.output_tokens.curve.end_s", "5"),
];

fn loads(stack: [&'static str; 2]) -> Vec<Rc<Scenario>> {
    let load = |settings: &&[(&str, &str)]| {
        let mut scenario = Scenario::of_version(4);
        for (id, name) in STACK.into_iter().zip(stack) {
            scenario.set(id, Value::Choice(name)).expect("a name of the table");
        }
        for (path, value) in COMMON.iter().chain(settings.iter()) {
            scenario.set_text(path, value).unwrap_or_else(|error| panic!("{error}"));
        }
        Rc::new(scenario)
    };
    LOADS
        .iter()
        .chain(&[
            VLLM_LOAD,
            LAUNCH_LOAD,
            ROUTER_LOAD,
            HOST_LOAD,
            SGLANG_LOAD,
            SGLANG_SLOTS,
            TRTLLM_LOAD,
            RANK_LOAD,
            EXPERT_LOAD,
            SCALING_LOAD,
            &[SCALING_LOAD, &[PLANNER_LOAD]].concat(),
            DISAGGREGATION_LOAD,
        ])
        .map(load)
        .collect()
}

/// How the paths of settings begin that act where the number of replicas changes.
const OF_SCALING: [&str; 3] = ["fleet.autoscaling.", "fleet.cold_start.", "fleet.drain."];

fn names(id: Id) -> &'static [&'static str] {
    let Kind::Choice(names) = id.row().kind else { panic!("{} is no choice", id.row().id) };
    names
}

/// One parameter in one stack; what is wrong is reported.
fn cell(
    loads: &[Rc<Scenario>],
    id: Id,
    all_idle_act_on_nothing: bool,
    outcomes: &mut Outcomes,
    reported: &mut Vec<String>,
) -> Cell {
    let context = NoteContext { purpose: aim(id), ..NoteContext::default() };
    let path = id.row().id;
    // The loads behind the others are for the settings of vLLM v1, the largest CUDA graph, routers, host memory, SGLang, TensorRT-LLM,
    // ranks, experts, autoscalers and prefill and decode apart alone.
    let loads = match id {
        Id::CapturedTokens => &loads[..LOADS.len() + 2],
        _ if path == "fleet.router_index.host_weight" => &loads[LOADS.len() + 3..=LOADS.len() + 3],
        _ if path.starts_with("fleet.router") => &loads[LOADS.len() + 2..=LOADS.len() + 2],
        _ if path.starts_with("fleet.host_cache") => &loads[LOADS.len() + 3..=LOADS.len() + 3],
        _ if is_only_of(id, "sglang") => &loads[LOADS.len() + 4..LOADS.len() + 6],
        _ if is_only_of(id, "trtllm") => &loads[LOADS.len() + 6..=LOADS.len() + 6],
        Id::RankPasses | Id::SyncInterval | Id::RankChoice | Id::ApiServers => {
            &loads[LOADS.len() + 7..=LOADS.len() + 7]
        }
        Id::ExpertParallel | Id::AllToAll | Id::Eplb => &loads[LOADS.len() + 8..=LOADS.len() + 8],
        _ if path.starts_with("fleet.eplb") => &loads[LOADS.len() + 8..=LOADS.len() + 8],
        _ if OF_SCALING.iter().any(|of| path.starts_with(of)) => &loads[LOADS.len() + 9..=LOADS.len() + 10],
        _ if path.starts_with("fleet.disaggregation") || path.starts_with("fleet.transfer") => {
            &loads[LOADS.len() + 11..=LOADS.len() + 11]
        }
        // TensorRT-LLM cuts prompts, too, where that is asked for.
        _ if is_of_vllm_v1(id) || id == Id::ChunkedPrefill => &loads[..=LOADS.len()],
        _ => &loads[..LOADS.len()],
    };
    let is_idle = |load: &&Rc<Scenario>| idle(load, &context, id).is_some();
    let idle_in: Vec<Rc<Scenario>> = loads.iter().filter(is_idle).cloned().collect();
    let seen = if all_idle_act_on_nothing {
        Seen::default()
    } else {
        outcomes.changed(&idle_in, id, 2, |seen| seen.changes_run || seen.changes_tables)
    };
    if seen.changes_run || seen.changes_tables {
        reported.push(format!("{path} acts, but: {:?}", idle(&idle_in[0], &context, id).map(Reason::text)));
        return Cell::Wrong;
    }
    let steps = loads.iter().flat_map(|load| activated(load, id));
    let active = steps.filter(|step| idle(&step.scenario, &context, id).is_none());
    let (tables, runs): (Vec<Step>, Vec<Step>) =
        active.partition(|step| only_tables(&step.scenario, &context, id).is_some());
    let mut cells = Vec::new();
    if !tables.is_empty() {
        let scenarios: Vec<Rc<Scenario>> = tables.into_iter().map(|step| step.scenario).collect();
        cells.push(match outcomes.changed(&scenarios, id, 2, |seen| seen.changes_run) {
            Seen { is_rejected: true, .. } => Cell::Rejected,
            Seen { changes_run: true, .. } => Cell::Wrong,
            Seen { changes_tables: true, .. } => Cell::Tables,
            _ => Cell::Silent,
        });
    }
    // Where every way counts, each must show an effect in one of the loads, or the runs must say that it did nothing.
    let mut ways: BTreeMap<String, Vec<Rc<Scenario>>> = BTreeMap::new();
    for Step { scenario, way } in runs {
        ways.entry(if STRICT { way } else { String::new() }).or_default().push(scenario);
    }
    for scenarios in ways.values() {
        let seen = outcomes.changed(scenarios, id, usize::MAX, |seen| seen.changes_run || seen.is_wrong);
        cells.push(match seen {
            Seen { is_rejected: true, .. } => Cell::Rejected,
            Seen { is_wrong: true, .. } => Cell::Wrong,
            Seen { changes_run: true, .. } => Cell::Effect,
            Seen { has_note: true, .. } => Cell::Note,
            _ => Cell::Silent,
        });
        if matches!(cells.last(), Some(Cell::Silent | Cell::Wrong)) {
            reported.push(format!("{path}: {:?} in {}", cells.last(), scenarios[0].to_json()));
        }
    }
    let order = [Cell::Wrong, Cell::Silent, Cell::Effect, Cell::Tables, Cell::Rejected];
    order.into_iter().find(|cell| cells.contains(cell)).unwrap_or(Cell::Note)
}

/// Whether only vLLM v1 has a parameter.
fn is_of_vllm_v1(id: Id) -> bool {
    id.row().applies.contains(&Condition::In(Id::SchedulerKind, &["vllm_v1"]))
}

/// Whether only this scheduler has a parameter.
fn is_only_of(id: Id, scheduler: &str) -> bool {
    fn asks(condition: &Condition, scheduler: &str) -> bool {
        match condition {
            Condition::In(Id::SchedulerKind, kinds) => *kinds == [scheduler],
            Condition::All(of) => of.iter().any(|condition| asks(condition, scheduler)),
            _ => false,
        }
    }
    id.row().applies.iter().any(|condition| asks(condition, scheduler))
}

/// Whether all parameters that have a note in a load, set to other values together, change nothing there: then none of them
/// does by itself. Otherwise they are tried one by one.
fn idle_together(loads: &[Rc<Scenario>], ids: &[Id], outcomes: &mut Outcomes) -> bool {
    let context = NoteContext { purpose: Purpose::Run, ..NoteContext::default() };
    loads.iter().all(|load| {
        let is_idle = |id: &Id| aim(*id) == Purpose::Run && idle(load, &context, *id).is_some();
        let idle_here: Vec<Id> = ids.iter().copied().filter(is_idle).collect();
        (0..2).all(|place| outcomes.are_alike(load, &idle_here, place))
    })
}

/// Every parameter in one stack, with what is wrong.
fn column(stack: [&'static str; 2], ids: &[Id]) -> (Vec<Cell>, Vec<String>, usize) {
    let loads = loads(stack);
    let (mut outcomes, mut reported) = (Outcomes::default(), Vec::new());
    let alike = idle_together(&loads, ids, &mut outcomes);
    let cells = (ids.iter())
        .map(|&id| cell(&loads, id, alike && aim(id) == Purpose::Run, &mut outcomes, &mut reported))
        .collect();
    (cells, reported.iter().map(|line| format!("{}: {line}", stack.join("/"))).collect(), outcomes.runs)
}

/// The columns of all stacks, on as many threads as there are cores.
fn columns(stacks: &[[&'static str; 2]], ids: &[Id]) -> Vec<(Vec<Cell>, Vec<String>, usize)> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        while let Some(&stack) = stacks.get(next.fetch_add(1, Ordering::Relaxed)).as_ref() {
            let column = column(*stack, ids);
            done.lock().expect("no thread panics while it holds the map").insert(stack.join("/"), column);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut done = done.into_inner().expect("no thread panics while it holds the map");
    stacks.iter().map(|stack| done.remove(&stack.join("/")).expect("every stack has a column")).collect()
}

/// Every scheduler with every cost model; in the quick check a fifth of the pairs, among which each of both occurs.
fn stacks() -> Vec<[&'static str; 2]> {
    let (kinds, costs) = (names(Id::SchedulerKind), names(Id::CostKind));
    let pairs = (0..kinds.len()).flat_map(|kind| (0..costs.len()).map(move |cost| (kind, cost)));
    let is_taken =
        |&(kind, cost): &(usize, usize)| servescope_testkit::is_whole() || (kind + cost) % costs.len() == 0;
    pairs.filter(is_taken).map(|(kind, cost)| [kinds[kind], costs[cost]]).collect()
}

/// `MATRIX_ONLY` names a part of the paths to look at alone.
#[test]
fn every_setting_acts_or_has_a_note() {
    let stacks = stacks();
    let only = std::env::var("MATRIX_ONLY").unwrap_or_default();
    let of_stack = |id: &Id| STACK.contains(id);
    let ids: Vec<Id> =
        Id::ALL.iter().copied().filter(|id| !of_stack(id) && id.row().id.contains(&only)).collect();
    let columns = columns(&stacks, &ids);
    let row = |place: usize| columns.iter().map(|(cells, ..)| cells[place]).collect::<Vec<_>>();
    let rows: BTreeMap<Id, Vec<Cell>> = ids.iter().enumerate().map(|(place, &id)| (id, row(place))).collect();
    print(&rows, &stacks);
    println!("{} runs", columns.iter().map(|(.., runs)| runs).sum::<usize>());
    columns.iter().flat_map(|(_, reported, _)| reported).for_each(|line| println!("{line}"));
    let bad: Vec<String> = rows
        .iter()
        .filter(|(_, cells)| cells.iter().any(|cell| matches!(cell, Cell::Silent | Cell::Wrong)))
        .map(|(id, cells)| format!("{}: {}", id.row().id, letters(&stacks, cells)))
        .collect();
    assert!(
        bad.is_empty(),
        "settings that change nothing without a note (S), or something with one (W):\n{}",
        bad.join("\n")
    );
}

fn letters(stacks: &[[&str; 2]], cells: &[Cell]) -> String {
    let of_kind: Vec<String> = (stacks.iter().zip(cells).collect::<Vec<_>>())
        .chunk_by(|(one, _), (next, _)| one[0] == next[0])
        .map(|chunk| chunk.iter().map(|(_, cell)| cell.letter()).collect())
        .collect();
    of_kind.join(" ")
}

/// A line for each set of parameters with the same cells.
fn print(rows: &BTreeMap<Id, Vec<Cell>>, stacks: &[[&str; 2]]) {
    let of_kind: Vec<String> = (stacks.chunk_by(|one, next| one[0] == next[0]))
        .map(|chunk| {
            format!("{} ({})", chunk[0][0], chunk.iter().map(|stack| stack[1]).collect::<Vec<_>>().join(" "))
        })
        .collect();
    println!("schedulers with their cost models: {}", of_kind.join("; "));
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (id, cells) in rows {
        alike.entry(letters(stacks, cells)).or_default().push(id.row().id);
    }
    for (letters, ids) in alike {
        println!("{letters}  {} rows: {}", ids.len(), ids.join(" "));
    }
}
