//! What ends next, of everything that the replicas work on.

use crate::replica::index::ReplicaIndex;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The end of what a replica, or one of its stages, works on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Event {
    pub(super) time_us: f64,
    pub(super) number: u64,
    pub(super) replica: ReplicaIndex,
    pub(super) stage: u32,
}

impl Eq for Event {}

/// The earliest is the greatest; at equal times the lower replica's, of one replica the one that was made first.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |event: &Self| (event.replica, event.number);
        other.time_us.total_cmp(&self.time_us).then(key(other).cmp(&key(self)))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The ends to come, the earliest first.
#[derive(Debug, Clone)]
pub(super) struct EventQueue {
    pending: Pending,
    /// Events made so far.
    count: u64,
}

#[derive(Debug, Clone)]
enum Pending {
    /// Of one replica with one stage: when it is done with what it works on, infinite where it works on nothing. A new end replaces
    /// the one that was expected before.
    One(f64),
    Many(BinaryHeap<Event>),
}

impl EventQueue {
    /// Nothing ends; `is_one`: there is one replica, of one stage.
    pub(super) fn new(is_one: bool) -> Self {
        let pending = if is_one { Pending::One(f64::INFINITY) } else { Pending::Many(BinaryHeap::new()) };
        Self { pending, count: 0 }
    }

    /// A stage of a replica will be done at a time. Returns the number of the event.
    #[inline]
    pub(super) fn push(&mut self, time_us: f64, replica: ReplicaIndex, stage: usize) -> u64 {
        self.count += 1;
        match &mut self.pending {
            Pending::One(next_us) => *next_us = time_us,
            Pending::Many(heap) => {
                let (number, replica, stage) = (self.count, replica, stage as u32);
                push(heap, Event { time_us, number, replica, stage });
            }
        }
        self.count
    }

    /// The time of the earliest that is not stale, infinite where there is none. Stale ones before it are dropped; of one replica
    /// with one stage none is.
    #[inline]
    pub(super) fn next_us(&mut self, is_stale: impl Fn(&Event) -> bool) -> f64 {
        match &mut self.pending {
            Pending::One(next_us) => *next_us,
            Pending::Many(heap) => {
                while let Some(event) = heap.peek() {
                    if !is_stale(event) {
                        return event.time_us;
                    }
                    heap.pop();
                }
                f64::INFINITY
            }
        }
    }

    /// Takes the earliest out if it is due by a time, which is finite.
    #[inline]
    pub(super) fn pop_until(&mut self, now_us: f64) -> Option<Event> {
        match &mut self.pending {
            Pending::One(next_us) if *next_us <= now_us => {
                let time_us = std::mem::replace(next_us, f64::INFINITY);
                Some(Event { time_us, number: self.count, replica: ReplicaIndex::new(0), stage: 0 })
            }
            Pending::One(_) => None,
            Pending::Many(heap) => {
                let is_due = heap.peek().is_some_and(|event| event.time_us <= now_us);
                if is_due { heap.pop() } else { None }
            }
        }
    }

    /// Takes the ends of one replica out; `each` gets them, in no order.
    pub(super) fn take_replica(&mut self, replica: ReplicaIndex, mut each: impl FnMut(&Event)) {
        let mut stays = |event: &Event| {
            let is_other = event.replica != replica;
            if !is_other {
                each(event);
            }
            is_other
        };
        match &mut self.pending {
            Pending::One(next_us) => {
                let event =
                    Event { time_us: *next_us, number: self.count, replica: ReplicaIndex::new(0), stage: 0 };
                if *next_us < f64::INFINITY && !stays(&event) {
                    *next_us = f64::INFINITY;
                }
            }
            Pending::Many(heap) => heap.retain(stays),
        }
    }
}

/// Out of line: one replica has no heap.
#[inline(never)]
fn push(heap: &mut BinaryHeap<Event>, event: Event) {
    heap.push(event);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_replica_needs_the_newest_event_only(
            acts in prop::collection::vec(prop_oneof![(0u32..50).prop_map(Some), Just(None)], 0..60),
        ) {
            let (mut one, mut many, mut newest) = (EventQueue::new(true), EventQueue::new(false), 0);
            for act in acts {
                if let Some(time) = act {
                    newest = one.push(f64::from(time), ReplicaIndex::default(), 0);
                    prop_assert_eq!(many.push(f64::from(time), ReplicaIndex::default(), 0), newest);
                } else {
                    let next_us = many.next_us(|event| event.number != newest);
                    prop_assert_eq!(one.next_us(|_| false), next_us);
                    prop_assert_eq!(one.pop_until(60.0), many.pop_until(60.0));
                }
            }
        }
    }
}
