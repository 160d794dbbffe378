//! Requests of a replica whose clients went away, or that waited longer than they may.

use super::Replica;
use super::iteration::Flight;
use super::requests::Place;
use super::world::World;

impl Replica {
    /// Takes the head out of the queue.
    pub(crate) fn leave_line(&mut self, world: &World<'_>) -> Option<u32> {
        let id = self.waiting.pop(world.trace, |id| world.is_gone(id))?;
        self.leaves_line(world, id);
        Some(id)
    }

    /// A request waits no more.
    pub(crate) fn leaves_line(&mut self, world: &World<'_>, id: u32) {
        self.adapters.waits_no_more(world.adapter(id).0);
        self.line -= 1;
        self.promised -= u64::from(world.config.blocks_for(world.requests.prompt[id as usize]));
    }

    /// A waiting request goes away; says whether others may be next now: it was the head of the queue, or requests are skipped.
    pub(crate) fn give_up(&mut self, world: &mut World<'_>, id: u32) -> bool {
        let i = id as usize;
        self.charge_ended(world);
        let was_head = self.head(world) == Some(id);
        self.outstanding -= 1;
        if !world.requests.scheduled_us[i].is_nan() {
            self.close_fate(world, id);
        }
        self.forget_swapped(world, id);
        world.requests.place[i] = Place::Gone;
        world.record.ends(id);
        self.leave_waiting(world, id);
        was_head || self.passes_over
    }

    /// A waiting request, wherever it stands in the queue, is no longer there.
    pub(crate) fn leave_waiting(&mut self, world: &mut World<'_>, id: u32) {
        self.leaves_line(world, id);
        world.requests.token_us.remove(&id);
        self.waiting.forget(world.trace, id, |id| world.is_gone(id));
    }

    /// What became of a request that was begun and goes away now.
    pub(crate) fn close_fate(&mut self, world: &mut World<'_>, id: u32) {
        let i = id as usize;
        let is_decoding = world.requests.place[i] == Place::Decoding;
        let kept = world.swapped(id).max(world.requests.prompt[i]);
        let tokens = if is_decoding { self.tokens(world, id) } else { kept };
        let fate = &mut world.record.fates[i];
        fate.finish_us = Some(world.now_us);
        fate.produced = tokens.saturating_sub(world.trace.input_tokens[i]);
        // In the lockstep requests stall only as the replica counts.
        if !(is_decoding && self.is_single()) {
            world.requests.stalled_us[i] += world.now_us - world.requests.seen_us[i];
        }
        let produced = world.record.fates[i].produced;
        self.waiting.ended(world.trace, id, produced, false);
    }

    /// A request that holds memory goes away.
    pub(crate) fn let_go(&mut self, world: &mut World<'_>, id: u32) {
        let i = id as usize;
        let is_decoding = world.requests.place[i] == Place::Decoding;
        self.close_fate(world, id);
        let decoded_to = is_decoding.then(|| self.tokens(world, id));
        world.config.policy().left(self, world, id, decoded_to);
        let blocks = self.blocks_of(world, id);
        self.leave_batch(world, id, blocks);
        self.adapters.offload_unused(&mut self.kv);
        self.outstanding -= 1;
        world.requests.token_us.remove(&id);
        world.requests.place[i] = Place::Gone;
        world.record.ends(id);
        if !(is_decoding && self.is_single()) {
            for list in [&mut self.skipped, &mut self.chunked, &mut self.running] {
                list.retain(|&other| other != id);
            }
        }
    }

    /// Lets those go who were part of `flight`, which has ended, and whose clients have gone.
    pub(crate) fn let_leaving_go(&mut self, world: &mut World<'_>, flight: &Flight) {
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.retain(|&id| {
            let is_here = self.is_single() || flight.prompts.contains(&id) || flight.members.contains(&id);
            if is_here && world.requests.place[id as usize] != Place::Gone {
                self.let_go(world, id);
            }
            !is_here
        });
        self.leaving = leaving;
    }
}
