//! Replicas that fail. Requests that wait or run there are lost; a new replica takes the place of the one that failed and is ready after
//! a cold start, as Kubernetes starts a pod again. Meanwhile no request is given to it, and where no replica is ready at all, requests
//! wait at the router.
//!
//! The iteration under way is still computed, and the replica is gone with its end: its requests have left as those do whose clients go
//! away. What is sent again comes in as it did the first time, is routed again, and computes prompt and answer from the beginning.

use std::collections::{BTreeMap, VecDeque};

use servescope_workload::RequestId;
use servescope_workload::stream::Stream;

use super::Fleet;
use super::events::Event;
use crate::config::failures::Failures;
use crate::record::EventLog;
use crate::record::decisions::{Compared, Decision, Verdict};
use crate::record::failures::{ReplicaFailure, Restart};
use crate::record::request_state::RequestStatus;
use crate::replica_index::ReplicaIndex;
use crate::request::{Outcome, Rejection, RequestResult};

/// Most failures of a run; the replicas that would fail after them do not.
pub const MOST_FAILURES: usize = 1_000;

/// Requests that failures have left without a replica.
#[derive(Debug, Clone, Default)]
pub(super) struct Restarts {
    /// Those that no replica is ready for.
    without_replica: Vec<RequestId>,
    /// Tokens that were thrown away, of those that have no other replica yet.
    lost_tokens: BTreeMap<RequestId, u32>,
    /// How often each was sent again.
    retries: BTreeMap<RequestId, u32>,
}

impl Restarts {
    /// A request waits until a replica is ready.
    pub(super) fn wait(&mut self, id: RequestId) {
        self.lost_tokens.entry(id).or_insert(0);
        self.without_replica.push(id);
    }

    /// Whether a request waits until a replica is ready.
    pub(super) fn is_without_replica(&self, id: RequestId) -> bool {
        self.without_replica.contains(&id)
    }
}

/// The failures of a pool that are to come.
#[derive(Debug, Clone)]
pub(super) struct PoolFailures {
    given_us: VecDeque<f64>,
    mean_us: f64,
    /// The next one that was drawn.
    drawn_us: f64,
    drawn: usize,
}

impl PoolFailures {
    pub(super) fn new(failures: Failures) -> Self {
        let mut given_us = failures.times_us;
        given_us.retain(|us| us.is_finite() && *us >= 0.0);
        given_us.sort_by(f64::total_cmp);
        let mean_us = if failures.mean_us > 0.0 { failures.mean_us } else { f64::INFINITY };
        Self { given_us: given_us.into(), mean_us, drawn_us: f64::INFINITY, drawn: 0 }
    }

    /// When the next one is; infinite: there is none.
    fn next_us(&self) -> f64 {
        self.given_us.front().copied().unwrap_or(f64::INFINITY).min(self.drawn_us)
    }

    /// What was to happen by now has happened.
    fn happened(&mut self, now_us: f64) {
        while self.given_us.front().is_some_and(|&us| us <= now_us) {
            self.given_us.pop_front();
        }
    }

    /// The next one is drawn for so many replicas, where none is expected.
    fn go_on(&mut self, draws: &Stream, replicas: usize, now_us: f64) {
        if self.mean_us < f64::INFINITY && (self.drawn == 0 || self.drawn_us <= now_us) {
            let uniform = draws.item(self.drawn).uniform();
            self.drawn += 1;
            self.drawn_us = now_us - libm::log1p(-uniform) * self.mean_us / replicas.max(1) as f64;
        }
    }
}

impl Fleet {
    /// The next failure of a pool is expected.
    pub(super) fn expect_failure(&mut self, pool: u16, now_us: f64) {
        let replicas = self.ready_of(pool, now_us).len();
        let draws = Stream::named(self.config.seed, &format!("fleet.failures.{pool}"));
        let own = &mut self.pools[usize::from(pool)].failures;
        own.go_on(&draws, replicas, now_us);
        let next_us = own.next_us();
        if next_us < f64::INFINITY {
            self.events.push(next_us, Event::ReplicaFails(pool));
        }
    }

    /// The first ranks of the replicas of a pool that are ready.
    fn ready_of(&self, pool: u16, now_us: f64) -> Vec<ReplicaIndex> {
        let is_ready = |first: &ReplicaIndex| {
            let life = &self.replicas[*first].life;
            life.pool == pool && life.ready_us <= now_us && now_us < life.drain_us
        };
        self.groups.iter().map(|group| group.first).filter(is_ready).collect()
    }

    /// One of the ready replicas of a pool fails, drawn at random; none where there is none, or nothing is left to do.
    pub(super) fn replica_fails(&mut self, pool: u16, now_us: f64) {
        let is_over = self.next_given_us() == f64::INFINITY && !self.events.has_work();
        let is_bounded = self.record.failures.len() >= MOST_FAILURES;
        if is_bounded || is_over && self.restarts.without_replica.is_empty() {
            return;
        }
        self.pools[usize::from(pool)].failures.happened(now_us);
        let ready = self.ready_of(pool, now_us);
        if !ready.is_empty() {
            self.one_fails(pool, &ready, now_us);
        }
        self.expect_failure(pool, now_us);
    }

