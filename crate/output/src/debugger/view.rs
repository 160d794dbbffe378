//! What one step shows: what was decided by which test, the queue in its order, KV memory, adapters, counters. Times in seconds.

use serde::Serialize;
use servescope_engine::decisions::{Decision, RatedReplica, RoutingChoice, Test, Verdict};
use servescope_engine::queue::{Client, ClientId};
use servescope_engine::snapshot::{ReplicaSnapshot, WaitingEntry};
use servescope_engine::steps::{DebugStep, StepState};
use servescope_engine::{
    GatewaySnapshot, PoolConfig, QueueKeyKind, ReplicaFailure, ReplicaIndex, Report, ScalingDecision,
    SchedulerKind,
};
use servescope_settings::parameters::choices::Choice;
use servescope_settings::scenario::Scenario;
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use super::rules::{self, Rule};
use super::sentences::{self, Sentence};

/// The run that a step is of.
pub(super) struct StepContext<'a> {
    pub(super) scenario: &'a Scenario,
    /// Of the pool whose replica decided; of the first one where the gateway did.
    pub(super) config: &'a PoolConfig,
    pub(super) scheduler: SchedulerKind,
    pub(super) report: &'a Report,
    pub(super) place: usize,
    pub(super) count: usize,
}

/// A request as every table names it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepRequest"))]
pub struct RequestName {
    /// Which request.
    pub request: u32,
    /// Its user.
    pub user: u32,
    /// Its adapter; -1: the base model.
    pub adapter: i64,
}

/// The request of a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepCandidate"))]
pub struct Candidate {
    /// Which one.
    #[serde(flatten)]
    pub name: RequestName,
    /// When it came, seconds.
    pub arrival_s: f64,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Bound on its output tokens.
    pub max_tokens: u32,
}

/// What a test compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepTest"))]
pub struct TestView {
    /// Its name.
    pub name: &'static str,
    /// What was needed, in the unit of the test.
    pub need: Option<u32>,
    /// What there was.
    pub have: Option<u32>,
    /// In a sentence.
    pub sentence: Sentence,
}

/// A request of a queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepQueueRow"))]
pub struct QueueRow {
    /// Which one.
    #[serde(flatten)]
    pub name: RequestName,
    /// What it is ordered by, in the unit of the key (times: seconds); none of one that stands before the order.
    pub key: Option<f64>,
    /// When it came, seconds.
    pub arrival_s: f64,
    /// Prompt tokens that are to be processed.
    pub prompt_tokens: u32,
    /// Whether it was preempted before.
    pub was_preempted: bool,
    /// What became of it in this look so far: "candidate", the verdict of an earlier decision, "held_back" (by a limit of its
    /// client) or "".
    pub state: &'static str,
}

/// A waiting queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepQueue"))]
pub struct QueueView {
    /// "replica" or "gateway".
    pub at: &'static str,
    /// By what it is ordered.
    pub key: &'static str,
    /// How many wait.
    pub count: u32,
    /// The first of them, in order.
    pub rows: Vec<QueueRow>,
    /// The rule of the order.
    pub rule: Rule,
}

/// A row of the memory test's sorted list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepPeakRow"))]
pub struct PeakRowView {
    /// Which request; none where that is not known.
    pub request: Option<u32>,
    /// Tokens that it holds.
    pub used: i64,
    /// Tokens that it may produce further.
    pub left: i64,
    /// Tokens that all down to it hold when it is done: tokens left times its place in the list, and tokens held so far.
    pub tokens: i64,
    /// Whether it joins with this look.
    pub joins: bool,
}

/// The memory test of S-LoRA and `LightLLM`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepPeak"))]
pub struct PeakView {
    /// Requests by tokens left, descending, the candidate among them.
    pub rows: Vec<PeakRowView>,
    /// The largest of the rows' tokens.
    pub need: i64,
    /// Which row that is, from 0 on.
    pub worst: usize,
    /// What it has to stay below: the pool without adapters.
    pub limit: Option<u32>,
    /// Tokens of the pool.
    pub pool_tokens: u64,
}

/// A request that holds KV blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepHolder"))]
pub struct HolderView {
    /// Which one.
    #[serde(flatten)]
    pub name: RequestName,
    /// Its blocks.
    pub blocks: u32,
    /// Tokens processed.
    pub tokens: u32,
    /// Whether it decodes; otherwise its prompt is processed.
    pub decodes: bool,
    /// Its drafts, which its next iteration verifies if they fit.
    pub drafts: u32,
    /// Its drafts that were verified so far.
    pub verified_drafts: u32,
    /// Those of them that were accepted.
    pub accepted_drafts: u32,
}

