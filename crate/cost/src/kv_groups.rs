//! How vLLM v1 sorts the layers of a model into groups of its KV cache, and what a block of one takes
//! (vllm/v1/core/kv_cache_planning.py, `_get_kv_cache_groups_uniform_page_size` and `get_kv_cache_config_from_groups`).
//!
//! A block holds tokens of the layers of one group; all groups take their blocks from one pool, so a block is as large as the
//! largest group needs it, and what a smaller one leaves of it is padding. Where the tokens of one kind are a part of
//! another's in size, its blocks hold as many times more of them.

use crate::deployment::Deployment;
use crate::models::WindowKind;

/// What a layer keeps of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKv {
    /// Every token (full attention).
    Full,
    /// The last so many tokens (sliding window).
    SlidingWindow(u32),
    /// The tokens of the present part of a request that is cut into parts of this many tokens (chunked local attention).
    ChunkedLocal(u32),
    /// A state of constant size (state-space layers).
    State,
}

/// Layers that keep the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayersOfKind {
    /// What each of them keeps.
    pub kind: LayerKv,
    /// How many.
    pub layers: u32,
    /// Bytes of a token on one GPU, or of a state.
    pub bytes: f64,
}

/// The groups of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvGroupPlan {
    /// What their layers keep.
    pub kind: LayerKv,
    /// Layers of each group.
    pub layers: Vec<u32>,
    /// How many times the tokens of the block size a block of theirs holds.
    pub ratio: u32,
}

/// The groups of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct KvGroupsPlan {
    /// The groups by kind, in the order of their first layers.
    pub kinds: Vec<KvGroupPlan>,
    /// Bytes of a token of one layer on one GPU, of the kind whose tokens are largest.
    token_bytes: f64,
    /// Bytes of a state of one layer; 0 where no layer has one.
    state_bytes: f64,
    /// Bytes of a token beside those of the layers: of the indexers of sparse attention.
    extra_bytes: f64,
}

/// Sorts layers into groups of equal size: as many layers as the rarest kind has, or, where the others have less than half as
/// many more, as the most frequent kind has. `None`: there is no layer with attention.
pub fn kv_groups(layers: &[LayersOfKind]) -> Option<KvGroupsPlan> {
    let mut kinds: Vec<LayersOfKind> = Vec::new();
    for own in layers.iter().filter(|own| own.layers > 0) {
        match kinds.iter_mut().find(|kind| kind.kind == own.kind && kind.bytes == own.bytes) {
            Some(kind) => kind.layers += own.layers,
            None => kinds.push(*own),
        }
    }
    let is_state = |own: &&LayersOfKind| own.kind == LayerKv::State;
    let token_bytes = kinds
        .iter()
        .filter(|own| !is_state(own))
        .map(|own| own.bytes)
        .reduce(f64::max)
        .filter(|b| *b > 0.0)?;
    let most = kinds.iter().map(|own| own.layers).max()?;
    let fewest = kinds.iter().map(|own| own.layers).min()?;
    let size = if f64::from(most) < 1.5 * f64::from(fewest) { most } else { fewest };
    let of_kind = |own: &LayersOfKind| {
        let groups = own.layers.div_ceil(size);
        // The layers are dealt out one by one.
        let layers = (0..groups).map(|group| (own.layers - group).div_ceil(groups)).collect();
        let times = token_bytes / own.bytes;
        // Other sizes are filled up (`unify_kv_cache_spec_page_size`).
        let is_part = !is_state(&own) && times == times.trunc();
        KvGroupPlan { kind: own.kind, layers, ratio: if is_part { times as u32 } else { 1 } }
    };
    Some(KvGroupsPlan {
        token_bytes,
        state_bytes: kinds.iter().filter(is_state).map(|own| own.bytes).fold(0.0, f64::max),
        extra_bytes: 0.0,
        kinds: kinds.iter().map(of_kind).collect(),
    })
}

