//! While all running requests decode and none is admitted, ends or is preempted, an iteration differs from the one before it by a
//! token of each request. Nothing is written for any of them then: it is made up for when something else happens.

use servescope_cost::LoraBatch;

use super::{Flight, LongPrefill, Look, Place, Replica, Scheduled, State, Step, World, waiting};
use crate::replica::iteration::SteadyPart;

/// Iterations in which the same requests decode, all that run.
#[derive(Debug)]
pub(super) struct Steady {
    /// Which such iterations of the replica.
    number: u32,
    ids: Vec<u32>,
    /// Iterations formed and ended.
    formed: u32,
    ended: u32,
    /// Earlier iterations that have ended since.
    ended_before: u32,
    /// Iterations that had ended when the last one was formed, earlier ones included.
    ended_at_last: u32,
    /// How many may be formed, and may end before one ends in which a request is done.
    most_formed: u32,
    most_ended: u32,
    /// Requests by their tokens modulo the block size, and blocks taken so far.
    phases: Vec<u32>,
    blocks: u32,
    kv_tokens: u64,
    rank_sum: u64,
    any_adapter: bool,
    lora: LoraBatch,
    /// End of the last one.
    ended_us: f64,
}

impl State {
    /// Tokens that requests that decode have got and that are not written down.
    pub(super) fn unwritten_tokens(&self) -> u32 {
        self.steady.as_ref().map_or(0, |steady| steady.ended)
    }

    /// Blocks that are taken and not written down.
    pub(super) fn unwritten_blocks(&self) -> u32 {
        self.steady.as_ref().map_or(0, |steady| steady.blocks)
    }

    /// Blocks that so many iterations take which are formed after the last one.
    pub(super) fn later_blocks(&self, iterations: u32) -> u32 {
        self.steady.as_ref().map_or(0, |steady| (0..iterations).map(|ahead| steady.new_blocks(ahead)).sum())
    }

    /// The iterations under way that `flight` is one of.
    fn steady_of(&self, flight: &Flight) -> Option<&Steady> {
        self.steady.as_deref().filter(|steady| flight.steady.is_some_and(|own| own.number == steady.number))
    }

    /// Those who are in an iteration whose requests are told nowhere in it.
    pub(super) fn steady_parts(&self, world: &World<'_>, flight: &Flight) -> Vec<Scheduled> {
        let steady = self.steady_of(flight);
        let after = steady.and(flight.steady).map_or(0, |own| own.after);
        let tell = |&id: &u32| {
            let computed = Self::place(world, id).map_or(0, |place| self.entries[place as usize].computed);
            let computed = computed + after;
            Scheduled { id, tokens: 1, computed, is_prompt: false, makes_token: true, is_admitted: false }
        };
        steady.map_or(&self.was_steady, |steady| &steady.ids).iter().map(tell).collect()
    }
}

impl Steady {
    /// Blocks that the iteration takes which is formed so many after the next one.
    fn new_blocks(&self, ahead: u32) -> u32 {
        let size = self.phases.len();
        self.phases[(size - (self.formed + ahead) as usize % size) % size]
    }
}

/// Schedules those who run if the iteration differs from the one before it by a token of each only, and lets in those who
/// wait.
pub(super) fn form(
    replica: &mut Replica,
    world: &mut World<'_>,
    flight: &mut Flight,
    step: &mut Step,
) -> Option<Look> {
    if replica.state.vllm.steady.is_none() {
        let steady = begin(replica, world)?;
        let state = &mut replica.state.vllm;
        state.compose(&steady.ids, false);
        state.steady = Some(Box::new(steady));
        state.steady_count += 1;
    }
    let steady = replica.state.vllm.steady.as_deref()?;
    let count = steady.ids.len() as u32;
    let blocks = steady.new_blocks(0);
    if steady.formed >= steady.most_formed || count > step.budget || blocks > replica.kv.available() {
        return None;
    }
    replica.kv.take_unwritten(blocks);
    let steady = replica.state.vllm.steady.as_deref_mut()?;
    let (number, after) = (steady.number, steady.formed);
    let (kv_tokens, rank_sum) = (steady.kv_tokens, steady.rank_sum);
    let (any_adapter, lora) = (steady.any_adapter, steady.lora);
    steady.formed += 1;
    steady.blocks += blocks;
    steady.kv_tokens += u64::from(count);
    steady.ended_at_last = steady.ended_before + steady.ended;
    step.budget -= count;
    let look = waiting::schedule(replica, world, step);
    flight.steady = Some(SteadyPart { number, after });
    flight.decodes = count;
    flight.decode_kv_tokens = kv_tokens;
    flight.rank_sum = rank_sum;
    flight.any_adapter = any_adapter;
    flight.lora = lora;
    if !step.scheduled.is_empty() {
        write_members(replica, world, flight);
        flight.steady = None;
        settle(replica, world);
    }
    Some(look)
}