/// KV memory of the replica when it began to look.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepKv"))]
pub struct KvView {
    /// Blocks of the pool.
    pub total: u32,
    /// Blocks that requests use.
    pub used: u32,
    /// Blocks in which adapters are.
    pub adapters: u32,
    /// Blocks that are free.
    pub free: u32,
    /// Blocks that the host keeps of preempted requests.
    pub host: u32,
    /// Blocks that are counted at more than one request.
    pub shared: u32,
    /// Blocks that are held by copies to host memory alone.
    pub copied: u32,
    /// Tokens in a block.
    pub block_tokens: u32,
    /// Blocks by request, in the order of admission.
    pub holders: Vec<HolderView>,
}

/// An adapter in GPU memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepAdapter"))]
pub struct AdapterRow {
    /// Which adapter.
    pub adapter: u32,
    /// Requests of the batch that use it.
    pub users: u32,
}

/// Adapters of the replica when it began to look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepAdapters"))]
pub struct AdaptersView {
    /// LoRA slots, where there are slots.
    pub slots: Option<u32>,
    /// Adapters that requests of the batch use.
    pub used: u32,
    /// Adapters in GPU memory.
    pub resident: u32,
    /// These one by one; none where all of them stay in GPU memory.
    pub list: Vec<AdapterRow>,
}

/// A client's counter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepCounter"))]
pub struct CounterRow {
    /// The user's or adapter's index; -1: the base model.
    pub client: i64,
    /// The counter, in the units of the token cost.
    pub counter: f64,
}

/// The counters of clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepCounters"))]
pub struct CountersView {
    /// "user" or "adapter".
    pub by: &'static str,
    /// Every client seen so far.
    pub rows: Vec<CounterRow>,
}

/// A replica that the router could send the request to, as the router saw it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepRated"))]
pub struct RatedRow {
    /// Which one.
    pub replica: u16,
    /// Tokens of the prompt that are believed to be cached there.
    pub cached_tokens: u32,
    /// Prompt tokens that are to be computed there before it.
    pub uncached_tokens: u64,
    /// Requests that wait or run there.
    pub requests: u32,
    /// Its score, of which the highest is the best; none of one that a filter left out.
    pub score: Option<f64>,
    /// Whether the request went there.
    pub is_chosen: bool,
}

/// Limits of the scheduler and how near the look is to them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepLimits"))]
pub struct LimitsView {
    /// Requests that hold memory.
    pub running: u32,
    /// Most of them.
    pub most_running: u32,
    /// The token budget of an iteration.
    pub token_budget: u32,
    /// What earlier prompts of this look leave of it, where prompts alone take from it.
    pub token_budget_left: Option<u32>,
    /// KV blocks that stay free for requests that run.
    pub watermark_blocks: u32,
    /// Decode iterations since the last prefill, where the scheduler goes by them.
    pub decode_steps: Option<u32>,
    /// After how many of them prompts may be admitted.
    pub decode_steps_between_prefills: Option<u32>,
    /// The radix tree of prefixes, and by what it admits requests, of a scheduler that keeps one.
    pub radix: Option<RadixView>,
}

/// A radix tree of prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepRadix"))]
pub struct RadixView {
    /// Tokens of it that running requests use.
    pub locked_tokens: u32,
    /// Tokens of it that could be evicted.
    pub evictable_tokens: u32,
    /// Tokens of pages that are free.
    pub free_tokens: u32,
    /// Which share of its further tokens a running request is expected to need.
    pub new_token_ratio: f64,
    /// The request whose prompt is prefilled in part.
    pub chunked_request: Option<u32>,
}

/// The gateway when it was about to decide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepGateway"))]
pub struct GatewayView {
    /// Prompt and predicted output tokens of all that wait.
    pub waiting_tokens: u64,
    /// Requests at the engine.
    pub at_engine: u32,
    /// Most of them; none: any number.
    pub most_at_engine: Option<u32>,
    /// Tokens reserved for requests at the engine.
    pub reserved_tokens: u64,
    /// Tokens of the pool that are free and not reserved.
    pub room_tokens: f64,
    /// Tokens of the pool.
    pub pool_tokens: f64,
    /// The load state.
    pub load: &'static str,
}

