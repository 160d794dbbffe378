//! What the page and the terminal draw: one function a chart, each from a run to columns ready to draw.
//!
//! A chart knows the run and has no pixels; it is already reduced to about one point a column.

pub mod bands;
pub mod capacity;
pub mod client_roles;
pub mod crossover;
pub mod deployment;
mod draft_charts;
mod engine_charts;
mod gateway;
mod hit_charts;
mod latency_charts;
pub mod moment;
pub mod monitor;
pub mod overlay;
pub mod paired;
pub mod published;
mod replicas;
mod seats;
pub mod sweep;
mod traffic;
mod transfer_charts;
mod workload_charts;

use serde::Deserialize;
use servescope_engine::metrics::columns::gpu_columns;
use servescope_lab::run::Run;

pub use servescope_chart::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series};
pub use traffic::traffic;

/// What to look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViewOptions {
    /// Columns of the time charts, about one a pixel.
    pub columns: usize,
    /// Part of the run, seconds; `None` = all of it.
    pub window_s: Option<(f64, f64)>,
    /// The groups of `time_split`.
    pub split_by: SplitBy,
    /// Whether the time charts of a whole run show all of its drain, the time behind the last arrival; otherwise a short
    /// part of it.
    pub drain: bool,
}

/// Groups of requests in `time_split`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SplitBy {
    /// By adapter; by length where there are none.
    Adapter,
    /// By user.
    User,
    /// By class of prompt and output length.
    Length,
}

/// A drain that is at most this share of the traffic's time is shown whole; of a longer one, this share.
const SHORT_DRAIN: f64 = 0.25;
const SHOWN_DRAIN: f64 = 0.1;

impl Default for ViewOptions {
    fn default() -> Self {
        Self { columns: 480, window_s: None, split_by: SplitBy::Adapter, drain: true }
    }
}

/// The charts that every run has, in the order of the page.
const OF_ANY: [&str; 11] = [
    "gaps",
    "shares",
    "lengths",
    "rates",
    "running_waiting",
    "seats",
    "memory",
    "tokens",
    "latency_cdf",
    "ttft_by_arrival",
    "time_split",
];

/// Every chart of a run, in the order of the page.
pub fn all(run: &Run, options: &ViewOptions) -> Vec<Chart> {
    build_charts(run, options, &|_| true)
}

/// Those charts of a run whose names are wanted: charts that are not in sight can be built later.
pub fn build_charts(run: &Run, options: &ViewOptions, is_wanted: &dyn Fn(&str) -> bool) -> Vec<Chart> {
    let window = ChartWindow::of(run, options);
    let any = |names: &[&str]| names.iter().any(|name| is_wanted(name));
    let fleet = any(&replicas::NAMES).then(|| replicas::columns(run, &window));
    let gpu = fleet.as_ref().map(|columns| columns.gpu.clone());
    let gpu = gpu.or_else(|| {
        any(&engine_charts::OF_GPU)
            .then(|| gpu_columns(&run.report, window.start_us, window.end_us, window.columns))
    });
    let view = |name: &str| {
        Some(match name {
            "gaps" => workload_charts::gaps(run),
            "shares" => workload_charts::shares(run),
            "lengths" => workload_charts::lengths(run),
            "rates" => engine_charts::rates(run, &window),
            "running_waiting" => engine_charts::running_waiting(run, &window),
            "seats" => seats::seats(run, &window),
            "memory" => engine_charts::memory(run, gpu.as_ref()?, &window),
            "tokens" => engine_charts::tokens(gpu.as_ref()?, &window),
            "latency_cdf" => latency_charts::latency_cdf(run),
            "ttft_by_arrival" => latency_charts::ttft_by_arrival(run, &window),
            "time_split" => latency_charts::time_split(run, options.split_by),
            _ => return None,
        })
    };
    let mut views: Vec<Chart> =
        OF_ANY.iter().filter(|name| is_wanted(name)).filter_map(|name| view(name)).collect();
    views.extend(fleet.iter().flat_map(|columns| replicas::all(run, columns, &window)));
    if is_wanted("hits_over_time") {
        views.extend(hit_charts::hits_over_time(run, &window));
    }
    if is_wanted("hits_by_capacity") {
        views.extend(hit_charts::hits_by_capacity(run));
    }
    if is_wanted("kv_links") {
        views.extend(transfer_charts::kv_links(run, &window));
    }
    if is_wanted("accepted_drafts") {
        views.extend(draft_charts::accepted_drafts(run));
    }
    if any(&gateway::NAMES) {
        views.extend(gateway::all(run, &window));
    }
    views.retain(|view| is_wanted(view.name));
    views
}

/// The part of a run that the time charts show, in microseconds, with their number of columns.
#[derive(Debug, Clone, Copy)]
struct ChartWindow {
    start_us: f64,
    end_us: f64,
    /// An even number.
    columns: usize,
}

impl ChartWindow {
    fn of(run: &Run, options: &ViewOptions) -> Self {
        let report = &run.report;
        let last = report.trace.arrival_us.last().copied().unwrap_or(0.0).max(report.end_us()).max(1.0);
        let (start_us, end_us) = match options.window_s {
            // A window that lies behind the end was made for a longer run.
            Some((a, b)) if b.is_finite() && b > a && (0.0..last).contains(&(a * 1e6)) => {
                (a * 1e6, (b * 1e6).min(last))
            }
            _ => (0.0, if options.drain { last } else { without_drain(run, last) }),
        };
        Self { start_us, end_us, columns: options.columns.clamp(16, 4096) / 2 * 2 }
    }

    fn axis(&self) -> Axis {
        Axis {
            unit: "s",
            scale: ScaleKind::Linear,
            kind: AxisKind::Time,
            min: self.start_us / 1e6,
            max: self.end_us / 1e6,
        }
    }

    /// A chart over it.
    fn chart(&self, name: &'static str, y: Axis, series: Vec<Series>) -> Chart {
        Chart { name, x: self.axis(), y, series, empty: "", categories: Vec::new() }
    }

    /// A chart over it whose heights begin at 0.
    fn chart_from_zero(&self, name: &'static str, unit: &'static str, series: Vec<Series>) -> Chart {
        self.chart(name, y_axis_from_zero(unit, &series), series)
    }
}

/// Where the time charts end that leave the drain out: at the end of a run whose drain is short beside its traffic.
fn without_drain(run: &Run, end_us: f64) -> f64 {
    let traffic_us = run.report.trace.arrival_us.last().copied().unwrap_or(0.0);
    let short_us = traffic_us * (1.0 + SHOWN_DRAIN);
    if traffic_us > 0.0 && end_us > traffic_us * (1.0 + SHORT_DRAIN) { short_us } else { end_us }
}

/// A linear vertical axis from 0 to a little above the largest value.
fn y_axis_from_zero(unit: &'static str, series: &[Series]) -> Axis {
    let top = series.iter().flat_map(|s| s.y.iter().copied()).filter(|y| y.is_finite()).fold(0.0, f64::max);
    Axis {
        unit,
        scale: ScaleKind::Linear,
        kind: AxisKind::Value,
        min: 0.0,
        max: if top > 0.0 { top * 1.06 } else { 1.0 },
    }
}

/// A view that says why it is empty.
fn empty(name: &'static str, why: &'static str, x: Axis) -> Chart {
    Chart { name, x, y: y_axis_from_zero("", &[]), series: Vec::new(), empty: why, categories: Vec::new() }
}
