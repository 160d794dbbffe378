//! The table that a check ends with.

use std::fmt::Write as _;
use std::time::Duration;

use super::budget::Budget;
use crate::process::Outcome;

/// How one step ended.
pub(super) struct Ended {
    pub(super) name: &'static str,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
}

/// One row a step, then the count and the time of all but the set-up; and whether all passed in time. One step above its
/// budget is reported, since machines differ and steps share the processor; only the total can fail the check.
pub(super) fn table(ended: &[Ended], took: Duration, budget: Option<&Budget>) -> (String, bool) {
    let mut text = String::new();
    for Ended { name, outcome, took } in ended {
        let (word, why) = match outcome {
            Ok(()) => ("passed", ""),
            Err(message) => ("FAILED", message.lines().next().unwrap_or_default()),
        };
        let seconds = took.as_secs_f64();
        let over = budget
            .and_then(|budget| budget.steps.get(*name))
            .filter(|&&most| seconds > most)
            .map_or_else(String::new, |most| format!("over its budget of {most:.0} s  "));
        let _ = writeln!(text, "{}", format!("{name:<10} {word} {seconds:>7.1} s  {over}{why}").trim_end());
    }
    let passed = ended.iter().filter(|step| step.outcome.is_ok()).count();
    let mut is_good = passed == ended.len();
    let _ = writeln!(text, "\n{passed} passed, {} failed", ended.len() - passed);
    let total = took.as_secs_f64();
    match budget {
        Some(budget) if total > budget.total_s * budget.fails_above => {
            is_good = false;
            let _ = writeln!(
                text,
                "FAILED: {total:.0} s in all, more than {:.1} times the budget of {:.0} s (checks.toml)",
                budget.fails_above, budget.total_s
            );
        }
        Some(budget) if total > budget.total_s => {
            let _ = writeln!(text, "{total:.0} s in all, over the budget of {:.0} s", budget.total_s);
        }
        Some(budget) => {
            let _ = writeln!(text, "{total:.0} s in all, of {:.0} s", budget.total_s);
        }
        None => {
            let _ = writeln!(text, "{total:.0} s in all");
        }
    }
    (text, is_good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(name: &'static str, outcome: Outcome) -> Ended {
        Ended { name, outcome, took: Duration::from_millis(1250) }
    }

    fn budget() -> Budget {
        Budget { total_s: 10.0, fails_above: 1.5, steps: [("clippy".to_owned(), 1.0)].into() }
    }

    #[test]
    fn the_table_ends_with_the_count_and_the_time() {
        let steps = [
            ended("format", Ok(())),
            ended("clippy", Err("cargo clippy: exit status: 101\nmore".to_owned())),
        ];
        let expected = "\
format     passed     1.2 s
clippy     FAILED     1.2 s  over its budget of 1 s  cargo clippy: exit status: 101

1 passed, 1 failed
3 s in all, of 10 s
";
        assert_eq!(table(&steps, Duration::from_secs(3), Some(&budget())), (expected.to_owned(), false));
    }

    #[test]
    fn only_the_total_fails_for_its_time() {
        let judged =
            |seconds| table(&[ended("clippy", Ok(()))], Duration::from_secs(seconds), Some(&budget()));
        assert!(judged(9).1);
        let (text, is_good) = judged(15);
        assert!(is_good && text.ends_with("15 s in all, over the budget of 10 s\n"), "{text}");
        let (text, is_good) = judged(16);
        assert!(!is_good && text.contains("FAILED: 16 s in all, more than 1.5 times"), "{text}");
        assert!(table(&[], Duration::from_secs(99), None).1);
    }
}
