//! A batch of prompts (`_get_new_batch_prefill_raw` of managers/scheduler.py, `PrefillAdder` of managers/schedule_policy.py).

use servescope_workload::RequestId;

use super::batch::PromptBatch;
use super::request::Request;
use super::waiting_queue::sort_by_rank;
use super::{BlockReason, Replica, ScheduleContext, State};
use crate::config::sglang::SchedulePolicy;
use crate::record::decisions::{Compared, Test, Verdict};
use crate::replica::running_list::RunningList;

/// What is left for further prompts (`AddReqResult`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Budget {
    GoesOn,
    /// The tokens of prompts are used up.
    NoTokens,
    NoRoom,
}

/// A batch of prompts while it is put together.
struct Adder {
    /// Tokens of requests that run and were taken, and of what they are expected to need; and those needed now.
    total: f64,
    now: f64,
    /// Prompt tokens that are left, and of a single batch where prompts are cut.
    input: i64,
    chunk: Option<i64>,
    taken: Vec<RequestId>,
    preempted: Vec<RequestId>,
    new_chunked_request: Option<RequestId>,
    /// Waiting requests that were considered, from the head of the queue.
    scanned: usize,
    /// Of running and taken requests: tokens left to the end, and those held; where outputs have a known length.
    ends: Option<Vec<(f64, u32)>>,
}

/// What became of a waiting request, and what its test compared.
type Considered = (Budget, Compared);

impl State {
    /// Takes a batch of prompts; `None`: there is none.
    pub(super) fn take_prompts(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
    ) -> Option<PromptBatch> {
        self.stop = None;
        let preempts = self.preempts();
        if preempts || self.running.requests.is_empty() {
            self.running.is_full = false;
        }
        if self.chunked_request.is_none() {
            if self.waiting_queue.is_empty() {
                return None;
            }
            if self.running.is_full {
                self.stop = Some(self.full_for);
                return None;
            }
            let least =
                self.rules.min_free_slots_delay.map(|least| least.min(self.slots)).filter(|&least| least > 1);
            let waits_for_slots = least.is_some_and(|least| i64::from(least) > self.places(0));
            if waits_for_slots && !self.running.requests.is_empty() {
                self.stop = Some(BlockReason::RunningCap);
                return None;
            }
            if self.places(0) <= 0 && !preempts {
                self.is_full_for(BlockReason::RunningCap);
                self.stop = Some(BlockReason::RunningCap);
                self.tell_cap(replica, context, 0 - self.places(0));
                return None;
            }
        }
        self.sort_waiting_queue();
        let mut adder = self.begin();
        self.take_chunked_request(&mut adder);
        self.admit_waiting(&mut adder, list, replica, context);
        if adder.taken.is_empty() {
            for id in adder.preempted {
                self.enters(replica, context, id);
            }
            return None;
        }
        self.remove_admitted(&adder);
        for id in adder.preempted {
            self.enters(replica, context, id);
        }
        if adder.new_chunked_request.is_some() {
            self.chunked_request = adder.new_chunked_request;
        }
        if let Some(id) = self.chunked_request {
            self.of_mut(id).pieces += 1;
        }
        self.allocate(adder.taken, list, replica, context)
    }

    /// Whether the waiting queue is scanned, or the chunked request goes on.
    pub(super) fn takes_prompts(&self) -> bool {
        let is_full = self.running.is_full && !self.preempts() && !self.running.requests.is_empty();
        self.chunked_request.is_some()
            || self.chunked_request_leaves.is_some()
            || !(self.waiting_queue.is_empty() || is_full)
    }

    /// Whether running requests may lose their slots to better ones.
    pub(super) fn preempts(&self) -> bool {
        self.rules.enable_priority_scheduling && self.rules.priority_scheduling_preemption_threshold.is_some()
    }

    /// How many requests may join, `held` of which have a slot.
    fn places(&self, held: u32) -> i64 {
        let by_running = i64::from(self.slots) - self.running.requests.len() as i64;
        by_running.min(i64::from(self.free_slots + held))
    }

    fn is_full_for(&mut self, reason: BlockReason) {
        self.running.is_full = true;
        self.full_for = reason;
    }

    /// No request joins: `beyond` more than may have joined already, or would.
    fn tell_cap(&self, replica: &Replica, context: &mut ScheduleContext<'_>, beyond: i64) {
        let needed = i64::from(self.slots) + beyond + 1;
        context.queue_waits(replica.index, || Compared::new(Test::RunningCap, needed as u32, self.slots));
    }

    /// Tokens that a running request is expected to need still.
    fn expected(&self, id: RequestId) -> f64 {
        self.of(id).expected(self.rules.clip_max_new_tokens, self.ratio)
    }

