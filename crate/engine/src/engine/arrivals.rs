//! Requests that come in: from the gateway, or after those that they depend on have ended; rejected, or given to a replica.

use servescope_workload::RequestId;

use super::disaggregation::Destination;
use super::replica_view::ReplicaView;
use super::{Fleet, rejection};
use crate::config::disaggregation::KvRole;
use crate::gateway::proxy::GatewayOutcome;
use crate::record::decisions::{Compared, Decision, Test, Verdict};
use crate::record::request_state::RequestStatus;
use crate::record::timeline::QueueDrop;
use crate::replica::batch_scheduler::{BatchEvent, Effect};
use crate::replica_index::ReplicaIndex;
use crate::request::{Outcome, Rejection};

impl Fleet {
    /// Sees which requests arrive and which go away up to `now_us`; either may let a held request go.
    pub(super) fn process_arrivals(&mut self, now_us: f64, ends_are_over: bool) {
        self.ends_are_over = ends_are_over;
        if let Some(scheduled) = &mut self.record.scheduled {
            self.frontend.are_scheduled(scheduled);
        }
        loop {
            let engines = ReplicaView {
                pools: &self.pools,
                trace: &self.trace,
                requests: &self.requests,
                replicas: &self.replicas,
                ends_are_over,
            };
            if let Some((given, _)) = self.frontend.next_until(&self.trace, now_us, &engines) {
                match given {
                    GatewayOutcome::Forward(id) => self.arrive(id, now_us),
                    GatewayOutcome::Rejected(id, reason) => {
                        self.end_outside(id, Outcome::Rejected(reason), now_us);
                    }
                    GatewayOutcome::TimedOut(id) => self.end_outside(id, Outcome::TimedOut, now_us),
                }
            } else if let Some(&(_, id)) =
                self.trace.cancellations.get(self.next_cancellation).filter(|c| c.0 <= now_us)
            {
                self.next_cancellation += 1;
                self.cancel(RequestId::new(id), now_us);
            } else if self.deadline_us().is_some_and(|at| at <= now_us) {
                self.time_out(now_us);
            } else {
                break;
            }
            self.notify_ended(now_us);
            if self.frontend.is_direct() && self.next_given_us() > now_us {
                break;
            }
        }
    }

    /// A request that depends on one that has ended is sent after its think time.
    #[inline]
    pub(super) fn notify_ended(&mut self, now_us: f64) {
        if self.record.ended.is_some() {
            self.notify_those_ended(now_us);
        }
    }

    fn notify_those_ended(&mut self, now_us: f64) {
        let Some(ended) = &mut self.record.ended else { return };
        if ended.is_empty() && self.record.first_tokens.as_ref().is_none_or(Vec::is_empty) {
            return;
        }
        for id in self.record.first_tokens.iter_mut().flat_map(|ids| ids.drain(..)) {
            self.frontend.first_token(id, now_us);
        }
        for id in ended.drain(..) {
            let result = &self.record.results[id];
            let completed = result.outcome == Outcome::Completed;
            self.frontend.ended(&self.trace, id, now_us, result.produced, completed);
        }
    }

    /// A request has come to its end before it came in.
    fn end_outside(&mut self, id: RequestId, outcome: Outcome, now_us: f64) {
        self.record.departures.push(QueueDrop { time_us: now_us, id });
        self.record.results[id].outcome = outcome;
        self.requests[id].status = RequestStatus::Finished;
        self.ends_session_before(id);
    }

