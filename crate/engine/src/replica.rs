//! One replica: its waiting line, the requests that hold memory, its KV blocks.
//!
//! A replica of one pipeline stage keeps the requests that decode in a [`Lockstep`]; one of several stages keeps them in
//! a list, from which up to as many batches as it has stages are in flight.

pub mod adapters;
pub(crate) mod batch_end;
pub(crate) mod decode_batch;
mod departures;
pub(crate) mod iteration;
pub(crate) mod kv_cache;
pub mod peak_memory;
mod preemption;
pub mod queue;
pub(crate) mod requests;
pub(crate) mod run;
pub(crate) mod scheduler;
pub(crate) mod world;

use servescope_cost::Chunk;
use servescope_workload::Trace;

use crate::config::FleetConfig;
use crate::record::timeline::{Hold, IterationRun};
use crate::replica::adapters::Adapters;
use crate::replica::decode_batch::Lockstep;
use crate::replica::iteration::Flight;
use crate::replica::kv_cache::KvCache;
use crate::replica::queue::waiting_queue::WaitingQueue;
use crate::replica::requests::Place;
use crate::replica::run::Run;
use crate::replica::world::World;
use crate::request::{Outcome, Stop};

/// The state of one replica.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct Replica {
    pub(crate) index: u16,
    pub(crate) stages: u32,
    keeps_lockstep: bool,
    /// Whether the scheduler writes down each iteration's tokens by itself.
    pub(crate) writes_every_iteration: bool,
    pub(crate) waiting: WaitingQueue,
    /// How many wait.
    pub(crate) line: u32,
    /// Whether memory became free after the last look at the line, by evictions that left nothing to do: the next arrival
    /// has the replica look again.
    pub(crate) looks_again: bool,
    /// What held the head of the line at the last look, as written down.
    pub(crate) stop: Option<Stop>,
    /// Requests whose clients went away and that are part of what the replica works on.
    pub(crate) leaving: Vec<u32>,
    /// Requests that decode and are in no flight, in the order of the policy. Of one stage: all that decode, and possibly
    /// some that are gone.
    pub(crate) running: Vec<u32>,
    /// Of one stage: half-read prompts that the last iteration had no room for; they stand before `running`.
    pub(crate) skipped: Vec<u32>,
    /// Of one stage: half-read prompts of the last iteration; they stand behind `running`.
    pub(crate) chunked: Vec<u32>,
    /// Half-read prompts set aside while an iteration is formed.
    pub(crate) aside: Vec<u32>,
    spare: Vec<u32>,
    /// Requests whose last token came with the iteration that ends; empty in between.
    pub(crate) ended: Vec<u32>,
    pub(crate) lockstep: Lockstep,
    pub(crate) kv: KvCache,
    pub(crate) adapters: Adapters,
    /// Whether the last look at the line passed over requests for whose adapters there is no LoRA slot.
    pub(crate) passes_over: bool,
    /// Requests that hold memory.
    pub(crate) holders: u32,
    /// Requests that wait or hold memory.
    pub(crate) outstanding: u32,
    /// Blocks that the prompts of the waiting line will take.
    pub(crate) promised: u64,
    /// Batches in the pipeline.
    pub(crate) in_flight: u32,
    /// Batches formed so far, of a replica that keeps no lockstep.
    pub(crate) formed: u64,
    /// What the scheduler keeps.
    pub(crate) state: scheduler::State,
    /// How long requests that decode stood still while prompts alone were processed, so far.
    pub(crate) stall_us: f64,
    /// Requests in the lockstep by the time of their last token: (how many, when).
    pub(crate) standing: Vec<(u32, f64)>,
    /// End of the last iteration in which the lockstep decoded.
    pub(crate) decoded_us: f64,
    /// The iterations since the batch last changed, the flight they share, how many are under way.
    pub(crate) run: Option<Run>,
    /// Iterations that are over and not yet written down, of one stage without a lockstep: others may follow them.
    pub(crate) open: Option<IterationRun>,
    /// What the run under way reads of prompts.
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) flight: Option<Box<Flight>>,
    pub(crate) leap: u32,
    /// Iterations under way whose tokens are charged.
    pub(crate) charged: u32,
    /// Number of the event that ends what is under way; others are stale.
    pub(crate) awaited: u64,
}