/// Whether the next iteration, and those after it, hold the same requests as the one before it.
fn begin(replica: &mut Replica, world: &World<'_>) -> Option<Steady> {
    let state = &replica.state.vllm;
    let tells_answers = || world.trace.extra.as_ref().is_some_and(|extra| extra.prefix.tells_answers);
    // Several stages work on several iterations at once; counters want every token; what others may find of an answer is
    // to be known at once.
    if state.has_chunk
        || state.order.is_empty()
        || replica.stages > 1
        || replica.writes_every_iteration
        || replica.waiting.keeps_counters()
        || (world.config.prefix_cache && tells_answers())
    {
        return None;
    }
    let mut steady = Steady {
        number: state.steady_count,
        ids: Vec::with_capacity(state.order.len()),
        formed: 0,
        ended: 0,
        ended_before: 0,
        ended_at_last: 0,
        most_formed: u32::MAX,
        most_ended: u32::MAX,
        phases: vec![0; world.config.block_size as usize],
        blocks: 0,
        kv_tokens: 0,
        rank_sum: 0,
        any_adapter: false,
        lora: LoraBatch::default(),
        ended_us: f64::NAN,
    };
    let mut adapters = Flight::default();
    for &place in &state.order {
        let entry = &state.entries[place as usize];
        let i = entry.id as usize;
        // It was in the iteration that has just ended, or is in the one under way.
        let is_fresh = match replica.in_flight {
            0 => entry.under_way == 0 && entry.awaited == 0 && world.requests.seen_us[i] == world.now_us,
            _ => entry.under_way == 1 && entry.awaited == 1,
        };
        let follows = entry.known + entry.awaited == entry.computed + 1;
        if !is_fresh || !follows || entry.is_prompt_chunk || entry.computed < world.requests.prompt[i] {
            return None;
        }
        steady.ids.push(entry.id);
        // As long as the bounds of a request allow a token more.
        let most = world.trace.input_tokens[i].saturating_add(world.trace.max_tokens[i]);
        let most = most.min(world.config.max_request_tokens).saturating_sub(1);
        steady.most_formed = steady.most_formed.min(most.saturating_sub(entry.computed));
        steady.most_ended = steady.most_ended.min((world.total(entry.id) - entry.known).saturating_sub(1));
        let phase = entry.computed as usize % steady.phases.len();
        steady.phases[phase] += 1;
        steady.kv_tokens += u64::from(entry.computed) + 1;
        world.add_adapter(&mut adapters, entry.id);
    }
    (steady.rank_sum, steady.any_adapter) = (adapters.rank_sum, adapters.any_adapter);
    adapters.members.clone_from(&steady.ids);
    adapters.decodes = steady.ids.len() as u32;
    steady.lora = replica.adapters.batch(world.trace, &replica.lockstep, &adapters);
    Some(steady)
}

/// For how many iterations, `most` at the most, nothing changes but that each request gets a token, until the last one ends.
pub(super) fn iterations_alike(replica: &mut Replica, world: &World<'_>, most: u32) -> u32 {
    let is_seen_through = replica.leaving.is_empty() && replica.state.vllm.deferred.is_empty();
    let Some(steady) = replica.state.vllm.steady.as_deref().filter(|_| is_seen_through) else { return 1 };
    let ends = steady.most_ended.saturating_sub(steady.ended_before + steady.ended);
    let forms = steady.most_formed - steady.formed;
    let mut most = most.min(ends.min(forms).saturating_add(1));
    if replica.line > 0 {
        most = most.min(head_stays(replica, world));
    }
    let Some(steady) = replica.state.vllm.steady.as_deref() else { return 1 };
    let mut left = replica.kv.available();
    // A request takes a block at the most in as many iterations as a block has tokens.
    let mut ahead = 0;
    while ahead + 1 < most {
        let blocks = steady.new_blocks(ahead);
        if blocks > left {
            break;
        }
        left -= blocks;
        ahead += 1;
    }
    (ahead + 1).min(most)
}

