//! Chromium and its driver, and Firefox, for the checks that need a browser.

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
    /// The same engine without what a window needs. It takes half the processor's time.
    shell: Option<PathBuf>,
}

impl Browser {
    /// Sets the variables by which a child process finds the browser.
    pub(crate) fn set_variables(&self, command: &mut Command) {
        command.env(CHROMIUM, &self.chromium).env("CHROMEDRIVER", &self.driver);
    }

    /// The same for a child process that needs no window, nor a driver.
    pub(crate) fn set_variables_without_window(&self, command: &mut Command) {
        command.env(CHROMIUM, self.shell.as_ref().unwrap_or(&self.chromium));
    }
}

/// The variable that names Chromium, for the tests as well.
const CHROMIUM: &str = "SERVESCOPE_CHROMIUM";
/// Debian's name of the package and of the program.
const SHELL: &str = "chromium-headless-shell";

/// What is there already, or else Debian's.
pub(crate) fn find_or_install() -> Outcome<Browser> {
    if named(CHROMIUM).is_none() && process::find(&[SHELL]).is_none() {
        // Chromium itself does for it.
        if let Err(reason) = debian::install(&[SHELL]) {
            process::say(&format!("{SHELL} is missing, and Chromium takes longer ({reason})"));
        }
    }
    if let Some(browser) = find() {
        return Ok(browser);
    }
    debian::install(&["chromium", "chromium-driver"]).map_err(|reason| {
        format!("Chromium and its driver are missing: put chromium and chromedriver on PATH, or set SERVESCOPE_CHROMIUM and CHROMEDRIVER ({reason})")
    })?;
    find().ok_or_else(|| "Chromium is not on PATH after its installation".to_owned())
}

/// Firefox: the one that the environment names, or that is on PATH, or else Debian's.
pub(crate) fn firefox() -> Outcome<PathBuf> {
    if let Some(firefox) = find_firefox() {
        return Ok(firefox);
    }
    debian::install(&["firefox-esr"])
        .map_err(|reason| format!("Firefox is missing: put it on PATH, or set {FIREFOX} ({reason})"))?;
    find_firefox().ok_or_else(|| "Firefox is not on PATH after its installation".to_owned())
}

/// The variable that names Firefox, for the tests as well.
pub(crate) const FIREFOX: &str = "SERVESCOPE_FIREFOX";

fn find_firefox() -> Option<PathBuf> {
    named(FIREFOX).or_else(|| process::find(&["firefox-esr", "firefox"]))
}

fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn find() -> Option<Browser> {
    let chosen = named(CHROMIUM);
    let shell = if chosen.is_none() { process::find(&[SHELL]) } else { None };
    let chromium = chosen.or_else(|| process::find(&["chromium", "chromium-browser", "google-chrome"]))?;
    let driver = named("CHROMEDRIVER").or_else(|| process::find(&["chromedriver"]))?;
    Some(Browser { chromium, driver, shell })
}
