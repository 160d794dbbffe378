//! What the replicas serve when they are saturated, and the load: the work that reaches them over it.
//!
//! The requests that reached the replicas of a run are given to equal replicas all at once, in the same order and without the
//! gateway's checks, and what a replica takes for its part of them is measured. That time over the time in which they arrived is
//! the load; of one server that serves one request at a time it is the utilisation, arrival rate times mean service time.
//!
//! A replica is saturated until the last of its requests is scheduled. What its batch holds then would end in ever smaller
//! batches; so the tokens left count with the time that a token took until then. Where the requests are too few to fill the
//! replicas for long, they are given several times over, each time with prompts of their own.

use std::sync::Arc;

use serde::Serialize;
use servescope_engine::queue::QueuePolicy;
use servescope_engine::{Fleet, FleetConfig, Outcome, Pool, PoolConfig, Rejection, Report, VllmRules};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::scenario::{AdapterRanks, Scenario};
use servescope_workload::Trace;
use servescope_workload::trace::{Events, IdLists};

use super::Run;

/// The requests that saturate the replicas, at the least and at the most: to measure the load takes no longer than the run.
const LEAST_REQUESTS: usize = 512;
const MOST_REQUESTS: usize = 4_096;

/// The most where the replicas hold so many at once that they need more.
const MOST_COPIED: usize = 20_000;

/// Of prompts that share their beginnings those that follow one another share most: so many are taken together.
const TOGETHER: usize = 512;

/// More requests are taken where more than this share of the time is for what is left at the end.
const MOST_LEFT: f64 = 0.02;

/// By this factor.
const MORE: usize = 4;

/// The load of the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "ReplicaLoad"))]
pub struct Load {
    /// Requests a second that reach the replicas while the traffic goes on.
    pub reached_rps: f64,
    /// Requests a second of the same kinds that the replicas serve when they are saturated; missing where none reached them.
    pub saturated_rps: Option<f64>,
    /// The first over the second; above 1 more arrives than can be served.
    pub share: f64,
}

/// The measurement of the load of a run, under way.
#[derive(Debug)]
pub struct Saturation {
    scenario: Scenario,
    ranks: AdapterRanks,
    /// The requests that reached the replicas, or as many of them as are simulated.
    mix: Trace,
    reached_rps: f64,
    /// How often they are given.
    copies: usize,
    fleet: Option<Box<Fleet>>,
    /// How many replicas each pool had on average, over those of the beginning.
    growth: Vec<f64>,
    saturated_rps: Option<f64>,
}

impl Saturation {
    /// Stands ready to saturate the replicas of a run with the requests that reached them.
    ///
    /// # Errors
    /// [`Diagnostic`] of a scenario that has no such replicas.
    pub fn new(run: &Run) -> Result<Self, Diagnostic> {
        let report = &run.report;
        let (reached, span_us) = reached(report, run.generated);
        let reached_rps = if span_us > 0.0 { reached.len() as f64 * 1e6 / span_us } else { 0.0 };
        let reached = thinned(&report.trace, reached);
        let mut mix = all_at_once(&report.trace, &reached);
        for (tokens, &id) in mix.output_tokens.iter_mut().zip(&reached) {
            let result = &report.results[id as usize];
            if result.outcome == Outcome::Cancelled {
                *tokens = result.produced.max(1);
            }
        }
        let growth = growth(report, span_us);
        let own = Self::of(&run.scenario, AdapterRanks::of(&report.trace), mix, reached_rps)?;
        Ok(Self { growth, ..own })
    }

    /// The rate that the replicas of a scenario serve when they are saturated with a trace, all of it let through.
    ///
    /// # Errors
    /// [`Diagnostic`] of a scenario that has no such replicas.
    pub fn rate_rps(scenario: &Scenario, trace: &Trace) -> Result<Option<f64>, Diagnostic> {
        let all = thinned(trace, (0..trace.len() as u32).collect());
        let mix = all_at_once(trace, &all);
        Ok(Self::of(scenario, AdapterRanks::of(trace), mix, 0.0)?.finish().saturated_rps)
    }

