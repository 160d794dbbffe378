//! S-LoRA's plain queue (Sheng et al., MLSys 2024; slora/server/router/req_queue.py; LightLLM of 2023 is the same without
//! adapters).
//!
//! Scan in order of arrival, skipping cancelled requests, and admit while the memory test passes and the prompts admitted so
//! far fit `batch_max_tokens`. Stop at the first that does not: no request overtakes it
//! (head-of-line blocking). The scanned entries leave the queue
//! only if a request was admitted.

use std::collections::VecDeque;

use servescope_workload::RequestId;

use super::admission::AdmissionPass;

/// Takes a decision over requests in order of arrival.
#[inline]
pub(super) fn decide(waiting: &mut VecDeque<RequestId>, pass: &mut AdmissionPass<'_>) {
    if pass.is_full() {
        return;
    }
    let mut passed = 0;
    for &id in waiting.iter() {
        if !pass.is_cancelled(id) && !pass.admit(id) {
            break;
        }
        passed += 1;
    }
    if !pass.admitted.is_empty() {
        waiting.drain(..passed);
    }
}
