//! What became of a fleet whose number of replicas changes.

use serde::Serialize;

use crate::record::replica_life::ReplicaLife;
use crate::report::Report;

/// The replicas over time, and what autoscalers did about them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ScalingUse {
    /// Decisions of autoscalers.
    pub decisions: u64,
    /// Of these, those that changed the number of replicas.
    pub actions: u64,
    /// Replicas that started during the run.
    pub started: u64,
    /// Replicas that began to drain, those cancelled while they started among them.
    pub drained: u64,
    /// Replicas that failed; each is among those that drained, and another one started in its place.
    pub failed: u64,
    /// How often an hour an autoscaler added replicas after it had taken some away, or the other way round.
    pub turns_per_h: f64,
    /// Replica seconds of replicas that were ready.
    pub ready_s: f64,
    /// Of those that were starting, which are billed, too.
    pub starting_s: f64,
    /// Of those that were draining, which are billed, too.
    pub draining_s: f64,
}

impl ScalingUse {
    /// Of a run; `None`: the number of replicas never changed, and no autoscaler was there.
    pub(super) fn of(report: &Report, makespan_us: f64) -> Option<Self> {
        let lives = || report.replicas.iter().filter(|life| life.rank == 0);
        let is_new = |life: &&ReplicaLife| life.start_us > 0.0;
        let drains = |life: &&ReplicaLife| life.drain_us < f64::INFINITY;
        let (started, drained) = (lives().filter(is_new).count(), lives().filter(drains).count());
        if started == 0 && drained == 0 && report.scaling.is_empty() {
            return None;
        }
        let seconds = |of: fn(&ReplicaLife) -> (f64, f64)| {
            let own = lives().map(of).map(|(from_us, to_us)| (to_us.min(makespan_us) - from_us).max(0.0));
            own.sum::<f64>() / 1e6
        };
        let hours = makespan_us / 3.6e9;
        Some(Self {
            decisions: report.scaling.len() as u64,
            actions: report.scaling.iter().filter(|decision| decision.is_action()).count() as u64,
            started: started as u64,
            drained: drained as u64,
            failed: report.failures.len() as u64,
            turns_per_h: if hours > 0.0 { turns(report) as f64 / hours } else { 0.0 },
            ready_s: seconds(|life| (life.ready_us, life.drain_us)),
            starting_s: seconds(|life| (life.start_us, life.ready_us.min(life.drain_us))),
            draining_s: seconds(|life| (life.drain_us, life.stop_us)),
        })
    }
}

/// Changes of direction, of each pool by itself.
fn turns(report: &Report) -> usize {
    let of_pool = |pool: u16| {
        let own = report.scaling.iter().filter(|decision| decision.pool == pool && decision.is_action());
        let ups: Vec<bool> =
            own.map(|decision| decision.desired > decision.ready + decision.starting).collect();
        ups.windows(2).filter(|pair| pair[0] != pair[1]).count()
    };
    (0..report.pools.len() as u16).map(of_pool).sum()
}
