//! `servescope vllm-serve`: a setting as a command of vLLM.

use clap::Args;
use servescope_lab::run::serve_command;

use crate::output::{CliError, print};
use crate::scenario_args::ScenarioArguments;

#[derive(Args)]
pub(crate) struct VllmServeArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
}

pub(crate) fn run(arguments: &VllmServeArguments) -> Result<(), CliError> {
    print(&serve_command(&arguments.scenario.scenario()?)?)
}
