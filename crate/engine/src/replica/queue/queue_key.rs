//! What the requests of a queue are sorted by.

use std::cmp::Ordering;

use servescope_workload::RequestId;

use crate::client::ClientId;

/// A place, or whatever waits, and its key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueKey<I = u32> {
    /// Smallest first.
    pub key: f64,
    /// Settles equal keys: smallest first.
    pub id: I,
}

impl<I: Ord> Eq for QueueKey<I> {}

impl<I: Ord> Ord for QueueKey<I> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(self.id.cmp(&other.id))
    }
}

impl<I: Ord> PartialOrd for QueueKey<I> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A request, or a client; of equal keys that of the smaller number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Numbered<I = RequestId> {
    pub(super) number: u32,
    pub(super) id: I,
}

impl QueueKey<Numbered> {
    /// The same for the client of the request.
    pub(super) fn of(self, client: ClientId) -> QueueKey<Numbered<ClientId>> {
        QueueKey { key: self.key, id: Numbered { number: self.id.number, id: client } }
    }
}
