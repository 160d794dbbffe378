//! The authors' points beside this simulator's curves: what the page's view of published results is made of.
//!
//! A figure is one measure of one sweep of one suite. Its curves are simulated again at the authors' points and between them,
//! with the workload that their generator draws there: with the default calibration, which was tuned on some of the points,
//! and with the one settled on one run a GPU ([`single_run`](super::single_run)).

use serde::Serialize;
use servescope_engine::metrics::Summary;
use servescope_settings::link;
use servescope_workload::statistics::sort_by_number;

use super::policies::{self, ComparedPolicy};
use super::single_run::{self, SingleRunCalibration};
use super::{PublishedRow, THROUGHPUT_BOUND, attainment_bound, is_tuned, recorded, scenario_of, simulate};

/// Into how many parts the way from one of the authors' points to the next is cut.
const PARTS: usize = 3;

/// What a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PublishedMeasure {
    /// Requests a second, up to the last answer.
    Throughput,
    /// Mean end-to-end time, seconds.
    E2e,
    /// Mean time to first token, seconds.
    FirstToken,
    /// Share of requests with a first token within 6 s.
    Attainment,
    /// Requests aborted.
    Rejected,
}

impl PublishedMeasure {
    /// The measures of a sweep.
    pub const OF_SWEEPS: [Self; 4] = [Self::Throughput, Self::E2e, Self::FirstToken, Self::Attainment];

    fn of(self, summary: &Summary) -> f64 {
        match self {
            Self::Throughput => summary.throughput_rps.unwrap_or(0.0),
            Self::E2e => summary.e2e_s.mean.unwrap_or(0.0),
            Self::FirstToken => summary.ttft_s.mean.unwrap_or(0.0),
            Self::Attainment => summary.slo.attainment.unwrap_or(0.0),
            Self::Rejected => summary.requests.rejected_total as f64,
        }
    }

    fn of_row(self, row: &PublishedRow) -> f64 {
        match self {
            Self::Throughput => row.throughput_rps,
            Self::E2e => row.e2e_s,
            Self::FirstToken => row.first_token_s,
            Self::Attainment | Self::Rejected => row.attainment,
        }
    }

    /// Attainment is a share already; the errors of everything else are relative.
    fn error(self, ours: f64, theirs: f64) -> f64 {
        if self == Self::Attainment { ours - theirs } else { (ours - theirs) / theirs }
    }
}

/// One of the authors' points.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PublishedPoint {
    /// The value of `scheduler.order`.
    pub policy: &'static str,
    /// Where it stands.
    pub x: f64,
    /// Recorded.
    pub theirs: f64,
    /// With the default calibration, which knows one GPU only.
    pub ours: Option<f64>,
    /// With the calibration on one run a GPU.
    pub one_run: f64,
    /// Whether the default calibration was tuned on this run.
    pub is_tuned: bool,
    /// Whether this run settled the other calibration.
    pub is_settling: bool,
    /// The scenario, as the part of an address behind `#`.
    pub link: String,
}

/// Errors of one calibration at the authors' points, without what settled it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PublishedErrors {
    /// The largest, without its sign.
    pub max: f64,
    /// The mean, without signs.
    pub mean: f64,
    /// How many points are compared.
    pub points: usize,
    /// What the error of a point may be, and how many keep that; `None` where nothing is asked.
    pub bound: Option<f64>,
    /// See `bound`.
    pub within: usize,
}

/// Our answers along a curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The value of `scheduler.order`.
    pub policy: &'static str,
    /// Whether it is of the calibration on one run a GPU.
    pub is_one_run: bool,
    /// Places.
    pub x: Vec<f64>,
    /// Answers.
    pub y: Vec<f64>,
}

/// A figure: points, curves and how far they lie apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PublishedFigure {
    /// "n", "R", "cv", "alpha" or "policies".
    pub sweep: &'static str,
    /// What it shows.
    pub measure: PublishedMeasure,
    /// The authors' points.
    pub points: Vec<PublishedPoint>,
    /// Errors with the default calibration.
    pub ours: Option<PublishedErrors>,
    /// Errors with the calibration on one run a GPU.
    pub one_run: Option<PublishedErrors>,
    /// The curves; charts have them as columns.
    #[serde(skip)]
    pub curves: Vec<Curve>,
}

/// A row under a policy, with both answers.
struct Answered {
    row: PublishedRow,
    policy: ComparedPolicy,
    rejected: Option<u32>,
    ours: Option<Summary>,
    one_run: Summary,
}

impl Answered {
    fn new(row: &PublishedRow, policy: ComparedPolicy, rejected: Option<u32>) -> Self {
        // The default calibration is one of the A10G.
        let ours = (row.suite != "S4").then(|| simulate(row, &scenario_of(row, policy)));
        let one_run = simulate(row, &SingleRunCalibration::of(row.suite).scenario(row, policy));
        Self { row: *row, policy, rejected, ours, one_run }
    }

