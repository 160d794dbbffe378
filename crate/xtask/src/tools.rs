//! The programs that cargo does not bring, at the pinned versions: what fits on PATH, or what is built into the user's cache
//! folder under its version, so that a second checkout on the machine does not build it again.
//!
//! A page needs one of them, wasm-bindgen's generator; the others belong to the checks and to the bench.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, TaskResult, announce};
use crate::settings::Tools;

/// One tool: the name of its folder, its package, the program that is looked for.
struct PinnedTool<'a> {
    name: &'static str,
    package: &'static str,
    program: &'static str,
    version: &'a str,
    /// It runs for seconds and is compiled for minutes: so it is compiled for speed of compiling.
    is_brief: bool,
}

/// The folder of wasm-bindgen-cli: the generator and its test runner.
const BINDGEN: &str = "wasm-bindgen";
/// The program of `crate/xtask/bindgen`. It cannot be called wasm-bindgen: the compiler rejects a crate of that name and of
/// another version.
const GENERATOR: &str = "servescope-bindgen";
const TEST_RUNNER: &str = "wasm-bindgen-test-runner";

/// wasm-bindgen's generator. Where neither the cache nor PATH has it, `crate/xtask/bindgen` is built: the generator alone,
/// in a third of the time that wasm-bindgen-cli takes.
pub(crate) fn bindgen(root: &Path, versions: &Tools) -> TaskResult<PathBuf> {
    let cache = cache()?;
    let whole = programs(&cache, BINDGEN, &versions.wasm_bindgen).join(program_name(BINDGEN));
    if whole.is_file() {
        return Ok(whole);
    }
    if let Some(program) = on_path(BINDGEN, &versions.wasm_bindgen) {
        return Ok(program);
    }
    let folder = cache.join(format!("{GENERATOR}-{}", versions.wasm_bindgen));
    let program = folder.join("bin").join(program_name(GENERATOR));
    if !program.is_file() {
        announce(&format!("building wasm-bindgen {} (about half a minute)", versions.wasm_bindgen));
        let mut install = process::cargo(root);
        install
            .args(["install", "--quiet", "--locked", "--path", "crate/xtask/bindgen", "--root"])
            .arg(&folder);
        process::run(install.args(["--target-dir", "target/tools"]))?;
    }
    Ok(program)
}

/// wasm-bindgen's test runner.
pub(crate) fn test_runner(root: &Path, versions: &Tools) -> TaskResult<PathBuf> {
    let version = &versions.wasm_bindgen;
    if let Some(program) = on_path(TEST_RUNNER, version) {
        return Ok(program);
    }
    let package = "wasm-bindgen-cli";
    let tool = PinnedTool { name: BINDGEN, package, program: TEST_RUNNER, version, is_brief: true };
    Ok(install(root, &tool)?.join(program_name(TEST_RUNNER)))
}

/// Installs wasm-pack if it is missing, and gives its program.
pub(crate) fn wasm_pack(root: &Path, versions: &Tools) -> TaskResult<PathBuf> {
    let (name, version) = ("wasm-pack", &versions.wasm_pack);
    if let Some(program) = on_path(name, version) {
        return Ok(program);
    }
    let tool = PinnedTool { name, package: name, program: name, version, is_brief: true };
    Ok(install(root, &tool)?.join(program_name(name)))
}

/// Installs cargo-fuzz if it is missing, and gives its folder.
pub(crate) fn cargo_fuzz(root: &Path, versions: &Tools) -> TaskResult<PathBuf> {
    let name = "cargo-fuzz";
    install(
        root,
        &PinnedTool { name, package: name, program: name, version: &versions.cargo_fuzz, is_brief: true },
    )
}

/// Installs the peer simulator if it is missing, and gives its program. It is measured, so it is optimised.
pub(crate) fn inference_lab(root: &Path, versions: &Tools) -> TaskResult<PathBuf> {
    let name = "inference-lab";
    let tool =
        PinnedTool { name, package: name, program: name, version: &versions.inference_lab, is_brief: false };
    Ok(install(root, &tool)?.join(program_name(name)))
}

/// The program on PATH, if it is of this version.
fn on_path(name: &str, version: &str) -> Option<PathBuf> {
    let program = process::find(&[&program_name(name)])?;
    let told = process::capture(Command::new(&program).arg("--version")).ok()?;
    is_version(&told, version).then_some(program)
}

fn is_version(told: &str, version: &str) -> bool {
    told.split_whitespace().nth(1) == Some(version)
}

fn cache() -> TaskResult<PathBuf> {
    cache_folder(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"))
        .ok_or_else(|| "neither XDG_CACHE_HOME nor HOME is set: there is no folder for the tools".to_owned())
}

/// Installs the tool from the registry if the cache has it not, and gives the folder of its programs.
fn install(root: &Path, tool: &PinnedTool<'_>) -> TaskResult<PathBuf> {
    let cache = cache()?;
    let programs = programs(&cache, tool.name, tool.version);
    if !programs.join(program_name(tool.program)).is_file() {
        announce(&format!("cargo install {} {} (about a minute)", tool.package, tool.version));
        let mut command = process::cargo(root);
        command
            .args(["install", tool.package, "--version", tool.version, "--locked", "--root"])
            .arg(cache.join(format!("{}-{}", tool.name, tool.version)));
        if tool.is_brief {
            let profile = [("OPT_LEVEL", "1"), ("CODEGEN_UNITS", "16"), ("DEBUG", "false"), ("LTO", "off")];
            for (key, value) in profile {
                command.env(format!("CARGO_PROFILE_RELEASE_{key}"), value);
            }
        }
        process::run(&mut command)?;
    }
    Ok(programs)
}

fn programs(cache: &Path, name: &str, version: &str) -> PathBuf {
    cache.join(format!("{name}-{version}")).join("bin")
}

fn program_name(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}

fn cache_folder(xdg: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    // A relative XDG_CACHE_HOME is to be ignored, by the XDG specification.
    let cache = xdg
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| home.map(|home| PathBuf::from(home).join(".cache")))?;
    Some(cache.join("servescope/tools"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_on_path_must_be_of_the_version() {
        assert!(is_version("wasm-bindgen 0.2.128 (0123abc)\n", "0.2.128"));
        assert!(!is_version("wasm-bindgen 0.2.12", "0.2.128"));
        assert!(!is_version("", "0.2.128"));
    }

    #[test]
    fn the_cache_folder_follows_the_xdg_specification() {
        let of = |xdg: Option<&str>, home: Option<&str>| {
            cache_folder(xdg.map(OsString::from), home.map(OsString::from))
        };
        assert_eq!(of(Some("/c"), Some("/h")), Some(PathBuf::from("/c/servescope/tools")));
        assert_eq!(of(None, Some("/h")), Some(PathBuf::from("/h/.cache/servescope/tools")));
        assert_eq!(of(Some("c"), Some("/h")), Some(PathBuf::from("/h/.cache/servescope/tools")));
        assert_eq!(of(None, None), None);
    }
}
