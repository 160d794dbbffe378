//! What ranks report of themselves, and when front ends learn of it (vllm/v1/engine/coordinator.py, `DPCoordinatorProc`).

/// From one message to the front ends to the next, at least, microseconds.
const INTERVAL_US: f64 = 100_000.0;
/// Ranks in lockstep report one after the other: the coordinator waits so long for those of one step, microseconds.
const STEP_US: f64 = 50_000.0;

/// What a rank reports of itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct RankCounts {
    pub(super) running: u32,
    pub(super) waiting: u32,
    /// Share of its KV blocks that is in use.
    pub(super) kv_use: f64,
}

/// The coordinator of a replica's ranks. It is told of each report at its time, and asked for messages up to a time.
#[derive(Debug, Clone)]
pub(super) struct Coordinator {
    counts: Vec<RankCounts>,
    is_lockstep: bool,
    has_changed: bool,
    /// The counts at the last border of a step of ranks in lockstep, where they are to be sent.
    at_step: Option<Vec<RankCounts>>,
    /// The wave and the step of the newest report.
    newest_step: Option<(u32, u32)>,
    last_sent_us: f64,
    last_heard_us: f64,
}

impl Coordinator {
    pub(super) fn new(ranks: usize, is_lockstep: bool) -> Self {
        Self {
            counts: vec![RankCounts::default(); ranks],
            is_lockstep,
            has_changed: false,
            at_step: None,
            newest_step: None,
            last_sent_us: 0.0,
            last_heard_us: 0.0,
        }
    }

    /// A rank reports. Messages from before must have been taken.
    pub(super) fn hear(&mut self, rank: usize, counts: RankCounts, step: Option<(u32, u32)>, now_us: f64) {
        if step > self.newest_step {
            if self.has_changed {
                self.at_step = Some(self.counts.clone());
            }
            self.newest_step = step;
        }
        self.counts[rank] = counts;
        self.has_changed = true;
        self.last_heard_us = now_us;
    }

    /// The next message to the front ends that is sent before a time.
    pub(super) fn send_before(&mut self, now_us: f64) -> Option<Vec<RankCounts>> {
        if !self.has_changed {
            return None;
        }
        let waits_for_step = self.is_lockstep && self.at_step.is_none();
        let least_us = self.last_heard_us + if waits_for_step { STEP_US } else { 0.0 };
        let at_us = least_us.max(self.last_sent_us + INTERVAL_US);
        if at_us >= now_us {
            return None;
        }
        self.last_sent_us = at_us;
        self.last_heard_us = at_us;
        let at_step = self.at_step.take();
        self.has_changed = at_step.is_some();
        Some(at_step.unwrap_or_else(|| self.counts.clone()))
    }
}
