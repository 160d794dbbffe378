//! First come, first served: S-LoRA's plain queue (Sheng et al., MLSys 2024; LightLLM of 2023 is the same without
//! adapters).
//!
//! Scan in order of arrival, skipping cancelled requests, and pick while the memory test passes and the prompts picked so
//! far fit `batch_max_tokens`. Stop at the first that does not: nobody overtakes. The scanned entries leave the line only if
//! somebody was picked.

use std::collections::VecDeque;

use super::admission::Admission;

/// Takes a decision over a line in order of arrival.
#[inline]
pub fn decide(waiting: &mut VecDeque<u32>, admission: &mut Admission<'_>) {
    if admission.is_full() {
        return;
    }
    let mut passed = 0;
    for &id in waiting.iter() {
        if !admission.is_cancelled(id) && !admission.admit(id) {
            break;
        }
        passed += 1;
    }
    if !admission.picked.is_empty() {
        waiting.drain(..passed);
    }
}
