//! A server that answers when the simulator says: at each arrival it simulates all requests that have come so far, at the times
//! at which they came. What has happened by then does not change, as no request of the simulator knows of a later one, so
//! the whole run has the times of one simulation of everything that came.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use servescope_evidence::overlay::{MeasuredRun, Overlay, Sending, read};
use servescope_lab::run::Run;
use servescope_replay::{
    Companion, Facts, ReplayOutcome, ReplayPlan, Sent, Target, companion, lines, replay,
};
use servescope_settings::profiles::NamedText;
use servescope_settings::scenario::Scenario;
use servescope_testkit::server::{ReceivedRequest, STREAM, Server, end, event};
use servescope_traces::arrivals::trace_of;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::Trace;
use servescope_workload::trace::{BASE_MODEL, ClosedLoop, NO_REQUEST, Request};

use crate::{limits, plan, scenario};

/// First and last token of each request, microseconds.
type Times = Vec<(f64, f64)>;

struct Simulated {
    scenario: Scenario,
    start: Instant,
    state: Mutex<(Trace, Times)>,
    changed: Condvar,
}

impl Simulated {
    fn new(scenario: Scenario) -> Arc<Self> {
        let state = Mutex::new((Trace::default(), Times::new()));
        Arc::new(Self { scenario, start: Instant::now(), state, changed: Condvar::new() })
    }

    fn now_us(&self) -> f64 {
        self.start.elapsed().as_secs_f64() * 1e6
    }

    /// A request has come: its place.
    fn arrived(&self, input_tokens: u32, output_tokens: u32) -> usize {
        let mut state = self.state.lock().unwrap();
        let arrival_us = self.now_us();
        let max_tokens = output_tokens;
        state.0.push(Request {
            arrival_us,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens,
            output_tokens,
            max_tokens,
        });
        let loaded = LoadedTrace::from_trace("so far", state.0.clone());
        let report = Run::simulate(&self.scenario, Some(&loaded)).unwrap().report;
        let times = |id: usize| (report.first_token_us(id).unwrap(), report.results[id].finish_us.unwrap());
        state.1 = (0..state.0.len()).map(times).collect();
        self.changed.notify_all();
        state.0.len() - 1
    }

    /// Waits until token `k` of `of` is there; tokens between the first and the last are spread evenly.
    fn wait(&self, place: usize, k: u32, of: u32) {
        let mut state = self.state.lock().unwrap();
        loop {
            let (first, last) = state.1[place];
            let at_us = if k + 1 == of {
                last
            } else {
                first + (last - first) * f64::from(k) / f64::from(of.max(2) - 1)
            };
            let left_us = at_us - self.now_us();
            if left_us <= 0.0 {
                return;
            }
            state = self.changed.wait_timeout(state, Duration::from_secs_f64(left_us / 1e6)).unwrap().0;
        }
    }

