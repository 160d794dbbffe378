//! LoRA slots as vLLM has them: memory for `max_loras` adapters of the largest rank is set apart when the server starts, and
//! the host keeps `max_cpu_loras`, those in slots counted; what neither has comes from the disk. Both replace the least
//! recently used (vllm/lora/worker_manager.py, vllm/lora/model_manager.py).
//!
//! vLLM marks the adapters of the batch as used in every iteration. So those in use are never replaced, and of the others the
//! one is the least recently used whose last request left first.

use std::collections::BTreeMap;

use super::seen::ResidentAdapter;
use super::{Loaded, Users, entry};
use crate::config::adapters::AdapterConfig;

/// Where the nearest copy of an adapter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SlotPlace {
    #[default]
    Disk,
    Host,
    Slot,
}

/// The slots of one replica and its host.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    max_loras: u32,
    max_cpu_loras: u32,
    pub(super) users: Users,
    /// The adapters that are used, in no order.
    pub(super) in_use: Vec<u32>,
    /// Where each adapter is, and since when no request uses it.
    places: Vec<(SlotPlace, u64)>,
    /// Adapters in slots that no request uses, by when that began; then those that only the host keeps.
    idle: BTreeMap<u64, u32>,
    on_host: BTreeMap<u64, u32>,
    clock: u64,
}

impl Slots {
    pub(super) fn new(config: &AdapterConfig) -> Self {
        Self {
            max_loras: config.max_loras.max(1),
            max_cpu_loras: config.max_cpu_loras.max(config.max_loras),
            users: Users::default(),
            in_use: Vec::new(),
            places: Vec::new(),
            idle: BTreeMap::new(),
            on_host: BTreeMap::new(),
            clock: 0,
        }
    }

    /// How many there are.
    pub(super) fn max_loras(&self) -> u32 {
        self.max_loras
    }

    /// Whether every slot is used.
    pub(super) fn is_full(&self) -> bool {
        self.users.distinct >= self.max_loras
    }

    pub(super) fn admits(&self, adapter: u32) -> bool {
        !self.is_full() || self.users.has(adapter)
    }

    /// The adapters in slots, by their numbers.
    pub(super) fn resident(&self) -> Vec<ResidentAdapter> {
        let all = self.in_use.iter().chain(self.idle.values());
        let of = |&adapter: &u32| ResidentAdapter { adapter, users: self.users.of(adapter) };
        let mut list: Vec<ResidentAdapter> = all.map(of).collect();
        list.sort_unstable_by_key(|resident| resident.adapter);
        list
    }

    /// Adapters in slots.
    pub(super) fn in_memory(&self) -> u32 {
        self.users.distinct + self.idle.len() as u32
    }

    pub(super) fn acquire(&mut self, adapter: u32, rank: u32) -> Loaded {
        debug_assert!(self.admits(adapter), "adapter {adapter} has no slot");
        let (place, since) = *entry(&mut self.places, adapter);
        if !self.users.add(adapter, rank) {
            return Loaded::No;
        }
        self.in_use.push(adapter);
        match place {
            SlotPlace::Slot => {
                self.idle.remove(&since);
                return Loaded::No;
            }
            SlotPlace::Host => {
                self.on_host.remove(&since);
            }
            SlotPlace::Disk => {}
        }
        self.places[adapter as usize].0 = SlotPlace::Slot;
        // It is one of those in use by now.
        let evicted = if self.in_memory() > self.max_loras { self.idle.pop_first() } else { None };
        if let Some((since, other)) = evicted {
            self.places[other as usize].0 = SlotPlace::Host;
            self.on_host.insert(since, other);
        }
        while self.in_memory() + self.on_host.len() as u32 > self.max_cpu_loras {
            let Some((_, other)) = self.on_host.pop_first() else { break };
            self.places[other as usize].0 = SlotPlace::Disk;
        }
        let evicts = evicted.is_some();
        if place == SlotPlace::Host { Loaded::FromHost { evicts } } else { Loaded::FromDisk { evicts } }
    }

