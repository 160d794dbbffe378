//! Rates that change over time, in fractions of a request a second, with their integrals and the inverses of those.
//!
//! Arrivals under a curve are made by change of time (Çinlar 1975): an arrival process of rate 1, on a clock that counts
//! expected requests, is read back through the inverse integral. The expected number of requests up to any time is then
//! the integral exactly, whatever the distribution of the gaps, and a Poisson process stays one.
//!
//! The same curves serve for lengths over time, with tokens in place of requests a second.

use crate::aibrix::curve::Pattern;
use crate::formats::table::Table;
use crate::formats::{FormatError, MAX_ARRIVAL_S, MAX_ROWS};

/// Largest rate, requests a second.
pub const MAX_RATE_RPS: f64 = 1e6;

/// One point of a curve drawn by hand or read from a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Seconds from the start.
    pub time_s: f64,
    /// Rate then, requests a second.
    pub rate_rps: f64,
}

/// What a curve looks like. Times are seconds from the start, rates requests a second.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// One rate throughout.
    Constant {
        /// The rate.
        rate_rps: f64,
    },
    /// A straight line between two rates, flat before and after.
    Ramp {
        /// Rate before.
        from_rps: f64,
        /// Rate after.
        to_rps: f64,
        /// Where the line begins.
        start_s: f64,
        /// Where it ends.
        end_s: f64,
    },
    /// One rate, then another.
    Step {
        /// Rate before.
        before_rps: f64,
        /// Rate from then on.
        after_rps: f64,
        /// When.
        at_s: f64,
    },
    /// One rate, with another for a while.
    Spike {
        /// Rate before and after.
        base_rps: f64,
        /// Rate in between.
        peak_rps: f64,
        /// Where the spike begins.
        start_s: f64,
        /// Where it ends.
        end_s: f64,
    },
    /// A sine without end: `mean (1 + swing cos(2 pi (t - peak) / period))`.
    Diurnal {
        /// Mean over a period.
        mean_rps: f64,
        /// Height of the peak above the mean, as a share of it, 0 to 1.
        swing: f64,
        /// Length of a period, seconds; a day is 86,400.
        period_s: f64,
        /// A time at which the rate is largest.
        peak_s: f64,
    },
    /// AIBrix's sine over a run, neither rounded nor sampled, without its noise: the real period is the one asked for.
    Pattern {
        /// The sine, rates in requests a second.
        pattern: Pattern,
        /// Length of the run that its cycles share.
        duration_s: f64,
    },
    /// One rate after another, each for as long as the others; the last one stays.
    Steps {
        /// How long each holds, seconds.
        step_s: f64,
        /// The rates, requests a second.
        rates_rps: Vec<f64>,
    },
    /// Straight lines from point to point, flat before the first and after the last. Two points at one time are a jump.
    Points(Vec<Point>),
}

/// Why a curve was rejected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// A number is outside its bounds.
    #[error("{name}: {value} is not between {min} and {max}")]
    OutOfRange {
        /// Which number.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// The sine goes below zero.
    #[error("the amplitude {amplitude_rps} exceeds the mean {mean_rps}: the rate would be below zero")]
    NegativeRate {
        /// Half the distance from trough to crest, requests a second.
        amplitude_rps: f64,
        /// The middle, requests a second.
        mean_rps: f64,
    },
    /// A curve of points has none.
    #[error("the curve has no points")]
    NoPoints,
    /// Points go back in time.
    #[error("point {place}: its time {time_s} lies before that of the point above, {former_s}")]
    OutOfOrder {
        /// Place of the point, from 1.
        place: usize,
        /// Its time, seconds.
        time_s: f64,
        /// Time of the point above, seconds.
        former_s: f64,
    },
    /// More arrivals than a trace may have.
    #[error("more than {MAX_ROWS} arrivals")]
    TooManyArrivals,
    /// A file lacks a column.
    #[error("the file has no column {column:?}; a curve has time_s and rate_rps")]
    MissingColumn {
        /// Name of the column.
        column: &'static str,
    },
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FormatError),
}

/// Reads points from a CSV with the columns `time_s` and `rate_rps`.
///
/// # Errors
/// [`CurveError`], with the row and column of a bad cell; the points' bounds and order are checked by [`RateCurve::new`].
pub fn points_from_csv(bytes: &[u8]) -> Result<Vec<Point>, CurveError> {
    let mut table = Table::open(bytes)?;
    let place = |column| table.column(column).ok_or(CurveError::MissingColumn { column });
    let (time, rate) = (place("time_s")?, place("rate_rps")?);
    let mut points = Vec::new();
    while table.next_row()? {
        let number = |column| {
            let value: Option<f64> = table.text(column).parse().ok();
            value.filter(|x| x.is_finite()).ok_or_else(|| table.bad(column, "a number"))
        };
        points.push(Point { time_s: number(time)?, rate_rps: number(rate)? });
    }
    Ok(points)
}

