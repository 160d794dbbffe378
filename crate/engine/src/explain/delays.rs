//! Who delayed whom: the delays of all requests by users or by adapters, and those of one request by the requests that held what
//! it waited for.
//!
//! A delay is shared out among the requests that held what was waited for meanwhile, by their parts of it; in whole
//! nanoseconds, so that the shares add up to the delay. What no other request held (a quota, an adapter being loaded, a
//! scheduler that did not look) is put down to no request.

use crate::replica_index::ReplicaIndex;
use servescope_workload::RequestId;

use super::cause::{ByCause, Cause, TimePart};
use super::holders::{HeldByGroup, HeldResource, Hold, holds_of};
use super::request_time::WhyTables;
use crate::client::Client;
use crate::record::decisions::{Compared, Decision, Test, Verdict};

/// Most groups of a matrix; the requests of further users or adapters are one group together.
pub const MOST_GROUPS: usize = 24;

/// Requests of one user or adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientGroup {
    /// The user or adapter ([`BASE_MODEL`](servescope_workload::BASE_MODEL): none); `None`: all further ones together.
    pub of: Option<u32>,
    /// How many requests.
    pub requests: u32,
    /// Their time by cause, nanoseconds.
    pub causes: ByCause,
    /// Their delays by the group that held what they waited for, in the order of the groups, and behind them by no request.
    pub delayed_by: Vec<u64>,
}

/// Where the time of all requests went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delays {
    /// Nanoseconds by cause.
    pub causes: ByCause,
    /// Those with the most requests first.
    pub groups: Vec<ClientGroup>,
}

/// A delay of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Delay {
    /// Why.
    pub cause: Cause,
    /// How long, nanoseconds.
    pub ns: u64,
    /// When it began, nanoseconds.
    pub start_ns: u64,
    /// The user whose requests had the largest part in it.
    pub behind: Option<Behind>,
    /// What the test that failed compared: what was needed, and what there was.
    pub compared: Option<(u32, u32)>,
}

/// How many requests [`Behind::most`] names.
const MOST_HOLDERS: usize = 3;

/// Requests that held what another waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Behind {
    /// The user whose requests had the largest part in the delay.
    pub user: u32,
    /// How many requests of the user held what was waited for.
    pub requests: u32,
    /// How many of all users.
    pub of_all: u32,
    /// The part of the user's requests in the delay.
    pub share: f64,
    /// The requests with the largest parts in the delay, of all users; at most three, the largest first.
    pub most: Vec<DelayHolder>,
}

/// A request that held what another waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayHolder {
    /// Which request.
    pub request: RequestId,
    /// Its user.
    pub user: u32,
    /// Its part in the delay.
    pub share: f64,
}

