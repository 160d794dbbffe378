//! The running requests that decode in every iteration are kept together in the replica's decode batch: nothing is written for
//! any of them while they do. They join when their prompts are computed and leave with their last token; where blocks run
//! out, a prompt is computed in parts or a client goes away, all of them are written down and scheduled one by one.
// PERF: with the fast-forward 6 times fewer instructions a run than one event and one pass over the batch for each iteration;
// guarded by the test `vllm_fast_forwarded_equals_single_steps`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use servescope_workload::RequestId;

use crate::request::BlockReason;

use super::{
    Replica, RequestStatus, RunningList, RunningRequest, ScheduleContext, Scheduled, ScheduledBatch,
};
use crate::replica::iteration::SteadyPart;
use crate::replica::run::longest_of;

/// What the scheduler knows of the requests in the decode batch. Iterations are numbered by the decode batch's step when they
/// are formed.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// Whether there is one.
    is_on: bool,
    /// Its first iteration, and the first one that has not ended.
    start: u64,
    pub(super) next_end: u64,
    /// The same when the last one was formed.
    next_end_at_form: u64,
    /// End of the last one that has ended.
    ended_us: f64,
    /// The iteration before which a request has its last token, and the request.
    ends: BinaryHeap<Reverse<(u64, RequestId)>>,
    /// Running requests outside it.
    outside: Vec<RequestId>,
    /// Requests that left it while iterations with them were under way.
    left: Vec<Left>,
    /// Whether a request has left or joined since an iteration was formed.
    has_changed: bool,
    /// When the blocks of a request that others may find, or that are free, change next, at the earliest.
    block_events: BinaryHeap<Reverse<BlockEvent>>,
    /// Members of iterations under way when the last group was written down, by the number of the iteration.
    was: Vec<(u64, Vec<Scheduled>)>,
}

/// A request that was part of some iterations of the group.
#[derive(Debug, Clone, Copy)]
struct Left {
    id: RequestId,
    /// The first iteration, and the one after the last.
    from: u64,
    to: u64,
}

/// What becomes of a block of a request. The order is that of requests scheduled one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BlockEvent {
    /// The iteration in which it happens when it is formed, at the earliest.
    step: u64,
    /// Place of the request in the order of admission.
    admission: u64,
    kind: BlockEventKind,
    id: RequestId,
    /// The first iteration of the request in the group.
    joined: u64,
}

/// What can happen to a block of a request that decodes, in the order in which it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BlockEventKind {
    /// It leaves the window of its group and is given back.
    Skipped,
    /// It is full, and others may find it.
    Full,
}

/// What becomes of a running request in the next iteration.
enum Next {
    /// It decodes, in this many iterations at the most.
    Decodes(u32),
    /// It waits for its last token.
    Waits,
    /// Something else.
    Other,
}

impl RunningList {
    /// Tokens of a running request that are there and not written down; `None`: all are.
    pub(super) fn unwritten_of(&self, place: u32) -> Option<u32> {
        let entry = &self.entries[place as usize];
        entry.is_in_group.then(|| self.group.next_end.saturating_sub(entry.joined) as u32)
    }

    /// Whether iterations under way are all those of the group.
    fn is_seen_through(&self, in_flight: u32, step: u64) -> bool {
        let Group { is_on, next_end, outside, left, .. } = &self.group;
        *is_on && outside.is_empty() && left.is_empty() && step - next_end == u64::from(in_flight)
    }

    /// The requests of one iteration of the group.
    pub(super) fn parts(&self, context: &ScheduleContext<'_>, number: u64) -> Vec<Scheduled> {
        if let Some((_, parts)) = self.group.was.iter().find(|was| was.0 == number) {
            return parts.clone();
        }
        let entries = self.order.iter().map(|&place| &self.entries[place as usize]);
        let members = entries.filter(|entry| entry.is_in_group && entry.joined <= number);
        let mut parts: Vec<Scheduled> =
            members.map(|entry| decode(entry.id, entry.computed + (number - entry.joined) as u32)).collect();
        parts.extend(self.left_of(context, number));
        self.sort(context, &mut parts);
        parts
    }

