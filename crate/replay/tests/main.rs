//! Runs against servers on loopback: one that answers with the simulator's own times, and others that fail in every way.

mod failures;
mod simulated;
mod slora;
mod tls;

use servescope_replay::{PlanError, ReplayLimits, ReplayPlan};
use servescope_settings::scenario::Scenario;
use servescope_traces::arrivals::trace_of;
use servescope_workload::prompts::bodies::Texts;
use servescope_workload::prompts::{BodyLines, BodyOptions, Endpoint, Form, Sampling, Synthesis};
use servescope_workload::{OutputBounds, Trace};

/// A scenario of these settings.
fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = Scenario::of_version(4);
    for (path, value) in settings {
        scenario.set_text(path, value).unwrap_or_else(|failure| panic!("{}", failure.message));
    }
    scenario
}

/// Bounds that none of these runs reaches.
fn limits() -> ReplayLimits {
    ReplayLimits {
        requests: 1_000,
        rate_rps: 1_000,
        in_flight: 64,
        run_s: 60.0,
        request_s: 30.0,
        silence_s: 20.0,
    }
}

/// The plan of a trace with made prompts of four characters a token.
fn plan(scenario: &Scenario, trace: &Trace, limits: &ReplayLimits) -> Result<ReplayPlan, PlanError> {
    plan_of(Form::Vllm, scenario, trace, limits)
}

/// The same with bodies of a form.
fn plan_of(
    form: Form,
    scenario: &Scenario,
    trace: &Trace,
    limits: &ReplayLimits,
) -> Result<ReplayPlan, PlanError> {
    let options = BodyOptions {
        form,
        endpoint: Endpoint::Completions,
        model: "model".to_owned(),
        adapter_name: "{adapter}".to_owned(),
        sampling: Sampling {
            output_bounds: OutputBounds { pin_output: true, ..OutputBounds::default() },
            ..Sampling::default()
        },
    };
    let texts = Texts::Made(Synthesis::by_ratio(1, scenario.characters_per_token()));
    let mut lines = BodyLines::new(trace, texts, options).unwrap();
    ReplayPlan::of(trace, limits, || {
        let mut line = String::new();
        Ok(lines.next_into(&mut line).unwrap().then_some(line))
    })
}

/// This many requests at once, of 8 prompt and 4 output tokens.
fn some(count: usize) -> (Scenario, ReplayPlan) {
    let scenario = scenario(&[
        ("workload.input_tokens.kind", "fixed"),
        ("workload.input_tokens.value", "8"),
        ("workload.output_tokens.kind", "fixed"),
        ("workload.output_tokens.value", "4"),
        ("workload.arrivals.kind", "even"),
        ("workload.rate_rps", &format!("{}", 10 * count)),
        ("workload.duration_s", "0.1"),
    ]);
    let trace = trace_of(&scenario, None).unwrap();
    assert_eq!(trace.len(), count);
    let plan = plan(&scenario, &trace, &limits()).unwrap();
    (scenario, plan)
}
