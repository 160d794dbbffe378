//! The table that a check ends with.

use std::fmt::Write as _;
use std::time::Duration;

use super::CheckStep;
use crate::process::TaskResult;

/// How one step ended.
pub(super) struct EndedStep<'a> {
    pub(super) step: &'a CheckStep,
    pub(super) outcome: TaskResult,
    pub(super) took: Duration,
}

/// One row a step, its time beside its budget, then the count and the time of all.
pub(super) fn table(ended: &[EndedStep<'_>], took: Duration, budget_s: Option<u32>) -> String {
    let of = |budget_s: Option<u32>| budget_s.map_or(String::new(), |seconds| format!("of {seconds} s"));
    let mut text = String::new();
    for EndedStep { step, outcome, took } in ended {
        let (word, why) = match outcome {
            Ok(()) => ("passed", ""),
            Err(message) => ("FAILED", message.lines().next().unwrap_or_default()),
        };
        let (name, seconds, budget) = (step.name, took.as_secs_f64(), of(step.budget_s));
        let row = format!("{name:<10} {word} {seconds:>7.1} s {budget:<8}  {why}");
        let _ = writeln!(text, "{}", row.trim_end());
    }
    let passed = ended.iter().filter(|step| step.outcome.is_ok()).count();
    let all = format!("{:.0} s in all {}", took.as_secs_f64(), of(budget_s));
    let _ = write!(text, "\n{passed} passed, {} failed\n{}\n", ended.len() - passed, all.trim_end());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_stands_beside_its_budget() {
        let step = |name| super::super::STEPS.iter().find(|step| step.name == name).unwrap();
        let ended = |name, outcome| EndedStep { step: step(name), outcome, took: Duration::from_secs(70) };
        let steps =
            [ended("fuzz", Ok(())), ended("clippy", Err("cargo clippy: exit status: 101\nmore".to_owned()))];
        let expected = "\
fuzz       passed    70.0 s
clippy     FAILED    70.0 s of 60 s   cargo clippy: exit status: 101

1 passed, 1 failed
99 s in all of 10 s
";
        assert_eq!(table(&steps, Duration::from_secs(99), Some(10)), expected);
    }
}
