//! Behind which requests all others waited: of every moment that requests wait for something, each request that holds it has a part, by
//! its weight.
//!
//! The part of a holder is an integral over its time of how many wait, over the weight that is held: the difference of a
//! function that is linear between the comings and goings, so that no pair of requests is looked at.

use super::cause::Cause;
use super::holders::{Change, HeldResource, holds_of, sort_changes};
use super::request_time::WhyTables;
use crate::replica_index::ReplicaIndex;

/// What requests waited for while others held it.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// Of all requests, nanoseconds; where no request held what was waited for included.
    pub ns: f64,
    /// The part of it that was behind each request, nanoseconds.
    pub behind: Vec<f64>,
}

/// What changes: how much is held, or how many wait for it.
const HELD: u32 = 0;
const WAITING: u32 = 1;

impl WhyTables<'_> {
    /// Behind whom requests waited: until they were scheduled, while others kept them from the next token, while their memory was
    /// taken. That a batch is larger for others in it is no waiting.
    pub fn waiting(&self) -> Waiting {
        let replicas = self.report.replicas.len();
        let mut changes = HeldResource::ALL.map(|_| vec![Vec::new(); replicas]);
        let mut ns = 0.0;
        for id in 0..self.report.trace.len() {
            for part in self.request(id).parts {
                if !part.cause.is_delay() || matches!(part.cause, Cause::BatchSize | Cause::SharedPrefill) {
                    continue;
                }
                ns += part.ns as f64;
                let Some(kind) = HeldResource::of(part.cause) else { continue };
                let is_engine = kind == HeldResource::Engine;
                let replica = if is_engine { ReplicaIndex::default() } else { self.report.replica(id) };
                // A part may be less than the stretch in which it lies.
                let waiting = part.ns as f64 / (part.end_ns - part.start_ns) as f64;
                changes[kind as usize][usize::from(replica)]
                    .extend([(part.start_ns, waiting, WAITING), (part.end_ns, -waiting, WAITING)]);
            }
        }
        let mut behind = vec![0.0; self.report.trace.len()];
        for (kind, changes) in HeldResource::ALL.into_iter().zip(changes) {
            if changes.iter().any(|of_replica| !of_replica.is_empty()) {
                self.add_parts(kind, changes, &mut behind);
            }
        }
        Waiting { ns, behind }
    }

    /// Adds the part of each request that holds a resource to `parts`, where `changes` has the requests that wait for it, by replica.
    fn add_parts(&self, kind: HeldResource, mut changes: Vec<Vec<Change>>, parts: &mut [f64]) {
        let holds = holds_of(self, kind);
        for hold in &holds {
            changes[usize::from(hold.replica)]
                .extend([(hold.start_ns, hold.weight, HELD), (hold.end_ns, -hold.weight, HELD)]);
        }
        let clocks: Vec<Clock> = changes.into_iter().map(Clock::of).collect();
        for hold in &holds {
            let clock = &clocks[usize::from(hold.replica)];
            parts[hold.request.index()] += hold.weight * (clock.at(hold.end_ns) - clock.at(hold.start_ns));
        }
    }
}

/// The time that was waited for a unit of what is held, up to each change, and how fast it grows from then on.
struct Clock(Vec<(u64, f64, f64)>);

impl Clock {
    fn of(mut changes: Vec<Change>) -> Self {
        sort_changes(&mut changes);
        let (mut held, mut waiting, mut sum, mut pace, mut before) = (0.0f64, 0.0f64, 0.0, 0.0, 0);
        let steps = changes.into_iter().map(|(ns, change, of)| {
            sum += (ns - before) as f64 * pace;
            before = ns;
            if of == HELD {
                held = (held + change).max(0.0);
            } else {
                waiting += change;
            }
            // Sums of unlike sizes leave crumbs where nothing is held.
            pace = if held > 0.5 { waiting / held } else { 0.0 };
            (ns, sum, pace)
        });
        Self(steps.collect())
    }

    fn at(&self, ns: u64) -> f64 {
        let last = self.0.partition_point(|step| step.0 <= ns);
        let Some(&(at, sum, pace)) = last.checked_sub(1).and_then(|last| self.0.get(last)) else {
            return 0.0;
        };
        sum + (ns - at) as f64 * pace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_has_its_part_of_every_moment_that_others_wait() {
        // One holds 1 from 0 to 100, another 3 from 40 to 80; one waits from 20 to 60, a second from 50 to 60.
        let clock = Clock::of(vec![
            (0, 1.0, HELD),
            (100, -1.0, HELD),
            (40, 3.0, HELD),
            (80, -3.0, HELD),
            (20, 1.0, WAITING),
            (60, -1.0, WAITING),
            (50, 1.0, WAITING),
            (60, -1.0, WAITING),
        ]);
        let part = |from, to, weight: f64| weight * (clock.at(to) - clock.at(from));
        // Alone for 20, then a quarter of 10 and of 2 x 10.
        assert_eq!((part(0, 100, 1.0), part(40, 80, 3.0)), (27.5, 22.5));
        assert_eq!(part(0, 20, 1.0) + part(60, 100, 1.0), 0.0);
    }
}
