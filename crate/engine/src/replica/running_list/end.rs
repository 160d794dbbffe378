//! What a batch does to its requests when it begins and when it ends.

use crate::record::work_time::WorkTime;
use servescope_workload::RequestId;

use super::{
    Replica, RequestStatus, RunningList, RunningRequest, ScheduleContext, Scheduled, ScheduledBatch,
};
use crate::config::speculation;
use crate::record::request_phases::PrefillPhase;
use crate::record::timeline::IterationRun;
use crate::replica::batch_end::share_iteration;
use crate::replica::batch_scheduler::BatchEvent;
use crate::replica::run::written;

/// The first stage takes a batch: requests that wait for it wait no more.
pub(crate) fn begins(replica: &Replica, context: &mut ScheduleContext<'_>, batch: &ScheduledBatch) {
    debug_assert!(replica.in_flight > 0, "a batch that begins is under way");
    for scheduled in &batch.scheduled {
        let i = scheduled.id.index();
        if !scheduled.is_admitted || context.requests[i].status == RequestStatus::Finished {
            continue;
        }
        if context.requests[i].leg.scheduled_us.is_nan() {
            context.requests[i].leg.scheduled_us = context.now_us;
            context.requests[i].updated_us = context.now_us;
        } else {
            context.resume(scheduled.id);
        }
    }
}

impl RunningList {
    /// The last stage is done with a batch. Clients that went away meanwhile get no token of it.
    pub(crate) fn end_batch(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) {
        replica.in_flight -= 1;
        if batch.load_us > 0.0 && context.requests.load_us.is_empty() {
            context.requests.load_us = vec![0.0; context.trace.len()];
        }
        let blocks = replica.kv.used();
        self.free_fenced(replica);
        let others = self.end_steady(replica, context, batch);
        for id in std::mem::take(&mut replica.pending_aborts) {
            match context.requests[id].status {
                RequestStatus::Finished => continue,
                // A batch that was formed meanwhile has preempted it.
                RequestStatus::Waiting => {
                    replica.drop_waiting(context, id);
                    let outcome = context.record.results[id].outcome;
                    replica.happened(context, BatchEvent::Dropped(id, outcome));
                    continue;
                }
                _ => {}
            }
            if let Some(own) = batch.scheduled.iter().find(|own| own.id == id) {
                account(context, batch, own);
                self.settle(replica, context);
                if let Some(place) = Self::place(context, id) {
                    self.entry(place).under_way -= own.tokens;
                }
            }
            self.release_aborted(replica, context, id);
        }
        let holders = replica.num_running;
        let (mut fresh, mut further) = (others, 0);
        for own in &batch.scheduled {
            let given = end_of(self, replica, context, batch, own);
            fresh += u32::from(given.follow);
            if given.tokens > 1 {
                further += given.tokens - 1;
                context.requests.drafts[own.id].further_tokens += given.tokens - 1;
            }
        }
        batch.decode_tokens += further;
        if replica.num_running < holders {
            for &id in batch.members.iter().chain(&batch.prompts) {
                if context.requests[id].status == RequestStatus::Decoding {
                    replica.waiting.finishing_beside(context.trace, id);
                }
            }
        }
        if replica.stages == 1 {
            replica.write(context, batch, 1, fresh, blocks);
        } else {
            let run = IterationRun { blocks, ..written(replica, context, batch, batch.began_us, fresh) };
            share_iteration(context, batch, batch.began_us);
            context.record.iterations.push(&run, &batch.chunks);
        }
        replica.copies_have_ended(context, batch);
        replica.free_finished_sending(batch);
        replica.adapters.offload_unused(&mut replica.kv);
    }

    /// A request goes, complete or not: the tier below the KV cache stores what it lacks.
    fn tell_tier(&self, replica: &mut Replica, context: &ScheduleContext<'_>, place: u32) {
        let Replica { kv, kv_connector: Some(tier), .. } = replica else { return };
        let RunningRequest { id, known, computed, awaited, held, .. } = &self.entries[place as usize];
        tier.leaves(kv, context.trace, (*id, *known), held, (*computed, *awaited));
    }

    /// A request that leaves gives its blocks back. Where a load could fill them while an iteration under way still writes them, they are
    /// free when that has ended (`defer_block_free`).
    fn free(&mut self, replica: &mut Replica, place: u32) {
        let last_formed = replica.formed;
        let Replica { kv, kv_connector, .. } = replica;
        let entry = self.entry(place);
        if kv_connector.is_some() && entry.under_way > 0 {
            let fenced = (last_formed, entry.id, std::mem::take(&mut entry.held));
            self.fenced.push_back(fenced);
        } else {
            kv.free_blocks(entry.id, &mut entry.held, false);
        }
    }

    /// Blocks are free that waited for an iteration which has ended.
    fn free_fenced(&mut self, replica: &mut Replica) {
        let ended = replica.formed - u64::from(replica.in_flight);
        while self.fenced.front().is_some_and(|fenced| fenced.0 <= ended) {
            if let Some((_, id, mut held)) = self.fenced.pop_front() {
                replica.kv.free_blocks(id, &mut held, false);
            }
        }
    }