    fn begin(&self) -> Adder {
        let mixes = self.rules.enable_mixed_chunk && self.rules.chunked_prefill_size.is_some();
        let riding = if mixes { self.running.requests.len() as i64 } else { 0 };
        let expected: f64 = self.running.requests.iter().map(|&id| self.expected(id)).sum();
        Adder {
            total: riding as f64 + expected,
            now: riding as f64,
            input: i64::from(self.rules.max_prefill_tokens) - riding,
            chunk: self.rules.chunked_prefill_size.map(|size| i64::from(size) - riding),
            taken: Vec::new(),
            preempted: Vec::new(),
            new_chunked_request: None,
            scanned: 0,
            ends: None,
        }
    }

    fn left_in_all(&self, adder: &Adder) -> f64 {
        f64::from(self.memory.available()) - adder.total
    }

    fn left_now(&self, adder: &Adder) -> f64 {
        f64::from(self.memory.available()) - adder.now
    }

    fn budget(&self, adder: &Adder) -> Budget {
        if self.left_in_all(adder) <= 0.0 || self.left_now(adder) <= 0.0 {
            Budget::NoRoom
        } else if adder.input <= 0 || adder.chunk.is_some_and(|chunk| chunk <= 0) {
            Budget::NoTokens
        } else {
            Budget::GoesOn
        }
    }

    fn charge(&self, adder: &mut Adder, tokens: u32, to_come: u32) {
        let (tokens, page) = (self.memory.up(tokens), self.memory.page());
        adder.total += f64::from(tokens + page) + f64::from(to_come);
        adder.now += f64::from(tokens + page);
        adder.input -= i64::from(tokens);
        adder.chunk = adder.chunk.map(|chunk| chunk - i64::from(tokens));
    }

    /// The chunked request goes on first.
    fn take_chunked_request(&mut self, adder: &mut Adder) {
        let Some(id) = self.chunked_request else { return };
        let left_for_others = self.left_for_short_ones(adder, id);
        let in_all = self.left_in_all(adder) as i64;
        let chunk = adder.chunk.unwrap_or(i64::MAX);
        let mut most = chunk.min(in_all);
        if most <= 0 {
            most = chunk;
        }
        if let Some(limit) = left_for_others {
            most = most.min(limit);
        }
        let own = self.of_mut(id);
        own.seen = own.fill();
        let left = i64::from(own.fill() - own.prefix);
        let tokens = left.min(most).max(0) as u32;
        own.end = own.prefix + tokens;
        let is_last = left <= most;
        let max_new = own.max_new;
        adder.taken.push(id);
        let to_come = if is_last { max_new.min(self.rules.clip_max_new_tokens) } else { 0 };
        self.charge(adder, tokens, to_come);
        self.chunked_request = (!is_last).then_some(id);
    }

    /// Under shortest prefill first a long prompt leaves room for short ones at the head of the queue: how many tokens it may have then.
    fn left_for_short_ones(&self, adder: &Adder, id: RequestId) -> Option<i64> {
        let (page, chunk) = (i64::from(self.memory.page()), adder.chunk?);
        if self.policy() != SchedulePolicy::ShortestPrefill || chunk < 2 * page {
            return None;
        }
        let own = self.of(id);
        let rest = own.fill() - own.prefix;
        let mut kept = 0;
        for other in self.waiting_queue.iter().map(|&other| self.of(other)) {
            let tokens = i64::from(self.memory.up(other.work()));
            if other.work() >= rest || kept + tokens > chunk - page {
                break;
            }
            kept += tokens;
        }
        (kept > 0).then_some((chunk - kept).div_euclid(page) * page)
    }

