//! The waiting requests of clients under a fair policy, of a replica whose LoRA slots are fewer than the adapters of its
//! requests: those of each client by adapter, and of each adapter the clients by their counters. So those whose adapter has no
//! slot are skipped together and not one by one.

use crate::client::ClientId;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use super::queue_key::{Numbered, QueueKey};
use super::service_counters::ServiceCounters;

/// The waiting requests of one client, first come, first served. Lists are identified by numbers, the base model has one, too.
#[derive(Debug, Clone, Default)]
pub(super) struct AdapterLists {
    /// Those that are not empty.
    lists: BTreeMap<u32, VecDeque<Numbered>>,
    /// Number of the first request of each, and the list.
    heads: BTreeSet<(u32, u32)>,
    /// The list whose first request is next while others are skipped.
    chosen: Option<u32>,
}

impl AdapterLists {
    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Takes all out; `each` gets the lists that they were in.
    pub(super) fn clear(&mut self, each: impl FnMut(u32)) {
        std::mem::take(self).lists.into_keys().for_each(each);
    }

    /// The lists in which a request waits.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.lists.keys().copied()
    }

    /// A request waits behind all others of its client.
    pub(super) fn push(&mut self, list: u32, id: Numbered) {
        let own = self.lists.entry(list).or_default();
        own.push_back(id);
        if own.len() == 1 {
            self.heads.insert((id.number, list));
        }
    }

    /// The next request: the first one, or that of the chosen list.
    pub(super) fn peek(&self) -> Option<Numbered> {
        self.lists.get(&self.next_list()?)?.front().copied()
    }

    fn next_list(&self) -> Option<u32> {
        self.chosen.or_else(|| self.heads.first().map(|head| head.1))
    }

    /// Takes the next request out. Returns its list if no other request is in it.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let number = self.next_list()?;
        self.chosen = None;
        let list = self.lists.get_mut(&number)?;
        let id = list.pop_front()?;
        self.heads.remove(&(id.number, number));
        if let Some(next) = list.front() {
            self.heads.insert((next.number, number));
            return None;
        }
        self.lists.remove(&number);
        Some(number)
    }

    /// From now on the next request is the first one of these lists, until it is taken out or [`Self::put_back`]; says whether
    /// there is one.
    pub(super) fn choose(&mut self, among: impl Iterator<Item = u32>) -> bool {
        let first = |list: u32| Some((self.lists.get(&list)?.front()?.number, list));
        self.chosen = among.filter_map(first).min().map(|(_, list)| list);
        self.chosen.is_some()
    }

    /// No request is skipped.
    pub(super) fn put_back(&mut self) {
        self.chosen = None;
    }

    /// Number of the last request that came.
    pub(super) fn last(&self) -> Option<u32> {
        self.lists.values().filter_map(|list| list.back()).map(|id| id.number).max()
    }

    /// All requests, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Numbered> + '_ {
        self.lists.values().flatten().copied()
    }
}

/// Of each adapter the clients of which requests wait, least counter first. It stands beside the ranking of all clients, as
/// [`LeastCounter`](super::vtc::LeastCounter) does.
#[derive(Debug, Clone, Default)]
pub(super) struct ClientsByAdapter {
    /// By list.
    lists: Vec<ClientsOfAdapter>,
}

/// The clients of which requests wait for one adapter.
#[derive(Debug, Clone, Default)]
struct ClientsOfAdapter {
    /// (counter, place among clients in the order of their first requests, client). An entry may lag behind its counter, never be
    /// ahead of it; those whose key is not that of the client are stale.
    entries: BinaryHeap<Reverse<QueueKey<Numbered<ClientId>>>>,
    keys: BTreeMap<ClientId, f64>,
}

impl ClientsByAdapter {
    /// Sees to it that a client, of which a request of this list waits, has an entry there that is not ahead of its counter.
    pub(super) fn enter(&mut self, list: u32, client: Numbered<ClientId>, counter: f64) {
        let place = list as usize;
        if self.lists.len() <= place {
            self.lists.resize_with(place + 1, ClientsOfAdapter::default);
        }
        let ClientsOfAdapter { entries, keys } = &mut self.lists[place];
        let own = keys.entry(client.id).or_insert(f64::INFINITY);
        if counter < *own {
            *own = counter;
            entries.push(Reverse(QueueKey { key: counter, id: client }));
        }
    }

    /// No request of a client and this list waits any more.
    pub(super) fn leave(&mut self, list: u32, client: ClientId) {
        if let Some(of_adapter) = self.lists.get_mut(list as usize) {
            of_adapter.keys.remove(&client);
        }
    }

    /// The client with the least counter of which a request of this list waits, with that counter.
    pub(super) fn first(
        &mut self,
        list: u32,
        counters: &mut ServiceCounters,
    ) -> Option<QueueKey<Numbered<ClientId>>> {
        let ClientsOfAdapter { entries, keys } = self.lists.get_mut(list as usize)?;
        while let Some(mut top) = entries.peek_mut() {
            let entry = top.0;
            let Some(key) = keys.get_mut(&entry.id.id).filter(|key| **key == entry.key) else {
                PeekMut::pop(top);
                continue;
            };
            let counter = counters.value(entry.id.id);
            if counter <= entry.key {
                return Some(entry);
            }
            // Counters grow while their entries keep the old key.
            *key = counter;
            top.0.key = counter;
        }
        None
    }
}
