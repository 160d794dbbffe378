//! What is decided, and what a batch that ends brings (`get_next_batch_to_run` of managers/scheduler.py,
//! managers/scheduler_components/batch_result_processor.py).

use servescope_workload::RequestId;

use super::batch::{Batch, LastBatch, PromptBatch, UnderWay};
use super::request::Done;
use super::{Replica, ScheduleContext, ScheduledBatch, State};
use crate::record::request_state::RequestStatus;
use crate::replica::iteration::Scheduled;
use crate::replica::running_list::RunningList;

impl State {
    /// Decides the next batch.
    pub(super) fn form(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) {
        loop {
            let chosen = std::mem::take(&mut batch.scheduled);
            let chosen = self.decide(list, replica, context, batch, chosen);
            let is_empty = chosen.is_empty() && batch.steady.is_none();
            list.commit(replica, context, batch, chosen);
            // A decision that only counts down comes at once behind another one, as nothing is under way.
            let counts_down = self.decodes_to_come > 0
                && (self.chunked_request.is_some() || !self.waiting_queue.is_empty());
            if !is_empty || !self.under_way.is_empty() || !counts_down {
                break;
            }
        }
        if batch.steady.is_none() {
            self.show_memory(list, context);
        }
    }

    /// Whether all that the next iterations do is that the running requests decode, as far as is known now.
    fn decodes_alike(&self) -> bool {
        let count = self.running.requests.len() as u32;
        let ends = |id: &RequestId| {
            let own = self.of(*id);
            self.rules.overlap_schedule && own.out + 1 >= own.max_new && !self.under_way.is_empty()
        };
        !self.takes_prompts()
            && self.decodes_to_come == 0
            && count > 0
            && self.memory.free() >= count * self.memory.page()
            && !self.running.requests.iter().any(|id| ends(id) || self.of(*id).is_ending)
    }

    /// For how many more decisions that stays so, if no message comes and no request ends.
    pub(super) fn decodes_to_decide(&self) -> u32 {
        if !self.decodes_alike() || self.under_way.iter().any(|batch| batch.prompts > 0) {
            return 0;
        }
        let (count, page) = (self.running.requests.len() as u32, self.memory.page());
        // A request takes a page at the most in as many decodes as a page has tokens.
        let by_memory = match page {
            1 => self.memory.free() / count,
            _ => (self.memory.free() / (count * page)).saturating_sub(1) * page,
        };
        let left = |id: &RequestId| (self.of(*id).max_new - self.of(*id).out).saturating_sub(2);
        let by_ends = self.running.requests.iter().map(left).min().unwrap_or(0);
        if self.rules.overlap_schedule { by_memory.min(by_ends) } else { by_memory }
    }

    /// So many batches have ended in which all running requests decoded, and as many more of them were decided.
    pub(super) fn decoded(&mut self, ended: u32, decided: u32) {
        let mut pages = 0;
        for id in &self.running.requests {
            if let Some(own) = self.requests.get_mut(id) {
                own.out += ended;
                pages += self.memory.up(own.kv + decided) - self.memory.up(own.kv);
                own.kv += decided;
            }
        }
        let taken = self.memory.take(pages);
        debug_assert!(taken, "there is room to decode");
        for _ in 0..decided {
            self.decays();
        }
        self.prefilled += self.running.tokens * u64::from(decided);
    }

    fn decide(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        mut chosen: Vec<Scheduled>,
    ) -> Vec<Scheduled> {
        self.chunked_request_leaves(list, replica, context);
        self.join_running();
        let prompts = if self.decodes_to_come > 0 && self.running.requests.len() >= self.least_to_decode() {
            self.decodes_to_come -= 1;
            None
        } else {
            self.decodes_to_come = 0;
            if self.takes_prompts() {
                list.settle(replica, context);
            }
            self.take_prompts(list, replica, context)
        };
        if let Some(prompts) = prompts {
            self.decodes_to_come = self.rules.prefill_decode_interval;
            self.choose_prompts(list, replica, context, batch, prompts, &mut chosen);
            return chosen;
        }
        if self.decodes_alike() && list.form_steady(replica, context, batch, u32::MAX) {
            list.formed_beside(&[]);
            self.decoded(0, 1);
            self.under_way.push_back(UnderWay { requests: self.running.requests.clone(), prompts: 0 });
            self.last = LastBatch::Running;
            return chosen;
        }
        list.settle(replica, context);
        if !self.running.requests.is_empty() && self.decode(list, replica, context) {
            let requests = self.running.requests.clone();
            self.prefilled += self.running.tokens;
            for &id in &requests {
                chosen.push(self.decode_of(id));
            }
            self.under_way.push_back(UnderWay { requests, prompts: 0 });
            self.last = LastBatch::Running;
        } else {
            self.last = LastBatch::None;
        }
        chosen
    }