/// A replica at the time of the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct StepReplica {
    /// Requests that wait.
    pub waiting: u32,
    /// Requests that hold memory.
    pub running: u32,
    /// Blocks that requests use.
    pub used_blocks: u32,
    /// Blocks that are free.
    pub free_blocks: u32,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct StepView {
    /// Its number, from 0 on.
    pub step: usize,
    /// How many steps there are.
    pub steps: usize,
    /// When, seconds.
    pub time_s: f64,
    /// The replica; none: before one was chosen.
    pub replica: Option<u16>,
    /// What was decided: the name of the verdict, "loaded" or "scaled".
    pub verdict: &'static str,
    /// What was decided, in a sentence.
    pub sentence: Sentence,
    /// The request that it is about; none: the whole queue, or adapters.
    pub candidate: Option<Candidate>,
    /// The request for which another one is preempted.
    pub for_request: Option<u32>,
    /// What decided it.
    pub test: Option<TestView>,
    /// The rule.
    pub rule: Rule,
    /// The waiting queue.
    pub queue: Option<QueueView>,
    /// The sorted list of the memory test.
    pub memory_test: Option<PeakView>,
    /// Limits of the scheduler.
    pub limits: Option<LimitsView>,
    /// KV memory.
    pub kv: Option<KvView>,
    /// Adapters.
    pub adapters: Option<AdaptersView>,
    /// Counters of clients.
    pub counters: Option<CountersView>,
    /// The gateway.
    pub gateway: Option<GatewayView>,
    /// What a router with a rule chose among; none of other steps.
    pub router: Option<Vec<RatedRow>>,
    /// Every replica just before the step's time.
    pub replicas: Vec<StepReplica>,
}

impl RequestName {
    pub(super) fn of(trace: &Trace, request: RequestId) -> Self {
        let adapter = trace.adapter[request];
        let adapter = if adapter == BASE_MODEL { -1 } else { i64::from(adapter) };
        Self { request: request.get(), user: trace.user[request], adapter }
    }
}

impl StepContext<'_> {
    fn name(&self, request: RequestId) -> RequestName {
        RequestName::of(&self.report.trace, request)
    }

    fn candidate(&self, request: RequestId) -> Candidate {
        let (trace, i) = (&self.report.trace, request.index());
        Candidate {
            name: self.name(request),
            arrival_s: trace.arrival_us[i] / 1e6,
            input_tokens: trace.input_tokens[i],
            max_tokens: trace.max_tokens[i],
        }
    }

    /// Whether prompts alone take from the token budget, which is compared with all of an iteration.
    fn sums_prompts(&self) -> bool {
        !matches!(
            self.scheduler,
            SchedulerKind::VllmV1 | SchedulerKind::Sarathi | SchedulerKind::Sglang | SchedulerKind::Trtllm
        )
    }

    fn rows(
        &self,
        waiting: &[WaitingEntry],
        key: QueueKeyKind,
        state: impl Fn(usize, RequestId) -> &'static str,
    ) -> Vec<QueueRow> {
        let is_time =
            matches!(key, QueueKeyKind::Arrival | QueueKeyKind::LatestArrival | QueueKeyKind::Priority);
        let row = |(place, entry): (usize, &WaitingEntry)| QueueRow {
            name: self.name(entry.id),
            key: entry.key.map(|key| if is_time { key / 1e6 } else { key }),
            arrival_s: entry.arrival_us / 1e6,
            prompt_tokens: entry.prompt_tokens,
            was_preempted: entry.was_preempted,
            state: state(place, entry.id),
        };
        waiting.iter().enumerate().map(row).collect()
    }

    fn counters(&self, counters: &[(ClientId, f64)], client: Client) -> Option<CountersView> {
        let count = client.count(&self.report.trace);
        let index = |of: ClientId| match client {
            Client::Adapter if of.index() + 1 == count => -1,
            _ => i64::from(of.get()),
        };
        let rows = counters.iter().map(|&(of, counter)| CounterRow { client: index(of), counter });
        (!counters.is_empty()).then(|| CountersView { by: client.name(), rows: rows.collect() })
    }
}

/// What an earlier decision of the look made of a request, or that it is the candidate.
fn state_of(earlier: &[Decision], candidate: Option<RequestId>, id: RequestId) -> &'static str {
    if candidate == Some(id) {
        return "candidate";
    }
    let last = earlier.iter().rev().find(|decision| decision.request() == Some(id));
    last.map_or("", |decision| decision.verdict.name())
}