    fn one_fails(&mut self, pool: u16, ready: &[ReplicaIndex], now_us: f64) {
        let draws = Stream::named(self.config.seed, "fleet.failures");
        let drawn = draws.item(self.record.failures.len()).uniform() * ready.len() as f64;
        let replica = ready[(drawn as usize).min(ready.len() - 1)];
        let ranks: Vec<ReplicaIndex> = self.group_of(replica).ranks().collect();
        for &place in &ranks {
            let life = &mut self.replicas[place].life;
            (life.drain_us, life.fails) = (now_us, true);
            self.ready.retain(|&other| other != place);
            self.draining.push(place);
        }
        self.start_replica(pool, now_us);
        self.transfers_fail(&ranks, now_us);
        let is_there = |&id: &RequestId| {
            self.record.results[id].outcome == Outcome::Unfinished
                && self.requests[id].status != RequestStatus::Finished
                && ranks.contains(&self.requests[id].leg.replica)
                && !self.frontend.is_not_yet_at_engine(id)
                && !self.restarts.is_without_replica(id)
        };
        let lost: Vec<RequestId> = RequestId::first(self.trace.len()).filter(is_there).collect();
        self.record.failures.push(ReplicaFailure { time_us: now_us, replica, lost: lost.len() as u32 });
        for id in lost {
            self.record.lost.insert(id);
            self.leave(id, now_us);
        }
    }

    /// From when on a failure may send requests again, microseconds; infinite: none does.
    pub(super) fn next_failure_us(&self) -> f64 {
        let EventLog { lost, torn_down, .. } = &self.record;
        if !(lost.is_empty() && torn_down.is_empty() && self.restarts.without_replica.is_empty()) {
            return 0.0;
        }
        self.pools.iter().map(|pool| pool.failures.next_us()).fold(f64::INFINITY, f64::min)
    }

    /// Whether a replica has failed and its last iteration has ended: then it does nothing more, and its queue may name requests that are
    /// elsewhere again.
    pub(super) fn has_failed(&self, place: ReplicaIndex, now_us: f64) -> bool {
        let life = &self.replicas[place].life;
        life.fails && life.stop_us <= now_us
    }

    /// A request goes that waits for a replica, if it does.
    pub(super) fn leaves_without_replica(&mut self, id: RequestId, outcome: Outcome) -> bool {
        let waits = self.restarts.is_without_replica(id);
        if waits {
            self.restarts.without_replica.retain(|&other| other != id);
            self.record.results[id].outcome = outcome;
            self.requests[id].status = RequestStatus::Finished;
            self.record.ends(id);
        }
        waits
    }

    /// The client of a request goes away that has lost its replica, or that waits for one. Says whether it is such a one.
    pub(super) fn cancel_lost(&mut self, id: RequestId) -> bool {
        if self.leaves_without_replica(id, Outcome::Cancelled) {
            return true;
        }
        if self.record.torn_down.contains(&id) {
            self.record.torn_down.retain(|&other| other != id);
            self.record.ended.iter_mut().for_each(|ended| ended.push(id));
            return true;
        }
        self.record.lost.remove(&id)
    }

    /// Requests that have left a replica that failed end with an error, or come in again, once its last iteration has ended. Says whether
    /// there was one.
    pub(super) fn give_again(&mut self, now_us: f64) -> bool {
        let is_gone = |id: &RequestId| {
            let life = &self.replicas[self.requests[*id].leg.replica].life;
            !life.fails || life.stop_us <= now_us
        };
        let (ready, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.record.torn_down).into_iter().partition(is_gone);
        self.record.torn_down = left;
        for &id in &ready {
            let lost_tokens = self.record.results[id].produced;
            let retries = self.restarts.retries.entry(id).or_insert(0);
            *retries += 1;
            if *retries > self.config.failure_retries {
                let reason = Rejection::ReplicaFailed;
                self.record.results[id].outcome = Outcome::Rejected(reason);
                let (replica, verdict) = (self.requests[id].leg.replica, Verdict::Rejected(reason));
                self.record.decisions.add(|| Decision::of(now_us, replica, id, verdict, Compared::NOTHING));
                self.record.ends(id);
            } else {
                self.record.results[id] = RequestResult::default();
                self.requests.begins_again(&self.trace, id);
                self.restarts.lost_tokens.insert(id, lost_tokens);
                self.arrive(id, now_us);
            }
        }
        !ready.is_empty()
    }

    /// A request has a replica again, or at last.
    pub(super) fn note_restart(&mut self, id: RequestId, now_us: f64) {
        if let Some(lost_tokens) = self.restarts.lost_tokens.remove(&id) {
            self.record.restarts.push(Restart { request: id, time_us: now_us, lost_tokens });
        }
    }

    /// Requests that no replica was ready for are given to those that are now.
    pub(super) fn give_waiting(&mut self, now_us: f64) {
        for id in std::mem::take(&mut self.restarts.without_replica) {
            if let Ok(candidates) = self.candidates_of(id) {
                self.give_to_replica(id, candidates.as_deref(), now_us);
            }
        }
    }
}
