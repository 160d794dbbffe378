//! What the built page weighs on the wire, held to what it weighed when it was last accepted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::hash;
use crate::process::{self, Outcome};
use crate::project::Project;

/// The accepted sizes, at the top of the project.
const FILE: &str = "sizes.json";

/// How far above the accepted size a part may grow before that must be accepted.
const HEADROOM: f64 = 0.05;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sizes {
    pub(crate) wasm_brotli: u64,
    pub(crate) js_gzip: u64,
    /// The page itself, its styles, English texts and presets.
    pub(crate) rest_gzip: u64,
    pub(crate) later_wasm_brotli: u64,
    pub(crate) later_js_gzip: u64,
}

impl Sizes {
    fn parts(self) -> [(&'static str, u64); 5] {
        [
            ("wasm (brotli)", self.wasm_brotli),
            ("scripts (gzip)", self.js_gzip),
            ("page, styles, texts and presets (gzip)", self.rest_gzip),
            ("wasm fetched later (brotli)", self.later_wasm_brotli),
            ("scripts fetched later (gzip)", self.later_js_gzip),
        ]
    }
}

/// Builds the page, weighs it, and fails where a part is heavier than it was accepted, and more than the headroom.
pub(crate) fn check(project: &Project) -> Outcome {
    let (lines, over) = compare(measure(project)?, read(project.root())?);
    lines.iter().for_each(|line| process::say(line));
    if over.is_empty() {
        return Ok(());
    }
    Err(format!("{}; `cargo xtask weigh --accept` takes the page as it is", over.join("; ")))
}

/// Tells what the page weighs, and takes that as the new bound where it is to be accepted.
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

/// A line for each part, and those that are too heavy.
fn compare(found: Sizes, accepted: Sizes) -> (Vec<String>, Vec<String>) {
    let (mut lines, mut over) = (Vec::new(), Vec::new());
    for ((what, bytes), (_, before)) in found.parts().into_iter().zip(accepted.parts()) {
        let growth = 100.0 * (bytes as f64 / before as f64 - 1.0);
        lines.push(format!("{what}: {bytes} bytes, {growth:+.1} % to the accepted {before}"));
        if bytes as f64 > before as f64 * (1.0 + HEADROOM) {
            over.push(format!("{what}: {bytes} bytes, {growth:+.1} %"));
        }
    }
    (lines, over)
}

/// Builds the page and weighs it.
pub(crate) fn measure(project: &Project) -> Outcome<Sizes> {
    project.page()?;
    let dist = project.dist();
    let (later, start): (Vec<PathBuf>, Vec<PathBuf>) =
        hash::files_under(&dist).into_iter().partition(|file| is_later(file));
    let mut rest = with_extension(&start, "html");
    rest.extend(with_extension(&start, "css"));
    rest.extend(with_extension(&start, "json").into_iter().filter(|file| is_read_at_start(file, &dist)));
    Ok(Sizes {
        wasm_brotli: compressed("brotli", &with_extension(&start, "wasm"))?,
        js_gzip: compressed("gzip", &with_extension(&start, "js"))?,
        rest_gzip: compressed("gzip", &rest)?,
        later_wasm_brotli: compressed("brotli", &with_extension(&later, "wasm"))?,
        later_js_gzip: compressed("gzip", &with_extension(&later, "js"))?,
    })
}

fn is_later(file: &Path) -> bool {
    file.file_name().is_some_and(|name| LATER.iter().any(|later| name.to_string_lossy().starts_with(later)))
}

/// Of the data, an English reader's page reads its texts and the presets before it is ready.
fn is_read_at_start(file: &Path, dist: &Path) -> bool {
    let inside = file.strip_prefix(dist).unwrap_or(file);
    let name = inside.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    inside.starts_with("presets") || (inside.starts_with("assets") && !name.starts_with("zh"))
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
    fn a_part_may_grow_by_the_headroom_and_no_more() {
        let of = |wasm_brotli| Sizes {
            wasm_brotli,
            js_gzip: 10,
            rest_gzip: 10,
            later_wasm_brotli: 10,
            later_js_gzip: 10,
        };
        assert!(compare(of(1_050), of(1_000)).1.is_empty());
        assert_eq!(compare(of(1_051), of(1_000)).1, ["wasm (brotli): 1051 bytes, +5.1 %"]);
        assert_eq!(
            compare(of(900), of(1_000)).0[0],
            "wasm (brotli): 900 bytes, -10.0 % to the accepted 1000"
        );
    }

    #[test]
    fn the_accepted_sizes_can_be_read() {
        assert!(read(&crate::project::root()).unwrap().parts().iter().all(|(_, bytes)| *bytes > 0));
    }

    #[test]
    fn files_are_taken_by_their_extension() {
        let files = ["a.js", "b.wasm", "c.js.map", "d.js"].map(PathBuf::from);
        assert_eq!(with_extension(&files, "js"), [Path::new("a.js"), Path::new("d.js")]);
    }

    #[test]
    fn what_an_english_page_reads_is_counted() {
        let dist = Path::new("/dist");
        let is_read = |name: &str| is_read_at_start(&dist.join(name), dist);
        assert!(is_read("presets/first.json") && is_read("assets/parameter-text-a1.json"));
        assert!(!is_read("profiles/a100.json") && !is_read("assets/zh-b2.json") && !is_read("files.json"));
    }
}
