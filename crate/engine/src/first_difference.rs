//! Where did two runs part? The first decision in which they differ, whichever of them it is.

use crate::record::decisions::Decision;
use crate::replica_index::ReplicaIndex;
use crate::report::Report;

/// The decisions of two runs from the place on where they differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstDifference {
    /// What the first run decided; `None`: nothing more.
    pub a: Option<Decision>,
    /// What the second run decided.
    pub b: Option<Decision>,
}

impl FirstDifference {
    /// When the earlier of the two was taken, microseconds.
    pub fn time_us(&self) -> f64 {
        let of = |decision: Option<Decision>| decision.map_or(f64::INFINITY, |decision| decision.time_us);
        of(self.a).min(of(self.b))
    }
}

/// The first difference between the decisions of two runs over the same requests; `None`: there is none, or one of the runs kept
/// no decisions.
///
/// Gateway and replicas decide by themselves, so each one's decisions are compared in their order: what was decided about
/// which request, by which test. Times and numbers alone make no difference: two GPUs of unequal speed may decide alike. Of
/// several places that differ the earliest counts.
pub fn first_difference(a: &Report, b: &Report) -> Option<FirstDifference> {
    let (a, b) = (a.decisions.as_deref()?, b.decisions.as_deref()?);
    let places = |decisions: &[Decision]| {
        let highest = decisions.iter().filter_map(Decision::replica).max();
        highest.map_or(0, |replica| usize::from(replica) + 1)
    };
    let replicas = ReplicaIndex::first(places(a).max(places(b))).map(Some);
    let first = |replica: Option<ReplicaIndex>| {
        let own = |decision: &&Decision| decision.replica() == replica;
        let (mut a, mut b) = (a.iter().filter(own), b.iter().filter(own));
        loop {
            match (a.next(), b.next()) {
                (None, None) => return None,
                (Some(a), Some(b)) if a.is_alike(b) => {}
                (a, b) => return Some(FirstDifference { a: a.copied(), b: b.copied() }),
            }
        }
    };
    let differences = std::iter::once(None).chain(replicas).filter_map(first);
    differences.min_by(|one, other| one.time_us().total_cmp(&other.time_us()))
}
