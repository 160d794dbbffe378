//! What ends next, of everything that the replicas work on.

use crate::replica_index::ReplicaIndex;
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

/// The ends to come, the earliest first. Where one thing of a replica ends at a time, a new end replaces the one that was expected
/// before.
#[derive(Debug, Clone)]
pub(super) struct EventQueue {
    pending: Pending,
    /// Events made so far.
    count: u64,
}

#[derive(Debug, Clone)]
enum Pending {
    /// Of one replica of which one thing ends at a time: when it is done with that, infinite where it works on nothing.
    One(f64),
    Many(PendingEvents),
}

/// Ends to come, and some that were replaced.
#[derive(Debug, Clone)]
struct PendingEvents {
    heap: BinaryHeap<Event>,
    /// The number of the newest end of each replica; empty where each stage of a replica ends by itself.
    newest: Vec<u64>,
}

impl PendingEvents {
    /// Of so many replicas of which one thing ends at a time; 0: each stage ends by itself.
    fn of(replicas: usize) -> Self {
        Self { heap: BinaryHeap::new(), newest: vec![0; replicas] }
    }

    /// Out of line: one replica has no heap.
    #[inline(never)]
    fn push(&mut self, event: Event) {
        if let Some(newest) = self.newest.get_mut(event.replica.index()) {
            *newest = event.number;
        }
        self.heap.push(event);
    }

    /// The earliest; those before it that were replaced are dropped.
    #[inline(never)]
    fn first(&mut self) -> Option<&Event> {
        while let Some(event) = self.heap.peek() {
            let newest = self.newest.get(event.replica.index());
            if newest.is_none_or(|&newest| newest == event.number) {
                break;
            }
            self.heap.pop();
        }
        self.heap.peek()
    }
}

impl EventQueue {
    /// Nothing ends; `stages_end`: each stage of a replica ends by itself, otherwise one thing of a replica at a time.
    pub(super) fn new(replicas: usize, stages_end: bool) -> Self {
        let pending = match replicas {
            _ if stages_end => Pending::Many(PendingEvents::of(0)),
            1 => Pending::One(f64::INFINITY),
            _ => Pending::Many(PendingEvents::of(replicas)),
        };
        Self { pending, count: 0 }
    }

    /// A stage of a replica will be done at a time.
    #[inline]
    pub(super) fn push(&mut self, time_us: f64, replica: ReplicaIndex, stage: usize) {
        self.count += 1;
        match &mut self.pending {
            Pending::One(next_us) => *next_us = time_us,
            Pending::Many(events) => {
                events.push(Event { time_us, number: self.count, replica, stage: stage as u32 });
            }
        }
    }

    /// The time of the earliest, infinite where there is none.
    #[inline]
    pub(super) fn next_us(&mut self) -> f64 {
        match &mut self.pending {
            Pending::One(next_us) => *next_us,
            Pending::Many(events) => events.first().map_or(f64::INFINITY, |event| event.time_us),
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
            Pending::Many(events) => {
                let is_due = events.first().is_some_and(|event| event.time_us <= now_us);
                if is_due { events.heap.pop() } else { None }
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
            Pending::Many(events) => events.heap.retain(stays),
        }
    }
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
            let mut one = EventQueue::new(1, false);
            let mut many = EventQueue { pending: Pending::Many(PendingEvents::of(1)), count: 0 };
            for act in acts {
                if let Some(time) = act {
                    one.push(f64::from(time), ReplicaIndex::default(), 0);
                    many.push(f64::from(time), ReplicaIndex::default(), 0);
                } else {
                    prop_assert_eq!(one.next_us(), many.next_us());
                    prop_assert_eq!(one.pop_until(60.0), many.pop_until(60.0));
                }
            }
        }
    }
}
