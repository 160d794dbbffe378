//! The end of a batch in the last pipeline stage. Nothing is written for its requests while they decode together: what they
//! got is made up for when one of them is done, a client goes away or another request may join.
// PERF: a third fewer instructions a run of four stages, and half the time; guarded by the test `leaps_equal_steps`.

use super::Replica;
use super::iteration::{Flight, Refused, Unwritten};
use super::requests::Place;
use super::run::written;
use super::world::World;

/// The requests of a batch that left the last stage are further.
pub(crate) fn end_batch(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) {
    replica.in_flight -= 1;
    let scheduler = world.config.policy();
    let now_us = world.now_us;
    let before = replica.holders;
    let is_fresh = |id: u32, world: &World<'_>| world.requests.seen_us[id as usize] == flight.formed_us;
    let fresh = flight.members.iter().filter(|&&id| is_fresh(id, world)).count() as u32;
    let run = written(replica, world, flight, flight.formed_us, fresh);
    world.record.iterations.push(&run, &flight.chunks);
    for &id in &flight.members {
        let i = id as usize;
        if !is_fresh(id, world) {
            world.record.gap(world.requests.seen_us[i], now_us, 1);
        }
        world.requests.seen_us[i] = now_us;
        world.requests.done[i] += 1;
        world.requests.worked_us[i] += flight.busy_us;
        replica.waiting.made_token(world.trace, id, false);
        if world.requests.done[i] >= world.total(id) {
            let blocks = world.blocks_at_end(id);
            replica.finish(world, id, blocks);
        } else if scheduler.mixes_batches() {
            replica.running.push(id);
        }
    }
    replica.end_prompts(world, flight);
    if replica.holders < before {
        for &id in flight.members.iter().chain(&flight.prompts) {
            if world.requests.place[id as usize] == Place::Decoding {
                replica.waiting.finishing_beside(world.trace, id);
            }
        }
    }
    if !replica.leaving.is_empty() {
        replica.let_leaving_go(world, flight);
    }
    let finished = before - replica.holders;
    scheduler.ended(replica, world, flight, finished);
    replica.adapters.offload_unused(&mut replica.kv);
}

/// Whether a batch ends in which every request gets a token and goes on; its requests are to be written down later.
pub(crate) fn ends_alike(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> bool {
    let policy = world.config.policy();
    let is_told_at_once = world.steps_singly
        || world.record.first_tokens.is_some()
        || replica.waiting.keeps_counters()
        || policy.queues_empty_batches()
        || !policy.mixes_batches();
    let is_plain = flight.chunks.is_empty() && flight.copied_blocks == 0 && flight.load_us == 0.0;
    if is_told_at_once || !is_plain || !replica.admits_none_beside(world, flight) {
        return false;
    }
    if flight.unwritten.iterations == 0 && !begin_unwritten(world, flight) {
        return false;
    }
    let unwritten = &mut flight.unwritten;
    if unwritten.iterations + 1 >= unwritten.first_done {
        return false;
    }
    unwritten.iterations += 1;
    unwritten.worked_us.push(flight.busy_us);
    unwritten.ended_us = world.now_us;
    replica.in_flight -= 1;
    let run = written(replica, world, flight, flight.formed_us, flight.decodes);
    world.record.iterations.push(&run, &[]);
    true
}

/// Looks at every request of a batch whose tokens are to be written down later; says whether each follows the one before it.
fn begin_unwritten(world: &World<'_>, flight: &mut Flight) -> bool {
    let Flight { unwritten, members, formed_us, .. } = flight;
    let size = world.config.block_size;
    unwritten.first_done = u32::MAX;
    unwritten.phases.clear();
    unwritten.phases.resize(size as usize, 0);
    for &id in &*members {
        let done = world.requests.done[id as usize];
        unwritten.first_done = unwritten.first_done.min(world.total(id) - done);
        unwritten.phases[((done - 1) % size) as usize] += 1;
        if world.requests.seen_us[id as usize] != *formed_us {
            return false;
        }
    }
    true
}

/// Forms a batch of the requests of the one that has just ended, if they decode on and no other request may join.
pub(crate) fn forms_alike(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> bool {
    let Unwritten { iterations, phases, .. } = &flight.unwritten;
    let size = phases.len();
    let blocks = if world.config.grows() { phases[(size - *iterations as usize % size) % size] } else { 0 };
    if !replica.admits_none_beside(world, flight) || replica.kv.available() <= blocks {
        return false;
    }
    if let (Some(refused), true) = (flight.refused, replica.line > 0) {
        replica.holds_for(world, Some(refused.stop));
    }
    replica.kv.allocate(blocks);
    replica.in_flight += 1;
    replica.formed += 1;
    replica.looks_again = false;
    replica.passes_over = false;
    flight.number = replica.formed;
    flight.formed_us = world.now_us;
    flight.decode_kv_tokens += u64::from(flight.decodes);
    flight.busy_us = 0.0;
    flight.inner_us = None;
    flight.in_memory = replica.adapters_in_memory();
    true
}

/// Writes down what the requests of a batch got.
pub(crate) fn write_down(world: &mut World<'_>, flight: &mut Flight) {
    let unwritten = &mut flight.unwritten;
    if unwritten.iterations == 0 {
        return;
    }
    for &id in &flight.members {
        let i = id as usize;
        world.requests.done[i] += unwritten.iterations;
        world.requests.seen_us[i] = unwritten.ended_us;
        let worked_us = &mut world.requests.worked_us[i];
        unwritten.worked_us.iter().for_each(|us| *worked_us += us);
    }
    unwritten.iterations = 0;
    unwritten.worked_us.clear();
}

impl Replica {
    /// Notes why a batch was formed without the head of the queue.
    pub(crate) fn refuses_head(&mut self, world: &World<'_>, flight: &mut Flight) {
        let is_looked_at_anew = flight.changes_again
            || self.passes_over
            || self.waiting.takes_turns()
            || world.config.loads_ahead();
        if self.line == 0 || is_looked_at_anew {
            return;
        }
        if let (Some(stop), Some(head)) = (self.stop, self.head(world)) {
            let (holders, free) = (self.holders, self.free_beside_adapter(world, head));
            flight.refused = Some(Refused { head, stop, holders, free });
        }
    }

    /// Whether the head of the queue stays where it is, for what it lacked when a batch was formed.
    fn refuses_again(&mut self, world: &World<'_>, refused: Refused) -> bool {
        self.holders == refused.holders
            && self.head(world) == Some(refused.head)
            && self.free_beside_adapter(world, refused.head) <= refused.free
    }

    /// Whether no request joins those of a batch that ends, goes away or is in no batch.
    fn admits_none_beside(&mut self, world: &World<'_>, flight: &Flight) -> bool {
        (self.line == 0 || flight.refused.is_some_and(|refused| self.refuses_again(world, refused)))
            && self.leaving.is_empty()
            && self.running.is_empty()
            && self.skipped.is_empty()
            && self.chunked.is_empty()
            && !self.adapters.is_ahead()
    }
}
