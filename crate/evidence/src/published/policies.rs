//! S-LoRA's admission policies against burstiness, on the authors' own workloads.
//!
//! Rows: authors' recorded runs (Sheng et al., MLSys 2024; S-LoRA repository, Apache-2.0) on an A10G with 200 adapters,
//! alpha 1, R = 2, D = 300 s. None of them was used to tune the calibration. What exactly the authors ran as LIFO is not in
//! their repository; here it is plain last come, first served.

use std::sync::LazyLock;

use servescope_engine::metrics::Summary;

use super::{PublishedRow, scenario_of, simulate};
use crate::figures_file::{number, rows};

/// A policy of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedPolicy {
    /// S-LoRA's queue.
    Fcfs,
    /// Newest first.
    Lifo,
    /// Newest or oldest first, aborting requests that would be late.
    EarlyAbort,
}

impl ComparedPolicy {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "FCFS",
            Self::Lifo => "LIFO",
            Self::EarlyAbort => "early abort",
        }
    }

    /// The value of `scheduler.order`.
    pub fn choice(self) -> &'static str {
        match self {
            Self::Fcfs => "fcfs",
            Self::Lifo => "lifo",
            Self::EarlyAbort => "early_abort",
        }
    }

    fn named(choice: &str) -> Option<Self> {
        [Self::Fcfs, Self::Lifo, Self::EarlyAbort].into_iter().find(|policy| policy.choice() == choice)
    }
}

/// A recorded run: attainment and rejected requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicyRow {
    /// "S1", "S2" or "S4".
    pub suite: &'static str,
    /// The policy.
    pub policy: ComparedPolicy,
    /// Burstiness.
    pub cv: f64,
    /// Share of all requests with a first token within 6 s.
    pub attainment: f64,
    /// Requests aborted, of 600 on the A10G and of 1,800 on the A100.
    pub rejected: u32,
}

static RECORDED: LazyLock<Vec<PolicyRow>> = LazyLock::new(|| {
    let row = |cells: Vec<&'static str>| PolicyRow {
        suite: cells[0],
        policy: ComparedPolicy::named(cells[1]).expect("a policy of the comparison"),
        cv: number(cells[2]),
        attainment: number(cells[3]),
        rejected: number(cells[4]) as u32,
    };
    rows(include_str!("slora_policies.csv")).map(row).collect()
});

/// The recorded runs under LIFO and early abort, those of the A100 last.
pub fn recorded() -> &'static [PolicyRow] {
    &RECORDED
}

/// Those of the suites S1 and S2, on the A10G.
pub fn on_a10g() -> impl Iterator<Item = &'static PolicyRow> {
    recorded().iter().filter(|row| row.suite != "S4")
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

impl PolicyRow {
    /// The setting, as the row of first come, first served at the same cv has it.
    pub fn setting(&self) -> PublishedRow {
        let (adapters, rate_rps) = if self.suite == "S4" { (400, 6.0) } else { (200, 2.0) };
        PublishedRow {
            suite: self.suite,
            sweep: "cv",
            cv: self.cv,
            alpha: 1.0,
            rate_rps,
            adapters,
            ..super::recorded()[0]
        }
    }
}

/// Simulates a recorded run with the default calibration.
pub fn compare(row: &PolicyRow) -> PolicyComparison {
    let setting = row.setting();
    PolicyComparison { row: *row, ours: simulate(&setting, &scenario_of(&setting, row.policy)) }
}

/// The recorded and our attainment of first come, first served in the sweep over cv: (suite, cv, recorded, ours).
pub fn fcfs() -> Vec<(&'static str, f64, f64, f64)> {
    let rows = super::on_a10g().filter(|row| row.sweep == "cv");
    rows.map(|row| {
        let ours = super::compare(row).ours.slo.attainment.unwrap_or(0.0);
        (row.suite, row.cv, row.attainment, ours)
    })
    .collect()
}

/// Whether at every cv of a suite early abort attains at least as much as LIFO and LIFO more than first come, first served,
/// as was recorded.
pub fn is_in_order(comparisons: &[PolicyComparison]) -> bool {
    let first: Vec<_> = fcfs().into_iter().map(|(suite, cv, _, ours)| (suite, cv, ours)).collect();
    is_above(&first, comparisons)
}

/// The same against (suite, cv, attainment) under first come, first served.
pub(super) fn is_above(fcfs: &[(&'static str, f64, f64)], comparisons: &[PolicyComparison]) -> bool {
    let ours = |suite: &str, policy: ComparedPolicy, cv: f64| {
        let same = |c: &&PolicyComparison| c.row.suite == suite && c.row.policy == policy && c.row.cv == cv;
        comparisons.iter().find(same).and_then(|c| c.ours.slo.attainment)
    };
    fcfs.iter().all(|&(suite, cv, fcfs)| {
        let (abort, lifo) =
            (ours(suite, ComparedPolicy::EarlyAbort, cv), ours(suite, ComparedPolicy::Lifo, cv));
        abort >= lifo && lifo.or(abort).is_none_or(|better| better > fcfs)
    })
}
