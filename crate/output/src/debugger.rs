//! The scheduler debugger: a run whose decisions of gateway and schedulers are stepped through, forward and back, and for each
//! step what the decision was taken on, as values for a page or a terminal ([`view::StepView`]). Sentences come as codes with
//! parameters, and in English ([`sentences`]).

pub mod gantt;
pub mod rules;
pub mod sentences;
pub mod view;

use std::sync::Arc;

use servescope_engine::steps::{DebugStep, DebugStepKind, DebugSteps, Recording};
use servescope_engine::{PoolConfig, Report};
use servescope_lab::run::SimulationHandle;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::notes::{Note, NoteContext, Purpose, notes, unused};
use servescope_settings::scenario::{AdapterRanks, Scenario};
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::RequestId;

use gantt::{Gantt, GanttIndex};
use view::{RequestName, StepView};

/// A run under way that will be stepped through.
#[derive(Debug)]
pub struct Preparing {
    recording: Recording,
    scenario: Scenario,
    context: NoteContext,
}

impl Preparing {
    /// Makes the trace of a scenario and stands ready to simulate it.
    ///
    /// # Errors
    /// Every [`Diagnostic`] of the scenario, or that it makes no request.
    pub fn begin(scenario: &Scenario, loaded: Option<&LoadedTrace>) -> Result<Self, Vec<Diagnostic>> {
        let context = loaded.map_or_else(NoteContext::default, |loaded| loaded.context(Purpose::Run));
        let fleet = SimulationHandle::begin(scenario, loaded)?.into_fleet();
        Ok(Self { recording: Recording::new(fleet), scenario: scenario.clone(), context })
    }

    /// Handles what happens at, at most, `times` different times and says which share of the requests has arrived; 1 is the
    /// end.
    pub fn advance(&mut self, times: usize) -> f64 {
        if self.recording.advance(times) { 1.0 } else { self.recording.progress().min(0.999) }
    }

    /// The debugger of the run that has reached its end.
    ///
    /// # Errors
    /// That nothing was decided.
    pub fn finish(self) -> Result<Debugger, Diagnostic> {
        let (report, steps) = self.recording.finish();
        if steps.all().is_empty() {
            let message = "the run has no decision to step through: no request came to it".to_owned();
            return Err(Diagnostic::error("no_steps", "", message));
        }
        let pools = self.scenario.pools_for(AdapterRanks::of(&report.trace))?;
        let last_us = steps.all().last().map_or(0.0, DebugStep::time_us);
        let end_us = report.results.iter().filter_map(|result| result.finish_us).fold(last_us, f64::max);
        Ok(Debugger {
            scenario: self.scenario,
            context: self.context,
            configs: pools.into_iter().map(|pool| pool.config).collect(),
            digest: report.digest(),
            index: GanttIndex::of(&report),
            end_s: end_us / 1e6,
            report,
            steps,
            place: 0,
        })
    }

    /// Simulates to the end.
    ///
    /// # Errors
    /// See [`Self::finish`].
    pub fn run(mut self) -> Result<Debugger, Diagnostic> {
        while self.advance(usize::MAX) < 1.0 {}
        self.finish()
    }
}

/// A finished run and the step at which its reader stands.
#[derive(Debug)]
pub struct Debugger {
    scenario: Scenario,
    context: NoteContext,
    /// The settings of each pool.
    configs: Vec<PoolConfig>,
    report: Report,
    /// Of the report, found once: a step looks at few requests.
    digest: u64,
    index: GanttIndex,
    end_s: f64,
    steps: DebugSteps,
    place: usize,
}

/// Where a reader goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Move {
    /// This many steps on, or back.
    By(i64),
    /// To a step by its number, from 0 on.
    To(usize),
    /// To the last step at or before a time, seconds.
    Time(f64),
    /// To the first step about a request.
    Request(u32),
    /// To the first step of a kind.
    First(DebugStepKind),
    /// To the next step of a kind.
    Next(DebugStepKind),
    /// To the last step of a kind before this one.
    Previous(DebugStepKind),
}

/// A kind of step by its name on the command line and in the page.
pub fn step_kind(name: &str) -> Option<DebugStepKind> {
    match name {
        "rejection" => Some(DebugStepKind::Rejection),
        "preemption" => Some(DebugStepKind::Preemption),
        "load" => Some(DebugStepKind::Load),
        "drafts" => Some(DebugStepKind::Drafts),
        "scaling" => Some(DebugStepKind::Scaling),
        "failure" => Some(DebugStepKind::Failure),
        _ => None,
    }
}

/// The names of the kinds of steps.
pub const STEP_KINDS: [&str; 6] = ["rejection", "preemption", "load", "drafts", "scaling", "failure"];

fn kind_name(kind: DebugStepKind) -> &'static str {
    match kind {
        DebugStepKind::Rejection => "rejection",
        DebugStepKind::Preemption => "preemption",
        DebugStepKind::Load => "load",
        DebugStepKind::Drafts => "drafts",
        DebugStepKind::Scaling => "scaling",
        DebugStepKind::Failure => "failure",
    }
}

