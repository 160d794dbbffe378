//! Adapter memory: which adapters the batch uses, and which are on the GPU.
//!
//! S-LoRA loads synchronously before a prefill and keeps no cache: whatever the remaining batch does not use is offloaded
//! after a decode step in which something finished, and when the batch empties. A prefill that ends requests offloads
//! nothing.

use servescope_workload::BASE_MODEL;

use super::seen::ResidentAdapter;
use crate::config::adapters::{AdapterConfig, TOKENS_PER_RANK};

/// The adapters on the GPU.
#[derive(Debug, Clone)]
pub struct AdapterPool {
    ranks: Vec<u32>,
    /// Pool tokens that each takes.
    tokens: Vec<u32>,
    /// Requests of the batch (picked ones included) that use each adapter.
    users: Vec<u32>,
    resident: Vec<bool>,
    resident_count: u32,
    resident_tokens: u32,
    used_tokens: u32,
    /// Adapters that requests of the batch use, and most of them.
    used: u32,
    slots: u32,
    /// Resident adapters whose last user left; entries may have become used again since.
    idle: Vec<u32>,
    /// Times an adapter was loaded.
    pub loads: u64,
    /// Times one was offloaded.
    pub evictions: u64,
}

impl AdapterPool {
    /// A pool for `count` adapters with these ranks (0 beyond the list).
    pub fn new(count: usize, ranks: &[u32]) -> Self {
        let mut ranks = ranks.to_vec();
        ranks.resize(count.max(ranks.len()), 0);
        let n = ranks.len();
        Self {
            tokens: tokens_of(&ranks, f64::from(TOKENS_PER_RANK)),
            ranks,
            users: vec![0; n],
            resident: vec![false; n],
            resident_count: 0,
            resident_tokens: 0,
            used_tokens: 0,
            used: 0,
            slots: u32::MAX,
            idle: Vec::new(),
            loads: 0,
            evictions: 0,
        }
    }

    /// With this many pool tokens for a unit of rank, in place of [`TOKENS_PER_RANK`]; an adapter takes whole tokens.
    pub fn with_tokens_per_rank(self, tokens_per_rank: f64) -> Self {
        Self { tokens: tokens_of(&self.ranks, tokens_per_rank), ..self }
    }

    /// For batches that use at most this many adapters.
    pub fn with_slots(self, slots: u32) -> Self {
        Self { slots, ..self }
    }

    /// How many adapters requests of the batch may use at once.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Pool tokens of the distinct adapters of the batch and of one more request with `adapter`, and whether the batch uses that
    /// adapter, or may use one more.
    #[inline]
    pub fn demand_with(&self, adapter: u32) -> (u32, bool) {
        if adapter == BASE_MODEL || self.users[adapter as usize] > 0 {
            (self.used_tokens, true)
        } else {
            (self.used_tokens + self.tokens(adapter), self.used < self.slots)
        }
    }

    /// Rank of an adapter; 0 for the base model.
    pub fn rank(&self, adapter: u32) -> u32 {
        if adapter == BASE_MODEL { 0 } else { self.ranks[adapter as usize] }
    }

    fn tokens(&self, adapter: u32) -> u32 {
        self.tokens[adapter as usize]
    }

    /// Counts one more user of `adapter`.
    pub fn acquire(&mut self, adapter: u32) {
        if adapter == BASE_MODEL {
            return;
        }
        let users = &mut self.users[adapter as usize];
        *users += 1;
        if *users == 1 {
            self.used += 1;
            self.used_tokens += self.tokens(adapter);
        }
    }

    /// Counts one user of `adapter` less.
    pub fn release(&mut self, adapter: u32) {
        if adapter == BASE_MODEL {
            return;
        }
        let users = &mut self.users[adapter as usize];
        *users -= 1;
        if *users == 0 {
            self.used -= 1;
            self.used_tokens -= self.tokens(adapter);
            self.idle.push(adapter);
        }
    }

    /// Makes `adapter` resident and says whether it had to be loaded.
    pub fn load(&mut self, adapter: u32) -> bool {
        if adapter == BASE_MODEL || self.resident[adapter as usize] {
            return false;
        }
        self.resident[adapter as usize] = true;
        self.resident_count += 1;
        self.resident_tokens += self.tokens(adapter);
        self.loads += 1;
        true
    }

    /// Makes `adapter` resident ahead of its use and says whether it had to be loaded. If no request uses it by the next
    /// offloading, it goes again.
    pub fn prefetch(&mut self, adapter: u32) -> bool {
        let loaded = self.load(adapter);
        if loaded && self.users[adapter as usize] == 0 {
            self.idle.push(adapter);
        }
        loaded
    }

    /// Whether `adapter` is on the GPU.
    pub fn is_resident(&self, adapter: u32) -> bool {
        self.resident[adapter as usize]
    }

    /// Offloads every resident adapter without a user, reporting each.
    pub fn offload_unused(&mut self, mut tell: impl FnMut(u32)) {
        while let Some(adapter) = self.idle.pop() {
            let i = adapter as usize;
            if self.users[i] == 0 && self.resident[i] {
                self.resident[i] = false;
                self.resident_count -= 1;
                self.resident_tokens -= self.tokens(adapter);
                self.evictions += 1;
                tell(adapter);
            }
        }
    }

    /// The resident adapters, by their numbers.
    pub(crate) fn resident(&self) -> Vec<ResidentAdapter> {
        let list = (0u32..).zip(&self.resident).zip(&self.users);
        list.filter(|((_, is_resident), _)| **is_resident)
            .map(|((adapter, _), &users)| ResidentAdapter { adapter, users })
            .collect()
    }

    /// Adapters that requests of the batch use.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// Number of resident adapters.
    pub fn resident_count(&self) -> u32 {
        self.resident_count
    }

    /// Pool tokens of the resident adapters.
    pub fn resident_tokens(&self) -> u32 {
        self.resident_tokens
    }
}

/// Pool tokens that adapters of these ranks take.
fn tokens_of(ranks: &[u32], tokens_per_rank: f64) -> Vec<u32> {
    let adapters = AdapterConfig { tokens_per_rank, ..AdapterConfig::FREE };
    ranks.iter().map(|&rank| adapters.pool_tokens(rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_once_an_adapter_and_offloaded_when_unused() {
        let mut pool = AdapterPool::new(3, &[8, 16, 32]);
        assert_eq!(pool.demand_with(1), (64, true));
        pool.acquire(1);
        pool.acquire(1);
        assert!(pool.load(1));
        assert!(!pool.load(1));
        assert_eq!(pool.demand_with(1), (64, true));
        assert_eq!(pool.demand_with(BASE_MODEL), (64, true));
        assert_eq!(pool.demand_with(0), (96, true));
        assert_eq!(pool.clone().with_slots(1).demand_with(0), (96, false));
        assert_eq!(pool.clone().with_slots(1).demand_with(1), (64, true));
        pool.release(1);
        let mut gone = Vec::new();
        pool.offload_unused(|a| gone.push(a));
        assert!(gone.is_empty());
        pool.release(1);
        pool.acquire(1);
        pool.release(1);
        pool.offload_unused(|a| gone.push(a));
        assert_eq!(gone, [1]);
        assert_eq!(
            (pool.resident_count(), pool.resident_tokens(), pool.demand_with(BASE_MODEL)),
            (0, 0, (0, true))
        );
    }
}
