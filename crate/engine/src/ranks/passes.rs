//! Forward passes that all ranks of a replica run together (vllm/v1/engine/core.py, `DPEngineCoreProc.run_busy_loop`).
//!
//! The experts are spread over the ranks, so that none can run a layer alone: a pass lasts as long as the slowest rank, and a
//! rank without a batch runs a dummy one. A wave of passes begins with a request at any rank. At its first pass and at every
//! so many further ones the ranks ask each other whether any has work; if none has, the wave ends.

use crate::config::ranks::{Lockstep, Rearranging};

/// After so many passes without a batch the requests that wait can never be scheduled: vLLM would run dummy batches without end, here
/// the ranks are idle until another request comes.
const MOST_EMPTY: u32 = 10_000;

/// The passes of one replica.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct Passes {
    sync_interval: u32,
    /// Passes of this wave that are over.
    steps: u32,
    /// Waves that are over.
    waves: u32,
    /// Passes in a row in which no rank had a batch.
    empty: u32,
    rearranging: Option<Rearranging>,
    /// Passes since the experts were rearranged last.
    since_rearranged: u32,
    /// Whether they were.
    pub(crate) are_balanced: bool,
    /// Whether a wave is under way.
    pub(crate) is_running: bool,
    /// Whether a pass is under way.
    pub(crate) is_under_way: bool,
    /// Whether the batches of the next pass have been formed.
    pub(crate) is_formed_ahead: bool,
    /// Of each rank, where the record has its newest dummy batches.
    pub(crate) dummies_at: Vec<Option<usize>>,
}

impl Passes {
    pub(crate) fn new(lockstep: Lockstep, ranks: usize) -> Self {
        let interval = lockstep.rearranging.map_or(0, |own| own.step_interval.get());
        Self {
            sync_interval: lockstep.sync_interval.max(1),
            rearranging: lockstep.rearranging,
            since_rearranged: interval - interval / 4,
            are_balanced: false,
            steps: 0,
            waves: 0,
            empty: 0,
            is_running: false,
            is_under_way: false,
            is_formed_ahead: false,
            dummies_at: vec![None; ranks],
        }
    }

    /// The wave and the step of the pass that comes or is under way.
    pub(crate) fn step(&self) -> (u32, u32) {
        (self.waves, self.steps)
    }

    /// A pass runs; says how long it waits for weights of experts where they are rearranged with it, microseconds.
    pub(crate) fn rearranges(&mut self) -> Option<f64> {
        let own = self.rearranging?;
        self.since_rearranged += 1;
        (self.since_rearranged >= own.step_interval.get()).then(|| {
            self.since_rearranged = 0;
            self.are_balanced = true;
            own.pause_us.into()
        })
    }

    /// A pass is over; `any_batch`: whether a rank had one, `any_unfinished`: whether a rank has requests that it knows of, `any_formed`:
    /// whether one has formed its next batch, with a request that has just ended it may be. The wave may end with it.
    pub(crate) fn end_pass(&mut self, any_batch: bool, any_unfinished: bool, any_formed: bool) {
        self.is_under_way = false;
        self.steps += 1;
        self.empty = if any_batch { 0 } else { self.empty + 1 };
        let asks = self.steps == 1 || self.steps.is_multiple_of(self.sync_interval);
        if asks && (!any_unfinished || self.empty >= MOST_EMPTY) {
            (self.is_running, self.is_formed_ahead) = (false, any_formed);
            self.waves += 1;
            self.steps = 0;
        }
    }
}
