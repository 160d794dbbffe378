//! The decisions of a run, one by one, kept only when asked for: which request was admitted, left waiting, skipped, preempted or
//! rejected, by which test, with the two numbers that the test compared.
//!
//! A decision that comes out as before is not kept again: a request that waits for KV memory, and is looked at in a thousand
//! iterations, has one entry at the first of them, until the reason changes or it is admitted. So the log is as long with
//! fast-forward as without, and equal to it.

pub(crate) mod passes;

use crate::replica_index::{NO_REPLICA, ReplicaIndex};
use servescope_workload::RequestId;

use crate::request::Rejection;
use passes::AdapterLoad;

/// In place of a request or a replica: none.
const NONE_U32: u32 = u32::MAX;
/// In the place of a request where there is none.
const NO_REQUEST: RequestId = RequestId::new(u32::MAX);

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The gateway gave the request to the engine.
    Forwarded,
    /// A router with a rule sent it to the replica.
    Routed,
    /// Its prompt is computed by a prefill replica; the one named decodes.
    Disaggregated,
    /// The decode replica computes its prompt itself.
    Aggregated,
    /// It joins the batch.
    Admitted,
    /// It has its blocks, and a lower tier of the KV cache copies into them what it has; those behind it go on.
    Loads,
    /// It stays where it is, and those behind it with it; without a request: the whole waiting queue does.
    Waits,
    /// It stays where it is, and those behind it go on.
    Skipped,
    /// Its answer has ended, and its session keeps its KV blocks and its place in the batch until further input comes.
    AwaitsInput,
    /// It runs, and some of its drafts do not fit the iteration: they are not verified.
    DraftsDropped,
    /// It joins the batch with as many rows as requests with drafts: the drafts in them are none.
    DraftsPadded,
    /// It leaves the batch; its KV memory is computed again later.
    Preempted,
    /// It leaves the batch; its KV memory is copied to the host.
    SwappedOut,
    /// It joins the batch again; its KV memory is copied back.
    SwappedIn,
    /// It is rejected for good; at the gateway: an attempt of it is.
    Rejected(Rejection),
    /// It waited longer than it may; at the gateway: an attempt of it did.
    TimedOut,
}

impl Verdict {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Routed => "routed",
            Self::Disaggregated => "disaggregated",
            Self::Aggregated => "aggregated",
            Self::Admitted => "admitted",
            Self::Loads => "loads",
            Self::Waits => "waits",
            Self::Skipped => "skipped",
            Self::AwaitsInput => "awaits_input",
            Self::DraftsDropped => "drafts_dropped",
            Self::DraftsPadded => "drafts_padded",
            Self::Preempted => "preempted",
            Self::SwappedOut => "swapped_out",
            Self::SwappedIn => "swapped_in",
            Self::Rejected(_) => "rejected",
            Self::TimedOut => "timed_out",
        }
    }
}

/// The test that decided. It compares what is needed with what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// None with numbers.
    None,
    /// KV blocks of the request and those to be left free, with free blocks; passes up to equality.
    KvBlocks,
    /// KV tokens of the batch at its worst moment, with the pool beside adapters; S-LoRA's and `LightLLM`'s, passes below
    /// equality.
    PeakTokens,
    /// KV tokens that the request may take with its longest output and a page more, with those free or evictable beside what running
    /// requests are expected to need; SGLang's, passes below equality.
    ExpectedTokens,
    /// KV blocks that the request may come to need, with its longest output, with those free that no running request may; `TensorRT-LLM`'s,
    /// passes up to equality.
    UnreservedBlocks,
    /// The first block of the prompt that is not cached is computed for another request of the same decision.
    PrefixUnderWay,
    /// Prompts of a batch, the candidate included, with the most that it may have; SGLang's.
    PromptCount,
    /// Prompt tokens, with those left of the token budget of the iteration.
    TokenBudget,
    /// Running requests, the candidate included, with the cap on them.
    RunningCap,
    /// Adapters of running requests, the candidate's included, with the LoRA slots.
    LoraSlots,
    /// Tokens of the request that are still being computed, with none: it was preempted while they were.
    TokensUnderWay,
    /// A block of the request is being copied to a lower tier of the KV cache, or from it for another request.
    CopyUnderWay,
    /// Tokens of the prompt, or of prompt and longest output, with the bound on them.
    RequestTokens,
    /// Rank of the adapter, with the largest that LoRA slots are made for.
    LoraRank,
    /// Requests in the service, with the bound on them.
    InSystem,
    /// The router: tokens of the prompt, with those of them that it believes to be cached on the replica.
    CachedPrompt,
    /// The rule that sends prompts to prefill replicas: tokens of the prompt that the decode replica has not cached, with those from
    /// which on it does; passes from equality on.
    UncachedPrompt,
    /// The rule that sends prompts to prefill replicas: prompt tokens that wait at the one that was chosen, with those up to which it is
    /// given more.
    PrefillLoad,
    /// The choice of a data-parallel rank: requests of the front end itself that are there, with those that wait or run there as far as
    /// it knows.
    RankRequests,
    /// The gateway: requests a minute of the client.
    RequestsPerMinute,
    /// The gateway: tokens a minute of the client.
    TokensPerMinute,
    /// The gateway: requests at the engine, of the client or of all.
    Concurrency,
    /// The gateway: predicted tokens, with those of the pool that are free and not reserved.
    KvReservation,
    /// The gateway: the service is overloaded, and the client had more than its share.
    FairShare,
}