impl Replica {
    pub(crate) fn new(index: u16, config: &FleetConfig, trace: &Trace, stages: u32) -> Self {
        let adapters = Adapters::new(&config.policy().managed_adapters(config), config.block_size, trace);
        Self {
            index,
            stages,
            keeps_lockstep: stages == 1 && config.policy().keeps_lockstep(),
            writes_every_iteration: false,
            waiting: WaitingQueue::default().with_short_slots(adapters.has_short_slots(trace)),
            line: 0,
            looks_again: false,
            stop: None,
            leaving: Vec::new(),
            running: Vec::new(),
            skipped: Vec::new(),
            chunked: Vec::new(),
            aside: Vec::new(),
            spare: Vec::new(),
            ended: Vec::new(),
            lockstep: Lockstep::new(config.block_size),
            kv: KvCache::new(config),
            adapters,
            passes_over: false,
            holders: 0,
            outstanding: 0,
            promised: 0,
            in_flight: 0,
            formed: 0,
            state: scheduler::State::new(config, trace),
            stall_us: 0.0,
            standing: Vec::new(),
            decoded_us: f64::NEG_INFINITY,
            run: None,
            open: None,
            chunks: Vec::new(),
            flight: None,
            leap: 0,
            charged: 0,
            awaited: 0,
        }
    }

    /// Requests that decode in the iterations under way.
    pub(crate) fn decodes(&self) -> u32 {
        self.flight.as_ref().map_or(0, |flight| flight.decodes)
    }

    /// Whether it has one pipeline stage and keeps those who decode in a lockstep.
    pub(crate) fn is_single(&self) -> bool {
        self.keeps_lockstep
    }

    /// KV blocks in use at a time within the iterations under way.
    pub(crate) fn used_at(&self, config: &FleetConfig, now_us: f64) -> u32 {
        match &self.run {
            Some(run) if self.in_flight > 0 && self.leap > 1 => {
                let begun = run.first_end_from(now_us, run.done + self.leap) - run.done;
                self.kv.used() + config.policy().later_blocks(self, config, begun)
            }
            _ => self.kv.used(),
        }
    }

    /// Tokens in KV memory before an iteration: of one stage all, otherwise those of its own requests.
    pub(crate) fn kv_tokens(&self, flight: &Flight) -> u64 {
        let prompts: u64 = flight.chunks.iter().map(|c| u64::from(c.kv_tokens)).sum();
        prompts + if self.is_single() { self.lockstep.kv_tokens } else { flight.decode_kv_tokens }
    }

    /// Most requests in one batch: the stages share the cap. In the original a cap below their number serves nobody.
    pub(crate) fn batch_cap(&self, config: &FleetConfig) -> u32 {
        (config.max_requests / self.stages).max(u32::from(!config.original))
    }

    /// Whether `blocks` can be given to the head of the queue, beside its adapter. What would never fit above the watermark may use it when no other request
    /// holds memory, unless the original is wanted.
    pub(crate) fn has_room(&self, world: &World<'_>, id: u32, blocks: u32) -> bool {
        let config = world.config;
        let Some(free) = self.free_beside_adapter(world, id) else { return false };
        let need = u64::from(blocks) + u64::from(config.watermark_blocks);
        u64::from(free) >= need || (!config.original && self.holders == 0 && free >= blocks)
    }

    /// Blocks that are free once the adapter of a waiting request is in memory; `None` where it does not fit.
    pub(crate) fn free_beside_adapter(&self, world: &World<'_>, id: u32) -> Option<u32> {
        self.kv.available().checked_sub(self.adapters.blocks_to_load(world.adapter(id).0))
    }

    /// Why the head of the line does not join the iteration; `None`: it does.
    pub(crate) fn stop_of(
        &self,
        world: &World<'_>,
        flight: &Flight,
        has_budget: bool,
        has_room: bool,
    ) -> Option<Stop> {
        // Memory comes last: while one batch runs nothing else changes, and the answer stays the same.
        if self.holders >= world.config.max_requests || flight.size() >= self.batch_cap(world.config) {
            Some(Stop::RunningCap)
        } else if self.awaits_host(world) {
            Some(Stop::Memory)
        } else if !has_budget {
            Some(Stop::PromptBudget)
        } else if !has_room {
            Some(Stop::Memory)
        } else {
            None
        }
    }

