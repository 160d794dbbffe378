//! Requests sorted by a key that a request keeps as long as it waits: the smallest key is served first, equal keys in order
//! of arrival.

use crate::client::ClientId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::adapter_lists::AdapterLists;
use super::fcfs;
use super::queue_key::{Numbered, QueueKey};

/// The waiting requests of one client.
#[derive(Debug, Clone)]
pub(super) enum Sorted {
    /// First come, first served: the key is the number.
    Fifo(VecDeque<Numbered>),
    /// By key.
    Heap(BinaryHeap<Reverse<QueueKey<Numbered>>>),
    /// First come, first served, by adapter.
    ByAdapter(AdapterLists),
}

impl Sorted {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Fifo(list) => list.is_empty(),
            Self::Heap(heap) => heap.is_empty(),
            Self::ByAdapter(lists) => lists.is_empty(),
        }
    }

    /// Takes all requests out; `each` gets the lists of adapters that they were in.
    pub(super) fn clear(&mut self, each: impl FnMut(u32)) {
        match self {
            Self::Fifo(list) => list.clear(),
            Self::Heap(heap) => heap.clear(),
            Self::ByAdapter(lists) => lists.clear(each),
        }
    }

    /// The next request.
    pub(super) fn peek(&self) -> Option<QueueKey<Numbered>> {
        match self {
            Self::Fifo(list) => list.front().map(|&id| by_number(id)),
            Self::Heap(heap) => heap.peek().map(|entry| entry.0),
            Self::ByAdapter(lists) => lists.peek().map(by_number),
        }
    }

    /// Takes the next request out. Returns the list of its adapter, if there is one that is empty now.
    pub(super) fn pop(&mut self) -> Option<u32> {
        match self {
            Self::Fifo(list) => {
                list.pop_front();
            }
            Self::Heap(heap) => {
                heap.pop();
            }
            Self::ByAdapter(lists) => return lists.pop(),
        }
        None
    }

    /// A request waits, in the list of its adapter where there are such; of those served first come, first served the last one.
    pub(super) fn push(&mut self, entry: QueueKey<Numbered>, list: u32) {
        match self {
            Self::Fifo(own) => own.push_back(entry.id),
            Self::Heap(heap) => heap.push(Reverse(entry)),
            Self::ByAdapter(lists) => lists.push(list, entry.id),
        }
    }

    /// Number of the last request that came, where they are kept by adapter.
    pub(super) fn last(&self) -> Option<u32> {
        if let Self::ByAdapter(lists) = self { lists.last() } else { None }
    }

    /// The requests by adapter, where they are kept so.
    pub(super) fn by_adapter(&mut self) -> Option<&mut AdapterLists> {
        if let Self::ByAdapter(lists) = self { Some(lists) } else { None }
    }

    /// The requests, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = QueueKey<Numbered>> + '_ {
        let (list, heap, lists) = match self {
            Self::Fifo(list) => (Some(list), None, None),
            Self::Heap(heap) => (None, Some(heap), None),
            Self::ByAdapter(lists) => (None, None, Some(lists)),
        };
        let list = list.into_iter().flatten().copied().chain(lists.into_iter().flat_map(AdapterLists::iter));
        list.map(by_number).chain(heap.into_iter().flatten().map(|entry| entry.0))
    }
}

fn by_number(id: Numbered) -> QueueKey<Numbered> {
    QueueKey { key: fcfs::key(id.number), id }
}

/// Clients that wait, by the keys of their next requests.
#[derive(Debug, Clone, Default)]
pub(super) struct QueueHeads {
    /// Clients under the key of a request; those whose next request has another key are stale.
    entries: BinaryHeap<Reverse<QueueKey<Numbered<ClientId>>>>,
}

impl QueueHeads {
    /// The next request of a client is this one.
    pub(super) fn enter(&mut self, client: ClientId, head: QueueKey<Numbered>) {
        self.entries.push(Reverse(head.of(client)));
    }

    /// The client whose next request comes first; `head` is the next request of a client that may be served.
    pub(super) fn first(
        &mut self,
        head: impl Fn(ClientId) -> Option<QueueKey<Numbered>>,
    ) -> Option<ClientId> {
        while let Some(&Reverse(top)) = self.entries.peek() {
            if head(top.id.id).is_some_and(|head| head.of(top.id.id) == top) {
                return Some(top.id.id);
            }
            self.entries.pop();
        }
        None
    }

    /// Drops stale entries where they are more than the others of `clients` that wait.
    pub(super) fn compact(&mut self, clients: u32, head: impl Fn(ClientId) -> Option<QueueKey<Numbered>>) {
        if self.entries.len() > 2 * clients as usize + 64 {
            let mut entries = std::mem::take(&mut self.entries).into_vec();
            entries.retain(|&Reverse(of)| head(of.id.id).is_some_and(|head| head.of(of.id.id) == of));
            entries.sort_unstable();
            entries.dedup();
            self.entries = entries.into();
        }
    }
}