    /// Admits waiting requests in the order of the queue, until one does not fit.
    fn admit_waiting(
        &mut self,
        adder: &mut Adder,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
    ) {
        let running = self.running.requests.iter().map(|&id| self.of(id)).filter(|own| own.done.is_none());
        let mut adapters: Vec<u32> = running.map(|own| own.adapter).collect();
        adapters.extend(adder.taken.iter().map(|&id| self.of(id).adapter));
        adapters.sort_unstable();
        adapters.dedup();
        let slots = replica.adapters.max_loras();
        let most_adapters = self.rules.max_loras_per_batch.map_or(slots, |most| most.min(slots));
        let most_adapters = Some(most_adapters).filter(|&most| most < u32::MAX);
        while let Some(&id) = self.waiting_queue.get(adder.scanned) {
            adder.scanned += 1;
            if self.budget(adder) == Budget::NoTokens {
                self.stop = Some(BlockReason::PromptBudget);
                context.queue_waits(replica.index, || Compared::new(Test::TokenBudget, 1u32, 0u32));
                return;
            }
            let adapter = self.of(id).adapter;
            let is_new = !adapters.contains(&adapter);
            if let Some(most) = most_adapters.filter(|&most| is_new && adapters.len() >= most as usize) {
                self.stop.get_or_insert(BlockReason::LoraSlots);
                let compared = Compared::new(Test::LoraSlots, adapters.len() + 1, most);
                context.decided(replica.index, id, Verdict::Skipped, || compared);
                continue;
            }
            let with_slot = adder.taken.iter().filter(|&&other| self.of(other).has_slot).count() as u32;
            let beyond = adder.taken.len() as i64 - self.places(with_slot);
            if beyond >= 0 {
                self.is_full_for(BlockReason::RunningCap);
            }
            if self.running.is_full
                && !(self.preempts() && self.preempts_for(adder, list, replica, context, id))
            {
                self.stop = Some(self.full_for);
                if self.full_for == BlockReason::RunningCap {
                    self.tell_cap(replica, context, beyond.max(0));
                }
                return;
            }
            self.look_up(id);
            let (verdict, compared) = self.consider(adder, id);
            let is_taken = adder.taken.last() == Some(&id);
            let told = if is_taken { Verdict::Admitted } else { Verdict::Waits };
            context.decided(replica.index, id, told, || compared);
            if is_new && most_adapters.is_some() {
                adapters.push(adapter);
            }
            if verdict == Budget::GoesOn {
                continue;
            }
            if verdict == Budget::NoRoom {
                self.running.is_full = !adder.taken.is_empty() || !self.running.requests.is_empty();
                self.full_for = BlockReason::Memory;
            }
            let waits_for =
                if verdict == Budget::NoRoom { BlockReason::Memory } else { BlockReason::PromptBudget };
            let has_more = !is_taken || self.waiting_queue.last() != Some(&id);
            self.stop = Some(waits_for).filter(|_| has_more).or(self.stop);
            return;
        }
    }

    /// Admitted requests leave the waiting queue; those that were passed over stay.
    fn remove_admitted(&mut self, adder: &Adder) {
        let stays = |id: &RequestId| !adder.taken.contains(id);
        let passed: Vec<RequestId> = self.waiting_queue.drain(..adder.scanned).filter(stays).collect();
        self.waiting_queue.splice(..0, passed);
    }

    /// What the tree has of a waiting request; at least one token is computed.
    fn look_up(&mut self, id: RequestId) {
        let Some(own) = self.requests.get_mut(&id) else { return };
        own.seen = own.fill();
        let most = own.fill().saturating_sub(1);
        self.memory.look_up(own, most);
        own.matched = own.prefix.min(most);
        own.owned = own.prefix;
    }

    /// Takes a waiting request if it fits.
    fn consider(&mut self, adder: &mut Adder, id: RequestId) -> Considered {
        let taken = adder.taken.len();
        if let Some(most) = self.rules.prefill_max_requests.filter(|&most| taken >= most as usize) {
            return (Budget::NoTokens, Compared::new(Test::PromptCount, taken + 1, most));
        }
        let own = self.of(id).clone();
        let (clip, page) = (self.rules.clip_max_new_tokens, self.memory.page());
        let mut tokens = own.fill() - own.prefix;
        if own.ignore_eos && !self.memory.caches() {
            return self.consider_known_length(adder, &own, tokens);
        }
        let need = tokens + own.max_new.saturating_sub(own.out).min(clip) + page;
        let left = f64::from(self.memory.available_beside_prefix(&own)) - adder.total;
        // A whole number is below both or neither of them.
        let compared = Compared::new(Test::ExpectedTokens, need, left.ceil().max(0.0) as u32);
        if f64::from(need) >= left {
            return (Budget::NoRoom, compared);
        }
        let mut to_come = own.max_new.min(clip);
        let rounded = i64::from(self.memory.up(tokens));
        match adder.chunk {
            None if taken > 0 && rounded >= adder.input => {
                return (
                    Budget::NoTokens,
                    Compared::new(Test::TokenBudget, rounded as u32, (adder.input - 1).max(0) as u32),
                );
            }
            Some(chunk) if rounded > chunk => {
                let whole = self.memory.down(chunk.max(0) as u32);
                let cuts_one = self.rules.schedule_policy == SchedulePolicy::ShortestPrefill
                    && self.chunked_request.is_some();
                if cuts_one || whole == 0 {
                    return (
                        Budget::NoTokens,
                        Compared::new(Test::TokenBudget, rounded as u32, chunk.max(0) as u32),
                    );
                }
                (tokens, to_come) = (whole, 0);
                adder.new_chunked_request = Some(id);
            }
            _ => {}
        }
        self.take(adder, id, tokens, to_come);
        (self.budget(adder), compared)
    }