impl KvGroupsPlan {
    /// Of the stage of a deployment that has most layers; `None`: no layer keeps tokens.
    pub fn of(deployment: &Deployment) -> Option<Self> {
        let model = &deployment.model;
        let share = f64::from(deployment.most_layers()) / f64::from(model.layers);
        let of_stage = |layers: u32| (f64::from(layers) * share).ceil() as u32;
        let mut layers = Vec::new();
        // In models with both, the first layer has a window or a state.
        if let Some(window) = model.window {
            let kind = match window.kind {
                WindowKind::Sliding => LayerKv::SlidingWindow(window.tokens),
                WindowKind::Chunked => LayerKv::ChunkedLocal(window.tokens),
            };
            let layers_of_window = of_stage(window.layers - window.shared_kv_layers);
            layers.push(LayersOfKind {
                kind,
                layers: layers_of_window,
                bytes: deployment.window_kv_bytes_per_layer(),
            });
        }
        if let Some(recurrent) = model.recurrent {
            let bytes = deployment.state_bytes_per_layer();
            layers.push(LayersOfKind { kind: LayerKv::State, layers: of_stage(recurrent.layers), bytes });
        }
        let full = of_stage(model.full_layers() - model.shared_kv_layers);
        layers.push(LayersOfKind {
            kind: LayerKv::Full,
            layers: full,
            bytes: deployment.kv_bytes_per_layer(),
        });
        let plan = kv_groups(&layers)?;
        let indexed = model.attention.indexer().map_or(0.0, |i| f64::from(i.layers) * i.kv_bytes());
        Some(Self { extra_bytes: indexed * share, ..plan })
    }

    /// How many groups.
    pub fn count(&self) -> u32 {
        self.kinds.iter().map(|kind| kind.layers.len() as u32).sum()
    }

    /// Layers of the largest group.
    pub fn most_layers(&self) -> u32 {
        self.kinds.iter().flat_map(|kind| &kind.layers).copied().max().unwrap_or(0)
    }

    /// The block size that vLLM takes where a layer has a state: the smallest multiple of `block_size` tokens that is as large as
    /// one (vllm/platforms/interface.py, `_align_hybrid_block_size`).
    pub fn aligned_block_size(&self, block_size: u32) -> u32 {
        let least = (self.state_bytes / (self.token_bytes * f64::from(block_size))).ceil().max(1.0);
        block_size.saturating_mul(least as u32)
    }

    /// Bytes on one GPU of a block of `block_size` tokens. A state takes a whole block.
    pub fn block_bytes(&self, block_size: u32) -> f64 {
        let page = (self.token_bytes * f64::from(block_size)).max(self.state_bytes);
        page * f64::from(self.most_layers()) + self.extra_bytes * f64::from(block_size)
    }

    /// Blocks that fit in this many bytes. vLLM never gives one of them to a request (its null block).
    pub fn blocks(&self, bytes: f64, block_size: u32) -> u32 {
        (bytes / self.block_bytes(block_size)) as u32
    }

    /// Tokens of the longest request that so many blocks hold.
    pub fn longest_request(&self, blocks: u32, under_way: u32, block_size: u32) -> u32 {
        let (mut fits, mut fails) = (0, u32::MAX / 2);
        while fails - fits > 1 {
            let middle = fits + (fails - fits) / 2;
            if self.blocks_of_request(middle, under_way, block_size) <= blocks {
                fits = middle;
            } else {
                fails = middle;
            }
        }
        fits
    }

