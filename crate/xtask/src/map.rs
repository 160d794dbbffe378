//! The map of the repository in CONTRIBUTING.md leads to files that exist.

use std::fs;

use crate::project;

/// Paths between backticks that begin with a folder of the repository.
fn paths(text: &str) -> Vec<&str> {
    let folders = ["crate/", "www/", "docs/", "tests/", "static/"];
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|word| folders.iter().any(|folder| word.starts_with(folder))).collect()
}

#[test]
fn every_path_of_the_map_exists() {
    let root = project::root();
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let named = paths(&text);
    assert!(named.len() > 20, "{named:?}");
    for path in named {
        assert!(root.join(path).exists(), "CONTRIBUTING.md: there is no {path}");
    }
}

#[test]
fn paths_are_told_from_other_words() {
    assert_eq!(paths("see `crate/csv`, `cargo xtask`, and `www/README.md`"), ["crate/csv", "www/README.md"]);
}
