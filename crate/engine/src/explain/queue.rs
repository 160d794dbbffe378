//! What the waiting queue of a replica was blocked on, at every time: what the last scan of it stopped for, and between two scans what the
//! replica did.

use super::cause::{Cause, TimePart, in_ns};
use super::iterations::{IterationTable, Work};
use crate::replica::batch_scheduler::Awaited;
use crate::replica_index::ReplicaIndex;
use crate::report::Report;
use crate::request::BlockReason;

/// Causes for which a queue stands.
const OF_QUEUE: [Cause; 9] = [
    Cause::KvMemory,
    Cause::TokenBudget,
    Cause::BatchCap,
    Cause::AdapterSlots,
    Cause::InterleavingRule,
    Cause::RunningIteration,
    Cause::IdlePoll,
    Cause::StaticBatch,
    Cause::OtherRanks,
];

#[derive(Debug)]
struct Segment {
    start_ns: u64,
    cause: Cause,
    /// Nanoseconds of each cause before it, in the order of [`OF_QUEUE`].
    before: [u64; OF_QUEUE.len()],
}

/// The queue of one replica.
#[derive(Debug)]
pub(super) struct QueueTable {
    awaits: [Awaited; 2],
    segments: Vec<Segment>,
    /// From when on scans found nothing in the way, or something, in order of time.
    scans: Vec<(u64, Option<BlockReason>)>,
    /// When requests were admitted, where they wait for a whole batch.
    admissions: Vec<u64>,
}

fn place(cause: Cause) -> usize {
    OF_QUEUE.iter().position(|&other| other == cause).unwrap_or(0)
}

impl QueueTable {
    /// `by_rule`: from when on scans that stop for the token budget do so by the rule between prefills and decoding.
    pub(super) fn of(
        report: &Report,
        replica: ReplicaIndex,
        iterations: &IterationTable,
        by_rule: &[(u64, bool)],
        admissions: Vec<u64>,
    ) -> Self {
        let holds = report.timeline.holds.iter().filter(|hold| hold.replica == replica);
        let mut scans = vec![(0, None)];
        scans.extend(holds.map(|hold| (in_ns(hold.start_us), hold.stop)));
        let mut table = Self { awaits: report.pool(replica).awaits, segments: Vec::new(), scans, admissions };
        let mut parts = Vec::new();
        for i in 0..table.scans.len() {
            let (start, stop) = table.scans[i];
            let end = table.scans.get(i + 1).map_or_else(|| in_ns(report.end_us()).max(start), |scan| scan.0);
            match stop {
                Some(BlockReason::PromptBudget) => split_budget(by_rule, start, end, &mut parts),
                Some(stop) => parts.push((start, end, blocked(stop))),
                None => table.unblocked(iterations, start, end, &mut |from, to, cause| {
                    parts.push((from, to, cause));
                }),
            }
        }
        let mut before = [0; OF_QUEUE.len()];
        for (start_ns, end_ns, cause) in parts.into_iter().filter(|part| part.1 > part.0) {
            table.segments.push(Segment { start_ns, cause, before });
            before[place(cause)] += end_ns - start_ns;
        }
        table
    }

    /// Splits a time in which the last scan found nothing in the way: until the iteration under way ends, then by what runs.
    fn unblocked(
        &self,
        iterations: &IterationTable,
        start: u64,
        end: u64,
        take: &mut impl FnMut(u64, u64, Cause),
    ) {
        let mut at = start;
        if let Some(over) = iterations.end_of_iteration(start).filter(|_| start < end) {
            take(start, over.min(end), busy(self.awaits[0]));
            at = over.min(end);
        }
        while at < end {
            let (next, work) = iterations.next_change(at);
            let cause = match work {
                Work::Batch => busy(self.awaits[1]),
                Work::Dummy => Cause::OtherRanks,
                Work::None => Cause::IdlePoll,
            };
            take(at, next.min(end), cause);
            at = next.min(end);
        }
    }

    /// The parts of a wait from when a request came in to when it was admitted.
    pub(super) fn wait(
        &self,
        iterations: &IterationTable,
        start: u64,
        end: u64,
        take: &mut impl FnMut(TimePart),
    ) {
        let mut at = start;
        if self.awaits[0] == Awaited::Batch {
            // A request that comes while a batch runs is looked at when the next one is filled.
            let next = self.admissions.partition_point(|&time| time < start);
            let filled = self.admissions.get(next).map_or(end, |&time| time.min(end));
            self.unblocked(iterations, start, filled, &mut |from, to, cause| take(part(cause, from, to)));
            at = filled;
        } else {
            let scan = self.scans.partition_point(|scan| scan.0 <= start);
            if scan > 0 && self.scans[scan - 1].1.is_none() {
                let until = self.scans.get(scan).map_or(end, |scan| scan.0.min(end));
                self.unblocked(iterations, start, until, &mut |from, to, cause| take(part(cause, from, to)));
                at = until;
            }
        }
        if at >= end {
            return;
        }
        let (from, to) = (self.until(at), self.until(end));
        let mut left = end - at;
        for (i, cause) in OF_QUEUE.into_iter().enumerate() {
            let ns = (to[i] - from[i]).min(left);
            left -= ns;
            if ns > 0 {
                take(TimePart { cause, ns, start_ns: at, end_ns: end });
            }
        }
        // Behind the end of the run nothing runs.
        if left > 0 {
            take(TimePart { cause: Cause::IdlePoll, ns: left, start_ns: at, end_ns: end });
        }
    }

    fn until(&self, ns: u64) -> [u64; OF_QUEUE.len()] {
        let Some(last) = self.segments.partition_point(|segment| segment.start_ns <= ns).checked_sub(1)
        else {
            return [0; OF_QUEUE.len()];
        };
        let Segment { start_ns, cause, before } = &self.segments[last];
        let mut sums = *before;
        sums[place(*cause)] += ns - start_ns;
        sums
    }
}

/// A whole stretch of time of one cause.
pub(super) fn part(cause: Cause, start_ns: u64, end_ns: u64) -> TimePart {
    TimePart { cause, ns: end_ns - start_ns, start_ns, end_ns }
}

fn busy(awaited: Awaited) -> Cause {
    match awaited {
        Awaited::Iteration => Cause::RunningIteration,
        Awaited::InterleavingRule => Cause::InterleavingRule,
        Awaited::Batch => Cause::StaticBatch,
    }
}

fn blocked(stop: BlockReason) -> Cause {
    match stop {
        BlockReason::Memory => Cause::KvMemory,
        BlockReason::PromptBudget => Cause::TokenBudget,
        BlockReason::RunningCap => Cause::BatchCap,
        BlockReason::LoraSlots => Cause::AdapterSlots,
    }
}

fn split_budget(by_rule: &[(u64, bool)], start: u64, end: u64, parts: &mut Vec<(u64, u64, Cause)>) {
    let mut at = start;
    while at < end {
        let next = by_rule.partition_point(|rule| rule.0 <= at);
        let is_rule = next > 0 && by_rule[next - 1].1;
        let until = by_rule.get(next).map_or(end, |rule| rule.0.min(end));
        parts.push((at, until, if is_rule { Cause::InterleavingRule } else { Cause::TokenBudget }));
        at = until;
    }
}
