//! Charts of the workload: inter-arrival times, adapter shares, lengths.

use servescope_lab::run::Run;
use servescope_workload::BASE_MODEL;
use servescope_workload::statistics::{select_quantile, sort};

use super::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series, empty, y_axis_from_zero};

const BARS: usize = 40;

/// Gaps between arrivals as a histogram of their density, with the distribution's density over it, each bar's worth.
pub(super) fn gaps(run: &Run) -> Chart {
    let times = &run.report.trace.arrival_us;
    let mut gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) / 1e6).collect();
    let axis = |max| Axis { unit: "s", scale: ScaleKind::Linear, kind: AxisKind::Value, min: 0.0, max };
    if gaps.len() < 2 {
        return empty("gaps", "empty.too_few_requests", axis(1.0));
    }
    sort(&mut gaps);
    let top = gaps[(gaps.len() - 1) * 98 / 100].max(gaps[gaps.len() - 1] * 1e-3).max(1e-6);
    let width = top / BARS as f64;
    let mut counts = [0.0; BARS];
    for gap in gaps.iter().take_while(|&&gap| gap < top) {
        // The division may round up to the number of bars for a gap just below the top.
        counts[((gap / width) as usize).min(BARS - 1)] += 1.0;
    }
    let edges: Vec<f64> = (0..BARS).map(|i| i as f64 * width).collect();
    let mut series = vec![Series {
        role: Role::Arrivals,
        mark: Mark::Bars,
        x: edges.clone(),
        x2: edges.iter().map(|x| x + width).collect(),
        y: counts.iter().map(|c| c / (gaps.len() as f64 * width)).collect(),
        ..Series::default()
    }];
    let spec = &run.workload;
    if run.generated && spec.curve.is_none() && spec.is_plain() {
        // The density's mean over each bar: near 0 the density itself may be without bound.
        let over = |x: f64| {
            let below = |x: f64| spec.arrivals.gap_cdf(spec.rate_rps, x);
            Some((below(x + width)? - below(x)?) / width)
        };
        if let Some(y) = edges.iter().map(|&x| over(x)).collect() {
            let x = edges.iter().map(|x| x + 0.5 * width).collect();
            series.push(Series { role: Role::Density, mark: Mark::Line, x, y, ..Series::default() });
        }
    }
    let y = y_axis_from_zero("1/s", &series);
    Chart { name: "gaps", x: axis(top), y, series, empty: "", categories: Vec::new() }
}

/// Share of the requests by adapter: drawn as bars, by the distribution as a step line. Many adapters share a bar.
pub(super) fn shares(run: &Run) -> Chart {
    const MOST_BARS: usize = 200;
    let trace = &run.report.trace;
    let count = trace.adapter_count();
    if count == 0 {
        let axis = Axis { unit: "", scale: ScaleKind::Linear, kind: AxisKind::Index, min: -0.5, max: 0.5 };
        return empty("shares", "empty.base_model_only", axis);
    }
    let each = count.div_ceil(MOST_BARS);
    let bars = count.div_ceil(each);
    let mut drawn = vec![0.0; bars];
    for &adapter in trace.adapter.iter().filter(|&&a| a != BASE_MODEL) {
        drawn[adapter as usize / each] += 1.0 / trace.len() as f64;
    }
    let left: Vec<f64> = (0..bars).map(|i| (i * each) as f64 - 0.5).collect();
    let right: Vec<f64> = (1..=bars).map(|i| (i * each).min(count) as f64 - 0.5).collect();
    let mut series = vec![Series {
        role: Role::Adapters,
        mark: Mark::Bars,
        x: left.clone(),
        x2: right,
        y: drawn,
        ..Series::default()
    }];
    let expected = run.workload.expected_adapter_shares();
    if let Some(expected) = expected.filter(|_| run.generated) {
        let mut x = left;
        let mut y: Vec<f64> = expected.chunks(each).map(|chunk| chunk.iter().sum()).collect();
        x.push(count as f64 - 0.5);
        y.push(y[y.len() - 1]);
        series.push(Series { role: Role::Expected, mark: Mark::Step, x, y, ..Series::default() });
    }
    let x = Axis {
        unit: "",
        scale: ScaleKind::Linear,
        kind: AxisKind::Index,
        min: -0.5,
        max: count as f64 - 0.5,
    };
    Chart {
        name: "shares",
        x,
        y: y_axis_from_zero("share", &series),
        series,
        empty: "",
        categories: Vec::new(),
    }
}

/// Prompt and output lengths, as shares of the requests in bins of equal width.
pub(super) fn lengths(run: &Run) -> Chart {
    let trace = &run.report.trace;
    let highest = |lengths: &[u32]| {
        let mut values: Vec<f64> = lengths.iter().map(|&l| f64::from(l)).collect();
        select_quantile(&mut values, 0.99).floor()
    };
    let top = highest(&trace.input_tokens).max(highest(&trace.output_tokens)) + 1.0;
    let width = (top / BARS as f64).ceil().max(1.0);
    let bins = (top / width).ceil() as usize;
    let histogram = |lengths: &[u32]| {
        let mut counts = vec![0.0; bins + 1];
        for &length in lengths {
            if let Some(count) = counts.get_mut((f64::from(length) / width) as usize) {
                *count += 1.0 / lengths.len() as f64;
            }
        }
        counts[bins] = counts[bins - 1];
        counts
    };
    let x: Vec<f64> = (0..=bins).map(|i| i as f64 * width).collect();
    let series = vec![
        Series {
            role: Role::Input,
            mark: Mark::Step,
            x: x.clone(),
            y: histogram(&trace.input_tokens),
            ..Series::default()
        },
        Series {
            role: Role::Output,
            mark: Mark::Step,
            x,
            y: histogram(&trace.output_tokens),
            ..Series::default()
        },
    ];
    let axis = Axis {
        unit: "tokens",
        scale: ScaleKind::Linear,
        kind: AxisKind::Value,
        min: 0.0,
        max: bins as f64 * width,
    };
    Chart {
        name: "lengths",
        x: axis,
        y: y_axis_from_zero("share", &series),
        series,
        empty: "",
        categories: Vec::new(),
    }
}
