//! What the built page weighs on the wire, held to what it weighed when it was last accepted: a ratchet. The build's manifest
//! says which files the page fetches until it is ready; a test in a browser holds it to what is fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::modules;
use crate::process::{self, Outcome};
use crate::project::Project;

/// The accepted sizes, at the top of the project.
const FILE: &str = "sizes.json";
/// The manifest of the built page.
const MANIFEST: &str = "files.json";

/// How far above the accepted size a sum may grow before that must be accepted.
const HEADROOM: f64 = 0.05;

/// What all that is fetched until the page is ready should stay below, bytes.
const AIM: u64 = 550_000;

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

/// Builds the page, weighs it, and fails where a sum is heavier than it was accepted, and more than the headroom, or where
/// the simulator is in the module that does without it.
pub(crate) fn check(project: &Project) -> Outcome {
    let (lines, over) = compare(measure(project)?, read(project.root())?);
    modules::check(&project.dist())?;
    lines.iter().for_each(|line| process::say(line));
    if over.is_empty() {
        return Ok(());
    }
    Err(format!("{}; `cargo xtask weigh --accept` takes the page as it is", over.join("; ")))
}

/// Prints what the page weighs, and takes that as the new bound where it is to be accepted.
pub(crate) fn weigh(project: &Project, accept: bool) -> Outcome {
    let sizes = measure(project)?;
    let accepted = if accept { sizes } else { read(project.root())? };
    compare(sizes, accepted).0.iter().for_each(|line| process::say(line));
    if accept {
        let text = serde_json::to_string_pretty(&sizes).map_err(|error| error.to_string())?;
        fs::write(project.root().join(FILE), text + "\n").map_err(|error| format!("{FILE}: {error}"))?;
    }
    Ok(())
}

fn read(root: &Path) -> Outcome<Sizes> {
    let text = fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{FILE}: {error}"))
}

/// A line for each sum, and those that are too heavy. What has become lighter is to be accepted too, or it could grow back.
fn compare(found: Sizes, accepted: Sizes) -> (Vec<String>, Vec<String>) {
    let (mut lines, mut over) = (Vec::new(), Vec::new());
    for ((what, bytes), (_, before)) in found.sums().into_iter().zip(accepted.sums()) {
        let growth = 100.0 * (bytes as f64 / before as f64 - 1.0);
        lines.push(format!("{what}: {bytes} bytes, {growth:+.1} % to the accepted {before}"));
        if bytes as f64 > before as f64 * (1.0 + HEADROOM) {
            over.push(format!("{what}: {bytes} bytes, {growth:+.1} %"));
        }
        if (bytes as f64) < before as f64 * (1.0 - HEADROOM) {
            lines.push("  lighter: `cargo xtask weigh --accept` keeps it so".to_owned());
        }
    }
    if found.until_ready > AIM {
        lines.push(format!("  above the aim of {AIM} bytes until the page is ready"));
    }
    (lines, over)
}

/// Builds the page and weighs it.
pub(crate) fn measure(project: &Project) -> Outcome<Sizes> {
    project.page()?;
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
fn compressed(dist: &Path, names: &[&str]) -> Outcome<u64> {
    if names.is_empty() {
        return Err(format!("{MANIFEST} names nothing to measure"));
    }
    let node = process::find(&["node"]).ok_or("node is missing")?;
    let files = names.iter().map(|name| dist.join(if name.is_empty() { "index.html" } else { name }));
    let printed = process::capture(
        Command::new(node).args(["--input-type=module", "--eval", MEASURE, "--"]).args(files),
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
    fn a_sum_may_grow_by_the_headroom_and_no_more() {
        let of = |until_ready| Sizes { until_ready, later_wasm: 10, later_js: 10 };
        assert!(compare(of(1_050), of(1_000)).1.is_empty());
        assert_eq!(compare(of(1_051), of(1_000)).1, ["all until the page is ready: 1051 bytes, +5.1 %"]);
        let (lines, over) = compare(of(900), of(1_000));
        assert_eq!(lines[0], "all until the page is ready: 900 bytes, -10.0 % to the accepted 1000");
        assert!(over.is_empty() && lines[1].contains("weigh --accept"), "{lines:?}");
    }

    #[test]
    fn what_is_above_the_aim_is_told() {
        let of = |until_ready| Sizes { until_ready, later_wasm: 10, later_js: 10 };
        let is_told = |bytes| compare(of(bytes), of(bytes)).0.iter().any(|line| line.contains("aim"));
        assert!(is_told(AIM + 1) && !is_told(AIM));
    }

    #[test]
    fn the_accepted_sizes_can_be_read() {
        assert!(read(&crate::project::root()).unwrap().sums().iter().all(|(_, bytes)| *bytes > 0));
    }

    #[test]
    fn files_are_taken_by_their_extension() {
        let names = ["a.js", "b.wasm", "c.js.map", "assets/d.js", ""];
        let scripts: Vec<&str> = names.into_iter().filter(|name| has_extension(name, "js")).collect();
        assert_eq!(scripts, ["a.js", "assets/d.js"]);
    }
}
