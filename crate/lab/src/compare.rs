//! Which of two settings is better, by how much, and whether it is real.
//!
//! A and B are simulated with the same seeds, so that both see the same requests (common random numbers). What the pairs of
//! runs differ by has a confidence interval over the seeds ([`interval`]); one long run has batch means in their place
//! ([`batch_means`]). The two runs of one seed are also compared request by request ([`requests`]), and where they first decided
//! differently is reported ([`decisions`]). Where the better of the two
//! changes with a parameter is found by bisection ([`crate::crossover`]).
//!
//! This module says what to simulate and what the results mean. The caller simulates, on any number of threads: the result
//! does not depend on them. It keeps both runs of the first seed, for what compares their requests or their decisions.

pub mod batch_means;
pub mod checks;
pub mod decisions;
pub mod interval;
pub mod requests;
pub mod sentence;
mod task;

use std::fmt::Write as _;

use serde::Serialize;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::ordered::Ordered;

use crate::metric::{Measured, Metric};
use crate::run::Run;
use batch_means::{BATCHES, Batches, NoBatches, batched};
use interval::Paired;
use sentence::sentence;

pub use task::{ComparisonOutcome, Task, of_side};

/// What is said of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRow {
    /// The metric.
    pub metric: Metric,
    /// Its pairs; none where no run has it in both.
    pub paired: Option<Paired>,
    /// One plain sentence.
    pub sentence: String,
    /// Of one long run: what its batches are, or why there are none.
    pub one_run: Option<Result<Batches, NoBatches>>,
    /// The same in words; of seeds how many have it, where not all do.
    pub note: Option<String>,
}

/// A metric of A and B over the seeds: means, and the difference B - A with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ComparedMetric {
    /// Mean of A.
    pub a: Option<f64>,
    /// Mean of B.
    pub b: Option<f64>,
    /// B less A.
    pub difference: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The difference relative to A.
    pub relative: Option<f64>,
    /// Lower end of its interval.
    pub relative_low: Option<f64>,
    /// Upper end.
    pub relative_high: Option<f64>,
    /// Seeds that have the metric in both runs.
    pub seeds: usize,
    /// Batches of one run in place of seeds.
    pub batches: Option<usize>,
    /// How that run was divided.
    pub batch_means: Option<Batches>,
    /// Why one run has no interval.
    pub no_batches: Option<NoBatches>,
    /// By how much common random numbers shrink the interval.
    pub common_random_numbers_factor: Option<f64>,
    /// In English, as the terminal prints it.
    pub sentence: String,
    /// What a reader should know, in English.
    pub note: Option<String>,
}

impl ComparedMetric {
    fn of(row: &MetricRow, is_one_run: bool) -> Self {
        let paired = row.paired.as_ref();
        let bounds = paired.and_then(|p| p.bounds);
        let relative = paired.and_then(|p| p.relative_bounds);
        let is_batched = is_one_run && bounds.is_some();
        Self {
            a: paired.map(|p| p.a),
            b: paired.map(|p| p.b),
            difference: paired.map(|p| p.difference),
            low: bounds.map(|b| b.low),
            high: bounds.map(|b| b.high),
            relative: paired.and_then(|p| p.relative),
            relative_low: relative.map(|b| b.low),
            relative_high: relative.map(|b| b.high),
            seeds: if is_batched { 1 } else { paired.map_or(0, |p| p.pairs) },
            batches: is_batched.then_some(BATCHES),
            batch_means: row.one_run.and_then(Result::ok),
            no_batches: row.one_run.and_then(Result::err),
            common_random_numbers_factor: paired.and_then(|p| p.shrink),
            sentence: row.sentence.clone(),
            note: row.note.clone(),
        }
    }
}

/// By metric, a key path of the summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "Comparison"))]
pub struct ComparedMetrics(pub Ordered<ComparedMetric>);

/// A comparison of A and B.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// In the order in which the metrics were asked for.
    pub rows: Vec<MetricRow>,
    /// The seeds.
    pub seeds: Vec<u64>,
}

