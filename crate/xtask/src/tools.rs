//! wasm-pack, wasm-bindgen, cargo-fuzz and the peer of the bench at the pinned versions, kept in the user's cache folder under their version,
//! so that a second checkout on the machine does not build them again.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::process::{self, Outcome, announce};
use crate::settings::Tools;

/// One tool: the name of its folder, its package, its program.
struct Tool<'a> {
    name: &'static str,
    package: &'static str,
    program: &'static str,
    version: &'a str,
}

/// Installs what the wasm build needs and is missing, and gives the folders of the programs.
pub(crate) fn install(root: &Path, versions: &Tools) -> Outcome<Vec<PathBuf>> {
    let cache = cache()?;
    let tools = [
        Tool {
            name: "wasm-bindgen",
            package: "wasm-bindgen-cli",
            program: "wasm-bindgen",
            version: &versions.wasm_bindgen,
        },
        Tool { name: "wasm-pack", package: "wasm-pack", program: "wasm-pack", version: &versions.wasm_pack },
    ];
    tools.iter().map(|tool| install_one(root, &cache, tool)).collect()
}

/// Installs cargo-fuzz if it is missing, and gives its folder.
pub(crate) fn cargo_fuzz(root: &Path, versions: &Tools) -> Outcome<PathBuf> {
    let tool = Tool {
        name: "cargo-fuzz",
        package: "cargo-fuzz",
        program: "cargo-fuzz",
        version: &versions.cargo_fuzz,
    };
    install_one(root, &cache()?, &tool)
}

/// Installs the peer simulator if it is missing, and gives its program.
pub(crate) fn inference_lab(root: &Path, versions: &Tools) -> Outcome<PathBuf> {
    let name = "inference-lab";
    let tool = Tool { name, package: name, program: name, version: &versions.inference_lab };
    Ok(install_one(root, &cache()?, &tool)?.join(name))
}

fn cache() -> Outcome<PathBuf> {
    cache_folder(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"))
        .ok_or_else(|| "neither XDG_CACHE_HOME nor HOME is set: there is no folder for the tools".to_owned())
}

fn install_one(root: &Path, cache: &Path, tool: &Tool<'_>) -> Outcome<PathBuf> {
    let folder = cache.join(format!("{}-{}", tool.name, tool.version));
    let programs = folder.join("bin");
    if !programs.join(tool.program).with_extension(env::consts::EXE_EXTENSION).is_file() {
        announce(&format!("cargo install {} {} (about two minutes)", tool.package, tool.version));
        process::run(
            process::cargo(root)
                .args(["install", tool.package, "--version", tool.version, "--locked", "--root"])
                .arg(&folder),
        )?;
    }
    Ok(programs)
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
