//! `servescope replay`: requests sent to a server, and what was measured over its simulation.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use servescope_evidence::overlay::{MeasuredRun, read};
use servescope_replay::{
    Companion, Facts, PlanError, ReplayLimits, ReplayOutcome, ReplayPlan, Target, TargetError, companion,
    facts, lines,
};
use servescope_settings::file_kind::Tool;
use servescope_settings::notes::{Purpose, notes as notes_of};
use servescope_settings::parameters::{Id, Value};
use servescope_settings::profiles::NamedText;
use servescope_settings::scenario::Scenario;
use servescope_traces::arrivals::trace_of;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::Trace;
use servescope_workload::trace::{ClosedLoop, NO_REQUEST};

use crate::bodies::{BodyArguments, form, with_lines};
use crate::output::{CliError, name, note, print, report_all, write};
use crate::overlay::Options;
use crate::read_args::ReadArguments;
use crate::replay_text::{counts, dry, nothing_answered, report};
use crate::scenario_args::ScenarioArguments;
use crate::step_args::StepArguments;
use crate::{notes, progress};

/// Name of the result where it is not written.
const UNNAMED: &str = "replay.jsonl";

#[derive(Args)]
pub(crate) struct ReplayArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    /// Address of the server, http://HOST:PORT or https://HOST:PORT; a path before /v1 may follow.
    #[arg(long, value_name = "URL")]
    url: String,
    /// Certificates in PEM that vouch for the server of an https address, in place of Mozilla's authorities.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Host that is not this machine and to which load may be sent. May be given many times.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Trace file to send in place of generated requests; its format is recognised.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArguments,
    #[command(flatten)]
    steps: StepArguments,
    /// Sends each turn of a session its think time after the answer before, in place of its time stamp.
    #[arg(long)]
    closed: bool,
    /// Keeps this many requests in flight: the next one is sent as soon as one has ended, whatever the time stamps.
    #[arg(long, value_name = "N", conflicts_with = "closed", value_parser = clap::value_parser!(u32).range(1..=4096))]
    concurrency: Option<u32>,
    /// Form of the bodies: vllm; openai for servers that do not know vLLM's parameters; slora for S-LoRA's /generate_stream.
    #[arg(long, value_name = "FORM", default_value = "vllm")]
    form: String,
    #[command(flatten)]
    body: BodyArguments,
    /// Environment variable that holds the server's API key.
    #[arg(long, value_name = "NAME")]
    api_key_env: Option<String>,
    #[command(flatten)]
    bounds: Bounds,
    /// Prints what would be sent, and asks no server.
    #[arg(long)]
    dry_run: bool,
    /// File for the measured requests in AIPerf's form, with NAME_aiperf.json beside it.
    #[arg(short, long, value_name = "RESULT.jsonl")]
    output: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

/// What bounds a run.
#[derive(Args)]
#[command(next_help_heading = "Bounds")]
struct Bounds {
    /// Largest number of requests; a longer trace is rejected.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_requests: u32,
    /// Most requests sent in any second; others wait, which counts as lateness.
    #[arg(long, value_name = "RPS", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_rate: u32,
    /// Most requests in flight; others wait, which counts as lateness.
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=4096))]
    max_in_flight: u32,
    /// Longest time of the whole run, seconds; what is in flight then is cut off.
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    max_s: f64,
    /// Longest time of one request, seconds.
    #[arg(long, value_name = "S", default_value_t = 300.0)]
    timeout_s: f64,
    /// Longest silence of the server within a request, seconds.
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    stall_s: f64,
}

impl Bounds {
    fn limits(&self) -> Result<ReplayLimits, CliError> {
        for (option, value) in
            [("--max-s", self.max_s), ("--timeout-s", self.timeout_s), ("--stall-s", self.stall_s)]
        {
            if !(0.001..=1e6).contains(&value) {
                return Err(CliError::input(format!("{option}: {value} is not between 0.001 and 1000000 s")));
            }
        }
        Ok(ReplayLimits {
            requests: self.max_requests as usize,
            rate_rps: self.max_rate,
            in_flight: self.max_in_flight as usize,
            run_s: self.max_s,
            request_s: self.timeout_s,
            silence_s: self.stall_s,
        })
    }
}

pub(crate) fn run(arguments: &ReplayArguments) -> Result<(), CliError> {
    let limits = arguments.bounds.limits()?;
    let target = arguments.target()?;
    let api_key = arguments.api_key()?;
    let (scenario, trace) = arguments.workload()?;
    let facts = if arguments.dry_run {
        Facts::default()
    } else {
        facts(&target, api_key.as_deref()).map_err(CliError::Run)?
    };
    let body = arguments.body.clone().with_model(facts.model.as_deref());
    let plan = arguments.plan(&scenario, &trace, &body, &limits)?;
    if arguments.dry_run {
        return print(&dry(&plan, &target, &limits));
    }
    if !facts.has_metrics {
        note("the server has no metrics of vLLM at /metrics: its KV blocks and limits are not known");
    }
    let bar = progress::bar(plan.requests.len());
    let outcome = servescope_replay::replay(
        &target,
        &plan,
        &limits,
        api_key.as_deref(),
        facts.has_metrics,
        |_, ended| bar.set_position(ended as u64),
    );
    drop(bar);
    let beside = Companion { model: &body.model_name(), concurrency: arguments.concurrency, facts: &facts };
    arguments.finish(&scenario, &plan, &outcome, &beside)
}

