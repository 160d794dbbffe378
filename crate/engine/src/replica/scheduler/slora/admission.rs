//! One admission decision under way (generate_new_batch and _can_add_new_req of slora/server/router/req_queue.py): the memory
//! test and the prompt budget, which all of S-LoRA's queues share.

use servescope_workload::{RequestId, Trace};

use crate::record::decisions::{Compared, Test};
use crate::record::observer::{RouterEvent, Watch};
use crate::replica::adapters::pool::AdapterPool;
use crate::replica::peak_memory::{KvFootprint, PeakKvEstimator};
use crate::request::{BlockReason, Outcome, RequestResult};

/// The limits of a server that its queue knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// KV and adapter pool, tokens.
    pub pool_tokens: u32,
    /// Most prompt tokens in one prefill (S-LoRA: `batch_max_tokens`).
    pub batch_max_tokens: u32,
    /// Most requests in the batch (S-LoRA: `running_max_req_size`).
    pub max_running_requests: u32,
    /// Whether PEFT and PETS keep cancelled requests in their queue, as in S-LoRA, where these stay in it.
    pub keeps_cancelled: bool,
}

/// Times of a prefill, for policies that plan with them. Microseconds.
#[derive(Clone, Copy)]
pub struct Latency<'a> {
    /// A number of prompts of a length on the base model.
    pub base_us: &'a dyn Fn(u32, u32) -> f64,
    /// What adapters of a rank add to a number of prompts of a length.
    pub adapter_us: &'a dyn Fn(u32, u32, u32) -> f64,
}

/// One decision: what a scheduling policy sees, and what it may do. Admitted requests are added to the memory estimate, to
/// the users of their adapters and to `admitted`.
pub struct AdmissionPass<'a> {
    /// The server's limits.
    pub limits: Limits,
    /// Decode iterations so far.
    pub step: u64,
    /// The clock, microseconds.
    pub now_us: f64,
    /// The requests.
    pub trace: &'a Trace,
    /// What has become of them.
    pub results: &'a [RequestResult],
    /// The batch in the coordinates of the memory test.
    pub memory: &'a mut PeakKvEstimator,
    /// Which adapters the batch uses.
    pub adapters: &'a mut AdapterPool,
    /// Requests that join the batch, in the order of admission.
    pub admitted: &'a mut Vec<RequestId>,
    /// Prefill times.
    pub latency: Latency<'a>,
    /// The observer.
    pub watch: &'a mut Watch,
    result: AdmissionResult,
    decisions: Option<Vec<CandidateDecision>>,
}

/// What a decision came to for one request, and what its test compared; without a request: for the whole queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CandidateDecision {
    /// The candidate.
    pub id: Option<RequestId>,
    /// Whether it joins the batch.
    pub is_admitted: bool,
    /// The test that decided.
    pub compared: Compared,
}

/// What a decision came to, besides the admitted requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdmissionResult {
    /// Prompt tokens admitted so far.
    batch_tokens: u64,
    /// Why the scan stopped before the end of the queue.
    pub stop: Option<BlockReason>,
    /// When no request was admitted: the first decode step at which a decision can admit one or change anything, if none
    /// leaves the batch and none arrives; `u64::MAX` = never.
    pub next_admissible_step: u64,
}

impl<'a> AdmissionPass<'a> {
    /// A decision at decode step `step` and time `now_us`.
    #[expect(clippy::too_many_arguments, reason = "the parts of the engine that a decision borrows")]
    #[inline]
    pub fn new(
        limits: Limits,
        step: u64,
        now_us: f64,
        trace: &'a Trace,
        results: &'a [RequestResult],
        memory: &'a mut PeakKvEstimator,
        adapters: &'a mut AdapterPool,
        admitted: &'a mut Vec<RequestId>,
        latency: Latency<'a>,
        watch: &'a mut Watch,
    ) -> Self {
        admitted.clear();
        let result = AdmissionResult::default();
        let decisions = None;
        Self {
            limits,
            step,
            now_us,
            trace,
            results,
            memory,
            adapters,
            admitted,
            latency,
            watch,
            result,
            decisions,
        }
    }

    /// Keeps what is decided of each candidate.
    pub fn recording(mut self) -> Self {
        self.decisions = Some(Vec::new());
        self
    }

    /// What was decided, where that is kept.
    pub fn take_decisions(&mut self) -> Option<Vec<CandidateDecision>> {
        self.decisions.take()
    }

    /// What the decision came to.
    pub fn result(&self) -> AdmissionResult {
        self.result
    }

