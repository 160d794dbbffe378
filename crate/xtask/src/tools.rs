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

/// A package of the registry and one of its programs.
struct PinnedTool<'a> {
    package: &'static str,
    program: &'static str,
    version: &'a str,
    /// It runs for seconds and is compiled for minutes: so it is compiled for speed of compiling.
    is_brief: bool,
}

/// The program of `crate/xtask/bindgen`. It cannot be called wasm-bindgen: the compiler rejects a crate of that name and of
/// another version.
const GENERATOR: &str = "servescope-bindgen";
/// The generator and its test runner.
const BINDGEN_CLI: &str = "wasm-bindgen-cli";

/// wasm-bindgen's generator. Where neither the cache nor PATH has it, `crate/xtask/bindgen` is built: the generator alone,
/// in a third of the time that wasm-bindgen-cli takes.
pub(crate) fn bindgen(root: &Path, versions: &Tools) -> TaskResult<PathBuf> {
    let version = &versions.wasm_bindgen;
    if let Some(program) = present(BINDGEN_CLI, "wasm-bindgen", version)? {
        return Ok(program);
    }
    let folder = folder(GENERATOR, version)?;
    let program = folder.join("bin").join(program_name(GENERATOR));
    if !program.is_file() {
        announce(&format!("building wasm-bindgen {version} (about half a minute)"));
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
    let (program, version) = ("wasm-bindgen-test-runner", &versions.wasm_bindgen);
    installed(root, &PinnedTool { package: BINDGEN_CLI, program, version, is_brief: true })
}

/// wasm-pack, which runs the boundary's tests.
pub(crate) fn wasm_pack(root: &Path, versions: &Tools) -> TaskResult<PathBuf> {
    let (name, version) = ("wasm-pack", &versions.wasm_pack);
    installed(root, &PinnedTool { package: name, program: name, version, is_brief: true })
}

/// What drives the fuzz targets.
pub(crate) fn cargo_fuzz(root: &Path, versions: &Tools) -> TaskResult<PathBuf> {
    let (name, version) = ("cargo-fuzz", &versions.cargo_fuzz);
    installed(root, &PinnedTool { package: name, program: name, version, is_brief: true })
}

/// The peer simulator. It is measured, so it is optimised.
pub(crate) fn inference_lab(root: &Path, versions: &Tools) -> TaskResult<PathBuf> {
    let (name, version) = ("inference-lab", &versions.inference_lab);
    installed(root, &PinnedTool { package: name, program: name, version, is_brief: false })
}

/// The tool's program, installed from the registry where neither the cache nor PATH has it.
fn installed(root: &Path, tool: &PinnedTool<'_>) -> TaskResult<PathBuf> {
    let PinnedTool { package, program, version, is_brief } = *tool;
    if let Some(program) = present(package, program, version)? {
        return Ok(program);
    }
    announce(&format!("cargo install {package} {version} (about a minute)"));
    let folder = folder(package, version)?;
    let mut command = process::cargo(root);
    command.args(["install", package, "--version", version, "--locked", "--root"]).arg(&folder);
    if is_brief {
        let profile = [("OPT_LEVEL", "1"), ("CODEGEN_UNITS", "16"), ("DEBUG", "false"), ("LTO", "off")];
        command.envs(profile.map(|(key, value)| (format!("CARGO_PROFILE_RELEASE_{key}"), value)));
    }
    process::run(&mut command)?;
    Ok(folder.join("bin").join(program_name(program)))
}

/// The program in the cache, or on PATH if it is of this version there.
fn present(package: &str, program: &str, version: &str) -> TaskResult<Option<PathBuf>> {
    let cached = folder(package, version)?.join("bin").join(program_name(program));
    if cached.is_file() {
        return Ok(Some(cached));
    }
    let Some(program) = process::find(&[&program_name(program)]) else { return Ok(None) };
    let told = process::capture(Command::new(&program).arg("--version")).unwrap_or_default();
    Ok(is_version(&told, version).then_some(program))
}

/// Where cargo installs a package of this version.
fn folder(package: &str, version: &str) -> TaskResult<PathBuf> {
    let cache = cache_folder(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"))
        .ok_or("neither XDG_CACHE_HOME nor HOME is set: there is no folder for the tools")?;
    Ok(cache.join(format!("{package}-{version}")))
}

fn is_version(told: &str, version: &str) -> bool {
    told.split_whitespace().nth(1) == Some(version)
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
