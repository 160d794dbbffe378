//! The Python package: its wheel is built, installed into an environment that has nothing else but what the tests need, and tested
//! there against the terminal.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, TaskResult, announce};
use crate::programs::{self, Program};
use crate::project::Project;
use crate::toolchain::{self, debian};

/// What is installed from the registry, at which versions.
const REQUIREMENTS: &str = "python/requirements.txt";

/// Lints the native part, builds the wheel, and runs the tests with what was installed of it.
pub(super) fn check(project: &Project) -> TaskResult {
    let root = project.root();
    toolchain::components(root)?;
    let manifest = ["--manifest-path", "python/Cargo.toml"];
    let scratch = root.join("target/python");
    process::run(project.cargo().arg("fmt").args(manifest).arg("--check"))?;
    let lints = ["--locked", "--all-targets", "--target-dir", "target/python/build", "--", "-D", "warnings"];
    process::run(project.cargo().arg("clippy").args(manifest).args(lints))?;
    let wheel = wheel(project, &scratch)?;
    let python = environment(&scratch.join("tested"), true)?;
    let packages = [wheel.into_os_string(), "-r".into(), root.join(REQUIREMENTS).into_os_string()];
    process::run(pip(&python).args(packages))?;
    let mut tests = Command::new(&python);
    tests.args(["-m", "pytest"]).current_dir(root.join("python"));
    programs::build(project, &[Program::Terminal])?;
    tests.env("PYTHONDONTWRITEBYTECODE", "1").env("SERVESCOPE_TERMINAL", Program::Terminal.path(project));
    process::run(&mut tests)
}

/// Builds the wheel: as it is published in the whole check, as the tests are compiled in a step alone.
fn wheel(project: &Project, scratch: &Path) -> TaskResult<PathBuf> {
    let folder = scratch.join("wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let profile = if project.is_whole() { "release" } else { "dev" };
    let mut build = Command::new(maturin(project, scratch)?);
    build.args(["build", "--locked", "--profile", profile, "--target-dir"]).arg(scratch.join("build"));
    build.arg("--out").arg(&folder).current_dir(project.root().join("python"));
    process::run(&mut build)?;
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let wheels: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    match wheels.as_slice() {
        [wheel] => Ok(wheel.clone()),
        _ => Err(format!("{}: one wheel expected, got {}", folder.display(), wheels.len())),
    }
}

/// maturin in an environment of its own, installed if it is not there at the pinned version.
fn maturin(project: &Project, scratch: &Path) -> TaskResult<PathBuf> {
    let file = project.root().join(REQUIREMENTS);
    let text = fs::read_to_string(&file).map_err(|error| format!("{REQUIREMENTS}: {error}"))?;
    let pinned = text.lines().find(|line| line.starts_with("maturin==")).ok_or("maturin is not pinned")?;
    let folder = scratch.join("tools");
    let program = programs(&folder).join(name("maturin"));
    let version = pinned.replace("==", " ");
    if !process::capture(Command::new(&program).arg("--version")).is_ok_and(|told| told.trim() == version) {
        announce(&format!("pip install {pinned}"));
        process::run(pip(&environment(&folder, false)?).arg(pinned))?;
    }
    Ok(program)
}

/// An environment of Python without any package, and its interpreter.
fn environment(folder: &Path, is_new: bool) -> TaskResult<PathBuf> {
    let python = process::find(&["python3", "python"]).ok_or("Python 3.10 or newer is missing")?;
    let make = || {
        let mut make = Command::new(&python);
        make.args(["-m", "venv"]).args(is_new.then_some("--clear")).arg(folder);
        make
    };
    // Debian has this part of Python in a package of its own.
    if process::run(&mut make()).is_err() {
        debian::install(&["python3-venv"])?;
        process::run(&mut make())?;
    }
    Ok(programs(folder).join(name("python")))
}

fn programs(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts" } else { "bin" })
}

fn name(program: &str) -> String {
    format!("{program}{}", std::env::consts::EXE_SUFFIX)
}

fn pip(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Names and versions in a lock file.
    fn locked(file: &str) -> BTreeSet<(String, String)> {
        let text = std::fs::read_to_string(crate::project::root().join(file)).unwrap();
        let lock: toml::Table = toml::from_str(&text).unwrap();
        let text = |package: &toml::Value, key: &str| package[key].as_str().unwrap().to_owned();
        let packages = lock["package"].as_array().unwrap().iter();
        packages.map(|package| (text(package, "name"), text(package, "version"))).collect()
    }

    #[test]
    fn what_computes_is_of_the_same_versions_in_the_wheel() {
        let (main, wheel) = (locked("Cargo.lock"), locked("python/Cargo.lock"));
        let names: BTreeSet<&String> = main.iter().map(|(name, _)| name).collect();
        let common: Vec<_> = wheel.iter().filter(|(name, _)| names.contains(name)).collect();
        let other: Vec<_> = common.iter().filter(|package| !main.contains(**package)).collect();
        assert!(other.is_empty(), "other versions than the workspace's: {other:?}");
        for name in ["libm", "rand_distr", "rand_xoshiro", "serde_json", "servescope-lab"] {
            assert!(common.iter().any(|(common, _)| common == name), "{name}");
        }
    }
}
