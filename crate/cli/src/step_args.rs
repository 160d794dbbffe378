//! Steps on the command line, and what they did on standard error.

use std::fmt::Write as _;
use std::sync::Arc;

use clap::Args;
use servescope_settings::scenario::Scenario;
use servescope_traces::arrivals::trace_of;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::Trace;
use servescope_workload::transform::{Absence, Field, STEPS, StepEffect, TransformStep, apply};

use crate::output::CliError;

/// Steps on the command line.
#[derive(Args)]
pub(crate) struct StepArguments {
    /// Changes the trace: NAME or NAME:FIELD=VALUE,FIELD=VALUE. May be given many times; steps are taken in order.
    #[arg(long = "step", value_name = "STEP", long_help = help())]
    steps: Vec<String>,
}

impl StepArguments {
    /// The steps.
    pub(crate) fn steps(&self) -> Result<Vec<TransformStep>, CliError> {
        let parsed = self.steps.iter().map(|text| TransformStep::parse(text));
        let (good, bad): (Vec<_>, Vec<_>) = parsed.partition(Result::is_ok);
        let messages: Vec<String> =
            bad.into_iter().filter_map(Result::err).map(|e| format!("--step: {e}")).collect();
        if messages.is_empty() {
            Ok(good.into_iter().filter_map(Result::ok).collect())
        } else {
            Err(CliError::Input(messages))
        }
    }
}

/// Steps to take.
pub(crate) struct StepList(Vec<TransformStep>);

impl StepList {
    pub(crate) fn new(steps: Vec<TransformStep>) -> Self {
        Self(steps)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The steps themselves.
    pub(crate) fn into_inner(self) -> Vec<TransformStep> {
        self.0
    }

    /// The trace after the steps; what they did is printed on standard error.
    pub(crate) fn apply(&self, trace: Trace) -> Result<Trace, CliError> {
        if self.0.is_empty() {
            return Ok(trace);
        }
        let (trace, notes) = apply(&self.0, trace).map_err(|error| CliError::input(error.to_string()))?;
        notes.iter().for_each(print_note);
        Ok(trace)
    }

    /// A trace that was read, after the steps.
    pub(crate) fn changed(&self, loaded: LoadedTrace) -> Result<LoadedTrace, CliError> {
        if self.is_empty() {
            return Ok(loaded);
        }
        let trace = Arc::new(self.apply(Trace::clone(&loaded.trace))?);
        Ok(LoadedTrace { trace, ..loaded })
    }

    /// The trace of a scenario, after the steps.
    pub(crate) fn generated(&self, scenario: &Scenario) -> Result<LoadedTrace, CliError> {
        let trace = self.apply(Trace::clone(&*trace_of(scenario, None)?))?;
        Ok(LoadedTrace { is_generated: true, ..LoadedTrace::from_trace("generated", trace) })
    }
}

/// Prints on standard error what a step did.
pub(crate) fn print_note(note: &StepEffect) {
    eprintln!("servescope: note: {}", note.to_text());
}

/// Every step with its fields.
fn help() -> String {
    let mut text = "Changes the trace: NAME or NAME:FIELD=VALUE,FIELD=VALUE. May be given many times; steps are taken in \
                    order. Standard error reports what each step did.\n"
        .to_owned();
    for kind in STEPS {
        let _ = write!(text, "\n{}: {}\n", kind.name, kind.help);
        for field in kind.fields {
            let _ = writeln!(text, "  {}: {} ({})", field.name, field.help, allowed(field));
        }
    }
    text
}

fn allowed(field: &Field) -> String {
    let default = match field.default {
        Absence::Number(number) => number.to_string(),
        Absence::FirstOption => field.options[0].to_owned(),
        Absence::Text(text) => text.to_owned(),
        Absence::Empty => "empty".to_owned(),
    };
    let what = match field.options {
        [] if field.min < field.max => {
            format!("{} {}..{} {}", field.kind.name(), field.min, field.max, field.unit)
        }
        [] => field.kind.name().to_owned(),
        options => options.join("|"),
    };
    format!("{}; default {default}", what.trim_end())
}
