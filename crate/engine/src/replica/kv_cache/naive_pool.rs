//! The pool block by block, as vllm/v1/core/block_pool.py keeps it: every block, every request's table for each group, the queue of free
//! blocks. The KV cache, which counts what it can, has to find and free the same.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use servescope_workload::trace::{PrefixBlocks, Request, TraceMetadata};
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use super::{Held, KvCache};
use crate::block_numbers::BlockNumbers;
use crate::config::kv_groups::{BlockGroup, KvGroup, KvGroups, KvGroupsOfKind, common_multiple};
use crate::config::{PoolConfig, SchedulerKind};

const SIZE: u32 = 4;
const POOL: u32 = 70;
/// Tokens of a request, and blocks of it that the trace names.
const TOKENS: u32 = 60;
const NAMED: u32 = 9;

/// What a block of a group holds: a name of the trace, or a request's own block.
type Contents = (usize, Option<u64>, RequestId, u32);

struct NaivePool {
    groups: Vec<BlockGroup>,
    /// Users and contents of each block.
    blocks: Vec<(u32, Option<Contents>)>,
    free: VecDeque<usize>,
    cached: BTreeMap<Contents, Vec<usize>>,
    /// Blocks of each request, by group; `None`: given back.
    tables: Vec<Vec<Vec<Option<usize>>>>,
    /// How many blocks of each request and group were looked at for the cache.
    seen: Vec<Vec<usize>>,
    names: Vec<Vec<u64>>,
}

impl NaivePool {
    fn new(groups: &[BlockGroup], names: &[Vec<u64>]) -> Self {
        Self {
            groups: groups.to_vec(),
            blocks: vec![(0, None); POOL as usize],
            free: (0..POOL as usize).collect(),
            cached: BTreeMap::new(),
            tables: vec![vec![Vec::new(); groups.len()]; names.len()],
            seen: vec![vec![0; groups.len()]; names.len()],
            names: names.to_vec(),
        }
    }

    fn contents(&self, group: usize, id: RequestId, index: usize) -> Contents {
        // A block is named by the last name in it, which tells those before it.
        let ratio = (self.groups[group].block_tokens / SIZE) as usize;
        match self.names[id.index()].get((index + 1) * ratio - 1) {
            Some(&name) => (group, Some(name), RequestId::default(), 0),
            None => (group, None, id, index as u32),
        }
    }

    fn find(&self, group: usize, id: RequestId, index: usize) -> Option<usize> {
        self.cached.get(&self.contents(group, id, index)).map(|blocks| blocks[0])
    }

    /// Blocks that a group looks at whose next token is that after `tokens`, whole blocks of it.
    fn needed(group: BlockGroup, tokens: usize) -> std::ops::Range<usize> {
        let (size, count) = (group.block_tokens as usize, tokens / group.block_tokens as usize);
        let window = match group.kind {
            KvGroup::SlidingWindow(window) => (window as usize - 1).div_ceil(size),
            _ => count,
        };
        count.saturating_sub(window)..count
    }

    fn longest_hit(&self, id: RequestId, most: usize) -> usize {
        let has_all = |count: usize| {
            let mut groups = self.groups.iter().enumerate();
            groups.all(|(group, &kind)| {
                Self::needed(kind, count * SIZE as usize).all(|index| self.find(group, id, index).is_some())
            })
        };
        let whole = common_multiple(self.groups.iter().map(|group| group.block_tokens / SIZE)) as usize;
        (0..=most).rev().filter(|count| count % whole == 0).find(|&count| has_all(count)).unwrap_or(0)
    }

    fn admit(&mut self, id: RequestId, count: usize) {
        for group in 0..self.groups.len() {
            let needed = Self::needed(self.groups[group], count * SIZE as usize);
            let mut table = vec![None; needed.start];
            for index in needed {
                let block = self.find(group, id, index).expect("a hit");
                if self.blocks[block].0 == 0 {
                    self.free.retain(|&other| other != block);
                }
                self.blocks[block].0 += 1;
                table.push(Some(block));
            }
            self.tables[id.index()][group] = table;
            self.seen[id.index()][group] = count * SIZE as usize / self.groups[group].block_tokens as usize;
        }
    }

    fn take(&mut self, id: RequestId, tokens: u32) {
        for group in 0..self.groups.len() {
            while self.tables[id.index()][group].len()
                < tokens.div_ceil(self.groups[group].block_tokens) as usize
            {
                let block = self.free.pop_front().expect("a free block");
                if let Some(contents) = self.blocks[block].1.take() {
                    let list = self.cached.get_mut(&contents).expect("it is cached");
                    list.retain(|&other| other != block);
                    if list.is_empty() {
                        self.cached.remove(&contents);
                    }
                }
                self.blocks[block].0 = 1;
                self.tables[id.index()][group].push(Some(block));
            }
        }
    }

    fn cache(&mut self, id: RequestId, tokens: u32) {
        for group in 0..self.groups.len() {
            let full = (tokens / self.groups[group].block_tokens) as usize;
            for index in self.seen[id.index()][group]..full {
                let contents = self.contents(group, id, index);
                let block = self.tables[id.index()][group][index].expect("it is held");
                self.blocks[block].1 = Some(contents);
                self.cached.entry(contents).or_default().push(block);
            }
            self.seen[id.index()][group] = full.max(self.seen[id.index()][group]);
        }
    }

    fn free(&mut self, blocks: impl Iterator<Item = usize>) {
        let mut plain = Vec::new();
        for block in blocks {
            self.blocks[block].0 -= 1;
            match self.blocks[block] {
                (0, None) => plain.push(block),
                (0, Some(_)) => self.free.push_back(block),
                _ => {}
            }
        }
        plain.into_iter().rev().for_each(|block| self.free.push_front(block));
    }

