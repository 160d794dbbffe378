//! What a batch does to its requests when it begins and when it ends.

use super::{Flight, Place, Replica, Scheduled, State, World, steady};
use crate::record::timeline::IterationRun;
use crate::replica::run::written;

/// The first stage takes a batch: those who wait for it wait no more.
pub(super) fn begins(replica: &Replica, world: &mut World<'_>, flight: &Flight) {
    debug_assert!(replica.in_flight > 0, "a batch that begins is under way");
    for scheduled in &flight.scheduled {
        let i = scheduled.id as usize;
        if !scheduled.is_admitted || world.requests.place[i] == Place::Gone {
            continue;
        }
        if world.requests.scheduled_us[i].is_nan() {
            world.requests.scheduled_us[i] = world.now_us;
            world.requests.seen_us[i] = world.now_us;
        } else {
            world.comes_back(scheduled.id);
        }
    }
}

/// The last stage is done with a batch. Clients that went away meanwhile get no token of it.
pub(super) fn end_batch(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) {
    replica.in_flight -= 1;
    if flight.load_us > 0.0 && world.requests.load_us.is_empty() {
        world.requests.load_us = vec![0.0; world.trace.len()];
    }
    let blocks = replica.kv.used();
    let others = steady::ends(replica, world, flight);
    for id in std::mem::take(&mut replica.leaving) {
        if world.requests.place[id as usize] == Place::Gone {
            continue;
        }
        if let Some(own) = flight.scheduled.iter().find(|own| own.id == id) {
            account(world, flight, own);
        }
        let_go(replica, world, id);
    }
    let holders = replica.holders;
    let fresh = flight.scheduled.iter().filter(|own| end_of(replica, world, flight, own)).count() as u32;
    let fresh = others + fresh;
    if replica.holders < holders {
        for &id in flight.members.iter().chain(&flight.prompts) {
            if world.requests.place[id as usize] == Place::Decoding {
                replica.waiting.finishing_beside(world.trace, id);
            }
        }
    }
    if replica.stages == 1 {
        replica.write(world, flight, 1, fresh, blocks);
    } else {
        let run = IterationRun { blocks, ..written(replica, world, flight, flight.began_us, fresh) };
        world.record.iterations.push(&run, &flight.chunks);
    }
    replica.adapters.offload_unused(&mut replica.kv);
}

/// A request was worked on. Returns when it was last, which is when its last token was there if it decodes.
fn account(world: &mut World<'_>, flight: &Flight, scheduled: &Scheduled) -> f64 {
    let i = scheduled.id as usize;
    let (requests, began_us) = (&mut *world.requests, flight.began_us);
    let seen_us = std::mem::replace(&mut requests.seen_us[i], world.now_us);
    requests.stalled_us[i] += (began_us - seen_us).max(0.0);
    if let Some(worked_us) = requests.worked_us.get_mut(i) {
        *worked_us += flight.busy_us;
    }
    if scheduled.is_prompt {
        requests.prefill_us[i] += world.now_us - seen_us.max(began_us) - flight.load_us;
        if let Some(load_us) = requests.load_us.get_mut(i) {
            *load_us += flight.load_us;
        }
    }
    seen_us
}