    /// Says whether no request uses the adapter any more.
    pub(super) fn release(&mut self, adapter: u32, rank: u32) -> bool {
        let was_last = self.users.remove(adapter, rank);
        if was_last {
            self.in_use.retain(|&other| other != adapter);
            self.clock += 1;
            self.places[adapter as usize].1 = self.clock;
            self.idle.insert(self.clock, adapter);
        }
        was_last
    }

    pub(super) fn audit(&self, holders: &[u32]) -> bool {
        let mut used = holders.to_vec();
        used.sort_unstable();
        let counts_agree = used.chunk_by(|a, b| a == b).all(|of| self.users.of(of[0]) as usize == of.len());
        used.dedup();
        let is = |place: SlotPlace| self.places.iter().filter(|known| known.0 == place).count();
        counts_agree
            && used.len() == self.users.distinct as usize
            && used.len() == self.in_use.len()
            && self.in_use.iter().all(|adapter| used.contains(adapter))
            && self.in_memory() <= self.max_loras
            && is(SlotPlace::Slot) == self.in_memory() as usize
            && is(SlotPlace::Host) == self.on_host.len()
            && is(SlotPlace::Slot) + is(SlotPlace::Host) <= self.max_cpu_loras as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slots(max_loras: u32, max_cpu_loras: u32) -> Slots {
        Slots::new(&AdapterConfig { max_loras, max_cpu_loras, ..AdapterConfig::FREE })
    }

    #[test]
    fn the_least_recently_used_gives_way_first_in_the_slots_then_on_the_host() {
        let mut slots = slots(2, 3);
        let visit = |slots: &mut Slots, adapter| {
            let loaded = slots.acquire(adapter, 8);
            slots.release(adapter, 8);
            loaded
        };
        assert_eq!(visit(&mut slots, 0), Loaded::FromDisk { evicts: false });
        assert_eq!(visit(&mut slots, 1), Loaded::FromDisk { evicts: false });
        assert_eq!(visit(&mut slots, 0), Loaded::No);
        assert_eq!(visit(&mut slots, 2), Loaded::FromDisk { evicts: true });
        // 1 went to the host, which has room for it; 3 drives it out.
        assert_eq!(visit(&mut slots, 1), Loaded::FromHost { evicts: true });
        assert_eq!(visit(&mut slots, 3), Loaded::FromDisk { evicts: true });
        assert_eq!(visit(&mut slots, 0), Loaded::FromDisk { evicts: true });
    }

    #[test]
    fn who_is_in_use_keeps_its_slot() {
        let mut slots = slots(2, 2);
        slots.acquire(5, 8);
        slots.acquire(6, 8);
        slots.acquire(6, 8);
        assert!(slots.is_full() && slots.admits(5) && !slots.admits(7));
        assert!(!slots.release(6, 8));
        assert!(!slots.admits(7));
        assert!(slots.release(6, 8));
        assert!(slots.admits(7));
        assert_eq!(slots.acquire(7, 8), Loaded::FromDisk { evicts: true });
        assert!(slots.audit(&[7, 5]));
    }

    proptest! {
        /// The slots and the host hold what two lists hold that are kept by the last use.
        #[test]
        fn they_are_lists_by_the_last_use(
            max_loras in 1u32..4, more in 0u32..4, visits in prop::collection::vec(0u32..9, 1..60),
        ) {
            let most = [max_loras as usize, (max_loras + more) as usize];
            let mut slots = slots(max_loras, max_loras + more);
            let mut lists = [Vec::new(), Vec::new()];
            for adapter in visits {
                let [in_slots, on_host] = lists.each_ref().map(|list: &Vec<u32>| list.contains(&adapter));
                let loaded = slots.acquire(adapter, 8);
                prop_assert_eq!(loaded == Loaded::No, in_slots);
                prop_assert_eq!(matches!(loaded, Loaded::FromDisk { .. }), !in_slots && !on_host);
                slots.release(adapter, 8);
                for (list, most) in lists.iter_mut().zip(most) {
                    list.retain(|&other| other != adapter);
                    list.push(adapter);
                    if list.len() > most {
                        list.remove(0);
                    }
                }
                prop_assert!(slots.audit(&[]));
            }
        }
    }
}