    fn point(&self, measure: PublishedMeasure) -> Option<PublishedPoint> {
        let theirs = match measure {
            PublishedMeasure::Rejected => f64::from(self.rejected?),
            _ => measure.of_row(&self.row),
        };
        let scenario = match self.row.suite {
            "S4" => SingleRunCalibration::of("S4").scenario(&self.row, self.policy),
            _ => scenario_of(&self.row, self.policy),
        };
        let is_fcfs = self.policy == ComparedPolicy::Fcfs;
        Some(PublishedPoint {
            policy: self.policy.choice(),
            x: swept(&self.row),
            theirs,
            ours: self.ours.as_ref().map(|ours| measure.of(ours)),
            one_run: measure.of(&self.one_run),
            is_tuned: is_fcfs && is_tuned(&self.row),
            is_settling: is_fcfs && self.row.is_set_like(SingleRunCalibration::of(self.row.suite).settling()),
            link: link::encode(&scenario),
        })
    }
}

/// What a row's sweep changes.
fn swept(row: &PublishedRow) -> f64 {
    match row.sweep {
        "n" => row.adapters as f64,
        "R" => row.rate_rps,
        "alpha" => row.alpha,
        _ => row.cv,
    }
}

fn sweeping(row: &PublishedRow, x: f64) -> PublishedRow {
    let mut other = *row;
    match row.sweep {
        "n" => other.adapters = x as usize,
        "R" => other.rate_rps = x,
        "alpha" => other.alpha = x,
        _ => other.cv = x,
    }
    other
}

/// Places between neighbours, in hundredths; whole ones for numbers of adapters.
fn between(sweep: &str, places: &[f64]) -> Vec<f64> {
    let step = if sweep == "n" { 1.0 } else { 0.01 };
    let cut = |pair: &[f64]| {
        let (from, to) = (pair[0], pair[1]);
        (1..PARTS).map(move |part| {
            let x = from + (to - from) * part as f64 / PARTS as f64;
            libm::round(x / step) * step
        })
    };
    places.windows(2).flat_map(cut).collect()
}

/// Figures of a sweep of a suite; none where nothing was recorded.
pub fn sweep(suite: &str, sweep: &str) -> Vec<PublishedFigure> {
    let rows: Vec<&PublishedRow> =
        recorded().iter().filter(|row| row.suite == suite && row.sweep == sweep).collect();
    let answers: Vec<Answered> =
        rows.iter().map(|row| Answered::new(row, ComparedPolicy::Fcfs, None)).collect();
    let Some(first) = rows.first() else { return Vec::new() };
    let all = with_between(first, ComparedPolicy::Fcfs, &answers);
    PublishedMeasure::OF_SWEEPS
        .into_iter()
        .map(|measure| {
            let points = answers.iter().filter_map(|answered| answered.point(measure)).collect();
            let bound = match measure {
                PublishedMeasure::Throughput => Some(THROUGHPUT_BOUND),
                PublishedMeasure::Attainment => Some(attainment_bound(first)),
                _ => None,
            };
            figure(first.sweep, measure, points, bound, curves(measure, ComparedPolicy::Fcfs, &all))
        })
        .collect()
}

/// Figures of the policies of a suite against cv.
pub fn policies(suite: &str) -> Vec<PublishedFigure> {
    let rows: Vec<&PublishedRow> =
        recorded().iter().filter(|row| row.suite == suite && row.sweep == "cv").collect();
    let Some(first) = rows.first() else { return Vec::new() };
    let mut points = [Vec::new(), Vec::new()];
    let mut drawn = [Vec::new(), Vec::new()];
    for policy in [ComparedPolicy::Fcfs, ComparedPolicy::Lifo, ComparedPolicy::EarlyAbort] {
        let answers: Vec<Answered> = match policy {
            ComparedPolicy::Fcfs => rows.iter().map(|row| Answered::new(row, policy, None)).collect(),
            _ => policies::recorded()
                .iter()
                .filter(|row| row.suite == suite && row.policy == policy)
                .map(|row| {
                    let setting = PublishedRow { attainment: row.attainment, ..row.setting() };
                    let gives_up = policy == ComparedPolicy::EarlyAbort;
                    Answered::new(&setting, policy, gives_up.then_some(row.rejected))
                })
                .collect(),
        };
        if answers.is_empty() {
            continue;
        }
        let all = with_between(first, policy, &answers);
        for (place, measure) in
            [PublishedMeasure::Attainment, PublishedMeasure::Rejected].into_iter().enumerate()
        {
            let made: Vec<PublishedPoint> =
                answers.iter().filter_map(|answered| answered.point(measure)).collect();
            if !made.is_empty() {
                drawn[place].extend(curves(measure, policy, &all));
            }
            points[place].extend(made);
        }
    }
    let [attained, given_up] = points;
    let [attained_drawn, given_up_drawn] = drawn;
    vec![
        figure(
            "policies",
            PublishedMeasure::Attainment,
            attained,
            Some(policies::ATTAINMENT_BOUND),
            attained_drawn,
        ),
        figure("policies", PublishedMeasure::Rejected, given_up, None, given_up_drawn),
    ]
}

