//! What the split of a request's time needs beside iterations and decisions: when its own prompt was processed, when it held
//! memory and was in no iteration, and why. Kept only where decisions are.

use crate::replica_index::ReplicaIndex;
use servescope_cost::{Batch, BatchCost, LoraBatch};
use servescope_workload::RequestId;

use crate::request::BlockReason;

/// Iterations, one after the other, that process a part of a request's prompt, or recompute it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrefillPhase {
    /// Which request.
    pub request: RequestId,
    /// When the iteration began, loading of adapters included, microseconds.
    pub start_us: f64,
    /// When it ended.
    pub end_us: f64,
    /// Loading of adapters at its beginning.
    pub load_us: f64,
    /// Tokens of the request that had been processed before.
    pub from_token: u32,
    /// Tokens that are processed.
    pub tokens: u32,
}

/// A request held memory between two of its iterations and was in none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StallPhase {
    /// Which request.
    pub request: RequestId,
    /// End of its iteration before, microseconds.
    pub start_us: f64,
    /// Beginning of its next one.
    pub end_us: f64,
}

/// A running request was left out of an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deferral {
    /// Which request.
    pub request: RequestId,
    /// When the iteration was formed, microseconds.
    pub time_us: f64,
    /// Whether the rule between prefills and decoding left it out; otherwise the token budget was used up.
    pub by_rule: bool,
}

/// What other requests added to an iteration of a replica of several stages in which a request decoded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedIteration {
    /// The request that decoded.
    pub request: RequestId,
    /// When the iteration was formed, microseconds.
    pub start_us: f64,
    /// When it left the last stage.
    pub end_us: f64,
    /// Loading of adapters.
    pub load_us: f64,
    /// Copying of KV blocks from and to the host.
    pub copying_us: f64,
    /// By how much prompts in it made it longer.
    pub prefill_us: f64,
}

/// From a time on, whether a replica's queue that stands for the token budget does so by the rule between prefills and decoding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetRule {
    /// When the queue was scanned, microseconds.
    pub time_us: f64,
    /// Whose queue.
    pub replica: ReplicaIndex,
    /// Whether it is the rule.
    pub by_rule: bool,
}

/// What is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestPhases {
    /// Prompts, in the order in which their iterations ended.
    pub prefills: Vec<PrefillPhase>,
    /// Requests in no iteration.
    pub stalls: Vec<StallPhase>,
    /// Running requests that iterations left out; of several in a row the first.
    pub deferrals: Vec<Deferral>,
    /// Decoding beside prompts, of replicas of several stages.
    pub shared: Vec<SharedIteration>,
    /// Scans that stopped for the token budget, where the answer is another one than before.
    pub budget_rules: Vec<BudgetRule>,
}

/// The log; off, it costs a comparison.
#[derive(Debug, Clone, Default)]
pub(crate) struct PhaseLog(Option<Box<KeptPhases>>);

#[derive(Debug, Clone, Default)]
struct KeptPhases {
    phases: RequestPhases,
    /// Requests that were left out since their last iteration.
    deferred: Vec<bool>,
}

impl PhaseLog {
    /// A log of this many requests.
    pub(crate) fn on(requests: usize) -> Self {
        Self(Some(Box::new(KeptPhases { phases: RequestPhases::default(), deferred: vec![false; requests] })))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A part of a prompt was processed.
    #[inline]
    pub(crate) fn prefill(&mut self, phase: PrefillPhase) {
        if let Some(kept) = &mut self.0 {
            kept.deferred[phase.request] = false;
            kept.phases.prefills.push(phase);
        }
    }

    /// A request that holds memory is in an iteration again.
    #[inline]
    pub(crate) fn stall(&mut self, request: RequestId, start_us: f64, end_us: f64) {
        if let Some(kept) = &mut self.0
            && end_us > start_us
        {
            kept.deferred[request] = false;
            kept.phases.stalls.push(StallPhase { request, start_us, end_us });
        }
    }

    /// A running request is left out of an iteration.
    #[inline]
    pub(crate) fn defer(&mut self, request: RequestId, time_us: f64, by_rule: bool) {
        if let Some(kept) = &mut self.0
            && !std::mem::replace(&mut kept.deferred[request], true)
        {
            kept.phases.deferrals.push(Deferral { request, time_us, by_rule });
        }
    }

    /// What a batch of several stages held beside requests that decoded.
    pub(crate) fn share(&mut self, members: &[RequestId], iteration: SharedIteration) {
        if let Some(kept) = &mut self.0 {
            kept.phases
                .shared
                .extend(members.iter().map(|&request| SharedIteration { request, ..iteration }));
        }
    }

    /// A queue was scanned and stopped for `stop`, while prompts were deferred by the rule or not.
    pub(crate) fn scanned(
        &mut self,
        replica: ReplicaIndex,
        time_us: f64,
        stop: Option<BlockReason>,
        by_rule: bool,
    ) {
        let Some(kept) = &mut self.0 else { return };
        if stop != Some(BlockReason::PromptBudget) {
            return;
        }
        let rules = &mut kept.phases.budget_rules;
        let before = rules.iter().rev().find(|rule| rule.replica == replica);
        if before.is_some_and(|rule| rule.by_rule) != by_rule {
            rules.push(BudgetRule { time_us, replica, by_rule });
        }
    }

    /// Requests are renamed by `places`.
    pub(crate) fn rename(&mut self, places: &[RequestId]) {
        let Some(kept) = &mut self.0 else { return };
        let RequestPhases { prefills, stalls, deferrals, shared, .. } = &mut kept.phases;
        let ids = prefills.iter_mut().map(|phase| &mut phase.request);
        let ids = ids.chain(stalls.iter_mut().map(|phase| &mut phase.request));
        let ids = ids.chain(deferrals.iter_mut().map(|phase| &mut phase.request));
        for id in ids.chain(shared.iter_mut().map(|phase| &mut phase.request)) {
            *id = places[*id];
        }
    }

    /// What was kept.
    pub(crate) fn into_phases(self) -> Option<Box<RequestPhases>> {
        self.0.map(|kept| Box::new(kept.phases))
    }
}

/// How long all stages work on an iteration, microseconds.
pub(crate) fn all_stages_us(cost: &dyn BatchCost, batch: &Batch<'_>) -> f64 {
    let before_last = cost.stages().max(1) - 1;
    let inner_us = if before_last > 0 { cost.stage_time(batch, false).first_us } else { 0.0 };
    f64::from(before_last) * inner_us + cost.stage_time(batch, true).first_us
}

/// By how much the prompts of an iteration make it longer for the requests that decode in it, microseconds. Of the adapters the
/// requests that decode are taken to have their share by requests and by tokens.
pub(crate) fn prefill_in_iteration_us(cost: &dyn BatchCost, batch: &Batch<'_>) -> f64 {
    if batch.chunks.is_empty() || batch.decodes == 0 {
        return 0.0;
    }
    let decodes = u64::from(batch.decodes);
    let of_requests = |total: u64| total * decodes / u64::from(batch.requests());
    let of_tokens = |total: u64| total * decodes / (decodes + u64::from(batch.prompt_tokens()));
    let lora = LoraBatch {
        tokens: of_tokens(u64::from(batch.lora.tokens)) as u32,
        token_ranks: of_tokens(batch.lora.token_ranks),
        ..batch.lora
    };
    let alone = Batch { chunks: &[], rank_sum: of_requests(batch.rank_sum), lora, ..*batch };
    (all_stages_us(cost, batch) - all_stages_us(cost, &alone)).max(0.0)
}
