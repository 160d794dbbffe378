//! The service at one time of a run, for the page's picture of it: which requests come next, which wait, what the batch holds.
//!
//! It is asked for while a cursor moves, so it reads the run once and keeps a few hundred requests at most; the counts are of
//! all of them.

use serde::Serialize;
use servescope_engine::{Outcome, ReplicaLife, Report};
use servescope_lab::run::Run;
use servescope_workload::statistics::sort_by_number;

/// Requests that are listed one by one, of each station.
const MOST: usize = 400;

/// What a request of the batch is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Its prompt is processed.
    Prefill,
    /// It decodes.
    Decode,
    /// It holds memory and is no part of the iteration under way.
    Stalled,
}

/// The service at one time. Users are those of the trace; columns of one station have one entry a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Moment {
    /// When, seconds.
    pub time_s: f64,
    /// When the last request arrived, and when the run ended, seconds.
    pub last_arrival_s: f64,
    /// End of the run, seconds.
    pub end_s: f64,
    /// How long it is until the next requests arrive, seconds, the first first.
    pub coming_s: Vec<f64>,
    /// Their users.
    pub coming_users: Vec<u32>,
    /// Their ids.
    pub coming_ids: Vec<u32>,
    /// Requests that the gateway holds.
    pub at_gateway: u32,
    /// Their users, in the order of arrival.
    pub gateway_users: Vec<u32>,
    /// Their ids.
    pub gateway_ids: Vec<u32>,
    /// Requests rejected so far.
    pub rejected: u32,
    /// Requests that wait at the engine, those that were preempted included.
    pub waiting: u32,
    /// Their users, in the order of arrival.
    pub waiting_users: Vec<u32>,
    /// Their ids.
    pub waiting_ids: Vec<u32>,
    /// Requests in the batches of all replicas.
    pub running: u32,
    /// Their users, in the order of admission.
    pub running_users: Vec<u32>,
    /// Their ids.
    pub running_ids: Vec<u32>,
    /// What each of them does: 0 prefill, 1 decode, 2 stalled.
    pub running_phases: Vec<u8>,
    /// Replicas that compute an iteration, that load adapters before one, and all.
    pub computing: u32,
    /// Replicas that load adapters before an iteration.
    pub loading: u32,
    /// Replicas that can compute: those that are ready, and those that drain.
    pub replicas: u32,
    /// Replicas that are paid and not ready yet.
    pub starting: u32,
    /// Of `replicas` those that get no new request.
    pub draining: u32,
    /// Prompt tokens of the iterations under way.
    pub prompt_tokens: u32,
    /// Requests that decode a token in them.
    pub decodes: u32,
    /// How long they take, on average, seconds.
    pub iteration_s: f64,
    /// KV tokens in use on all replicas.
    pub kv_tokens: f64,
    /// Pool tokens that adapters take on all replicas.
    pub adapter_tokens: f64,
    /// The pools of all replicas, tokens.
    pub pool_tokens: f64,
}

/// The service of a run at a time, from 0 on; those that arrive within `span_s` after it are listed as well.
pub fn moment(run: &Run, time_s: f64, span_s: f64) -> Moment {
    let time_s = if time_s.is_nan() { 0.0 } else { time_s.clamp(0.0, f64::MAX) };
    let report = &run.report;
    let reserved = f64::from(report.adapters.reserved_tokens);
    let is_there = |life: &&ReplicaLife| life.ready_us <= time_s * 1e6 && time_s * 1e6 < life.stop_us;
    let lives = || report.replicas.iter().filter(is_there);
    let starting = report
        .replicas
        .iter()
        .filter(|life| life.start_us <= time_s * 1e6 && time_s * 1e6 < life.ready_us.min(life.drain_us));
    let kv_tokens = |life: &ReplicaLife| f64::from(report.pools[usize::from(life.pool)].kv_tokens);
    let mut moment = Moment {
        time_s,
        last_arrival_s: report.trace.arrival_us.last().copied().unwrap_or(0.0) / 1e6,
        end_s: report.end_us() / 1e6,
        replicas: lives().count() as u32,
        starting: starting.count() as u32,
        draining: lives().filter(|life| life.drain_us <= time_s * 1e6).count() as u32,
        pool_tokens: lives().map(|life| kv_tokens(life) + reserved).sum(),
        adapter_tokens: lives().map(|_| reserved).sum(),
        ..Moment::default()
    };
    let all_stalled = iterations(report, time_s * 1e6, &mut moment);
    requests(report, time_s * 1e6, span_s * 1e6, &all_stalled, &mut moment);
    moment
}