    fn of(
        scenario: &Scenario,
        ranks: AdapterRanks,
        mix: Trace,
        reached_rps: f64,
    ) -> Result<Self, Diagnostic> {
        let copies = if mix.is_empty() { 0 } else { LEAST_REQUESTS.div_ceil(mix.len()) };
        let scenario = scenario.clone();
        let (fleet, saturated_rps, growth) = (None, None, Vec::new());
        let mut own = Self { scenario, ranks, mix, reached_rps, copies, fleet, growth, saturated_rps };
        own.fleet = own.next_fleet()?;
        Ok(own)
    }

    /// Handles what happens at, at most, `times` different times; says whether the measurement is over.
    pub fn advance(&mut self, times: usize) -> bool {
        let Some(fleet) = &mut self.fleet else { return true };
        if !fleet.advance(times) {
            return false;
        }
        let Some(fleet) = self.fleet.take() else { return true };
        let measured = Saturated::of(&fleet.finish(), &self.growth);
        self.saturated_rps = measured.rate_rps;
        if measured.left > MOST_LEFT && self.copies * self.mix.len() * MORE <= MOST_COPIED {
            self.copies *= MORE;
            self.fleet = self.next_fleet().unwrap_or(None);
        }
        self.fleet.is_none()
    }

    /// The load.
    pub fn finish(mut self) -> Load {
        while !self.advance(usize::MAX) {}
        let share = self.saturated_rps.map_or(0.0, |rps| self.reached_rps / rps);
        Load { reached_rps: self.reached_rps, saturated_rps: self.saturated_rps, share }
    }

    /// The replicas before requests that are all there; none where there is no request.
    fn next_fleet(&self) -> Result<Option<Box<Fleet>>, Diagnostic> {
        if self.mix.is_empty() {
            return Ok(None);
        }
        let trace = Arc::new(repeated(&self.mix, self.copies));
        // What refuses requests, or lets them leave, is no part of what the replicas can serve.
        let rules =
            FleetConfig { max_in_system: u32::MAX, queue_timeout_us: f64::INFINITY, ..self.scenario.fleet() };
        let open = |pool: Pool| {
            let vllm = VllmRules { max_num_queued_tokens: None, ..pool.config.vllm };
            Pool { config: PoolConfig { vllm, ..pool.config }, schedule: Vec::new(), ..pool }
        };
        let pools = self.scenario.pools_for(self.ranks)?.into_iter().map(open).collect();
        let mut queueing = self.scenario.queueing(&trace);
        if matches!(queueing.policy, QueuePolicy::EarlyAbort { .. } | QueuePolicy::Rpm { .. }) {
            queueing.policy = QueuePolicy::Fcfs;
        }
        Ok(Some(Box::new(Fleet::new(trace, rules, pools).with_queue_policy(queueing))))
    }
}

/// The requests that reached the replicas while the traffic went on, and how long it did, microseconds.
fn reached(report: &Report, generated: bool) -> (Vec<u32>, f64) {
    let arrival_us = &report.trace.arrival_us;
    // Generated traffic begins at 0, one gap before its first request; a file begins with its first.
    let from_us = if generated { 0.0 } else { arrival_us.first().copied().unwrap_or(0.0) };
    let last_us = arrival_us.last().copied().unwrap_or(0.0);
    // Where all requests are there at once, they keep the replicas to the end.
    let until_us = if last_us > from_us { last_us } else { report.end_us() };
    let forwarded = |id: usize| match &report.gateway {
        Some(log) => log.forwarded_us[id] <= until_us,
        None => true,
    };
    // What is refused for its length, or at the door, is no work; what left the waiting queue of the replicas is.
    let is_work = |id: usize| match report.results[id].outcome {
        Outcome::Rejected(reason) => reason == Rejection::EarlyAbort,
        Outcome::Cancelled => report.scheduled_us(id).is_some(),
        Outcome::Unfinished | Outcome::Completed | Outcome::TimedOut => true,
    };
    let ids = 0..report.results.len();
    (ids.filter(|&id| is_work(id) && forwarded(id)).map(|id| id as u32).collect(), until_us - from_us)
}