impl Test {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::KvBlocks => "kv_blocks",
            Self::PeakTokens => "peak_tokens",
            Self::ExpectedTokens => "expected_tokens",
            Self::UnreservedBlocks => "unreserved_blocks",
            Self::PrefixUnderWay => "prefix_under_way",
            Self::PromptCount => "prompt_count",
            Self::TokenBudget => "token_budget",
            Self::RunningCap => "running_cap",
            Self::LoraSlots => "lora_slots",
            Self::TokensUnderWay => "tokens_under_way",
            Self::CopyUnderWay => "copy_under_way",
            Self::RequestTokens => "request_tokens",
            Self::LoraRank => "lora_rank",
            Self::InSystem => "in_system",
            Self::CachedPrompt => "cached_prompt",
            Self::UncachedPrompt => "uncached_prompt",
            Self::PrefillLoad => "prefill_load",
            Self::RankRequests => "rank_requests",
            Self::RequestsPerMinute => "requests_per_minute",
            Self::TokensPerMinute => "tokens_per_minute",
            Self::Concurrency => "concurrency",
            Self::KvReservation => "kv_reservation",
            Self::FairShare => "fair_share",
        }
    }
}

/// What a test compared: what was needed, and what there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compared {
    /// Which test.
    pub test: Test,
    /// What was needed, in the unit of the test.
    pub need: u32,
    /// What there was.
    pub have: u32,
}

impl Compared {
    /// No numbers.
    pub const NOTHING: Self = Self::without_numbers(Test::None);

    /// A test, what it needed and what there was; beyond 32 bits the largest number.
    pub fn new(test: Test, need: impl TryInto<u32>, have: impl TryInto<u32>) -> Self {
        let capped = |number: Result<u32, ()>| number.unwrap_or(u32::MAX);
        Self {
            test,
            need: capped(need.try_into().map_err(drop)),
            have: capped(have.try_into().map_err(drop)),
        }
    }

    /// A test of which the numbers are not kept.
    pub const fn without_numbers(test: Test) -> Self {
        Self { test, need: NONE_U32, have: NONE_U32 }
    }

    /// What was needed and what there was; `None`: the test has no numbers.
    pub fn numbers(&self) -> Option<(u32, u32)> {
        (self.have != NONE_U32 || self.need != NONE_U32).then_some((self.need, self.have))
    }
}

/// One decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// When it was taken for the first time, microseconds.
    pub time_us: f64,
    request: RequestId,
    on_behalf_of: RequestId,
    replica: ReplicaIndex,
    /// What was decided.
    pub verdict: Verdict,
    /// What decided it.
    pub compared: Compared,
}

impl Decision {
    /// A decision of a replica about a request.
    pub(crate) fn of(
        time_us: f64,
        replica: ReplicaIndex,
        request: RequestId,
        verdict: Verdict,
        compared: Compared,
    ) -> Self {
        Self { time_us, request, on_behalf_of: NO_REQUEST, replica, verdict, compared }
    }

    /// A decision before a replica was chosen.
    pub(crate) fn before_router(
        time_us: f64,
        request: RequestId,
        verdict: Verdict,
        compared: Compared,
    ) -> Self {
        Self::of(time_us, NO_REPLICA, request, verdict, compared)
    }

    /// A replica leaves its whole waiting queue as it is.
    pub(crate) fn of_queue(time_us: f64, replica: ReplicaIndex, compared: Compared) -> Self {
        Self::of(time_us, replica, NO_REQUEST, Verdict::Waits, compared)
    }

    /// Taken so that another request gets what it needs.
    pub(crate) fn for_request(self, request: RequestId) -> Self {
        Self { on_behalf_of: request, ..self }
    }

    /// The request; `None`: the decision is about the whole waiting queue.
    pub fn request(&self) -> Option<RequestId> {
        (self.request != NO_REQUEST).then_some(self.request)
    }

    /// The request that needs what this one had.
    pub fn on_behalf_of(&self) -> Option<RequestId> {
        (self.on_behalf_of != NO_REQUEST).then_some(self.on_behalf_of)
    }

