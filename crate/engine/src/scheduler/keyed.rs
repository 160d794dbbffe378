//! A line sorted by a key that a request keeps as long as it waits: the smallest key is served first, equal keys in order
//! of arrival. The head is never overtaken by a request that fits better.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::admission::Admission;
use crate::observer::Observer;

/// A request and its key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Keyed {
    /// Smallest first.
    pub key: f64,
    /// The request.
    pub id: u32,
}

impl Eq for Keyed {}

impl Ord for Keyed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The line: a heap.
pub type Heap = BinaryHeap<Reverse<Keyed>>;

/// Takes a decision. Cancelled requests leave when they come up.
pub fn decide(waiting: &mut Heap, admission: &mut Admission<'_, impl Observer>) {
    if admission.is_full() {
        return;
    }
    while let Some(&Reverse(Keyed { id, .. })) = waiting.peek() {
        if !admission.is_cancelled(id) && !admission.admit(id) {
            break;
        }
        waiting.pop();
    }
}
