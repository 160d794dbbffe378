//! The wasm package: the crate through wasm-pack once a module, each module through wasm-opt, the result in `www/pkg`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::hash::{self, Fingerprint};
use crate::process::{self, Outcome};
use crate::project::Project;
use crate::settings::Module;
use crate::toolchain::WasmToolchain;
use crate::{packages, settings};

/// Beside the package: the fingerprint of what it was built from.
const STAMP: &str = ".built-from";
/// Crates that the module does not contain.
const NOT_INSIDE: [&str; 2] = ["cli", "xtask"];

/// Builds the package, unless it is there and of the sources that are there.
pub(crate) fn build(project: &Project) -> Outcome {
    let toolchain = project.wasm_toolchain()?;
    let built_from = fingerprint(project, toolchain)?;
    let package = project.root().join(&project.settings().build.out_dir);
    if fs::read_to_string(package.join(STAMP)).is_ok_and(|stamp| stamp == built_from) {
        return Ok(());
    }
    for module in &project.settings().modules {
        let stage = project.root().join("target/wasm-package").join(&module.out_name);
        compile(project, toolchain, module, &stage)?;
        install(project, module, &stage, &package)?;
    }
    fs::write(package.join(STAMP), built_from).map_err(|error| format!("{}: {error}", package.display()))
}

/// Everything that the package is made of, except for the compiler.
pub(crate) fn sources(root: &Path) -> Vec<PathBuf> {
    let crates = fs::read_dir(root.join("crate")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        crates.filter(|path| !NOT_INSIDE.iter().any(|name| path.ends_with(name))).collect();
    // Tables that a crate includes lie among the files that are served as they are.
    paths.extend(["static", "Cargo.toml", "Cargo.lock", settings::FILE].map(|name| root.join(name)));
    paths.sort();
    paths.iter().flat_map(|path| hash::files_under(path)).collect()
}

fn fingerprint(project: &Project, toolchain: &WasmToolchain) -> Outcome<String> {
    let mut fingerprint = Fingerprint::EMPTY;
    fingerprint.add(toolchain.version(project.root())?.as_bytes());
    hash::add_files(&mut fingerprint, project.root(), &sources(project.root()))?;
    Ok(fingerprint.text())
}

fn compile(project: &Project, toolchain: &WasmToolchain, module: &Module, stage: &Path) -> Outcome {
    if stage.exists() {
        fs::remove_dir_all(stage).map_err(|error| format!("{}: {error}", stage.display()))?;
    }
    let build = &project.settings().build;
    let mut command = toolchain.tool("wasm-pack")?;
    command
        .args(["build", &build.crate_folder, &format!("--{}", build.profile)])
        .args(["--target", &build.target, "--out-name", &module.out_name, "--out-dir"])
        .arg(stage)
        // The tools are installed by the set-up; wasm-opt is run below, with flags of our own; the page
        // imports the package by its path and needs no package.json.
        .args(["--mode", "no-install", "--no-opt", "--no-pack"])
        .args(["--", "--no-default-features", "--features", &module.features.join(",")])
        .current_dir(project.root());
    process::run(&mut command)
}

/// Moves the staged package into its place. Its script comes last: that is what the development server
/// waits for, and then the module is there.
fn install(project: &Project, module: &Module, stage: &Path, package: &Path) -> Outcome {
    let described = |error: std::io::Error| format!("{}: {error}", package.display());
    fs::create_dir_all(package).map_err(described)?;
    let name = &module.out_name;
    let module = format!("{name}_bg.wasm");
    let mut optimizer = project.node_tool("wasm-opt")?;
    same_optimizer(project)?;
    optimizer.args(&project.settings().wasm_opt.flags).arg(stage.join(&module)).arg("-o");
    process::run(optimizer.arg(package.join(&module)))?;
    let script = stage.join(format!("{name}.js"));
    let mut others = hash::files_under(stage);
    others.retain(|file| *file != script && *file != stage.join(&module));
    for file in others.iter().chain([&script]) {
        let place = package.join(file.strip_prefix(stage).unwrap_or(file));
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).map_err(described)?;
        }
        fs::copy(file, place).map_err(described)?;
    }
    Ok(())
}

/// The page's lock file decides which wasm-opt is installed; it must be the one of the settings.
fn same_optimizer(project: &Project) -> Outcome {
    let installed = packages::version(&project.www(), "binaryen")?;
    let pinned = &project.settings().tools.binaryen;
    if installed == *pinned {
        return Ok(());
    }
    Err(format!("{} has binaryen {pinned}, but www/package.json has {installed}", settings::FILE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project;

    #[test]
    fn the_sources_are_those_of_the_module() {
        let root = project::root();
        let sources = sources(&root);
        let has = |name: &str| sources.contains(&root.join(name));
        for name in ["Cargo.lock", "wasm-pack.toml", "crate/web/Cargo.toml", "crate/engine/Cargo.toml"] {
            assert!(has(name), "{name}");
        }
        assert!(!has("crate/xtask/Cargo.toml"));
        assert!(!has("crate/cli/Cargo.toml"));
    }
}