    fn least_to_decode(&self) -> usize {
        self.rules.prefill_decode_interval_min_bs as usize
    }

    fn decode_of(&self, id: RequestId) -> Scheduled {
        let computed = self.of(id).kv - 1;
        Scheduled { id, tokens: 1, computed, makes_token: true, ..Scheduled::default() }
    }

    /// The client of the chunked request has gone.
    fn chunked_request_leaves(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
    ) {
        let Some(id) = self.chunked_request_leaves.take() else { return };
        if self.chunked_request == Some(id) {
            let own = self.of_mut(id);
            (own.done, own.is_ending) = (Some(Done::Aborted), false);
            self.release(id, false);
            self.chunked_request = None;
            list.abort(replica, context, id);
            self.goes(id);
        } else if self.requests.get(&id).is_some_and(|own| own.done.is_none() && own.has_slot) {
            self.abort_running(id);
        }
    }

    /// Requests of the last batch whose prompts are prefilled join the running requests; those that have gone leave them.
    fn join_running(&mut self) {
        let is_there =
            |state: &Self, id: &RequestId| state.requests.get(id).is_some_and(|own| own.done.is_none());
        if let Some(id) = self.chunked_request
            && let Some(own) = self.requests.get_mut(&id)
            && own.end > own.prefix
        {
            self.memory.checkpoint(own, own.end);
            own.prefix = own.end;
        }
        if let LastBatch::Prompts(PromptBatch { batch: mut last, chunked_request }) =
            std::mem::replace(&mut self.last, LastBatch::None)
        {
            let before = last.requests.len();
            let is_chunked =
                |id: &RequestId| Some(*id) == chunked_request || Some(*id) == self.chunked_request;
            last.requests.retain(|id| is_there(self, id) && !is_chunked(id));
            if last.requests.len() < before {
                self.running.is_full = false;
            }
            if !last.requests.is_empty() {
                if self.running.requests.is_empty() {
                    self.running = last;
                } else {
                    self.running.requests.append(&mut last.requests);
                }
            }
        }
        let before = self.running.requests.len();
        let mut running = std::mem::take(&mut self.running.requests);
        running.retain(|id| is_there(self, id));
        self.running.requests = running;
        if self.running.requests.len() < before {
            self.running.is_full = false;
        }
    }

    /// Those that were taken get memory, and running requests ride along where they may.
    pub(super) fn allocate(
        &mut self,
        taken: Vec<RequestId>,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
    ) -> Option<PromptBatch> {
        let tokens: u32 = taken.iter().map(|&id| self.of(id).end - self.of(id).prefix).sum();
        let page = self.memory.page();
        self.memory.evict_until(if page == 1 { tokens } else { tokens + taken.len() as u32 * page });
        let mut requests = Vec::with_capacity(taken.len());
        for id in taken {
            let own = self.of(id);
            let wanted = self.memory.up(own.end) - self.memory.up(own.prefix);
            if !self.memory.take(wanted) {
                // SGLang ends with an error here: decodes between the pieces of a prompt took what it was admitted for.
                if self.chunked_request == Some(id) {
                    self.chunked_request = None;
                }
                self.runs_out_of_memory(list, replica, context, id);
                continue;
            }
            let is_new = !self.of(id).has_slot;
            self.free_slots -= u32::from(is_new);
            let own = self.of_mut(id);
            (own.has_slot, own.kv, own.is_retracted) = (true, own.end, false);
            requests.push(id);
        }
        let batch = Batch { requests, is_full: false, tokens: tokens.into() };
        (!batch.requests.is_empty()).then_some(PromptBatch { batch, chunked_request: self.chunked_request })
    }

