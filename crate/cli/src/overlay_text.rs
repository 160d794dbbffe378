//! An overlay as text.

use servescope_evidence::overlay::{
    CostFit, LengthBucket, MeasuredRun, Overlay, PairedMetric, Sending, Taken,
};

use crate::compare::aligned;

/// Percent with a sign.
fn percent(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{:+.1} %", 100.0 * x))
}

/// Percent of an absolute error.
fn error(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{:.1} %", 100.0 * x))
}

/// A value in the unit that people read: milliseconds below ten seconds.
fn value(name: &str, x: Option<f64>) -> String {
    match x {
        None => "-".to_owned(),
        Some(x) if !name.ends_with("_s") || name.ends_with("per_s") => format!("{x:.2}"),
        Some(x) if x.abs() < 10.0 => format!("{:.2} ms", 1e3 * x),
        Some(x) => format!("{x:.2} s"),
    }
}

/// What is shown of an overlay.
pub(crate) fn table(
    measured: &MeasuredRun,
    taken: &Taken,
    overlay: &Overlay,
    fit: Option<&CostFit>,
) -> String {
    let mut lines =
        vec![format!("{}, {} requests, {}", measured.tool.name(), measured.requests.len(), sent(measured))];
    lines.extend(
        taken.settings.iter().map(|taken| format!("  {} = {}  ({})", taken.path, taken.value, taken.from)),
    );
    if overlay.unfinished > 0 {
        lines.push(format!(
            "{} requests do not end in the simulated run and are left out",
            overlay.unfinished
        ));
    }
    lines.push(String::new());
    lines.extend(means(&overlay.metrics));
    lines.push(String::new());
    lines.extend(quantiles(&overlay.metrics));
    if !overlay.by_length.is_empty() {
        lines.push(String::new());
        lines.extend(lengths(&overlay.by_length));
    }
    lines.push(String::new());
    lines.push(match taken.missing_text() {
        None => format!("likely cause: {}", overlay.cause.sentence),
        Some(missing) => missing,
    });
    if let Some(fit) = fit {
        lines.push(String::new());
        lines.extend(fitted(fit));
    }
    lines.join("\n") + "\n"
}

fn sent(measured: &MeasuredRun) -> String {
    match measured.sending {
        Sending::Times => "sent at their times".to_owned(),
        Sending::Drawn => "sent at drawn times".to_owned(),
        Sending::InFlight(most) => format!("{most} in flight"),
    }
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn means(metrics: &[PairedMetric]) -> Vec<String> {
    let mut rows = vec![row(["mean", "measured", "simulated", "bias", "MAPE", "correlation"])];
    rows.extend(metrics.iter().map(|metric| {
        vec![
            metric.name.to_owned(),
            value(metric.name, metric.measured),
            value(metric.name, metric.simulated),
            percent(metric.bias),
            error(metric.mape),
            metric.correlation.map_or_else(|| "-".to_owned(), |r| format!("{r:.3}")),
        ]
    }));
    aligned(&rows)
}

/// Quantiles of both runs, measured / simulated.
fn quantiles(metrics: &[PairedMetric]) -> Vec<String> {
    let mut rows = vec![row(["measured / simulated", "p50", "p90", "p95", "p99", "max"])];
    for metric in metrics.iter().filter(|metric| metric.simulated_distribution.mean.is_some()) {
        let (m, s) = (metric.measured_distribution, metric.simulated_distribution);
        let both = [(m.p50, s.p50), (m.p90, s.p90), (m.p95, s.p95), (m.p99, s.p99), (m.max, s.max)];
        let cells = both.map(|(m, s)| format!("{} / {}", value(metric.name, m), value(metric.name, s)));
        rows.push([vec![metric.name.to_owned()], cells.to_vec()].concat());
    }
    aligned(&rows)
}

fn lengths(buckets: &[LengthBucket]) -> Vec<String> {
    let mut rows = vec![row(["bias by prompt tokens", "requests", "TTFT", "TPOT", "E2E"])];
    rows.extend(buckets.iter().map(|bucket| {
        vec![
            format!("{} to {}", bucket.from_tokens, bucket.to_tokens),
            bucket.requests.to_string(),
            percent(bucket.ttft_bias),
            percent(bucket.tpot_bias),
            percent(bucket.e2e_bias),
        ]
    }));
    aligned(&rows)
}

fn fitted(fit: &CostFit) -> Vec<String> {
    let mut lines = vec![format!("fit on every second request, {} runs:", fit.runs)];
    for constant in &fit.constants {
        lines.push(format!("  {} = {} -> {}", constant.id.row().id, constant.before, constant.after));
    }
    let mut rows = vec![row(["MAPE (bias)", "fitted half", "after", "other half", "after"])];
    let halves = [&fit.fitted_half[0], &fit.fitted_half[1], &fit.left_out_half[0], &fit.left_out_half[1]];
    for (place, metric) in fit.fitted_half[0].iter().enumerate() {
        let cells = halves.map(|half| format!("{} ({})", error(half[place].mape), percent(half[place].bias)));
        rows.push([vec![metric.name.to_owned()], cells.to_vec()].concat());
    }
    lines.extend(aligned(&rows));
    lines
}
