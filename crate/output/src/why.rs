//! Why requests took as long as they did: the causes of one request's time, and of all requests', with who delayed whom, as
//! values for a page or a terminal to put into words. Of a run whose decisions were kept.

use serde::Serialize;
use servescope_engine::Report;
use servescope_engine::explain::cause::{ByCause, Cause};
use servescope_engine::explain::delays::{Behind, Delay, Delays};
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::explain::waiting::Waiting;
use servescope_engine::queue::Client;
use servescope_workload::BASE_MODEL;
use servescope_workload::statistics::{median, sort};

/// Seconds of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CauseTime {
    /// Its name ([`Cause::name`]).
    pub cause: &'static str,
    /// How long.
    pub seconds: f64,
}

/// A request that held what another waited for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Holder {
    /// Which request.
    pub id: u32,
    /// Its user.
    pub user: u32,
    /// Its part of the delay.
    pub share: f64,
}

/// Requests that held what another waited for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Holders {
    /// The user with the largest part in the delay.
    pub user: u32,
    /// How many of this user's requests held what was waited for.
    pub requests: u32,
    /// How many of all users'.
    pub of_all: u32,
    /// The user's part of the delay.
    pub share: f64,
    /// The requests with the largest parts of the delay, of all users; at most three, the largest first.
    pub most: Vec<Holder>,
}

/// A delay of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct RequestDelay {
    /// Its cause.
    pub cause: &'static str,
    /// How long.
    pub seconds: f64,
    /// When it began.
    pub at_s: f64,
    /// Behind whom; none where no other request held what was waited for.
    pub behind: Option<Holders>,
    /// What the test that failed needed, in the unit of the cause: KV blocks or tokens, tokens, requests, adapters.
    pub need: Option<u32>,
    /// What there was.
    pub have: Option<u32>,
}

/// One request's time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct RequestWhy {
    /// Which request.
    pub id: usize,
    /// From its arrival to its end, or to the end of the run.
    pub total_s: f64,
    /// All its delays; the rest is its own prompt and its own output.
    pub delayed_s: f64,
    /// Tokens of its output that were not made, because the request was as long as vLLM v1 lets one be.
    pub cut_tokens: u32,
    /// Its time by cause, in the order in which a request meets them; those without time are left out.
    pub causes: Vec<CauseTime>,
    /// Its delays, the longest first.
    pub delays: Vec<RequestDelay>,
}

/// Requests of one user or adapter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct WhyGroup {
    /// The user's or adapter's index; -1: the base model; none: all further ones together.
    pub index: Option<i64>,
    /// How many requests.
    pub requests: u32,
    /// Seconds by cause, in the order of [`Why::causes`].
    pub causes_s: Vec<f64>,
    /// Seconds of delay by the group that held what was waited for, in the order of the groups; the last: no request did.
    pub delayed_by_s: Vec<f64>,
}

/// Where the time of all requests went, and who delayed whom.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Why {
    /// Every cause with the time of all requests.
    pub causes: Vec<CauseTime>,
    /// By user.
    pub users: Vec<WhyGroup>,
    /// By adapter.
    pub adapters: Vec<WhyGroup>,
    /// What requests waited for others.
    pub waiting: AllWaiting,
}

/// What all requests waited, and the few that most of it was behind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct AllWaiting {
    /// Seconds of all requests together.
    pub seconds: f64,
    /// Their part of the time of all requests.
    pub share: f64,
    /// The requests that at least half of it was behind; none where less than half was behind any.
    pub behind: Option<WaitedFor>,
}

/// The fewest requests that at least half of all waiting was behind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct WaitedFor {
    /// The one with the largest part.
    pub first: u32,
    /// How many.
    pub requests: u32,
    /// Of how many.
    pub of_all: u32,
    /// Their part of the waiting.
    pub share: f64,
    /// The median length of their prompts, tokens.
    pub input_tokens: f64,
    /// That of all requests.
    pub all_input_tokens: f64,
    /// The median length of their outputs, tokens.
    pub output_tokens: f64,
    /// That of all requests.
    pub all_output_tokens: f64,
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn by_cause(sums: &ByCause) -> Vec<CauseTime> {
    let of = |cause: Cause| CauseTime { cause: cause.name(), seconds: seconds(sums[cause as usize]) };
    Cause::ALL.into_iter().map(of).collect()
}

