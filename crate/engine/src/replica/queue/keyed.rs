//! A line sorted by a key that a request keeps as long as it waits: the smallest key is served first, equal keys in order
//! of arrival. The head is never overtaken by a request that fits better.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::admission::Admission;

/// A place, or whatever waits, and its key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Keyed<I = u32> {
    /// Smallest first.
    pub key: f64,
    /// Settles equal keys: smallest first.
    pub id: I,
}

impl<I: Ord> Eq for Keyed<I> {}

impl<I: Ord> Ord for Keyed<I> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(self.id.cmp(&other.id))
    }
}

impl<I: Ord> PartialOrd for Keyed<I> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The line: a heap.
pub type Heap = BinaryHeap<Reverse<Keyed>>;

/// Takes a decision over places in the order of arrival, `arrived` being the requests in that order. Cancelled requests leave
/// when they come up.
pub fn decide(waiting: &mut Heap, arrived: &[u32], admission: &mut Admission<'_>) {
    if admission.is_full() {
        return;
    }
    while let Some(&Reverse(Keyed { id: place, .. })) = waiting.peek() {
        let id = arrived[place as usize];
        if !admission.is_cancelled(id) && !admission.admit(id) {
            break;
        }
        waiting.pop();
    }
}