/// What the iterations under way hold; for each replica, whether its iteration leaves out every request that decodes.
fn iterations(report: &Report, now_us: f64, moment: &mut Moment) -> Vec<bool> {
    let mut stalled = vec![false; report.replicas.len()];
    let mut sum_s = 0.0;
    for run in &report.timeline.iterations {
        if run.start_us > now_us {
            break;
        }
        if now_us >= run.end_us {
            continue;
        }
        if now_us < run.begins_us() {
            moment.loading += 1;
        } else {
            moment.computing += 1;
            moment.prompt_tokens += run.prompt_tokens;
            moment.decodes += run.decodes;
            let each_us = (run.end_us - run.begins_us()) / f64::from(run.iterations.max(1));
            sum_s += each_us / 1e6;
        }
        let part = (now_us - run.start_us) / (run.end_us - run.start_us);
        let grown = run.kv_tokens + part * (run.kv_tokens_at_end() - run.kv_tokens);
        moment.kv_tokens += grown.min(f64::from(run.blocks) * report.pool(run.replica).block_tokens());
        moment.adapter_tokens += f64::from(run.adapter_tokens);
        stalled[usize::from(run.replica)] = run.decodes == 0;
    }
    if moment.computing > 0 {
        moment.iteration_s = sum_s / f64::from(moment.computing);
    }
    stalled
}

fn requests(report: &Report, now_us: f64, span_us: f64, all_stalled: &[bool], moment: &mut Moment) {
    let is_away = |id: usize| {
        report.preemptions(id) > 0
            && report
                .timeline
                .preemption_intervals
                .iter()
                .any(|away| away.request.index() == id && (away.start_us..away.end_us).contains(&now_us))
    };
    let mut batch: Vec<(f64, u32, u32, Phase)> = Vec::new();
    for (id, result) in report.results.iter().enumerate() {
        let arrival = report.trace.arrival_us[id];
        let user = report.trace.request(id).user;
        if arrival > now_us {
            if arrival - now_us > span_us || moment.coming_s.len() == MOST {
                break;
            }
            moment.coming_s.push((arrival - now_us) / 1e6);
            moment.coming_users.push(user);
            moment.coming_ids.push(id as u32);
            continue;
        }
        moment.rejected += u32::from(matches!(result.outcome, Outcome::Rejected(_)));
        match report.scheduled_us(id) {
            Some(scheduled) if scheduled <= now_us => {
                if result.finish_us.is_some_and(|finish| finish <= now_us) {
                    continue;
                }
                if is_away(id) {
                    moment.wait(id, user);
                    continue;
                }
                let replica = usize::from(report.replica(id));
                let phase = match report.first_token_us(id) {
                    Some(first) if first <= now_us && all_stalled[replica] => Phase::Stalled,
                    Some(first) if first <= now_us => Phase::Decode,
                    _ => Phase::Prefill,
                };
                batch.push((scheduled, id as u32, user, phase));
            }
            None if result.outcome != Outcome::Unfinished => {}
            _ if is_at_gateway(report, id, now_us) => moment.hold(id, user),
            _ => moment.wait(id, user),
        }
    }
    sort_by_number(&mut batch, |one| one.0);
    moment.running = batch.len() as u32;
    batch.truncate(MOST);
    moment.running_users = batch.iter().map(|&(_, _, user, _)| user).collect();
    moment.running_ids = batch.iter().map(|&(_, id, _, _)| id).collect();
    moment.running_phases = batch.iter().map(|&(_, _, _, phase)| phase as u8).collect();
}

fn is_at_gateway(report: &Report, id: usize, now_us: f64) -> bool {
    // NaN: it was never let through.
    report.gateway.as_ref().is_some_and(|log| log.forwarded_us[id].is_nan() || log.forwarded_us[id] > now_us)
}

