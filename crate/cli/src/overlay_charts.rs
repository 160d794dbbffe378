//! The charts of an overlay.

use std::path::Path;

use servescope_charts::{Chart, Mark, Role};
use servescope_lab::overlay::{MeasuredRun, Overlay, Pair, Times};
use servescope_lab::views::sweep::axis_around;

use crate::chart_files::create;
use crate::output::{Failed, note, write};
use crate::plots::{Plot, series};

type Of = fn(&Times) -> Option<f64>;

const TIMES: [(&str, &str, Of); 3] = [
    ("ttft", "TTFT", |times| times.ttft_s),
    ("itl", "ITL, mean of each request", |times| times.itl_s),
    ("e2e", "E2E time", |times| times.e2e_s),
];

/// Writes them: two a time, and the bias by prompt length.
pub(crate) fn write_charts(folder: &Path, measured: &MeasuredRun, overlay: &Overlay) -> Result<(), Failed> {
    create(folder)?;
    if !measured.has_times() {
        note("--charts: the file tells no times of single requests; nothing is drawn");
        return Ok(());
    }
    let save = |name: String, plot: &Plot| {
        let path = folder.join(name);
        let text = plot.svg().map_err(|error| Failed::Run(format!("{}: {error}", path.display())))?;
        write(&path, &text)
    };
    for (name, title, of) in TIMES {
        save(format!("{name}_distribution.svg"), &distribution(title, of, &overlay.pairs))?;
        save(format!("{name}_requests.svg"), &scatter(title, of, &overlay.pairs))?;
    }
    save("ttft_error_by_input.svg".to_owned(), &by_input(&overlay.pairs))
}

/// Values in their order with the share that is at most as large.
fn shares(mut values: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let share = (0..values.len()).map(|place| (place + 1) as f64 / count).collect();
    (values, share)
}

fn both(of: Of, pairs: &[Pair]) -> (Vec<f64>, Vec<f64>) {
    pairs.iter().filter_map(|pair| Some((of(&pair.measured)?, of(&pair.simulated)?))).unzip()
}

fn distribution(title: &str, of: Of, pairs: &[Pair]) -> Plot {
    let (measured, simulated) = both(of, pairs);
    let ((x, y), (x_ours, y_ours)) = (shares(measured), shares(simulated));
    Plot {
        title: format!("{title}: share of requests that are at most as long"),
        x: "s".to_owned(),
        y: "share".to_owned(),
        legend: vec![(Role::Arrivals, "measured".to_owned()), (Role::Waiting, "simulated".to_owned())],
        chart: Chart::untitled(
            axis_around(x.iter().chain(&x_ours).copied(), false, true),
            axis_around([0.0, 1.0].into_iter(), false, true),
            vec![series(Role::Arrivals, Mark::Line, x, y), series(Role::Waiting, Mark::Line, x_ours, y_ours)],
        ),
    }
}

fn scatter(title: &str, of: Of, pairs: &[Pair]) -> Plot {
    let (x, y) = both(of, pairs);
    let title = format!("{title} of each request");
    Plot::of_pairs([&title, "measured, s", "simulated, s", "the same in both"], x, y, false)
}

/// The difference of the TTFT over the length of the prompt.
fn by_input(pairs: &[Pair]) -> Plot {
    let point =
        |pair: &Pair| Some((f64::from(pair.input_tokens), pair.simulated.ttft_s? - pair.measured.ttft_s?));
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().filter_map(point).unzip();
    let horizontal = axis_around(x.iter().copied(), false, true);
    let zero = (vec![horizontal.min, horizontal.max], vec![0.0, 0.0]);
    Plot {
        title: "Error of the TTFT by prompt length".to_owned(),
        x: "prompt, tokens".to_owned(),
        y: "simulated less measured, s".to_owned(),
        legend: vec![(Role::Arrivals, "a request".to_owned()), (Role::Expected, "no difference".to_owned())],
        chart: Chart::untitled(
            horizontal,
            axis_around(y.iter().copied().chain([0.0]), false, false),
            vec![
                series(Role::Expected, Mark::Line, zero.0, zero.1),
                series(Role::Arrivals, Mark::Points, x, y),
            ],
        ),
    }
}
