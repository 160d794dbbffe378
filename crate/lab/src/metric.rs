//! A number of the summary by its key path, such as `ttft_s.p99`: what a comparison or a sweep measures of a run.

mod index;
pub mod table;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::Id;
use servescope_settings::scenario::{Scenario, edit_distance};
use servescope_traces::loaded_trace::LoadedTrace;

use crate::run::Run;
pub use index::{Member, Members};
use table::Row;

/// Most metrics of one comparison or sweep.
pub const MAX_METRICS: usize = 64;

/// The metrics of a comparison that names none.
pub const USUAL: &[&str] = &[
    "ttft_s.mean",
    "ttft_s.p50",
    "ttft_s.p90",
    "ttft_s.p99",
    "tbt_s.p99",
    "tpot_s.mean",
    "e2e_s.mean",
    "e2e_s.p99",
    "queue_s.mean",
    "throughput_rps",
    "output_tokens_per_s",
    "slo.attainment",
    "slo.goodput_rps",
    "requests.completed",
    "requests.rejected_total",
    "preemptions",
    "kv.mean_usage",
    "gpu.busy",
];

/// Beside the usual metrics, a comparison has this one of each user, and of each adapter, where there are a few.
const OF_EACH: &str = "ttft_mean_s";

/// Most users, or adapters, that a comparison shows without being asked to.
const FEW: u32 = 8;

/// The numbers of the page's headline that a run has.
pub const HEADLINE: &[&str] = &[
    "throughput_rps",
    "ttft_s.p50",
    "ttft_s.p99",
    "tbt_s.p99",
    "e2e_s.p50",
    "slo.attainment_all",
    "requests.rejected_total",
    "output_tokens_per_s",
    "kv.peak_usage",
];

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// A share, from 0 to 1.
    Share,
    /// Requests a second.
    RequestsPerSecond,
    /// Tokens a second.
    TokensPerSecond,
    /// Tokens.
    Tokens,
    /// A plain number.
    Count,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Self; 6] = [
        Self::Seconds,
        Self::Share,
        Self::RequestsPerSecond,
        Self::TokensPerSecond,
        Self::Tokens,
        Self::Count,
    ];

    /// How it is written behind a number; a share stands as a number from 0 to 1, and a plain number has no unit.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::RequestsPerSecond => "req/s",
            Self::TokensPerSecond => "tokens/s",
            Self::Tokens => "tokens",
            Self::Share => "share",
            Self::Count => "",
        }
    }
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Less is better, as of a latency.
    Less,
    /// More is better, as of goodput.
    More,
    /// Neither, as of the usage of the KV cache.
    Neither,
}

/// A number of the summary.
#[derive(Debug, Clone)]
pub struct Metric {
    path: String,
    /// Its row of the table, and of a row of several its key.
    row: &'static Row,
    key: String,
    /// The user or adapter that it is of.
    of: Option<Member>,
}

/// The path says everything else.
impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Metric {}

impl Metric {
    /// The metric at a key path of `summary.json`. A row of the tables by user and by adapter is named by its id:
    /// `per_user.0.ttft_mean_s`; the base model is adapter -1.
    ///
    /// # Errors
    /// [`Diagnostic`] for a path that the summary of no run has, with the nearest that there are, or for one by user or by
    /// adapter whose index is missing.
    pub fn parse(path: &str) -> Result<Self, Diagnostic> {
        let path = path.trim();
        if let Some((of, row)) = index::read(path)? {
            return Ok(Self { path: path.to_owned(), row, key: String::new(), of: Some(of) });
        }
        if let Some((row, key)) = table::find(path) {
            return Ok(Self { path: path.to_owned(), row, key: key.to_owned(), of: None });
        }
        let near = nearest(path, table::paths());
        let message = format!("{path}: there is no such number in the summary; the nearest are {near}");
        Err(Diagnostic::error("unknown_metric", path, message).text("value", path).text("nearest", &near))
    }