impl ReplayArguments {
    fn target(&self) -> Result<Target, CliError> {
        let wrong = |error: TargetError| CliError::input(error.to_string());
        let target = Target::new(&self.url, &self.allow_host).map_err(wrong)?;
        let Some(path) = &self.ca_file else { return Ok(target) };
        if !self.url.trim().get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://")) {
            return Err(CliError::input(format!(
                "--ca-file: {} is no https address, so nothing is encrypted",
                self.url
            )));
        }
        let pem = std::fs::read(path)
            .map_err(|error| CliError::input(format!("--ca-file {}: {error}", path.display())))?;
        target.trusting(&pem).map_err(wrong)
    }

    fn api_key(&self) -> Result<Option<String>, CliError> {
        let Some(variable) = &self.api_key_env else { return Ok(None) };
        let key = std::env::var(variable).ok().filter(|key| !key.is_empty());
        let key = key.ok_or_else(|| CliError::input(format!("--api-key-env: {variable} is not set")))?;
        if !key.chars().all(|c| c.is_ascii_graphic()) {
            return Err(CliError::input(format!("--api-key-env: {variable} has characters that no key has")));
        }
        Ok(Some(key))
    }

    /// The scenario, and the requests to send.
    fn workload(&self) -> Result<(Scenario, Arc<Trace>), CliError> {
        let (mut scenario, steps) = self.scenario.with_steps(&self.steps)?;
        self.body.set_ranks(&mut scenario)?;
        let given: Vec<Id> = scenario.given().collect();
        if !given.contains(&Id::PinOutput) && self.form != "openai" {
            scenario.set(Id::PinOutput, Value::Flag(true))?;
            note(
                "outputs are held to their lengths (workload.sampling.pin_output=false lets the model end them)",
            );
        }
        if self.closed && self.trace.is_some() {
            scenario.set_text(Id::TraceTurns.row().id, "held")?;
        }
        let loaded = match &self.trace {
            Some(path) => Some(steps.changed(self.read.read(path)?.loaded)?),
            None if !steps.is_empty() => Some(steps.generated(&scenario)?),
            None => None,
        };
        report_all(loaded.iter().flat_map(|loaded| &loaded.warnings));
        let context = notes::context(
            Purpose::Bodies,
            loaded.as_ref().filter(|loaded: &&LoadedTrace| !loaded.is_generated),
        );
        notes::print_notes(&notes_of(&scenario, &context));
        let mut trace = trace_of(&scenario, loaded.as_ref())?;
        if self.closed && trace.closed_loop.is_none() {
            return Err(CliError::input(
                "--closed: no request of this workload waits for another: it has no sessions and no users with think times; \
                 --concurrency N keeps N requests in flight",
            ));
        }
        if let Some(most) = self.concurrency {
            trace = Arc::new(in_flight(&trace, most));
        }
        Ok((scenario, trace))
    }

    fn plan(
        &self,
        scenario: &Scenario,
        trace: &Trace,
        body: &BodyArguments,
        limits: &ReplayLimits,
    ) -> Result<ReplayPlan, CliError> {
        if !["vllm", "openai", "slora"].contains(&&*self.form) {
            return Err(CliError::input(format!(
                "--form {}: a server of OpenAI's API takes vllm or openai, S-LoRA's slora",
                self.form
            )));
        }
        with_lines(form(&self.form)?, body, scenario, trace, |mut lines| {
            let plan = ReplayPlan::of(trace, limits, || {
                let mut line = String::new();
                let more = lines.next_into(&mut line);
                let more = more.map_err(|error| PlanError::Line(0, error.to_string()))?;
                Ok(more.then_some(line))
            });
            if lines.left_out() > 0 {
                note(&format!(
                    "{} requests were left out: the collection's sessions were used up",
                    lines.left_out()
                ));
            }
            plan.map_err(|error| CliError::input(error.to_string()))
        })
    }

    /// Writes what was measured, and lays it over the simulation.
    fn finish(
        &self,
        scenario: &Scenario,
        plan: &ReplayPlan,
        outcome: &ReplayOutcome,
        beside: &Companion,
    ) -> Result<(), CliError> {
        let (own, settings) = (lines(outcome, plan), format!("{:#}\n", companion(outcome, beside)));
        if let Some(path) = &self.output {
            write(path, &own)?;
            let beside = Tool::AiPerf.companions(&name(path)).into_iter().next();
            beside.map_or(Ok(()), |name| write(&path.with_file_name(name), &settings))?;
        }
        eprint!("{}", report(outcome));
        if let Some(why) = nothing_answered(outcome) {
            return Err(CliError::Run(why));
        }
        let named = self.output.as_deref().map_or_else(|| UNNAMED.to_owned(), name);
        let measured: MeasuredRun = read(NamedText { name: &named, text: &own }, |_| Some(settings.as_str()))
            .map_err(|error| CliError::Run(error.to_string()))?;
        let (mut document, table) = self.options.overlay(scenario, &measured)?;
        if self.options.is_json() {
            document["replay"] = json!(counts(outcome));
            print(&format!("{document:#}\n"))?;
        } else {
            print(&table)?;
        }
        let failed = outcome.sent.iter().filter(|sent| sent.failure.is_some()).count();
        if failed + outcome.not_sent > 0 {
            let reported = format!("{failed} requests failed and {} were not sent", outcome.not_sent);
            return Err(CliError::Run(reported));
        }
        Ok(())
    }
}

/// The requests of a trace with this many in flight.
fn in_flight(trace: &Trace, most: u32) -> Trace {
    let mut held = trace.clone();
    held.arrival_us.fill(0.0);
    let mut closed_loop = ClosedLoop { is_shared: true, ..ClosedLoop::default() };
    for place in 0..held.len() {
        closed_loop.push(if place >= most as usize { 0 } else { NO_REQUEST }, 0.0);
    }
    held.closed_loop = closed_loop.holds_any().then(|| Box::new(closed_loop));
    held
}
