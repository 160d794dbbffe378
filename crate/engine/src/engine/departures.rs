//! Clients that go away, and requests that wait longer than they may.
//!
//! A waiting request leaves the queue at once. A request of the iteration under way leaves when that ends, with the token that it
//! makes; its memory is free from then on.

use servescope_workload::RequestId;

use super::Fleet;
use crate::record::decisions::{Compared, Decision, Verdict};
use crate::record::request_state::{LegRole, RequestStatus};
use crate::record::timeline::QueueDrop;
use crate::replica::batch_scheduler::{BatchEvent, Effect};
use crate::replica_index::ReplicaIndex;
use crate::request::Outcome;

impl Fleet {
    /// When the next request will have waited too long.
    pub(super) fn deadline_us(&mut self) -> Option<f64> {
        while let Some(&(at_us, id)) = self.deadlines.front() {
            let i = id.index();
            let is_open = self.record.results[i].outcome == Outcome::Unfinished;
            let waits = self.requests[i].status == RequestStatus::Waiting
                && self.requests[i].leg.role != LegRole::Decode;
            if is_open && waits && self.requests[i].leg.scheduled_us.is_nan() {
                return Some(at_us);
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// The request with the next deadline times out.
    pub(super) fn time_out(&mut self, now_us: f64) {
        let Some((_, id)) = self.deadlines.pop_front() else { return };
        self.record.results[id].outcome = Outcome::TimedOut;
        self.record.departures.push(QueueDrop { time_us: now_us, id });
        let replica = self.requests[id].leg.replica;
        self.record.decisions.add(|| Decision::of(now_us, replica, id, Verdict::TimedOut, Compared::NOTHING));
        if !self.leaves_without_replica(id, Outcome::TimedOut) {
            self.leave_queue(id, now_us);
        }
    }

    /// A client goes away.
    pub(super) fn cancel(&mut self, id: RequestId, now_us: f64) {
        if !self.cancel_lost(id) {
            self.leave(id, now_us);
        }
    }

    /// A request goes away, wherever it is.
    pub(super) fn leave(&mut self, id: RequestId, now_us: f64) {
        let i = id.index();
        if self.pool_of(self.requests[i].leg.replica).facts.cancels_late {
            return self.cancel_late(id, now_us);
        }
        let result = &mut self.record.results[i];
        if result.outcome != Outcome::Unfinished {
            return;
        }
        result.outcome = Outcome::Cancelled;
        if self.frontend.is_not_yet_at_engine(id) {
            self.frontend.client_cancelled(&self.trace, id, now_us);
            return self.ends_session_before(id);
        }
        if matches!(self.requests[i].status, RequestStatus::Waiting | RequestStatus::BetweenLegs) {
            self.cancel_between_legs(id);
        }
        if self.requests[i].status == RequestStatus::Waiting {
            return self.leave_queue(id, now_us);
        }
        if self.requests[i].status == RequestStatus::BehindAnswer {
            self.leave_answer(id);
            self.ends_session_before(id);
            self.requests[i].status = RequestStatus::Finished;
            return self.record.ends(id);
        }
        if self.requests[i].status == RequestStatus::BetweenLegs {
            self.requests[i].status = RequestStatus::Finished;
            return self.record.ends(id);
        }
        if self.requests[i].status == RequestStatus::Loading {
            return self.leave_load(id, now_us);
        }
        let place = self.requests[i].leg.replica;
        let in_flight = if self.pool_of(place).is_pipelined {
            self.pipelines[place].holds(id)
        } else {
            self.replicas[place].in_flight > 0
        };
        if in_flight {
            self.replicas[place].pending_aborts.push(id);
            self.truncate_fast_forward(place, now_us);
        } else {
            let (replica, mut context, _) = self.parts(place, now_us);
            if context.facts.lists_running {
                replica.with_list(|list, replica| list.release_aborted(replica, &mut context, id));
            } else {
                replica.release_aborted(&mut context, id);
            }
            self.note_left(place);
            self.dirty_replicas.push(place);
        }
    }

    /// The same where the replica learns of it between two iterations.
    fn cancel_late(&mut self, id: RequestId, now_us: f64) {
        let i = id.index();
        let place = self.requests[i].leg.replica;
        if self.record.results[i].outcome == Outcome::Unfinished {
            let is_outside = self.frontend.is_not_yet_at_engine(id);
            if is_outside || self.requests[i].status == RequestStatus::Waiting {
                self.record.results[i].outcome = Outcome::Cancelled;
            }
            if is_outside {
                self.frontend.client_cancelled(&self.trace, id, now_us);
            } else if self.requests[i].status == RequestStatus::Waiting {
                let (replica, mut context, _) = self.parts(place, now_us);
                replica.drop_waiting(&mut context, id);
            }
        }
        let (replica, mut context, _) = self.parts(place, now_us);
        replica.happened(&mut context, BatchEvent::Dropped(id, Outcome::Cancelled));
        self.dirty_replicas.push(place);
    }

    /// A request has left a replica between two batches.
    fn note_left(&mut self, place: ReplicaIndex) {
        self.pipelines[place].has_left = true;
    }

    /// A request goes that waits with blocks.
    fn leave_load(&mut self, id: RequestId, now_us: f64) {
        let place = self.requests[id].leg.replica;
        self.note_left(place);
        let (replica, mut context, _) = self.parts(place, now_us);
        replica.drop_holder(&mut context, id);
        self.dirty_replicas.push(place);
    }

    fn leave_queue(&mut self, id: RequestId, now_us: f64) {
        let place = self.requests[id].leg.replica;
        self.note_left(place);
        let (replica, mut context, _) = self.parts(place, now_us);
        let outcome = context.record.results[id].outcome;
        let may_be_next = replica.drop_waiting(&mut context, id);
        // Behind its head a queue is not scanned, unless requests are skipped whose adapters have no slot.
        let effect = replica.happened(&mut context, BatchEvent::Dropped(id, outcome));
        if effect != Effect::None || may_be_next {
            self.dirty_replicas.push(place);
        }
    }
}
