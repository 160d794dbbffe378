//! What is in the page's two modules. One call of the studio that reaches the simulator links all of it in, a megabyte that every
//! reader of a file would fetch a second time.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::process::Outcome;

/// A panic names the file that it stands in, so a module has the path of nearly every file of which code is left in it.
const ENGINE: &str = "crate/engine/src/";

/// Fails where the studio's module has code of the engine.
pub(crate) fn check(dist: &Path) -> Outcome {
    without_engine(&module(dist, "servescope_bg")?, &module(dist, "studio_bg")?)
}

/// An error where the studio names a file of the engine, or the simulator none, so that nothing can be decided.
fn without_engine(simulator: &[u8], studio: &[u8]) -> Outcome {
    if files_of(simulator, ENGINE).is_empty() {
        return Err(
            "the simulator's module names no file of the engine: panics have lost their places".to_owned()
        );
    }
    let files = files_of(studio, ENGINE);
    if files.is_empty() {
        return Ok(());
    }
    let first: Vec<&str> = files.iter().take(3).map(String::as_str).collect();
    Err(format!(
        "the studio's module has the simulator in it: {} files of the engine, such as {}; what the studio calls must not reach a run",
        files.len(),
        first.join(", ")
    ))
}

/// The bytes of the one module of the built page whose name begins so.
fn module(dist: &Path, name: &str) -> Outcome<Vec<u8>> {
    let folder = dist.join("assets");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let is_it = |path: &std::path::PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        file.starts_with(name) && path.extension().is_some_and(|extension| extension == "wasm")
    };
    let path = paths.filter(is_it).min().ok_or_else(|| format!("{}: no {name}*.wasm", folder.display()))?;
    fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The source files below `folder` that are named in the bytes.
fn files_of(bytes: &[u8], folder: &str) -> BTreeSet<String> {
    let starts = bytes.windows(folder.len()).enumerate().filter(|(_, window)| *window == folder.as_bytes());
    let path = |(start, _): (usize, &[u8])| {
        let length = bytes[start..].iter().take_while(|byte| is_of_path(**byte)).count();
        let text = String::from_utf8_lossy(&bytes[start..start + length]);
        text.find(".rs").map(|end| text[..end + 3].to_owned())
    };
    starts.filter_map(path).collect()
}

fn is_of_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_with_the_simulator_in_it_is_found() {
        let simulator = b"\0crate/engine/src/engine.rscrate/engine/src/replica/run.rs\0";
        let studio = b"\0crate/lab/src/run.rs\0crate/workload/src/trace.rs";
        assert_eq!(without_engine(simulator, studio), Ok(()));
        let told = without_engine(
            simulator,
            b"crate/lab/src/run.rs\x01crate/engine/src/replica/run.rscrate/engine/src/engine.rs",
        );
        assert!(told.unwrap_err().contains("2 files of the engine, such as crate/engine/src/engine.rs"));
        assert!(without_engine(b"no place of any panic", studio).unwrap_err().contains("lost their places"));
    }
}
