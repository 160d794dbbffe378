//! The service at one time of a run, for the page's picture of it: which requests come next, which wait, what the batch holds.
//!
//! It is asked for while a cursor moves, so it reads the run once and keeps a few hundred requests at most; the counts are of
//! all of them.

use serde::Serialize;
use servescope_engine::metrics::seats::Seats;
use servescope_engine::{Outcome, Report};
use servescope_lab::run::Run;
use servescope_workload::BASE_MODEL;

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

/// The service at one time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Moment {
    /// When, seconds.
    pub time_s: f64,
    /// Tokens of prompt and output that most requests of the run have at most, by which long and short ones are drawn.
    pub long_tokens: u32,
    /// When the last request arrived, seconds.
    pub last_arrival_s: f64,
    /// End of the run, seconds.
    pub end_s: f64,
    /// Requests rejected so far.
    pub rejected: u32,
    /// Where requests are, in the order in which they go through: on their way, at the gateway, in the queues of the replicas, and in
    /// each pool of the fleet.
    pub places: Vec<Place>,
}

/// What kind of a place it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// They arrive next.
    Coming,
    /// The gateway holds them, in the order of arrival.
    Gateway,
    /// They wait at the engine, those that were preempted included, in the order of arrival.
    Queue,
    /// The batches of a pool's replicas, in the order of admission.
    Pool,
}

/// The requests in one place. Columns have an entry for each that is listed, or none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Place {
    /// What it is.
    pub kind: PlaceKind,
    /// All that are there.
    pub requests: u32,
    /// Their ids.
    pub ids: Vec<u32>,
    /// Their users, as in the trace.
    pub users: Vec<u32>,
    /// Their adapters; none of a request to the base model.
    pub adapters: Vec<Option<u32>>,
    /// Their prompts, tokens.
    pub prompt_tokens: Vec<u32>,
    /// Tokens of output that they have; between the first and the last, which are known, as if they had come evenly.
    pub output_tokens: Vec<u32>,
    /// How long it is until they arrive, seconds, the first first; of those on their way.
    pub coming_s: Vec<f64>,
    /// What they do: 0 prefill, 1 decode, 2 stalled; of those in a batch.
    pub phases: Vec<u8>,
    /// Which of the pool's replicas that are there has them, from 0 on; of those in a batch.
    pub replicas: Vec<u32>,
    /// Their seats in its batch, from 0 on; of those in a batch.
    pub seats: Vec<u32>,
    /// The pool that computes them.
    pub pool: Option<PoolMoment>,
}

/// The replicas of a pool at one time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PoolMoment {
    /// What the pool is called; empty where it has no name.
    pub name: String,
    /// Replicas that compute an iteration.
    pub computing: u32,
    /// Replicas that load adapters before an iteration.
    pub loading: u32,
    /// Replicas that can compute: those that are ready, and those that drain.
    pub replicas: u32,
    /// Replicas that are paid and not ready yet.
    pub starting: u32,
    /// Of `replicas` those that get no new request.
    pub draining: u32,
    /// Seats that any of its replicas needs in the whole run.
    pub seats: u32,
    /// Most requests that the batch of a replica may have.
    pub most_seats: u32,
    /// LoRA slots of all replicas; none where adapters are not kept in slots.
    pub lora_slots: Option<u32>,
    /// Prompt tokens of the iterations under way.
    pub prompt_tokens: u32,
    /// Requests that decode a token in them.
    pub decodes: u32,
    /// How long they take, on average, seconds.
    pub iteration_s: f64,
    /// KV tokens in use.
    pub kv_tokens: f64,
    /// Memory that adapters take, in KV tokens.
    pub adapter_tokens: f64,
    /// Memory for both, in KV tokens.
    pub memory_tokens: f64,
}