    /// Reads several, each once.
    ///
    /// # Errors
    /// [`Diagnostic`] of the first that is unknown or given twice, or for more than [`MAX_METRICS`].
    pub fn parse_all<'t>(paths: impl IntoIterator<Item = &'t str>) -> Result<Vec<Self>, Diagnostic> {
        let mut metrics: Vec<Self> = Vec::new();
        for path in paths {
            let metric = Self::parse(path)?;
            if metrics.contains(&metric) {
                let message = format!("{}: the metric is given twice", metric.path);
                return Err(
                    Diagnostic::error("repeated_key", &metric.path, message).text("path", &metric.path)
                );
            }
            metrics.push(metric);
            if metrics.len() > MAX_METRICS {
                return Err(Diagnostic::out_of_range(
                    "metric",
                    metrics.len() as f64,
                    1.0,
                    MAX_METRICS as f64,
                ));
            }
        }
        Ok(metrics)
    }

    /// The metrics of a comparison that names none.
    pub fn usual() -> Vec<Self> {
        Self::named(USUAL)
    }

    /// The numbers of the page's headline that a run has.
    pub fn headline() -> Vec<Self> {
        Self::named(HEADLINE)
    }

    /// The usual metrics, and the mean TTFT of each user and of each adapter where there are some and few.
    pub fn usual_of(members: Members) -> Vec<Self> {
        let of_each = |table: &str, count: u32| -> Vec<Self> {
            let one = |index: u32| Self::parse(&format!("{table}.{index}.{OF_EACH}"));
            let shown = if (2..=FEW).contains(&count) { 0..count } else { 0..0 };
            shown.map(|index| one(index).expect("it is a column of the table")).collect()
        };
        let (users, adapters) =
            (of_each("per_user", members.users), of_each("per_adapter", members.adapters));
        [Self::usual(), users, adapters].concat()
    }

    fn named(paths: &[&str]) -> Vec<Self> {
        paths.iter().map(|path| Self::parse(path).expect("it is in the table")).collect()
    }

    /// Its key path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its value in a summary; none where the summary has none.
    pub fn of(&self, summary: &Json) -> Option<f64> {
        let step = |json: &Json, key: &str| -> Option<Json> {
            match json {
                Json::Object(fields) => fields.get(key).cloned(),
                Json::Array(rows) => {
                    let id: i64 = key.parse().ok()?;
                    rows.iter().find(|row| row.get("id").and_then(Json::as_i64) == Some(id)).cloned()
                }
                _ => None,
            }
        };
        let mut parts = self.path.split('.');
        let first = summary.get(parts.next()?)?.clone();
        parts.try_fold(first, |json, key| step(&json, key))?.as_f64().filter(|x| x.is_finite())
    }

    /// The user or adapter that it is of; none where it is of the whole run.
    pub fn member(&self) -> Option<Member> {
        self.of
    }

    /// What it counts.
    pub fn unit(&self) -> Unit {
        self.row.unit
    }

    /// Which way it is better.
    pub fn direction(&self) -> Direction {
        self.row.better
    }

    /// The bound that the SLO sets it, in its unit; none where there is no bound for such a time.
    pub fn slo(&self, scenario: &Scenario) -> Option<f64> {
        let bound = match self.row.path {
            "ttft_s" => Id::SloTtft,
            "tbt_s" => Id::SloTbt,
            "tpot_s" => Id::SloTpot,
            _ => return None,
        };
        Some(scenario.number(bound)).filter(|bound| *bound > 0.0)
    }

    /// Its name in a sentence: `P99 TTFT` of `ttft_s.p99`, `mean TTFT of user 1` of `per_user.1.ttft_mean_s`.
    pub fn title(&self) -> String {
        let title = self.row.title(&self.key);
        self.of.map_or_else(|| title.clone(), |of| format!("{title} of {}", of.name()))
    }

    /// Its key path with its unit, as a heading: `ttft_s.p99 (s)`.
    pub fn heading(&self) -> String {
        match self.unit().symbol() {
            "" => self.path.clone(),
            unit => format!("{} ({unit})", self.path),
        }
    }
}

/// The known paths that are nearest, or those that hold the text.
fn nearest(path: &str, known: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 3;
    let mut all: Vec<(usize, String)> = known
        .map(|known| {
            let is_part = !path.is_empty() && (known.contains(path) || known.ends_with(path));
            (if is_part { 0 } else { edit_distance(path, &known) }, known)
        })
        .collect();
    all.sort_unstable();
    all.truncate(SHOWN);
    all.iter().map(|(_, known)| known.as_str()).collect::<Vec<_>>().join(", ")
}

/// What is measured of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "MeasuredRun"))]
pub struct Measured {
    /// The key path of each metric.
    pub metrics: Vec<String>,
    /// The value of each metric; none where the summary has none.
    pub values: Vec<Option<f64>>,
    /// The run's digest, hexadecimal.
    pub digest: String,
}

