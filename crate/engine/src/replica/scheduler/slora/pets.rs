//! PetS batching (Zhou et al., ATC 2022, as S-LoRA implements it): when more than 10 requests wait, group them so that
//! padded prefills cost least, and take the group with the shortest prompts.
//!
//! Two dynamic programmes over prefill times: the requests of each adapter, sorted by prompt length, are cut into mini
//! batches by what the adapter adds; the mini batches of all adapters, sorted by longest prompt, are cut into batches by
//! the time of the base model. Both are quadratic, so only the oldest [`WINDOW`] requests are planned.
//!
//! In S-LoRA, requests whose client went away are planned too and leave only with an admission, so a batch of nothing else
//! blocks the queue. Unless S-LoRA's own blocking is selected, they leave before.

use std::collections::VecDeque;

use servescope_workload::RequestId;

use super::admission::AdmissionPass;

/// Requests that may wait before any plan is made.
const PLAIN: usize = 10;

/// Requests that are planned at most.
pub(super) const WINDOW: usize = 256;

/// Takes a decision over requests in order of arrival.
pub(super) fn decide(waiting: &mut VecDeque<RequestId>, pass: &mut AdmissionPass<'_>) {
    if pass.is_full() {
        return;
    }
    if !pass.limits.keeps_cancelled {
        waiting.retain(|&id| !pass.is_cancelled(id));
    }
    if waiting.len() <= PLAIN {
        return super::fcfs::decide(waiting, pass);
    }
    let candidates = plan(waiting, pass);
    let mut leaving: Vec<RequestId> = Vec::new();
    for &id in &candidates {
        if !pass.is_cancelled(id) && !pass.admit(id) {
            break;
        }
        leaving.push(id);
    }
    if !pass.admitted.is_empty() {
        waiting.retain(|id| !leaving.contains(id));
    }
}

/// The batch that is due: requests in the order in which they are tried.
fn plan(waiting: &VecDeque<RequestId>, pass: &AdmissionPass<'_>) -> Vec<RequestId> {
    let trace = pass.trace;
    let length = |id: RequestId| trace.input_tokens[id];
    // Requests by adapter, adapters in the order in which they first occur.
    let mut groups: Vec<(u32, Vec<RequestId>)> = Vec::new();
    for &id in waiting.iter().take(WINDOW) {
        let adapter = trace.adapter[id];
        match groups.iter_mut().find(|g| g.0 == adapter) {
            Some((_, ids)) => ids.push(id),
            None => groups.push((adapter, vec![id])),
        }
    }
    let mut mini_batches: Vec<Vec<RequestId>> = Vec::new();
    for (adapter, mut ids) in groups {
        ids.sort_by_key(|&id| length(id));
        let rank = trace.rank_of(adapter);
        let cost = |first: usize, last: usize| {
            let requests = (last - first + 1) as u32;
            if rank == 0 { 0.0 } else { (pass.latency.adapter_us)(rank, requests, length(ids[last])) }
        };
        let cuts = cheapest_cuts(ids.len(), cost);
        mini_batches.extend(cuts.into_iter().map(|range| ids[range].to_vec()));
    }
    let longest = |mini: &[RequestId]| mini.last().map_or(0, |&id| length(id));
    mini_batches.sort_by_key(|mini| longest(mini));
    let mut until = Vec::with_capacity(mini_batches.len() + 1);
    until.push(0u32);
    for mini in &mini_batches {
        until.push(until[until.len() - 1] + mini.len() as u32);
    }
    let cost = |first: usize, last: usize| {
        (pass.latency.base_us)(until[last + 1] - until[first], longest(&mini_batches[last]))
    };
    let batches = cheapest_cuts(mini_batches.len(), cost);
    // Cuts come from the back, so the last holds the shortest prompts.
    batches.last().map_or_else(Vec::new, |range| mini_batches[range.clone()].concat())
}

/// Cuts items 0..n into consecutive ranges of the least total cost, the earliest start winning ties; ranges from the back.
fn cheapest_cuts(n: usize, cost: impl Fn(usize, usize) -> f64) -> Vec<std::ops::Range<usize>> {
    let mut best = vec![0.0];
    let mut start = Vec::with_capacity(n);
    for last in 0..n {
        let (mut least, mut from) = (f64::INFINITY, 0);
        for (first, &before) in best.iter().enumerate() {
            let total = before + cost(first, last);
            if total < least {
                (least, from) = (total, first);
            }
        }
        best.push(least);
        start.push(from);
    }
    let mut ranges = Vec::new();
    let mut end = n;
    while end > 0 {
        ranges.push(start[end - 1]..end);
        end = start[end - 1];
    }
    ranges
}
