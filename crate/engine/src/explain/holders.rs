//! Which requests held what others waited for: memory, places in the batch, LoRA slots, iterations. By groups of requests, such
//! as users, without a look at each request.
//!
//! While requests hold something together, each has a share of every moment by its weight. A group's share of a stretch of time
//! is the difference of a function that is linear between the comings and goings of the group, over a clock that runs the
//! slower the more is held: so it is found by two searches, however long the stretch.

use super::cause::{Cause, in_ns};
use super::request_time::WhyTables;
use crate::replica_index::ReplicaIndex;
use servescope_workload::{BASE_MODEL, RequestId};

/// What is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeldResource {
    /// KV memory: by the tokens that a request has at its end.
    Memory,
    /// Places in the batch.
    Places,
    /// The places of the others, for a request that has one itself.
    OtherPlaces,
    /// LoRA slots.
    Slots,
    /// Iterations that process prompts.
    Prefills,
    /// The engine, as the gateway sees it.
    Engine,
}

impl HeldResource {
    pub(super) const ALL: [Self; 6] =
        [Self::Memory, Self::Places, Self::OtherPlaces, Self::Slots, Self::Prefills, Self::Engine];

    /// What others hold of that a request waits for this; `None`: no other request delays it.
    pub(super) fn of(cause: Cause) -> Option<Self> {
        match cause {
            Cause::KvMemory | Cause::Preemption | Cause::Swap => Some(Self::Memory),
            Cause::BatchCap | Cause::InterleavingRule | Cause::RunningIteration | Cause::StaticBatch => {
                Some(Self::Places)
            }
            Cause::BatchSize | Cause::SharedPrefill => Some(Self::OtherPlaces),
            Cause::AdapterSlots => Some(Self::Slots),
            Cause::TokenBudget | Cause::PrefillStall => Some(Self::Prefills),
            Cause::GatewayQueue => Some(Self::Engine),
            Cause::RateLimit
            | Cause::AdapterLoading
            | Cause::ReplicaFailure
            | Cause::PreviousAnswer
            | Cause::DecodeRouting
            | Cause::KvLoading
            | Cause::KvLink
            | Cause::IdlePoll
            | Cause::OtherRanks
            | Cause::ExpertRearrangement
            | Cause::OwnPrefill
            | Cause::OwnDecode => None,
        }
    }
}

/// A request held something for a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hold {
    pub(super) request: RequestId,
    pub(super) replica: ReplicaIndex,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) weight: f64,
}

/// Everything that was held, in no order.
pub(super) fn holds_of(tables: &WhyTables<'_>, held: HeldResource) -> Vec<Hold> {
    let report = tables.report;
    let n = report.trace.len();
    if held == HeldResource::Prefills {
        let phases = report.phases.iter().flat_map(|phases| &phases.prefills);
        let hold = phases.map(|phase| Hold {
            request: phase.request,
            replica: tables.replica_at(phase.request.index(), in_ns(phase.start_us)),
            start_ns: in_ns(phase.start_us),
            end_ns: in_ns(phase.end_us),
            weight: f64::from(phase.tokens),
        });
        return hold.collect();
    }
    let mut holds = Vec::new();
    for id in 0..n {
        let (request, end_ns) = (RequestId::new(id as u32), tables.ends[id]);
        let mut hold = |replica: ReplicaIndex, start_ns: u64, end_ns: u64, weight: f64| {
            if end_ns > start_ns {
                holds.push(Hold { request, replica, start_ns, end_ns, weight });
            }
        };
        if held == HeldResource::Engine {
            if let Some(start) = tables.came_in(id) {
                hold(ReplicaIndex::default(), start, end_ns, 1.0);
            }
            continue;
        }
        if held == HeldResource::Slots && report.trace.adapter[id] == BASE_MODEL {
            continue;
        }
        let tokens = report.trace.input_tokens[id] + report.results[id].produced;
        let weight = if held == HeldResource::Memory { f64::from(tokens) } else { 1.0 };
        for leg in tables.legs(id) {
            let Some(scheduled) = leg.scheduled_ns else { continue };
            let is_within = |ns: u64| (scheduled..=leg.end_ns).contains(&ns);
            let away = tables.away.get(id).iter().map(|away| in_ns(away.end_us)).filter(|&ns| is_within(ns));
            let left = tables.preemptions.get(id).iter().map(|event| in_ns(event.time_us));
            let starts = std::iter::once(scheduled).chain(away);
            let ends = left.filter(|&ns| is_within(ns)).chain(std::iter::once(leg.end_ns));
            starts.zip(ends).for_each(|(start, end)| hold(leg.replica, start, end.min(end_ns), weight));
        }
    }
    holds
}