    /// The replica; `None`: it was decided before one was chosen.
    pub fn replica(&self) -> Option<ReplicaIndex> {
        (self.replica != NO_REPLICA).then_some(self.replica)
    }

    /// Requests are renamed by `places`.
    pub(crate) fn rename(&mut self, places: &[RequestId]) {
        for id in [&mut self.request, &mut self.on_behalf_of] {
            *id = places.get(id.index()).copied().unwrap_or(*id);
        }
    }

    /// Whether both decide the same of the same request by the same test, whenever and by whatever numbers.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.request == other.request
            && self.verdict == other.verdict
            && self.compared.test == other.compared.test
            && self.on_behalf_of == other.on_behalf_of
    }
}

/// What a router believed of a replica when it sent a request, and how it rated it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatedReplica {
    /// Which one.
    pub replica: ReplicaIndex,
    /// Tokens of the prompt that are cached there.
    pub cached_tokens: u32,
    /// Prompt tokens that are to be computed there before it.
    pub uncached_tokens: u64,
    /// Requests that wait or run there.
    pub requests: u32,
    /// Its score, of which the highest is the best; `None`: a filter left it out.
    pub score: Option<f64>,
}

/// The replicas among which a router chose.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutingChoice {
    /// When, microseconds.
    pub time_us: f64,
    /// For which request.
    pub request: RequestId,
    /// All that it could be sent to, in their order.
    pub replicas: Box<[RatedReplica]>,
}

/// The log; off, it costs a comparison at each decision.
#[derive(Debug, Clone, Default)]
pub(crate) struct DecisionLog(Option<Box<KeptDecisions>>);

#[derive(Debug, Clone, Default)]
struct KeptDecisions {
    decisions: Vec<Decision>,
    /// The test for which each request, and behind the requests each replica's queue, waits or is skipped; `None`: it does not.
    holds: [Vec<Option<(Verdict, Test)>>; 2],
    loads: Vec<AdapterLoad>,
    choices: Vec<RoutingChoice>,
}

impl DecisionLog {
    /// A log that keeps decisions.
    pub(crate) fn on() -> Self {
        Self(Some(Box::default()))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Keeps what the closure makes; it is not called where no log is kept.
    #[inline]
    pub(crate) fn add(&mut self, make: impl FnOnce() -> Decision) {
        if let Some(kept) = &mut self.0 {
            kept.add(make());
        }
    }

    /// The decisions of two logs, in order of time.
    pub(crate) fn merge(&mut self, other: Self) {
        if let (Some(kept), Some(other)) = (&mut self.0, other.0) {
            kept.decisions.extend(other.decisions);
        }
    }

    /// Keeps the replicas among which a router chose.
    pub(crate) fn add_choice(&mut self, choice: RoutingChoice) {
        if let Some(kept) = &mut self.0 {
            kept.choices.push(choice);
        }
    }

    /// The choices of the router, in order of time.
    pub(crate) fn take_choices(&mut self) -> Vec<RoutingChoice> {
        self.0.as_mut().map_or_else(Vec::new, |kept| std::mem::take(&mut kept.choices))
    }

    /// Requests are renamed by `places`.
    pub(crate) fn rename(&mut self, places: &[RequestId]) {
        let Some(kept) = &mut self.0 else { return };
        kept.decisions.iter_mut().for_each(|decision| decision.rename(places));
        for choice in &mut kept.choices {
            choice.request = places.get(choice.request.index()).copied().unwrap_or(choice.request);
        }
    }

    /// The decisions in order of time; at equal times those before the router come first, then replica by replica.
    pub(crate) fn into_decisions(self) -> Option<Box<[Decision]>> {
        let mut decisions = self.0?.decisions;
        decisions.sort_by(|a, b| {
            let place = |decision: &Decision| decision.replica.get().wrapping_add(1);
            a.time_us.total_cmp(&b.time_us).then(place(a).cmp(&place(b)))
        });
        Some(decisions.into_boxed_slice())
    }
}

impl KeptDecisions {
    fn add(&mut self, decision: Decision) {
        let holds = matches!(decision.verdict, Verdict::Waits | Verdict::Skipped);
        let held = holds.then_some((decision.verdict, decision.compared.test));
        let is_of_queue = decision.request == NO_REQUEST;
        let place = if is_of_queue { u32::from(decision.replica.get()) } else { decision.request.get() };
        let before = std::mem::replace(entry(&mut self.holds[usize::from(is_of_queue)], place), held);
        if holds && before == held {
            return;
        }
        if decision.verdict == Verdict::Admitted {
            *entry(&mut self.holds[1], u32::from(decision.replica.get())) = None;
        }
        self.decisions.push(decision);
    }
}

fn entry<T: Clone + Default>(column: &mut Vec<T>, place: u32) -> &mut T {
    let place = place as usize;
    if column.len() <= place {
        column.resize(place + 1, T::default());
    }
    &mut column[place]
}
