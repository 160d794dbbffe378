//! What the proxy saw and did, over time.

use servescope_engine::gateway::GatewayLog;
use servescope_engine::gateway::load::LoadState;
use servescope_engine::gateway::log::Sample;
use servescope_engine::metrics::columns::TimeColumns;
use servescope_lab::run::Run;

use super::{Axis, AxisKind, Chart, ChartWindow, Mark, Role, ScaleKind, Series, empty};

/// Most points of the scatter of estimates.
const MOST_POINTS: usize = 4_000;

/// The charts of a proxy.
pub(super) const NAMES: [&str; 5] =
    ["gateway_kv", "gateway_waiting", "gateway_refusals", "gateway_estimate", "gateway_pressure"];

/// [`NAMES`]; none without a proxy.
pub(super) fn all(run: &Run, window: &ChartWindow) -> Vec<Chart> {
    let Some(log) = run.report.gateway.as_deref() else { return Vec::new() };
    let shown = shown(log, window);
    vec![
        kv(log, &shown, window),
        waiting(&shown, window),
        refusals(log, window),
        estimate(run, log, window),
        pressure(log, &shown, window),
    ]
}

/// The samples within the window, with one before and one behind it, about one a column.
fn shown(log: &GatewayLog, window: &ChartWindow) -> Vec<Sample> {
    let kept = log.samples.kept();
    let from = kept.partition_point(|sample| sample.at_us < window.start_us).saturating_sub(1);
    let to = (kept.partition_point(|sample| sample.at_us <= window.end_us) + 1).min(kept.len());
    let every = (to - from).div_ceil(window.columns).max(1);
    kept[from..to].iter().step_by(every).copied().collect()
}

fn line(role: Role, shown: &[Sample], of: impl Fn(&Sample) -> f64) -> Series {
    Series {
        role,
        mark: Mark::Step,
        x: shown.iter().map(|sample| sample.at_us / 1e6).collect(),
        y: shown.iter().map(of).collect(),
        ..Series::default()
    }
}

fn level(role: Role, y: f64) -> Series {
    Series { role, mark: Mark::RuleY, y: vec![y], ..Series::default() }
}

/// KV memory as the proxy counts it: used, reserved on top of it, leaked on top of that.
fn kv(log: &GatewayLog, shown: &[Sample], window: &ChartWindow) -> Chart {
    let area = |role, from: &dyn Fn(&Sample) -> f64, to: &dyn Fn(&Sample) -> f64| Series {
        role,
        mark: Mark::Area,
        x: shown.iter().map(|sample| sample.at_us / 1e6).collect(),
        y: shown.iter().map(to).collect(),
        y0: shown.iter().map(from).collect(),
        ..Series::default()
    };
    let used = |sample: &Sample| sample.used_tokens;
    let held = |sample: &Sample| sample.used_tokens + sample.reserved_tokens - sample.leaked_tokens;
    let all = |sample: &Sample| sample.used_tokens + sample.reserved_tokens;
    let mut series = vec![area(Role::Kv, &|_| 0.0, &used), area(Role::Expected, &used, &held)];
    if log.leaked_tokens > 0 {
        series.push(area(Role::Refused, &held, &all));
    }
    series.push(level(Role::Pool, log.pool_tokens));
    window.chart_from_zero("gateway_kv", "tokens", series)
}

/// Requests that wait at the gateway, and those at the engine.
fn waiting(shown: &[Sample], window: &ChartWindow) -> Chart {
    let series = vec![
        line(Role::Waiting, shown, |sample| f64::from(sample.waiting)),
        line(Role::Running, shown, |sample| f64::from(sample.at_engine)),
    ];
    window.chart_from_zero("gateway_waiting", "requests", series)
}

/// Attempts a second, and those of them that were answered with a rejection or a timeout.
fn refusals(log: &GatewayLog, window: &ChartWindow) -> Chart {
    let bins = window.columns.min(120);
    let blank = TimeColumns::new(window.start_us, window.end_us, bins);
    let (mut attempts, mut refused) = (blank.clone(), blank);
    for pair in log.samples.kept().windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let span = to.at_us - from.at_us;
        attempts.add(from.at_us, to.at_us, (to.attempts - from.attempts) as f64 / span);
        refused.add(from.at_us, to.at_us, (to.refusals - from.refusals) as f64 / span);
    }
    // Columns hold means of rates a microsecond.
    let x: Vec<f64> = attempts.starts_us().iter().map(|us| us / 1e6).collect();
    let series = |role, columns: &TimeColumns| Series {
        role,
        mark: Mark::Step,
        x: x.clone(),
        y: columns.values().iter().map(|rate| rate * 1e6).collect(),
        ..Series::default()
    };
    let series = vec![series(Role::Arrivals, &attempts), series(Role::Refused, &refused)];
    window.chart_from_zero("gateway_refusals", "req/s", series)
}

