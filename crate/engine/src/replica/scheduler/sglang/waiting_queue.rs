//! The waiting queue: which requests enter and leave it (`_add_request_to_queue`, `abort_request` of managers/scheduler.py), and the
//! order in which it is scanned (`SchedulePolicy` of managers/schedule_policy.py).

use servescope_workload::RequestId;

use super::contents::Sequence;
use super::radix_tree::RadixTree;
use super::request::Request;
use super::{LastBatch, Message, Outcome, Rejection, Replica, ScheduleContext, State};
use crate::config::sglang::{RadixEviction, SchedulePolicy};
use crate::record::decisions::{Compared, Verdict};
use crate::record::timeline::QueueDrop;
use crate::replica::running_list::RunningList;

/// Policies that look into the tree do not while more requests wait; under the others so many waiting requests are touched.
const MOST_LOOKED_UP: usize = 128;

/// In every so many-th attempt the prefixes of waiting requests are touched.
const TOUCHED_EVERY: u64 = 32;

/// A request that knows at most so many tokens comes later if it shares as many with one before it
/// (`IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD`, `IN_BATCH_PREFIX_CACHING_DEPRIORITIZE_THRESHOLD`).
const KNOWS_LITTLE: u32 = 32;

/// Better than this no priority is: those without one are worse than all.
const WORST: f64 = 1e18;

impl State {
    /// Learns of what came in and went away since the last decision.
    pub(super) fn read_inbox(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
    ) {
        let receives = self.receives();
        for message in std::mem::take(&mut self.inbox) {
            match message {
                // The engine knows at once of a waiting request whose client has gone.
                Message::Dropped(id, _) if !receives && !self.waiting_queue.contains(&id) => {
                    self.inbox.push(message);
                }
                Message::Arrived(_) if !receives => self.inbox.push(message),
                Message::Arrived(id) => {
                    self.arrives(replica, context, id);
                    self.enters(replica, context, id);
                }
                Message::Dropped(id, outcome) => self.is_aborted(list, context, id, outcome),
            }
        }
    }

    /// A request comes in: its output is cut to what there is room for, and one whose prompt is too long is queued with a single token.
    fn arrives(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>, id: RequestId) {
        let i = id.index();
        let (input, asked) = (context.trace.input_tokens[i], context.trace.max_tokens[i]);
        let most = self.max_request_tokens;
        let beside = self.memory.up(input).saturating_add(self.memory.page() + 1);
        let max_new =
            asked.min(most.saturating_sub(input + 1)).min(self.memory.pool().saturating_sub(beside));
        let is_rejected = self.is_too_long(input);
        let ignore_eos = context.trace.ignores_eos(i);
        let output = if ignore_eos { asked } else { context.trace.output_tokens[i] };
        let stops_with = (output < asked).then_some(output);
        let stop_at = stops_with.map_or(u32::MAX, |with| input + with - 1);
        let placeholder = is_rejected.then_some(context.trace.adapter[i]);
        let sequence = Sequence { id, stop_at, placeholder };
        let prompt = if is_rejected { 1 } else { input };
        let mut own = Request::new(sequence, prompt, max_new);
        own.stops_with = stops_with;
        own.ignore_eos = ignore_eos;
        own.adapter = context.trace.adapter[i];
        own.priority = self.priority_of(context.trace.user[i]);
        own.is_ending = is_rejected;
        self.requests.insert(id, own);
        let tokens = if is_rejected {
            // It may have gone meanwhile, of which the scheduler learns next.
            if !context.is_gone(id) {
                let reason = Rejection::RequestTooLong;
                context.record.results[i].outcome = Outcome::Rejected(reason);
                context.decided(replica.index, id, Verdict::Rejected(reason), || Compared::NOTHING);
                replica.changes_prompt(context, id, 1);
            }
            u32::MAX
        } else {
            input + output.min(max_new.max(1))
        };
        context.requests[i].total = tokens;
    }

    /// Whether a prompt leaves no room for an output.
    pub(super) fn is_too_long(&self, input: u32) -> bool {
        input >= self.max_request_tokens.saturating_sub(super::TOKENS_BEHIND_PROMPT)
    }

    /// The priority of a user, as the settings order priorities.
    fn priority_of(&self, user: u32) -> i64 {
        if self.classes.is_empty() {
            return 0;
        }
        let class = self.classes[user as usize % self.classes.len()].min(WORST);
        (if self.rules.schedule_low_priority_values_first { class } else { -class }) as i64
    }

