//! Chromium and its driver, for the checks that need a browser.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::process::{self, Outcome};
use crate::toolchain::debian;

/// Where the browser and its driver are.
#[derive(Debug)]
pub(crate) struct Browser {
    pub(crate) chromium: PathBuf,
    pub(crate) driver: PathBuf,
}

impl Browser {
    /// Tells a child process, by the variables that it reads.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env("SERVESCOPE_CHROMIUM", &self.chromium).env("CHROMEDRIVER", &self.driver);
    }
}

/// What is there already, or else Debian's.
pub(crate) fn find_or_install() -> Outcome<Browser> {
    if let Some(browser) = find() {
        return Ok(browser);
    }
    debian::install(&["chromium", "chromium-driver"]).map_err(|reason| {
        format!("Chromium and its driver are missing: put chromium and chromedriver on PATH, or set SERVESCOPE_CHROMIUM and CHROMEDRIVER ({reason})")
    })?;
    find().ok_or_else(|| "Chromium is not on PATH after its installation".to_owned())
}

fn find() -> Option<Browser> {
    let named = |variable: &str| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let chromium = named("SERVESCOPE_CHROMIUM")
        .or_else(|| process::find(&["chromium", "chromium-browser", "google-chrome"]))?;
    let driver = named("CHROMEDRIVER").or_else(|| process::find(&["chromedriver"]))?;
    Some(Browser { chromium, driver })
}
