//! Prompts that begin alike, as a tree: a system prompt shared by all, then a part by adapter, then a part by user, then
//! what a session has said so far.
//!
//! A prompt is given as ids of blocks of tokens, as in Mooncake's and Bailian's traces: equal ids mean an equal block
//! after equal blocks. Whole blocks of a shared part have its id; a block that reaches into the next part belongs to that
//! one; the block at the end that is not full is the prompt's own.

use crate::trace::{BASE_MODEL, PrefixBlocks, Trace, TraceMetadata};

/// Shared prefixes of prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixSpec {
    /// Tokens in a block.
    pub block_tokens: u32,
    /// Tokens that all prompts begin with.
    pub system_tokens: u32,
    /// Tokens that follow, one text for each adapter; the base model has none.
    pub adapter_tokens: u32,
    /// Tokens that follow, one text for each user of an adapter.
    pub user_tokens: u32,
}

/// A tree that gives out ids.
#[derive(Debug)]
pub(crate) struct Tree {
    spec: PrefixSpec,
    adapters: u64,
    users: u64,
    next_id: u64,
    pub(crate) blocks: PrefixBlocks,
}

impl PrefixSpec {
    /// Tokens that a prompt has from the tree.
    pub fn shared_tokens(&self, adapter: u32) -> u32 {
        let by_adapter = if adapter == BASE_MODEL { 0 } else { self.adapter_tokens };
        self.system_tokens + by_adapter + self.user_tokens
    }
}

impl Tree {
    pub(crate) fn new(spec: PrefixSpec, adapters: usize, users: usize) -> Self {
        let (adapters, users) = (adapters as u64, users as u64);
        let blocks = PrefixBlocks::new(spec.block_tokens);
        let mut tree = Self { spec, adapters, users, next_id: 0, blocks };
        // Ids of shared blocks lie in ranges of their own, before those of sessions.
        tree.next_id = tree.user_base() + (adapters + 1) * users * tree.most_of(spec.user_tokens);
        tree
    }

    /// Most whole blocks that end within `tokens` in a row.
    fn most_of(&self, tokens: u32) -> u64 {
        u64::from(tokens / self.spec.block_tokens) + 1
    }

    fn adapter_base(&self) -> u64 {
        u64::from(self.spec.system_tokens / self.spec.block_tokens)
    }

    fn user_base(&self) -> u64 {
        self.adapter_base() + self.adapters * self.most_of(self.spec.adapter_tokens)
    }

    /// Appends the blocks of a prompt. `own` are the ids of the whole blocks of its session so far; it grows with the
    /// prompt, and is emptied by the caller where the context starts again.
    pub(crate) fn push(&mut self, own: &mut Vec<u64>, adapter: u32, user: u32, input_tokens: u32) {
        let block = self.spec.block_tokens;
        let by_adapter = if adapter == BASE_MODEL { 0 } else { self.spec.adapter_tokens };
        let system = self.spec.system_tokens;
        let [of_all, of_adapter, of_user] =
            [system, system + by_adapter, system + by_adapter + self.spec.user_tokens].map(|t| t / block);
        // The base model is one branch more.
        let branch = u64::from(adapter).min(self.adapters);
        let node = branch * self.users + u64::from(user);
        let mut ids = Vec::new();
        for i in 0..input_tokens / block {
            let id = if i < of_all {
                u64::from(i)
            } else if i < of_adapter {
                let first = self.adapter_base() + branch * self.most_of(self.spec.adapter_tokens);
                first + u64::from(i - of_all)
            } else if i < of_user {
                self.user_base() + node * self.most_of(self.spec.user_tokens) + u64::from(i - of_adapter)
            } else {
                let place = (i - of_user) as usize;
                if place == own.len() {
                    own.push(self.next_id);
                    self.next_id += 1;
                }
                own[place]
            };
            ids.push(id);
        }
        if !input_tokens.is_multiple_of(block) {
            ids.push(self.next_id);
            self.next_id += 1;
        }
        self.blocks.push(ids);
    }
}

/// Gives every prompt of a trace without sessions its shared prefix, and sets its blocks.
pub(crate) fn begin_alike(trace: &mut Trace, mut tree: Tree) {
    for id in 0..trace.len() {
        let adapter = trace.adapter[id];
        let input = &mut trace.input_tokens[id];
        *input = input.saturating_add(tree.spec.shared_tokens(adapter));
        tree.push(&mut Vec::new(), adapter, trace.user[id], *input);
        // No prompt goes on from an output.
        tree.blocks.outputs.push([]);
    }
    trace.set_metadata(TraceMetadata { prefix: tree.blocks, ..TraceMetadata::default() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_share_what_the_tree_says() {
        let spec = PrefixSpec { block_tokens: 10, system_tokens: 25, adapter_tokens: 20, user_tokens: 15 };
        let mut tree = Tree::new(spec, 3, 4);
        for (adapter, user) in [(0, 0), (0, 0), (0, 1), (1, 0), (BASE_MODEL, 0), (BASE_MODEL, 0)] {
            tree.push(&mut Vec::new(), adapter, user, spec.shared_tokens(adapter) + 30);
        }
        let shared = |a: usize, b: usize| {
            let (a, b) = (tree.blocks.of(a), tree.blocks.of(b));
            assert!(
                a.iter()
                    .enumerate()
                    .all(|(i, id)| b.iter().position(|other| other == id).is_none_or(|j| i == j))
            );
            a.iter().zip(b).take_while(|(a, b)| a == b).count()
        };
        // 25, 45 and 60 tokens are shared: whole blocks of ten.
        assert_eq!([shared(0, 1), shared(0, 2), shared(0, 3)], [6, 4, 2]);
        // Without an adapter the user's part begins at 25: 40 tokens.
        assert_eq!([shared(0, 4), shared(4, 5)], [2, 4]);
        assert_eq!(tree.blocks.of(0).len(), 9);
        assert_eq!(tree.blocks.of(4).len(), 7);
    }

    #[test]
    fn a_session_grows_block_by_block() {
        let spec = PrefixSpec { block_tokens: 16, system_tokens: 0, adapter_tokens: 0, user_tokens: 0 };
        let mut tree = Tree::new(spec, 0, 1);
        let mut own = Vec::new();
        for input in [20, 40, 64] {
            tree.push(&mut own, BASE_MODEL, 0, input);
        }
        let [a, b, c] = [0, 1, 2].map(|id| tree.blocks.of(id).to_vec());
        assert_eq!((a.len(), b.len(), c.len()), (2, 3, 4));
        assert_eq!(
            (a[..1] == b[..1], a[1] == b[1], b[..2] == c[..2], b[2] == c[2]),
            (true, false, true, false)
        );
    }
}