impl Moment {
    fn hold(&mut self, id: usize, user: u32) {
        self.at_gateway += 1;
        if self.gateway_users.len() < MOST {
            self.gateway_users.push(user);
            self.gateway_ids.push(id as u32);
        }
    }

    fn wait(&mut self, id: usize, user: u32) {
        self.waiting += 1;
        if self.waiting_users.len() < MOST {
            self.waiting_users.push(user);
            self.waiting_ids.push(id as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;

    fn run(settings: &[(&str, &str)]) -> Run {
        let scenario = Scenario::of_settings(settings).expect("a setting");
        Run::simulate(&scenario, None).expect("a run")
    }

    #[test]
    fn every_request_is_in_one_place() {
        let run = run(&[("workload.arrivals.cv", "5"), ("workload.duration_s", "120")]);
        let report = &run.report;
        for time_s in [0.0, 10.0, 60.0, 119.0, 200.0, 1e6] {
            let now = moment(&run, time_s, 5.0);
            let arrived = report.trace.arrival_us.iter().filter(|&&at| at <= time_s * 1e6).count();
            let gone =
                report.results.iter().filter(|r| r.finish_us.is_some_and(|at| at <= time_s * 1e6)).count();
            let here = now.at_gateway + now.waiting + now.running + now.rejected;
            assert_eq!(here as usize + gone, arrived, "at {time_s} s");
            let coming =
                report.trace.arrival_us.iter().filter(|&&at| at > time_s * 1e6 && at <= time_s * 1e6 + 5e6);
            assert_eq!(now.coming_s.len(), coming.count(), "at {time_s} s");
            assert!(now.coming_s.is_sorted());
            assert_eq!(now.running_users.len(), now.running_phases.len());
            for (ids, users) in [
                (&now.coming_ids, &now.coming_users),
                (&now.waiting_ids, &now.waiting_users),
                (&now.running_ids, &now.running_users),
            ] {
                let named: Vec<u32> = ids.iter().map(|&id| report.trace.user[id as usize]).collect();
                assert_eq!(&named, users, "at {time_s} s");
            }
            assert!(now.kv_tokens + now.adapter_tokens <= now.pool_tokens, "at {time_s} s");
            assert_eq!(now.running > 0, now.kv_tokens > 0.0 || now.loading > 0, "at {time_s} s");
        }
    }

    #[test]
    fn a_prefill_alone_stalls_those_that_decode() {
        let run = run(&[("workload.rate_rps", "4")]);
        let report = &run.report;
        let prefill = report
            .timeline
            .iterations
            .iter()
            .find(|run| run.prompts > 0 && run.decodes == 0 && run.stalled > 0);
        let prefill = prefill.expect("S-LoRA prefills by itself");
        let now = moment(&run, prefill.end_us.midpoint(prefill.begins_us()) / 1e6, 5.0);
        let of = |phase: Phase| {
            now.running_phases.iter().copied().map(u32::from).filter(|&p| p == phase as u32).count()
        };
        assert_eq!(
            (of(Phase::Prefill), of(Phase::Stalled), of(Phase::Decode)),
            (prefill.prompts as usize, prefill.stalled as usize, 0)
        );
        assert_eq!(now.prompt_tokens, prefill.prompt_tokens);
    }

    #[test]
    fn a_proxy_holds_requests_before_the_engine() {
        let run = run(&[("gateway.kind", "proxy"), ("gateway.concurrency", "4")]);
        let now = moment(&run, 100.0, 5.0);
        assert!(now.at_gateway > 0 && now.waiting + now.running <= 4, "{now:?}");
        assert_eq!(now.gateway_ids.len(), now.at_gateway as usize);
        let forwarded_us = &run.report.gateway.as_ref().expect("a proxy").forwarded_us;
        // One that the gateway never forwards has no such time.
        let is_held = |id: &u32| {
            let at_us = forwarded_us[*id as usize];
            at_us.is_nan() || at_us > 100e6
        };
        assert!(now.gateway_ids.is_sorted() && now.gateway_ids.iter().all(is_held), "{now:?}");
        let named: Vec<u32> = now.gateway_ids.iter().map(|&id| run.report.trace.user[id as usize]).collect();
        assert_eq!(named, now.gateway_users);
    }
}