    /// Those of them that have left the group since.
    fn left_of(&self, context: &ScheduleContext<'_>, number: u64) -> Vec<Scheduled> {
        let tell = |left: &Left| {
            let entry = Self::place(context, left.id).map(|place| &self.entries[place as usize]);
            let computed = entry.map_or(0, |entry| entry.computed.saturating_sub((left.to - number) as u32));
            decode(left.id, computed)
        };
        self.group.left.iter().filter(|left| (left.from..left.to).contains(&number)).map(tell).collect()
    }

    /// Before which iteration the first request of the group is done.
    fn next_done(&mut self, context: &ScheduleContext<'_>) -> Option<u64> {
        loop {
            let &Reverse((end, id)) = self.group.ends.peek()?;
            let entry = Self::place(context, id).map(|place| &self.entries[place as usize]);
            if entry.is_some_and(|entry| entry.is_in_group && entry.ended_to == end) {
                return Some(end);
            }
            self.group.ends.pop();
        }
    }

    /// Puts requests in the order of their admission; those that have gone come first.
    fn sort(&self, context: &ScheduleContext<'_>, parts: &mut [Scheduled]) {
        parts.sort_by_key(|own| {
            Self::place(context, own.id).map(|place| self.entries[place as usize].admission)
        });
    }

    /// Puts all running requests into an iteration, which is empty, if it differs from the one before it by a token of each that
    /// decodes only, and there are blocks and a budget of tokens for it. Otherwise nothing is done, and they are to be chosen one by
    /// one after [`RunningList::settle`].
    pub(in crate::replica) fn form_steady(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        budget: u32,
    ) -> bool {
        // Otherwise requests take blocks at borders that a group's count does not know, and a lower tier looks at every block.
        if !replica.kv.fills_alike() || !replica.is_quiet() {
            return false;
        }
        let is_ready =
            if self.group.is_on { follow_up(self, replica, context) } else { begin(self, replica, context) };
        let count = replica.decode_batch.count;
        let blocks = replica.decode_batch.new_blocks(0) * replica.kv.blocks_at_border();
        if !is_ready || count == 0 || count > budget || blocks > replica.kv.available() {
            return false;
        }
        replica.kv.take_unwritten(blocks);
        let number = replica.decode_batch.step;
        let lag = number - self.group.next_end;
        change_blocks(self, replica, context, number + 1, lag);
        replica.schedule_decode_batch(batch);
        batch.steady = Some(SteadyPart { number: replica.decode_batch.step });
        replica.decode_batch.advance(1);
        true
    }

    /// These are in an iteration beside the group.
    pub(in crate::replica) fn formed_beside(&mut self, chosen: &[Scheduled]) {
        let group = &mut self.group;
        group.next_end_at_form = group.next_end;
        group.outside.extend(chosen.iter().map(|own| own.id));
        if std::mem::take(&mut group.has_changed) || self.composition == 0 {
            self.compositions += 1;
            self.composition = self.compositions;
        }
        if !chosen.is_empty() {
            self.composition = 0;
        }
    }

    /// A request of the group is written down and decodes in no later iteration of it.
    pub(super) fn leave(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>, place: u32) {
        let Replica { decode_batch, kv, shared_gaps, .. } = replica;
        let RunningList { group, entries, .. } = &mut *self;
        let entry = &mut entries[place as usize];
        if !std::mem::take(&mut entry.is_in_group) {
            return;
        }
        let id = entry.id;
        let formed = (decode_batch.step - entry.joined) as u32;
        let ended = group.next_end.saturating_sub(entry.joined) as u32;
        let known_at_form = match formed {
            1 => entry.known_at_join,
            _ => entry.known + group.next_end_at_form.saturating_sub(entry.joined) as u32,
        };
        entry.computed += formed;
        entry.known += ended;
        entry.under_way += formed - ended;
        if context.facts.batches_ahead > 0 {
            entry.awaited += formed - ended;
        }
        kv.write_down(entry.computed, &mut entry.held);
        if formed > 0 && !context.facts.caches_when_computed {
            kv.cache_blocks(id, known_at_form, &mut entry.held);
        }
        let i = id.index();
        if ended > 0 {
            let joined_us = context.requests[i].updated_us;
            context.requests.waited_for_token(id, shared_gaps.longest_from(joined_us));
            context.requests[i].updated_us = group.ended_us;
        }
        if context.requests[i].status == RequestStatus::Decoding {
            context.requests[i].done = entry.known;
        }
        if formed > ended {
            group.left.push(Left { id, from: entry.joined, to: decode_batch.step });
        }
        decode_batch.leave(context.member(id, entry.computed + 1));
        group.has_changed = true;
    }

