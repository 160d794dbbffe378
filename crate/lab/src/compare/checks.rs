//! Whether the intervals of a comparison hold what they promise: false alarms between equal settings, a small difference that
//! is found, and what common random numbers are worth. `servescope validate` prints it.

use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;

use super::interval::Paired;
use crate::metric::{Measured, Metric};
use crate::replications::with_seed;
use crate::threads::on_threads;

/// S-LoRA's default workload (S1) below its capacity.
const RATE: &str = "1.5";

/// 0.8 of the capacity that `servescope capacity` finds for S1, 1.61 requests a second.
const LOAD_RATE: &str = "1.29";

/// Pairs of one comparison between equal settings, and seeds of one that must find a difference.
const PAIRS: usize = 10;

/// The relative difference of mean TTFT that must be found.
const DIFFERENCE: f64 = 0.03;

/// The share of comparisons that must find it.
const FOUND: f64 = 0.95;

/// How often common random numbers must shrink the interval.
const SHRINK: f64 = 3.0;

/// How much is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Comparisons of equal settings.
    pub alarm_trials: usize,
    /// Comparisons that must find a difference.
    pub power_trials: usize,
    /// Seeds of a comparison with common random numbers and without.
    pub seeds: usize,
}

impl Extent {
    /// All of it: some minutes.
    pub const WHOLE: Self = Self { alarm_trials: 1000, power_trials: 100, seeds: 200 };
    /// Some seconds.
    pub const QUICK: Self = Self { alarm_trials: 100, power_trials: 20, seeds: 40 };
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Checks {
    /// Comparisons of equal settings.
    pub alarm_trials: usize,
    /// Of them, those that showed a difference, by metric.
    pub alarms: Vec<(Metric, usize)>,
    /// The duration of a decode iteration in B at which mean TTFT differs by [`DIFFERENCE`], and in A, milliseconds.
    pub decode_base_ms: [f64; 2],
    /// The relative difference of mean TTFT at that duration over all seeds.
    pub difference: f64,
    /// Comparisons of [`PAIRS`] seeds.
    pub power_trials: usize,
    /// Of them, those that showed the difference in its direction.
    pub found: usize,
    /// A change and the factor by which common random numbers shrink the interval of mean TTFT: by the formula from the
    /// same runs, and measured with other seeds in B.
    pub shrink: Vec<(&'static str, f64, f64)>,
}

impl Checks {
    /// The most false alarms: 5 % and 2.91 standard deviations, 70 of 1,000.
    pub fn most_alarms(&self) -> usize {
        let n = self.alarm_trials as f64;
        (0.05 * n + 2.91 * (0.05 * 0.95 * n).sqrt()) as usize
    }

    /// Whether every promise is kept.
    pub fn is_met(&self) -> [bool; 3] {
        let most = self.most_alarms();
        [
            self.alarms.iter().all(|(_, alarms)| *alarms <= most),
            self.found as f64 >= FOUND * self.power_trials as f64,
            self.shrink.iter().all(|(_, by_formula, _)| *by_formula > SHRINK),
        ]
    }
}

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    Scenario::of_version(4).with(settings).expect("the setting is sound")
}

/// Metrics of runs with the seeds from `first` on.
fn runs(
    scenario: &Scenario,
    metrics: &[Metric],
    first: usize,
    count: usize,
    threads: usize,
) -> Vec<Measured> {
    on_threads(count, threads, |place| {
        let scenario = with_seed(scenario, (first + place) as u64);
        Measured::simulate(&scenario, None, metrics).expect("the setting is sound")
    })
}

fn pairs(a: &[Measured], b: &[Measured], metric: usize) -> Vec<(f64, f64)> {
    let both = a.iter().zip(b);
    both.filter_map(|(a, b)| Some((a.values[metric]?, b.values[metric]?))).collect()
}

fn is_significant(a: &[Measured], b: &[Measured], metric: usize) -> bool {
    Paired::of(&pairs(a, b, metric)).is_some_and(|paired| paired.is_significant())
}

/// Makes every check, on `threads` threads; the result does not depend on how many.
pub fn check(extent: Extent, threads: usize) -> Checks {
    let metrics = Metric::parse_all(["ttft_s.mean", "ttft_s.p90"]).expect("they are of the summary");
    let one = scenario(&[("workload.rate_rps", RATE)]);
    // Equal settings with other seeds on either side.
    let all = runs(&one, &metrics, 1_000_000, 2 * PAIRS * extent.alarm_trials, threads);
    let of = |(place, metric): (usize, &Metric)| {
        let reported =
            all.chunks(2 * PAIRS).filter(|pair| is_significant(&pair[..PAIRS], &pair[PAIRS..], place));
        (metric.clone(), reported.count())
    };
    let alarms = metrics.iter().enumerate().map(of).collect();
    let power = power(&one, &metrics, extent.power_trials, threads);
    Checks {
        alarm_trials: extent.alarm_trials,
        alarms,
        decode_base_ms: power.0,
        difference: power.1,
        power_trials: extent.power_trials,
        found: power.2,
        shrink: shrink(&metrics, extent.seeds, threads),
    }
}

/// The decode base times of A and of B, the difference over all seeds, and how many trials find it.
fn power(one: &Scenario, metrics: &[Metric], trials: usize, threads: usize) -> ([f64; 2], f64, usize) {
    let seeds = PAIRS * trials;
    let a = runs(one, metrics, 1, seeds, threads);
    let slower = |ms: f64| {
        let mut scenario = one.clone();
        scenario.set(Id::DecodeBase, Value::Number(ms)).expect("it is within bounds");
        runs(&scenario, metrics, 1, seeds, threads)
    };
    let relative =
        |b: &[Measured]| Paired::of(&pairs(&a, b, 0)).and_then(|paired| paired.relative).unwrap_or(f64::NAN);
    let base_ms = one.number(Id::DecodeBase);
    let (mut low, mut high) = (base_ms, 1.2 * base_ms);
    let mut best = (high, slower(high));
    for _ in 0..10 {
        let middle = 0.5 * (low + high);
        let b = slower(middle);
        if relative(&b) < DIFFERENCE {
            low = middle;
        } else {
            high = middle;
        }
        if (relative(&b) - DIFFERENCE).abs() < (relative(&best.1) - DIFFERENCE).abs() {
            best = (middle, b);
        }
    }
    let found = a.chunks(PAIRS).zip(best.1.chunks(PAIRS)).filter(|(a, b)| {
        Paired::of(&pairs(a, b, 0)).is_some_and(|paired| paired.is_significant() && paired.difference > 0.0)
    });
    ([base_ms, best.0], relative(&best.1), found.count())
}

/// Changes of the scheduler at load 0.8.
fn shrink(metrics: &[Metric], seeds: usize, threads: usize) -> Vec<(&'static str, f64, f64)> {
    let changes = [
        ("S-LoRA, FCFS -> LIFO", "scheduler.order", "lifo"),
        ("S-LoRA -> LightLLM", "scheduler.kind", "lightllm"),
    ];
    let load = ("workload.rate_rps", LOAD_RATE);
    let a = runs(&scenario(&[load]), metrics, 1, seeds, threads);
    let of = |(title, path, value): (&'static str, &str, &str)| {
        let b = runs(&scenario(&[load, (path, value)]), metrics, 1, seeds, threads);
        let apart = runs(&scenario(&[load, (path, value)]), metrics, 1 + seeds, seeds, threads);
        let width = |b: &[Measured]| {
            let bounds = Paired::of(&pairs(&a, b, 0)).and_then(|paired| paired.bounds);
            bounds.map_or(f64::NAN, |bounds| bounds.high - bounds.low)
        };
        let by_formula = Paired::of(&pairs(&a, &b, 0)).and_then(|paired| paired.shrink).unwrap_or(f64::NAN);
        (title, by_formula, width(&apart) / width(&b))
    };
    changes.into_iter().map(of).collect()
}

/// The checks as a table.
pub fn table(checks: &Checks) -> String {
    let verdict = |met: bool| if met { "ok" } else { "OFF" };
    let [alarms, power, shrink] = checks.is_met();
    let mut lines = vec![format!(
        "Comparisons of S1, R = {RATE}, by {PAIRS} pairs of runs, and what common random numbers are worth"
    )];
    for (metric, count) in &checks.alarms {
        lines.push(format!(
            "equal settings, other seeds: {:<12} {count} of {} comparisons show a difference (95 %; at most {})  {}",
            metric.path(),
            checks.alarm_trials,
            checks.most_alarms(),
            verdict(alarms)
        ));
    }
    lines.push(format!(
        "decode base {} -> {:.4} ms: mean TTFT {:+.2} % over {} seeds; {} of {} comparisons of {PAIRS} seeds find it  {}",
        checks.decode_base_ms[0],
        checks.decode_base_ms[1],
        100.0 * checks.difference,
        PAIRS * checks.power_trials,
        checks.found,
        checks.power_trials,
        verdict(power)
    ));
    for (title, by_formula, measured) in &checks.shrink {
        lines.push(format!(
            "load 0.8 (R = {LOAD_RATE}), {title}: common random numbers make the interval of mean TTFT {by_formula:.1} times narrower ({measured:.1} times measured with other seeds)  {}",
            verdict(shrink)
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small part of what `servescope validate` does; the seeds are fixed, so the result is.
    #[test]
    fn intervals_hold_what_they_promise() {
        let checks = check(Extent { alarm_trials: 40, power_trials: 3, seeds: 12 }, 2);
        assert_eq!(checks.is_met(), [true; 3], "{}", table(&checks));
        assert!((checks.difference - DIFFERENCE).abs() < 0.003, "{}", table(&checks));
        assert_eq!(Checks { alarm_trials: 1000, ..checks }.most_alarms(), 70);
    }
}
