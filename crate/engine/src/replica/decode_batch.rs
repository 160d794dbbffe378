//! The requests of a one-stage replica that decode: all of them produce a token in every iteration that decodes at all.
//!
//! So nothing is written for any of them while they do: a request's tokens are its own constant plus the common step,
//! the KV tokens of all are a sum, the ends are a heap, and which request needs a new block at a step follows from the tokens
//! modulo the block size.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use servescope_cost::LoraBatch;
use servescope_workload::RequestId;

use super::adapter_users::Users;
use super::kv_cache::within_block;

/// The requests in the decode batch.
#[derive(Debug, Clone)]
pub(crate) struct DecodeBatch {
    /// Decode iterations so far; long runs have more of them than 2^32.
    pub(crate) step: u64,
    /// How many requests.
    pub(crate) count: u32,
    /// Tokens processed, of all.
    pub(crate) kv_tokens: u64,
    /// Sum of their adapters' ranks.
    pub(crate) rank_sum: u64,
    /// How many use an adapter.
    pub(crate) with_adapter: u32,
    /// How many use each, where the time of an iteration depends on that.
    pub(crate) users: Users,
    counts_users: bool,
    /// Requests by (tokens - 1 - step) modulo the block size.
    block_phase_counts: Vec<u32>,
    /// The phase of requests that take a block in the next iteration: -step modulo the block size.
    now: usize,
    /// The step after which it is done and the request. An entry whose step is not the request's end is stale.
    ends: BinaryHeap<Reverse<(u64, RequestId)>>,
}

/// What the decode batch must know of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecodeSlot {
    pub(crate) id: RequestId,
    /// Tokens processed so far.
    pub(crate) tokens: u32,
    /// Its adapter, or the base model.
    pub(crate) adapter: u32,
    /// Rank of its adapter; `None` for the base model.
    pub(crate) rank: Option<u32>,
}

impl DecodeBatch {
    /// `counts_users`: whether it counts the requests of each adapter ([`Self::users`]).
    pub(crate) fn new(block_size: u32, counts_users: bool) -> Self {
        Self {
            step: 0,
            count: 0,
            kv_tokens: 0,
            rank_sum: 0,
            with_adapter: 0,
            users: Users::default(),
            counts_users,
            block_phase_counts: vec![0; block_size as usize],
            now: 0,
            ends: BinaryHeap::new(),
        }
    }

    fn phase(&self, tokens: u32) -> usize {
        let size = self.block_phase_counts.len();
        let phase = within_block(tokens - 1, size) + self.now;
        if phase < size { phase } else { phase - size }
    }

    /// A request joins that is done after this many iterations.
    pub(crate) fn join(&mut self, member: DecodeSlot, iterations: u32) {
        self.count += 1;
        self.kv_tokens += u64::from(member.tokens);
        self.rank_sum += u64::from(member.rank.unwrap_or(0));
        if let Some(rank) = member.rank {
            self.with_adapter += 1;
            if self.counts_users {
                self.users.add(member.adapter, rank);
            }
        }
        let phase = self.phase(member.tokens);
        self.block_phase_counts[phase] += 1;
        self.ends_at(self.step + u64::from(iterations), member.id);
    }

    /// A request's last step is known, or another than it was.
    pub(crate) fn ends_at(&mut self, step: u64, id: RequestId) {
        self.ends.push(Reverse((step, id)));
    }

    pub(crate) fn leave(&mut self, member: DecodeSlot) {
        self.count -= 1;
        self.kv_tokens -= u64::from(member.tokens);
        self.rank_sum -= u64::from(member.rank.unwrap_or(0));
        if let Some(rank) = member.rank {
            self.with_adapter -= 1;
            if self.counts_users {
                self.users.remove(member.adapter, rank);
            }
        }
        let phase = self.phase(member.tokens);
        self.block_phase_counts[phase] -= 1;
    }

    /// Tokens of a request that has this many beside the step, modulo 2^32.
    pub(crate) fn tokens(&self, beside_step: u32) -> u32 {
        beside_step.wrapping_add(self.step as u32)
    }

    /// How many of a request's tokens it has beside the step, modulo 2^32.
    pub(crate) fn beside_step(&self, tokens: u32) -> u32 {
        tokens.wrapping_sub(self.step as u32)
    }

    /// What the LoRA operators of an iteration in which all of them decode work on.
    pub(crate) fn lora(&self) -> LoraBatch {
        LoraBatch {
            adapters: self.users.distinct,
            adapter_ranks: self.users.ranks,
            tokens: self.with_adapter,
            token_ranks: self.rank_sum,
        }
    }

    /// The phase of requests that take a block in the iteration `ahead` steps on; the one before it is the next iteration's.
    fn taking(&self, ahead: u32) -> usize {
        let size = self.block_phase_counts.len();
        let ahead = within_block(ahead, size);
        self.now.checked_sub(ahead).unwrap_or(self.now + size - ahead)
    }