impl Move {
    /// Where a page goes: "by", "to", "time" or "request" with a number, "next" or "previous" with the name of a kind.
    ///
    /// # Errors
    /// Words that are none of these, or a number that is not whole.
    pub fn read(way: &str, number: f64, kind: &str) -> Result<Self, Diagnostic> {
        let whole = |path: &str| {
            let is_whole = number >= 0.0 && number.fract() == 0.0 && number <= f64::from(u32::MAX);
            let message = || format!("{path}: {number} is no whole number from 0 on");
            let error = || Diagnostic::error("not_whole", path, message()).number("value", number);
            if is_whole { Ok(number as u32) } else { Err(error()) }
        };
        let unknown = |name: &str, value: &str| {
            Diagnostic::error("unknown_option", name, format!("{name}: {value} is not known"))
                .text("value", value)
        };
        match way {
            "by" => Ok(Self::By(number as i64)),
            "to" => Ok(Self::To(whole("step")? as usize)),
            "time" => Ok(Self::Time(number)),
            "request" => Ok(Self::Request(whole("request")?)),
            "next" | "previous" => {
                let kind = step_kind(kind).ok_or_else(|| unknown("kind", kind))?;
                Ok(if way == "next" { Self::Next(kind) } else { Self::Previous(kind) })
            }
            _ => Err(unknown("way", way)),
        }
    }
}

impl Debugger {
    /// Simulates a scenario to the end and stands at its first step.
    ///
    /// # Errors
    /// Every [`Diagnostic`] of the scenario, or that nothing was decided.
    pub fn simulate(scenario: &Scenario, loaded: Option<&LoadedTrace>) -> Result<Self, Vec<Diagnostic>> {
        Preparing::begin(scenario, loaded)?.run().map_err(|error| vec![error])
    }

    /// What became of every request.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Changed settings that have no effect in this run.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = notes(&self.scenario, &self.context);
        notes.extend(unused(&self.scenario, &self.context, &self.report));
        notes
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.all().len()
    }

    /// Whether there is no step, which cannot be.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of the step at which the reader stands, from 0 on.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Goes to another step.
    ///
    /// # Errors
    /// That there is no such step, with the bounds. The reader stays then.
    pub fn go(&mut self, to: Move) -> Result<(), Diagnostic> {
        let last = self.len() - 1;
        let place = match to {
            Move::By(by) => {
                let place = self.place as f64 + by as f64;
                if place < 0.0 || place > last as f64 {
                    return Err(Diagnostic::out_of_range("step", place, 0.0, last as f64));
                }
                place as usize
            }
            Move::To(place) if place > last => {
                return Err(Diagnostic::out_of_range("step", place as f64, 0.0, last as f64));
            }
            Move::To(place) => place,
            Move::Time(time_s) => {
                let end_s = self.end_s();
                if !(0.0..=end_s).contains(&time_s) {
                    return Err(Diagnostic::out_of_range("time_s", time_s, 0.0, end_s));
                }
                self.steps.at(time_s * 1e6)
            }
            Move::Request(id) => self.of_request(id)?,
            Move::First(kind) => self.steps.next(kind, None).ok_or_else(|| no_step(kind))?,
            Move::Next(kind) => {
                self.steps.next(kind, Some(self.place)).ok_or_else(|| no_more(kind, "after", self.place))?
            }
            Move::Previous(kind) => {
                self.steps.previous(kind, self.place).ok_or_else(|| no_more(kind, "before", self.place))?
            }
        };
        self.place = place;
        Ok(())
    }

    /// When the last step is taken, or the last request leaves, seconds.
    pub fn end_s(&self) -> f64 {
        self.end_s
    }

    /// The digest of the run.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    fn of_request(&self, id: u32) -> Result<usize, Diagnostic> {
        let count = self.report.trace.len();
        if id as usize >= count {
            return Err(Diagnostic::out_of_range("request", f64::from(id), 0.0, count as f64 - 1.0));
        }
        self.steps.of_request(RequestId::new(id)).ok_or_else(|| {
            let message = format!("nothing was decided of request {id}: its client went away before");
            Diagnostic::error("no_step_of_request", "request", message).number("request", f64::from(id))
        })
    }

    /// What the step at which the reader stands shows.
    pub fn view(&mut self) -> Option<StepView> {
        let step = *self.steps.all().get(self.place)?;
        let state = self.steps.state(self.place)?;
        let life = step.replica().and_then(|replica| self.report.replicas.get(replica.index()));
        let pool = match step {
            DebugStep::Scaling(decision) => usize::from(decision.pool),
            DebugStep::Failure(failure) => usize::from(self.report.replicas[failure.replica.index()].pool),
            _ => life.map_or(0, |life| usize::from(life.pool)),
        };
        let context = view::StepContext {
            scenario: &self.scenario,
            config: &self.configs[pool],
            scheduler: self.configs[pool].scheduler,
            report: &self.report,
            place: self.place,
            count: self.len(),
        };
        Some(view::view(&context, &step, &state))
    }

    /// What the requests do that are in the service at the step at which the reader stands.
    pub fn gantt(&self) -> Gantt {
        let step = self.steps.all().get(self.place);
        let of_step = match step {
            Some(DebugStep::Decision(decision)) => decision.request(),
            _ => None,
        };
        let time_us = step.map_or(0.0, DebugStep::time_us);
        let name = |id| RequestName::of(&self.report.trace, id);
        gantt::gantt(&self.report, &self.index, (time_us, of_step), &name)
    }

    /// The trace of the run.
    pub fn trace(&self) -> &Arc<servescope_workload::Trace> {
        &self.report.trace
    }
}

fn no_step(kind: DebugStepKind) -> Diagnostic {
    let name = kind_name(kind);
    Diagnostic::error("no_step_of_kind", "", format!("there is no {name} in this run")).text("kind", name)
}

fn no_more(kind: DebugStepKind, side: &str, place: usize) -> Diagnostic {
    let name = kind_name(kind);
    let message = format!("there is no {name} {side} step {place}");
    Diagnostic::error("no_more_steps", "", message)
        .text("kind", name)
        .text("side", side)
        .number("step", place as f64)
}

#[cfg(test)]
mod tests;