    /// The prompts of a batch are in the iteration, and the running requests where they ride along.
    fn choose_prompts(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        mut prompts: PromptBatch,
        chosen: &mut Vec<Scheduled>,
    ) {
        for &id in &prompts.batch.requests {
            let own = self.of(id);
            // A rejected one makes no token.
            let more = u32::from(own.sequence.placeholder.is_some());
            let (tokens, computed, known) = (own.end - own.prefix, own.prefix, own.fill() + more);
            let is_admitted = list.running_place(context, id).is_none();
            if is_admitted {
                replica.leaves_queue(context, id);
                let (adapter, rank) = context.adapter(id);
                batch.load_us += replica.adapters.acquire(&mut replica.kv, adapter, rank, context.now_us);
                context.requests.finds(id, computed, 0);
                self.lookups.tokens += u64::from(known);
                self.lookups.cached_tokens += u64::from(computed);
                let held = replica.kv.no_blocks();
                list.admit(replica, context, (id, known, computed), held);
            }
            chosen.push(Scheduled {
                id,
                tokens,
                computed,
                is_prompt: true,
                is_admitted,
                ..Scheduled::default()
            });
        }
        let count = prompts.batch.requests.len();
        if self.rides_along(list, replica, context) {
            let running = std::mem::take(&mut self.running.requests);
            for &id in &running {
                chosen.push(self.decode_of(id));
                let own = self.of_mut(id);
                (own.seen, own.end) = (own.fill(), own.kv);
            }
            prompts.batch.tokens += running.len() as u64;
            prompts.batch.requests.extend(running);
            self.running = Batch { is_full: self.running.is_full, ..Batch::default() };
        }
        // Each has a token more, which goes in with its next decode.
        batch.idle_kv_tokens = self.running.requests.iter().map(|&id| u64::from(self.of(id).kv + 1)).sum();
        self.prefilled += prompts.batch.tokens;
        self.under_way.push_back(UnderWay { requests: prompts.batch.requests.clone(), prompts: count });
        self.last = LastBatch::Prompts(prompts);
    }

    /// Whether the running requests decode in a batch of prompts: where that is asked for, and there is memory.
    fn rides_along(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &ScheduleContext<'_>,
    ) -> bool {
        let mixes = self.rules.enable_mixed_chunk && self.rules.chunked_prefill_size.is_some();
        if !mixes || self.running.requests.is_empty() {
            return false;
        }
        if self.without_those_that_end(list, replica, context) {
            self.running.is_full = false;
        }
        let running = std::mem::take(&mut self.running.requests);
        let rides = !running.is_empty() && self.has_room_to_decode(&running);
        self.running.requests = running;
        if rides {
            self.grow();
        }
        rides
    }

    /// A batch has ended: its requests have their tokens.
    pub(super) fn end_batch(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
    ) {
        let Some(UnderWay { requests, prompts }) = self.under_way.pop_front() else { return };
        self.ended_us = context.now_us;
        let has_prompts = prompts > 0;
        for (place, id) in requests.into_iter().enumerate() {
            let Some(own) = self.requests.get_mut(&id) else { continue };
            if own.is_retracted || own.done.is_some() && own.pieces == 0 {
                continue;
            }
            if has_prompts && own.pieces > 0 {
                own.pieces -= 1;
                continue;
            }
            own.out += 1;
            if own.done.is_none() {
                let stops = own.stops_with == Some(own.out) && !own.ignore_eos;
                if own.is_ending {
                    (own.done, own.is_ending) = (Some(Done::Aborted), false);
                } else if stops || own.out >= own.max_new {
                    own.done = Some(Done::Complete);
                }
            }
            let done = own.done;
            if done.is_some() {
                self.release(id, true);
                if context.requests[id].status != RequestStatus::Finished {
                    list.abort(replica, context, id);
                }
                self.goes(id);
            } else if has_prompts && place < prompts {
                let own = self.of_mut(id);
                let end = own.end;
                own.prefix = end;
                if let Some(own) = self.requests.get_mut(&id) {
                    self.memory.checkpoint(own, end);
                }
                self.show_memory_of(list, context, id);
            }
        }
    }

    /// What requests hold is shown by the list: their own pages behind those of the tree.
    fn show_memory(&self, list: &mut RunningList, context: &ScheduleContext<'_>) {
        let chunked_request = self.chunked_request.iter();
        let last = match &self.last {
            LastBatch::Prompts(last) => &last.batch.requests[..],
            _ => &[],
        };
        for &id in self.running.requests.iter().chain(last).chain(chunked_request) {
            self.show_memory_of(list, context, id);
        }
    }

    fn show_memory_of(&self, list: &mut RunningList, context: &ScheduleContext<'_>, id: RequestId) {
        let page = self.memory.page();
        if let (Some(own), Some(place)) = (self.requests.get(&id), list.running_place(context, id)) {
            let in_tree = own.owned / page;
            list.entry(place).held.keep_plain(in_tree, own.kv.div_ceil(page) - in_tree);
        }
    }
}
