//! `servescope vllm-serve`: a setting as a command of vLLM.

use clap::Args;
use servescope_lab::vllm_serve::vllm_serve;

use crate::output::{CliError, print};
use crate::scenario_args::ScenarioArguments;

#[derive(Args)]
pub(crate) struct VllmServeArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
}

pub(crate) fn run(arguments: &VllmServeArguments) -> Result<(), CliError> {
    print(&vllm_serve(&arguments.scenario.scenario()?)?)
}