impl WhyTables<'_> {
    /// Where the time of all requests went, and who delayed whom.
    pub fn delays(&self, client: Client) -> Delays {
        let (group_of, mut groups) = self.groups(client);
        let held = HeldResource::ALL.map(|held| HeldByGroup::of(self, held, &group_of, groups.len()));
        let mut causes = ByCause::default();
        let mut shares = Vec::new();
        for (id, &own) in group_of.iter().enumerate() {
            for part in self.request(id).parts {
                causes[part.cause as usize] += part.ns;
                let group = &mut groups[own as usize];
                group.causes[part.cause as usize] += part.ns;
                if !part.cause.is_delay() {
                    continue;
                }
                shares.clear();
                if let Some(kind) = HeldResource::of(part.cause) {
                    let replica = if kind == HeldResource::Engine {
                        ReplicaIndex::default()
                    } else {
                        self.replica_at(id, part.start_ns)
                    };
                    held[kind as usize].shares(replica, part.start_ns, part.end_ns, own, &mut shares);
                }
                share_out(part.ns, &shares, &mut group.delayed_by);
            }
        }
        Delays { causes, groups }
    }

    /// The group of each request, and the groups.
    fn groups(&self, client: Client) -> (Vec<u32>, Vec<ClientGroup>) {
        let trace = &self.report.trace;
        let of = match client {
            Client::User => &trace.user,
            Client::Adapter => &trace.adapter,
        };
        let mut sorted = of.clone();
        sorted.sort_unstable();
        let mut names: Vec<(u32, u32)> =
            sorted.chunk_by(|a, b| a == b).map(|same| (same.len() as u32, same[0])).collect();
        names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let kept = if names.len() > MOST_GROUPS { MOST_GROUPS - 1 } else { names.len() };
        let mut places: Vec<(u32, u32)> =
            names[..kept].iter().zip(0..).map(|(&(_, name), place)| (name, place)).collect();
        places.sort_unstable();
        let place = |name: u32| {
            places.binary_search_by_key(&name, |place| place.0).map_or(kept as u32, |at| places[at].1)
        };
        let count = kept + usize::from(names.len() > kept);
        let group = |of: Option<u32>, requests: u32| ClientGroup {
            of,
            requests,
            causes: ByCause::default(),
            delayed_by: vec![0; count + 1],
        };
        let mut groups: Vec<ClientGroup> =
            names[..kept].iter().map(|&(n, name)| group(Some(name), n)).collect();
        if names.len() > kept {
            groups.push(group(None, names[kept..].iter().map(|name| name.0).sum()));
        }
        (of.iter().map(|&name| place(name)).collect(), groups)
    }

    /// The delays of one request, the longest first, with the requests that held what it waited for.
    pub fn delays_of(&self, id: usize) -> Vec<Delay> {
        let time = self.request(id);
        let sums = time.by_cause();
        let mut causes: Vec<Cause> = Cause::ALL.into_iter().filter(|cause| cause.is_delay()).collect();
        causes.retain(|&cause| sums[cause as usize] > 0);
        causes.sort_by_key(|&cause| std::cmp::Reverse(sums[cause as usize]));
        let delay = |cause: Cause| {
            let parts: Vec<TimePart> =
                time.parts.iter().copied().filter(|part| part.cause == cause).collect();
            Delay {
                cause,
                ns: sums[cause as usize],
                start_ns: parts.iter().map(|part| part.start_ns).min().unwrap_or(time.arrival_ns),
                behind: self.behind(id, cause, &parts),
                compared: self.compared(id, cause, &parts),
            }
        };
        causes.into_iter().map(delay).collect()
    }

    /// The requests that held what a request waited for in these parts of its time.
    fn behind(&self, id: usize, cause: Cause, parts: &[TimePart]) -> Option<Behind> {
        let held = HeldResource::of(cause)?;
        let replica_of = |part: &TimePart| {
            if held == HeldResource::Engine {
                ReplicaIndex::default()
            } else {
                self.replica_at(id, part.start_ns)
            }
        };
        let first = parts.iter().map(|part| part.start_ns).min()?;
        let last = parts.iter().map(|part| part.end_ns).max()?;
        let overlap = |hold: &Hold| -> u64 {
            let of_part = |part: &TimePart| {
                hold.end_ns.min(part.end_ns).saturating_sub(hold.start_ns.max(part.start_ns))
            };
            parts.iter().filter(|part| replica_of(part) == hold.replica).map(of_part).sum()
        };
        let holds = holds_of(self, held)
            .into_iter()
            .filter(|hold| hold.request.index() != id && hold.start_ns < last && hold.end_ns > first);
        let user = |request: RequestId| self.report.trace.user[request];
        let mut by_user: Vec<(u32, RequestId, f64)> = holds
            .map(|hold| (user(hold.request), hold.request, overlap(&hold) as f64 * hold.weight))
            .collect();
        by_user.retain(|entry| entry.2 > 0.0);
        by_user.sort_by_key(|entry| (entry.0, entry.1));
        let total: f64 = by_user.iter().map(|entry| entry.2).sum();
        let requests_of =
            |entries: &[(u32, RequestId, f64)]| entries.chunk_by(|a, b| a.1 == b.1).count() as u32;
        let of_all = requests_of(&by_user);
        let most = largest_holders(&by_user, total);
        let groups = by_user.chunk_by(|a, b| a.0 == b.0);
        let weighed = groups.map(|group| (group, group.iter().map(|entry| entry.2).sum::<f64>()));
        let (group, weight) = weighed.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0[0].0.cmp(&a.0[0].0)))?;
        Some(Behind { user: group[0].0, requests: requests_of(group), of_all, share: weight / total, most })
    }

    /// What the last test for a cause compared before the first of these parts was over: of the request, or else of the one at
    /// the head of the queue.
    fn compared(&self, id: usize, cause: Cause, parts: &[TimePart]) -> Option<(u32, u32)> {
        let until_us = parts.iter().map(|part| part.end_ns).min()? as f64 / 1e3 + 1e-3;
        let is_it = |decision: &&Decision| {
            decision.time_us <= until_us
                && matches!(decision.verdict, Verdict::Waits | Verdict::Skipped)
                && is_test_of(cause, decision.compared)
        };
        let own = self.decisions.get(id).iter().rev().find(is_it);
        let replica = Some(self.replica_at(id, parts.iter().map(|part| part.start_ns).min()?));
        let all = self.report.decisions.as_deref()?;
        let upto = all.partition_point(|decision| decision.time_us <= until_us);
        let of_queue = || all[..upto].iter().rev().filter(|other| other.replica() == replica).find(is_it);
        own.or_else(of_queue)?.compared.numbers()
    }
}

/// The requests with the largest parts, of (user, request, weight) with the entries of a request beside each other.
fn largest_holders(entries: &[(u32, RequestId, f64)], total: f64) -> Vec<DelayHolder> {
    let holder = |of: &[(u32, RequestId, f64)]| DelayHolder {
        request: of[0].1,
        user: of[0].0,
        share: of.iter().map(|entry| entry.2).sum::<f64>() / total,
    };
    let mut holders: Vec<DelayHolder> = entries.chunk_by(|a, b| a.1 == b.1).map(holder).collect();
    holders.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.request.cmp(&b.request)));
    holders.truncate(MOST_HOLDERS);
    holders
}

fn is_test_of(cause: Cause, compared: Compared) -> bool {
    match cause {
        Cause::KvMemory => matches!(compared.test, Test::KvBlocks | Test::PeakTokens | Test::KvReservation),
        Cause::TokenBudget => compared.test == Test::TokenBudget,
        Cause::BatchCap => compared.test == Test::RunningCap,
        Cause::AdapterSlots => compared.test == Test::LoraSlots,
        _ => false,
    }
}

/// Shares this many nanoseconds out by weights, whole ones; what is left over goes to the largest. Without weights
/// they go to the last of `to`, which stands for no request.
fn share_out(ns: u64, weights: &[f64], to: &mut [u64]) {
    let total: f64 = weights.iter().sum();
    let largest = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b]).then(b.cmp(&a)));
    let Some(largest) = largest.filter(|_| total > 0.0) else {
        to[to.len() - 1] += ns;
        return;
    };
    let mut left = ns;
    for (i, weight) in weights.iter().enumerate().filter(|(i, _)| *i != largest) {
        let share = ((ns as f64 * (weight / total)).floor() as u64).min(left);
        left -= share;
        to[i] += share;
    }
    to[largest] += left;
}
