//! What data-parallel ranks lose by running every forward pass together.

use serde::Serialize;

use crate::report::Report;

/// What passes cost that all ranks of a replica run together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct RankUse {
    /// Ranks of all replicas.
    pub ranks: u64,
    /// Passes of ranks, those without a batch among them.
    pub passes: u64,
    /// Of the time of all those passes, the share of dummy ones: the rank had no batch.
    pub dummy_share: f64,
    /// The share in which a rank with a batch waited for a slower one.
    pub waited_share: f64,
    /// How often the experts of a replica were rearranged.
    pub rearrangements: u64,
    /// The share in which a rank with a batch waited for weights of experts that moved.
    pub rearranging_share: f64,
}

impl RankUse {
    /// Of a run; `None`: no ranks ran together.
    pub(super) fn of(report: &Report) -> Option<Self> {
        let timeline = &report.timeline;
        let (mut passes, mut batch_us, mut waited_us, mut moving_us) = (0, 0.0, 0.0, 0.0);
        for run in timeline.iterations.iter().filter(|run| run.rank_rows.all > 0) {
            passes += u64::from(run.iterations);
            batch_us += run.end_us - run.start_us;
            let replica = report.replicas[run.replica.index()].replica;
            let moving = timeline.rearranging_us(replica, run.end_us - run.waited_us, run.end_us);
            moving_us += moving;
            waited_us += run.waited_us - moving;
        }
        let dummy_us: f64 = timeline.dummy_batches.iter().map(|row| row.end_us - row.start_us).sum();
        let all_us = batch_us + dummy_us;
        let share = |us: f64| if all_us > 0.0 { us / all_us } else { 0.0 };
        (passes > 0).then(|| Self {
            ranks: report.replicas.len() as u64,
            passes: passes + timeline.dummy_batches.iter().map(|row| u64::from(row.passes)).sum::<u64>(),
            dummy_share: share(dummy_us),
            waited_share: share(waited_us),
            rearrangements: timeline.rearrangements.len() as u64,
            rearranging_share: share(moving_us),
        })
    }
}