    fn skip(&mut self, id: RequestId, processed: u32) {
        for group in 0..self.groups.len() {
            let BlockGroup { kind: KvGroup::SlidingWindow(window), block_tokens } = self.groups[group] else {
                continue;
            };
            let until = ((processed + 1).saturating_sub(window) / block_tokens) as usize;
            let table = &mut self.tables[id.index()][group];
            let until = until.min(table.len());
            let gone: Vec<usize> = table[..until].iter_mut().rev().filter_map(Option::take).collect();
            self.free(gone.into_iter());
        }
    }

    fn release(&mut self, id: RequestId) {
        for group in 0..self.groups.len() {
            let table = std::mem::take(&mut self.tables[id.index()][group]);
            self.free(table.into_iter().rev().flatten());
            self.seen[id.index()][group] = 0;
        }
    }
}

fn trace(names: &[Vec<u64>]) -> Trace {
    let mut trace = Trace::default();
    let mut prefix = PrefixBlocks::new(SIZE);
    for names in names {
        prefix.push(names.iter().copied());
        trace.push(Request {
            arrival_us: 0.0,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: NAMED * SIZE,
            output_tokens: TOKENS - NAMED * SIZE,
            max_tokens: TOKENS - NAMED * SIZE,
        });
    }
    trace.metadata = Some(Box::new(TraceMetadata { prefix, ..TraceMetadata::default() }));
    trace
}

/// Names of the first blocks of each request: as many as it shares with the first one, then its own.
fn any_names() -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(0..=NAMED, 2..5).prop_map(|shared| {
        let of = |(request, shared): (usize, u32)| {
            let own = (request as u64 + 1) * 100;
            (0..NAMED).map(|index| u64::from(index) + if index < shared { 0 } else { own }).collect()
        };
        shared.into_iter().enumerate().map(of).collect()
    })
}

fn any_groups() -> impl Strategy<Value = Vec<KvGroupsOfKind>> {
    let group = prop_oneof![Just(KvGroup::Full), (2u32..30).prop_map(KvGroup::SlidingWindow)];
    let ratio = prop_oneof![3 => Just(1u32), 1 => Just(2), 1 => Just(3)];
    let of_kind = (group, ratio).prop_map(|(kind, ratio)| KvGroupsOfKind { kind, count: 1, ratio });
    prop::collection::vec(of_kind, 1..4)
}

proptest! {
    #[test]
    fn hits_and_free_blocks_are_those_of_the_pool_block_by_block(
        groups in any_groups(), names in any_names(),
        steps in prop::collection::vec((0usize..4, 1u32..14, 0u32..10, 0u32..3), 1..120),
    ) {
        let kv_groups = KvGroups::new(&groups).expect("three groups at most");
        let config = PoolConfig {
            scheduler: SchedulerKind::VllmV1, prefix_cache: true, blocks: POOL, block_size: SIZE, kv_groups,
            ..PoolConfig::default()
        };
        let facts = config.scheduler.rules().facts(&config);
        let (trace, groups): (Trace, Vec<BlockGroup>) = (trace(&names), kv_groups.groups(SIZE).collect());
        let numbers = |group: &BlockGroup| Arc::new(BlockNumbers::of_kv_blocks(&trace, group.block_tokens));
        let numbers: Vec<Arc<BlockNumbers>> = groups.iter().map(numbers).collect();
        let mut cache = KvCache::new(&config, &numbers, 1 + facts.batches_ahead);
        let mut naive = NaivePool::new(&groups, &names);
        // What each request holds and how many of its tokens are computed; `None`: it waits.
        let mut running: Vec<Option<(Held, u32)>> = names.iter().map(|_| None).collect();
        for (request, tokens, what, lag) in steps {
            let request = request % names.len();
            let id = RequestId::new(request as u32);
            if let Some((mut held, computed)) = running[request].take() {
                if what == 0 {
                    naive.release(id);
                    cache.free_blocks(id, &mut held, true);
                } else {
                    let to = (computed + tokens).min(TOKENS);
                    cache.remove_skipped_blocks(id, computed.saturating_sub(lag), &mut held);
                    naive.skip(id, computed.saturating_sub(lag));
                    if cache.blocks_to_take(to, &held) <= cache.available() {
                        cache.take_blocks(to, &mut held);
                        cache.cache_blocks(id, to, &mut held);
                        naive.take(id, to);
                        naive.cache(id, to);
                        running[request] = Some((held, to));
                    } else {
                        running[request] = Some((held, computed));
                    }
                }
            } else {
                let most = (TOKENS - 1) / SIZE;
                let (hits, idle) = cache.get_computed_blocks(id, most);
                prop_assert_eq!(hits as usize, naive.longest_hit(id, most as usize));
                let to = (hits * SIZE + tokens).min(TOKENS);
                if cache.blocks_to_admit(hits, to) + idle <= cache.available() {
                    let mut held = cache.no_blocks();
                    let free = cache.available();
                    cache.touch_blocks(id, TOKENS, hits, &mut held);
                    prop_assert_eq!(free - cache.available(), idle);
                    cache.take_blocks(to, &mut held);
                    cache.cache_blocks(id, to, &mut held);
                    naive.admit(id, hits as usize);
                    naive.take(id, to);
                    naive.cache(id, to);
                    running[request] = Some((held, to));
                }
            }
            prop_assert_eq!(cache.available() as usize, naive.free.len());
        }
    }
}
