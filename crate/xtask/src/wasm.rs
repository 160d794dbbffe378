//! The wasm package: the modules compiled by cargo, their glue made by wasm-bindgen, made smaller by wasm-opt; the result in
//! `www/pkg`.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};

use crate::hash::{self, Fingerprint};
use crate::process::{self, Outcome};
use crate::project::Project;
use crate::settings::{Build, Module};
use crate::toolchain::{self, WasmToolchain};
use crate::{packages, settings};

/// Beside the package: the fingerprint of what it was built from.
const STAMP: &str = ".built-from";
/// Crates that the module does not contain.
const NOT_INSIDE: [&str; 2] = ["cli", "xtask"];

/// Builds the package, unless it is there and of the sources that are there. The generator and the page's tools are
/// installed while the modules are compiled, which share all but their last crate; then each goes through both, side by side.
pub(crate) fn build(project: &Project) -> Outcome {
    let toolchain = *project.wasm_toolchain()?;
    let built_from = fingerprint(project, toolchain)?;
    let package = project.root().join(&project.settings().build.out_dir);
    if fs::read_to_string(package.join(STAMP)).is_ok_and(|stamp| stamp == built_from) {
        return Ok(());
    }
    let log = process::log();
    let modules = &project.settings().modules;
    thread::scope(|scope| {
        let tools = [
            scope.spawn(|| process::logged(log.clone(), || project.bindgen().map(drop))),
            scope.spawn(|| process::logged(log.clone(), || project.node_modules())),
        ];
        all([compile(project, toolchain)].into_iter().chain(tools.into_iter().map(ended)))?;
        let finished: Vec<_> = modules
            .iter()
            .map(|module| {
                let (log, package) = (log.clone(), &package);
                scope.spawn(move || process::logged(log, || finish(project, module, package)))
            })
            .collect();
        all(finished.into_iter().map(ended))
    })?;
    fs::write(package.join(STAMP), built_from).map_err(|error| format!("{}: {error}", package.display()))
}

/// Everything that the package is made of, except for the compiler.
fn sources(root: &Path) -> Vec<PathBuf> {
    let crates = fs::read_dir(root.join("crate")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        crates.filter(|path| !NOT_INSIDE.iter().any(|name| path.ends_with(name))).collect();
    // Tables that a crate includes lie among the files that are served as they are.
    paths.extend(["static", "Cargo.toml", "Cargo.lock", settings::FILE].map(|name| root.join(name)));
    paths.sort();
    paths.iter().flat_map(|path| hash::files_under(path)).collect()
}

fn fingerprint(project: &Project, toolchain: WasmToolchain) -> Outcome<String> {
    let mut fingerprint = Fingerprint::EMPTY;
    fingerprint.add(toolchain.version(project.root())?.as_bytes());
    hash::add_files(&mut fingerprint, project.root(), &sources(project.root()))?;
    Ok(fingerprint.text())
}

/// Every part has ended by now; the first that failed is reported.
fn all(parts: impl Iterator<Item = Outcome>) -> Outcome {
    parts.fold(Ok(()), Outcome::and)
}

fn ended(part: ScopedJoinHandle<'_, Outcome>) -> Outcome {
    part.join().unwrap_or_else(|_| Err("a part of the build panicked".to_owned()))
}

/// Compiles the modules, in one call: what they have in common is compiled once.
fn compile(project: &Project, toolchain: WasmToolchain) -> Outcome {
    let mut command = toolchain.cargo(project)?;
    let build = &project.settings().build;
    command.args(["build", "--lib", "--target", toolchain::TARGET, "--profile", &build.profile]);
    command.arg("--target-dir").arg(project.root().join("target"));
    for module in &project.settings().modules {
        command.args(["--package", &module.package]);
    }
    process::run(&mut command)
}

/// Glue and module, through wasm-opt, into their place. The script comes last: that is what the development server waits
/// for, and then the module is there.
fn finish(project: &Project, module: &Module, package: &Path) -> Outcome {
    let described = |error: std::io::Error| format!("{}: {error}", package.display());
    let stage = &project.root().join("target/wasm-package").join(&module.out_name);
    if stage.exists() {
        fs::remove_dir_all(stage).map_err(described)?;
    }
    for folder in [stage, package] {
        fs::create_dir_all(folder).map_err(described)?;
    }
    let Build { target, profile, .. } = &project.settings().build;
    let compiled = project.root().join("target").join(toolchain::TARGET).join(profile);
    process::run(
        std::process::Command::new(project.bindgen()?)
            .arg(compiled.join(module.library()))
            .args(["--target", target, "--out-name", &module.out_name, "--out-dir"])
            .arg(stage),
    )?;
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
        for name in ["Cargo.lock", "wasm-pack.toml", "crate/studio/Cargo.toml", "crate/engine/Cargo.toml"] {
            assert!(has(name), "{name}");
        }
        assert!(!has("crate/xtask/Cargo.toml"));
        assert!(!has("crate/cli/Cargo.toml"));
    }
}
