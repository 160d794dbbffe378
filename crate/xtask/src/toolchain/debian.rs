//! Debian's compiler, for machines where rustup cannot add a target: its packages bring the sources of the
//! standard library, which is built for wasm32 once and put where the compiler looks for it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::TARGET;
use crate::process::{self, TaskResult, announce};

/// Where Debian puts the compiler.
pub(crate) const PROGRAMS: &str = "/usr/bin";
const RUSTC: &str = "/usr/bin/rustc";
/// Debian's cargo.
pub(crate) const CARGO: &str = "/usr/bin/cargo";
const LIBRARIES: &str = "/usr/lib/rustlib";
/// Beside the libraries: the compiler they were built with, since no other can read them.
const STAMP: &str = "servescope-built-with";
const PACKAGES: [&str; 5] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm", "lld-22"];
/// The empty crate whose build brings the standard library about.
const SEED: &str = "standard_library_seed";

/// Installs packages, where that can be done without a password.
pub(crate) fn install(packages: &[&str]) -> TaskResult {
    let install = ["install", "-y", "--no-install-recommends"];
    let by_hand = format!("apt-get {} {}", install.join(" "), packages.join(" "));
    let apt = process::find(&["apt-get"]).ok_or("there is no apt-get here")?;
    if process::capture(Command::new("id").arg("-u"))?.trim() != "0" {
        return Err(format!("run as root: {by_hand}"));
    }
    announce(&by_hand);
    process::run(Command::new(&apt).arg("update"))?;
    process::run(Command::new(&apt).args(install).args(packages).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Whether Debian's compiler is there with a standard library of its own for wasm32.
pub(crate) fn is_ready() -> bool {
    let folder = Path::new(LIBRARIES).join(TARGET).join("lib");
    let built_with = fs::read_to_string(folder.join(STAMP)).unwrap_or_default();
    !built_with.is_empty() && version().is_ok_and(|version| version == built_with)
}

/// The compiler's name and version.
pub(crate) fn version() -> TaskResult<String> {
    if !Path::new(RUSTC).is_file() {
        return Err(format!("{RUSTC} is missing"));
    }
    let mut command = Command::new(RUSTC);
    command.arg("-V");
    apply(&mut command);
    process::capture(&mut command)
}

/// Makes the command, and what it starts, use Debian's compiler.
pub(crate) fn apply(command: &mut Command) {
    command.env("RUSTC", RUSTC).env("CARGO", CARGO);
    // Both are of the toolchain that runs this task: its name, and its libraries.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("LD_LIBRARY_PATH");
}

/// Installs the compiler and builds the standard library for wasm32 in the scratch folder.
pub(crate) fn install_compiler(scratch: &Path) -> TaskResult {
    install(&PACKAGES)?;
    announce(&format!("building the standard library for {TARGET} (about a minute)"));
    build_standard_library(scratch)?;
    let built = scratch.join("target").join(TARGET).join("release/deps");
    copy_libraries(&built, &Path::new(LIBRARIES).join(TARGET), &version()?)
        .map_err(|error| format!("{LIBRARIES}/{TARGET}: {error}"))
}

fn build_standard_library(scratch: &Path) -> TaskResult {
    let described = |error: std::io::Error| format!("{}: {error}", scratch.display());
    // What an older compiler left must not be copied.
    if scratch.exists() {
        fs::remove_dir_all(scratch).map_err(described)?;
    }
    fs::create_dir_all(scratch.join("src")).map_err(described)?;
    // A workspace of its own: the folder lies in ours.
    let manifest =
        format!("[workspace]\n\n[package]\nname = \"{SEED}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n");
    fs::write(scratch.join("Cargo.toml"), manifest).map_err(described)?;
    fs::write(scratch.join("src/lib.rs"), "").map_err(described)?;
    let mut command = Command::new(CARGO);
    apply(&mut command);
    command
        .args(["build", "--release", "--target", TARGET, "-Zbuild-std=std,panic_abort,test", "--target-dir"])
        .arg(scratch.join("target"))
        // The flag is an unstable one, which this variable allows a stable compiler.
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(scratch);
    process::run(&mut command)
}

/// Puts the libraries into place by one renaming: a copy cut short is not taken for a whole one.
fn copy_libraries(built: &Path, folder: &Path, compiler: &str) -> std::io::Result<()> {
    let (partial, whole) = (folder.join("lib.partial"), folder.join("lib"));
    for leftover in [&partial, &whole] {
        if leftover.exists() {
            fs::remove_dir_all(leftover)?;
        }
    }
    fs::create_dir_all(&partial)?;
    for entry in fs::read_dir(built)? {
        let entry = entry?;
        let name = entry.file_name();
        if is_library(&name.to_string_lossy()) {
            fs::copy(entry.path(), partial.join(name))?;
        }
    }
    fs::write(partial.join(STAMP), compiler)?;
    fs::rename(&partial, &whole)
}

fn is_library(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "rlib") && !name.contains(SEED)
}

/// Whether the folder holds the standard library.
pub(crate) fn has_standard_library(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("libstd-") && is_library(&name.to_string_lossy())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_copied_without_the_seed() {
        let folder = std::env::temp_dir().join(format!("servescope-debian-{}", std::process::id()));
        let built = folder.join("deps");
        fs::create_dir_all(&built).unwrap();
        for name in ["libstd-0a1b.rlib", "libcore-2c.rlib", "libstd-0a1b.rmeta", "core-2c.d"] {
            fs::write(built.join(name), name).unwrap();
        }
        fs::write(built.join(format!("lib{SEED}-3d.rlib")), "").unwrap();
        let installed = folder.join("installed");
        for _ in 0..2 {
            copy_libraries(&built, &installed, "rustc 1.96.0\n").unwrap();
        }
        let mut names: Vec<String> = fs::read_dir(installed.join("lib"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["libcore-2c.rlib", "libstd-0a1b.rlib", STAMP]);
        assert!(has_standard_library(&installed.join("lib")));
        assert!(!has_standard_library(&folder));
        fs::remove_dir_all(&folder).unwrap();
    }
}