/// The service of a run at a time, from 0 on; those that arrive within `span_s` after it are listed as well.
pub fn moment(run: &Run, time_s: f64, span_s: f64) -> Moment {
    let time_s = if time_s.is_nan() { 0.0 } else { time_s.clamp(0.0, f64::MAX) };
    let (report, now_us) = (&run.report, time_s * 1e6);
    let mut pools: Vec<PoolMoment> =
        (0..report.pools.len()).map(|pool| replicas(report, run.seats(), pool, now_us)).collect();
    let all_stalled = iterations(report, now_us, &mut pools);
    let mut moment = Moment {
        time_s,
        long_tokens: run.seats().long_tokens,
        last_arrival_s: report.trace.arrival_us.last().copied().unwrap_or(0.0) / 1e6,
        end_s: report.end_us() / 1e6,
        ..Moment::default()
    };
    let mut batches = batches(report, run.seats(), &all_stalled, now_us);
    requests(report, span_s * 1e6, &mut moment);
    for (batch, pool) in batches.iter_mut().zip(pools) {
        batch.pool = Some(pool);
    }
    moment.places.append(&mut batches);
    moment
}

/// The lives of a pool's replicas, and the memory of those that are there.
fn replicas(report: &Report, seats: &Seats, pool: usize, now_us: f64) -> PoolMoment {
    let reserved = f64::from(report.adapters.reserved_tokens);
    let facts = &report.pools[pool];
    let of_pool = || report.replicas.iter().filter(|life| usize::from(life.pool) == pool);
    let there = || of_pool().filter(|life| life.is_there(now_us));
    let starting =
        of_pool().filter(|life| life.start_us <= now_us && now_us < life.ready_us.min(life.drain_us));
    let each = f64::from(facts.kv_tokens) + reserved;
    let ready = there().count() as u32;
    let needed = report.replicas.iter().zip(&seats.most).filter(|(life, _)| usize::from(life.pool) == pool);
    PoolMoment {
        name: facts.name.clone(),
        replicas: ready,
        starting: starting.count() as u32,
        draining: there().filter(|life| life.drain_us <= now_us).count() as u32,
        seats: needed.map(|(_, &most)| most).max().unwrap_or(0) as u32,
        most_seats: facts.max_requests,
        lora_slots: facts.lora_slots.map(|slots| slots.saturating_mul(ready)),
        memory_tokens: there().map(|_| each).sum(),
        adapter_tokens: there().map(|_| reserved).sum(),
        ..PoolMoment::default()
    }
}

/// What the iterations under way hold; for each replica, whether its iteration leaves out every request that decodes.
fn iterations(report: &Report, now_us: f64, pools: &mut [PoolMoment]) -> Vec<bool> {
    let mut stalled = vec![false; report.replicas.len()];
    for run in &report.timeline.iterations {
        if run.start_us > now_us {
            break;
        }
        if now_us >= run.end_us {
            continue;
        }
        let pool = &mut pools[usize::from(report.replicas[usize::from(run.replica)].pool)];
        if now_us < run.begins_us() {
            pool.loading += 1;
        } else {
            pool.computing += 1;
            pool.prompt_tokens += run.prompt_tokens;
            pool.decodes += run.decodes;
            let each_us = (run.end_us - run.begins_us()) / f64::from(run.iterations.max(1));
            pool.iteration_s += each_us / 1e6;
        }
        let part = (now_us - run.start_us) / (run.end_us - run.start_us);
        let grown = run.kv_tokens + part * (run.kv_tokens_at_end() - run.kv_tokens);
        pool.kv_tokens += grown.min(f64::from(run.blocks) * report.pool(run.replica).block_tokens());
        pool.adapter_tokens += f64::from(run.adapter_tokens);
        stalled[usize::from(run.replica)] = run.decodes == 0;
    }
    for pool in pools {
        pool.iteration_s /= f64::from(pool.computing.max(1));
    }
    stalled
}

/// The batches of the pools.
fn batches(report: &Report, seats: &Seats, all_stalled: &[bool], now_us: f64) -> Vec<Place> {
    let mut batches: Vec<Place> = report.pools.iter().map(|_| Place::new(PlaceKind::Pool)).collect();
    for stay in seats.at(now_us) {
        let life = &report.replicas[stay.replica.index()];
        let pool = usize::from(life.pool);
        let phase = match report.first_token_us(stay.id) {
            Some(first) if first <= now_us && all_stalled[stay.replica.index()] => Phase::Stalled,
            Some(first) if first <= now_us => Phase::Decode,
            _ => Phase::Prefill,
        };
        if !batches[pool].add(report, stay.id, now_us) {
            continue;
        }
        let before = report.replicas[..stay.replica.index()].iter();
        let place = before.filter(|other| other.pool == life.pool && other.is_there(now_us)).count();
        batches[pool].phases.push(phase as u8);
        batches[pool].replicas.push(place as u32);
        batches[pool].seats.push(stay.seat as u32);
    }
    batches
}

