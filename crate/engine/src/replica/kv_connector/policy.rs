//! Which block leaves the host where another one needs its place (vllm/v1/kv_offload/cpu/policies/base.py). One policy a file.

use servescope_workload::RequestId;

use crate::block_numbers::number_map::NumberMap;
use crate::replica::kv_cache::BlockContents;

/// A block of a request: what it holds, and which block of the request it is.
pub(super) type Placed = (u32, BlockContents);

/// Blocks by the keys of their contents.
pub(super) type BlockSet = NumberMap<()>;

/// A policy.
pub(super) trait Policy: std::fmt::Debug {
    fn boxed(&self) -> Box<dyn Policy>;

    /// A block is stored for a request.
    fn insert(&mut self, request: RequestId, block: Placed);

    /// A block may leave from now on, or may not.
    fn set_evictable(&mut self, contents: BlockContents, is_evictable: bool);

    /// A request looks for blocks, which are stored then, that were not there.
    fn miss(&mut self, blocks: &[Placed]);

    /// A request uses blocks for the first time.
    fn access(&mut self, request: RequestId, blocks: &[Placed]);

    /// A request has ended that used these blocks, in the order of its tokens; `true`: one that was there before it.
    fn ends(&mut self, request: RequestId, blocks: &[(Placed, bool)]);

    /// Takes out so many that may leave and are not protected; none where there are fewer.
    fn evict(&mut self, count: usize, protected: &BlockSet) -> Option<Vec<BlockContents>>;
}
