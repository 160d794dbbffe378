//! How many cases of other systems' answers the reference tests held ours against.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use crate::process::{self, TaskResult};
use crate::project::Project;

/// The variable that names the file in which the tests note the cases of each reference file: `TARGET FILE CASES` in a line.
const VARIABLE: &str = "SERVESCOPE_CASES";

/// Runs the tests, and prints the cases by test target and by the folder that the files lie in.
pub(super) fn counted(project: &Project, tests: &mut Command) -> TaskResult {
    let path = project.root().join("target/check/cases.txt");
    let described = |error: std::io::Error| format!("{}: {error}", path.display());
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&path, ""))
        .map_err(described)?;
    process::run(tests.env(VARIABLE, &path))?;
    process::say(&table(&fs::read_to_string(&path).map_err(described)?));
    Ok(())
}

fn table(notes: &str) -> String {
    let mut sums: BTreeMap<(&str, &str), (u32, u64)> = BTreeMap::new();
    for line in notes.lines() {
        let mut words = line.split(' ');
        let (Some(target), Some(file)) = (words.next(), words.next()) else { continue };
        let cases = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let folder = file.split_once('/').map_or("", |(folder, _)| folder);
        let sum = sums.entry((target, folder)).or_default();
        *sum = (sum.0 + 1, sum.1 + cases);
    }
    let mut text = "Held against what other systems computed or recorded:\n".to_owned();
    for ((target, folder), (files, cases)) in sums {
        let _ = writeln!(text, "{target:<18} {folder:<36} {cases:>7} cases in {files} checks of its files");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn cases_add_up_by_target_and_folder() {
        let notes = "reference_slora slora/a.jsonl 20\nreference_slora slora/b.jsonl 3\nreference_vidur s02/requests.csv 7\n";
        let table = super::table(notes);
        let lines: Vec<Vec<&str>> =
            table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0][..4], ["reference_slora", "slora", "23", "cases"]);
        assert_eq!(lines[1][..4], ["reference_vidur", "s02", "7", "cases"]);
        assert_eq!(lines.len(), 2);
    }
}