    /// A request comes in: it is rejected, or given to a replica.
    pub(super) fn arrive(&mut self, id: RequestId, now_us: f64) {
        let i = id.index();
        let (input, max) = (self.trace.input_tokens[i], self.trace.max_tokens[i]);
        let rank = self.trace.rank(i);
        let candidates = self.candidates_of(id);
        let refusal = candidates.as_ref().err().copied().or_else(|| {
            let is_full = || self.replicas.iter().map(|replica| replica.outstanding).sum::<u32>();
            let bound = self.config.max_in_system;
            (bound < u32::MAX && is_full() >= bound).then_some(Rejection::Concurrency)
        });
        let refusal = refusal.or_else(|| self.refuses_unread(id));
        if let Some(reason) = refusal {
            self.record.results[i].outcome = Outcome::Rejected(reason);
            let Self { config, pools, record, .. } = self;
            record.decisions.add(|| {
                let cuts_outputs = pools[0].facts.lengths.cut().is_some();
                let request = [input, max, rank];
                let compared = rejection::compared(config, &pools[0].config, request, cuts_outputs, reason);
                Decision::before_router(now_us, id, Verdict::Rejected(reason), compared)
            });
        }
        // A client may go away before its request is there.
        if self.record.results[i].outcome != Outcome::Unfinished {
            self.requests[i].status = RequestStatus::Finished;
            self.ends_session_before(id);
            return self.record.ends(id);
        }
        if self.goes_on(id, now_us) {
            return;
        }
        if let Ok(candidates) = candidates {
            self.give_to_replica(id, candidates.as_deref(), now_us);
        }
    }

    /// The replicas that a request may be given to; `None`: all that are ready. Otherwise why it can never be served.
    pub(super) fn candidates_of(&self, id: RequestId) -> Result<Option<Vec<ReplicaIndex>>, Rejection> {
        let i = id.index();
        let request = [self.trace.input_tokens[i], self.trace.max_tokens[i], self.trace.rank(i)];
        match self.refused_by_roles(request) {
            Some(reason) => Err(reason),
            None if self.disaggregated.is_some() => Ok(Some(self.ready_of_role(KvRole::Consumer))),
            None => self.candidates(request),
        }
    }

    /// A request is given to one of the replicas that are ready for it, or waits for one; `None`: all that are ready.
    pub(super) fn give_to_replica(
        &mut self,
        id: RequestId,
        candidates: Option<&[ReplicaIndex]>,
        now_us: f64,
    ) {
        let i = id.index();
        if candidates.unwrap_or(&self.ready).is_empty() {
            self.restarts.wait(id);
            return self.note_deadline(id, now_us);
        }
        self.note_restart(id, now_us);
        let place = match self.route_by_roles(id, candidates, now_us) {
            None => self.route(id, candidates, now_us),
            Some(Destination::Whole(place)) => place,
            Some(Destination::TwoLegs { prefill, decode }) => {
                self.begin_prefill_leg(id, prefill, decode);
                prefill
            }
        };
        if let Some(most) = self.pool_of(place).facts.lengths.cut() {
            self.requests[i].total = self.requests[i].total.min(most);
        }
        self.counting.see(&self.queueing, &self.trace, id);
        self.group_of_mut(place).arrives(place);
        self.note_prompt(place, id);
        let is_accepted = self.replicas[place].waiting.accepts(&self.queueing, &self.trace, id, now_us);
        let (replica, mut context, _) = self.parts(place, now_us);
        if !is_accepted {
            let reason = Rejection::RateLimit;
            context.record.results[i].outcome = Outcome::Rejected(reason);
            context.record.decisions.add(|| {
                let compared = Compared::without_numbers(Test::RequestsPerMinute);
                Decision::of(now_us, replica.index, id, Verdict::Rejected(reason), compared)
            });
            context.requests[i].status = RequestStatus::Finished;
            context.record.ends(id);
            if replica.happened(&mut context, BatchEvent::Rejected(id)) != Effect::None {
                self.dirty_replicas.push(place);
            }
            return;
        }
        if replica.enqueue(&mut context, id) {
            self.dirty_replicas.push(place);
        }
        self.note_deadline(id, now_us);
    }

    /// A request waits from now on.
    fn note_deadline(&mut self, id: RequestId, now_us: f64) {
        if self.config.queue_timeout_us < f64::INFINITY {
            self.deadlines.push_back((now_us + self.config.queue_timeout_us, id));
        }
    }

    /// Whether the prompts that have no first token yet have too many tokens for another request, whichever pool it went to.
    fn refuses_unread(&mut self, id: RequestId) -> Option<Rejection> {
        let mut most = 0;
        for pool in &self.pools {
            most = most.max(pool.facts.max_queued_tokens?);
        }
        let unread = &mut self.record.unread;
        if unread.tokens() >= u64::from(most) {
            return Some(Rejection::QueueFull);
        }
        unread.add(id, self.trace.input_tokens[id]);
        None
    }
}