    /// Whether the batch is at its largest already: then no queue is looked at.
    pub fn is_full(&mut self) -> bool {
        let full = self.memory.len() >= self.limits.max_running_requests as usize;
        if full {
            let full = CandidateDecision { id: None, is_admitted: false, compared: self.compared_cap() };
            self.decisions.iter_mut().for_each(|decisions| decisions.push(full));
            self.result = AdmissionResult {
                batch_tokens: 0,
                stop: Some(BlockReason::RunningCap),
                next_admissible_step: u64::MAX,
            };
        }
        full
    }

    /// Whether the client of a waiting request went away, or the request waited longer than it may.
    pub fn is_cancelled(&self, id: RequestId) -> bool {
        self.results[id].outcome != Outcome::Unfinished
    }

    /// Admits a request if memory, the cap and the prompt budget allow it, and says whether they do.
    pub fn admit(&mut self, id: RequestId) -> bool {
        let i = id.index();
        let (input, max_tokens, adapter) =
            (self.trace.input_tokens[i], self.trace.max_tokens[i], self.trace.adapter[i]);
        let entry = Self::entry(self.step, input, max_tokens);
        let (adapter_tokens, has_slot) = self.adapters.demand_with(adapter);
        let limit = i64::from(self.limits.pool_tokens) - i64::from(adapter_tokens);
        let room = self.memory.len() < self.limits.max_running_requests as usize;
        let fits = room && has_slot && self.memory.fits(entry, limit);
        let compared = self
            .decisions
            .is_some()
            .then(|| Compared::new(Test::PeakTokens, self.memory.need_with(entry), limit.max(0)));
        let (memory, watch) = (&*self.memory, &mut *self.watch);
        watch.emit(|| RouterEvent::Check {
            id,
            need_tokens: memory.need_with(entry),
            adapter_tokens,
            requests: memory.len() + 1,
            fits,
        });
        let tokens = self.result.batch_tokens + u64::from(input);
        if fits && tokens <= u64::from(self.limits.batch_max_tokens) {
            self.result.batch_tokens = tokens;
            self.memory.insert(entry);
            self.adapters.acquire(adapter);
            self.admitted.push(id);
            self.tell(id, None, compared);
            return true;
        }
        let stop = match (room, fits) {
            (false, _) => BlockReason::RunningCap,
            _ if !has_slot => BlockReason::LoraSlots,
            (true, false) => BlockReason::Memory,
            (true, true) => BlockReason::PromptBudget,
        };
        let compared = match stop {
            BlockReason::PromptBudget => {
                Some(Compared::new(Test::TokenBudget, tokens, self.limits.batch_max_tokens))
            }
            _ => compared,
        };
        self.tell(id, Some(stop), compared);
        self.result.stop = Some(stop);
        self.result.next_admissible_step = if stop == BlockReason::Memory && self.admitted.is_empty() {
            self.memory.next_admissible_step(self.step, input + 1, max_tokens - 1, limit).unwrap_or(u64::MAX)
        } else {
            u64::MAX
        };
        false
    }

    /// Keeps what was decided of a candidate.
    fn tell(&mut self, id: RequestId, stop: Option<BlockReason>, compared: Option<Compared>) {
        let Some(compared) = compared else { return };
        let decision = match stop {
            Some(BlockReason::RunningCap) => {
                CandidateDecision { id: None, is_admitted: false, compared: self.compared_cap() }
            }
            Some(BlockReason::LoraSlots) => {
                let slots = self.adapters.slots();
                let compared = Compared::new(Test::LoraSlots, u64::from(slots) + 1, slots);
                CandidateDecision { id: Some(id), is_admitted: false, compared }
            }
            _ => CandidateDecision { id: Some(id), is_admitted: stop.is_none(), compared },
        };
        self.decisions.iter_mut().for_each(|all| all.push(decision));
    }

    fn compared_cap(&self) -> Compared {
        Compared::new(Test::RunningCap, self.memory.len() + 1, self.limits.max_running_requests)
    }

    /// A candidate in the coordinates of the memory test: (input + 1, max_tokens - 1).
    pub fn entry(step: u64, input_tokens: u32, max_tokens: u32) -> KvFootprint {
        KvFootprint::new(step, input_tokens + 1, max_tokens - 1)
    }

    /// Asks to be called again at this decode step at the latest, even if no request leaves or arrives.
    pub fn reschedule_no_later_than(&mut self, step: u64) {
        self.result.next_admissible_step = self.result.next_admissible_step.min(step);
    }

    /// Says that looking at an empty queue, or at one of which no request is left, changed nothing and will not.
    pub fn mark_stable(&mut self) {
        self.result.next_admissible_step = u64::MAX;
    }
}
