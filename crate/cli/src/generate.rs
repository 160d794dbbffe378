//! `servescope generate`: a synthetic trace as a file, the file of a recipe once more, or the bodies of its requests.

use clap::Args;
use servescope_lab::recipe::{Recipe, Source};
use servescope_lab::run::trace_of;
use servescope_lab::workload::Trace;
use servescope_lab::workload::formats::Format;

use crate::bodies::{self, BodyArguments};
use crate::output::Failed;
use crate::scenario_args::ScenarioArguments;
use crate::step_args::StepArguments;
use crate::write_args::WriteArguments;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
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
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failed> {
    let of_recipe = arguments.scenario.recipe()?.map_or(Format::Servescope, |recipe| recipe.format);
    let format = arguments.format.as_deref().map_or(Ok(of_recipe), writable)?;
    let (scenario, steps) = arguments.scenario.with_steps(&arguments.steps)?;
    let trace = steps.apply(Trace::clone(&*trace_of(&scenario, None)?))?;
    if let Some(form) = &arguments.bodies {
        return bodies::write(
            bodies::form(form)?,
            &arguments.body,
            &scenario,
            &trace,
            arguments.write.output(),
        );
    }
    if let Some(option) = arguments.body.first_given() {
        return Err(Failed::input(format!("{option} says how bodies look: add --bodies FORM")));
    }
    scenario.warnings().iter().for_each(|w| eprintln!("servescope: note: {}", w.message));
    let recipe = Recipe { source: Source::Scenario(Box::new(scenario)), steps: steps.into_inner(), format };
    arguments.write.write(&recipe, &trace)
}

/// The format called `name`, if it can be written.
pub(crate) fn writable(name: &str) -> Result<Format, Failed> {
    let known = || {
        let names: Vec<&str> = Format::writable().map(Format::name).collect();
        Failed::input(format!("format {name} cannot be written; known are {}", names.join(", ")))
    };
    Format::from_name(name).filter(|f| f.is_writable()).ok_or_else(known)
}
