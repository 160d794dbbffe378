//! What the tests of several crates share: how many cases a property is tried with.

pub mod server;

use proptest::test_runner::Config;

/// Whether this is a run of everything: `cargo xtask test --whole` sets `SERVESCOPE_WHOLE` to 1.
pub fn is_whole() -> bool {
    std::env::var_os("SERVESCOPE_WHOLE").is_some_and(|value| value == "1")
}

/// The configuration of a property: this many cases in the quick check, this many in the whole one.
///
/// Properties without a number of their own take proptest's, 256. `PROPTEST_CASES` would be taken in place of either.
pub fn cases(quick: u32, whole: u32) -> Config {
    Config::with_cases(chosen(quick, whole, is_whole()))
}

/// A test of the program that it stands in, `tests/main.rs`: every file and folder beside that one is a module of it. Cargo
/// looks for none by itself there, and a file that is not named would pass without being compiled.
#[macro_export]
macro_rules! every_file_is_a_module {
    () => {
        #[test]
        fn every_file_is_a_module() {
            $crate::assert_modules(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"), include_str!("main.rs"));
        }
    };
}

/// # Panics
/// If the folder has a source that `main` does not name.
pub fn assert_modules(folder: &str, main: &str) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let names = entries.flatten().filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()));
    for name in names.filter(|name| name != "main" && !name.ends_with("proptest-regressions")) {
        assert!(main.contains(&format!("mod {name};")), "{folder}: main.rs has no `mod {name};`");
    }
}

fn chosen(quick: u32, whole: u32, is_whole: bool) -> u32 {
    if is_whole { whole } else { quick }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_check_tries_all_cases() {
        assert_eq!((chosen(100, 1_000, false), chosen(100, 1_000, true)), (100, 1_000));
        assert_eq!(cases(5, 5).cases, 5);
    }
}