    /// The less, the better.
    pub(super) fn rank(&self, request: &Request) -> i64 {
        if self.rules.schedule_low_priority_values_first { request.priority } else { -request.priority }
    }

    /// A request enters the waiting queue at its end, unless that is full: then it is rejected, or with priorities the worst one.
    pub(super) fn enters(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>, id: RequestId) {
        if self.rules.max_queued_requests.is_some_and(|most| self.waiting_queue.len() >= most as usize) {
            let mut victim = id;
            if self.rules.enable_priority_scheduling {
                let key = |id: &RequestId| (self.rank(self.of(*id)), self.of(*id).entered);
                let worst = self.waiting_queue.iter().copied().max_by_key(key);
                if let Some(worst) = worst.filter(|&worst| self.rank(self.of(id)) < self.rank(self.of(worst)))
                {
                    victim = worst;
                    self.waiting_queue.retain(|&other| other != worst);
                }
            }
            self.rejects(replica, context, victim);
            if victim == id {
                return;
            }
        }
        self.waiting_queue.push(id);
        self.entered += 1;
        let (entered, prefilled) = (self.entered, self.prefilled);
        let own = self.of_mut(id);
        (own.entered, own.prefilled_before) = (entered, prefilled);
    }

    fn rejects(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>, id: RequestId) {
        let reason = Rejection::QueueFull;
        // Its client may have gone meanwhile, of which the scheduler has not learned: it is rejected all the same.
        let outcome = &mut context.record.results[id].outcome;
        if *outcome != Outcome::TimedOut {
            *outcome = Outcome::Rejected(reason);
        }
        if !context.is_gone(id) {
            context.record.departures.push(QueueDrop { time_us: context.now_us, id });
            context.decided(replica.index, id, Verdict::Rejected(reason), || Compared::NOTHING);
            replica.close_waiting(context, id);
        }
        self.goes(id);
    }

    /// A client has gone, or a request has waited too long. A request of a batch ends with its next token.
    fn is_aborted(
        &mut self,
        list: &RunningList,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
        outcome: Outcome,
    ) {
        if self.waiting_queue.contains(&id) && context.is_gone(id) {
            self.waiting_queue.retain(|&other| other != id);
            return self.goes(id);
        }
        let runs = list.running_place(context, id).is_some();
        let is_open = context.record.results[id].outcome == Outcome::Unfinished;
        if outcome == Outcome::Cancelled && runs && is_open {
            context.record.results[id].outcome = Outcome::Cancelled;
            self.abort_running(id);
        }
    }

    /// A request of a batch ends with its next token; the chunked request at the next decision.
    pub(super) fn abort_running(&mut self, id: RequestId) {
        if self.chunked_request == Some(id) {
            self.chunked_request_leaves = Some(id);
        }
        let is_last = match &self.last {
            LastBatch::Prompts(last) => last.batch.requests.contains(&id),
            _ => false,
        };
        if is_last || self.running.requests.contains(&id) {
            let own = self.of_mut(id);
            own.is_ending |= own.done.is_none();
        }
    }

    /// Sorts the waiting queue by the policy.
    pub(super) fn sort_waiting_queue(&mut self) {
        let asked = self.policy();
        let is_long = self.waiting_queue.len() > MOST_LOOKED_UP;
        let looks_up_to_many = matches!(asked, SchedulePolicy::LongestPrefix | SchedulePolicy::ResponseRatio);
        let policy = if looks_up_to_many && is_long { SchedulePolicy::Fcfs } else { asked };
        let mut queue = std::mem::take(&mut self.waiting_queue);
        let has_priorities = self.rules.enable_priority_scheduling;
        match policy {
            SchedulePolicy::Fcfs if asked == SchedulePolicy::Fcfs && has_priorities => {
                sort_by_rank(&mut queue, |id| [self.rank(self.of(id)), self.of(id).entered.cast_signed(), 0]);
            }
            SchedulePolicy::Fcfs => {}
            SchedulePolicy::LongestOutput => {
                let rank = |own: &Request| if has_priorities { self.rank(own) } else { 0 };
                sort_by_rank(&mut queue, |id| [rank(self.of(id)), -i64::from(self.of(id).max_new), 0]);
            }
            _ => self.sort_by_prefixes(policy, &mut queue),
        }
        self.waiting_queue = queue;
        let is_plain = matches!(policy, SchedulePolicy::Fcfs | SchedulePolicy::LongestOutput);
        let is_lru = self.rules.radix_eviction_policy == RadixEviction::Lru;
        if is_plain && is_lru && self.memory.caches() && !self.waiting_queue.is_empty() {
            if self.refreshes.is_multiple_of(TOUCHED_EVERY) {
                for place in (0..self.waiting_queue.len().min(MOST_LOOKED_UP)).rev() {
                    let own = self.of(self.waiting_queue[place]);
                    let (sequence, fill) = (own.sequence, own.fill());
                    self.memory.tree_mut().map(|tree| tree.look_up(&sequence, fill));
                }
            }
            self.refreshes += 1;
        }
    }

