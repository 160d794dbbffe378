//! The requests that a run simulates: generated from its scenario, or those of a loaded trace.

use std::sync::Arc;

use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::Id;
use servescope_settings::parameters::choices::TraceTurns;
use servescope_settings::scenario::{MAX_REQUESTS, Scenario};
use servescope_workload::sessions::{make_closed_loop, make_streaming_input};
use servescope_workload::trace::Request;
use servescope_workload::{
    BASE_MODEL, MaxTokens, OutputBounds, SessionSpec, Trace, WorkloadSpec, generate, scale,
};

use crate::loaded_trace::LoadedTrace;

/// The trace that a scenario simulates: generated, or the loaded one scaled.
///
/// # Errors
/// Every [`Diagnostic`] of the scenario, or that there is no request.
pub fn trace_of(scenario: &Scenario, loaded: Option<&LoadedTrace>) -> Result<Arc<Trace>, Vec<Diagnostic>> {
    arrivals_of(scenario, loaded).map(|arrivals| arrivals.trace)
}

/// What a run simulates.
pub struct SimulatedTraffic {
    /// All requests.
    pub trace: Arc<Trace>,
    /// The workload that the settings describe.
    pub workload: WorkloadSpec,
    /// The request that was put in beside those of the workload or the file.
    pub extra_request: Option<Request>,
}

/// The requests that a scenario simulates.
///
/// # Errors
/// Every [`Diagnostic`] of the scenario, or that there is no request.
pub fn arrivals_of(
    scenario: &Scenario,
    loaded: Option<&LoadedTrace>,
) -> Result<SimulatedTraffic, Vec<Diagnostic>> {
    let problems = scenario.problems();
    let of_service = ["scheduler", "gateway", "fleet", "adapters"];
    let relevant = problems
        .into_iter()
        .filter(|p| loaded.is_none() || of_service.iter().any(|group| p.path.starts_with(group)));
    let problems: Vec<Diagnostic> = relevant.collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let workload = scenario.workload();
    let trace = match loaded {
        None => Arc::new(generate(&workload)),
        Some(loaded) => scaled(scenario, loaded).map_err(|error| vec![error])?,
    };
    if trace.is_empty() {
        return Err(vec![no_requests(scenario, &workload, loaded)]);
    }
    let extra_request = extra_request(scenario, &workload, &trace).map_err(|error| vec![error])?;
    let trace = extra_request.map_or(trace.clone(), |request| Arc::new(trace.with_request(request)));
    Ok(SimulatedTraffic { trace, workload, extra_request })
}

/// The request that `workload.extra_request` asks for, beside those of a trace. It sends `max_tokens` as those of the workload do.
fn extra_request(
    scenario: &Scenario,
    workload: &WorkloadSpec,
    trace: &Trace,
) -> Result<Option<Request>, Diagnostic> {
    let input_tokens = scenario.whole(Id::ExtraInput);
    let output_tokens = scenario.whole(Id::ExtraOutput);
    if input_tokens == 0 {
        return Ok(None);
    }
    let adapter = scenario.number(Id::ExtraAdapter);
    let last = trace.adapter_count() as f64 - 1.0;
    if adapter > last {
        return Err(Diagnostic::out_of_range(Id::ExtraAdapter.row().id, adapter, -1.0, last));
    }
    let max_tokens = match workload.max_tokens {
        MaxTokens::Output => output_tokens,
        MaxTokens::Cap(cap) => output_tokens.max(cap),
    };
    let answer = workload.output_bounds.bounded(output_tokens, max_tokens);
    Ok(Some(Request {
        arrival_us: scenario.number(Id::ExtraTime) * 1e6,
        user: scenario.whole(Id::ExtraUser),
        adapter: if adapter < 0.0 { BASE_MODEL } else { adapter as u32 },
        input_tokens,
        output_tokens: answer.output_tokens,
        max_tokens: answer.max_tokens,
    }))
}

/// A loaded trace as the scenario has it played: faster or slower, with more or fewer requests, its turns held or not, its answers
/// as the sampling asks for them.
fn scaled(scenario: &Scenario, loaded: &LoadedTrace) -> Result<Arc<Trace>, Diagnostic> {
    let answers = scenario.output_bounds();
    let (time, rate) = (scenario.number(Id::TimeScale), scenario.number(Id::RateScale));
    let seed = scenario.number(Id::Seed) as u64;
    let turns = scenario.chosen(TraceTurns::ID);
    if time == 1.0 && rate == 1.0 && turns == TraceTurns::Timed && answers == OutputBounds::default() {
        return Ok(Arc::clone(&loaded.trace));
    }
    let count = loaded.trace.len() as f64 * rate;
    if count > MAX_REQUESTS {
        let path = Id::RateScale.row().id;
        let message = format!("{path}: this makes {count} requests, at most {MAX_REQUESTS} can be run");
        let error = Diagnostic::error("too_many_requests", path, message);
        return Err(error.number("value", count).number("max", MAX_REQUESTS));
    }
    let mut scaled = Trace::clone(&loaded.trace);
    match turns {
        TraceTurns::Timed => {}
        TraceTurns::Held => make_closed_loop(&mut scaled),
        TraceTurns::StreamingInput => make_streaming_input(&mut scaled),
    }
    if rate != 1.0 {
        scaled = scale::scale_rate(&scaled, rate, seed);
    }
    scale::stretch_time(&mut scaled, time);
    answers.ask(&mut scaled);
    Ok(Arc::new(scaled))
}

/// Why a scenario makes no request, at the parameter that is the reason.
fn no_requests(scenario: &Scenario, spec: &WorkloadSpec, loaded: Option<&LoadedTrace>) -> Diagnostic {
    let error = |code: &'static str, id: Id, value: f64, reason: String| {
        let path = id.row().id;
        Diagnostic::error(code, path, format!("{path}: these settings make no request: {reason}"))
            .number("value", value)
    };
    if let Some(loaded) = loaded {
        let expected = loaded.trace.len() as f64 * scenario.number(Id::RateScale);
        let reason = format!("{expected} requests of the file are expected, and none was drawn");
        return error("no_arrivals", Id::RateScale, expected, reason);
    }
    let expected = match &spec.curve {
        Some(curve) => curve.integral(spec.duration_s),
        None => spec.rate_rps * spec.duration_s,
    };
    let turns = spec.sessions.as_ref().map_or(1.0, SessionSpec::mean_turns);
    if spec.closed_requests.is_none() && expected < 1.0 {
        let reason = format!("R D is {expected}, below 1");
        return error("no_requests", Id::Duration, expected, reason);
    }
    if spec.closed_requests.is_none() && spec.clients.is_none() && expected / turns < 1.0 {
        let sessions = expected / turns;
        let reason = format!(
            "{expected} requests in sessions of {turns} turns on average are {sessions} sessions, below 1"
        );
        return error("no_sessions", Id::TurnMean, sessions, reason)
            .number("requests", expected)
            .number("turns", turns);
    }
    let seconds = spec.duration_s;
    error(
        "no_arrivals",
        Id::Duration,
        expected,
        format!("the arrival processes bring none in {seconds} s with this seed"),
    )
}