    /// From now on the line stands for `stop`, or for no more than the next look at it.
    pub(crate) fn holds_for(&mut self, world: &mut World<'_>, stop: Option<Stop>) {
        if stop != self.stop {
            self.stop = stop;
            world.record.holds.push(Hold { start_us: world.now_us, replica: self.index, stop });
        }
    }

    /// The next request that may be admitted: the head of the line, or behind it the first for whose adapter there is a LoRA
    /// slot. Those before it are passed over and go back to their places when the iteration is formed.
    pub(crate) fn candidate(&mut self, world: &World<'_>) -> Option<u32> {
        let id = self.head(world)?;
        if self.adapters.admits(world.adapter(id).0) { Some(id) } else { self.pass_over(world) }
    }

    /// Passes the head of the queue over, for whose adapter there is no LoRA slot, and those behind it of which this is true,
    /// too; the request that comes after them is the head until the iteration is formed.
    pub(crate) fn pass_over(&mut self, world: &World<'_>) -> Option<u32> {
        self.passes_over = true;
        if self.adapters.admits_none() {
            return None;
        }
        self.waiting.skip_to_slots(world.trace, self.adapters.in_use(), |id| world.is_gone(id))
    }

    /// The head of the line.
    #[inline]
    pub(crate) fn head(&mut self, world: &World<'_>) -> Option<u32> {
        self.waiting.head(|id| world.is_gone(id))
    }

    /// A request joins the waiting line; says whether that can change what the replica does next. A line that stands still
    /// behind its head does so until something ends, whoever joins it, unless memory became free after the last look.
    pub(crate) fn enqueue(&mut self, world: &mut World<'_>, id: u32) -> bool {
        let was_empty = self.line == 0;
        self.charge_ended(world);
        world.requests.replica[id as usize] = self.index;
        self.line += 1;
        self.outstanding += 1;
        self.promised += u64::from(world.config.blocks_for(world.requests.prompt[id as usize]));
        let adapter = world.adapter(id).0;
        self.adapters.waits(adapter);
        if self.state.reads_mail() {
            return self.state.hears_of_arrival(id, world.now_us);
        }
        let head = if self.waiting.is_ranked() { self.head(world) } else { None };
        let is_unsteady = self.waiting.push(world.trace, id, world.now_us);
        // Where the whole line was passed over, or it is sorted, others than the head may be next.
        let may_pass = self.passes_over
            && self.adapters.admits(adapter)
            && (self.waiting.is_ranked() || self.stop == Some(Stop::LoraSlots));
        let has_other_head = was_empty || (self.waiting.is_ranked() && self.head(world) != head);
        if has_other_head {
            self.holds_for(world, None);
        }
        has_other_head || is_unsteady || self.looks_again || may_pass
    }

    /// Charges the clients of those who decode for the iterations under way that are over.
    pub(crate) fn charge_ended(&mut self, world: &World<'_>) {
        let Some(run) = &self.run else { return };
        if self.keeps_counters() && self.in_flight > 0 && self.decodes() > 0 {
            let next = run.first_end_from(world.now_us, run.done + self.leap);
            let is_over = world.ends_are_over && run.time_after(next) <= world.now_us;
            let over = next - run.done - u32::from(!is_over);
            self.charge(over.saturating_sub(self.charged));
            self.charged = self.charged.max(over);
        }
    }

    /// Charges the clients of those who decode for so many iterations.
    pub(crate) fn charge(&mut self, iterations: u32) {
        if !self.state.charge(iterations) {
            self.waiting.decoded(iterations);
        }
    }

    /// Whether clients are charged for what they are served.
    pub(crate) fn keeps_counters(&self) -> bool {
        self.waiting.keeps_counters() || self.state.keeps_counters()
    }

    /// Every client's counter.
    pub(crate) fn counters(&mut self) -> Vec<(u32, f64)> {
        self.state.counters().unwrap_or_else(|| self.waiting.counters())
    }