/// What a step shows.
pub(super) fn view(context: &StepContext<'_>, step: &DebugStep, state: &StepState) -> StepView {
    let (decision, load) = match step {
        DebugStep::Decision(decision) => (Some(decision), None),
        DebugStep::Load(load) => (None, Some(load)),
        DebugStep::Scaling(decision) => return scaling(context, decision, state),
        DebugStep::Failure(failure) => return of_fleet(context, failure.time_us, failed(failure), state),
    };
    let candidate = decision.and_then(Decision::request);
    let loaded = || {
        let adapters = state.replica.as_ref().map_or(&[][..], |replica| &replica.loaded);
        sentences::loaded(adapters, load.map_or(0, |load| load.count))
    };
    let looked = state.replica.as_ref().filter(|replica| replica.is_look);
    let of_replica =
        state.replica.as_ref().map(|replica| replica_queue(context, replica, &state.earlier, candidate));
    let of_gateway = state.gateway.as_ref().map(|gateway| gateway_queue(context, gateway, candidate));
    StepView {
        step: context.place,
        steps: context.count,
        time_s: step.time_us() / 1e6,
        replica: step.replica().map(ReplicaIndex::get),
        verdict: decision.map_or("loaded", |decision| decision.verdict.name()),
        sentence: decision.map_or_else(loaded, sentences::verdict),
        candidate: candidate.map(|id| context.candidate(id)),
        for_request: decision.and_then(Decision::on_behalf_of).map(RequestId::get),
        test: decision.and_then(|decision| test(context, decision)),
        rule: decision.map_or(rules::LOADING, |decision| rules::of_decision(decision, context.scheduler)),
        queue: of_gateway.or(of_replica),
        memory_test: looked
            .and_then(|replica| decision.and_then(|of| peak(context, replica, &state.earlier, of))),
        limits: looked.map(|replica| limits(context, replica, &state.earlier)),
        kv: looked.map(|replica| kv(context, replica)),
        adapters: looked.and_then(adapters),
        counters: counters(context, state),
        gateway: state.gateway.as_ref().map(gateway),
        router: router(context, step),
        replicas: replicas(state),
    }
}

/// What a decision of an autoscaler shows: what its rule read, and what stood between the wish and the number of replicas.
fn scaling(context: &StepContext<'_>, decision: &ScalingDecision, state: &StepState) -> StepView {
    let limit = TestView {
        name: decision.limit.name(),
        need: Some(decision.wished),
        have: Some(decision.desired),
        sentence: sentences::scaling_limit(decision),
    };
    let shown = FleetStep {
        replica: None,
        verdict: "scaled",
        sentence: sentences::scaling(decision),
        test: Some(limit),
        rule: rules::SCALING,
    };
    of_fleet(context, decision.time_us, shown, state)
}

/// What a replica that fails shows: what was there.
fn failed(failure: &ReplicaFailure) -> FleetStep {
    FleetStep {
        replica: Some(failure.replica.get()),
        verdict: "failed",
        sentence: sentences::failure(failure),
        test: None,
        rule: rules::FAILURE,
    }
}

/// What is shown of a step of the whole fleet.
struct FleetStep {
    /// The replica that it is about; `None`: it is about all.
    replica: Option<u16>,
    verdict: &'static str,
    sentence: Sentence,
    test: Option<TestView>,
    rule: Rule,
}

fn of_fleet(context: &StepContext<'_>, time_us: f64, shown: FleetStep, state: &StepState) -> StepView {
    let FleetStep { replica, verdict, sentence, test, rule } = shown;
    StepView {
        step: context.place,
        steps: context.count,
        time_s: time_us / 1e6,
        replica,
        verdict,
        sentence,
        candidate: None,
        for_request: None,
        test,
        rule,
        queue: None,
        memory_test: None,
        limits: None,
        kv: None,
        adapters: None,
        counters: None,
        gateway: None,
        router: None,
        replicas: replicas(state),
    }
}

fn router(context: &StepContext<'_>, step: &DebugStep) -> Option<Vec<RatedRow>> {
    let DebugStep::Decision(decision) = step else { return None };
    let (chosen, request) = (decision.replica()?, decision.request()?);
    let is_it = |choice: &&RoutingChoice| choice.request == request && choice.time_us == decision.time_us;
    let choices = &context.report.choices;
    let first = choices.partition_point(|choice| choice.time_us < decision.time_us);
    let choice = choices[first..].iter().find(is_it).filter(|_| decision.verdict == Verdict::Routed)?;
    let row = |rated: &RatedReplica| RatedRow {
        replica: rated.replica.get(),
        cached_tokens: rated.cached_tokens,
        uncached_tokens: rated.uncached_tokens,
        requests: rated.requests,
        score: rated.score,
        is_chosen: rated.replica == chosen,
    };
    Some(choice.replicas.iter().map(row).collect())
}

