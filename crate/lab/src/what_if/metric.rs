//! A number of the summary by its key path, such as `ttft_s.p99`: what a comparison or a sweep measures of a run.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::diagnostic::Diagnostic;
use crate::parameters::Id;
use crate::run::{LoadedTrace, Run};
use crate::scenario::{Scenario, edit_distance};

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

/// Tables of the summary; a number in one is `TABLE.ID.COLUMN`.
const TABLES: [(&str, &[&str]); 2] = [("per_user", GROUP_COLUMNS), ("per_adapter", GROUP_COLUMNS)];

const GROUP_COLUMNS: &[&str] = &[
    "offered",
    "completed",
    "rejected",
    "input_tokens",
    "output_tokens",
    "rate_rps",
    "share",
    "ttft_mean_s",
    "ttft_p99_s",
    "e2e_mean_s",
    "queue_mean_s",
    "attainment",
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
    /// A plain number.
    Count,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    path: String,
}

impl Metric {
    /// The metric at a key path of `summary.json`. A row of the tables by user and by adapter is named by its id:
    /// `per_user.0.ttft_mean_s`; the base model is adapter -1.
    ///
    /// # Errors
    /// [`Diagnostic`] for a path that the summary of no run has, with the nearest that there are.
    pub fn parse(path: &str) -> Result<Self, Diagnostic> {
        let path = path.trim();
        if is_cell(path) || known().binary_search_by(|name| name.as_str().cmp(path)).is_ok() {
            return Ok(Self { path: path.to_owned() });
        }
        let near = nearest(path);
        let message = format!("{path}: there is no such number in the summary; the nearest are {near}");
        Err(Diagnostic::error("unknown_metric", path, message).text("value", path).text("nearest", &near))
    }

    /// The metric at a key path that is a metric's already. Unlike [`Metric::parse`] it needs no simulator; of another path,
    /// every run lacks the number.
    pub fn of_path(path: &str) -> Self {
        Self { path: path.to_owned() }
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

    fn named(paths: &[&str]) -> Vec<Self> {
        paths.iter().map(|path| Self { path: (*path).to_owned() }).collect()
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

    /// What it counts.
    pub fn unit(&self) -> Unit {
        let (family, last) = self.ends();
        let is_share = |name: &str| {
            ["attainment", "satisfaction", "busy", "mfu", "bandwidth", "hit_rate", "hit_share", "share"]
                .contains(&name)
                || name.ends_with("_share")
                || name.ends_with("_usage")
        };
        if is_share(last) || family == "state_share" {
            Unit::Share
        } else if last.ends_with("tokens_per_s") {
            Unit::TokensPerSecond
        } else if last.ends_with("_rps") {
            Unit::RequestsPerSecond
        } else if family.ends_with("_s") || last.ends_with("_s") {
            Unit::Seconds
        } else {
            Unit::Count
        }
    }

    /// Which way it is better.
    pub fn direction(&self) -> Direction {
        let (family, last) = self.ends();
        let more = ["attainment", "satisfaction", "completed", "hit_rate", "mfu"];
        let less = ["rejected", "rejected_total", "timed_out", "unfinished", "cancelled", "preemptions"];
        let neutral = ["slo", "workload"];
        match self.unit() {
            Unit::Seconds if neutral.contains(&family) || last == "makespan_s" => Direction::Neither,
            Unit::Seconds => Direction::Less,
            // The rate at which a user sends is no result.
            Unit::RequestsPerSecond if last == "rate_rps" => Direction::Neither,
            Unit::RequestsPerSecond | Unit::TokensPerSecond => Direction::More,
            _ if more.contains(&last) => Direction::More,
            _ if less.contains(&last) || family == "rejected" => Direction::Less,
            _ => Direction::Neither,
        }
    }

    /// The bound that the SLO sets it, in its unit; none where there is no bound for such a time.
    pub fn slo(&self, scenario: &Scenario) -> Option<f64> {
        let bound = match self.ends().0 {
            "ttft_s" => Id::SloTtft,
            "tbt_s" => Id::SloTbt,
            "tpot_s" => Id::SloTpot,
            _ => return None,
        };
        Some(scenario.number(bound)).filter(|bound| *bound > 0.0)
    }

    /// The parts before and after the last dot; the first without its own prefix.
    fn ends(&self) -> (&str, &str) {
        let (before, last) = self.path.rsplit_once('.').unwrap_or(("", &self.path));
        (before.rsplit('.').next().unwrap_or(""), last)
    }

    /// Its name in a sentence: `P99 TTFT` of `ttft_s.p99`; the key path where the field has no name for it.
    pub fn title(&self) -> String {
        let family = |name: &str| {
            Some(match name {
                "ttft_s" => "TTFT",
                "tbt_s" => "TBT",
                "tpot_s" => "TPOT",
                "e2e_s" => "E2E latency",
                "normalized_s" => "normalized latency",
                "queue_s" => "queueing delay",
                _ => return None,
            })
        };
        let statistic = |name: &str| match name {
            "p50" => "median".to_owned(),
            "max" => "largest".to_owned(),
            "mean" => "mean".to_owned(),
            quantile => quantile.to_uppercase(),
        };
        if let Some((first, last)) = self.path.split_once('.')
            && let Some(name) = family(first)
        {
            return format!("{} {name}", statistic(last));
        }
        let named = match self.path.as_str() {
            "makespan_s" => "the makespan",
            "throughput_rps" => "throughput",
            "output_tokens_per_s" => "output token throughput",
            "total_tokens_per_s" => "token throughput",
            "slo.attainment" => "SLO attainment",
            "slo.satisfaction" => "SLO satisfaction",
            "slo.goodput_rps" => "goodput",
            "requests.completed" => "the number of completed requests",
            "requests.rejected_total" => "the number of rejected requests",
            "requests.timed_out" => "the number of requests that time out",
            "preemptions" => "the number of preemptions",
            "adapters.loads" => "the number of adapter loads",
            "batch.mean_size" => "the mean batch size",
            "kv.mean_usage" => "mean KV cache usage",
            "kv.peak_usage" => "peak KV cache usage",
            "gpu.busy" => "the busy share of the GPUs",
            other => other,
        };
        named.to_owned()
    }
}

/// Whether a path names a cell of the tables by user and by adapter.
fn is_cell(path: &str) -> bool {
    let mut parts = path.splitn(3, '.');
    let (Some(table), Some(id), Some(column)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let has = |(name, columns): &(&str, &[&str])| *name == table && columns.contains(&column);
    TABLES.iter().any(has) && id.parse::<i64>().is_ok_and(|id| id >= -1)
}

/// The key paths of every number that a summary can have, sorted: those of a run with every part of the simulator. Rows of
/// the tables by user and by adapter come beside them.
pub fn known() -> &'static [String] {
    static KNOWN: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut scenario = Scenario::default();
        let everything = [
            ("workload.duration_s", "2"),
            ("workload.prefix.kind", "tree"),
            ("gateway.kind", "proxy"),
            ("scheduler.kind", "vllm_v1"),
            ("cost.kind", "roofline"),
        ];
        for (path, value) in everything {
            scenario.set_text(path, value).expect("the settings are sound");
        }
        let run = Run::simulate(&scenario, None).expect("the settings are sound");
        let mut paths = Vec::new();
        collect(&mut paths, "", &serde_json::json!(run.summary_of(0)));
        paths.sort_unstable();
        paths
    })
}