    /// Adapters in GPU memory, and the tokens' worth of the KV pool that they take.
    pub(crate) fn adapters_in_memory(&self) -> (u32, u32) {
        self.state
            .adapter_pool()
            .map_or_else(|| self.adapters.in_memory(), |pool| (pool.resident_count(), pool.resident_tokens()))
    }

    /// How often an adapter was loaded, and evicted.
    pub(crate) fn loads_and_evictions(&self) -> (u64, u64) {
        let adapters = &self.adapters;
        self.state
            .adapter_pool()
            .map_or((adapters.loads, adapters.evictions), |pool| (pool.loads, pool.evictions))
    }

    /// The head of the line gets `blocks` and its first chunk of `tokens`.
    pub(crate) fn admit(&mut self, world: &mut World<'_>, flight: &mut Flight, blocks: u32, tokens: u32) {
        if let Some(id) = self.leave_line(world) {
            self.start(world, flight, id, blocks, tokens);
        }
    }

    /// A request that has left the queue gets `blocks` and its first chunk of `tokens`.
    pub(crate) fn start(
        &mut self,
        world: &mut World<'_>,
        flight: &mut Flight,
        id: u32,
        blocks: u32,
        tokens: u32,
    ) {
        let i = id as usize;
        self.acquire_adapter(world, flight, id);
        self.kv.allocate(blocks);
        self.holders += 1;
        let requests = &mut *world.requests;
        requests.place[i] = Place::Prefilling;
        if requests.scheduled_us[i].is_nan() {
            requests.scheduled_us[i] = world.now_us;
            requests.seen_us[i] = world.now_us;
        } else {
            world.comes_back(id);
        }
        world.add_chunk(flight, id, tokens);
    }

    /// The adapter of a request that is admitted is loaded before the iteration, if it is not there.
    pub(crate) fn acquire_adapter(&mut self, world: &mut World<'_>, flight: &mut Flight, id: u32) {
        let (adapter, rank) = world.adapter(id);
        flight.load_us += self.adapters.acquire(&mut self.kv, adapter, rank, world.now_us);
    }

    /// The adapter of the head of the line is loaded while an iteration runs, if there is room for it.
    pub(crate) fn prefetch(&mut self, world: &World<'_>) {
        let Some(id) = self.head(world) else { return };
        let (adapter, rank) = world.adapter(id);
        let blocks = self.adapters.blocks_to_load(adapter);
        if world.config.policy().has_room_ahead(self, world, blocks) {
            self.adapters.prefetch(&mut self.kv, adapter, rank, world.now_us);
        }
    }

    /// An adapter that was loaded ahead for a request that is not the head of the queue any more is offloaded.
    pub(crate) fn keep_ahead(&mut self, world: &World<'_>) {
        if self.adapters.is_ahead() {
            let next = self.head(world).map(|id| world.adapter(id).0);
            self.adapters.keep_ahead(&mut self.kv, next);
        }
    }

    /// Every request of the lockstep decodes in the iteration.
    pub(crate) fn decode_lockstep(&mut self, flight: &mut Flight) {
        flight.decodes = self.lockstep.count;
        flight.decode_kv_tokens = self.lockstep.kv_tokens;
        flight.rank_sum += self.lockstep.rank_sum;
        flight.any_adapter |= self.lockstep.with_adapter > 0;
    }