    /// A request that runs goes away, and the scheduler is told.
    pub(crate) fn release_aborted(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
    ) {
        self.abort(replica, context, id);
        replica.happened(context, BatchEvent::Left(id, None));
    }

    /// A request that runs goes away.
    pub(in crate::replica) fn abort(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
    ) {
        self.settle(replica, context);
        let i = id.index();
        if context.requests[i].leg.scheduled_us.is_nan() {
            replica.waiting.ended(context.trace, id, 0, false);
        } else {
            replica.close_result(context, id);
        }
        if let Some(place) = RunningList::place(context, id) {
            if context.facts.caches_when_computed {
                // What was computed of it is kept for others, as of one that is done.
                self.cache_computed_of(replica, context, place);
            }
            self.tell_tier(replica, context, place);
            self.free(replica, place);
            self.release_adapter(&mut replica.adapters, context, place);
            self.order.retain(|&other| other != place);
            self.remove(context, id);
        }
        replica.adapters.offload_unused(&mut replica.kv);
        replica.num_running -= 1;
        replica.outstanding -= 1;
        context.requests.token_us.remove(&id);
        context.requests[i].status = RequestStatus::Finished;
        context.record.ends(id);
    }
}

/// A request was worked on. Returns when it was last, which is when its last token was there if it decodes.
fn account(context: &mut ScheduleContext<'_>, batch: &ScheduledBatch, scheduled: &Scheduled) -> f64 {
    let i = scheduled.id.index();
    let (requests, began_us) = (&mut *context.requests, batch.began_us);
    let updated_us = std::mem::replace(&mut requests[i].updated_us, context.now_us);
    requests[i].stalled_us += (began_us - updated_us).max(0.0);
    context.record.phases.stall(scheduled.id, updated_us, began_us);
    if let Some(execution) = requests.execution.get_mut(i) {
        *execution += WorkTime::of_us(batch.busy_us);
    }
    if scheduled.is_prompt {
        requests[i].prefill_us += context.now_us - updated_us.max(began_us) - batch.load_us;
        if let Some(load_us) = requests.load_us.get_mut(i) {
            *load_us += batch.load_us;
        }
        context.record.phases.prefill(PrefillPhase {
            request: scheduled.id,
            start_us: began_us,
            end_us: context.now_us,
            load_us: batch.load_us,
            from_token: scheduled.computed,
            tokens: scheduled.tokens,
        });
    }
    updated_us
}

/// What a batch gave a request.
#[derive(Default)]
struct Given {
    tokens: u32,
    /// Whether they follow the token before them without a gap.
    follow: bool,
}

/// A request is further by its part of a batch.
fn end_of(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &ScheduledBatch,
    scheduled: &Scheduled,
) -> Given {
    let Scheduled { id, tokens, makes_token, .. } = *scheduled;
    let i = id.index();
    let Some(place) = RunningList::place(context, id) else { return Given::default() };
    let Replica { kv, .. } = replica;
    let entry = list.entry(place);
    entry.under_way -= tokens;
    let was_preempted = entry.stale > 0;
    entry.stale = entry.stale.saturating_sub(tokens);
    if context.requests[i].status == RequestStatus::Finished {
        if entry.under_way == 0 {
            list.remove(context, id);
        }
        return Given::default();
    }
    let updated_us = account(context, batch, scheduled);
    let right = accepted(context, scheduled);
    if was_preempted {
        return end_of_preempted(list, replica, context, scheduled, (place, right));
    }
    if !makes_token {
        context.requests[i].done = entry.computed - entry.under_way;
        return Given::default();
    }
    let wrong = scheduled.drafts - right;
    let tokens = (right + 1).min(tokens_to_end(context.total(id), entry.known));
    entry.known += tokens;
    context.requests[i].done = entry.known;
    let is_told_late = entry.awaited > 0 || context.config.drafting().is_some();
    // What is behind the end of the output is dropped.
    entry.computed -= wrong + (right + 1 - tokens);
    entry.awaited = entry.awaited.saturating_sub(1 + scheduled.drafts);
    let total = context.total(id);
    let is_done = entry.known >= total;
    // A block that an answer fills is cached when its last token is known; or when the next iteration is formed, if it is not the last.
    let is_cached = if context.facts.caches_when_computed { is_done } else { is_told_late };
    if is_cached {
        let findable = context.config.findable_tokens(entry.known);
        kv.cache_blocks(id, (entry.computed - entry.under_way).min(findable), &mut entry.held);
    }
    if context.facts.batches_ahead == 0 {
        entry.drafts = proposed(context, batch, id);
    }
    if is_done && context.is_prefill_leg(id) {
        end_prefill_leg(list, replica, context, place);
        return Given::default();
    }
    if is_done {
        list.leave(replica, context, place);
        list.tell_tier(replica, context, place);
        // What is scheduled behind the end of the answer is dropped.
        let entry = list.entry(place);
        if !replica.keeps_session(context, id, (&mut entry.held, entry.known - 1)) {
            list.free(replica, place);
        }
        list.release_adapter(&mut replica.adapters, context, place);
        list.leave_order(place);
        list.remove(context, id);
    }
    context.requests[i].status = RequestStatus::Decoding;
    let iteration_us =
        if replica.stages == 1 { batch.iteration_us() } else { context.now_us - batch.began_us };
    let follow = makes(replica, context, (id, tokens), updated_us, Some((batch.began_us, iteration_us)));
    if is_done {
        replica.complete(context, id, total);
        replica.num_running -= 1;
        replica.happened(context, BatchEvent::Left(id, Some(total)));
    }
    Given { tokens, follow }
}