/// For how many iterations the head of the queue stays where it is, for what it lacked when the last one was formed.
fn head_stays(replica: &mut Replica, world: &World<'_>) -> u32 {
    let rules = world.config.vllm.unwrap_or_default();
    let is_looked_at_anew = rules.prefill_schedule_interval > 1
        || matches!(rules.long_prefill_token_threshold, LongPrefill::Share(_))
        || world.config.loads_ahead()
        || replica.waiting.takes_turns()
        || replica.stop.is_none();
    if is_looked_at_anew { 1 } else { replica.waiting.steady() }
}

/// So many iterations have ended, the last one now, and as many were formed.
pub(super) fn end_alike(replica: &mut Replica, world: &World<'_>, iterations: u32) -> u32 {
    let Replica { state, kv, .. } = replica;
    let State { steady, iterations: formed, looks, .. } = &mut state.vllm;
    let Some(steady) = steady.as_deref_mut() else { return 0 };
    let blocks: u32 = (0..iterations).map(|ahead| steady.new_blocks(ahead)).sum();
    let last = steady.new_blocks(iterations - 1);
    kv.take_unwritten(blocks);
    steady.blocks += blocks;
    steady.formed += iterations;
    steady.ended += iterations;
    steady.ended_at_last = steady.ended_before + steady.ended;
    steady.kv_tokens += u64::from(iterations) * steady.ids.len() as u64;
    steady.ended_us = world.now_us;
    *formed += u64::from(iterations);
    *looks += u64::from(iterations);
    last
}

/// An iteration ends in which every request gets a token and goes on. Says whether that is so; otherwise what was not
/// written down is.
pub(super) fn ends(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> bool {
    let is_left = !replica.leaving.is_empty();
    let goes_on = |steady: &Steady| !is_left && steady.ended_before + steady.ended < steady.most_ended;
    if !replica.state.vllm.steady.as_deref().is_some_and(goes_on) {
        settle(replica, world);
    }
    let is_one = replica.state.vllm.steady_of(flight).is_some();
    if !is_one {
        write_members(replica, world, flight);
    }
    let Some(steady) = replica.state.vllm.steady.as_deref_mut() else { return false };
    if !is_one {
        // The last one before them: its requests are written to, and none is done.
        steady.ended_before += 1;
        return false;
    }
    steady.ended += 1;
    steady.ended_us = world.now_us;
    true
}

/// Tells the requests of an iteration one by one, where that was put off.
fn write_members(replica: &Replica, world: &World<'_>, flight: &mut Flight) {
    if flight.steady.is_none() {
        return;
    }
    flight.scheduled = replica.state.vllm.steady_parts(world, flight);
    flight.members.extend(flight.scheduled.iter().map(|own| own.id));
}

/// Writes down what was put off.
pub(super) fn settle(replica: &mut Replica, world: &mut World<'_>) {
    let Replica { state, kv, .. } = replica;
    let state = &mut state.vllm;
    let Some(steady) = state.steady.take() else { return };
    let under_way = steady.formed - steady.ended;
    let is_async = world.config.vllm_engine().is_some_and(|rules| rules.async_scheduling);
    for &id in &steady.ids {
        let Some(place) = State::place(world, id) else { continue };
        let entry = state.entry(place);
        let learnt = entry.known - steady.ended_before + steady.ended_at_last;
        entry.computed += steady.formed;
        entry.known += steady.ended;
        entry.under_way += under_way;
        entry.awaited += if is_async { under_way } else { 0 };
        entry.held.take(world.config.blocks_for(entry.computed) - entry.held.count());
        if steady.formed > 0 {
            kv.learn_blocks(world.trace, id, learnt, &mut entry.held);
        }
        let i = id as usize;
        if steady.ended > 0 {
            world.requests.seen_us[i] = steady.ended_us;
        }
        if world.requests.place[i] == Place::Decoding {
            world.requests.done[i] = entry.known;
        }
    }
    state.was_steady = steady.ids;
}