fn collect(paths: &mut Vec<String>, path: &str, json: &Json) {
    match json {
        Json::Object(fields) => {
            for (key, inner) in fields {
                collect(paths, &if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, inner);
            }
        }
        Json::Number(_) | Json::Null => paths.push(path.to_owned()),
        _ => {}
    }
}

/// The known paths that are nearest, or those that hold the text.
fn nearest(path: &str) -> String {
    const SHOWN: usize = 3;
    let mut all: Vec<(usize, &str)> = known()
        .iter()
        .map(|known| {
            let known = known.as_str();
            let is_part = !path.is_empty() && (known.contains(path) || known.ends_with(path));
            (if is_part { 0 } else { edit_distance(path, known) }, known)
        })
        .collect();
    all.sort_unstable();
    all.truncate(SHOWN);
    all.iter().map(|(_, known)| *known).collect::<Vec<_>>().join(", ")
}

/// What is measured of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "MeasuredRun"))]
pub struct Measured {
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
            values: metrics.iter().map(|metric| metric.of(&summary)).collect(),
            digest: summary["digest"].as_str().unwrap_or_default().to_owned(),
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
        assert!(message("per_user.x.ttft_mean_s").contains("there is no such number"));
        let twice = Metric::parse_all(["preemptions", "preemptions"]).unwrap_err();
        assert_eq!(twice.code, "repeated_key");
    }

    /// What is read of a run is what its summary says, whichever parts of the summary were made for it.
    #[test]
    fn values_are_those_of_the_summary() {
        let mut scenario = Scenario::default();
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
            let mut metrics: Vec<Metric> = known().iter().map(|path| Metric::parse(path).unwrap()).collect();
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
        assert_eq!(of("slo.attainment"), ("SLO attainment".into(), Unit::Share, Direction::More));
        assert_eq!(of("slo.ttft_s").2, Direction::Neither);
        assert_eq!(of("slo.goodput_rps").1, Unit::RequestsPerSecond);
        assert_eq!(of("output_tokens_per_s").2, Direction::More);
        assert_eq!(of("kv.mean_usage").2, Direction::Neither);
        assert_eq!(of("requests.rejected.queue_full").2, Direction::Less);
        assert_eq!(
            of("per_user.0.ttft_mean_s"),
            ("per_user.0.ttft_mean_s".into(), Unit::Seconds, Direction::Less)
        );
    }
}