/// The recorded places and those between them, from left to right.
fn with_between(
    first: &PublishedRow,
    policy: ComparedPolicy,
    answers: &[Answered],
) -> Vec<(f64, Option<Summary>, Summary)> {
    let places: Vec<f64> = answers.iter().map(|answered| swept(&answered.row)).collect();
    let mut all: Vec<_> =
        answers.iter().map(|a| (swept(&a.row), a.ours.clone(), a.one_run.clone())).collect();
    all.extend(between(first.sweep, &places).into_iter().map(|x| {
        let answered = Answered::new(&sweeping(first, x), policy, None);
        (x, answered.ours, answered.one_run)
    }));
    sort_by_number(&mut all, |point| point.0);
    all
}

fn curves(
    measure: PublishedMeasure,
    policy: ComparedPolicy,
    all: &[(f64, Option<Summary>, Summary)],
) -> Vec<Curve> {
    let policy = policy.choice();
    let x: Vec<f64> = all.iter().map(|(x, ..)| *x).collect();
    let one_run = all.iter().map(|(_, _, one_run)| measure.of(one_run)).collect();
    let ours: Vec<f64> = all.iter().filter_map(|(_, ours, _)| Some(measure.of(ours.as_ref()?))).collect();
    let mut curves = vec![Curve { policy, is_one_run: true, x: x.clone(), y: one_run }];
    if ours.len() == x.len() {
        curves.push(Curve { policy, is_one_run: false, x, y: ours });
    }
    curves
}

fn figure(
    sweep: &'static str,
    measure: PublishedMeasure,
    points: Vec<PublishedPoint>,
    bound: Option<f64>,
    curves: Vec<Curve>,
) -> PublishedFigure {
    let ours = points.iter().filter(|p| !p.is_tuned).filter_map(|p| Some(measure.error(p.ours?, p.theirs)));
    let ours = errors(ours.collect(), bound);
    // Attainment and throughput of a prediction are held against bounds of their own.
    let predicted = points.iter().filter(|p| !p.is_settling).map(|p| measure.error(p.one_run, p.theirs));
    let predicted_bound = match measure {
        PublishedMeasure::Throughput => Some(single_run::THROUGHPUT_BOUND),
        PublishedMeasure::Attainment => Some(single_run::ATTAINMENT_BOUND),
        _ => None,
    };
    let one_run = errors(predicted.collect(), predicted_bound);
    PublishedFigure { sweep, measure, points, ours, one_run, curves }
}

fn errors(all: Vec<f64>, bound: Option<f64>) -> Option<PublishedErrors> {
    let sizes: Vec<f64> = all.into_iter().map(f64::abs).collect();
    let count = sizes.len();
    (count > 0).then(|| PublishedErrors {
        max: sizes.iter().copied().fold(0.0, f64::max),
        mean: sizes.iter().sum::<f64>() / count as f64,
        points: count,
        bound,
        within: sizes.iter().filter(|&&size| bound.is_none_or(|bound| size <= bound)).count(),
    })
}

#[cfg(test)]
mod tests {
    use servescope_settings::parameters::choices::Order;

    use super::*;

    #[test]
    fn curves_pass_through_the_answers_at_the_points() {
        for (suite, name) in [("S1", "n"), ("S2", "alpha"), ("S4", "R")] {
            let figures = sweep(suite, name);
            assert_eq!(figures.len(), 4);
            for figure in figures {
                assert!(figure.curves.iter().all(|c| c.x.windows(2).all(|w| w[0] < w[1])));
                for point in &figure.points {
                    for curve in &figure.curves {
                        let place = curve.x.iter().position(|&x| x == point.x).unwrap();
                        let answer = if curve.is_one_run { Some(point.one_run) } else { point.ours };
                        assert_eq!(Some(curve.y[place]), answer);
                    }
                }
            }
        }
        assert!(sweep("S4", "alpha").is_empty());
    }

    #[test]
    fn a_links_scenario_is_the_points_server() {
        let figures = policies("S2");
        let mut drawn: Vec<&str> = figures[0].curves.iter().map(|curve| curve.policy).collect();
        drawn.dedup();
        assert_eq!(drawn, ["fcfs", "lifo", "early_abort"]);
        let lifo = figures[0].points.iter().find(|p| p.policy == "lifo" && p.x == 4.0).unwrap();
        let (scenario, problems) = link::parse(&lifo.link);
        assert!(problems.is_empty());
        assert_eq!(scenario.chosen(Order::SCHEDULER), Order::Lifo);
        assert_eq!(scenario.number(servescope_settings::parameters::Id::Cv), 4.0);
    }

    #[test]
    fn what_settled_a_calibration_is_not_among_its_errors() {
        let figures = sweep("S1", "n");
        assert_eq!(figures[0].points.len(), 5);
        assert_eq!(figures[0].ours.unwrap().points, 2);
        assert_eq!(figures[0].one_run.unwrap().points, 5);
        assert_eq!(sweep("S2", "n")[0].one_run.unwrap().points, 4);
    }
}