    /// The running requests decode, in their order. While there is no block for one, the last of the list is evicted, and
    /// at the end the request itself. Half-read prompts are set aside.
    ///
    /// Returns whether the lockstep decoded without a look at its requests.
    pub(crate) fn decode_paged(
        &mut self,
        world: &mut World<'_>,
        flight: &mut Flight,
        by_arrival: bool,
    ) -> bool {
        let new_blocks = if world.config.grows() { self.lockstep.new_blocks(0) } else { 0 };
        if self.is_single() && (self.kv.available() > new_blocks || !world.config.grows()) {
            self.kv.allocate(new_blocks);
            self.decode_lockstep(flight);
            return true;
        }
        // Memory is short: nothing is loaded ahead.
        self.adapters.keep_ahead(&mut self.kv, None);
        let mut list = self.take_list(world);
        if by_arrival || self.waiting.ranks_holders() {
            world.sort(&mut list, &self.waiting);
        }
        let scheduler = world.config.policy();
        let cap = self.batch_cap(world.config);
        let (mut next, mut end, mut kept) = (0, list.len(), 0);
        while next < end && kept < cap {
            let id = list[next];
            next += 1;
            if world.requests.place[id as usize] == Place::Prefilling {
                self.aside.push(id);
                continue;
            }
            let takes = self.blocks_to_take(world, id);
            let asks = if scheduler.grows(world.config) { 1 } else { takes };
            while self.kv.available() < asks && next < end {
                end -= 1;
                self.evict(world, flight, list[end]);
            }
            if self.kv.available() < asks {
                self.evict(world, flight, id);
                continue;
            }
            self.kv.allocate(takes);
            kept += 1;
            if self.is_single() {
                self.running.push(id);
            } else {
                world.decode_member(flight, id);
            }
        }
        self.running.extend_from_slice(&list[next..end]);
        if self.is_single() {
            self.decode_lockstep(flight);
        }
        list.clear();
        self.spare = list;
        false
    }

    /// The list of the policy: who was skipped, who decodes, who was in the last iteration with a part of its prompt.
    fn take_list(&mut self, world: &World<'_>) -> Vec<u32> {
        let mut list = std::mem::take(&mut self.spare);
        list.append(&mut self.skipped);
        list.extend(self.running.drain(..).filter(|&id| world.requests.place[id as usize] != Place::Gone));
        list.append(&mut self.chunked);
        list
    }

    /// Tokens processed so far.
    pub(crate) fn tokens(&self, world: &World<'_>, id: u32) -> u32 {
        let i = id as usize;
        let done = world.requests.done[i];
        let in_lockstep = self.is_single() && world.requests.place[i] == Place::Decoding;
        if in_lockstep { done.wrapping_add(self.lockstep.step) } else { done }
    }

    fn blocks_to_take(&self, world: &World<'_>, id: u32) -> u32 {
        let is_full = (self.tokens(world, id) - 1).is_multiple_of(world.config.block_size);
        u32::from(is_full && world.config.grows())
    }

    /// Blocks that a request holds.
    pub(crate) fn blocks_of(&self, world: &World<'_>, id: u32) -> u32 {
        match world.requests.place[id as usize] {
            _ if !world.config.grows() => world.blocks_at_end(id),
            Place::Prefilling => world.config.blocks_for(world.requests.prompt[id as usize]),
            _ => world.config.blocks_for(self.tokens(world, id) - 1),
        }
    }

    /// A request that holds memory and is not done leaves the batch and gives its blocks back. Returns its tokens so far.
    pub(crate) fn leave_batch(&mut self, world: &mut World<'_>, id: u32, blocks: u32) -> u32 {
        self.close_run(world);
        let i = id as usize;
        let tokens = self.tokens(world, id);
        if world.requests.place[i] == Place::Decoding {
            if self.is_single() {
                self.lockstep.leave(world.member(id, tokens));
                self.waiting.decodes(world.trace, id, false);
                let token_us = self.decoded_us.max(world.requests.seen_us[i]);
                self.stands_no_more(token_us);
                world.requests.token_us.insert(id, token_us);
                world.requests.stalled_us[i] += self.stall_us;
                world.requests.seen_us[i] = world.now_us;
            } else {
                world.requests.token_us.insert(id, world.requests.seen_us[i]);
            }
        }
        self.kv.free(blocks);
        let (adapter, rank) = world.adapter(id);
        self.adapters.release(adapter, rank);
        self.holders -= 1;
        tokens
    }

    pub(crate) fn stands_no_more(&mut self, token_us: f64) {
        if let Some(place) = self.standing.iter().position(|s| s.1 == token_us) {
            self.standing[place].0 -= 1;
            if self.standing[place].0 == 0 {
                self.standing.remove(place);
            }
        }
    }