    fn take(&mut self, adder: &mut Adder, id: RequestId, tokens: u32, to_come: u32) {
        if let Some(own) = self.requests.get_mut(&id) {
            own.end = own.prefix + tokens;
            self.memory.lock_prefix(own);
        }
        adder.taken.push(id);
        self.charge(adder, tokens, to_come);
    }

    /// The same without a cache, of an output whose length is known: a look ahead at when each request ends
    /// (`add_one_req_ignore_eos`).
    fn consider_known_length(&mut self, adder: &mut Adder, own: &Request, tokens: u32) -> Considered {
        let need = f64::from(self.memory.up(tokens) + self.memory.page());
        let have = self.left_now(adder).min(self.left_in_all(adder));
        let compared = Compared::without_numbers(Test::ExpectedTokens);
        if need > have {
            return (Budget::NoRoom, compared);
        }
        let ratio = self.ratio;
        let state = |other: &Request| {
            let share = if other.ignore_eos { 1.0 } else { ratio };
            let left = f64::from(other.max_new) * share - f64::from(other.out);
            (left > 0.0).then_some((left, other.fill()))
        };
        let ends = match adder.ends.take() {
            None => {
                let others = self.running.requests.iter().chain(&adder.taken).map(|&id| self.of(id));
                let mut all: Vec<(f64, u32)> = std::iter::once(own).chain(others).filter_map(state).collect();
                all.sort_by(|one, other| one.0.total_cmp(&other.0));
                all
            }
            Some(mut all) => {
                if let Some(this) = state(own) {
                    let at = all.iter().position(|other| this.0 <= other.0);
                    all.insert(at.unwrap_or(all.len().saturating_sub(1)), this);
                }
                all
            }
        };
        let (mut freed, have) = (0.0, self.left_now(adder) - need);
        let mut fits = true;
        for (place, &(left, holds)) in ends.iter().enumerate() {
            let count = (ends.len() - place) as f64;
            if have + freed - left * count <= count {
                fits = false;
                break;
            }
            freed += f64::from(holds);
        }
        adder.ends = Some(ends);
        if !fits {
            return (Budget::NoRoom, compared);
        }
        let whole = adder.chunk.is_none_or(|chunk| i64::from(tokens) <= chunk);
        let (chunk, to_come) = match adder.chunk {
            Some(chunk) if !whole && chunk <= 0 => {
                return (Budget::NoTokens, Compared::new(Test::TokenBudget, tokens, 0u32));
            }
            Some(chunk) if !whole => (chunk as u32, 0),
            _ => (tokens, own.max_new.min(self.rules.clip_max_new_tokens)),
        };
        if !whole {
            adder.new_chunked_request = Some(own.id());
        }
        self.take(adder, own.id(), chunk, to_come);
        (self.budget(adder), compared)
    }

    /// Running requests that are worse by more than the threshold give up their slots for a waiting one, if they would free enough
    /// memory for it (`preempt_to_schedule`). Says whether that is so.
    fn preempts_for(
        &mut self,
        adder: &mut Adder,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
    ) -> bool {
        let Some(threshold) = self.rules.priority_scheduling_preemption_threshold else { return false };
        let is_running = |id: &RequestId| !adder.preempted.contains(id) && self.of(*id).done.is_none();
        let mut candidates: Vec<RequestId> =
            self.running.requests.iter().copied().filter(is_running).collect();
        sort_by_rank(&mut candidates, |id| [-self.rank(self.of(id)), -self.of(id).entered.cast_signed(), 0]);
        let own = self.of(id);
        let tokens = f64::from(own.seen) - f64::from(own.prefix)
            + f64::from(own.max_new.min(self.rules.clip_max_new_tokens));
        let mut missing = tokens - self.left_in_all(adder);
        let mut chosen = Vec::new();
        for other in candidates {
            if self.rank(self.of(other)) - self.rank(own) <= i64::from(threshold) {
                break;
            }
            chosen.push(other);
            missing -= self.expected(other);
            if missing <= 0.0 {
                break;
            }
        }
        if chosen.is_empty() || missing > 0.0 {
            return false;
        }
        let running = std::mem::take(&mut self.running.requests);
        let (total, mut gone) = (running.len(), 0);
        for other in running {
            if chosen.contains(&other) {
                adder.total -= self.expected(other);
                gone += 1;
                let compared = Compared::new(Test::RunningCap, self.slots + 1, self.slots);
                self.send_back(list, replica, context, (other, Some(id), compared), (total - gone) as u32);
            } else {
                self.running.requests.push(other);
            }
        }
        adder.preempted.extend(chosen);
        true
    }
}