    /// For how many iterations, `most` at the most, nothing changes but that each request gets a token, until the last one ends.
    pub(crate) fn steady_iterations(
        &mut self,
        replica: &mut Replica,
        context: &ScheduleContext<'_>,
        most: u32,
    ) -> u32 {
        let is_quiet = replica.is_quiet();
        let Replica { decode_batch, .. } = replica;
        if !is_quiet
            || !replica.pending_aborts.is_empty()
            || !self.is_seen_through(replica.in_flight, decode_batch.step)
        {
            return 1;
        }
        let forms = decode_batch.until_end_or_none();
        let ends = self.next_done(context).map_or(u32::MAX, |end| (end - self.group.next_end) as u32);
        let mut most = most.min(ends).min(forms.saturating_add(1));
        // Blocks that come free meanwhile are not counted on.
        let (mut left, each) = (replica.kv.available(), replica.kv.blocks_at_border());
        let is_one_group = replica.kv.keeps_all_tokens();
        if replica.num_waiting > 0 && (is_one_group || replica.stop != Some(BlockReason::RunningCap)) {
            // The head may find a block from the iteration on that fills it, or room from that on in which one comes free.
            if let Some(Reverse(event)) = self.group.block_events.peek() {
                let until = event.step.saturating_sub(replica.decode_batch.step) as u32;
                most = most.min(until.saturating_add(1));
            }
            // A block that is forgotten takes the head's hit in other groups with it, which then need not be kept either.
            if !is_one_group {
                let Some(without) = left.checked_sub(replica.kv.idle()) else { return 1 };
                left = without;
            }
        }
        for ahead in 0..most.saturating_sub(1) {
            let blocks = replica.decode_batch.new_blocks(ahead) * each;
            if blocks > left {
                return ahead + 1;
            }
            left -= blocks;
        }
        most
    }

    /// So many iterations have ended, the last one now, and as many were formed. Returns the blocks in use before the last of those.
    pub(crate) fn end_alike(
        &mut self,
        replica: &mut Replica,
        context: &ScheduleContext<'_>,
        iterations: u32,
    ) -> u32 {
        let Replica { kv, decode_batch, shared_gaps, run, .. } = replica;
        if let Some(run) = run {
            let last = run.done - 1;
            let longest_us = longest_of(&run.time_model, last - iterations, last);
            shared_gaps.add(run.time_after(last - 1), longest_us);
        }
        let each = kv.blocks_at_border();
        let last_blocks = decode_batch.new_blocks(iterations - 1) * each;
        kv.take_unwritten(decode_batch.new_blocks_over(0, iterations - 1) * each);
        let (first, last) = (decode_batch.step, decode_batch.step + u64::from(iterations - 1));
        decode_batch.advance(iterations);
        // Each is formed when one has ended.
        let lag = (first - self.group.next_end).saturating_sub(1);
        change_blocks(self, replica, context, last, lag);
        let blocks = replica.kv.used();
        replica.kv.take_unwritten(last_blocks);
        change_blocks(self, replica, context, last + 1, lag);
        let RunningList { group, iterations: formed, looks, .. } = &mut *self;
        group.next_end += u64::from(iterations);
        group.next_end_at_form = group.next_end;
        group.ended_us = context.now_us;
        *formed += u64::from(iterations);
        *looks += u64::from(iterations);
        blocks
    }