    /// The last token of a request in the lockstep is there.
    pub(crate) fn finish_decoding(&mut self, world: &mut World<'_>, id: u32) {
        let i = id as usize;
        let tokens = world.total(id);
        self.lockstep.leave(world.member(id, tokens));
        self.waiting.decodes(world.trace, id, false);
        self.stands_no_more(world.now_us);
        world.requests.stalled_us[i] += self.stall_us;
        world.config.policy().left(self, world, id, Some(tokens));
        let blocks = world.blocks_at_end(id);
        self.finish(world, id, blocks);
    }

    /// A request is done and gives `blocks` back.
    pub(crate) fn finish(&mut self, world: &mut World<'_>, id: u32, blocks: u32) {
        self.complete(world, id);
        self.kv.free(blocks);
        let (adapter, rank) = world.adapter(id);
        self.adapters.release(adapter, rank);
        self.holders -= 1;
        if self.is_single() && self.running.len() > 2 * self.lockstep.count as usize + 64 {
            let place = &world.requests.place;
            self.running.retain(|&id| place[id as usize] != Place::Gone);
        }
    }

    /// A request has its whole answer.
    pub(crate) fn complete(&mut self, world: &mut World<'_>, id: u32) {
        let produced = world.answer(id);
        world.requests.place[id as usize] = Place::Gone;
        let fate = &mut world.record.fates[id as usize];
        fate.finish_us = Some(world.now_us);
        fate.produced = produced;
        if fate.outcome == Outcome::Unfinished {
            fate.outcome = Outcome::Completed;
        }
        world.record.ends(id);
        self.waiting.ended(world.trace, id, produced, true);
        self.outstanding -= 1;
    }

    /// The prompts of an iteration that began at `formed_us` are further by their chunks.
    pub(crate) fn end_prompts(&mut self, world: &mut World<'_>, flight: &Flight) {
        let scheduler = world.config.policy();
        scheduler.prompts_end(self, world, flight);
        if flight.load_us > 0.0 && world.requests.load_us.is_empty() {
            world.requests.load_us = vec![0.0; world.trace.len()];
        }
        for (&id, chunk) in flight.prompts.iter().zip(&flight.chunks) {
            let i = id as usize;
            let requests = &mut *world.requests;
            requests.prefill_us[i] += world.now_us - flight.formed_us - flight.load_us;
            if let Some(load_us) = requests.load_us.get_mut(i) {
                *load_us += flight.load_us;
            }
            if let Some(worked_us) = requests.worked_us.get_mut(i) {
                *worked_us += flight.busy_us;
            }
            requests.seen_us[i] = world.now_us;
            requests.done[i] += chunk.tokens;
            if requests.done[i] < requests.prompt[i] {
                let list = if self.is_single() { &mut self.chunked } else { &mut self.running };
                list.push(id);
                continue;
            }
            // The end of the prompt gives a token.
            self.waiting.made_token(world.trace, id, requests.first_token_us[i].is_nan());
            if requests.first_token_us[i].is_nan() {
                requests.first_token_us[i] = world.now_us;
                world.record.has_first_token(id);
            } else if let Some(token_us) = requests.token_us.remove(&id)
                && !world.config.original
            {
                // Vidur leaves the gap across an eviction out of its times between tokens.
                world.record.gap(token_us, world.now_us, 1);
            }
            let tokens = requests.done[i] + 1;
            requests.done[i] = tokens;
            if tokens >= world.total(id) {
                scheduler.left(self, world, id, None);
                let blocks = world.blocks_at_end(id);
                self.finish(world, id, blocks);
                continue;
            }
            let requests = &mut *world.requests;
            requests.place[i] = Place::Decoding;
            if self.is_single() {
                requests.done[i] = tokens.wrapping_sub(self.lockstep.step);
                requests.stalled_us[i] -= self.stall_us;
                self.lockstep.join(world.member(id, tokens));
                self.waiting.decodes(world.trace, id, true);
                scheduler.joined(self, world, id);
                match self.standing.last_mut() {
                    Some(last) if last.1 == world.now_us => last.0 += 1,
                    _ => self.standing.push((1, world.now_us)),
                }
            }
            if scheduler.mixes_batches() || self.is_single() {
                self.running.push(id);
            }
        }
    }
}