/// One group's part of what is held on a replica, from a time on.
#[derive(Debug, Clone, Copy)]
struct HolderStep {
    ns: u64,
    weight: f64,
    /// Its share up to any later time is `weight` times the clock less this.
    offset: f64,
}

/// What is held on one replica.
#[derive(Debug, Default)]
struct OfReplica {
    /// The clock: nanoseconds over the weight held, up to each time at which something changes, and 1 / weight from then on.
    clock: Vec<(u64, f64, f64)>,
    groups: Vec<Vec<HolderStep>>,
}

impl OfReplica {
    fn clock_at(&self, ns: u64) -> f64 {
        let last = self.clock.partition_point(|change| change.0 <= ns);
        let Some(&(at, sum, pace)) = last.checked_sub(1).and_then(|last| self.clock.get(last)) else {
            return 0.0;
        };
        sum + (ns - at) as f64 * pace
    }

    fn share_until(&self, group: usize, ns: u64, clock: f64) -> f64 {
        let steps = &self.groups[group];
        let last = steps.partition_point(|step| step.ns <= ns);
        let last = last.checked_sub(1).map(|last| steps[last]);
        last.map_or(0.0, |step| step.weight * clock - step.offset)
    }
}

/// One kind of thing that is held, by groups.
#[derive(Debug)]
pub(super) struct HeldByGroup {
    replicas: Vec<OfReplica>,
    groups: usize,
    spares_itself: bool,
}

impl HeldByGroup {
    /// `group_of` names the group of each request, of this many groups.
    pub(super) fn of(tables: &WhyTables<'_>, held: HeldResource, group_of: &[u32], groups: usize) -> Self {
        let replicas = tables.report.replicas.len();
        let mut changes: Vec<Vec<Change>> = vec![Vec::new(); replicas];
        for hold in holds_of(tables, held) {
            let group = group_of[hold.request];
            let of_replica = &mut changes[usize::from(hold.replica)];
            of_replica.push((hold.start_ns, hold.weight, group));
            of_replica.push((hold.end_ns, -hold.weight, group));
        }
        let spares_itself = held == HeldResource::OtherPlaces;
        let replicas =
            changes.into_iter().map(|changes| of_replica(changes, groups, spares_itself)).collect();
        Self { replicas, groups, spares_itself }
    }

    /// Each group's share of a stretch of time on a replica, nanoseconds; `own`: the group of the request that is delayed.
    pub(super) fn shares(
        &self,
        replica: ReplicaIndex,
        start_ns: u64,
        end_ns: u64,
        own: u32,
        shares: &mut Vec<f64>,
    ) {
        shares.clear();
        let of_replica = &self.replicas[usize::from(replica)];
        let (from, to) = (of_replica.clock_at(start_ns), of_replica.clock_at(end_ns));
        for group in 0..self.groups {
            let until = of_replica.share_until(group, end_ns, to);
            shares.push((until - of_replica.share_until(group, start_ns, from)).max(0.0));
        }
        if self.spares_itself {
            let own = &mut shares[own as usize];
            *own = (*own - (to - from)).max(0.0);
        }
        // Sums of unlike sizes leave crumbs where there is nothing.
        let crumb = (end_ns - start_ns) as f64 * 1e-9;
        shares.iter_mut().filter(|share| **share <= crumb).for_each(|share| *share = 0.0);
    }
}

/// A change at a time, nanoseconds: by how much, and of what.
pub(super) type Change = (u64, f64, u32);

/// Puts changes in the order of their times; at one time what comes is before what goes.
pub(super) fn sort_changes(changes: &mut [Change]) {
    changes.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
}

fn of_replica(mut changes: Vec<Change>, groups: usize, spares_itself: bool) -> OfReplica {
    sort_changes(&mut changes);
    let mut all = OfReplica { clock: Vec::new(), groups: vec![Vec::new(); groups] };
    let (mut weight, mut clock, mut pace, mut before) = (0.0f64, 0.0f64, 0.0f64, 0u64);
    for (ns, change, group) in changes {
        clock += (ns - before) as f64 * pace;
        before = ns;
        weight = (weight + change).max(0.0);
        let shared = if spares_itself { weight - 1.0 } else { weight };
        pace = if shared > 0.5 { 1.0 / shared } else { 0.0 };
        all.clock.push((ns, clock, pace));
        let steps = &mut all.groups[group as usize];
        let (had, offset) = steps.last().map_or((0.0, 0.0), |step| (step.weight, step.offset));
        steps.push(HolderStep { ns, weight: had + change, offset: offset + change * clock });
    }
    all
}