/// How the rate goes from the start of a piece, `x` seconds into it.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// `rate + slope x`.
    Line { rate: f64, slope: f64 },
    /// `mean + amplitude sin(omega x + phase)`, with amplitude at most the mean.
    Wave { mean: f64, amplitude: f64, omega: f64, phase: f64 },
}

impl Kind {
    fn rate(self, x: f64) -> f64 {
        match self {
            Self::Line { rate, slope } => (rate + slope * x).max(0.0),
            Self::Wave { mean, amplitude, omega, phase } => {
                (mean + amplitude * libm::sin(omega * x + phase)).max(0.0)
            }
        }
    }

    fn integral(self, x: f64) -> f64 {
        match self {
            Self::Line { rate, slope } => rate * x + 0.5 * slope * x * x,
            Self::Wave { mean, amplitude, omega, phase } => {
                // Whole periods are taken out, so that the cosine's argument stays small.
                let period = std::f64::consts::TAU / omega;
                let rest = x - (x / period).floor() * period;
                mean * x + amplitude / omega * (libm::cos(phase) - libm::cos(omega * rest + phase))
            }
        }
    }

    /// The least `x` whose integral is `count` (above zero); infinite where there is none.
    fn inverse(self, count: f64) -> f64 {
        match self {
            Self::Line { rate, slope } => {
                // The root of slope x^2 / 2 + rate x = count without cancellation.
                let under = rate + f64::sqrt((rate * rate + 2.0 * slope * count).max(0.0));
                if under > 0.0 { 2.0 * count / under } else { f64::INFINITY }
            }
            Self::Wave { mean, amplitude, omega, phase } => {
                let period = std::f64::consts::TAU / omega;
                let periods = (count / (mean * period)).floor();
                let rest = count - periods * mean * period;
                periods * period + wave_root(rest, [mean, amplitude, omega, phase])
            }
        }
    }
}

/// The time within the first period at which a wave's integral is `count`: Newton's steps from where a flat rate would
/// bring it, halving the bracket where one leaves it.
fn wave_root(count: f64, [mean, amplitude, omega, phase]: [f64; 4]) -> f64 {
    /// Halvings that exhaust the digits of a number.
    const MOST_STEPS: usize = 80;
    let period = std::f64::consts::TAU / omega;
    let exact = f64::EPSILON * period;
    let at_start = libm::cos(phase);
    let (mut low, mut high) = (0.0, period);
    let mut x = (count / mean).min(period);
    for _ in 0..MOST_STEPS {
        let (sin, cos) = libm::sincos(omega * x + phase);
        let over = mean * x + amplitude / omega * (at_start - cos) - count;
        let rate = mean + amplitude * sin;
        if over > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let newton = x - over / rate;
        let is_inside = newton > low && newton < high;
        let next = if is_inside { newton } else { 0.5 * (low + high) };
        let step = next - x;
        // What a step of Newton's leaves is at most its square times the curvature over twice the rate.
        if step.abs() <= exact || (is_inside && amplitude.abs() * omega * step * step <= exact * rate) {
            return next;
        }
        x = next;
    }
    x
}

/// A piece of a curve, up to the start of the next one.
#[derive(Debug, Clone, Copy)]
struct CurvePiece {
    start_s: f64,
    /// Integral of the curve up to the start.
    before: f64,
    kind: Kind,
}

/// A rate over time, from 0 on without end.
#[derive(Debug, Clone)]
pub struct RateCurve {
    /// At least one, the first from 0 on; the last one is flat or a wave.
    pieces: Vec<CurvePiece>,
}

fn within(name: &'static str, value: f64, min: f64, max: f64) -> Result<f64, CurveError> {
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(CurveError::OutOfRange { name, value, min, max })
    }
}

