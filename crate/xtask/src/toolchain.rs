//! The Rust toolchain that builds for wasm32: the active one if it has the target or rustup can add it, or
//! else Debian's.

pub(crate) mod debian;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, TaskResult, announce};

/// The target of the page's module.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Which compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compiler {
    /// The one on PATH.
    Active,
    /// Debian's packages in /usr, which know the target after [`debian::install_compiler`].
    Debian,
}

/// The compiler of the page's modules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WasmToolchain {
    pub(crate) compiler: Compiler,
}

impl WasmToolchain {
    /// The cargo of this compiler; `active` is the one on PATH.
    pub(crate) fn cargo(self, root: &Path, active: Command) -> TaskResult<Command> {
        let mut command = match self.compiler {
            Compiler::Active => active,
            Compiler::Debian => Command::new(debian::CARGO),
        };
        command.current_dir(root);
        self.apply(&mut command, &[])?;
        Ok(command)
    }

    /// Sets the command's environment, so that it and what it starts find the tools in these folders and this compiler.
    pub(crate) fn apply(self, command: &mut Command, tools: &[PathBuf]) -> TaskResult {
        let mut folders = tools.to_vec();
        if self.compiler == Compiler::Debian {
            folders.push(PathBuf::from(debian::PROGRAMS));
            debian::apply(command);
        }
        command.env("PATH", process::path_after(&folders)?);
        Ok(())
    }
}

/// A toolchain for wasm32, installed if there is none.
pub(crate) fn find_or_install(root: &Path) -> TaskResult<WasmToolchain> {
    let compiler = choose(
        || active_has_target(root),
        debian::is_ready,
        || add_target(root),
        || debian::install_compiler(&root.join("target/wasm-std")),
    )?;
    Ok(WasmToolchain { compiler })
}

/// What is there comes before what must be installed, and rustup before Debian.
fn choose(
    active_is_ready: impl FnOnce() -> bool,
    debian_is_ready: impl FnOnce() -> bool,
    add_target: impl FnOnce() -> bool,
    install_debian: impl FnOnce() -> TaskResult,
) -> TaskResult<Compiler> {
    if active_is_ready() {
        return Ok(Compiler::Active);
    }
    if debian_is_ready() {
        return Ok(Compiler::Debian);
    }
    if add_target() {
        return Ok(Compiler::Active);
    }
    install_debian().map_err(|reason| {
        format!("no compiler for {TARGET}: `rustup target add {TARGET}` did not work, nor did Debian's packages ({reason})")
    })?;
    Ok(Compiler::Debian)
}

fn active_has_target(root: &Path) -> bool {
    let Ok(sysroot) = process::capture(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))
    else {
        return false;
    };
    debian::has_standard_library(&Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("lib"))
}

fn add_target(root: &Path) -> bool {
    let Some(rustup) = process::find(&["rustup"]) else { return false };
    announce(&format!("rustup target add {TARGET}"));
    let added = process::run(Command::new(rustup).args(["target", "add", TARGET]).current_dir(root));
    added.is_ok() && active_has_target(root)
}

/// rustfmt and clippy, which a minimal installation lacks.
pub(crate) fn components(root: &Path) -> TaskResult {
    for (verb, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if process::succeeds(process::cargo(root).args([verb, "--version"])) {
            continue;
        }
        let rustup = process::find(&["rustup"]).ok_or_else(|| format!("{component} is missing"))?;
        announce(&format!("rustup component add {component}"));
        process::run(Command::new(rustup).args(["component", "add", component]).current_dir(root))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choice, and what was installed on the way, on a machine of which these are true or false: the
    /// active compiler has the target, Debian's has, rustup can add it, apt can install.
    fn choice(
        [active, debian, rustup_works, apt_works]: [bool; 4],
    ) -> (TaskResult<Compiler>, Vec<&'static str>) {
        let done = std::cell::RefCell::new(Vec::new());
        let chosen = choose(
            || active,
            || debian,
            || {
                done.borrow_mut().push("rustup");
                rustup_works
            },
            || {
                done.borrow_mut().push("debian");
                if apt_works { Ok(()) } else { Err("no root".to_owned()) }
            },
        );
        (chosen, done.into_inner())
    }

    #[test]
    fn nothing_is_installed_when_a_toolchain_is_there() {
        assert_eq!(choice([true, true, true, true]), (Ok(Compiler::Active), vec![]));
        assert_eq!(choice([false, true, true, true]), (Ok(Compiler::Debian), vec![]));
    }

    #[test]
    fn debian_is_taken_where_rustup_fails() {
        assert_eq!(choice([false, false, true, true]), (Ok(Compiler::Active), vec!["rustup"]));
        assert_eq!(choice([false, false, false, true]), (Ok(Compiler::Debian), vec!["rustup", "debian"]));
    }

    #[test]
    fn a_machine_that_can_have_neither_is_told_so() {
        let (chosen, _) = choice([false, false, false, false]);
        let message = chosen.unwrap_err();
        assert!(message.contains("rustup target add") && message.contains("no root"), "{message}");
    }

    #[test]
    fn debian_programs_come_before_the_rest_of_path() {
        let toolchain = WasmToolchain { compiler: Compiler::Debian };
        let mut command = Command::new("true");
        toolchain.apply(&mut command, &[PathBuf::from("/tools/bin")]).unwrap();
        let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap();
        let folders: Vec<PathBuf> = std::env::split_paths(path).take(2).collect();
        assert_eq!(folders, [PathBuf::from("/tools/bin"), PathBuf::from("/usr/bin")]);
    }
}