/// A request is further by its part of a batch. Says whether its token follows the one before it without a gap.
fn end_of(replica: &mut Replica, world: &mut World<'_>, flight: &Flight, scheduled: &Scheduled) -> bool {
    let Scheduled { id, tokens, makes_token, .. } = *scheduled;
    let i = id as usize;
    let Some(place) = State::place(world, id) else { return false };
    let Replica { state, kv, .. } = replica;
    let entry = state.vllm.entry(place);
    entry.under_way -= tokens;
    let was_preempted = entry.stale > 0;
    entry.stale = entry.stale.saturating_sub(tokens);
    if world.requests.place[i] == Place::Gone {
        if entry.under_way == 0 {
            state.vllm.remove(world, id);
        }
        return false;
    }
    let seen_us = account(world, flight, scheduled);
    if was_preempted {
        end_of_preempted(replica, world, scheduled, place);
        return false;
    }
    world.requests.done[i] = entry.computed - entry.under_way;
    if !makes_token {
        return false;
    }
    entry.known += 1;
    world.requests.done[i] = entry.known;
    if entry.awaited > 0 {
        entry.awaited -= 1;
        // A block that an answer fills is cached when its last token is known.
        kv.learn_blocks(world.trace, id, entry.computed - entry.under_way, &mut entry.held);
    }
    let is_done = entry.known >= world.total(id);
    if is_done {
        steady::leave(replica, world, place);
        let Replica { state, kv, adapters, .. } = replica;
        kv.free_blocks(id, &mut state.vllm.entry(place).held, false);
        state.vllm.release_adapter(adapters, world, place);
        state.vllm.leave_order(place);
        state.vllm.remove(world, id);
    }
    world.requests.place[i] = Place::Decoding;
    let follows = makes(replica, world, id, seen_us, flight.began_us);
    if is_done {
        replica.complete(world, id);
        replica.holders -= 1;
    }
    follows
}

/// A request that was preempted gets what was under way: a token all the same, which may be its last one.
fn end_of_preempted(replica: &mut Replica, world: &mut World<'_>, scheduled: &Scheduled, place: u32) {
    let Scheduled { id, makes_token, .. } = *scheduled;
    let i = id as usize;
    let entry = replica.state.vllm.entry(place);
    entry.known += u32::from(makes_token);
    let (known, is_back) = (entry.known, entry.stale == 0);
    if is_back {
        replica.state.vllm.remove(world, id);
    }
    if !makes_token {
        return;
    }
    makes(replica, world, id, world.now_us, f64::NAN);
    world.requests.token_us.insert(id, world.now_us);
    let before = std::mem::replace(&mut world.requests.prompt[i], known);
    replica.promised += u64::from(world.config.blocks_for(known));
    replica.promised -= u64::from(world.config.blocks_for(before));
    if known >= world.total(id) {
        replica.complete(world, id);
        replica.leave_waiting(world, id);
    }
}

/// A token of a request is there, whose last one was there at `last_us` unless it was preempted since. Says whether it
/// follows that one in an iteration that began at `began_us`.
fn makes(replica: &mut Replica, world: &mut World<'_>, id: u32, last_us: f64, began_us: f64) -> bool {
    let i = id as usize;
    let is_first = world.requests.first_token_us[i].is_nan();
    replica.waiting.made_token(world.trace, id, is_first);
    if is_first {
        world.requests.first_token_us[i] = world.now_us;
        world.record.has_first_token(id);
        return false;
    }
    let told_us = world.requests.token_us.remove(&id);
    let follows = told_us.is_none() && last_us == began_us;
    if !follows {
        world.record.gap(told_us.unwrap_or(last_us), world.now_us, 1);
    }
    follows
}

/// A request that runs goes away.
pub(super) fn let_go(replica: &mut Replica, world: &mut World<'_>, id: u32) {
    steady::settle(replica, world);
    let i = id as usize;
    if world.requests.scheduled_us[i].is_nan() {
        replica.waiting.ended(world.trace, id, 0, false);
    } else {
        replica.close_fate(world, id);
    }
    if let Some(place) = State::place(world, id) {
        let Replica { state, kv, adapters, .. } = replica;
        kv.free_blocks(id, &mut state.vllm.entry(place).held, false);
        state.vllm.release_adapter(adapters, world, place);
        state.vllm.order.retain(|&other| other != place);
        state.vllm.remove(world, id);
    }
    replica.adapters.offload_unused(&mut replica.kv);
    replica.holders -= 1;
    replica.outstanding -= 1;
    world.requests.token_us.remove(&id);
    world.requests.place[i] = Place::Gone;
    world.record.ends(id);
}
