//! What the built page weighs on the wire, held to the bounds of `sizes.json`. The one that a person feels is what is fetched
//! until the page is ready: 1.1 MB is .9 s at 10 Mbit/s, and the page is to be ready within a second. The build's manifest says
//! which files these are; a test in a browser holds it to what is fetched. The bound on the modules that are fetched later keeps
//! the simulator out of the studio: one call that reaches a run links all of it in.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::page;
use crate::process::{self, TaskResult};
use crate::project::Project;

/// The bounds, at the top of the project.
const FILE: &str = "sizes.json";
/// The manifest of the built page.
const MANIFEST: &str = "files.json";

/// Prints the size of each file, compressed as a host sends it: modules through brotli, all else through gzip.
const MEASURE: &str = "
import { readFileSync } from 'node:fs';
import { brotliCompressSync, gzipSync } from 'node:zlib';
const compress = (file, bytes) => (file.endsWith('.wasm') ? brotliCompressSync(bytes) : gzipSync(bytes, { level: 9 }));
for (const file of process.argv.slice(1)) console.log(compress(file, readFileSync(file)).length);
";

/// The built page's manifest: `Manifest` of www/src/offline/copy.ts.
#[derive(Debug, Deserialize)]
struct Manifest {
    /// Path beside the page -> its hash; the page itself has the empty path.
    files: BTreeMap<String, String>,
    /// Those that are fetched until the page is ready.
    start: BTreeSet<String>,
}

/// Bytes of the built page, compressed as a host sends them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sizes {
    /// All that is fetched until the page is ready.
    pub(crate) until_ready: u64,
    /// Modules and scripts that are fetched later, when what is in them is asked for.
    pub(crate) later_wasm: u64,
    pub(crate) later_js: u64,
}

impl Sizes {
    fn sums(self) -> [(&'static str, u64); 3] {
        [
            ("all until the page is ready", self.until_ready),
            ("modules fetched later", self.later_wasm),
            ("scripts fetched later", self.later_js),
        ]
    }
}

/// Builds the page, weighs it, and fails where a sum is above its bound.
pub(crate) fn check(project: &Project) -> TaskResult {
    let (lines, over) = compare(measure(project)?, read(project.root())?);
    lines.iter().for_each(|line| process::say(line));
    if over.is_empty() { Ok(()) } else { Err(over.join("; ")) }
}

/// Prints what the page weighs.
pub(crate) fn weigh(project: &Project) -> TaskResult {
    compare(measure(project)?, read(project.root())?).0.iter().for_each(|line| process::say(line));
    Ok(())
}

fn read(root: &Path) -> TaskResult<Sizes> {
    let text = fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{FILE}: {error}"))
}

/// A line for each sum, and those that are above their bounds.
fn compare(found: Sizes, bounds: Sizes) -> (Vec<String>, Vec<String>) {
    let sums = found.sums().into_iter().zip(bounds.sums());
    let line = |what, bytes, bound| format!("{what}: {bytes} bytes, at most {bound}");
    let lines = sums.clone().map(|((what, bytes), (_, bound))| line(what, bytes, bound)).collect();
    let over = sums.filter(|((_, bytes), (_, bound))| bytes > bound);
    (lines, over.map(|((what, bytes), (_, bound))| line(what, bytes, bound)).collect())
}

/// Builds the page and weighs it.
pub(crate) fn measure(project: &Project) -> TaskResult<Sizes> {
    page::build(project)?;
    let dist = project.dist();
    let text = fs::read_to_string(dist.join(MANIFEST)).map_err(|error| format!("{MANIFEST}: {error}"))?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|error| format!("{MANIFEST}: {error}"))?;
    let later = |extension: &str| -> Vec<&str> {
        let names = manifest.files.keys().filter(|name| !manifest.start.contains(*name));
        names.filter(|name| has_extension(name, extension)).map(String::as_str).collect()
    };
    let start: Vec<&str> = manifest.start.iter().map(String::as_str).collect();
    for extension in ["wasm", "js", "json"] {
        let names = start.iter().copied().filter(|name| has_extension(name, extension));
        let bytes = compressed(&dist, &names.collect::<Vec<_>>())?;
        process::say(&format!("until the page is ready, {extension}: {bytes} bytes"));
    }
    Ok(Sizes {
        until_ready: compressed(&dist, &start)?,
        later_wasm: compressed(&dist, &later("wasm"))?,
        later_js: compressed(&dist, &later("js"))?,
    })
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|present| present == extension)
}

/// The bytes of files of the page.
fn compressed(dist: &Path, names: &[&str]) -> TaskResult<u64> {
    if names.is_empty() {
        return Err(format!("{MANIFEST} names nothing to measure"));
    }
    let node = process::find(&["node"]).ok_or("node is missing")?;
    let files = names.iter().map(|name| dist.join(if name.is_empty() { "index.html" } else { name }));
    let printed = process::capture(
        Command::new(node).args(["--input-type=module", "--eval", MEASURE, "--"]).args(files),
    )?;
    printed.lines().map(|line| line.parse::<u64>().map_err(|error| format!("{line}: {error}"))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_may_reach_its_bound_and_no_more() {
        let of = |until_ready| Sizes { until_ready, later_wasm: 10, later_js: 10 };
        assert!(compare(of(1_000), of(1_000)).1.is_empty());
        let over = ["all until the page is ready: 1001 bytes, at most 1000"];
        assert_eq!(compare(of(1_001), of(1_000)).1, over);
    }
}
