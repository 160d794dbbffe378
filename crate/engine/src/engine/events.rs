//! What ends next, of everything that the replicas work on.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The end of what a replica, or one of its stages, works on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Event {
    pub(super) time_us: f64,
    pub(super) number: u64,
    pub(super) replica: u32,
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
    /// Of one replica with one stage: it works on one thing, whose end replaces the one that was expected before.
    One(Option<Event>),
    Many(BinaryHeap<Event>),
}

impl EventQueue {
    /// Nothing ends; `is_one`: there is one replica, of one stage.
    pub(super) fn new(is_one: bool) -> Self {
        let pending = if is_one { Pending::One(None) } else { Pending::Many(BinaryHeap::new()) };
        Self { pending, count: 0 }
    }

    /// A stage of a replica will be done at a time. Returns the number of the event.
    #[inline]
    pub(super) fn push(&mut self, time_us: f64, replica: usize, stage: usize) -> u64 {
        self.count += 1;
        let event = Event { time_us, number: self.count, replica: replica as u32, stage: stage as u32 };
        match &mut self.pending {
            Pending::One(next) => *next = Some(event),
            Pending::Many(heap) => heap.push(event),
        }
        self.count
    }

    /// The earliest.
    #[inline]
    pub(super) fn peek(&self) -> Option<&Event> {
        match &self.pending {
            Pending::One(next) => next.as_ref(),
            Pending::Many(heap) => heap.peek(),
        }
    }

    /// Takes the earliest out.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        match &mut self.pending {
            Pending::One(next) => next.take(),
            Pending::Many(heap) => heap.pop(),
        }
    }

    /// Takes the ends of one replica out; `each` gets them, in no order.
    pub(super) fn take_replica(&mut self, replica: usize, mut each: impl FnMut(&Event)) {
        let mut stays = |event: &Event| {
            let is_other = event.replica as usize != replica;
            if !is_other {
                each(event);
            }
            is_other
        };
        match &mut self.pending {
            Pending::One(next) => *next = next.filter(&mut stays),
            Pending::Many(heap) => heap.retain(stays),
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
            let (mut one, mut many, mut newest) = (EventQueue::new(true), EventQueue::new(false), 0);
            for act in acts {
                if let Some(time) = act {
                    newest = one.push(f64::from(time), 0, 0);
                    prop_assert_eq!(many.push(f64::from(time), 0, 0), newest);
                } else {
                    while many.peek().is_some_and(|event| event.number != newest) {
                        many.pop();
                    }
                    prop_assert_eq!(one.pop(), many.pop());
                }
            }
        }
    }
}