impl Measured {
    /// Reads metrics of a finished run.
    pub fn of(run: &Run, metrics: &[Metric]) -> Self {
        let summary = run.numbers_of(metrics.iter().map(Metric::path));
        Self {
            metrics: metrics.iter().map(|metric| metric.path().to_owned()).collect(),
            values: metrics.iter().map(|metric| metric.of(&summary)).collect(),
            digest: summary["digest"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// The same run by these metrics, none of those that it has not.
    pub(crate) fn of_paths(&self, paths: &[&str]) -> Self {
        let value = |path: &&str| self.values[self.metrics.iter().position(|known| known == path)?];
        Self {
            metrics: paths.iter().map(|path| (*path).to_owned()).collect(),
            values: paths.iter().map(value).collect(),
            digest: self.digest.clone(),
        }
    }

    /// Simulates and reads.
    ///
    /// # Errors
    /// Every [`Diagnostic`] of the scenario.
    pub fn simulate(
        scenario: &Scenario,
        loaded: Option<&LoadedTrace>,
        metrics: &[Metric],
    ) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self::of(&Run::simulate(scenario, loaded)?, metrics))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_metric_is_one_of_the_summary() {
        for path in USUAL.iter().chain(HEADLINE) {
            assert!(Metric::parse(path).is_ok(), "{path}");
        }
        let more = ["fleet.operators_s.linear", "gateway.wait_s.p99", "prefix_cache.hit_rate", "ttft_s.max"];
        for path in more.into_iter().chain(["per_user.0.ttft_mean_s", "per_adapter.-1.attainment"]) {
            assert!(Metric::parse(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn unknown_metrics_are_told_with_the_nearest() {
        let message = |path: &str| Metric::parse(path).unwrap_err().message;
        assert!(message("ttft_s.p98").contains("ttft_s.p9"), "{}", message("ttft_s.p98"));
        assert!(message("goodput").contains("slo.goodput_rps"), "{}", message("goodput"));
        assert!(message("").contains("there is no such number"));
        assert!(message("digest").contains("there is no such number"));
        let twice = Metric::parse_all(["preemptions", "preemptions"]).unwrap_err();
        assert_eq!(twice.code, "repeated_key");
    }

    /// What is read of a run is what its summary says, whichever parts of the summary were made for it.
    #[test]
    fn values_are_those_of_the_summary() {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in
            [("workload.duration_s", "30"), ("workload.users.count", "2"), ("gateway.kind", "proxy")]
        {
            scenario.set_text(path, value).unwrap();
        }
        for (kind, cost) in [("slora", "linear"), ("vllm_v1", "roofline")] {
            scenario.set_text("scheduler.kind", kind).unwrap();
            scenario.set_text("cost.kind", cost).unwrap();
            let run = Run::simulate(&scenario, None).unwrap();
            let whole = serde_json::json!(run.clone().summary_of(usize::MAX));
            let mut metrics: Vec<Metric> = table::paths().map(|path| Metric::parse(&path).unwrap()).collect();
            metrics.push(Metric::parse("per_user.1.ttft_mean_s").unwrap());
            let adapter = &whole["per_adapter"][0]["id"];
            metrics.push(Metric::parse(&format!("per_adapter.{adapter}.share")).unwrap());
            for metric in &metrics {
                let one = Measured::of(&run.clone(), std::slice::from_ref(metric));
                assert_eq!(one.values, [metric.of(&whole)], "{}", metric.path());
                assert_eq!(one.digest, whole["digest"]);
            }
            assert!(metrics.last().unwrap().of(&whole).is_some());
        }
    }

    #[test]
    fn names_units_and_directions() {
        let of = |path: &str| {
            let metric = Metric::parse(path).unwrap();
            (metric.title(), metric.unit(), metric.direction())
        };
        assert_eq!(of("ttft_s.p99"), ("P99 TTFT".into(), Unit::Seconds, Direction::Less));
        assert_eq!(of("slo.attainment"), ("SLO met (TTFT alone)".into(), Unit::Share, Direction::More));
        assert_eq!(of("slo.ttft_s").2, Direction::Neither);
        assert_eq!(of("slo.goodput_rps").1, Unit::RequestsPerSecond);
        assert_eq!(of("output_tokens_per_s").2, Direction::More);
        assert_eq!(of("kv.mean_usage").2, Direction::Neither);
        assert_eq!(of("requests.rejected.queue_full").2, Direction::Less);
        assert_eq!(
            of("per_user.0.ttft_mean_s"),
            ("mean TTFT of user 0".into(), Unit::Seconds, Direction::Less)
        );
    }
}
