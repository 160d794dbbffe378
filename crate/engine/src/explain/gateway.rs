//! The time before the engine knew of a request: waiting at the gateway, and waiting to come again after a rejection.

use servescope_workload::RequestId;

use super::by_request::ByRequest;
use super::cause::{Cause, TimePart, in_ns};
use super::queue::part;
use crate::gateway::GatewayLog;
use crate::gateway::log::Retry;
use crate::record::decisions::{Decision, Test, Verdict};
use crate::report::Report;
use crate::request::{Outcome, Rejection};

/// Times that do not overlap, in order.
type TimeSpans = Vec<(u64, u64)>;

/// What held requests at the gateway.
#[derive(Debug)]
pub(super) struct GatewayTable<'a> {
    log: &'a GatewayLog,
    retries: ByRequest<Retry>,
    /// By client: when one of its requests waited for its quota, and those behind it with it.
    throttled: Vec<TimeSpans>,
    /// When the head of the queue waited for KV memory at the engine.
    lacks_memory: TimeSpans,
}

impl<'a> GatewayTable<'a> {
    /// `decisions` are those of each request, `ends` when it came to its end.
    pub(super) fn of(report: &'a Report, decisions: &ByRequest<Decision>, ends: &[u64]) -> Option<Self> {
        let log = report.gateway.as_deref()?;
        let requests = report.trace.len();
        let mut throttled = vec![TimeSpans::new(); log.clients];
        let mut lacks_memory = TimeSpans::new();
        for (id, &end) in ends.iter().enumerate() {
            let own = decisions.get(id);
            // A request that the gateway never lets through waits beyond the end of the run, and so do those behind it.
            let is_left = report.results[id].outcome == Outcome::Unfinished;
            let end = if is_left { u64::MAX } else { end };
            let nexts = own.iter().skip(1).map(|next| in_ns(next.time_us));
            for (decision, end) in own.iter().zip(nexts.chain(std::iter::once(end))) {
                let held = (in_ns(decision.time_us), end);
                match (decision.replica(), decision.verdict, decision.compared.test) {
                    (None, Verdict::Skipped, test) if test != Test::FairShare => {
                        let client = log.client.of(&report.trace, RequestId::new(id as u32), log.clients);
                        throttled[client].push(held);
                    }
                    (None, Verdict::Waits, Test::KvReservation) => lacks_memory.push(held),
                    _ => {}
                }
            }
        }
        throttled.iter_mut().for_each(merge);
        merge(&mut lacks_memory);
        let retries = ByRequest::of(requests, log.retries.kept().iter().copied(), |retry| retry.id);
        Some(Self { log, retries, throttled, lacks_memory })
    }

    /// The parts of a request's time up to when it was let through, or to its end.
    pub(super) fn wait(&self, report: &Report, id: usize, until: u64, take: &mut impl FnMut(TimePart)) {
        let client = self.log.client.of(&report.trace, RequestId::new(id as u32), self.log.clients).index();
        let mut at = in_ns(report.trace.arrival_us[id]).min(until);
        for retry in self.retries.get(id) {
            let answered = in_ns(retry.answered_us).clamp(at, until);
            let again = in_ns(retry.again_us).clamp(answered, until);
            self.queue(client, at, answered, take);
            if again > answered {
                take(part(after(retry.reason), answered, again));
            }
            at = again;
        }
        self.queue(client, at, until, take);
    }

    /// The parts of a wait in the gateway's queue.
    fn queue(&self, client: usize, start: u64, end: u64, take: &mut impl FnMut(TimePart)) {
        overlay(self.throttled.get(client).map_or(&[], Vec::as_slice), start, end, &mut |from, to, quota| {
            if quota {
                return take(part(Cause::RateLimit, from, to));
            }
            overlay(&self.lacks_memory, from, to, &mut |from, to, memory| {
                take(part(if memory { Cause::KvMemory } else { Cause::GatewayQueue }, from, to));
            });
        });
    }
}

/// Why a client whose attempt was rejected, or timed out, waits before it comes again.
fn after(reason: Option<Rejection>) -> Cause {
    match reason {
        Some(Rejection::RateLimit | Rejection::TokenQuota) => Cause::RateLimit,
        _ => Cause::GatewayQueue,
    }
}

/// Joins times that overlap.
fn merge(times: &mut TimeSpans) {
    times.sort_unstable();
    let mut merged: TimeSpans = Vec::with_capacity(times.len());
    for &(start, end) in times.iter() {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    *times = merged;
}

/// Splits a time by whether it is within others.
fn overlay(times: &[(u64, u64)], start: u64, end: u64, take: &mut impl FnMut(u64, u64, bool)) {
    let mut at = start;
    let first = times.partition_point(|time| time.1 <= start);
    for &(from, to) in &times[first..] {
        if from >= end || at >= end {
            break;
        }
        if from > at {
            take(at, from, false);
        }
        let to = to.min(end);
        take(at.max(from), to, true);
        at = to;
    }
    if at < end {
        take(at, end, false);
    }
}
