//! The results of a sweep by point: means over the seeds with their intervals.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use servescope_settings::ordered::Ordered;

use super::expected::ExpectedValue;
use super::lines::{SweepLine, SweepShape};
use crate::compare::interval::MeanInterval;
use crate::metric::Metric;

/// A parameter and the values that it has, in the order in which they come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "SweepAxis"))]
pub struct AxisValues {
    /// The path.
    pub path: String,
    /// Its values.
    #[cfg_attr(feature = "types", ts(type = "Array<ParameterValue>"))]
    pub values: Vec<Json>,
}

/// A point.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The value of each axis.
    pub point: Vec<Json>,
    /// Each metric over the seeds that have it; none where none has.
    pub cells: Vec<Option<MeanInterval>>,
    /// Runs of the point.
    pub runs: usize,
    /// Why a run could not be made, of the first that could not.
    pub error: Option<String>,
}

/// A metric of a point over its seeds: the mean with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SweepCell {
    /// The mean.
    pub mean: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Seeds that have the metric.
    pub seeds: usize,
}

impl SweepCell {
    fn of(cell: Option<MeanInterval>) -> Self {
        let bounds = cell.and_then(|c| c.bounds);
        Self {
            mean: cell.map(|c| c.mean),
            low: bounds.map(|b| b.low),
            high: bounds.map(|b| b.high),
            seeds: cell.map_or(0, |c| c.count),
        }
    }
}

/// A point of a sweep, as the terminal's `sweep --json` has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SweepPoint {
    /// The value of each axis by path.
    #[cfg_attr(feature = "types", ts(type = "Record<string, ParameterValue>"))]
    pub point: Map<String, Json>,
    /// The metrics.
    pub metrics: Ordered<SweepCell>,
    /// By metric, where a closed form is known for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub expected: Option<Ordered<ExpectedValue>>,
    /// Why a run could not be made, of the first that could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub error: Option<String>,
}

/// All points of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// What the lines had in common.
    pub shape: SweepShape,
    /// The axes.
    pub axes: Vec<AxisValues>,
    /// The points in the order of the sweep.
    pub rows: Vec<Row>,
    /// Values of closed forms for each metric, point by point in the order of the sweep; empty where they were not asked for.
    pub expected: Vec<Vec<Option<ExpectedValue>>>,
}

impl AxisValues {
    /// Its values as numbers; none where one is no number.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(Json::as_f64).collect()
    }

    /// Whether its numbers are spread by ratio: their logarithms are more even than they are.
    pub fn is_log(&self) -> bool {
        let Some(numbers) = self.numbers() else { return false };
        if numbers.len() < 3 || numbers.iter().any(|&x| x <= 0.0) {
            return false;
        }
        let spread = |of: &dyn Fn(f64) -> f64| {
            let steps: Vec<f64> = numbers.windows(2).map(|pair| (of(pair[1]) - of(pair[0])).abs()).collect();
            let most = steps.iter().copied().fold(0.0, f64::max);
            most / steps.iter().copied().fold(f64::INFINITY, f64::min)
        };
        spread(&libm::log) < 0.99 * spread(&|x| x)
    }
}

/// A value as it is written in a table.
pub(super) fn plain(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(Json::to_string).collect::<Vec<_>>().join(";"),
        other => other.to_string(),
    }
}

impl Results {
    /// Of the lines that a sweep under way has so far, in their order, over axes that are known already.
    pub fn so_far(shape: &SweepShape, axes: Vec<AxisValues>, lines: &[SweepLine]) -> Self {
        Self { axes, ..Self::of(shape, lines) }
    }

    /// The number of a point in its sweep, whose last axis moves fastest.
    pub fn number(&self, row: &Row) -> usize {
        let place = |(axis, value): (&AxisValues, &Json)| {
            (axis.values.len(), axis.values.iter().position(|one| one == value).unwrap_or(0))
        };
        self.axes.iter().zip(&row.point).map(place).fold(0, |number, (of, place)| number * of + place)
    }

    /// The value of a closed form for a metric at a point.
    pub fn expected(&self, row: &Row, metric: usize) -> Option<&ExpectedValue> {
        self.expected.get(metric)?.get(self.number(row))?.as_ref()
    }

    /// Whether a closed form is known for a metric at any point.
    fn is_expected(&self, metric: usize) -> bool {
        self.expected.get(metric).is_some_and(|points| points.iter().any(Option::is_some))
    }

    /// Of all lines of a sweep in their order.
    pub fn of(shape: &SweepShape, lines: &[SweepLine]) -> Self {
        let mut axes: Vec<AxisValues> =
            shape.paths.iter().map(|path| AxisValues { path: path.clone(), values: Vec::new() }).collect();
        let mut rows = Vec::new();
        for point in lines.chunk_by(|a, b| a.point == b.point) {
            let first = &point[0];
            for (axis, value) in axes.iter_mut().zip(&first.point) {
                if !axis.values.contains(value) {
                    axis.values.push(value.clone());
                }
            }
            let cell = |place: usize| {
                let values: Vec<f64> = point.iter().filter_map(|line| line.values[place]).collect();
                MeanInterval::of(&values)
            };
            rows.push(Row {
                point: first.point.clone(),
                cells: (0..shape.metrics.len()).map(cell).collect(),
                runs: point.len(),
                error: point.iter().find_map(|line| line.error.clone()),
            });
        }
        Self { shape: shape.clone(), axes, rows, expected: Vec::new() }
    }

