//! What happens next at the replicas: one heap of typed events.
//!
//! At equal times autoscalers read their metrics and decide first, then the number of replicas changes and replicas fail, then replicas are ready, then work ends: the lower replica's first, of one
//! replica what was expected first. What clients do comes before all of them (`Fleet::next_given_us`).

use crate::replica_index::ReplicaIndex;
use servescope_workload::RequestId;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// An autoscaler reads the metrics of its pool.
    Scrape(u16),
    /// An autoscaler decides how many replicas its pool is to have.
    ScalingDecision(u16),
    /// A pool is to have another number of replicas.
    CountChanges {
        /// Which one.
        pool: u16,
        /// From now on.
        replicas: u32,
    },
    /// A replica of a pool fails.
    ReplicaFails(u16),
    /// A replica has started.
    ReplicaReady(ReplicaIndex),
    /// What a replica works on ends, or it looks again for something to do.
    WorkEnds(ReplicaIndex),
    /// A copy from or to a lower tier of a replica's KV cache ends, for which a batch waits, or of which the replica learns as it
    /// stands still.
    CopyEnds(ReplicaIndex),
    /// A copy from one replica to another ends, or begins to share its links.
    TransfersChange,
    /// A request whose prompt was computed elsewhere comes to the replica that decodes.
    DecodeLegArrives {
        /// Which one.
        replica: ReplicaIndex,
        /// Which request.
        request: RequestId,
    },
    /// The input of a session ends behind a request that was its last chunk.
    SessionEnds(RequestId),
    /// A forward pass ends that all ranks of a replica run together; the first of them.
    PassEnds(ReplicaIndex),
    /// A pipeline stage is done with its batch.
    StageEnds {
        /// Whose stage.
        replica: ReplicaIndex,
        /// Which one.
        stage: u32,
    },
}

impl Event {
    /// Its place among what happens at one time: by kind, then by replica.
    fn rank(self) -> (u8, u16) {
        match self {
            Self::Scrape(pool) => (0, pool),
            Self::ScalingDecision(pool) => (1, pool),
            Self::CountChanges { pool, .. } | Self::ReplicaFails(pool) => (2, pool),
            // A batch that is taken at this time reports the copy.
            Self::TransfersChange | Self::SessionEnds(_) => (3, 0),
            Self::ReplicaReady(replica)
            | Self::CopyEnds(replica)
            | Self::DecodeLegArrives { replica, .. } => (3, replica.get()),
            Self::WorkEnds(replica) | Self::PassEnds(replica) | Self::StageEnds { replica, .. } => {
                (4, replica.get())
            }
        }
    }
}

/// An event with its time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Due {
    time_us: f64,
    /// How many events were made before it.
    number: u64,
    event: Event,
}

impl Eq for Due {}

/// The earliest is the greatest, as a heap gives the greatest.
impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |due: &Self| (due.event.rank(), due.number);
        other.time_us.total_cmp(&self.time_us).then_with(|| key(other).cmp(&key(self)))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The events to come.
#[derive(Debug, Clone, Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Due>,
    count: u64,
    /// The number of the newest [`Event::WorkEnds`] of each replica: it replaces those that were expected before.
    newest: Vec<u64>,
}

impl EventQueue {
    /// Something will happen at a time. The end of a replica's work replaces the one that was expected before.
    pub(super) fn push(&mut self, time_us: f64, event: Event) {
        self.count += 1;
        if let Event::WorkEnds(replica) = event {
            if self.newest.len() <= replica.index() {
                self.newest.resize(replica.index() + 1, 0);
            }
            self.newest[replica] = self.count;
        }
        self.heap.push(Due { time_us, number: self.count, event });
    }

    /// The time of the earliest, infinite where there is none.
    pub(super) fn next_us(&mut self) -> f64 {
        self.drop_replaced();
        self.heap.peek().map_or(f64::INFINITY, |due| due.time_us)
    }

    /// Takes the earliest out if it is due by a time.
    pub(super) fn pop_until(&mut self, now_us: f64) -> Option<Event> {
        self.drop_replaced();
        let is_due = self.heap.peek().is_some_and(|due| due.time_us <= now_us);
        if is_due { self.heap.pop().map(|due| due.event) } else { None }
    }

    /// Whether any replica has something under way.
    pub(super) fn has_work(&mut self) -> bool {
        self.drop_replaced();
        let is_work = |due: &Due| match due.event {
            Event::Scrape(_)
            | Event::ScalingDecision(_)
            | Event::CountChanges { .. }
            | Event::ReplicaFails(_)
            | Event::ReplicaReady(_) => false,
            Event::WorkEnds(replica) => self.newest[replica] == due.number,
            Event::CopyEnds(_)
            | Event::TransfersChange
            | Event::DecodeLegArrives { .. }
            | Event::SessionEnds(_)
            | Event::PassEnds(_)
            | Event::StageEnds { .. } => true,
        };
        self.heap.iter().any(is_work)
    }

    /// Whether nothing is to come.
    pub(super) fn is_empty(&mut self) -> bool {
        self.drop_replaced();
        self.heap.is_empty()
    }

    /// Drops ends at the front that were replaced.
    fn drop_replaced(&mut self) {
        while let Some(Due { event: Event::WorkEnds(replica), number, .. }) = self.heap.peek() {
            if self.newest[*replica] == *number {
                break;
            }
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_time_kind_replica_and_number() {
        let mut events = EventQueue::default();
        let [first, second] = [0, 1].map(ReplicaIndex::new);
        let stage = |replica, stage| Event::StageEnds { replica, stage };
        events.push(5.0, stage(second, 1));
        events.push(5.0, stage(second, 0));
        events.push(5.0, stage(first, 2));
        events.push(5.0, Event::ReplicaReady(second));
        events.push(5.0, Event::CountChanges { pool: 0, replicas: 3 });
        events.push(5.0, Event::ScalingDecision(1));
        events.push(5.0, Event::Scrape(1));
        events.push(4.0, stage(second, 3));
        assert_eq!(events.pop_until(3.0), None);
        let order: Vec<Event> = std::iter::from_fn(|| events.pop_until(5.0)).collect();
        let expected = [
            stage(second, 3),
            Event::Scrape(1),
            Event::ScalingDecision(1),
            Event::CountChanges { pool: 0, replicas: 3 },
            Event::ReplicaReady(second),
            stage(first, 2),
            stage(second, 1),
            stage(second, 0),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_new_end_replaces_the_one_expected_before() {
        let mut events = EventQueue::default();
        let replica = ReplicaIndex::new(2);
        events.push(3.0, Event::WorkEnds(replica));
        events.push(7.0, Event::WorkEnds(replica));
        events.push(5.0, Event::WorkEnds(replica));
        assert_eq!(events.next_us(), 5.0);
        assert!(events.has_work());
        events.push(20.0, Event::Scrape(0));
        assert_eq!(events.pop_until(9.0), Some(Event::WorkEnds(replica)));
        assert!(!events.has_work() && !events.is_empty());
        assert_eq!(events.pop_until(20.0), Some(Event::Scrape(0)));
        assert!(events.is_empty());
        assert_eq!(events.next_us(), f64::INFINITY);
    }
}