/// Where the time of all requests of a run went; `None`: its decisions were not kept.
pub fn why(report: &Report) -> Option<Why> {
    let tables = WhyTables::of(report)?;
    let [users, adapters] = [Client::User, Client::Adapter].map(|client| tables.delays(client));
    let causes = by_cause(&users.causes);
    let waiting = all_waiting(report, &tables, causes.iter().map(|time| time.seconds).sum());
    Some(Why { causes, users: groups(&users), adapters: groups(&adapters), waiting })
}

fn all_waiting(report: &Report, tables: &WhyTables<'_>, all_s: f64) -> AllWaiting {
    let Waiting { ns, behind } = tables.waiting();
    let mut parts = behind.clone();
    sort(&mut parts);
    let (mut least, mut sum) = (0.0, 0.0);
    while let Some(part) = parts.pop().filter(|part| *part > 0.0 && sum < 0.5 * ns) {
        (least, sum) = (part, sum + part);
    }
    let ids: Vec<usize> = (0..behind.len()).filter(|&id| least > 0.0 && behind[id] >= least).collect();
    let first = ids.iter().copied().reduce(|most, id| if behind[id] > behind[most] { id } else { most });
    let middle = |lengths: &mut dyn Iterator<Item = u32>| {
        let mut sorted: Vec<f64> = lengths.map(f64::from).collect();
        sort(&mut sorted);
        median(&sorted)
    };
    let (input, output) = (&report.trace.input_tokens, &report.trace.output_tokens);
    let waited_for = |first: usize| WaitedFor {
        first: first as u32,
        requests: ids.len() as u32,
        of_all: report.trace.len() as u32,
        share: sum / ns,
        input_tokens: middle(&mut ids.iter().map(|&id| input[id])),
        all_input_tokens: middle(&mut input.iter().copied()),
        output_tokens: middle(&mut ids.iter().map(|&id| output[id])),
        all_output_tokens: middle(&mut output.iter().copied()),
    };
    AllWaiting {
        seconds: ns / 1e9,
        share: if all_s > 0.0 { ns / 1e9 / all_s } else { 0.0 },
        behind: first.filter(|_| sum >= 0.5 * ns).map(waited_for),
    }
}

fn groups(delays: &Delays) -> Vec<WhyGroup> {
    let index = |of: u32| if of == BASE_MODEL { -1 } else { i64::from(of) };
    let groups = delays.groups.iter().map(|group| WhyGroup {
        index: group.of.map(index),
        requests: group.requests,
        causes_s: group.causes.iter().map(|&ns| seconds(ns)).collect(),
        delayed_by_s: group.delayed_by.iter().map(|&ns| seconds(ns)).collect(),
    });
    groups.collect()
}

/// How many requests [`most_delayed`] names.
const MOST_DELAYED: usize = 5;

/// A request and all its delays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Delayed {
    /// Which request.
    pub id: usize,
    /// How long it was delayed in all.
    pub delayed_s: f64,
}

/// The requests of a run that were delayed most, of all or of one user or adapter; none where decisions were not kept.
pub fn most_delayed(report: &Report, of: Option<(Client, u32)>) -> Vec<Delayed> {
    let Some(tables) = WhyTables::of(report) else { return Vec::new() };
    let trace = &report.trace;
    let is_of = |id: &usize| match of {
        None => true,
        Some((Client::User, index)) => trace.user[*id] == index,
        Some((Client::Adapter, index)) => trace.adapter[*id] == index,
    };
    let mut all: Vec<(u64, usize)> =
        (0..trace.len()).filter(is_of).map(|id| (delayed_ns(&tables.request(id).by_cause()), id)).collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    all.truncate(MOST_DELAYED);
    all.into_iter().map(|(ns, id)| Delayed { id, delayed_s: seconds(ns) }).collect()
}

