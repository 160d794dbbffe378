//! Requests that make room for others: they wait at the head of the line, and are processed anew, or are copied to the
//! host and back (vLLM: recomputation and swapping; Kwon et al., SOSP 2023, section 4.5).
//!
//! The link carries the blocks before the iteration begins, which is so much longer. While somebody waits to come back
//! nobody new is let in.

use super::Replica;
use super::iteration::Flight;
use super::requests::Place;
use super::world::World;
use crate::config::Preemption;
use crate::record::timeline::{Absence, Eviction};

impl World<'_> {
    /// A request that was evicted joins a batch again.
    pub(crate) fn comes_back(&mut self, id: u32) {
        let (start_us, end_us) = (self.requests.seen_us[id as usize], self.now_us);
        self.record.absences.push(Absence { request: id, start_us, end_us });
    }

    /// Tokens of a prompt that an iteration may read after the first `done`: all that are left, of an answer that is
    /// generated again one.
    pub(crate) fn chunk_after(&self, id: u32, done: u32) -> u32 {
        let input = self.trace.input_tokens[id as usize];
        let left = self.requests.prompt[id as usize] - done;
        match self.config.preemption {
            Preemption::Regenerate if done >= input => left.min(1),
            Preemption::Regenerate => left.min(input - done),
            _ => left,
        }
    }

    /// The same after what is done.
    pub(crate) fn next_chunk(&self, id: u32) -> u32 {
        self.chunk_after(id, self.requests.done[id as usize])
    }

    /// Tokens that the host keeps of a waiting request.
    pub(crate) fn swapped(&self, id: u32) -> u32 {
        self.requests.swapped.get(id as usize).copied().unwrap_or(0)
    }
}

impl Replica {
    /// A request loses its memory and waits at the head of the line.
    pub(crate) fn evict(&mut self, world: &mut World<'_>, flight: &mut Flight, id: u32) {
        let i = id as usize;
        // No request may come between those that were skipped and those behind them.
        self.waiting.put_back();
        let was_decoding = world.requests.place[i] == Place::Decoding;
        let blocks = self.blocks_of(world, id);
        let tokens = self.leave_batch(world, id, blocks);
        self.adapters.keep_ahead(&mut self.kv, None);
        self.adapters.offload_unused(&mut self.kv);
        let mut lost_tokens = if was_decoding { tokens - 1 } else { tokens };
        let swaps = matches!(world.config.preemption, Preemption::Swap { .. });
        if swaps && was_decoding && self.kv.swap_out(blocks) {
            flight.copied_blocks += u64::from(blocks);
            world.requests.swapped[i] = tokens;
            lost_tokens = 0;
        } else {
            // Vidur's restart takes what was read for the whole prompt; the rest of it is then generated.
            if was_decoding || world.config.original {
                world.requests.prompt[i] = tokens;
            }
        }
        world.requests.done[i] = 0;
        world.requests.place[i] = Place::Waiting;
        world.requests.evictions[i] = world.requests.evictions[i].saturating_add(1);
        let (time_us, replica) = (world.now_us, self.index);
        world.record.evictions.push(Eviction { time_us, id, replica, lost_tokens });
        self.promised += u64::from(world.config.blocks_for(world.requests.prompt[i]));
        let (arrival_us, is_on_host) = (world.arrival_us(id), world.swapped(id) > 0);
        self.waiting.come_back(world.trace, id, arrival_us, is_on_host);
        self.adapters.waits(world.adapter(id).0);
        self.line += 1;
    }

    /// What the host keeps of a request that goes away is forgotten.
    pub(crate) fn forget_swapped(&mut self, world: &mut World<'_>, id: u32) {
        let tokens = world.swapped(id);
        if tokens > 0 {
            world.requests.swapped[id as usize] = 0;
            self.kv.free_host(world.config.blocks_for(tokens - 1));
        }
    }

    /// Whether the head of the line is to come back from the host.
    pub(crate) fn awaits_host(&self, world: &World<'_>) -> bool {
        self.waiting.first_ahead().is_some_and(|id| world.swapped(id) > 0)
    }

    /// Those at the head of the line who are on the host come back and decode in the iteration, `most` of them and as many
    /// as memory allows. Says how many.
    pub(crate) fn take_back(&mut self, world: &mut World<'_>, flight: &mut Flight, most: u32) -> u32 {
        let mut taken = 0;
        self.waiting.put_back();
        while taken < most && self.awaits_host(world) {
            let Some(id) = self.waiting.first_ahead() else { break };
            let tokens = world.swapped(id);
            let blocks = world.config.blocks_for(tokens);
            let is_full =
                self.holders >= world.config.max_requests || flight.size() >= self.batch_cap(world.config);
            let has_slot = self.adapters.admits(world.adapter(id).0);
            if is_full || !has_slot || !self.has_room(world, id, blocks) {
                break;
            }
            self.leave_line(world);
            let kept = world.config.blocks_for(tokens - 1);
            world.requests.swapped[id as usize] = 0;
            self.acquire_adapter(world, flight, id);
            self.kv.swap_in(kept, blocks);
            flight.copied_blocks += u64::from(kept);
            flight.changes_again = true;
            self.holders += 1;
            self.decode_again(world, flight, id, tokens);
            taken += 1;
        }
        taken
    }

    /// A request that has its memory again decodes in the iteration.
    fn decode_again(&mut self, world: &mut World<'_>, flight: &mut Flight, id: u32, tokens: u32) {
        let i = id as usize;
        world.requests.place[i] = Place::Decoding;
        world.comes_back(id);
        if !self.is_single() {
            world.requests.done[i] = tokens;
            world.requests.token_us.remove(&id);
            return world.decode_member(flight, id);
        }
        self.close_run(world);
        let member = world.member(id, tokens);
        let requests = &mut *world.requests;
        requests.done[i] = tokens.wrapping_sub(self.lockstep.step);
        requests.stalled_us[i] += world.now_us - requests.seen_us[i] - self.stall_us;
        let token_us = requests.token_us.remove(&id).unwrap_or(requests.seen_us[i]);
        self.standing.push((1, token_us));
        self.lockstep.join(member);
        self.waiting.decodes(world.trace, id, true);
        self.running.push(id);
        flight.decodes += 1;
        flight.decode_kv_tokens += u64::from(tokens);
        flight.rank_sum += u64::from(member.rank.unwrap_or(0));
        flight.any_adapter |= member.rank.is_some();
    }
}