/// Where the requests are that are in no batch.
fn requests(report: &Report, span_us: f64, moment: &mut Moment) {
    let now_us = moment.time_s * 1e6;
    let [mut coming, mut gateway, mut queue] =
        [PlaceKind::Coming, PlaceKind::Gateway, PlaceKind::Queue].map(Place::new);
    for (id, result) in report.results.iter().enumerate() {
        let arrival = report.trace.arrival_us[id];
        if arrival > now_us {
            if arrival - now_us > span_us || coming.ids.len() == MOST {
                break;
            }
            coming.coming_s.push((arrival - now_us) / 1e6);
            coming.add(report, id, now_us);
            continue;
        }
        moment.rejected += u32::from(matches!(result.outcome, Outcome::Rejected(_)));
        match report.scheduled_us(id) {
            _ if result.finish_us.is_some_and(|finish| finish <= now_us) => {}
            Some(scheduled_us) if scheduled_us <= now_us => {
                if is_away(report, id, now_us) {
                    queue.add(report, id, now_us);
                }
            }
            None if result.outcome != Outcome::Unfinished => {}
            _ if is_at_gateway(report, id, now_us) => {
                gateway.add(report, id, now_us);
            }
            _ => {
                queue.add(report, id, now_us);
            }
        }
    }
    moment.places = vec![coming, gateway, queue];
}

/// Whether a request waits because it was preempted.
fn is_away(report: &Report, id: usize, now_us: f64) -> bool {
    report.preemptions(id) > 0
        && (report.timeline.preemption_intervals.iter())
            .any(|away| away.request.index() == id && (away.start_us..away.end_us).contains(&now_us))
}

/// Tokens of output that a request has: the times of the first and the last are known.
fn output_tokens(report: &Report, id: usize, now_us: f64) -> u32 {
    let result = &report.results[id];
    let Some(first_us) = report.first_token_us(id).filter(|&first| first <= now_us) else { return 0 };
    let last_us = result.finish_us.unwrap_or_else(|| report.end_us());
    let part = if last_us > first_us { ((now_us - first_us) / (last_us - first_us)).min(1.0) } else { 1.0 };
    (1.0 + part * f64::from(result.produced.saturating_sub(1))).min(f64::from(result.produced)) as u32
}

fn is_at_gateway(report: &Report, id: usize, now_us: f64) -> bool {
    // NaN: it was never let through.
    report.gateway.as_ref().is_some_and(|log| log.forwarded_us[id].is_nan() || log.forwarded_us[id] > now_us)
}

impl Place {
    fn new(kind: PlaceKind) -> Self {
        Self {
            kind,
            requests: 0,
            ids: Vec::new(),
            users: Vec::new(),
            adapters: Vec::new(),
            prompt_tokens: Vec::new(),
            output_tokens: Vec::new(),
            coming_s: Vec::new(),
            phases: Vec::new(),
            replicas: Vec::new(),
            seats: Vec::new(),
            pool: None,
        }
    }

    /// One more; those beyond the first few hundred are only counted. Whether it is listed.
    fn add(&mut self, report: &Report, id: usize, now_us: f64) -> bool {
        self.requests += 1;
        if self.ids.len() == MOST {
            return false;
        }
        let request = report.trace.request(id);
        self.ids.push(id as u32);
        self.users.push(request.user);
        self.adapters.push(Some(request.adapter).filter(|&adapter| adapter != BASE_MODEL));
        self.prompt_tokens.push(request.input_tokens);
        self.output_tokens.push(output_tokens(report, id, now_us));
        true
    }
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;

    fn run(settings: &[(&str, &str)]) -> Run {
        let scenario = Scenario::of_version(4).with(settings).expect("a setting");
        Run::simulate(&scenario, None).expect("a run")
    }

    /// The only place of a kind.
    fn place(moment: &Moment, kind: PlaceKind) -> &Place {
        moment.places.iter().find(|place| place.kind == kind).expect("every kind is there")
    }

