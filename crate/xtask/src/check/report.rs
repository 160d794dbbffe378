//! The table that a check ends with.

use std::fmt::Write as _;
use std::time::Duration;

use super::budget::Budget;
use crate::process::TaskResult;

/// How one step ended.
pub(super) struct EndedStep {
    pub(super) name: &'static str,
    pub(super) outcome: TaskResult,
    pub(super) took: Duration,
}

/// One row a step, then the count and the time of all but the set-up; and whether all passed in time. One step above its
/// budget is reported, since machines differ and steps share the processor; only the total can fail the check, and has as many
/// times its budget as this machine takes times as long for the same work.
pub(super) fn table(ended: &[EndedStep], took: Duration, budget: Option<(&Budget, f64)>) -> (String, bool) {
    let mut text = String::new();
    for EndedStep { name, outcome, took } in ended {
        let (word, why) = match outcome {
            Ok(()) => ("passed", ""),
            Err(message) => ("FAILED", message.lines().next().unwrap_or_default()),
        };
        let seconds = took.as_secs_f64();
        let over = budget
            .and_then(|(budget, _)| budget.steps.get(*name))
            .filter(|&&most| seconds > most)
            .map_or_else(String::new, |most| format!("over its budget of {most:.0} s  "));
        let _ = writeln!(text, "{}", format!("{name:<10} {word} {seconds:>7.1} s  {over}{why}").trim_end());
    }
    let passed = ended.iter().filter(|step| step.outcome.is_ok()).count();
    let mut is_good = passed == ended.len();
    let _ = writeln!(text, "\n{passed} passed, {} failed", ended.len() - passed);
    let total = took.as_secs_f64();
    let Some((budget, slowdown)) = budget else {
        let _ = writeln!(text, "{total:.0} s in all");
        return (text, is_good);
    };
    // A faster machine is given no less.
    let most = budget.total_s * slowdown.max(1.0);
    let _ = writeln!(
        text,
        "this machine takes {slowdown:.2} times as long as the one that the budget of {:.0} s is for (checks.toml)",
        budget.total_s
    );
    if total > most * budget.fails_above {
        is_good = false;
        let _ = writeln!(
            text,
            "FAILED: {total:.0} s in all, more than {:.1} times the {most:.0} s that are its budget here",
            budget.fails_above
        );
    } else if total > most {
        let _ = writeln!(text, "{total:.0} s in all, over the {most:.0} s that are its budget here");
    } else {
        let _ = writeln!(text, "{total:.0} s in all, of {most:.0} s");
    }
    (text, is_good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(name: &'static str, outcome: TaskResult) -> EndedStep {
        EndedStep { name, outcome, took: Duration::from_millis(1250) }
    }

    fn budget() -> Budget {
        Budget { total_s: 10.0, fails_above: 1.5, sample_s: 0.1, steps: [("clippy".to_owned(), 1.0)].into() }
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
this machine takes 1.20 times as long as the one that the budget of 10 s is for (checks.toml)
3 s in all, of 12 s
";
        let (text, is_good) = table(&steps, Duration::from_secs(3), Some((&budget(), 1.2)));
        assert_eq!((text.as_str(), is_good), (expected, false));
    }

    #[test]
    fn only_the_total_fails_for_its_time() {
        let judged = |seconds, slowdown| {
            table(&[ended("clippy", Ok(()))], Duration::from_secs(seconds), Some((&budget(), slowdown)))
        };
        for (slowdown, [within, over, fails]) in [(1.0, [9, 15, 16]), (0.5, [9, 15, 16]), (2.0, [19, 30, 31])]
        {
            let (text, is_good) = judged(within, slowdown);
            assert!(is_good && text.contains(" s in all, of "), "{text}");
            let (text, is_good) = judged(over, slowdown);
            assert!(is_good && text.contains(" s in all, over the "), "{text}");
            let (text, is_good) = judged(fails, slowdown);
            assert!(!is_good && text.contains("FAILED: "), "{text}");
        }
        assert!(table(&[], Duration::from_secs(99), None).1);
    }
}
