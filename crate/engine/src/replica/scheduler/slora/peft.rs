//! One adapter at a time (`peft` of S-LoRA, which stands for serving with merged weights): the batch has the adapter of
//! the head of the queue, or of the requests that run, and admits waiting requests of that adapter in order of arrival.
//!
//! If more than 30 requests of other adapters stand before the first that matches, none is admitted, so that the batch
//! drains and the others get their turn. In S-LoRA, requests whose client went away never leave the queue: if one
//! comes to its head and nothing else asks for its adapter, none is served any more. Unless S-LoRA's own blocking is
//! wanted, they leave when they are passed.

use std::collections::VecDeque;

use servescope_workload::RequestId;

use super::admission::AdmissionPass;

/// Requests of other adapters that may stand before the first that matches.
const MOST_OTHERS: usize = 30;

/// The adapter of the batch.
#[derive(Debug, Clone, Default)]
pub(super) struct Peft {
    /// The adapter of the batch and how many of its requests run.
    running: Option<(u32, u32)>,
}

impl Peft {
    /// A request with `adapter` joined the batch.
    pub(super) fn joined(&mut self, adapter: u32) {
        let count = self.running.map_or(0, |(_, count)| count);
        self.running = Some((adapter, count + 1));
    }

    /// A request left the batch.
    pub(super) fn left(&mut self) {
        self.running = self.running.filter(|r| r.1 > 1).map(|(adapter, count)| (adapter, count - 1));
    }

    /// Takes a decision over requests in the order of arrival.
    pub(super) fn decide(&mut self, waiting: &mut VecDeque<RequestId>, pass: &mut AdmissionPass<'_>) {
        if !pass.limits.keeps_cancelled {
            while waiting.front().is_some_and(|&id| pass.is_cancelled(id)) {
                waiting.pop_front();
            }
        }
        if pass.is_full() {
            return;
        }
        pass.mark_stable();
        let adapter_of = |id: RequestId| pass.trace.adapter[id];
        let Some(adapter) = self.running.map(|r| r.0).or_else(|| waiting.front().map(|&id| adapter_of(id)))
        else {
            return;
        };
        let mut window = waiting.iter().take(MOST_OTHERS + 1);
        if waiting.len() > MOST_OTHERS && window.all(|&id| adapter_of(id) != adapter) {
            return;
        }
        let mut scanned = 0;
        let mut kept = Vec::new();
        for &id in waiting.iter() {
            if adapter_of(id) != adapter || (pass.limits.keeps_cancelled && pass.is_cancelled(id)) {
                kept.push(id);
            } else if !pass.is_cancelled(id) && !pass.admit(id) {
                break;
            }
            scanned += 1;
        }
        waiting.drain(..scanned);
        for id in kept.into_iter().rev() {
            waiting.push_front(id);
        }
    }
}
