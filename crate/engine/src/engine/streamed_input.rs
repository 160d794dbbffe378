//! Sessions whose input comes in chunks: a chunk goes to the replica that keeps its session, waits for the answer before it, or is a
//! request like any other where nothing is kept of its session.

use servescope_workload::RequestId;

use super::Fleet;
use super::events::Event;
use crate::record::input_chunk;
use crate::record::request_state::{Leg, LegRole, RequestStatus};
use crate::replica::holding::Holder;
use crate::replica_index::ReplicaIndex;
use crate::router::RoutingView;

impl Fleet {
    /// Before anything happens: which requests are chunks, and when sessions end that stay open.
    pub(super) fn prepare_sessions(&mut self) {
        if !self.pools.iter().all(|pool| pool.facts.keeps_sessions) {
            return;
        }
        self.requests.chunks = input_chunk::chunks_of(&self.trace);
        if self.requests.found.is_empty() {
            self.requests.found = vec![None; self.requests.chunks.len()];
        }
        for id in RequestId::first(self.requests.chunks.len()) {
            let chunk = self.requests.chunks[id.index()];
            if chunk.next.is_none() && chunk.open_until_us > 0.0 {
                self.events.push(chunk.open_until_us, Event::SessionEnds(id));
            }
        }
    }

    /// A chunk comes in; says whether it goes on from what its session has, at the replica where that is.
    pub(super) fn goes_on(&mut self, id: RequestId, now_us: f64) -> bool {
        let Some(previous) = self.requests.chunk(id).and_then(|chunk| chunk.previous) else { return false };
        let place = self.requests[previous].leg.replica;
        let is_answered = self.requests[previous].status == RequestStatus::Finished;
        let is_kept = if is_answered {
            self.replicas[place].holding.get(previous).is_some_and(Holder::awaits_input)
        } else {
            !self.frontend.is_not_yet_at_engine(previous) && !self.restarts.is_without_replica(previous)
        };
        if !is_kept {
            self.requests.chunks[id.index()].previous = None;
            return false;
        }
        self.follow_session((previous, id), place, now_us);
        self.replicas[place].outstanding += 1;
        if !is_answered {
            let request = &mut self.requests[id];
            (request.leg, request.status) = (Leg::at(place, LegRole::Whole), RequestStatus::BehindAnswer);
            self.behind_answers.push(id);
            return true;
        }
        self.group_of_mut(place).arrives(place);
        let (replica, mut context, _) = self.parts(place, now_us);
        replica.resume_session(&mut context, previous, id);
        self.dirty_replicas.push(place);
        true
    }

    /// The router counts a chunk that goes to its session.
    fn follow_session(&mut self, (previous, id): (RequestId, RequestId), place: ReplicaIndex, now_us: f64) {
        self.counting.see(&self.queueing, &self.trace, id);
        self.note_prompt(place, id);
        self.tell_router(now_us);
        let first = self.group_of(place).first;
        let address = if self.replicas[first].life.ranks_behind > 1 { first } else { place };
        let said = self.trace.input_tokens[previous] + self.trace.output_tokens[previous];
        let config_of = |pool: u16| &self.pools[usize::from(pool)].config;
        let view =
            RoutingView { config_of: &config_of, replicas: &self.replicas, trace: &self.trace, now_us };
        self.router.follow_session(&view, id, (address, said - 1));
    }

    /// Chunks whose session ended before its answer did are requests like any others.
    pub(super) fn give_left_behind(&mut self, now_us: f64) {
        for id in std::mem::take(&mut self.behind_answers) {
            if self.requests[id].status != RequestStatus::BehindAnswer {
                continue;
            }
            let previous = self.requests.chunk(id).and_then(|chunk| chunk.previous);
            let unanswered = previous.filter(|&id| self.requests[id].status != RequestStatus::Finished);
            if let Some(previous) = unanswered {
                self.behind_answers.push(id);
                self.follow_to(previous, id, now_us);
                continue;
            }
            self.leave_answer(id);
            self.record.is_sent_again(id);
            self.requests.chunks[id.index()].previous = None;
            self.requests[id].status = RequestStatus::Waiting;
            if let Ok(candidates) = self.candidates_of(id) {
                self.give_to_replica(id, candidates.as_deref(), now_us);
            }
        }
    }

    /// A chunk that waits for an answer goes where that is made, if that is another replica now.
    fn follow_to(&mut self, previous: RequestId, id: RequestId, now_us: f64) {
        let place = self.requests[previous].leg.replica;
        if place != self.requests[id].leg.replica {
            self.leave_answer(id);
            self.record.is_sent_again(id);
            self.follow_session((previous, id), place, now_us);
            self.requests[id].leg.replica = place;
            self.replicas[place].outstanding += 1;
        }
    }

    /// A chunk waits no more for the answer before it.
    pub(super) fn leave_answer(&mut self, id: RequestId) {
        let place = self.requests[id].leg.replica;
        self.replicas[place].outstanding -= 1;
    }

    /// A request ends that did not come to a replica: no input of its session is awaited any more.
    pub(super) fn ends_session_before(&mut self, id: RequestId) {
        let Some(previous) = self.requests.chunk(id).and_then(|chunk| chunk.previous) else { return };
        self.requests.chunks[id.index()].is_over = true;
        self.end_session(previous);
    }

    /// A session ends behind a request; where it awaits input its blocks are free.
    pub(super) fn end_session(&mut self, id: RequestId) {
        let place = self.requests[id].leg.replica;
        if self.replicas[place].close_session(id) {
            self.dirty_replicas.push(place);
        }
    }
}
