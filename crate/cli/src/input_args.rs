//! What is simulated beside a scenario: a trace file in place of generated requests, a fitted profile in place of the shipped
//! ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use servescope_settings::profiles::LoadedProfile;
use servescope_settings::scenario::{CostKind, Scenario};
use servescope_traces::loaded_trace::LoadedTrace;

use crate::output::{CliError, note, text};
use crate::read_args::ReadArguments;

/// A trace and a profile, where they are named.
#[derive(Args)]
pub(crate) struct InputArguments {
    /// Trace file to simulate in place of generated requests; its format is recognised.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArguments,
    /// Profile that stands for the shipped ones where cost.kind is profile, as `servescope profile fit` writes it. The
    /// model's dimensions are the profile's; fleet.gpu says memory and price.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

impl InputArguments {
    /// The trace, where a file is named.
    pub(crate) fn loaded(&self) -> Result<Option<LoadedTrace>, CliError> {
        self.trace.as_deref().map(|path| Ok(self.read.read(path)?.loaded)).transpose()
    }

    /// The file of the trace, and how it is read.
    pub(crate) fn file(&self) -> (&ReadArguments, Option<&Path>) {
        (&self.read, self.trace.as_deref())
    }

    /// Gives the profile to a scenario.
    pub(crate) fn apply_profile(&self, scenario: &mut Scenario) -> Result<(), CliError> {
        let Some(path) = &self.profile else { return Ok(()) };
        let loaded = LoadedProfile::read(&path.display().to_string(), &text(path)?)?;
        if scenario.cost_kind() != CostKind::Profile {
            note(&format!(
                "{}: used only where cost.kind is profile, and a fleet asks for it",
                path.display()
            ));
        }
        scenario.set_profile(Some(Arc::new(loaded)));
        Ok(())
    }
}