    fn is_consistent(run: &Run, now: &Moment) {
        let report = &run.report;
        let now_us = now.time_s * 1e6;
        let arrived = report.trace.arrival_us.iter().filter(|&&at| at <= now_us).count();
        let gone = report.results.iter().filter(|r| r.finish_us.is_some_and(|at| at <= now_us)).count();
        let inside = now.places.iter().filter(|place| place.kind != PlaceKind::Coming);
        let here = now.rejected + inside.map(|place| place.requests).sum::<u32>();
        assert_eq!(here as usize + gone, arrived, "at {now_us} us");
        for Place { ids, users, .. } in &now.places {
            let named: Vec<u32> = ids.iter().map(|&id| report.trace.user[id as usize]).collect();
            assert_eq!(&named, users, "at {now_us} us");
        }
        for place in &now.places {
            let Some(pool) = &place.pool else { continue };
            assert_eq!(place.users.len(), place.phases.len());
            assert!(pool.kv_tokens + pool.adapter_tokens <= pool.memory_tokens, "at {now_us} us");
            assert_eq!(place.requests > 0, pool.kv_tokens > 0.0 || pool.loading > 0, "at {now_us} us");
        }
    }

    #[test]
    fn every_request_is_in_one_place() {
        let run = run(&[("workload.arrivals.cv", "5"), ("workload.duration_s", "120")]);
        for time_s in [0.0, 10.0, 60.0, 119.0, 200.0, 1e6] {
            let now = moment(&run, time_s, 5.0);
            is_consistent(&run, &now);
            let arrivals = run.report.trace.arrival_us.iter();
            let coming = arrivals.filter(|&&at| at > time_s * 1e6 && at <= time_s * 1e6 + 5e6);
            let listed = &place(&now, PlaceKind::Coming).coming_s;
            assert_eq!(listed.len(), coming.count(), "at {time_s} s");
            assert!(listed.is_sorted());
        }
    }

    #[test]
    fn each_pool_is_a_place_with_its_own_batch_and_memory() {
        let settings = [
            ("workload.rate_rps", "12"),
            ("workload.duration_s", "60"),
            ("cost.kind", "roofline"),
            ("fleet.pools", "name=second,fleet.replicas=1,fleet.gpu=h200_sxm"),
        ];
        let run = run(&settings);
        let now = moment(&run, 40.0, 5.0);
        is_consistent(&run, &now);
        let pools: Vec<&Place> = now.places.iter().filter(|place| place.pool.is_some()).collect();
        let [first, second] = pools[..] else { panic!("two pools: {now:?}") };
        assert!(first.requests > 0 && second.requests > 0, "{now:?}");
        let memory = |place: &Place| place.pool.as_ref().expect("a pool").memory_tokens;
        assert!(memory(second) > memory(first), "{now:?}");
        assert_eq!(second.pool.as_ref().expect("a pool").name, "second");
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
        let batch = place(&now, PlaceKind::Pool);
        let of =
            |phase: Phase| batch.phases.iter().copied().map(u32::from).filter(|&p| p == phase as u32).count();
        assert_eq!(
            (of(Phase::Prefill), of(Phase::Stalled), of(Phase::Decode)),
            (prefill.prompts as usize, prefill.stalled as usize, 0)
        );
        assert_eq!(batch.pool.as_ref().expect("a pool").prompt_tokens, prefill.prompt_tokens);
    }

    #[test]
    fn a_proxy_holds_requests_before_the_engine() {
        let run = run(&[("gateway.kind", "proxy"), ("gateway.concurrency", "4")]);
        let now = moment(&run, 100.0, 5.0);
        is_consistent(&run, &now);
        let held = place(&now, PlaceKind::Gateway);
        let let_through = place(&now, PlaceKind::Queue).requests + place(&now, PlaceKind::Pool).requests;
        assert!(held.requests > 0 && let_through <= 4, "{now:?}");
        assert_eq!(held.ids.len(), held.requests as usize);
        let forwarded_us = &run.report.gateway.as_ref().expect("a proxy").forwarded_us;
        // One that the gateway never forwards has no such time.
        let is_held = |id: &u32| {
            let at_us = forwarded_us[*id as usize];
            at_us.is_nan() || at_us > 100e6
        };
        assert!(held.ids.is_sorted() && held.ids.iter().all(is_held), "{now:?}");
    }
}
