//! The front ends of a replica with several ranks, each of which chooses the rank of its requests.

use std::collections::BTreeMap;

use servescope_workload::RequestId;

use super::coordinator::{Coordinator, RankCounts};
use crate::config::ranks::{DataParallel, RankChoice};
use crate::record::decisions::{Compared, Decision, DecisionLog, RatedReplica, RoutingChoice, Test, Verdict};
use crate::replica::Replica;

/// How much a waiting request counts more where all KV memory is in use …
const WAITING_WEIGHT: f64 = 6.0;
/// … and the use from which on it does.
const FREE_KV_USE: f64 = 0.5;
/// What a waiting request counted beside a running one in versions before.
const OLD_WAITING_WEIGHT: u32 = 4;

/// The front ends, and the coordinator that tells them of the ranks.
#[derive(Debug, Clone)]
pub(super) struct FrontEnds {
    choice: RankChoice,
    each: Vec<FrontEnd>,
    coordinator: Coordinator,
    /// How many requests they have had.
    requests: u64,
    /// Requests that have not ended: whose they are, and their rank.
    in_flight: BTreeMap<RequestId, (u16, u16)>,
}

/// What one of them knows.
#[derive(Debug, Clone)]
struct FrontEnd {
    /// The coordinator's last message, and on top what it sent since.
    counts: Vec<RankCounts>,
    /// Requests of its own that have not ended, by rank.
    in_flight: Vec<u32>,
    /// The rank with which the next search begins.
    start: usize,
}

impl FrontEnds {
    pub(super) fn new(config: &DataParallel) -> Self {
        let (ranks, count) = (config.ranks as usize, config.front_ends.max(1) as usize);
        let front_end = |place: usize| FrontEnd {
            counts: vec![RankCounts::default(); ranks],
            in_flight: vec![0; ranks],
            start: ranks * place / count,
        };
        Self {
            choice: config.choice,
            each: (0..count).map(front_end).collect(),
            coordinator: Coordinator::new(ranks, config.lockstep.is_some()),
            requests: 0,
            in_flight: BTreeMap::new(),
        }
    }

    /// A rank reports its counts.
    pub(super) fn reported(
        &mut self,
        rank: usize,
        counts: RankCounts,
        step: Option<(u32, u32)>,
        now_us: f64,
    ) {
        self.take_messages(now_us);
        self.coordinator.hear(rank, counts, step, now_us);
    }

    /// The rank of a request, which the log gets with the scores of all. `asked`: the one that the request itself asks for.
    pub(super) fn choose(
        &mut self,
        (id, asked): (RequestId, Option<u16>),
        ranks: &[Replica],
        (log, now_us): (&mut DecisionLog, f64),
    ) -> u16 {
        self.take_messages(now_us);
        let count = self.each.len() as u64;
        let place = (self.requests % count) as usize;
        self.requests += 1;
        let own = &mut self.each[place];
        let rank = match asked {
            Some(rank) if usize::from(rank) < ranks.len() => usize::from(rank),
            _ => {
                let scores = own.scores(self.choice, count as u32, ranks);
                let rank = own.least(&scores);
                if log.is_on() {
                    own.write_down(log, (id, now_us), ranks, (rank, &scores));
                }
                own.sends(rank, count as u32);
                rank
            }
        };
        own.in_flight[rank] += 1;
        self.in_flight.insert(id, (place as u16, rank as u16));
        rank as u16
    }

    /// A request has ended.
    pub(super) fn ended(&mut self, id: RequestId) {
        if let Some((place, rank)) = self.in_flight.remove(&id) {
            self.each[usize::from(place)].in_flight[usize::from(rank)] -= 1;
        }
    }

    fn take_messages(&mut self, now_us: f64) {
        while let Some(counts) = self.coordinator.send_before(now_us) {
            self.each.iter_mut().for_each(|own| own.counts.clone_from(&counts));
        }
    }
}

impl FrontEnd {
    /// What speaks against each rank.
    fn scores(&self, choice: RankChoice, front_ends: u32, ranks: &[Replica]) -> Vec<f64> {
        let score = |rank: usize| {
            let RankCounts { running, waiting, kv_use } = self.counts[rank];
            match choice {
                RankChoice::Vllm => {
                    let load = f64::from((front_ends * self.in_flight[rank]).max(waiting + running));
                    load + f64::from(waiting) * WAITING_WEIGHT * (kv_use - FREE_KV_USE).max(0.0)
                }
                RankChoice::VllmQueues => f64::from(OLD_WAITING_WEIGHT * waiting + running),
                RankChoice::FewestRequests => f64::from(ranks[rank].outstanding),
                RankChoice::RoundRobin | RankChoice::External => 0.0,
            }
        };
        (0..ranks.len()).map(score).collect()
    }

    /// The rank with the least score, and of equal ones the first from a start that moves on with each request.
    fn least(&self, scores: &[f64]) -> usize {
        let in_turn = (0..scores.len()).map(|step| (self.start + step) % scores.len());
        in_turn.min_by(|&one, &other| scores[one].total_cmp(&scores[other])).unwrap_or(0)
    }

    /// Until the next message it counts what it sends as waiting, once for each front end.
    fn sends(&mut self, rank: usize, front_ends: u32) {
        self.counts[rank].waiting += front_ends;
        self.start = (self.start + 1) % self.counts.len();
    }

    fn write_down(
        &self,
        log: &mut DecisionLog,
        (request, time_us): (RequestId, f64),
        ranks: &[Replica],
        (chosen, scores): (usize, &[f64]),
    ) {
        let known = |rank: usize| self.counts[rank].waiting + self.counts[rank].running;
        let compared = Compared::new(Test::RankRequests, self.in_flight[chosen], known(chosen));
        log.add(|| Decision::of(time_us, ranks[chosen].index, request, Verdict::Routed, compared));
        let rated = |rank: usize| RatedReplica {
            replica: ranks[rank].index,
            cached_tokens: 0,
            uncached_tokens: 0,
            requests: known(rank).max(self.in_flight[rank]),
            // The log has the highest as the best.
            score: Some(-scores[rank]),
        };
        log.add_choice(RoutingChoice { time_us, request, replicas: (0..ranks.len()).map(rated).collect() });
    }
}
