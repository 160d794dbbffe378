//! First come, first served, of a replica whose LoRA slots are fewer than the adapters of its requests: requests by adapter, so
//! that those whose adapter has no slot are skipped together and not one by one (vllm/v1/core/sched/scheduler.py skips a
//! waiting request whose adapter would exceed `max_loras` and goes on with the one behind it).

use std::collections::{BTreeSet, VecDeque};

use servescope_workload::{BASE_MODEL, RequestId};

/// A waiting request and its place in the queue: smaller is served first.
type Placed = (i32, RequestId);

/// The queue.
#[derive(Debug, Clone, Default)]
pub(super) struct AdapterQueue {
    /// The requests of the base model, then those of each adapter, by place. Requests that have gone away stay until they are
    /// at the head of their list, which always waits.
    lists: Vec<VecDeque<Placed>>,
    /// Place of the head of each list that is not empty, and the list.
    heads: BTreeSet<(i32, u32)>,
    /// The places before the first and behind the last one that was given.
    before: i32,
    behind: i32,
    /// The list whose head is next while others are skipped.
    chosen: Option<u32>,
}

impl AdapterQueue {
    /// Whether no request waits.
    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// All requests in order of their places, gone ones included.
    pub(super) fn in_order(&self) -> Vec<RequestId> {
        let mut all: Vec<Placed> = self.lists.iter().flatten().copied().collect();
        all.sort_unstable();
        all.into_iter().map(|(_, id)| id).collect()
    }

    /// A request waits behind all others.
    pub(super) fn push_back(&mut self, adapter: u32, id: RequestId) {
        let place = self.behind;
        self.behind += 1;
        let list = list_of(&mut self.lists, adapter);
        list.push_back((place, id));
        if list.len() == 1 {
            self.heads.insert((place, list_number(adapter)));
        }
    }

    /// A request waits before all others.
    pub(super) fn push_front(&mut self, adapter: u32, id: RequestId) {
        self.before -= 1;
        let place = self.before;
        let list = list_of(&mut self.lists, adapter);
        if let Some(&(old, _)) = list.front() {
            self.heads.remove(&(old, list_number(adapter)));
        }
        list.push_front((place, id));
        self.heads.insert((place, list_number(adapter)));
    }

    /// The first request, or that which [`Self::skip_to`] chose.
    pub(super) fn head(&self) -> Option<RequestId> {
        let (_, list) = self.head_of_all()?;
        self.lists[list as usize].front().map(|&(_, id)| id)
    }

    /// Takes the head out; those that have gone away leave its list.
    pub(super) fn pop(&mut self, is_gone: impl Fn(RequestId) -> bool) -> Option<RequestId> {
        let (place, number) = self.head_of_all()?;
        self.chosen = None;
        self.heads.remove(&(place, number));
        let (_, id) = self.lists[number as usize].pop_front()?;
        self.enter(number, is_gone);
        Some(id)
    }

    /// From now on the head is the first request of the base model or one of these adapters, until one is taken out or
    /// [`Self::put_back`]. Returns whether there is one.
    pub(super) fn skip_to(&mut self, adapters: impl Iterator<Item = u32>) -> bool {
        let numbers = std::iter::once(0).chain(adapters.map(list_number));
        let first = |number: u32| self.lists.get(number as usize)?.front().map(|&(place, _)| (place, number));
        self.chosen = numbers.filter_map(first).min().map(|(_, number)| number);
        self.chosen.is_some()
    }

