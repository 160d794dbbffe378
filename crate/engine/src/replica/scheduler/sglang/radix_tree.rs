//! The tree of cached prefixes (mem_cache/unified_radix_cache.py and unified_cache/unified_tree_core.py of SGLang): nodes are runs of
//! tokens, split where requests part, at borders of pages. Time is a counter; every lookup of a node is later than the one before.
//!
//! Nodes that running requests use are locked, with all before them. Of the others whole leaves are evicted, by their rank.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use servescope_workload::RequestId;

use super::contents::{Contents, Sequence, Token};
use crate::config::sglang::RadixEviction;

/// A node's place in the tree.
pub(super) type NodeIndex = u32;

/// The node before all others.
pub(super) const ROOT: NodeIndex = 0;

/// By what leaves are evicted: the least first.
#[derive(Debug, Clone, Copy)]
struct Rank(i64, [f64; 2]);

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        let times = self.1.iter().zip(&other.1).map(|(one, other)| one.total_cmp(other));
        times.fold(self.0.cmp(&other.0), Ordering::then)
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rank {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank {}

/// How much older a node gets than the one behind it when both are looked up.
const AGE_STEP: f64 = 0.000_01;

#[derive(Debug, Clone)]
struct Node {
    /// Whose tokens it has, and which of them.
    of: Sequence,
    start: u32,
    end: u32,
    parent: NodeIndex,
    children: u32,
    locks: u32,
    used: f64,
    born: f64,
    hits: u32,
    priority: i64,
    /// How many children its parent got before it.
    order: u64,
    is_there: bool,
}

/// The tree of one replica.
#[derive(Debug, Clone)]
pub(super) struct RadixTree {
    page: u32,
    eviction: RadixEviction,
    clock: f64,
    contents: Contents,
    nodes: Vec<Node>,
    unused: Vec<NodeIndex>,
    /// A node by the one before it and its first page.
    children: FxHashMap<(NodeIndex, Token), NodeIndex>,
    orders: u64,
    /// Tokens of nodes without a lock, and with one.
    evictable: u32,
    locked: u32,
}

/// Where an insertion ended.
pub(super) struct Inserted {
    pub(super) node: NodeIndex,
    /// Tokens of which the request has a copy that it needs no more.
    pub(super) twice: u32,
}

impl RadixTree {
    pub(super) fn new(page: u32, eviction: RadixEviction, contents: Contents) -> Self {
        let mut tree = Self {
            page,
            eviction,
            clock: 0.0,
            contents,
            nodes: Vec::new(),
            unused: Vec::new(),
            children: FxHashMap::default(),
            orders: 0,
            evictable: 0,
            locked: 0,
        };
        let nobody = Sequence { id: RequestId::default(), stop_at: u32::MAX, placeholder: None };
        tree.add(nobody, 0..0, ROOT, i64::MIN);
        tree.nodes[ROOT as usize].locks = 1;
        tree
    }

    /// An empty one of the same tokens whose pages are single tokens.
    pub(super) fn of_single_tokens(&self) -> Self {
        Self::new(1, RadixEviction::Lru, self.contents.clone())
    }

    /// Tokens that could be evicted, and those that requests use.
    pub(super) fn evictable(&self) -> u32 {
        self.evictable
    }

    pub(super) fn locked(&self) -> u32 {
        self.locked
    }

    fn tick(&mut self) -> f64 {
        self.clock += 1.0;
        self.clock
    }

    fn whole(&self, tokens: u32) -> u32 {
        tokens / self.page * self.page
    }

    fn add(
        &mut self,
        of: Sequence,
        tokens: std::ops::Range<u32>,
        parent: NodeIndex,
        priority: i64,
    ) -> NodeIndex {
        let (used, born) = (self.tick(), self.tick());
        self.orders += 1;
        let node = Node {
            of,
            start: tokens.start,
            end: tokens.end,
            parent,
            children: 0,
            locks: 0,
            used,
            born,
            hits: 0,
            priority,
            order: self.orders,
            is_there: true,
        };
        if let Some(at) = self.unused.pop() {
            self.nodes[at as usize] = node;
            return at;
        }
        self.nodes.push(node);
        (self.nodes.len() - 1) as NodeIndex
    }

    /// By what a child is found whose tokens begin at a place: its first page.
    fn key(&self, of: &Sequence, start: u32) -> Token {
        self.contents.page(of, start, self.page)
    }

    fn child(&self, parent: NodeIndex, of: &Sequence, start: u32) -> Option<NodeIndex> {
        self.children.get(&(parent, self.key(of, start))).copied()
    }

    /// How many tokens of a node a sequence of this many tokens shares, whole pages of them.
    fn shared(&self, node: NodeIndex, of: &Sequence, tokens: u32) -> u32 {
        let Node { of: own, start, end, .. } = &self.nodes[node as usize];
        let to = (*end).min(tokens);
        self.whole(self.contents.common(own, of, *start, to) - start)
    }

    /// A node gets another one before it with its first tokens.
    fn split(&mut self, child: NodeIndex, tokens: u32) -> NodeIndex {
        let Node { of, start, parent, priority, hits, born, locks, order, .. } =
            self.nodes[child as usize].clone();
        let top = self.add(of, start..start + tokens, parent, priority);
        let (key, rest_key) = (self.key(&of, start), self.key(&of, start + tokens));
        self.children.insert((parent, key), top);
        self.children.insert((top, rest_key), child);
        let front = &mut self.nodes[top as usize];
        (front.hits, front.born, front.locks, front.order, front.children) = (hits, born, locks, order, 1);
        let used = self.tick();
        let rest = &mut self.nodes[child as usize];
        (rest.start, rest.parent, rest.used) = (start + tokens, top, used);
        top
    }

    /// Looks up the first tokens of a sequence: the last node of what is known, and how many tokens that are. The whole way has been
    /// used then, each node a little before the one behind it.
    pub(super) fn look_up(&mut self, of: &Sequence, tokens: u32) -> (NodeIndex, u32) {
        let tokens = self.whole(tokens);
        if tokens == 0 {
            return (ROOT, 0);
        }
        let (mut node, mut known) = (ROOT, 0);
        while known < tokens {
            let Some(child) = self.child(node, of, known) else { break };
            let shared = self.shared(child, of, tokens);
            if shared == 0 {
                break;
            }
            known += shared;
            let Node { start, end, .. } = self.nodes[child as usize];
            if shared < end - start {
                node = self.split(child, shared);
                break;
            }
            node = child;
        }
        let (mut now, mut at) = (self.tick(), node);
        loop {
            self.nodes[at as usize].used = now;
            if at == ROOT {
                return (node, known);
            }
            now -= AGE_STEP;
            at = self.nodes[at as usize].parent;
        }
    }

    /// The first tokens of a sequence are kept. Its request does not own a copy of the first `owned`; it has inserted `inserted`
    /// before.
    pub(super) fn insert(
        &mut self,
        of: &Sequence,
        tokens: u32,
        [owned, inserted]: [u32; 2],
        priority: i64,
    ) -> Inserted {
        let tokens = self.whole(tokens);
        let used = self.tick();
        let root = &mut self.nodes[ROOT as usize];
        root.used = used;
        root.priority = root.priority.max(priority);
        let (mut node, mut known, mut twice) = (ROOT, 0, 0);
        while known < tokens {
            let Some(mut child) = self.child(node, of, known) else { break };
            let used = self.tick();
            self.nodes[child as usize].used = used;
            let shared = self.shared(child, of, tokens);
            let Node { start, end, .. } = self.nodes[child as usize];
            if shared < end - start {
                child = self.split(child, shared);
            }
            let own = &mut self.nodes[child as usize];
            own.priority = own.priority.max(priority);
            twice += shared.saturating_sub(owned.saturating_sub(known));
            known += shared;
            own.hits += u32::from(known > inserted);
            node = child;
        }
        if known < tokens {
            let leaf = self.add(*of, known..tokens, node, priority);
            self.children.insert((node, self.key(of, known)), leaf);
            self.nodes[node as usize].children += 1;
            self.evictable += tokens - known;
            self.nodes[leaf as usize].hits += u32::from(tokens > inserted);
            node = leaf;
        }
        Inserted { node, twice }
    }

    /// A request uses a node and all before it.
    pub(super) fn lock(&mut self, node: NodeIndex) {
        let mut at = node;
        while at != ROOT {
            let own = &mut self.nodes[at as usize];
            if own.locks == 0 {
                self.evictable -= own.end - own.start;
                self.locked += own.end - own.start;
            }
            own.locks += 1;
            at = own.parent;
        }
    }

    /// A request uses a node and all before it no more.
    pub(super) fn unlock(&mut self, node: NodeIndex) {
        let mut at = node;
        while at != ROOT {
            let own = &mut self.nodes[at as usize];
            own.locks -= 1;
            if own.locks == 0 {
                self.evictable += own.end - own.start;
                self.locked -= own.end - own.start;
            }
            at = own.parent;
        }
    }

    /// By what a leaf is evicted: the least first.
    fn rank(&self, node: NodeIndex) -> Rank {
        let Node { used, born, hits, priority, .. } = self.nodes[node as usize];
        match self.eviction {
            RadixEviction::Lru => Rank(0, [used, used]),
            RadixEviction::Lfu => Rank(hits.into(), [used, used]),
            RadixEviction::Fifo => Rank(0, [born, used]),
            RadixEviction::Filo => Rank(0, [-born, used]),
            RadixEviction::Mru => Rank(0, [-used, used]),
            RadixEviction::Slru => Rank((hits >= 2).into(), [used, used]),
            RadixEviction::Priority => Rank(priority, [used, used]),
        }
    }

    fn is_leaf_to_evict(&self, node: NodeIndex) -> bool {
        let own = &self.nodes[node as usize];
        own.is_there && node != ROOT && own.children == 0 && own.locks == 0
    }

    /// Evicts leaves until this many tokens came free, or none is left. Returns how many did.
    pub(super) fn evict(&mut self, tokens: u32) -> u32 {
        let mut gone = 0;
        let of = |tree: &Self, node| Reverse((tree.rank(node), node));
        let all = (1..self.nodes.len() as NodeIndex).filter(|&node| self.is_leaf_to_evict(node));
        let mut leaves: BinaryHeap<_> = all.map(|node| of(self, node)).collect();
        while gone < tokens
            && let Some(Reverse((_, leaf))) = leaves.pop()
        {
            let parent = self.nodes[leaf as usize].parent;
            gone += self.remove(leaf);
            if self.is_leaf_to_evict(parent) {
                leaves.push(of(self, parent));
            }
        }
        gone
    }

    fn remove(&mut self, leaf: NodeIndex) -> u32 {
        let Node { of, start, end, parent, .. } = self.nodes[leaf as usize];
        self.children.remove(&(parent, self.key(&of, start)));
        self.nodes[parent as usize].children -= 1;
        self.nodes[leaf as usize].is_there = false;
        self.unused.push(leaf);
        self.evictable -= end - start;
        end - start
    }

    /// The order in which the places of `nodes` come when the tree is walked depth first, the child with the most of them below it
    /// first, and what ends at a node behind what ends below it.
    pub(super) fn depth_first(&self, nodes: &[NodeIndex]) -> Vec<usize> {
        let mut ends: FxHashMap<NodeIndex, Vec<usize>> = FxHashMap::default();
        let mut weight = vec![0_u32; self.nodes.len()];
        for (place, &node) in nodes.iter().enumerate() {
            ends.entry(node).or_default().push(place);
            let mut at = node;
            loop {
                weight[at as usize] += 1;
                if at == ROOT {
                    break;
                }
                at = self.nodes[at as usize].parent;
            }
        }
        // Nodes without any below them do not matter.
        let mut children: FxHashMap<NodeIndex, Vec<NodeIndex>> = FxHashMap::default();
        for node in (1..self.nodes.len() as NodeIndex).filter(|&node| weight[node as usize] > 0) {
            children.entry(self.nodes[node as usize].parent).or_default().push(node);
        }
        let mut order = Vec::with_capacity(nodes.len());
        let mut to_do = vec![(ROOT, false)];
        while let Some((node, is_walked)) = to_do.pop() {
            if is_walked {
                order.extend(ends.remove(&node).into_iter().flatten());
                continue;
            }
            to_do.push((node, true));
            let mut below = children.remove(&node).unwrap_or_default();
            below.sort_by_key(|&child| (Reverse(weight[child as usize]), self.nodes[child as usize].order));
            to_do.extend(below.into_iter().rev().map(|child| (child, false)));
        }
        order
    }
}