/// How many replicas of each pool were ready on average up to a time, over how many there were at the beginning.
fn growth(report: &Report, until_us: f64) -> Vec<f64> {
    let of_pool = |pool: u16| {
        let own = || report.replicas.iter().filter(move |life| life.pool == pool);
        let first = own().filter(|life| life.start_us == 0.0 && life.ready_us == 0.0).count() as f64;
        let changes = own().any(|life| life.ready_us > 0.0 || life.drain_us < until_us);
        if !changes || until_us <= 0.0 {
            return 1.0;
        }
        let ready_us = own().map(|life| (life.drain_us.min(until_us) - life.ready_us).max(0.0));
        ready_us.sum::<f64>() / until_us / first
    };
    (0..report.pools.len() as u16).map(of_pool).collect()
}

/// Those requests, or as many of them as are simulated, with the same lengths.
fn thinned(trace: &Trace, mut ids: Vec<u32>) -> Vec<u32> {
    let count = ids.len();
    if count <= MOST_REQUESTS {
        return ids;
    }
    // Evenly spread, in pieces of that many or, of requests in the order of their lengths, one by one.
    let spread = |ids: &[u32], together: usize| {
        let pieces = MOST_REQUESTS / together;
        let from = |piece: usize| (2 * piece + 1) * count / (2 * pieces) - together / 2;
        (0..pieces).flat_map(|piece| ids[from(piece)..from(piece) + together].to_vec()).collect::<Vec<u32>>()
    };
    if trace.metadata.as_ref().is_some_and(|metadata| !metadata.prefix.is_empty()) {
        return spread(&ids, TOGETHER);
    }
    let tokens =
        |&id: &u32| u64::from(trace.input_tokens[id as usize]) + u64::from(trace.output_tokens[id as usize]);
    ids.sort_by_key(tokens);
    let mut thinned = spread(&ids, 1);
    thinned.sort_unstable();
    thinned
}

/// The trace of these requests, all there at once and none waiting for another.
fn all_at_once(trace: &Trace, ids: &[u32]) -> Trace {
    let mut all = trace.select(ids);
    all.arrival_us.fill(0.0);
    all.cancellations.clear();
    all.closed_loop = None;
    if let Some(metadata) = &mut all.metadata {
        metadata.details = Vec::new();
        metadata.events = Events::default();
    }
    all
}

/// The requests several times over. Prompts share what they share in each copy, and nothing between two copies.
fn repeated(mix: &Trace, copies: usize) -> Trace {
    const APART: u64 = 0x9e37_79b9_7f4a_7c15;
    if copies == 1 {
        return mix.clone();
    }
    let count = mix.len() as u32;
    let order: Vec<u32> = (0..copies).flat_map(|_| 0..count).collect();
    let mut all = mix.select(&order);
    if let Some(metadata) = &mut all.metadata {
        for IdLists { ids, .. } in [&mut metadata.prefix.prompts, &mut metadata.prefix.outputs] {
            let blocks = ids.len() / copies;
            for (place, id) in ids.iter_mut().enumerate() {
                *id = id.wrapping_add(((place / blocks.max(1)) as u64).wrapping_mul(APART));
            }
        }
    }
    all
}

/// What saturated replicas did.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Saturated {
    /// Requests a second of all replicas together; none where they served none.
    rate_rps: Option<f64>,
    /// The largest share of a replica's time that is for what was left when its last request was scheduled.
    left: f64,
}

/// The part of one replica.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    requests: u32,
    /// When the last of them was scheduled, microseconds.
    last_us: f64,
    end_us: f64,
    /// Output tokens that were not there then.
    left: f64,
    /// Those that iterations made until then, their time, and that of all iterations.
    tokens: f64,
    decode_us: f64,
    busy_us: f64,
}

