//! `servescope vllm-serve`: a setting as a command of vLLM.

use clap::Args;
use servescope_lab::run::serve_command;
use servescope_settings::notes::Traffic;

use crate::input_args::InputArguments;
use crate::output::{CliError, print};
use crate::scenario_args::ScenarioArguments;

#[derive(Args)]
pub(crate) struct VllmServeArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    inputs: InputArguments,
}

pub(crate) fn run(arguments: &VllmServeArguments) -> Result<(), CliError> {
    let mut scenario = arguments.scenario.scenario()?;
    arguments.inputs.apply_profile(&mut scenario)?;
    let traffic = arguments.inputs.loaded()?.map(|loaded| Traffic::of(&loaded.trace));
    print(&serve_command(&scenario, traffic.as_ref())?)
}