    /// Of each adapter the first request that is skipped, in order of their places.
    pub(super) fn skipped(&self) -> impl Iterator<Item = RequestId> + '_ {
        let chosen = self.chosen.and_then(|number| self.lists[number as usize].front());
        let until = chosen.map_or(i32::MAX, |&(place, _)| place);
        let before = self.heads.iter().take_while(move |head| head.0 < until);
        before.filter_map(|&(_, number)| self.lists[number as usize].front().map(|&(_, id)| id))
    }

    /// No request is skipped.
    pub(super) fn put_back(&mut self) {
        self.chosen = None;
    }

    /// A waiting request of this adapter has gone away.
    pub(super) fn forget(&mut self, adapter: u32, is_gone: impl Fn(RequestId) -> bool) {
        let number = list_number(adapter);
        let Some(&(place, _)) = self.lists.get(number as usize).and_then(VecDeque::front) else { return };
        self.heads.remove(&(place, number));
        self.enter(number, is_gone);
    }

    fn head_of_all(&self) -> Option<(i32, u32)> {
        match self.chosen {
            Some(number) => self.lists[number as usize].front().map(|&(place, _)| (place, number)),
            None => self.heads.first().copied(),
        }
    }

    /// A list has another head.
    fn enter(&mut self, number: u32, is_gone: impl Fn(RequestId) -> bool) {
        let list = &mut self.lists[number as usize];
        while list.front().is_some_and(|&(_, id)| is_gone(id)) {
            list.pop_front();
        }
        if let Some(&(place, _)) = list.front() {
            self.heads.insert((place, number));
        }
    }
}

/// The place of an adapter among the lists, of which the first one is the base model's.
pub(super) fn list_number(adapter: u32) -> u32 {
    if adapter == BASE_MODEL { 0 } else { adapter + 1 }
}

fn list_of(lists: &mut Vec<VecDeque<Placed>>, adapter: u32) -> &mut VecDeque<Placed> {
    let number = list_number(adapter) as usize;
    if lists.len() <= number {
        lists.resize_with(number + 1, VecDeque::new);
    }
    &mut lists[number]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[derive(Debug, Clone)]
    enum Act {
        Arrive(u32),
        Preempted(u32),
        GoAway(usize),
        /// Admits this many requests where only these adapters have slots.
        Admit(usize, Vec<u32>),
    }

    fn act() -> impl Strategy<Value = Act> {
        let adapter = || prop_oneof![Just(BASE_MODEL), 0..6_u32];
        prop_oneof![
            4 => adapter().prop_map(Act::Arrive),
            1 => adapter().prop_map(Act::Preempted),
            1 => any::<usize>().prop_map(Act::GoAway),
            2 => (0..4_usize, prop::collection::vec(0..6_u32, 0..3)).prop_map(|(n, slots)| Act::Admit(n, slots)),
        ]
    }

    proptest! {
        /// The same requests in the same order as a list that is scanned from its head.
        #[test]
        fn it_is_a_list_that_is_scanned(acts in prop::collection::vec(act(), 0..200)) {
            let (mut queue, mut list) = (AdapterQueue::default(), VecDeque::<(u32, RequestId)>::new());
            let (mut gone, mut numbers) = (HashSet::new(), RequestId::all());
            for act in acts {
                match act {
                    Act::Arrive(adapter) => {
                        let next = numbers.next().unwrap(); queue.push_back(adapter, next);
                        list.push_back((adapter, next));
                    }
                    Act::Preempted(adapter) => {
                        let next = numbers.next().unwrap(); queue.push_front(adapter, next);
                        list.push_front((adapter, next));
                    }
                    Act::GoAway(which) => {
                        if list.is_empty() {
                            continue;
                        }
                        let (adapter, id) = list.remove(which % list.len()).unwrap();
                        gone.insert(id);
                        queue.forget(adapter, |id| gone.contains(&id));
                    }
                    Act::Admit(count, slots) => {
                        for _ in 0..count {
                            prop_assert_eq!(queue.head(), list.front().map(|own| own.1));
                            let may = |adapter: u32| adapter == BASE_MODEL || slots.contains(&adapter);
                            let place = list.iter().position(|own| may(own.0));
                            prop_assert_eq!(queue.skip_to(slots.iter().copied()), place.is_some());
                            let Some(place) = place else { break };
                            let (_, id) = list.remove(place).unwrap();
                            prop_assert_eq!(queue.head(), Some(id));
                            prop_assert_eq!(queue.pop(|id| gone.contains(&id)), Some(id));
                        }
                        queue.put_back();
                    }
                }
                prop_assert_eq!(queue.is_empty(), list.is_empty());
                prop_assert_eq!(queue.head(), list.front().map(|own| own.1));
                let waiting: Vec<RequestId> = queue.in_order().into_iter().filter(|id| !gone.contains(id)).collect();
                prop_assert_eq!(waiting, list.iter().map(|own| own.1).collect::<Vec<RequestId>>());
            }
        }
    }
}
