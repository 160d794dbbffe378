//! The groups of a model's layers in the KV cache of vLLM v1 (vllm/v1/core/kv_cache_planning.py,
//! vllm/v1/core/single_type_kv_cache_manager.py): a block holds `block_size` tokens of the layers of one group, and all groups
//! take their blocks from one pool. How many blocks there are is for who plans the memory.

/// What the layers of a group keep of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KvGroup {
    /// Every token (full attention).
    Full,
    /// The last so many tokens (sliding window).
    SlidingWindow(u32),
    /// The tokens of the present part of a request that is cut into parts of this many tokens, a multiple of the block size (chunked
    /// local attention).
    ChunkedLocal(u32),
    /// A state of constant size, in one block (state-space layers). It is not cached for other requests.
    State,
}

/// Groups that keep the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvGroupsOfKind {
    /// What their layers keep.
    pub kind: KvGroup,
    /// How many groups.
    pub count: u32,
    /// How many times the tokens of the block size a block of theirs holds, at least 1: tokens of these layers are a part in size of
    /// those of the others.
    pub ratio: u32,
}

/// A group, and how many tokens a block of it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockGroup {
    pub(crate) kind: KvGroup,
    pub(crate) block_tokens: u32,
}

impl BlockGroup {
    /// Length of the group's block table where a request has this many tokens, blocks that were given back included.
    #[inline]
    pub(crate) fn table_blocks(self, tokens: u32) -> u32 {
        match self.kind {
            KvGroup::State => tokens.min(1),
            _ => tokens.div_ceil(self.block_tokens),
        }
    }

    /// How many of the first blocks no later token looks at, once this many tokens are computed (`get_num_skipped_tokens`).
    #[inline]
    pub(crate) fn skipped_blocks(self, computed: u32) -> u32 {
        let tokens = match self.kind {
            KvGroup::Full | KvGroup::State => 0,
            KvGroup::SlidingWindow(window) => (computed + 1).saturating_sub(window),
            KvGroup::ChunkedLocal(chunk) => computed - computed % chunk.max(1),
        };
        tokens / self.block_tokens
    }

    /// After how many computed tokens a further block is skipped; `None`: none ever is.
    pub(crate) fn next_skip(self, skipped: u32) -> Option<u32> {
        let end = (skipped + 1) * self.block_tokens;
        match self.kind {
            KvGroup::Full | KvGroup::State => None,
            KvGroup::SlidingWindow(window) => Some(end + window.max(1) - 1),
            KvGroup::ChunkedLocal(chunk) => Some(end.next_multiple_of(chunk.max(1))),
        }
    }

    /// Most blocks that a request holds at once where at most `under_way` of its tokens are not processed
    /// (`max_admission_blocks_per_request`).
    pub(crate) fn most_blocks(self, under_way: u32, max_model_len: u32) -> u32 {
        let blocks = |tokens: u32| tokens.min(max_model_len).div_ceil(self.block_tokens);
        match self.kind {
            KvGroup::Full => u32::MAX,
            // A window may begin within a block.
            KvGroup::SlidingWindow(window) => blocks((window.max(1) - 1).saturating_add(under_way)) + 1,
            KvGroup::ChunkedLocal(chunk) => blocks(chunk.saturating_add(under_way)),
            KvGroup::State => 1,
        }
    }
}

/// Kinds of groups that a model may have beside each other.
const KINDS: usize = 4;

/// The groups of a model, in vLLM's order: those of a kind follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvGroups([KvGroupsOfKind; KINDS]);

impl KvGroups {
    /// One group, which keeps every token.
    pub const FULL: Self = Self([KvGroupsOfKind { count: 1, ..NO_GROUP }, NO_GROUP, NO_GROUP, NO_GROUP]);

    /// So many groups of each kind; `None`: no group, a block without tokens, or more kinds than there may be.
    pub fn new(kinds: &[KvGroupsOfKind]) -> Option<Self> {
        let mut groups = [NO_GROUP; KINDS];
        groups.get_mut(..kinds.len())?.copy_from_slice(kinds);
        let is_any = kinds.iter().any(|kind| kind.count > 0) && kinds.iter().all(|kind| kind.ratio > 0);
        is_any.then_some(Self(groups))
    }

    /// The kinds of which there are groups.
    pub fn kinds(self) -> impl Iterator<Item = KvGroupsOfKind> {
        self.0.into_iter().filter(|kind| kind.count > 0)
    }

    /// How many groups.
    pub fn count(self) -> u32 {
        self.kinds().map(|of| of.count).fold(0, u32::saturating_add)
    }

    /// Each group.
    pub(crate) fn groups(self, block_size: u32) -> impl Iterator<Item = BlockGroup> {
        self.kinds().flat_map(move |of| std::iter::repeat_n(of.group(block_size), of.count as usize))
    }