    /// Most blocks that a request of `tokens` takes, of which at most `under_way` are not computed
    /// (vllm/v1/kv_cache_interface.py, `max_memory_usage_bytes`).
    pub fn blocks_of_request(&self, tokens: u32, under_way: u32, block_size: u32) -> u32 {
        let of_kind = |kind: &KvGroupPlan| {
            let size = block_size.saturating_mul(kind.ratio);
            let blocks = match kind.kind {
                LayerKv::Full => tokens.div_ceil(size),
                LayerKv::SlidingWindow(window) => {
                    (window.max(1) - 1).saturating_add(under_way).min(tokens).div_ceil(size) + 1
                }
                LayerKv::ChunkedLocal(chunk) => chunk.saturating_add(under_way).min(tokens).div_ceil(size),
                LayerKv::State => 1,
            };
            blocks.saturating_mul(kind.layers.len() as u32)
        };
        self.kinds.iter().map(of_kind).fold(0, u32::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = 1_073_741_824.0;

    /// Layers of each kind whose keys and values have 16 bits.
    fn plan(kinds: &[(LayerKv, u32)], kv_heads: u32, head_dim: u32) -> KvGroupsPlan {
        let bytes = 4.0 * f64::from(kv_heads) * f64::from(head_dim);
        let of_kind = |&(kind, layers): &(LayerKv, u32)| LayersOfKind { kind, layers, bytes };
        kv_groups(&kinds.iter().map(of_kind).collect::<Vec<_>>()).expect("layers of equal size")
    }

    fn layers(plan: &KvGroupsPlan) -> Vec<Vec<u32>> {
        plan.kinds.iter().map(|kind| kind.layers.clone()).collect()
    }

    #[test]
    fn groups_and_blocks_are_those_of_vllm() {
        use LayerKv::{ChunkedLocal, Full, SlidingWindow};
        let gpt_oss = plan(&[(SlidingWindow(128), 12), (Full, 12)], 8, 64);
        assert_eq!((layers(&gpt_oss), gpt_oss.blocks(20.0 * GIB, 16)), (vec![vec![12], vec![12]], 54_613));
        let gemma = plan(&[(SlidingWindow(1_024), 52), (Full, 10)], 16, 128);
        assert_eq!(layers(&gemma), [vec![9, 9, 9, 9, 8, 8], vec![10]]);
        assert_eq!((gemma.count(), gemma.blocks(20.0 * GIB, 16)), (7, 16_384));
        // One kind is one group, however many layers it has.
        let dense = plan(&[(Full, 24)], 8, 64);
        assert_eq!((layers(&dense), dense.blocks(20.0 * GIB, 16)), (vec![vec![24]], 27_306));
        // A draft model's layer more: the larger kind gives the size.
        assert_eq!(layers(&plan(&[(SlidingWindow(128), 12), (Full, 13)], 8, 64)), [vec![12], vec![13]]);
        assert_eq!(layers(&plan(&[(Full, 2), (SlidingWindow(4_096), 3)], 8, 64)), [vec![2], vec![2, 1]]);
        assert_eq!(
            layers(&plan(&[(ChunkedLocal(8_192), 36), (Full, 12)], 8, 128)),
            [vec![12, 12, 12], vec![12]]
        );
    }

    #[test]
    fn blocks_of_small_tokens_hold_more_and_states_take_one() {
        let of = |kind, layers, bytes| LayersOfKind { kind, layers, bytes };
        let window = LayerKv::SlidingWindow(512);
        // Gemma 4: the layers that see all tokens keep half as much of each.
        let mixed = kv_groups(&[of(window, 25, 4_096.0), of(LayerKv::Full, 5, 2_048.0)]).expect("groups");
        assert_eq!(mixed.kinds.iter().map(|kind| kind.ratio).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(mixed.block_bytes(16), 5.0 * 4_096.0 * 16.0);
        assert_eq!(mixed.blocks_of_request(3_200, 1_000, 16), 100 + 5 * (95 + 1));
        assert_eq!(kv_groups(&[]), None);
        let states =
            kv_groups(&[of(LayerKv::State, 36, 1e6), of(LayerKv::Full, 12, 4_096.0)]).expect("groups");
        assert_eq!(layers(&states), [vec![12, 12, 12], vec![12]]);
        assert_eq!((states.block_bytes(16), states.block_bytes(1_024)), (12e6, 12.0 * 4_096.0 * 1_024.0));
    }
}
