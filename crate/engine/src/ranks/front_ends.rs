//! The front ends of a replica with several ranks, each of which chooses the rank of its requests.

use std::collections::BTreeMap;

use servescope_workload::RequestId;

use super::coordinator::{Coordinator, RankCounts};
use crate::config::ranks::{DataParallel, RankChoice};
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

    /// The rank of a request.
    pub(super) fn choose(
        &mut self,
        id: RequestId,
        asked: Option<u16>,
        ranks: &[Replica],
        now_us: f64,
    ) -> u16 {
        self.take_messages(now_us);
        let count = self.each.len() as u64;
        let place = (self.requests % count) as usize;
        self.requests += 1;
        let own = &mut self.each[place];
        let rank = match asked {
            Some(rank) if usize::from(rank) < ranks.len() => usize::from(rank),
            _ => own.choose(self.choice, count as u32, ranks),
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
    /// The rank with the least score, and of equal ones the first from a start that moves on with each request.
    fn choose(&mut self, choice: RankChoice, front_ends: u32, ranks: &[Replica]) -> usize {
        let count = ranks.len();
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
        let in_turn = (0..count).map(|step| (self.start + step) % count);
        let least = in_turn.min_by(|&one, &other| score(one).total_cmp(&score(other))).unwrap_or(0);
        self.counts[least].waiting += front_ends;
        self.start = (self.start + 1) % count;
        least
    }
}
