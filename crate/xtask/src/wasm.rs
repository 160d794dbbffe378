//! The wasm package: the modules compiled by cargo, their glue made by wasm-bindgen, made smaller by wasm-opt; the result in
//! `www/pkg`.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};

use crate::process::{self, TaskResult};
use crate::project::Project;
use crate::settings::Module;
use crate::toolchain;

/// Beside the package: the fingerprint of what it was made from.
const STAMP: &str = ".built-from";

/// Builds the package, unless it is there and made from what the sources compile to. The generator and the page's tools are
/// installed while the modules are compiled, which share all but their last crate; then each goes through both, side by side.
pub(crate) fn build(project: &Project) -> TaskResult {
    let log = process::log();
    let package = &project.root().join(&project.settings().build.out_dir);
    thread::scope(|scope| {
        let tools = [
            scope.spawn(|| process::logged(log.clone(), || project.bindgen().map(drop))),
            scope.spawn(|| process::logged(log.clone(), || project.node_modules())),
        ];
        all([compile(project)].into_iter().chain(tools.into_iter().map(ended)))?;
        let made_from = fingerprint(project)?;
        if fs::read_to_string(package.join(STAMP)).is_ok_and(|stamp| stamp == made_from) {
            return Ok(());
        }
        let finish = |module| {
            let log = log.clone();
            scope.spawn(move || process::logged(log, || finish(project, module, package)))
        };
        let finished: Vec<_> = project.settings().modules.iter().map(finish).collect();
        all(finished.into_iter().map(ended))?;
        fs::write(package.join(STAMP), made_from).map_err(|error| format!("{}: {error}", package.display()))
    })
}

/// Of the compiled modules, and of all that is done to them.
fn fingerprint(project: &Project) -> TaskResult<String> {
    let settings = project.settings();
    let mut hasher = DefaultHasher::new();
    (&settings.tools.wasm_bindgen, &settings.tools.binaryen, &settings.wasm_opt.flags).hash(&mut hasher);
    for module in &settings.modules {
        let file = project.compiled().join(module.library());
        let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        (&module.out_name, bytes).hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// Every part has ended by now; the first that failed is reported.
fn all(parts: impl Iterator<Item = TaskResult>) -> TaskResult {
    parts.fold(Ok(()), TaskResult::and)
}

pub(crate) fn ended(part: ScopedJoinHandle<'_, TaskResult>) -> TaskResult {
    part.join().unwrap_or_else(|_| Err("a part of the build panicked".to_owned()))
}

/// Compiles the modules, in one call: what they have in common is compiled once.
fn compile(project: &Project) -> TaskResult {
    let mut command = project.wasm_toolchain()?.cargo(project.root(), project.cargo())?;
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
fn finish(project: &Project, module: &Module, package: &Path) -> TaskResult {
    let described = |error: std::io::Error| format!("{}: {error}", package.display());
    let stage = &project.root().join("target/wasm-package").join(&module.out_name);
    fs::create_dir_all(package).map_err(described)?;
    process::run(
        Command::new(project.bindgen()?)
            .arg(project.compiled().join(module.library()))
            .args(["--target", &project.settings().build.target, "--out-name", &module.out_name, "--out-dir"])
            .arg(stage),
    )?;
    let name = &module.out_name;
    let module = format!("{name}_bg.wasm");
    let mut optimizer = project.node_tool("wasm-opt")?;
    optimizer.args(&project.settings().wasm_opt.flags).arg(stage.join(&module)).arg("-o");
    process::run(optimizer.arg(package.join(&module)))?;
    for rest in [".d.ts", "_bg.wasm.d.ts", ".js"] {
        let file = format!("{name}{rest}");
        fs::copy(stage.join(&file), package.join(&file)).map_err(described)?;
    }
    Ok(())
}