fn test(context: &StepContext<'_>, decision: &Decision) -> Option<TestView> {
    let sentence = sentences::test(decision, context.sums_prompts())?;
    let numbers = decision.compared.numbers();
    let name = decision.compared.test.name();
    Some(TestView { name, need: numbers.map(|pair| pair.0), have: numbers.map(|pair| pair.1), sentence })
}

fn replica_queue(
    context: &StepContext<'_>,
    replica: &ReplicaSnapshot,
    earlier: &[Decision],
    candidate: Option<RequestId>,
) -> QueueView {
    let policy = context.scenario.queueing(&context.report.trace).policy;
    QueueView {
        at: "replica",
        key: replica.key.name(),
        count: replica.waiting_count,
        rows: context.rows(&replica.waiting, replica.key, |_, id| state_of(earlier, candidate, id)),
        rule: rules::order(&policy),
    }
}

fn gateway_queue(
    context: &StepContext<'_>,
    gateway: &GatewaySnapshot,
    candidate: Option<RequestId>,
) -> QueueView {
    let ready = gateway.waiting.len() - gateway.held_back as usize;
    let policy =
        context.scenario.gateway(gateway.pool_tokens).map(|config| config.queue_policy).unwrap_or_default();
    let state = |place: usize, id: RequestId| match state_of(&[], candidate, id) {
        "" if place >= ready => "held_back",
        state => state,
    };
    QueueView {
        at: "gateway",
        key: gateway.key.name(),
        count: gateway.waiting_count,
        rows: context.rows(&gateway.waiting, gateway.key, state),
        rule: rules::order(&policy),
    }
}

/// The list of S-LoRA's memory test (slora/server/router/req_queue.py, `_can_add_new_req`): by tokens left, descending; when the
/// k-th request is done, the first k hold k times its tokens left and what they hold now. Returns the list and the place of the
/// largest number; none of an empty list.
pub fn sorted_list(mut rows: Vec<PeakRowView>) -> Option<(Vec<PeakRowView>, usize)> {
    rows.sort_by_key(|row| std::cmp::Reverse(row.left));
    let mut held = 0;
    for (row, place) in rows.iter_mut().zip(1..) {
        held += row.used;
        row.tokens = row.left * place + held;
    }
    let need = rows.iter().map(|row| row.tokens).max()?;
    let worst = rows.iter().position(|row| row.tokens == need)?;
    Some((rows, worst))
}

/// A request that would join with a prompt of `input_tokens` and at most `max_tokens` of output, of which the last `uncounted`
/// are not counted.
pub fn joining_row(request: u32, [input_tokens, max_tokens]: [u32; 2], uncounted: u32) -> PeakRowView {
    let (used, left) = (i64::from(input_tokens) + 1, i64::from(max_tokens.saturating_sub(uncounted)));
    PeakRowView { request: Some(request), used, left, tokens: 0, joins: true }
}

/// The sorted list of the memory test, with the requests of earlier decisions of the look and the candidate. One that was
/// blocked is counted, too: S-LoRA's queue that prefers running adapters leaves it in the list and tries others.
fn peak(
    context: &StepContext<'_>,
    replica: &ReplicaSnapshot,
    earlier: &[Decision],
    of: &Decision,
) -> Option<PeakView> {
    let (rows, candidate) = (replica.peak.as_ref()?, of.request()?);
    if of.compared.test != Test::PeakTokens {
        return None;
    }
    let trace = &context.report.trace;
    // LightLLM does not count the last token, which is never written to the cache.
    let uncounted = if context.scheduler == SchedulerKind::Slora { 1 } else { 2 };
    let joins = |id: RequestId| {
        let i = id.index();
        joining_row(id.get(), [trace.input_tokens[i], trace.max_tokens[i]], uncounted)
    };
    let counted = |decision: &&Decision| matches!(decision.verdict, Verdict::Admitted | Verdict::Waits);
    let running = rows.iter().map(|row| PeakRowView {
        request: row.id.map(RequestId::get),
        used: i64::from(row.used),
        left: i64::from(row.left),
        tokens: 0,
        joins: false,
    });
    let joining = earlier.iter().filter(counted).filter_map(Decision::request).chain([candidate]).map(joins);
    let (rows, worst) = sorted_list(running.chain(joining).collect())?;
    let pool_tokens = u64::from(replica.kv.total) * u64::from(replica.kv.block_tokens);
    let limit = of.compared.numbers().map(|numbers| numbers.1);
    Some(PeakView { need: rows[worst].tokens, rows, worst, limit, pool_tokens })
}