impl RateCurve {
    /// The curve of a shape.
    ///
    /// # Errors
    /// [`CurveError`]: rates must lie between 0 and [`MAX_RATE_RPS`], times between 0 and [`MAX_ARRIVAL_S`] and in order.
    pub fn new(shape: &Shape) -> Result<Self, CurveError> {
        let point = |time_s, rate_rps| Point { time_s, rate_rps };
        match *shape {
            Shape::Constant { rate_rps } => Self::lines(&[point(0.0, rate_rps)]),
            Shape::Ramp { from_rps, to_rps, start_s, end_s } => {
                Self::lines(&[point(start_s, from_rps), point(end_s, to_rps)])
            }
            Shape::Step { before_rps, after_rps, at_s } => {
                Self::lines(&[point(at_s, before_rps), point(at_s, after_rps)])
            }
            Shape::Spike { base_rps, peak_rps, start_s, end_s } => Self::lines(&[
                point(start_s, base_rps),
                point(start_s, peak_rps),
                point(end_s, peak_rps),
                point(end_s, base_rps),
            ]),
            Shape::Diurnal { mean_rps, swing, period_s, peak_s } => {
                within("swing", swing, 0.0, 1.0)?;
                within("peak_s", peak_s, -MAX_ARRIVAL_S, MAX_ARRIVAL_S)?;
                let omega = std::f64::consts::TAU / within("period_s", period_s, 1e-3, MAX_ARRIVAL_S)?;
                let phase = std::f64::consts::FRAC_PI_2 - omega * (peak_s % period_s);
                Self::wave(mean_rps, swing * mean_rps, omega, phase)
            }
            Shape::Pattern { pattern, duration_s } => Self::pattern(&pattern, duration_s),
            Shape::Steps { step_s, ref rates_rps } => Self::steps(step_s, rates_rps),
            Shape::Points(ref points) => Self::lines(points),
        }
    }

    fn steps(step_s: f64, rates_rps: &[f64]) -> Result<Self, CurveError> {
        if rates_rps.is_empty() {
            return Err(CurveError::NoPoints);
        }
        within("step_s", step_s, 1e-3, MAX_ARRIVAL_S)?;
        let mut kinds: Vec<(f64, Kind)> = Vec::new();
        let mut former = -1.0;
        for (i, &rate_rps) in rates_rps.iter().enumerate() {
            let rate = within("rate_rps", rate_rps, 0.0, MAX_RATE_RPS)?;
            if rate != former {
                kinds.push((i as f64 * step_s, Kind::Line { rate, slope: 0.0 }));
                former = rate;
            }
        }
        Ok(Self::join(&kinds))
    }