    /// The policy; without a tree those that look into it are first come, first served.
    pub(super) fn policy(&self) -> SchedulePolicy {
        use SchedulePolicy::{DfsWeight, Fcfs, LongestPrefix, ResponseRatio};
        match self.rules.schedule_policy {
            LongestPrefix | DfsWeight | ResponseRatio if !self.memory.caches() => Fcfs,
            policy => policy,
        }
    }

    fn sort_by_prefixes(&mut self, policy: SchedulePolicy, queue: &mut [RequestId]) {
        let later = self.look_up_all(queue);
        // Sorting is stable, and `later` follows the queue as it stood.
        let is_later = |id: RequestId| later.binary_search(&id).is_ok();
        match policy {
            SchedulePolicy::LongestPrefix => {
                sort_by_rank(queue, |id| {
                    if is_later(id) { [1, 0, 0] } else { [0, -i64::from(self.of(id).matched), 0] }
                });
            }
            SchedulePolicy::DfsWeight => {
                let nodes: Vec<_> = queue.iter().map(|&id| self.of(id).node).collect();
                let order = self.memory.tree().map(|tree| tree.depth_first(&nodes)).unwrap_or_default();
                let before = queue.to_vec();
                queue.iter_mut().zip(order).for_each(|(id, place)| *id = before[place]);
            }
            SchedulePolicy::ResponseRatio => {
                let key = |id: RequestId| {
                    if is_later(id) {
                        return f64::INFINITY;
                    }
                    let own = self.of(id);
                    let to_do = own.prompt.saturating_sub(own.matched);
                    let since = self.prefilled.saturating_sub(own.prefilled_before) as f64;
                    if to_do == 0 { f64::NEG_INFINITY } else { -since / f64::from(to_do) }
                };
                sort_by_rank(queue, |id| [in_total_order(key(id)), id.index() as i64, 0]);
            }
            _ => sort_by_rank(queue, |id| {
                [is_later(id).into(), self.of(id).work().into(), self.of(id).entered.cast_signed()]
            }),
        }
    }

    /// Looks up all tokens of each waiting request, in the queue's order. Returns those, by their numbers, that come later because they
    /// share what they do not know with one before them.
    fn look_up_all(&mut self, queue: &[RequestId]) -> Vec<RequestId> {
        let mut seen = self.memory.tree().map(RadixTree::of_single_tokens);
        let mut later = Vec::new();
        for &id in queue {
            let mut own = self.of(id).clone();
            let fill = own.fill();
            self.memory.look_up(&mut own, fill);
            own.matched = own.prefix.min(fill.saturating_sub(1));
            let Some(seen) = seen.as_mut().filter(|_| own.prefix <= KNOWS_LITTLE) else {
                *self.of_mut(id) = own;
                continue;
            };
            if seen.look_up(&own.sequence, fill).1 >= KNOWS_LITTLE {
                later.push(id);
            } else {
                seen.insert(&own.sequence, fill, [u32::MAX, 0], 0);
            }
            *self.of_mut(id) = own;
        }
        later.sort_unstable();
        later
    }
}

/// Puts requests into the order of what `rank` says of each, the least first; equal ones stay as they stood.
pub(super) fn sort_by_rank(list: &mut [RequestId], rank: impl Fn(RequestId) -> [i64; 3]) {
    let mut ranked: Vec<([i64; 3], RequestId)> = list.iter().map(|&id| (rank(id), id)).collect();
    sort_ranked(&mut ranked);
    list.iter_mut().zip(ranked).for_each(|(place, (_, id))| *place = id);
}

/// Not generic: a sort is compiled for each closure, and weighs much in the page.
fn sort_ranked(ranked: &mut [([i64; 3], RequestId)]) {
    ranked.sort_by_key(|&(rank, _)| rank);
}

/// A whole number that stands to others as `value` stands to theirs in IEEE's total order.
fn in_total_order(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    if bits < 0 { bits ^ i64::MAX } else { bits }
}