/// Time to first token as it was estimated when a request came, and as it was.
fn estimate(run: &Run, log: &GatewayLog, window: &ChartWindow) -> Chart {
    let ids: Vec<usize> = (0..log.passages.len())
        .filter(|&id| {
            let passage = &log.passages[id];
            let inside = passage.asked_us >= window.start_us && passage.asked_us <= window.end_us;
            inside && !passage.estimate_us.is_nan()
        })
        .collect();
    let every = ids.len().div_ceil(MOST_POINTS).max(1);
    let ids: Vec<usize> = ids.into_iter().step_by(every).collect();
    if ids.is_empty() {
        return empty("gateway_estimate", "no_estimate", window.axis());
    }
    let at = |id: &usize| log.passages[*id].asked_us / 1e6;
    let estimated = Series {
        role: Role::Expected,
        mark: Mark::Points,
        x: ids.iter().map(at).collect(),
        y: ids.iter().map(|&id| f64::from(log.passages[id].estimate_us) / 1e6).collect(),
        id: ids.iter().map(|&id| id as f64).collect(),
        ..Series::default()
    };
    let served: Vec<usize> = ids.into_iter().filter(|&id| run.report.first_token_us(id).is_some()).collect();
    let truth = Series {
        role: Role::Ttft,
        mark: Mark::Points,
        x: served.iter().map(at).collect(),
        y: served
            .iter()
            .filter_map(|&id| Some((run.report.first_token_us(id)? - log.passages[id].asked_us) / 1e6))
            .collect(),
        id: served.iter().map(|&id| id as f64).collect(),
        ..Series::default()
    };
    let series = vec![estimated, truth];
    window.chart_from_zero("gateway_estimate", "s", series)
}

/// The averaged pressure, and the states as bars behind it: nearly overloaded and overloaded.
fn pressure(log: &GatewayLog, shown: &[Sample], window: &ChartWindow) -> Chart {
    let line = line(Role::Load, shown, |sample| sample.pressure);
    let top = line.y.iter().copied().fold(1.2, f64::max);
    let mut spans: [Vec<(f64, f64)>; 3] = Default::default();
    let (mut state, mut since) = (LoadState::Under, 0.0_f64);
    for &(at_us, next) in log.states.iter().chain([&(window.end_us, LoadState::Under)]) {
        let (from, to) = (since.max(window.start_us), at_us.min(window.end_us));
        if to > from {
            spans[state as usize].push((from / 1e6, to / 1e6));
        }
        (state, since) = (next, at_us);
    }
    let bars = |role, spans: &[(f64, f64)]| Series {
        role,
        mark: Mark::Bars,
        x: spans.iter().map(|span| span.0).collect(),
        x2: spans.iter().map(|span| span.1).collect(),
        y: vec![top * 1.06; spans.len()],
        ..Series::default()
    };
    let mut series = Vec::new();
    for (role, state) in [(Role::Waiting, LoadState::Near), (Role::Refused, LoadState::Over)] {
        let spans = merged(&spans[state as usize], window);
        if !spans.is_empty() {
            series.push(bars(role, &spans));
        }
    }
    series.extend([line, level(Role::Slo, 1.0)]);
    let y = Axis { unit: "", scale: ScaleKind::Linear, kind: AxisKind::Value, min: 0.0, max: top * 1.06 };
    window.chart("gateway_pressure", y, series)
}

/// Spans that lie closer than half a column are one: a state that flaps faster than pixels can show.
fn merged(spans: &[(f64, f64)], window: &ChartWindow) -> Vec<(f64, f64)> {
    let near_s = (window.end_us - window.start_us) / 1e6 / window.columns as f64 / 2.0;
    let mut merged: Vec<(f64, f64)> = Vec::new();
    for &(from, to) in spans {
        match merged.last_mut() {
            Some(last) if from - last.1 < near_s => last.1 = to,
            _ => merged.push((from, to)),
        }
    }
    merged
}