fn limits(context: &StepContext<'_>, replica: &ReplicaSnapshot, earlier: &[Decision]) -> LimitsView {
    let config = context.config;
    let admitted = earlier.iter().filter(|decision| decision.verdict == Verdict::Admitted);
    let prompts: u32 = admitted
        .filter_map(Decision::request)
        .map(|id| context.report.trace.input_tokens[id])
        .fold(0, u32::saturating_add);
    let adds_up = matches!(context.scheduler, SchedulerKind::Slora | SchedulerKind::LightLlm);
    let rules = &config.sglang;
    let token_budget = match context.scheduler {
        SchedulerKind::Sglang => rules.chunked_prefill_size.unwrap_or(rules.max_prefill_tokens),
        _ => config.max_batch_tokens,
    };
    LimitsView {
        running: replica.holders.len() as u32,
        most_running: config.max_requests,
        token_budget,
        token_budget_left: adds_up.then(|| config.max_batch_tokens.saturating_sub(prompts)),
        watermark_blocks: if context.scheduler == SchedulerKind::Slora { 0 } else { config.watermark_blocks },
        decode_steps: replica.decode_steps,
        decode_steps_between_prefills: replica.decode_steps.map(|_| config.decode_steps_between_prefills),
        radix: replica.radix.map(|tree| RadixView {
            locked_tokens: tree.locked,
            evictable_tokens: tree.evictable,
            free_tokens: tree.free,
            new_token_ratio: tree.new_token_ratio,
            chunked_request: tree.chunked_request.map(RequestId::get),
        }),
    }
}

fn kv(context: &StepContext<'_>, replica: &ReplicaSnapshot) -> KvView {
    let kv = &replica.kv;
    let holders = replica.holders.iter().map(|holder| HolderView {
        name: context.name(holder.id),
        blocks: holder.blocks,
        tokens: holder.tokens,
        decodes: holder.decodes,
        drafts: holder.drafts,
        verified_drafts: holder.drafts_so_far.verified,
        accepted_drafts: holder.drafts_so_far.accepted,
    });
    KvView {
        total: kv.total,
        used: kv.used,
        adapters: kv.adapters,
        free: kv.free,
        host: kv.host,
        shared: kv.shared,
        copied: kv.copied,
        block_tokens: kv.block_tokens,
        holders: holders.collect(),
    }
}

fn adapters(replica: &ReplicaSnapshot) -> Option<AdaptersView> {
    let own = &replica.adapters;
    if own.resident == 0 && own.slots.is_none() {
        return None;
    }
    let list =
        own.list.iter().map(|resident| AdapterRow { adapter: resident.adapter, users: resident.users });
    Some(AdaptersView { slots: own.slots, used: own.used, resident: own.resident, list: list.collect() })
}

fn counters(context: &StepContext<'_>, state: &StepState) -> Option<CountersView> {
    if let Some(gateway) = &state.gateway {
        let client = context.scenario.gateway(gateway.pool_tokens)?.client;
        return context.counters(&gateway.counters, client);
    }
    let client = context.scenario.queueing(&context.report.trace).client;
    context.counters(&state.replica.as_ref()?.counters, client)
}

fn gateway(gateway: &GatewaySnapshot) -> GatewayView {
    GatewayView {
        waiting_tokens: gateway.waiting_tokens,
        at_engine: gateway.at_engine,
        most_at_engine: (gateway.most_at_engine < u32::MAX).then_some(gateway.most_at_engine),
        reserved_tokens: gateway.reserved_tokens,
        room_tokens: gateway.room_tokens,
        pool_tokens: gateway.pool_tokens,
        load: gateway.load.name(),
    }
}

fn replicas(state: &StepState) -> Vec<StepReplica> {
    let of = |totals: &servescope_engine::steps::ReplicaTotals| StepReplica {
        waiting: totals.waiting,
        running: totals.running,
        used_blocks: totals.used_blocks,
        free_blocks: totals.free_blocks,
    };
    state.totals.iter().map(of).collect()
}