    /// Blocks that the iteration `ahead` steps on takes.
    pub(crate) fn new_blocks(&self, ahead: u32) -> u32 {
        self.block_phase_counts[self.taking(ahead)]
    }

    /// Blocks that `iterations` take from `ahead` steps on.
    #[inline]
    pub(crate) fn new_blocks_over(&self, ahead: u32, iterations: u32) -> u32 {
        if iterations == 0 || self.block_phase_counts.len() == 1 {
            return iterations * self.count;
        }
        self.sum_of_new_blocks(ahead, iterations)
    }

    fn sum_of_new_blocks(&self, ahead: u32, iterations: u32) -> u32 {
        let size = self.block_phase_counts.len();
        // In a round of as many as a block has tokens every request takes one.
        let rest = within_block(iterations, size);
        let rounds = if rest == iterations as usize { 0 } else { iterations / size as u32 };
        let end = self.taking(ahead) + 1;
        let (before, behind) = (rest.min(end), rest.saturating_sub(end));
        let sum = |block_phase_counts: &[u32]| block_phase_counts.iter().sum::<u32>();
        rounds * self.count
            + sum(&self.block_phase_counts[end - before..end])
            + sum(&self.block_phase_counts[size - behind..])
    }

    /// How many iterations, at most `most` and the first one counted without a test, leave a block free after each.
    pub(crate) fn iterations_within(&self, free: u32, most: u32) -> u32 {
        let size = self.block_phase_counts.len() as u32;
        let rounds = (most.saturating_sub(1) / size).min(free.saturating_sub(1) / self.count.max(1));
        let mut left = free - rounds * self.count;
        if left > self.count {
            // What is left of `most` is less than a round, in which no request takes two.
            return most;
        }
        let mut taking = self.taking(1);
        for ahead in 1 + rounds * size..most {
            let new = self.block_phase_counts[taking];
            if new >= left {
                return ahead;
            }
            left -= new;
            taking = taking.checked_sub(1).unwrap_or(self.block_phase_counts.len() - 1);
        }
        most
    }

    /// Every request is `iterations` tokens further.
    pub(crate) fn advance(&mut self, iterations: u32) {
        self.step += u64::from(iterations);
        self.now = self.taking(iterations);
        self.kv_tokens += u64::from(iterations) * u64::from(self.count);
    }

    /// Iterations until the first request may be done; at least 1.
    pub(crate) fn until_end(&self) -> u32 {
        self.until_end_or_none().max(1)
    }

    /// The same where it may be now, and without a bound where there is none.
    pub(crate) fn until_end_or_none(&self) -> u32 {
        self.next_end().map_or(u32::MAX, |end| end.saturating_sub(self.step) as u32)
    }

    /// Whether a request's end is reached.
    pub(crate) fn has_ended(&self) -> bool {
        self.next_end().is_some_and(|end| end <= self.step)
    }

    fn next_end(&self) -> Option<u64> {
        self.ends.peek().map(|&Reverse((step, _))| step)
    }

    /// The next request whose end is reached, or was before it left.
    #[inline]
    pub(crate) fn pop_ended(&mut self) -> Option<RequestId> {
        if self.has_ended() { self.pop_end() } else { None }
    }

    fn pop_end(&mut self) -> Option<RequestId> {
        self.ends.pop().map(|Reverse((_, id))| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use servescope_workload::BASE_MODEL;

    proptest! {
        #[test]
        fn blocks_are_those_of_every_request_by_itself(
            size in 1u32..20,
            members in prop::collection::vec((1u32..100, 0u32..40), 1..20),
            free in 0u32..60,
            most in 1u32..80,
        ) {
            let mut decode_batch = DecodeBatch::new(size, false);
            let mut tokens: Vec<u32> = Vec::new();
            for (id, &(prompt, wait)) in members.iter().enumerate() {
                decode_batch.advance(wait);
                tokens.iter_mut().for_each(|t| *t += wait);
                let member = DecodeSlot { id: RequestId::new(id as u32), tokens: prompt + 1, adapter: BASE_MODEL, rank: None };
                decode_batch.join(member, 9_999);
                tokens.push(prompt + 1);
            }
            prop_assert_eq!(decode_batch.kv_tokens, tokens.iter().map(|&t| u64::from(t)).sum::<u64>());
            // A request of t tokens takes a block when its t - 1 before fill whole blocks.
            let needed = |ahead: u32| tokens.iter().filter(|&&t| (t + ahead - 1).is_multiple_of(size)).count() as u32;
            for ahead in 0..most {
                prop_assert_eq!(decode_batch.new_blocks(ahead), needed(ahead));
            }
            prop_assert_eq!(decode_batch.new_blocks_over(1, most), (1..=most).map(needed).sum::<u32>());
            let mut left = free;
            let stops = (1..most).find(|&ahead| {
                let ok = left > needed(ahead);
                left = left.saturating_sub(needed(ahead));
                !ok
            });
            prop_assert_eq!(decode_batch.iterations_within(free, most), stops.unwrap_or(most));
        }
    }
}
