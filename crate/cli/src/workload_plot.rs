//! The plot of a workload: requests, mean prompt and mean output length second by second, and the requests of each session.

use std::fmt::Write as _;

use servescope_charts::{Axis, AxisKind, Chart, Clock, DrawError, Mark, Role, ScaleKind, Series, Style, svg};
use servescope_workload::Trace;
use servescope_workload::trace::NO_LABEL;

/// Width of the plot and height of one chart, CSS px.
const SIZE: (f64, f64) = (960.0, 200.0);
/// Height of a chart's title, CSS px.
const TITLE: f64 = 22.0;
/// Most seconds that are drawn one by one; of a longer workload each point stands for several.
const MOST_POINTS: usize = 20_000;

/// The plot as an SVG document. `unknown_outputs` of the trace count as nothing.
///
/// # Errors
/// [`DrawError`] of a chart.
pub(crate) fn plot(trace: &Trace) -> Result<String, DrawError> {
    let end_s = trace.arrival_us.last().map_or(1.0, |&us| (us / 1e6).floor() + 1.0);
    let step_s = (end_s / MOST_POINTS as f64).ceil().max(1.0);
    let bins = (end_s / step_s).ceil() as usize;
    let mut sums = [vec![0.0; bins], vec![0.0; bins], vec![0.0; bins]];
    for id in 0..trace.len() {
        let bin = ((trace.arrival_us[id] / 1e6 / step_s) as usize).min(bins - 1);
        sums[0][bin] += 1.0;
        sums[1][bin] += f64::from(trace.input_tokens[id]);
        sums[2][bin] += f64::from(trace.output_tokens[id]);
    }
    let [requests, input, output] = sums;
    let mean = |sums: Vec<f64>| -> Vec<f64> {
        sums.iter().zip(&requests).map(|(sum, count)| if *count > 0.0 { sum / count } else { 0.0 }).collect()
    };
    let (input, output) = (mean(input), mean(output));
    let rate: Vec<f64> = requests.iter().map(|count| count / step_s).collect();
    let x: Vec<f64> = (0..bins).map(|bin| bin as f64 * step_s).collect();
    let charts = [
        ("Requests a second", chart(end_s, Role::Arrivals, Mark::Step, &x, rate)),
        ("Mean prompt length, tokens", chart(end_s, Role::Input, Mark::Step, &x, input)),
        ("Mean output length, tokens", chart(end_s, Role::Output, Mark::Step, &x, output)),
        ("Sessions, a dot a request", sessions(trace, end_s)),
    ];
    let style = Style { dark: false, width: SIZE.0, height: SIZE.1, dpr: 1.0, clock: Clock::Symbols };
    let height = charts.len() as f64 * (SIZE.1 + TITLE);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        SIZE.0
    );
    for (place, (title, chart)) in charts.into_iter().enumerate() {
        let top = place as f64 * (SIZE.1 + TITLE);
        let _ = write!(
            text,
            "<text x=\"52\" y=\"{}\">{title}</text>\n<g transform=\"translate(0 {})\">",
            top + 16.0,
            top + TITLE
        );
        text.push_str(&svg(&chart, None, &style)?);
        text.push_str("</g>\n");
    }
    text.push_str("</svg>\n");
    Ok(text)
}

/// The requests of each session, in the order in which sessions begin.
fn sessions(trace: &Trace, end_s: f64) -> Chart {
    let labels = trace.metadata.as_ref().map(|metadata| &metadata.session);
    let places = labels.map_or(&[][..], |labels| &labels.index);
    let with_session = trace.arrival_us.iter().zip(places).filter(|(_, place)| **place != NO_LABEL);
    let (x, y): (Vec<f64>, Vec<f64>) = with_session.map(|(us, &place)| (us / 1e6, f64::from(place))).unzip();
    chart(end_s, Role::Arrivals, Mark::Points, &x, y)
}

fn chart(end_s: f64, role: Role, mark: Mark, x: &[f64], y: Vec<f64>) -> Chart {
    let highest = y.iter().copied().fold(1.0, f64::max) * 1.05;
    let axis = |kind, max| Axis { unit: "", scale: ScaleKind::Linear, kind, min: 0.0, max };
    Chart::untitled(
        axis(AxisKind::Time, end_s),
        axis(AxisKind::Value, highest),
        vec![Series { role, mark, x: x.to_vec(), y, ..Series::default() }],
    )
}
