//! A fitted profile on the command line, in place of the shipped ones.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use servescope_lab::Scenario;
use servescope_lab::profiles::LoadedProfile;
use servescope_lab::scenario::CostKind;

use crate::output::{Failed, note, text};

/// A profile to take times from.
#[derive(Args)]
pub(crate) struct ProfileArguments {
    /// Profile that stands for the shipped ones where cost.kind is profile, as `servescope profile fit` writes it. The
    /// model's dimensions are the profile's; fleet.gpu says memory and price.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

impl ProfileArguments {
    /// Gives the profile to a scenario.
    pub(crate) fn give(&self, scenario: &mut Scenario) -> Result<(), Failed> {
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