    /// Most blocks that a request of so many tokens holds at once where at most `under_way` of them are not processed.
    pub(crate) fn most_blocks(self, [tokens, under_way, max_model_len]: [u32; 3], block_size: u32) -> u32 {
        let of_kind = |of: KvGroupsOfKind| {
            let group = of.group(block_size);
            let blocks = group.table_blocks(tokens).min(group.most_blocks(under_way, max_model_len));
            blocks.saturating_mul(of.count)
        };
        self.kinds().map(of_kind).fold(0, u32::saturating_add)
    }

    /// Tokens within every window that so many blocks hold.
    pub(crate) fn tokens(self, blocks: u64, block_size: u32) -> u64 {
        let all = common_multiple(self.kinds().map(|of| of.ratio));
        let each = self.kinds().map(|of| u64::from(of.count) * (all / u64::from(of.ratio))).sum::<u64>();
        let tokens = u128::from(blocks) * u128::from(block_size) * u128::from(all);
        (tokens / u128::from(each.max(1))) as u64
    }
}

impl KvGroupsOfKind {
    fn group(self, block_size: u32) -> BlockGroup {
        BlockGroup { kind: self.kind, block_tokens: block_size.saturating_mul(self.ratio) }
    }
}

/// The least common multiple of sizes of blocks: what every group has whole blocks for.
pub(crate) fn common_multiple(sizes: impl Iterator<Item = u32>) -> u64 {
    fn divisor(one: u64, other: u64) -> u64 {
        if other == 0 { one } else { divisor(other, one % other) }
    }
    sizes.map(u64::from).fold(1, |all, size| all / divisor(all, size).max(1) * size.max(1))
}

/// A place without a group.
const NO_GROUP: KvGroupsOfKind = KvGroupsOfKind { kind: KvGroup::Full, count: 0, ratio: 1 };

impl Default for KvGroups {
    fn default() -> Self {
        Self::FULL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_before_a_window_or_a_part_are_skipped() {
        let of = |kind| BlockGroup { kind, block_tokens: 4 };
        let skipped = |kind, computed| of(kind).skipped_blocks(computed);
        // The examples of vLLM's `get_num_skipped_tokens`: a window of 4, parts of 8.
        assert_eq!([6, 7, 10, 11].map(|n| skipped(KvGroup::SlidingWindow(4), n)), [0, 1, 1, 2]);
        assert_eq!([7, 8, 13, 16].map(|n| skipped(KvGroup::ChunkedLocal(8), n)), [0, 2, 2, 4]);
        for kind in [KvGroup::SlidingWindow(4), KvGroup::SlidingWindow(1), KvGroup::ChunkedLocal(8)] {
            for computed in 0..40 {
                let next = of(kind).next_skip(skipped(kind, computed)).expect("a further block");
                assert!(next > computed && skipped(kind, next - 1) == skipped(kind, computed), "{kind:?}");
                assert!(skipped(kind, next) > skipped(kind, computed), "{kind:?} at {computed}");
            }
        }
        assert_eq!([KvGroup::Full, KvGroup::State].map(|kind| skipped(kind, 1_000)), [0, 0]);
    }

    #[test]
    fn a_request_holds_at_most_what_its_groups_keep() {
        let of = |kind, count, ratio| KvGroupsOfKind { kind, count, ratio };
        let full = of(KvGroup::Full, 1, 1);
        let groups = KvGroups::new(&[full, of(KvGroup::SlidingWindow(128), 1, 1)]).expect("groups");
        // A prompt of 8,010 tokens under a budget of 8,192, and the same while it decodes (gpt-oss-20b).
        assert_eq!(groups.most_blocks([8_010, 8_192, 131_072], 16), 1_002);
        assert_eq!(groups.most_blocks([8_010, 1, 131_072], 16), 501 + 9);
        assert_eq!(KvGroups::FULL.most_blocks([8_010, 8_192, 131_072], 16), 501);
        let state = KvGroups::new(&[full, of(KvGroup::State, 3, 1)]).expect("groups");
        assert_eq!(state.most_blocks([8_010, 1, 131_072], 16), 504);
        assert_eq!(state.groups(16).count(), 4);
        assert_eq!((KvGroups::new(&[]), KvGroups::new(&[full; 5])), (None, None));
        assert_eq!(KvGroups::new(&[of(KvGroup::Full, 1, 0)]), None);
    }

    /// Gemma 4 31B: ten layers of full attention, whose tokens are half as large, and fifty with a window.
    #[test]
    fn blocks_of_small_tokens_hold_more_of_them() {
        let of = |kind, count, ratio| KvGroupsOfKind { kind, count, ratio };
        let kinds = [of(KvGroup::SlidingWindow(1_024), 5, 1), of(KvGroup::Full, 1, 2)];
        let groups = KvGroups::new(&kinds).expect("groups");
        assert_eq!(groups.most_blocks([32_000, 1, 131_072], 16), 5 * 65 + 1_000);
        // 16 tokens take five and a half blocks of 16 tokens.
        assert_eq!((groups.tokens(11, 16), KvGroups::FULL.tokens(11, 16)), (32, 176));
        assert_eq!(common_multiple([4, 6, 1].into_iter()), 12);
    }
}