    /// Each point with mean, interval and number of seeds of each metric, and the values of closed forms for it.
    pub fn points(&self) -> Vec<SweepPoint> {
        let point = |row: &Row| {
            let metrics = &self.shape.metrics;
            let expected = |(place, metric): (usize, &String)| {
                Some((metric.clone(), self.expected(row, place)?.clone()))
            };
            let forms: Vec<_> = metrics.iter().enumerate().filter_map(expected).collect();
            SweepPoint {
                point: self.shape.paths.iter().cloned().zip(row.point.iter().cloned()).collect(),
                metrics: metrics.iter().cloned().zip(row.cells.iter().copied().map(SweepCell::of)).collect(),
                expected: (!forms.is_empty()).then_some(Ordered(forms)),
                error: row.error.clone(),
            }
        };
        self.rows.iter().map(point).collect()
    }

    /// As JSON: the axes, the metrics, and the points.
    pub fn to_json(&self) -> Json {
        json!({
            "sweep": self.shape.id,
            "runs": self.shape.runs,
            "over": self.axes,
            "metrics": self.shape.metrics,
            "points": self.points(),
        })
    }

    /// As CSV: a row a point; of each metric the mean, the ends of its interval and the number of seeds, and where a closed
    /// form is known for it, its name and its value. The headings have the units.
    pub fn csv(&self) -> String {
        let mut header = self.shape.paths.clone();
        for (place, metric) in self.shape.metrics.iter().enumerate() {
            let ends: &[&str] = if self.is_expected(place) { &[".model", ".expected"] } else { &[] };
            let unit = Metric::parse(metric).map_or("", |metric| metric.unit().symbol());
            let with_unit = |end: &&str| match (*end, unit) {
                (".seeds" | ".model", _) | (_, "") => format!("{metric}{end}"),
                (_, unit) => format!("{metric}{end} ({unit})"),
            };
            header.extend(["", ".low", ".high", ".seeds"].iter().chain(ends).map(with_unit));
        }
        header.push("error".to_owned());
        let mut text = header.join(",") + "\n";
        let number = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
        for row in &self.rows {
            let mut cells: Vec<String> = row.point.iter().map(|value| quoted(&plain(value))).collect();
            for (place, cell) in row.cells.iter().enumerate() {
                let bounds = cell.and_then(|c| c.bounds);
                cells.extend([number(cell.map(|c| c.mean)), number(bounds.map(|b| b.low))]);
                cells.push(number(bounds.map(|b| b.high)));
                cells.push(cell.map_or(0, |c| c.count).to_string());
                if self.is_expected(place) {
                    let expected = self.expected(row, place);
                    cells.push(expected.map_or_else(String::new, |found| quoted(&found.model)));
                    cells.push(number(expected.map(|found| found.value)));
                }
            }
            cells.push(quoted(row.error.as_deref().unwrap_or("")));
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }

    /// The points as rows of a table: the values of the axes, then of each metric the mean and half of the width of its
    /// interval, with the value of a closed form for it.
    pub fn table(&self) -> Vec<Vec<String>> {
        let mut head = self.shape.paths.clone();
        for (place, metric) in self.shape.metrics.iter().enumerate() {
            head.push(Metric::parse(metric).map_or_else(|_| metric.clone(), |metric| metric.heading()));
            if self.is_expected(place) {
                head.push("model".to_owned());
            }
        }
        let mut table = vec![head];
        let cell = |cell: &Option<MeanInterval>| {
            let Some(MeanInterval { mean, bounds, .. }) = *cell else { return "-".to_owned() };
            let half = bounds.map_or(0.0, |b| 0.5 * (b.high - b.low));
            let digits = crate::compare::sentence::decimals(mean, half);
            match bounds {
                Some(_) if half > 0.0 => format!("{mean:.digits$} ± {half:.digits$}"),
                _ => format!("{mean:.digits$}"),
            }
        };
        for row in &self.rows {
            let mut cells: Vec<String> = row.point.iter().map(plain).collect();
            match &row.error {
                Some(error) if row.cells.iter().all(Option::is_none) => cells.push(error.clone()),
                _ => {
                    for (place, one) in row.cells.iter().enumerate() {
                        cells.push(cell(one));
                        if self.is_expected(place) {
                            cells.push(expected_cell(self.expected(row, place), one.as_ref()));
                        }
                    }
                }
            }
            table.push(cells);
        }
        table
    }
}

/// The value of a closed form, with as many digits as the mean beside it.
fn expected_cell(expected: Option<&ExpectedValue>, beside: Option<&MeanInterval>) -> String {
    let Some(ExpectedValue { model, value }) = expected else { return "-".to_owned() };
    let half = beside.and_then(|cell| cell.bounds).map_or(0.0, |b| 0.5 * (b.high - b.low));
    let digits = crate::compare::sentence::decimals(*value, half);
    format!("{value:.digits$} {model}")
}

/// A cell of CSV, in quotes where it must be.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