    fn answer(&self, asked: &ReceivedRequest, stream: &mut TcpStream) -> io::Result<bool> {
        let json: Json = serde_json::from_str(&asked.body).unwrap();
        let prompt_tokens = (json["prompt"].as_str().unwrap().chars().count() / 4) as u32;
        let count = json["max_tokens"].as_u64().unwrap() as u32;
        let place = self.arrived(prompt_tokens, count);
        stream.write_all(STREAM.as_bytes())?;
        for k in 0..count {
            self.wait(place, k, count);
            event(stream, r#"{"choices":[{"index":0,"text":" a","finish_reason":null}]}"#)?;
        }
        event(
            stream,
            &format!(
                r#"{{"choices":[],"usage":{{"prompt_tokens":{prompt_tokens},"completion_tokens":{count}}}}}"#
            ),
        )?;
        event(stream, "[DONE]")?;
        end(stream)
    }
}

const SERVICE: [(&str, &str); 5] = [
    ("scheduler.kind", "vllm_v1"),
    ("cost.kind", "roofline"),
    ("workload.input_tokens.kind", "uniform"),
    ("workload.output_tokens.kind", "fixed"),
    ("workload.output_tokens.value", "10"),
];

/// Sends a plan; what came of it, the trace as the server got it, and its times.
fn run(scenario: &Scenario, plan: &ReplayPlan) -> (ReplayOutcome, Trace, Times, f64) {
    let simulated = Simulated::new(scenario.clone());
    let of_server = Arc::clone(&simulated);
    let server = Server::start(move |asked, stream| of_server.answer(asked, stream));
    let target = Target::new(&server.url(), &[]).unwrap();
    let mut reported = 0;
    let outcome = replay(&target, plan, &limits(), None, false, |_, ended| reported = ended);
    assert_eq!(
        (reported, outcome.sent.len(), outcome.not_sent),
        (plan.requests.len(), plan.requests.len(), 0)
    );
    let ahead_us = (outcome.epoch - simulated.start).as_secs_f64() * 1e6;
    let (trace, times) = simulated.state.lock().unwrap().clone();
    (outcome, trace, times, ahead_us)
}

fn measured(outcome: &ReplayOutcome, plan: &ReplayPlan, concurrency: Option<u32>) -> MeasuredRun {
    let facts = Facts::default();
    let beside = companion(outcome, &Companion { model: "model", concurrency, facts: &facts }).to_string();
    let own = lines(outcome, plan);
    read(NamedText { name: "run.jsonl", text: &own }, |name| (name == "run_aiperf.json").then_some(&*beside))
        .unwrap()
}

/// What the clock added to a request, microseconds: the way of the request to the server, and how late its first and its last
/// token came to the client after their simulated times.
struct Delay {
    way_us: f64,
    first_us: f64,
    last_us: f64,
}

/// The delays of each request, in the order of sending.
fn delays(
    outcome: &ReplayOutcome,
    trace: &Trace,
    times: &Times,
    ahead_us: f64,
    places: &[usize],
) -> Vec<Delay> {
    let delay = |(sent, &place): (&Sent, &usize)| {
        let (first, last) = times[place];
        let delay = Delay {
            way_us: trace.arrival_us[place] - sent.sent_us - ahead_us,
            first_us: sent.chunks_us[0] + ahead_us - first,
            last_us: sent.chunks_us[sent.chunks_us.len() - 1] + ahead_us - last,
        };
        // Causes come before effects on one clock.
        assert!([delay.way_us, delay.first_us, delay.last_us].iter().all(|us| *us >= -1e-3));
        delay
    };
    outcome.sent.iter().zip(places).map(delay).collect()
}

/// The server's place of each request, in the order of sending: lengths of prompts distinguish them.
fn places(outcome: &ReplayOutcome, plan: &ReplayPlan, trace: &Trace) -> Vec<usize> {
    let place = |sent: &Sent| {
        let length = plan.requests[sent.place].input_tokens;
        let found: Vec<usize> =
            (0..trace.len()).filter(|&place| trace.input_tokens[place] == length).collect();
        assert_eq!(found.len(), 1, "prompts of {length} tokens");
        found[0]
    };
    outcome.sent.iter().map(place).collect()
}

/// A trace whose prompts have different lengths.
fn told_apart(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    for (id, tokens) in trace.input_tokens.iter_mut().enumerate() {
        *tokens = 100 + 37 * id as u32 % 1_000;
    }
    trace
}

/// Rounding of a file's nanoseconds and of sums of microseconds, seconds.
const ROUNDING_S: f64 = 2e-9;

/// What was measured of each request is what was simulated and its delay, and nothing else.
fn assert_exact(overlay: &Overlay, plan: &ReplayPlan, outcome: &ReplayOutcome, delays: &[Delay]) {
    assert_eq!(overlay.pairs.len(), outcome.sent.len());
    for pair in &overlay.pairs {
        let of_pair = |sent: &Sent| plan.requests[sent.place].id.to_string() == pair.name;
        let delay = &delays[outcome.sent.iter().position(of_pair).unwrap()];
        for (name, measured, simulated, delay_us) in [
            ("ttft", pair.measured.ttft_s, pair.simulated.ttft_s, delay.way_us + delay.first_us),
            ("e2e", pair.measured.e2e_s, pair.simulated.e2e_s, delay.way_us + delay.last_us),
        ] {
            let off_s = measured.unwrap() - simulated.unwrap() - delay_us / 1e6;
            assert!(off_s.abs() <= ROUNDING_S, "{name} of {}: off by {off_s} s", pair.name);
        }
    }
    let mut clock_ms: Vec<f64> =
        delays.iter().map(|delay| (delay.way_us + delay.first_us.max(delay.last_us)) / 1e3).collect();
    clock_ms.sort_by(f64::total_cmp);
    println!(
        "clock: median {:.3} ms, most {:.3} ms",
        clock_ms[clock_ms.len() / 2],
        clock_ms[clock_ms.len() - 1]
    );
}

#[test]
fn by_time_stamps_the_overlay_is_exact_within_the_clock() {
    let scenario = scenario(
        &[
            &SERVICE[..],
            &[
                ("workload.rate_rps", "20"),
                ("workload.duration_s", "1"),
                ("workload.arrivals.kind", "poisson"),
            ],
        ]
        .concat(),
    );
    let trace = told_apart(&trace_of(&scenario, None).unwrap());
    let plan = plan(&scenario, &trace, &limits()).unwrap();
    let (outcome, received, times, ahead_us) = run(&scenario, &plan);
    let places = places(&outcome, &plan, &received);
    let delays = delays(&outcome, &received, &times, ahead_us, &places);
    assert!(
        outcome
            .sent
            .iter()
            .all(|sent| sent.failure.is_none() && sent.chunks_us.len() == 10 && sent.sent_us >= sent.due_us)
    );
    let mut measured = measured(&outcome, &plan, None);
    assert_eq!(measured.sending, Sending::Times);
    for (place, request) in measured.requests.iter().enumerate() {
        let of_plan = &plan.requests[outcome.sent[place].place];
        assert_eq!((request.input_tokens, request.output_tokens), (of_plan.input_tokens, 10));
        assert_eq!((&*request.name, request.gaps_s.len()), (&*of_plan.id.to_string(), 9));
    }
    // The times at which they came in place of those at which they were sent: the way is part of the clock.
    let first_us = received.arrival_us[0];
    for (request, &place) in measured.requests.iter_mut().zip(&places) {
        request.sent_s = (received.arrival_us[place] - first_us) / 1e6;
    }
    measured.requests.sort_by(|a, b| a.sent_s.total_cmp(&b.sent_s));
    let loaded = LoadedTrace::from_trace("measured", measured.trace());
    let overlay = Overlay::of(&measured, &Run::simulate(&scenario, Some(&loaded)).unwrap());
    assert_exact(&overlay, &plan, &outcome, &delays);
}

#[test]
fn with_think_times_each_request_waits_for_the_answer_before() {
    let scenario = scenario(
        &[
            &SERVICE[..],
            &[("workload.rate_rps", "12"), ("workload.duration_s", "1"), ("workload.arrivals.kind", "even")],
        ]
        .concat(),
    );
    let mut trace = told_apart(&trace_of(&scenario, None).unwrap());
    trace.arrival_us.fill(0.0);
    let mut closed_loop = ClosedLoop::default();
    for id in 0..trace.len() as u32 {
        closed_loop.push(if id < 3 { NO_REQUEST } else { id - 3 }, if id < 3 { 0.0 } else { 20_000.0 });
    }
    trace.closed_loop = Some(Box::new(closed_loop));
    let plan = plan(&scenario, &trace, &limits()).unwrap();
    assert!(plan.is_closed());
    let (outcome, received, times, ahead_us) = run(&scenario, &plan);
    let places = places(&outcome, &plan, &received);
    assert_eq!(delays(&outcome, &received, &times, ahead_us, &places).len(), plan.requests.len());
    for sent in &outcome.sent {
        let Some(before) = plan.requests[sent.place].after else { continue };
        let end_us = outcome.sent.iter().find(|other| other.place == before).unwrap().end_us;
        assert!((sent.due_us - end_us - 20_000.0).abs() < 1e-2 && sent.sent_us >= sent.due_us);
    }
}

#[test]
fn so_many_in_flight_are_laid_over_the_same_closed_loop() {
    let scenario = scenario(
        &[
            &SERVICE[..],
            &[("workload.rate_rps", "12"), ("workload.duration_s", "1"), ("workload.arrivals.kind", "even")],
        ]
        .concat(),
    );
    let mut trace = told_apart(&trace_of(&scenario, None).unwrap());
    trace.arrival_us.fill(0.0);
    let mut closed_loop = ClosedLoop { is_shared: true, ..ClosedLoop::default() };
    for id in 0..trace.len() {
        closed_loop.push(if id < 4 { NO_REQUEST } else { 0 }, 0.0);
    }
    trace.closed_loop = Some(Box::new(closed_loop));
    let plan = plan(&scenario, &trace, &limits()).unwrap();
    let (outcome, ..) = run(&scenario, &plan);
    let measured = measured(&outcome, &plan, Some(4));
    assert_eq!((measured.sending, measured.requests.len()), (Sending::InFlight(4), trace.len()));
    let in_flight =
        |at_us: f64| outcome.sent.iter().filter(|sent| sent.sent_us <= at_us && at_us < sent.end_us).count();
    assert!(outcome.sent.iter().all(|sent| in_flight(sent.sent_us) <= 4));
}
