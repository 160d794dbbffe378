//! What the tokens of requests are, as far as that decides which prefixes are equal. A token stands for itself and all before it.
//!
//! The trace says which blocks of its own size are equal; within a block that two requests share every token is. What it does not
//! describe is equal only to itself, and is found by its own request after a retraction. An output that ends by a stop token has that
//! token in the place of its last one, so that a prompt which goes on from it has another one there.

use std::sync::Arc;

use servescope_workload::RequestId;

use crate::block_numbers::BlockNumbers;

/// A token with all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Token(u64);

/// Odd, and with many ones, so that different tokens stay different in the sum of a page.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

const OWN: u64 = 1 << 63;
const STOP: u64 = 1 << 62;
const PLACEHOLDER: u64 = 1 << 61;

/// The tokens of a request: its prompt and behind it its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) id: RequestId,
    /// Where its stop token is, behind the beginning; [`u32::MAX`]: it has none.
    pub(super) stop_at: u32,
    /// Its prompt was too long, and one token stands for it, the same for every such request of an adapter.
    pub(super) placeholder: Option<u32>,
}

/// What is known of all tokens of a trace.
#[derive(Debug, Clone)]
pub(super) struct Contents {
    /// Blocks of the trace, of `block_tokens` each.
    numbers: Option<Arc<BlockNumbers>>,
    block_tokens: u32,
}

impl Contents {
    pub(super) fn new(numbers: Option<&Arc<BlockNumbers>>, block_tokens: u32) -> Self {
        Self { numbers: numbers.cloned(), block_tokens: block_tokens.max(1) }
    }

    /// The token of a sequence at a place.
    pub(super) fn token(&self, of: &Sequence, at: u32) -> Token {
        if let Some(adapter) = of.placeholder {
            let own = OWN | u64::from(of.id.get()) << 32 | u64::from(at);
            return Token(if at == 0 { PLACEHOLDER | u64::from(adapter) } else { own });
        }
        if at == of.stop_at {
            let before = at.checked_sub(1).map_or(0, |before| self.plain(of.id, before));
            return Token(STOP | before);
        }
        Token(self.plain(of.id, at))
    }

    /// What tells a page of a sequence from others that may stand in its place.
    pub(super) fn page(&self, of: &Sequence, start: u32, page: u32) -> Token {
        let end = start + page;
        // The last token of each block in it stands for those before it in that block.
        let blocks = start / self.block_tokens + 1..=(end - 1) / self.block_tokens;
        let last = blocks.map(|block| block * self.block_tokens - 1).chain([end - 1]);
        let stop = Some(of.stop_at).filter(|stop| (start..end).contains(stop));
        let tokens = last.chain(stop).map(|at| self.token(of, at).0);
        Token(tokens.reduce(|all, token| all.rotate_left(23).wrapping_mul(MIX) ^ token).unwrap_or(0))
    }

    fn plain(&self, id: RequestId, at: u32) -> u64 {
        let size = self.block_tokens;
        match self.numbers.as_ref().and_then(|numbers| numbers.get(id, at / size)) {
            Some(number) => u64::from(number) * u64::from(size) + u64::from(at % size),
            None => OWN | u64::from(id.get()) << 32 | u64::from(at),
        }
    }

    /// Up to which place two sequences have the same tokens that do up to `from`; at most `to`.
    pub(super) fn common(&self, one: &Sequence, other: &Sequence, from: u32, to: u32) -> u32 {
        if one == other {
            return to;
        }
        if one.placeholder.is_some() || other.placeholder.is_some() {
            return if one.placeholder == other.placeholder { to.min(1).max(from) } else { from };
        }
        let stop_at = one.stop_at.min(other.stop_at);
        let plain_to = to.min(stop_at);
        let alike =
            if one.id == other.id { plain_to } else { self.common_plain(one.id, other.id, from, plain_to) };
        let both_stop = alike == stop_at && stop_at < to && one.stop_at == other.stop_at;
        alike + u32::from(both_stop)
    }

    fn common_plain(&self, one: RequestId, other: RequestId, from: u32, to: u32) -> u32 {
        let Some(numbers) = &self.numbers else { return from };
        let size = self.block_tokens;
        let blocks = from / size..to.div_ceil(size);
        let pairs = numbers.iter(one, blocks.clone()).zip(numbers.iter(other, blocks.clone()));
        let alike = pairs.take_while(|(one, other)| one == other).count() as u32;
        ((blocks.start + alike) * size).clamp(from, to)
    }
}