    /// An iteration ends: `batch` tells the requests to which something is to be written, in the order of their admission. Returns
    /// how many others there are, to whom it gives a token.
    pub(super) fn end_steady(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> u32 {
        if !replica.pending_aborts.is_empty() {
            self.settle(replica, context);
        }
        let Some(SteadyPart { number }) = batch.steady else { return 0 };
        let group = &self.group;
        let is_of_group = group.is_on && number >= group.start;
        if !is_of_group {
            let parts = self.parts(context, number);
            batch.scheduled.splice(0..0, parts);
            return 0;
        }
        debug_assert_eq!(number, group.next_end, "iterations end in their order");
        while let Some(end) = self.next_done(context).filter(|&end| end <= number + 1) {
            debug_assert_eq!(end, number + 1, "none is done before");
            let Some(Reverse((_, id))) = self.group.ends.pop() else { break };
            if let Some(place) = RunningList::place(context, id) {
                self.leave(replica, context, place);
            }
        }
        let mut parts = self.left_of(context, number);
        self.sort(context, &mut parts);
        let others = batch.decodes - parts.len() as u32;
        replica.shared_gaps.add(batch.began_us, batch.iteration_us());
        batch.scheduled.splice(0..0, parts);
        let group = &mut self.group;
        group.next_end = number + 1;
        group.ended_us = context.now_us;
        group.left.retain(|left| left.to > number + 1);
        others
    }

    /// Others find what iterations that have ended computed of requests outside the group; for those in it that is seen to by itself.
    pub(in crate::replica) fn cache_computed(
        &mut self,
        replica: &mut Replica,
        context: &ScheduleContext<'_>,
    ) {
        for at in 0..self.order.len() {
            let place = self.order[at];
            if !self.entries[place as usize].is_in_group {
                self.cache_computed_of(replica, context, place);
            }
        }
    }

    /// The same of one request.
    pub(super) fn cache_computed_of(
        &mut self,
        replica: &mut Replica,
        context: &ScheduleContext<'_>,
        place: u32,
    ) {
        let entry = self.entry(place);
        let tokens = computed_behind_prompt(context, entry, 0);
        replica.kv.cache_blocks(entry.id, tokens, &mut entry.held);
    }

    /// Writes all of the group down.
    pub(crate) fn settle(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>) {
        if !self.group.is_on {
            return;
        }
        let step = replica.decode_batch.step;
        for number in self.group.next_end..step {
            let parts = self.parts(context, number);
            self.group.was.push((number, parts));
        }
        // No more of them are under way.
        let past = self.group.was.len().saturating_sub(2);
        self.group.was.drain(..past);
        let RunningList { group, entries, order, last, composition, .. } = self;
        if group.has_changed {
            *composition = 0;
        } else {
            let members =
                order.iter().map(|&place| &entries[place as usize]).filter(|entry| entry.is_in_group);
            last.clear();
            last.extend(members.map(|entry| entry.id));
        }
        for at in 0..self.order.len() {
            let place = self.order[at];
            self.leave(replica, context, place);
        }
        let group = &mut self.group;
        group.is_on = false;
        group.block_events.clear();
        group.ends.clear();
        group.outside.clear();
        group.left.clear();
    }
}

/// A request decodes that has this many tokens computed.
fn decode(id: RequestId, computed: u32) -> Scheduled {
    Scheduled { id, tokens: 1, computed, makes_token: true, ..Scheduled::default() }
}

/// What becomes of a running request in the next iteration, if that follows the one before it.
fn next_of(replica: &Replica, context: &ScheduleContext<'_>, entry: &RunningRequest) -> Next {
    let i = entry.id.index();
    // It was in the iteration that has just ended, or is in the one under way.
    let is_fresh = match replica.in_flight {
        0 => entry.under_way == 0 && entry.awaited == 0 && context.requests[i].updated_us == context.now_us,
        _ => entry.under_way > 0 && entry.awaited == 1,
    };
    let follows = entry.known + entry.awaited == entry.computed + 1;
    if !follows || entry.is_prompt_chunk || entry.computed < context.requests[i].prompt {
        return Next::Other;
    }
    // As long as the bounds of a request allow a token more.
    let most = context.trace.input_tokens[i].saturating_add(context.max_tokens(entry.id));
    let most = most.min(context.config.max_request_tokens).saturating_sub(1);
    match most.saturating_sub(entry.computed) {
        0 if entry.awaited > 0 => Next::Waits,
        0 => Next::Other,
        _ if !is_fresh => Next::Other,
        iterations => Next::Decodes(iterations),
    }
}

/// Makes a group of all running requests, if they decode one and all in the next iteration.
fn begin(list: &mut RunningList, replica: &mut Replica, context: &mut ScheduleContext<'_>) -> bool {
    // Several stages work on several iterations at once; counters want every token; drafts are verified one by one.
    if list.has_chunk
        || list.order.is_empty()
        || replica.stages > 1
        || replica.writes_every_iteration
        || replica.waiting.keeps_counters()
        || context.config.drafting().is_some()
    {
        return false;
    }
    let next = |&place: &u32| next_of(replica, context, &list.entries[place as usize]);
    if !list.order.iter().all(|place| matches!(next(place), Next::Decodes(_))) {
        return false;
    }
    let step = replica.decode_batch.step;
    replica.shared_gaps.clear();
    let group = &mut list.group;
    (group.is_on, group.start, group.next_end, group.next_end_at_form) = (true, step, step, step);
    group.outside.extend(list.order.iter().map(|&place| list.entries[place as usize].id));
    let ids = group.outside.clone();
    follow_up(list, replica, context);
    list.group.has_changed = false;
    list.compose(&ids, false);
    true
}

/// Requests whose prompts are computed join, and those that wait for their last token leave. Says whether those outside need
/// nothing else.
fn follow_up(list: &mut RunningList, replica: &mut Replica, context: &mut ScheduleContext<'_>) -> bool {
    if list.has_chunk {
        return false;
    }
    while let Some(id) = replica.decode_batch.pop_ended() {
        let place = RunningList::place(context, id);
        let is_member = |place: &u32| {
            let entry = &list.entries[*place as usize];
            entry.is_in_group && entry.formed_to == replica.decode_batch.step
        };
        if let Some(place) = place.filter(is_member) {
            list.leave(replica, context, place);
            list.group.outside.push(id);
        }
    }
    let mut outside = std::mem::take(&mut list.group.outside);
    let mut is_ready = true;
    outside.retain(|&id| {
        let Some(place) = RunningList::place(context, id) else { return false };
        let entry = &list.entries[place as usize];
        match next_of(replica, context, entry) {
            Next::Decodes(iterations) => {
                join(list, replica, context, place, iterations);
                return false;
            }
            Next::Waits => {}
            Next::Other => is_ready = false,
        }
        true
    });
    list.group.outside = outside;
    is_ready
}

/// A request decodes in the next iterations, in this many at the most.
fn join(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
    place: u32,
    iterations: u32,
) {
    let Replica { decode_batch, .. } = replica;
    let RunningList { group, entries, .. } = &mut *list;
    let entry = &mut entries[place as usize];
    let step = decode_batch.step;
    entry.is_in_group = true;
    (entry.joined, entry.formed_to, entry.known_at_join) = (step, step + u64::from(iterations), entry.known);
    let tokens = entry.computed + 1;
    decode_batch.join(context.member(entry.id, tokens), iterations);
    // What is under way makes the first of the tokens that it lacks.
    let lacks = context.total(entry.id).saturating_sub(entry.known + u32::from(entry.under_way > 0));
    if lacks > 0 {
        entry.ended_to = step + u64::from(lacks);
        group.ends.push(Reverse((entry.ended_to, entry.id)));
    } else {
        entry.ended_to = step;
    }
    group.has_changed = true;
    expect_full(list, replica, place, step);
    expect_skipped(list, replica, place, step);
}

/// Notes when the next block of a request of the group that others may find is full: from iteration `from` on.
fn expect_full(list: &mut RunningList, replica: &Replica, place: u32, from: u64) {
    let RunningList { group, entries, .. } = &mut *list;
    let RunningRequest { id, joined, computed, admission, ref held, .. } = entries[place as usize];
    let Some(tokens) = replica.kv.next_named_block(id, held) else { return };
    let step = from.max(joined + u64::from(tokens.saturating_sub(computed + 1)));
    let kind = BlockEventKind::Full;
    group.block_events.push(Reverse(BlockEvent { step, admission, kind, id, joined }));
}

/// Notes when a request of the group gives its next block back that has left its window: from iteration `from` on.
fn expect_skipped(list: &mut RunningList, replica: &Replica, place: u32, from: u64) {
    let RunningList { group, entries, .. } = &mut *list;
    let RunningRequest { id, joined, computed, admission, ref held, .. } = entries[place as usize];
    let Some(tokens) = replica.kv.next_skip(held) else { return };
    let step = from.max(joined + u64::from(tokens.saturating_sub(computed)));
    let kind = BlockEventKind::Skipped;
    group.block_events.push(Reverse(BlockEvent { step, admission, kind, id, joined }));
}

/// Iterations before `until` are formed, each when all but `lag` of those before it have ended: the blocks that their tokens fill
/// can be found from then on, and those that leave a window are free.
fn change_blocks(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
    until: u64,
    lag: u64,
) {
    while let Some(&Reverse(event)) = list.group.block_events.peek() {
        if event.step >= until {
            return;
        }
        list.group.block_events.pop();
        let is_member = |place: &u32| {
            let entry = &list.entries[*place as usize];
            entry.is_in_group && entry.joined == event.joined
        };
        let Some(place) = RunningList::place(context, event.id).filter(is_member) else { continue };
        match event.kind {
            BlockEventKind::Full => fill_block(list, replica, context, (event, place), lag),
            BlockEventKind::Skipped => skip_block(list, replica, (event, place), lag),
        }
    }
}

/// Tokens of a request that are computed when so many further iterations have ended; 0 as long as a part of its prompt is under way.
fn computed_behind_prompt(context: &ScheduleContext<'_>, entry: &RunningRequest, ended: u32) -> u32 {
    let computed = entry.computed - entry.under_way + ended;
    if computed < context.requests[entry.id].prompt { 0 } else { computed }
}

/// A block of a request is full, unless its last token is not known when the iteration is formed, or, where that counts, not computed.
fn fill_block(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
    (event, place): (BlockEvent, u32),
    lag: u64,
) {
    let Replica { kv, .. } = replica;
    let entry = &mut list.entries[place as usize];
    let Some(tokens) = kv.next_named_block(event.id, &entry.held) else { return };
    let formed = event.step - event.joined;
    let ended = formed.saturating_sub(lag) as u32;
    let there = if context.facts.caches_when_computed {
        computed_behind_prompt(context, entry, ended)
    } else {
        (entry.computed + formed as u32 + 1).min(entry.known + ended)
    };
    if there < tokens {
        return expect_full(list, replica, place, event.step + 1);
    }
    kv.write_down(tokens, &mut entry.held);
    kv.cache_blocks(event.id, tokens, &mut entry.held);
    expect_full(list, replica, place, event.step);
}

/// A block of a request has left its window, unless tokens that look at it are under way when the iteration is formed.
fn skip_block(list: &mut RunningList, replica: &mut Replica, (event, place): (BlockEvent, u32), lag: u64) {
    let Replica { kv, .. } = replica;
    let entry = &mut list.entries[place as usize];
    let formed = event.step - event.joined;
    let processed = entry.computed - entry.under_way + formed.saturating_sub(lag) as u32;
    if kv.next_skip(&entry.held).is_some_and(|tokens| processed < tokens) {
        return expect_skipped(list, replica, place, event.step + 1);
    }
    kv.write_down(entry.computed + formed as u32, &mut entry.held);
    kv.cache_blocks(event.id, processed, &mut entry.held);
    kv.remove_skipped_blocks(event.id, processed, &mut entry.held);
    expect_skipped(list, replica, place, event.step + 1);
}