impl Comparison {
    /// Of the runs of A and of B, each in the order of the seeds.
    pub fn of_seeds(metrics: &[Metric], seeds: &[u64], a: &[Measured], b: &[Measured]) -> Self {
        let row = |(place, metric): (usize, &Metric)| {
            let both = a.iter().zip(b);
            let pairs: Vec<(f64, f64)> =
                both.filter_map(|(a, b)| Some((a.values[place]?, b.values[place]?))).collect();
            let paired = Paired::of(&pairs);
            let samples = counted(pairs.len(), "seed");
            let sentence = sentence(metric, paired.as_ref(), &samples);
            let is_partial = !pairs.is_empty() && pairs.len() < seeds.len();
            let note = is_partial.then(|| format!("{} of {} seeds have it", pairs.len(), seeds.len()));
            MetricRow { metric: metric.clone(), paired, sentence, one_run: None, note }
        };
        Self { rows: metrics.iter().enumerate().map(row).collect(), seeds: seeds.to_vec() }
    }

    /// Of the runs of A and of B, each in the order of the seeds, by every metric that one of them has.
    ///
    /// # Errors
    /// [`Diagnostic`] for a metric that is none.
    pub fn of_runs(seeds: &[u64], a: &[Measured], b: &[Measured]) -> Result<Self, Diagnostic> {
        let mut paths: Vec<&str> = Vec::new();
        for path in a.iter().chain(b).flat_map(|run| &run.metrics) {
            if !paths.contains(&path.as_str()) {
                paths.push(path);
            }
        }
        let metrics = Metric::parse_all(paths.iter().copied())?;
        let with_all =
            |runs: &[Measured]| -> Vec<Measured> { runs.iter().map(|run| run.of_paths(&paths)).collect() };
        Ok(Self::of_seeds(&metrics, seeds, &with_all(a), &with_all(b)))
    }

    /// Of one long run of A and one of B with the same seed.
    pub fn of_one_run(metrics: &[Metric], seed: u64, a: &Run, b: &Run) -> Self {
        let [of_a, of_b] = [a, b].map(|run| Measured::of(run, metrics));
        let row = |(place, metric): (usize, &Metric)| {
            let whole = of_a.values[place].zip(of_b.values[place]);
            let (paired, samples, one_run) = match batched(metric, a, b) {
                Ok(found) => (Some(found.paired), counted(BATCHES, "batch"), Ok(found.batches)),
                Err(why) => (Paired::of(whole.as_slice()), String::new(), Err(why)),
            };
            let sentence = sentence(metric, paired.as_ref(), &samples);
            let note = one_run.map_or_else(|why| why.text().to_owned(), Batches::text);
            MetricRow { metric: metric.clone(), paired, sentence, one_run: Some(one_run), note: Some(note) }
        };
        Self { rows: metrics.iter().enumerate().map(row).collect(), seeds: vec![seed] }
    }

    /// The metrics by name, in their order.
    pub fn metrics(&self) -> ComparedMetrics {
        let is_one_run = self.seeds.len() == 1;
        let one = |row: &MetricRow| (row.metric.path().to_owned(), ComparedMetric::of(row, is_one_run));
        ComparedMetrics(self.rows.iter().map(one).collect())
    }

    /// The metrics as CSV, a row each.
    pub fn csv(&self) -> String {
        let cell = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
        let mut text =
            String::from("metric,unit,a,b,difference,low,high,relative,relative_low,relative_high,pairs\n");
        for row in &self.rows {
            let paired = row.paired.as_ref();
            let (bounds, relative) = (paired.and_then(|p| p.bounds), paired.and_then(|p| p.relative_bounds));
            let cells = [
                paired.map(|p| p.a),
                paired.map(|p| p.b),
                paired.map(|p| p.difference),
                bounds.map(|b| b.low),
                bounds.map(|b| b.high),
                paired.and_then(|p| p.relative),
                relative.map(|b| b.low),
                relative.map(|b| b.high),
            ];
            let cells = cells.map(cell).join(",");
            let pairs = paired.map_or(0, |p| p.pairs);
            let _ = writeln!(text, "{},{},{cells},{pairs}", row.metric.path(), row.metric.unit().symbol());
        }
        text
    }
}

/// `20 seeds`, `1 seed`.
fn counted(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "batch") => format!("{count} batches"),
        _ => format!("{count} {what}s"),
    }
}
