//! S-LoRA's first-come-first-served queue (Sheng et al., MLSys 2024; LightLLM of 2023 is the same without adapters).
//!
//! Scan in queue order, skipping cancelled requests, and pick while the memory test passes and the prompts picked so far
//! fit `batch_max_tokens`. Stop at the first that does not: nobody overtakes.

use super::memory::{Entry, MemoryEstimate};
use crate::adapters::AdapterPool;
use crate::config::SchedulerConfig;
use crate::observer::{Event, Observer};

/// One waiting request as the queue sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Request id.
    pub id: u32,
    /// Prompt length, tokens.
    pub input_tokens: u32,
    /// Bound on its output, tokens.
    pub max_tokens: u32,
    /// Adapter index or `BASE_MODEL`.
    pub adapter: u32,
    /// Whether its client went away.
    pub cancelled: bool,
}

impl Candidate {
    /// Its coordinates as a candidate at decode step `step`: (input + 1, max_tokens - 1).
    pub fn entry(&self, step: u64) -> Entry {
        Entry::new(step, self.input_tokens + 1, self.max_tokens - 1)
    }
}

/// Why a decision stopped at a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The batch would need more KV and adapter memory than there is.
    Memory,
    /// The prompts picked before it leave no room in `batch_max_tokens`.
    PromptBudget,
    /// The batch has `max_running_requests` requests.
    RunningCap,
}

/// The outcome of an admission decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// How many entries leave the head of the queue: the picked ones and the cancelled ones passed over; 0 when nothing
    /// was picked.
    pub leaving: usize,
    /// Why the scan stopped before the end of the queue.
    pub stop: Option<Stop>,
    /// When nothing was picked although somebody waits: the first decode step at which a decision can pick somebody, if
    /// nobody leaves the batch or the line; `u64::MAX` = never.
    pub retry_step: u64,
}

/// One admission decision at decode step `step`.
///
/// Picked requests are added to `memory` and `adapters`, and their ids to `picked`.
pub fn decide(
    config: &SchedulerConfig,
    step: u64,
    queue: impl Iterator<Item = Candidate>,
    memory: &mut MemoryEstimate,
    adapters: &mut AdapterPool,
    picked: &mut Vec<u32>,
    observer: &mut impl Observer,
) -> Decision {
    picked.clear();
    let cap = config.max_running_requests as usize;
    if memory.len() >= cap {
        return Decision { leaving: 0, stop: Some(Stop::RunningCap), retry_step: u64::MAX };
    }
    let mut passed = 0;
    let mut batch_tokens = 0u64;
    let mut stop = None;
    let mut retry_step = 0;
    for candidate in queue {
        if !candidate.cancelled {
            let entry = candidate.entry(step);
            let adapter_tokens = adapters.tokens_with(candidate.adapter);
            let limit = i64::from(config.max_total_tokens) - i64::from(adapter_tokens);
            let room = memory.len() < cap;
            let fits = room && memory.fits(entry, limit);
            observer.see(|| Event::Check {
                id: candidate.id,
                need_tokens: memory.need_with(entry),
                adapter_tokens,
                requests: memory.len() + 1,
                fits,
            });
            let tokens = batch_tokens + u64::from(candidate.input_tokens);
            if !fits || tokens > u64::from(config.batch_max_tokens) {
                stop = Some(match (room, fits) {
                    (false, _) => Stop::RunningCap,
                    (true, false) => Stop::Memory,
                    (true, true) => Stop::PromptBudget,
                });
                retry_step = match stop {
                    Some(Stop::Memory) if picked.is_empty() => {
                        let (used, left) = (candidate.input_tokens + 1, candidate.max_tokens - 1);
                        memory.first_fit(step, used, left, limit).unwrap_or(u64::MAX)
                    }
                    _ => u64::MAX,
                };
                break;
            }
            batch_tokens = tokens;
            memory.insert(entry);
            adapters.acquire(candidate.adapter);
            picked.push(candidate.id);
        }
        passed += 1;
    }
    Decision { leaving: if picked.is_empty() { 0 } else { passed }, stop, retry_step }
}
