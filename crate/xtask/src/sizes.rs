//! What the built page weighs on the wire.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use crate::hash;
use crate::process::{self, Outcome};
use crate::project::Project;

/// Prints the compressed size of each file named after the kind of compression.
const MEASURE: &str = "
import { readFileSync } from 'node:fs';
import { brotliCompressSync, gzipSync } from 'node:zlib';
const [kind, ...files] = process.argv.slice(1);
const compress = kind === 'brotli' ? brotliCompressSync : (bytes) => gzipSync(bytes, { level: 9 });
for (const file of files) console.log(compress(readFileSync(file)).length);
";

/// What the names of the files begin with that the page fetches later.
const LATER: [&str; 11] = [
    "engine",
    "studio",
    "capacity",
    "deployment",
    "published",
    "replicas",
    "monitor",
    "gateway",
    "profile",
    "perfetto",
    "help",
];

/// Bytes of everything of one kind in `dist/`, compressed as a host would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Sizes {
    pub(crate) wasm_brotli: u64,
    pub(crate) js_gzip: u64,
    pub(crate) later_wasm_brotli: u64,
    pub(crate) later_js_gzip: u64,
}

/// Builds the page, weighs it, and fails when it is heavier than `wasm-pack.toml` allows.
pub(crate) fn check(project: &Project) -> Outcome {
    let sizes = measure(project)?;
    let budget = &project.settings().budget;
    let over: Vec<String> = [
        ("wasm (brotli)", sizes.wasm_brotli, budget.start.wasm_brotli),
        ("scripts (gzip)", sizes.js_gzip, budget.start.js_gzip),
        ("wasm fetched later (brotli)", sizes.later_wasm_brotli, budget.later.wasm_brotli),
        ("scripts fetched later (gzip)", sizes.later_js_gzip, budget.later.js_gzip),
    ]
    .into_iter()
    .filter_map(|(what, bytes, most)| {
        println!("{what}: {bytes} of {most} bytes");
        (bytes > most).then(|| format!("{what}: {} bytes over the budget", bytes - most))
    })
    .collect();
    if over.is_empty() { Ok(()) } else { Err(over.join("; ")) }
}

/// Builds the page and weighs it.
pub(crate) fn measure(project: &Project) -> Outcome<Sizes> {
    project.page()?;
    let (later, start): (Vec<PathBuf>, Vec<PathBuf>) =
        hash::files_under(&project.dist()).into_iter().partition(|file| is_later(file));
    Ok(Sizes {
        wasm_brotli: compressed("brotli", &with_extension(&start, "wasm"))?,
        js_gzip: compressed("gzip", &with_extension(&start, "js"))?,
        later_wasm_brotli: compressed("brotli", &with_extension(&later, "wasm"))?,
        later_js_gzip: compressed("gzip", &with_extension(&later, "js"))?,
    })
}

fn is_later(file: &Path) -> bool {
    file.file_name().is_some_and(|name| LATER.iter().any(|later| name.to_string_lossy().starts_with(later)))
}

fn with_extension<'a>(files: &'a [PathBuf], extension: &str) -> Vec<&'a Path> {
    files
        .iter()
        .map(PathBuf::as_path)
        .filter(|file| file.extension().is_some_and(|present| present == extension))
        .collect()
}

fn compressed(kind: &str, files: &[&Path]) -> Outcome<u64> {
    if files.is_empty() {
        return Err(format!("dist has nothing to measure with {kind}"));
    }
    let node = process::find(&["node"]).ok_or("node is missing")?;
    let printed = process::capture(
        Command::new(node).args(["--input-type=module", "--eval", MEASURE, "--", kind]).args(files),
    )?;
    sum(&printed)
}

fn sum(lines: &str) -> Outcome<u64> {
    lines.lines().map(|line| line.parse::<u64>().map_err(|error| format!("{line}: {error}"))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_summed() {
        assert_eq!(sum("12\n30\n"), Ok(42));
        assert!(sum("12\nmuch\n").is_err());
    }

    #[test]
    fn files_are_taken_by_their_extension() {
        let files = ["a.js", "b.wasm", "c.js.map", "d.js"].map(PathBuf::from);
        assert_eq!(with_extension(&files, "js"), [Path::new("a.js"), Path::new("d.js")]);
    }
}