/// The prompt of a request is computed: it goes on to the replica that decodes, and its blocks stay here until they have been pulled
/// (`delay_free_blocks`). The token that came out of it is thrown away.
fn end_prefill_leg(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    place: u32,
) {
    let entry = list.entry(place);
    let (id, held) = (entry.id, std::mem::take(&mut entry.held));
    replica.pinned.keep(id, held);
    list.release_adapter(&mut replica.adapters, context, place);
    list.leave_order(place);
    list.remove(context, id);
    replica.num_running -= 1;
    replica.outstanding -= 1;
    replica.waiting.ended(context.trace, id, 0, false);
    context.requests[id].status = RequestStatus::BetweenLegs;
    context.record.prefilled.push(id);
    replica.happened(context, BatchEvent::Left(id, None));
}

/// A request that was preempted gets what was under way: its tokens all the same, of which the last may be its last one.
fn end_of_preempted(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    scheduled: &Scheduled,
    (place, right): (u32, u32),
) -> Given {
    let Scheduled { id, makes_token, .. } = *scheduled;
    let makes_token = makes_token && !context.facts.drops_tokens_of_preempted;
    let total = context.total(id);
    let entry = list.entry(place);
    let tokens = if makes_token { (right + 1).min(tokens_to_end(total, entry.known)) } else { 0 };
    entry.known += tokens;
    let (known, is_back) = (entry.known, entry.stale == 0);
    if is_back {
        list.remove(context, id);
    }
    if !makes_token {
        return Given::default();
    }
    makes(replica, context, (id, tokens), context.now_us, None);
    context.requests.token_us.insert(id, context.now_us);
    replica.changes_prompt(context, id, known);
    if known >= total {
        replica.complete(context, id, total);
        replica.leave_waiting(context, id);
        replica.happened(context, BatchEvent::Left(id, None));
    }
    Given { tokens, follow: false }
}

/// Most tokens that a batch gives a request which makes one: those up to its end. SGLang's overlapped batches make one behind it.
fn tokens_to_end(total: u32, known: u32) -> u32 {
    total.saturating_sub(known).max(1)
}

/// How many drafts of a request are accepted that a batch verified.
fn accepted(context: &mut ScheduleContext<'_>, scheduled: &Scheduled) -> u32 {
    let (Some(own), false) = (context.config.drafting(), scheduled.is_padded) else { return 0 };
    if scheduled.drafts == 0 {
        return 0;
    }
    let of_request = &mut context.requests.drafts[scheduled.id];
    let right = own.accepted(context.trace, scheduled.id, of_request.verifications, scheduled.drafts);
    of_request.verifications += 1;
    of_request.verified += scheduled.drafts;
    of_request.accepted += right;
    context.record.drafts.get_or_insert_default().add(scheduled.drafts, right);
    right
}

/// How many drafts are made for a request behind a batch that gave it a token.
fn proposed(context: &mut ScheduleContext<'_>, batch: &ScheduledBatch, id: RequestId) -> u32 {
    if context.config.drafting().is_none() {
        return 0;
    }
    let before = &mut context.requests.drafts[id].attempts;
    let drafts = speculation::proposed(context.trace, id, *before, batch.drafted);
    *before += 1;
    drafts
}

/// So many tokens of a request are there at once, whose last one was there at `last_us` unless it was preempted since. Says whether
/// they follow that one in an iteration that began at a time and took so long, `iteration_us`.
fn makes(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    (id, tokens): (RequestId, u32),
    last_us: f64,
    iteration_us: Option<(f64, f64)>,
) -> bool {
    let i = id.index();
    let is_first = context.requests[i].first_token_us.is_nan();
    for token in 0..tokens {
        replica.waiting.made_token(context.trace, id, is_first && token == 0);
    }
    if is_first {
        context.requests[i].first_token_us = context.now_us;
        context.record.has_first_token(id);
        return false;
    }
    let told_us = context.requests.token_us.remove(&id);
    if let Some((began_us, took_us)) = iteration_us
        && told_us.is_none()
        && last_us == began_us
    {
        context.requests.waited_for_token(id, took_us);
        return true;
    }
    let before_us = told_us.unwrap_or(last_us);
    context.requests.waited_for_token(id, context.now_us - before_us);
    context.record.gap(before_us, context.now_us, 1);
    false
}
