//! S-LoRA's admission policies against burstiness, on the authors' own workloads.
//!
//! Rows: authors' recorded runs (Sheng et al., MLSys 2024; S-LoRA repository, Apache-2.0) on an A10G with 200 adapters,
//! alpha 1, R = 2, D = 300 s. None of them was used to tune the calibration. What exactly the authors ran as LIFO is not in
//! their repository; here it is plain last come, first served.

use std::sync::Arc;

use servescope_engine::Simulation;
use servescope_engine::metrics::summary::SummaryContext;
use servescope_engine::metrics::token_gaps::TokenGaps;
use servescope_engine::metrics::{Summary, summarise};
use servescope_engine::scheduler::{Order, Queueing};

use super::{ROWS, Row, trace_of};
use crate::scenario::Scenario;

/// A policy of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// S-LoRA's queue.
    Fcfs,
    /// Newest first.
    Lifo,
    /// Newest or oldest first, giving up who would be late.
    EarlyAbort,
}

impl Policy {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "FCFS",
            Self::Lifo => "LIFO",
            Self::EarlyAbort => "early abort",
        }
    }

    fn order(self) -> Order {
        match self {
            Self::Fcfs => Order::Fcfs,
            Self::Lifo => Order::Lifo,
            Self::EarlyAbort => Order::EarlyAbort { bound_us: 6e6 },
        }
    }
}

/// A recorded run: attainment and rejected requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicyRow {
    /// "S1" or "S2".
    pub suite: &'static str,
    /// The policy.
    pub policy: Policy,
    /// Burstiness.
    pub cv: f64,
    /// Share of all requests with a first token within 6 s.
    pub attainment: f64,
    /// Requests given up, of 600.
    pub rejected: u32,
}

macro_rules! rows {
    ($($suite:literal $policy:ident $cv:literal: $attainment:literal $rejected:literal;)*) => {
        /// The recorded runs under LIFO and early abort.
        pub static POLICY_ROWS: &[PolicyRow] = &[$(PolicyRow {
            suite: $suite,
            policy: Policy::$policy,
            cv: $cv,
            attainment: $attainment,
            rejected: $rejected,
        },)*];
    };
}

rows! {
    "S1" EarlyAbort 1.0: 0.9417 35;
    "S1" EarlyAbort 2.0: 0.8983 61;
    "S1" EarlyAbort 4.0: 0.8150 111;
    "S1" EarlyAbort 6.0: 0.7583 135;
    "S1" EarlyAbort 8.0: 0.7433 141;
    "S2" EarlyAbort 1.0: 0.8583 85;
    "S2" EarlyAbort 2.0: 0.8167 110;
    "S2" EarlyAbort 4.0: 0.7433 154;
    "S2" EarlyAbort 6.0: 0.6900 173;
    "S2" EarlyAbort 8.0: 0.6367 209;
    "S2" Lifo 1.0: 0.7900 0;
    "S2" Lifo 2.0: 0.6967 0;
    "S2" Lifo 4.0: 0.6400 0;
    "S2" Lifo 6.0: 0.6000 0;
    "S2" Lifo 8.0: 0.5000 0;
}

/// Bound on the error of attainment.
pub const ATTAINMENT_BOUND: f64 = 0.10;

/// A recorded run beside this simulator's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyComparison {
    /// The recorded run.
    pub row: PolicyRow,
    /// The same run here.
    pub ours: Summary,
}

impl PolicyComparison {
    /// Ours - recorded.
    pub fn attainment_error(&self) -> f64 {
        self.ours.slo.attainment.unwrap_or(0.0) - self.row.attainment
    }

    /// Whether it is within its bound.
    pub fn is_within(&self) -> bool {
        self.attainment_error().abs() <= ATTAINMENT_BOUND
    }
}

/// Simulates a recorded run with the default scenario's server and calibration.
pub fn compare(row: &PolicyRow) -> PolicyComparison {
    let scenario = Scenario::default();
    let trace =
        trace_of(&Row { suite: row.suite, cv: row.cv, alpha: 1.0, rate_rps: 2.0, adapters: 200, ..ROWS[0] });
    let queueing = Queueing { order: row.policy.order(), ..Queueing::default() };
    let report =
        Simulation::new(Arc::new(trace), scenario.scheduler(), scenario.cost()).queued(queueing).run();
    let context = SummaryContext { slo: scenario.slo(), rate_rps: Some(2.0), flops: None, table_rows: 0 };
    PolicyComparison { row: *row, ours: summarise(&report, &TokenGaps::of(&report.timeline), &context) }
}

/// The recorded and our attainment of first come, first served in the sweep over cv: (suite, cv, recorded, ours).
pub fn fcfs() -> Vec<(&'static str, f64, f64, f64)> {
    let rows = ROWS.iter().filter(|row| row.sweep == "cv");
    rows.map(|row| {
        let ours = super::compare(row).ours.slo.attainment.unwrap_or(0.0);
        (row.suite, row.cv, row.attainment, ours)
    })
    .collect()
}

/// Whether at every cv of a suite early abort attains at least as much as LIFO and LIFO more than first come, first served,
/// as was recorded.
pub fn is_in_order(comparisons: &[PolicyComparison]) -> bool {
    let ours = |suite: &str, policy: Policy, cv: f64| {
        let same = |c: &&PolicyComparison| c.row.suite == suite && c.row.policy == policy && c.row.cv == cv;
        comparisons.iter().find(same).and_then(|c| c.ours.slo.attainment)
    };
    fcfs().into_iter().all(|(suite, cv, _, fcfs)| {
        let (abort, lifo) = (ours(suite, Policy::EarlyAbort, cv), ours(suite, Policy::Lifo, cv));
        abort >= lifo && lifo.or(abort).is_none_or(|better| better > fcfs)
    })
}
