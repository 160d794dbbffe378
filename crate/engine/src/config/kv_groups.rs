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

impl KvGroup {
    /// Length of the group's block table where a request has this many tokens, blocks that were given back included.
    #[inline]
    pub(crate) fn table_blocks(self, tokens: u32, block_size: u32) -> u32 {
        match self {
            Self::State => tokens.min(1),
            _ => tokens.div_ceil(block_size),
        }
    }

    /// How many of the first blocks no later token looks at, once this many tokens are computed (`get_num_skipped_tokens`).
    #[inline]
    pub(crate) fn skipped_blocks(self, computed: u32, block_size: u32) -> u32 {
        let tokens = match self {
            Self::Full | Self::State => 0,
            Self::SlidingWindow(window) => (computed + 1).saturating_sub(window),
            Self::ChunkedLocal(chunk) => computed - computed % chunk.max(1),
        };
        tokens / block_size
    }

    /// After how many computed tokens a further block is skipped; `None`: none ever is.
    pub(crate) fn next_skip(self, skipped: u32, block_size: u32) -> Option<u32> {
        let end = (skipped + 1) * block_size;
        match self {
            Self::Full | Self::State => None,
            Self::SlidingWindow(window) => Some(end + window.max(1) - 1),
            Self::ChunkedLocal(chunk) => Some(end.next_multiple_of(chunk.max(1))),
        }
    }

    /// Most blocks that a request holds at once where at most `under_way` of its tokens are not processed
    /// (`max_admission_blocks_per_request`).
    pub(crate) fn most_blocks(self, under_way: u32, max_model_len: u32, block_size: u32) -> u32 {
        match self {
            Self::Full => u32::MAX,
            // A window may begin within a block.
            Self::SlidingWindow(window) => {
                (window.max(1) - 1).saturating_add(under_way).min(max_model_len).div_ceil(block_size) + 1
            }
            Self::ChunkedLocal(chunk) => {
                chunk.saturating_add(under_way).min(max_model_len).div_ceil(block_size)
            }
            Self::State => 1,
        }
    }
}

/// Kinds of groups that a model may have beside each other.
const KINDS: usize = 4;

/// The groups of a model, in vLLM's order: those of a kind follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvGroups([(KvGroup, u32); KINDS]);

impl KvGroups {
    /// One group, which keeps every token.
    pub const FULL: Self = Self([(KvGroup::Full, 1), NO_GROUP, NO_GROUP, NO_GROUP]);

    /// So many groups of each kind; `None`: no group, or more kinds than there may be.
    pub fn new(kinds: &[(KvGroup, u32)]) -> Option<Self> {
        let mut groups = [NO_GROUP; KINDS];
        groups.get_mut(..kinds.len())?.copy_from_slice(kinds);
        kinds.iter().any(|kind| kind.1 > 0).then_some(Self(groups))
    }

    /// Each group.
    pub fn iter(self) -> impl Iterator<Item = KvGroup> {
        self.0.into_iter().flat_map(|(kind, count)| std::iter::repeat_n(kind, count as usize))
    }

    /// How many groups.
    pub fn count(self) -> u32 {
        self.0.iter().map(|kind| kind.1).fold(0, u32::saturating_add)
    }

    /// Most blocks that a request of so many tokens holds at once where at most `under_way` of them are not processed.
    pub(crate) fn most_blocks(self, [tokens, under_way, max_model_len]: [u32; 3], block_size: u32) -> u32 {
        let of_kind = |&(kind, count): &(KvGroup, u32)| {
            let blocks = kind.table_blocks(tokens, block_size);
            blocks.min(kind.most_blocks(under_way, max_model_len, block_size)).saturating_mul(count)
        };
        self.0.iter().map(of_kind).fold(0, u32::saturating_add)
    }
}

/// A place without a group.
const NO_GROUP: (KvGroup, u32) = (KvGroup::Full, 0);

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
        let skipped = |group: KvGroup, computed| group.skipped_blocks(computed, 4);
        // The examples of vLLM's `get_num_skipped_tokens`: a window of 4, parts of 8.
        assert_eq!([6, 7, 10, 11].map(|n| skipped(KvGroup::SlidingWindow(4), n)), [0, 1, 1, 2]);
        assert_eq!([7, 8, 13, 16].map(|n| skipped(KvGroup::ChunkedLocal(8), n)), [0, 2, 2, 4]);
        for group in [KvGroup::SlidingWindow(4), KvGroup::SlidingWindow(1), KvGroup::ChunkedLocal(8)] {
            for computed in 0..40 {
                let next = group.next_skip(skipped(group, computed), 4).expect("a further block");
                assert!(next > computed && skipped(group, next - 1) == skipped(group, computed), "{group:?}");
                assert!(skipped(group, next) > skipped(group, computed), "{group:?} at {computed}");
            }
        }
        assert_eq!([KvGroup::Full, KvGroup::State].map(|group| skipped(group, 1_000)), [0, 0]);
    }

    #[test]
    fn a_request_holds_at_most_what_its_groups_keep() {
        let groups = KvGroups::new(&[(KvGroup::Full, 1), (KvGroup::SlidingWindow(128), 1)]).expect("groups");
        // A prompt of 8,010 tokens under a budget of 8,192, and the same while it decodes (gpt-oss-20b).
        assert_eq!(groups.most_blocks([8_010, 8_192, 131_072], 16), 1_002);
        assert_eq!(groups.most_blocks([8_010, 1, 131_072], 16), 501 + 9);
        assert_eq!(KvGroups::FULL.most_blocks([8_010, 8_192, 131_072], 16), 501);
        let state = KvGroups::new(&[(KvGroup::Full, 1), (KvGroup::State, 3)]).expect("groups");
        assert_eq!(state.most_blocks([8_010, 1, 131_072], 16), 504);
        assert_eq!(state.iter().count(), 4);
        assert_eq!((KvGroups::new(&[]), KvGroups::new(&[(KvGroup::Full, 1); 5])), (None, None));
    }
}
