//! `servescope vllm-serve`: a setting as a command of vLLM.

use clap::Args;
use servescope_lab::run::serve_command;
use servescope_settings::deployment_files::{PLATFORMS, Platform, deployment_file};
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
    /// In place of the command the file of a platform: values of llm-d's chart llm-d-modelservice, or a
    /// DynamoGraphDeployment, with pools, counts and GPUs
    #[arg(long = "for", value_name = "PLATFORM", value_parser = PLATFORMS)]
    platform: Option<String>,
}

pub(crate) fn run(arguments: &VllmServeArguments) -> Result<(), CliError> {
    let mut scenario = arguments.scenario.scenario()?;
    arguments.inputs.apply_profile(&mut scenario)?;
    let traffic = arguments.inputs.loaded()?.map(|loaded| Traffic::of(&loaded.trace));
    let command = serve_command(&scenario, traffic.as_ref())?;
    match arguments.platform.as_deref().and_then(Platform::named) {
        Some(platform) => print(&deployment_file(&scenario, platform).map_err(|error| vec![error])?),
        None => print(&command),
    }
}