/// All delays.
fn delayed_ns(sums: &ByCause) -> u64 {
    Cause::ALL.into_iter().filter(|cause| cause.is_delay()).map(|cause| sums[cause as usize]).sum()
}

/// The time of these requests of a run, in their order; `None`: its decisions were not kept.
pub fn why_requests(report: &Report, ids: &[usize]) -> Option<Vec<RequestWhy>> {
    let tables = WhyTables::of(report)?;
    Some(ids.iter().map(|&id| request_why(&tables, id)).collect())
}

fn request_why(tables: &WhyTables<'_>, id: usize) -> RequestWhy {
    let time = tables.request(id);
    let sums = time.by_cause();
    let mut causes = by_cause(&sums);
    causes.retain(|time| time.seconds > 0.0);
    RequestWhy {
        id,
        total_s: seconds(time.end_ns - time.arrival_ns),
        delayed_s: seconds(delayed_ns(&sums)),
        cut_tokens: tables.report.cut_tokens(id),
        causes,
        delays: tables.delays_of(id).iter().map(delay).collect(),
    }
}

fn delay(delay: &Delay) -> RequestDelay {
    RequestDelay {
        cause: delay.cause.name(),
        seconds: seconds(delay.ns),
        at_s: seconds(delay.start_ns),
        behind: delay.behind.as_ref().map(holders),
        need: delay.compared.map(|compared| compared.0),
        have: delay.compared.map(|compared| compared.1),
    }
}

fn holders(behind: &Behind) -> Holders {
    let most = behind.most.iter();
    Holders {
        user: behind.user,
        requests: behind.requests,
        of_all: behind.of_all,
        share: behind.share,
        most: most
            .map(|held| Holder { id: held.request.get(), user: held.user, share: held.share })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use servescope_lab::run::SimulationHandle;
    use servescope_settings::scenario::Scenario;

    use super::*;

    /// In every scenario that the page ships the causes of each request add up to its time, in whole nanoseconds, and the
    /// matrix to the delays.
    #[test]
    fn causes_add_up_in_every_preset() {
        let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../static/presets");
        let mut counted = 0;
        for entry in presets.read_dir().unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let preset: serde_json::Value = serde_json::from_str(&text).unwrap();
            let Some(settings) = preset.get("scenario") else { continue };
            let (mut scenario, errors) = Scenario::from_json(settings);
            assert!(errors.is_empty(), "{errors:?}");
            scenario.set_text("workload.duration_s", "40").unwrap();
            let report = SimulationHandle::begin(&scenario, None).unwrap().with_decisions().run().report;
            let tables = WhyTables::of(&report).unwrap();
            let mut all = ByCause::default();
            for id in 0..report.trace.len() {
                let time = tables.request(id);
                let sums = time.by_cause();
                assert_eq!(sums.iter().sum::<u64>(), time.end_ns - time.arrival_ns);
                all.iter_mut().zip(sums).for_each(|(all, ns)| *all += ns);
            }
            for client in [Client::User, Client::Adapter] {
                let delays = tables.delays(client);
                assert_eq!(delays.causes, all);
                let shared = delays.groups.iter().flat_map(|group| &group.delayed_by);
                assert_eq!(shared.sum::<u64>(), delayed_ns(&all));
            }
            counted += 1;
        }
        assert!(counted > 9, "{counted} presets");
    }

    #[test]
    fn a_run_without_decisions_has_no_causes() {
        let mut scenario = Scenario::of_version(4);
        scenario.set_text("workload.duration_s", "5").unwrap();
        let report = SimulationHandle::begin(&scenario, None).unwrap().run().report;
        assert_eq!(why(&report), None);
        assert_eq!(why_requests(&report, &[0]), None);
    }
}
