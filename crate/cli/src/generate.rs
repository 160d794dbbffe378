//! `servescope generate`: a synthetic trace as a file, the file of a recipe once more, or the bodies of its requests.

use std::sync::Arc;

use clap::Args;
use servescope_settings::notes::{Purpose, notes as notes_of};
use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;
use servescope_traces::arrivals::trace_of;
use servescope_traces::recipe::{Recipe, Source};
use servescope_workload::Trace;
use servescope_workload::formats::{self, Format};
use servescope_workload::statistics::PrefixHits;

use crate::bodies::{self, BodyArguments};
use crate::chart_files::TrafficChartFiles;
use crate::notes;
use crate::output::{CliError, note, report_all, write_or_print};
use crate::scenario_args::ScenarioArguments;
use crate::servegen::ServeGenArguments;
use crate::step_args::StepArguments;
use crate::write_args::WriteArguments;

#[derive(Args)]
pub(crate) struct GenerateArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    servegen: ServeGenArguments,
    /// Format of the file: servescope, vidur, mooncake, …; another name lists them. That of the recipe, or servescope, if
    /// none.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Writes request bodies in place of a trace: slora, openai, vllm, aibrix or vllm_custom.
    #[arg(long, value_name = "FORM", conflicts_with = "format")]
    bodies: Option<String>,
    #[command(flatten)]
    body: BodyArguments,
    #[command(flatten)]
    steps: StepArguments,
    #[command(flatten)]
    write: WriteArguments,
    #[command(flatten)]
    charts: TrafficChartFiles,
}

impl GenerateArguments {
    /// What is to be written: the traffic of ServeGen's clients, or the scenario's.
    fn trace(&self, scenario: &Scenario) -> Result<Trace, CliError> {
        match self.servegen.trace(scenario)? {
            Some(trace) => Ok(trace),
            None => Ok(Arc::unwrap_or_clone(trace_of(scenario, None)?)),
        }
    }
}

pub(crate) fn run(arguments: &GenerateArguments) -> Result<(), CliError> {
    let of_recipe = arguments.scenario.recipe()?.map_or(Format::Servescope, |recipe| recipe.format);
    let format = arguments.format.as_deref().map_or(Ok(of_recipe), writable)?;
    let (mut scenario, steps) = arguments.scenario.with_steps(&arguments.steps)?;
    arguments.body.set_ranks(&mut scenario)?;
    let form = arguments.bodies.as_deref().map(bodies::form).transpose()?;
    if let (None, Some(option)) = (form, arguments.body.first_given()) {
        return Err(CliError::input(format!("{option} says how bodies look: add --bodies FORM")));
    }
    let trace = steps.apply(arguments.trace(&scenario)?)?;
    arguments.charts.write(&trace)?;
    let purpose = if form.is_some() { Purpose::Bodies } else { Purpose::Trace };
    let mut idle = notes_of(&scenario, &notes::context(purpose, None));
    // ServeGen's clients are thinned by it.
    idle.retain(|note| !(arguments.servegen.is_given() && note.id == Id::RateScale));
    notes::print_notes(&idle);
    let output = arguments.write.output();
    if let Some(form) = form {
        return bodies::write(form, &arguments.body, &scenario, &trace, output);
    }
    if let Some(hits) = PrefixHits::of(&trace) {
        let (share, block) = (100.0 * hits.share(), hits.block_tokens);
        note(&format!("a cache without limit finds {share:.1} % of the prompt tokens, in blocks of {block}"));
    }
    report_all(&scenario.warnings());
    if arguments.servegen.is_given() {
        note("no recipe is written: it would have to hold ServeGen's files");
        return write_or_print(output, &formats::write(&trace, format).unwrap_or_default());
    }
    let recipe = Recipe { source: Source::Scenario(Box::new(scenario)), steps: steps.into_inner(), format };
    arguments.write.write(&recipe, &trace)
}

/// The format called `name`, if it can be written.
pub(crate) fn writable(name: &str) -> Result<Format, CliError> {
    let known = || {
        let names: Vec<&str> = Format::writable().map(Format::name).collect();
        CliError::input(format!("format {name} cannot be written; known are {}", names.join(", ")))
    };
    Format::from_name(name).filter(|f| f.is_writable()).ok_or_else(known)
}