impl Saturated {
    /// `growth`: of each pool, how many times as many replicas count; none: as many as there are.
    fn of(report: &Report, growth: &[f64]) -> Self {
        let mut parts = vec![Part::default(); report.replicas.len()];
        let scheduled = || (0..report.results.len()).filter_map(|id| Some((id, report.scheduled_us(id)?)));
        for (id, scheduled_us) in scheduled() {
            let part = &mut parts[usize::from(report.replica(id))];
            part.requests += 1;
            part.last_us = part.last_us.max(scheduled_us);
            part.end_us = part.end_us.max(report.results[id].finish_us.unwrap_or(0.0));
        }
        for (id, _) in scheduled() {
            let part = &mut parts[usize::from(report.replica(id))];
            part.left += tokens_left(report, id, part.last_us);
        }
        for run in &report.timeline.iterations {
            let part = &mut parts[usize::from(run.replica)];
            if run.end_us > part.last_us {
                continue;
            }
            let decodes = f64::from(run.decode_tokens);
            part.tokens += run.decoded_tokens();
            part.busy_us += run.busy_us;
            part.decode_us += run.busy_us * decodes / (decodes + f64::from(run.prompt_tokens)).max(1.0);
        }
        let (mut rate_rps, mut left) = (0.0, 0.0);
        for (part, life) in parts.iter().zip(&report.replicas).filter(|(part, _)| part.requests > 0) {
            let left_us = part.left_us();
            let whole_us = part.last_us + left_us;
            if whole_us > 0.0 {
                let times = growth.get(usize::from(life.pool)).copied().unwrap_or(1.0);
                rate_rps += times * (f64::from(part.requests) * 1e6 / whole_us);
                left = f64::max(left, left_us / whole_us);
            }
        }
        Self { rate_rps: Some(rate_rps).filter(|&rate| rate > 0.0), left }
    }
}

impl Part {
    /// The time for what was left. Of a replica that was never saturated it is what it took.
    fn left_us(&self) -> f64 {
        if self.tokens > 0.0 && self.busy_us > 0.0 {
            self.left * self.last_us * (self.decode_us / self.busy_us) / self.tokens
        } else {
            self.end_us - self.last_us
        }
    }
}

