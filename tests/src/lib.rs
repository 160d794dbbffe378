//! Where the reference files are, and how they are walked.
//!
//! A test over reference files passes for any folder of the same form, whatever subset of the files it holds. A folder
//! that is absent is said so and skipped, and fails where `CI` is set.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder named by `variable`, or `default` beside the repository; `None` (said on stdout) if it is not there.
///
/// # Panics
/// If the folder is absent and `CI` is set.
pub fn folder(variable: &str, default: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(default),
        PathBuf::from,
    );
    if path.is_dir() {
        return Some(path);
    }
    println!("{} is absent: skipped (set {variable} to a folder)", path.display());
    assert!(std::env::var_os("CI").is_none(), "{} is absent", path.display());
    None
}

/// Every file below `root` whose name `wanted` accepts, in order of its path.
pub fn files(root: &Path, wanted: impl Fn(&str) -> bool + Copy) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, wanted));
        } else if path.file_name().and_then(|n| n.to_str()).is_some_and(wanted) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The objects of a JSONL file.
///
/// # Panics
/// If the file cannot be read or a line is no JSON: a broken reference must not pass.
pub fn json_lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}

/// Says how many cases of a file were checked.
pub fn told(path: &Path, cases: usize) {
    println!(
        "{}: checked {cases} cases",
        path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into())
    );
}
