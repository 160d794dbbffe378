//! Where a scenario comes from: a file, a link of the page, single settings; later ones win.

use std::path::PathBuf;

use clap::Args;
use servescope_lab::recipe::{Recipe, Source};
use servescope_lab::{Failure, Scenario, link};

use crate::output::{Failed, read};
use crate::step_args::{StepArguments, Steps};

/// A scenario on the command line.
#[derive(Args)]
pub(crate) struct ScenarioArguments {
    /// Scenario file (JSON; see `servescope schema`), or a recipe: FILE.recipe.json, or a trace file that carries its own.
    #[arg(value_name = "SCENARIO.json")]
    file: Option<PathBuf>,
    /// Address of the page, whole or from `#` on.
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    link: Option<String>,
    /// Sets one parameter, for example `workload.rate_rps=3`. May be given many times.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    settings: Vec<String>,
}

impl ScenarioArguments {
    /// The scenario, and the steps of its recipe before those of the command line.
    pub(crate) fn with_steps(&self, more: &StepArguments) -> Result<(Scenario, Steps), Failed> {
        let scenario = self.scenario()?;
        let mut steps = self.recipe()?.map_or_else(Vec::new, |recipe| recipe.steps);
        steps.extend(more.steps()?);
        Ok((scenario, Steps::new(steps)))
    }

    /// The recipe in the scenario file, if it is one.
    pub(crate) fn recipe(&self) -> Result<Option<Recipe>, Failed> {
        let Some(path) = &self.file else { return Ok(None) };
        let Some(json) = Recipe::find(&read(path)?) else { return Ok(None) };
        let told = |failures: Vec<Failure>| {
            Failed::Input(failures.iter().map(|f| format!("{}: {}", path.display(), f.message)).collect())
        };
        let recipe = Recipe::from_json(&json).map_err(told)?;
        match &recipe.source {
            Source::Scenario(_) => Ok(Some(recipe)),
            Source::Files { .. } => Err(Failed::input(format!(
                "{}: the recipe of a file that was made of other files; convert, concat and merge read those",
                path.display()
            ))),
        }
    }

    /// The scenario.
    pub(crate) fn scenario(&self) -> Result<Scenario, Failed> {
        let mut scenario = Scenario::default();
        let mut messages = Vec::new();
        if let Some(Source::Scenario(of_recipe)) = self.recipe()?.map(|recipe| recipe.source) {
            scenario = *of_recipe;
        } else if let Some(path) = &self.file {
            let bytes = read(path)?;
            let json: serde_json::Value = serde_json::from_slice(&bytes)
                .map_err(|error| Failed::input(format!("{}: no JSON: {error}", path.display())))?;
            let (read, failures) = Scenario::from_json(&json);
            scenario = read;
            messages.extend(failures.into_iter().map(|f| format!("{}: {}", path.display(), f.message)));
        }
        if let Some(address) = &self.link {
            let (read, failures) = link::parse(address);
            scenario = read;
            messages.extend(failures.into_iter().map(|f| f.message));
        }
        for setting in &self.settings {
            match setting.split_once('=') {
                None => messages.push(format!("--set {setting}: PATH=VALUE expected")),
                Some((path, value)) => {
                    messages.extend(scenario.set_text(path.trim(), value).err().map(|f| f.message));
                }
            }
        }
        if messages.is_empty() { Ok(scenario) } else { Err(Failed::Input(messages)) }
    }
}