/// Output tokens of a request that were not there at a time. Between its first token and its last they come evenly.
fn tokens_left(report: &Report, id: usize, at_us: f64) -> f64 {
    let produced = f64::from(report.results[id].produced);
    let Some(finish_us) = report.results[id].finish_us else { return 0.0 };
    match report.first_token_us(id) {
        _ if finish_us <= at_us => 0.0,
        Some(first_us) if first_us <= at_us => {
            (produced - 1.0) * (finish_us - at_us) / (finish_us - first_us)
        }
        _ => produced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(settings: &[(&str, &str)]) -> Load {
        let scenario = Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"));
        let run = Run::simulate(&scenario, None).unwrap_or_else(|errors| panic!("{errors:?}"));
        run.load().unwrap_or_else(|| panic!("{settings:?}"))
    }

    /// One server that serves one request at a time, each for as many milliseconds as it has tokens.
    const ONE_SERVER: [(&str, &str); 13] = [
        ("workload.adapters.count", "0"),
        ("workload.input_tokens.kind", "fixed"),
        ("workload.input_tokens.value", "1"),
        ("workload.output_tokens.kind", "geometric"),
        ("workload.output_tokens.mean", "1000"),
        ("scheduler.max_running_requests", "1"),
        ("scheduler.max_total_tokens", "100000000"),
        ("scheduler.batch_max_tokens", "100000000"),
        ("scheduler.max_request_tokens", "100000000"),
        ("scheduler.max_input_tokens", "100000000"),
        ("scheduler.decode_steps_between_prefills", "0"),
        ("scheduler.idle_poll_ms", "0"),
        ("cost.calibration", "unit"),
    ];

    fn one_server(more: &[(&str, &str)]) -> Load {
        let cost = [("cost.linear.prefill_base_ms", "1"), ("cost.linear.decode_base_ms", "1")];
        load(&[&ONE_SERVER[..], &cost, more].concat())
    }

    #[test]
    fn of_one_server_the_load_is_arrival_rate_times_mean_service_time() {
        for (rate, duration) in [("0.2", "20000"), ("0.8", "20000"), ("1.5", "20000"), ("0.8", "60000")] {
            let found = one_server(&[("workload.rate_rps", rate), ("workload.duration_s", duration)]);
            let expected: f64 = rate.parse().unwrap();
            assert!((found.share / expected - 1.0).abs() < 0.025, "{rate}: {found:?}");
        }
    }

    #[test]
    fn the_load_is_the_rate_over_what_long_overload_serves() {
        for kind in ["slora", "lightllm", "vllm", "vllm_v1", "sarathi", "orca", "static"] {
            let of = |rate: &'static str, duration: &'static str| {
                [("scheduler.kind", kind), ("workload.rate_rps", rate), ("workload.duration_s", duration)]
            };
            let long = Scenario::of_version(4).with(&of("20", "1000")).unwrap();
            let served = Run::simulate(&long, None).unwrap().summary_of(0).run.throughput_rps.unwrap();
            let found = load(&of("0.5", "600"));
            let saturated = found.saturated_rps.unwrap();
            assert!((saturated / served - 1.0).abs() < 0.04, "{kind}: {saturated} of {served}");
            assert!((found.share - found.reached_rps / saturated).abs() < 1e-12);
        }
    }

    /// A few requests are very long: at the end of a saturated run they decode alone, which is no part of what is served.
    #[test]
    fn long_requests_at_the_end_do_not_bias_it() {
        let settings = [
            ("workload.adapters.count", "0"),
            ("workload.rate_rps", "5"),
            ("workload.output_tokens.kind", "bounded_pareto"),
            ("workload.output_tokens.exponent", "1.1"),
            ("workload.output_tokens.low", "16"),
            ("workload.output_tokens.high", "2000"),
        ];
        let run = Run::simulate(&Scenario::of_version(4).with(&settings).unwrap(), None).unwrap();
        let rate = |copies: usize| {
            let mut own = Saturation::new(&run).unwrap();
            (own.copies, own.fleet) = (copies, None);
            own.fleet = own.next_fleet().unwrap();
            let mut fleet = own.fleet.take().unwrap();
            while !fleet.advance(usize::MAX) {}
            let report = fleet.finish();
            let whole = report.results.len() as f64 * 1e6 / report.end_us();
            (Saturated::of(&report, &[]).rate_rps.unwrap(), whole)
        };
        let ((_, to_the_end), (often, _)) = (rate(1), rate(40));
        let found = run.load().unwrap().saturated_rps.unwrap();
        assert!((found / often - 1.0).abs() < 0.03, "{found} {often}");
        assert!(to_the_end < 0.93 * often, "the end of the run takes long: {to_the_end} {often}");
    }

    #[test]
    fn of_very_many_requests_a_part_stands_for_all() {
        let of = |more: &[(&str, &str)]| {
            let many = [("workload.rate_rps", "100"), ("workload.duration_s", "300")];
            Run::simulate(&Scenario::of_version(4).with(&[&many[..], more].concat()).unwrap(), None).unwrap()
        };
        let run = of(&[("workload.output_tokens.kind", "geometric"), ("workload.output_tokens.mean", "200")]);
        let trace = &run.report.trace;
        let all: Vec<u32> = (0..trace.len() as u32).collect();
        let part = thinned(trace, all.clone());
        let mean = |ids: &[u32]| {
            ids.iter().map(|&id| f64::from(trace.output_tokens[id as usize])).sum::<f64>() / ids.len() as f64
        };
        assert_eq!(part.len(), MOST_REQUESTS);
        assert!(part.is_sorted() && (mean(&part) / mean(&all) - 1.0).abs() < 0.02);
        let shared = of(&[("workload.prefix.kind", "tree")]);
        let part = thinned(&shared.report.trace, all);
        assert!(
            part.len() == MOST_REQUESTS && part.windows(2).filter(|pair| pair[1] != pair[0] + 1).count() == 7
        );
    }

    #[test]
    fn more_replicas_serve_more_and_copies_fill_them() {
        let of = |replicas: &str, rate: &str| {
            load(&[
                ("fleet.replicas", replicas),
                ("workload.rate_rps", rate),
                ("workload.duration_s", "100"),
                ("workload.adapters.count", "0"),
                ("scheduler.kind", "vllm_v1"),
            ])
        };
        let one = of("1", "1").saturated_rps.unwrap();
        let four = of("4", "1").saturated_rps.unwrap();
        assert!((four / (4.0 * one) - 1.0).abs() < 0.06, "{one} {four}");
    }

    #[test]
    fn what_the_gateway_keeps_out_is_no_load() {
        let quota = [
            ("workload.rate_rps", "8"),
            ("workload.users.count", "1"),
            ("gateway.kind", "proxy"),
            ("gateway.tpm.total", "10000"),
            ("gateway.over_quota", "refuse"),
        ];
        let (open, kept) = (load(&quota[..2]), load(&quota));
        assert!(open.share > 2.0 && kept.share < 0.3, "{open:?} {kept:?}");
        let none = load(&[&quota[..3], &[("gateway.tpm.total", "1")], &quota[4..]].concat());
        assert_eq!((none.share, none.saturated_rps), (0.0, None));
    }
}
