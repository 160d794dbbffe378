//! The fuzz targets of `tests/fuzz`, compiled as tests: each replays its seeds, and variants of them that are the same on
//! every machine. So a target that no longer compiles, or a seed that fails, is seen by every change; a search for new
//! failures is `cargo xtask fuzz`, and part of `cargo xtask test --whole`.

// What the targets import: here, the macro that makes a function of a target.
extern crate self as libfuzzer_sys;

use std::path::{Path, PathBuf};

macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:block) => {
        pub(crate) fn target($bytes: &[u8]) $body
    };
}
use fuzz_target;

/// Variants of the seeds that each target is given.
const VARIANTS: usize = 2_000;

/// The longest input, as in the search.
const LONGEST: usize = 4096;

macro_rules! targets {
    ($($name:ident: $file:literal,)*) => {
        $(
            // `no_main` is for the program that the fuzzer drives; lints are for what is ours to read here.
            #[allow(unused_attributes, unused_imports, clippy::all, clippy::pedantic)]
            #[path = $file]
            mod $name;

            #[test]
            fn $name() {
                replay(stringify!($name), $name::target);
            }
        )*

        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

targets! {
    adapter_config: "fuzz/targets/adapter_config.rs",
    file_kind: "fuzz/targets/file_kind.rs",
    kernels: "fuzz/targets/kernels.rs",
    model_config: "fuzz/targets/model_config.rs",
    profile: "fuzz/targets/profile.rs",
    read_answer: "fuzz/targets/read_answer.rs",
    read_mapped: "fuzz/targets/read_mapped.rs",
    read_overlay: "fuzz/targets/read_overlay.rs",
    read_prompts: "fuzz/targets/read_prompts.rs",
    read_recording: "fuzz/targets/read_recording.rs",
    read_silicon: "fuzz/targets/read_silicon.rs",
    read_statistics: "fuzz/targets/read_statistics.rs",
    read_trace: "fuzz/targets/read_trace.rs",
    scenario: "fuzz/targets/scenario.rs",
    sweep: "fuzz/targets/sweep.rs",
    transform: "fuzz/targets/transform.rs",
    vidur: "fuzz/targets/vidur.rs",
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// Names of the files in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_target_is_here() {
    let files: Vec<String> = NAMES.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(names(&folder().join("targets")), files);
    let manifest = std::fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    for name in NAMES {
        assert!(
            manifest.contains(&format!("path = \"targets/{name}.rs\"")),
            "{name} is not in fuzz/Cargo.toml"
        );
    }
}

fn replay(name: &str, target: fn(&[u8])) {
    let corpus = folder().join("corpus").join(name);
    let seeds: Vec<Vec<u8>> =
        names(&corpus).iter().map(|seed| std::fs::read(corpus.join(seed)).unwrap()).collect();
    assert!(!seeds.is_empty(), "{name} has no seeds");
    for seed in &seeds {
        target(seed);
    }
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for _ in 0..VARIANTS {
        target(&variant(&seeds, &mut chance));
    }
}

/// Xorshift: the same draws on every machine.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// A seed after one to four changes: a bit, a byte, a piece gone, a piece twice, an end cut off, the end of another seed.
fn variant(seeds: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    const TELLING: &[u8] = b"0199-.,:;\"{}[]eE\n\r\t \0\xff";
    let mut bytes = seeds[chance.below(seeds.len())].clone();
    bytes.truncate(LONGEST);
    for _ in 0..=chance.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = chance.below(bytes.len());
        let end = at + chance.below((bytes.len() - at).min(64));
        match chance.below(6) {
            0 => bytes[at] ^= 1 << chance.below(8),
            1 => bytes[at] = TELLING[chance.below(TELLING.len())],
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            4 => bytes.truncate(at),
            _ => {
                let other = &seeds[chance.below(seeds.len())];
                bytes.truncate(at);
                bytes.extend(&other[chance.below(other.len())..]);
                bytes.truncate(LONGEST);
            }
        }
    }
    bytes
}