    /// Straight lines from point to point.
    fn lines(points: &[Point]) -> Result<Self, CurveError> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err(CurveError::NoPoints);
        };
        for (i, point) in points.iter().enumerate() {
            within("time_s", point.time_s, 0.0, MAX_ARRIVAL_S)?;
            within("rate_rps", point.rate_rps, 0.0, MAX_RATE_RPS)?;
            let former_s = points[i.saturating_sub(1)].time_s;
            if point.time_s < former_s {
                return Err(CurveError::OutOfOrder { place: i + 1, time_s: point.time_s, former_s });
            }
        }
        let flat = |rate| Kind::Line { rate, slope: 0.0 };
        let mut kinds = vec![(0.0, flat(first.rate_rps))];
        for pair in points.windows(2).filter(|pair| pair[0].time_s < pair[1].time_s) {
            let slope = (pair[1].rate_rps - pair[0].rate_rps) / (pair[1].time_s - pair[0].time_s);
            kinds.push((pair[0].time_s, Kind::Line { rate: pair[0].rate_rps, slope }));
        }
        kinds.push((last.time_s, flat(last.rate_rps)));
        Ok(Self::join(&kinds))
    }

    /// A sine from 0 on.
    fn wave(mean: f64, amplitude: f64, omega: f64, phase: f64) -> Result<Self, CurveError> {
        Ok(Self::join(&[(0.0, Self::wave_kind(mean, amplitude, omega, phase)?)]))
    }

    fn wave_kind(mean: f64, amplitude: f64, omega: f64, phase: f64) -> Result<Kind, CurveError> {
        within("mean_rps", mean, 0.0, MAX_RATE_RPS)?;
        within("amplitude_rps", amplitude, -MAX_RATE_RPS, MAX_RATE_RPS)?;
        if amplitude.abs() > mean {
            return Err(CurveError::NegativeRate { amplitude_rps: amplitude.abs(), mean_rps: mean });
        }
        // A wave without height is a line, which has an inverse even where it is zero.
        Ok(if amplitude == 0.0 {
            Kind::Line { rate: mean, slope: 0.0 }
        } else {
            Kind::Wave { mean, amplitude, omega, phase }
        })
    }

    /// AIBrix's sine: one that only rises is flat from its first crest on, and up to the trough before that.
    fn pattern(pattern: &Pattern, duration_s: f64) -> Result<Self, CurveError> {
        within("duration_s", duration_s, 1e-3, MAX_ARRIVAL_S)?;
        // A wave faster than a thousand cycles a second is none.
        within("cycles", pattern.cycles, -1e3 * duration_s, 1e3 * duration_s)?;
        // Cycles that run backwards are a sine upside down.
        let amplitude = if pattern.cycles < 0.0 { -pattern.amplitude } else { pattern.amplitude };
        let period_s = duration_s / pattern.cycles.abs();
        if period_s > 1e6 * MAX_ARRIVAL_S {
            return Self::lines(&[Point { time_s: 0.0, rate_rps: pattern.mean }]);
        }
        let omega = std::f64::consts::TAU / period_s;
        if !pattern.only_rise || amplitude == 0.0 {
            return Self::wave(pattern.mean, amplitude, omega, 0.0);
        }
        let (start_s, phase) =
            if amplitude > 0.0 { (0.0, 0.0) } else { (0.5 * period_s, std::f64::consts::PI) };
        let wave = Self::wave_kind(pattern.mean, amplitude, omega, phase)?;
        let flat = |rate| Kind::Line { rate, slope: 0.0 };
        Ok(Self::join(&[
            (0.0, flat(pattern.mean)),
            (start_s, wave),
            (start_s + 0.25 * period_s, flat(pattern.mean + amplitude.abs())),
        ]))
    }

    /// Puts pieces after one another and sums their integrals.
    fn join(kinds: &[(f64, Kind)]) -> Self {
        let mut pieces: Vec<CurvePiece> = Vec::with_capacity(kinds.len());
        for &(start_s, kind) in kinds {
            let before = pieces
                .last()
                .map_or(0.0, |last| last.before + last.kind.integral(start_s - last.start_s).max(0.0));
            if pieces.last().is_some_and(|last| last.start_s == start_s) {
                pieces.pop();
            }
            pieces.push(CurvePiece { start_s, before, kind });
        }
        Self { pieces }
    }

    /// Value at `time_s`: requests a second, or for lengths over time their multiple; at a jump, the one after it.
    pub fn value_at(&self, time_s: f64) -> f64 {
        let time_s = time_s.max(0.0);
        let piece = self.piece_at(time_s);
        piece.kind.rate(time_s - piece.start_s)
    }

    /// Expected number of requests up to `time_s`.
    pub fn integral(&self, time_s: f64) -> f64 {
        let time_s = time_s.max(0.0);
        let piece = self.piece_at(time_s);
        piece.before + piece.kind.integral(time_s - piece.start_s).max(0.0)
    }

    fn piece_at(&self, time_s: f64) -> &CurvePiece {
        let next = self.pieces.partition_point(|piece| piece.start_s <= time_s);
        &self.pieces[next.saturating_sub(1)]
    }

    /// The first time, in seconds, at which `count` requests are expected; `None` where the curve never brings this many.
    pub fn inverse(&self, count: f64) -> Option<f64> {
        if count <= 0.0 {
            return Some(0.0);
        }
        // Idle pieces share their sum with the one after them; the first piece that reaches the count is meant.
        let next = self.pieces.partition_point(|piece| piece.before < count);
        let piece = &self.pieces[next.saturating_sub(1)];
        let time_s = piece.start_s + piece.kind.inverse(count - piece.before);
        let end_s = self.pieces.get(next).map_or(f64::INFINITY, |piece| piece.start_s);
        Some(time_s.min(end_s)).filter(|time_s| time_s.is_finite())
    }

    /// Arrival times up to `duration_s`, in seconds. `unit_gap` gives the gaps of a process of rate 1.
    ///
    /// # Errors
    /// [`CurveError::TooManyArrivals`].
    pub fn arrivals_s(
        &self,
        duration_s: f64,
        mut unit_gap: impl FnMut() -> f64,
    ) -> Result<Vec<f64>, CurveError> {
        let mut arrivals = Vec::new();
        let mut count = 0.0;
        loop {
            count += unit_gap();
            match self.inverse(count) {
                Some(time_s) if time_s <= duration_s => arrivals.push(time_s),
                _ => return Ok(arrivals),
            }
            if arrivals.len() > MAX_ROWS {
                return Err(CurveError::TooManyArrivals);
            }
        }
    }
}

#[cfg(test)]
mod tests;
