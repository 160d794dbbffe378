//! Bursts as a cascade: how the requests of a stretch of time split between its halves, scale by scale.
//!
//! The requests of a wide cell are dealt to its two halves, those of each half to its quarters, and so on down to a
//! millisecond. The share of one half is random: its log-odds are normal with mean zero, and their spread, one number for
//! each width of cell and class of count, is fitted so that the squared difference of the halves has the mean that it has
//! in the source. The variance of counts at every width follows from that, which is what an index of dispersion shows.
//! Such conservative cascades were brought to network traffic by Riedi, Crouse, Ribeiro and Baraniuk (A multifractal
//! wavelet model with application to network traffic, IEEE Transactions on Information Theory 45, 1999), with beta
//! distributions in place of the logistic normal one.
//!
//! Only the trend is taken from the source as it is: the counts of the widest cells. Everything inside them is redrawn.
//! Draws are stratified: cells of like count share the quantiles of the distribution among them in random order, so that a
//! twin has the variance asked for and not that times a chi-square of few degrees.

mod calibrate;
mod measure;

use measure::{quantile, splits, tallies};

use super::rate::{MOST_CHART_BINS, round_width};
use crate::stream::Stream;

/// Requests in a cell of the trend on average.
const TREND_REQUESTS: f64 = 50.0;
/// Least width of a cell of the trend, seconds.
const LEAST_TREND_S: f64 = 300.0;
/// Fewest cells of the trend: the distribution of the widest cells is fitted to this many.
const LEAST_TREND_CELLS: f64 = 8.0;
/// Parts of a trend cell in which its count is kept, so that a twin's cells need not begin where the source's did.
const PARTS: usize = 4;
/// Width below which cells are not split, seconds.
const FINEST_S: f64 = 1e-3;
/// Cells that share one set of quantiles.
const BLOCK: usize = 2;

/// The distribution of the halves of cells with at least this many requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Least number of requests in a cell.
    pub least: u32,
    /// Standard deviation of the log-odds of one half; 0 is a fair coin for each request.
    pub spread: f64,
    /// Mean of (2p - 1)^2 for the share p of one half, which the spread stands for; below 0 halves are more alike than a
    /// coin makes them.
    pub excess: f64,
    /// Share of cells that split evenly, where the source is more regular than a coin.
    pub even: f64,
    /// Cells of the source that say so.
    pub cells: f64,
}

/// The distributions of the cells of one width.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Width of the cells before they split, seconds.
    pub width_s: f64,
    /// Distributions by least count, ascending. Empty where no cell of the source has two requests.
    pub splits: Vec<Split>,
}

/// A fitted cascade.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cascade {
    /// Width of the cells whose counts are the source's, seconds.
    pub trend_s: f64,
    /// Requests in each quarter of these cells.
    pub trend: Vec<u32>,
    /// The cells inside them, the widest first.
    pub levels: Vec<Level>,
    span_s: f64,
}

impl Cascade {
    /// The cascade of times in seconds from the start, ascending; cells narrower than `finest_s` are not split.
    pub(super) fn of(since_s: &[f64], span_s: f64, finest_s: f64) -> Self {
        if since_s.len() < 2 || span_s <= 0.0 {
            return Self { span_s, ..Self::default() };
        }
        let wanted_s = round_width(since_s.len(), span_s, TREND_REQUESTS, MOST_CHART_BINS).max(LEAST_TREND_S);
        let trend_s = wanted_s.min(span_s / LEAST_TREND_CELLS);
        let part_s = trend_s / PARTS as f64;
        let last = (span_s / part_s) as usize;
        let mut trend = vec![0; last + 1];
        for &time in since_s {
            trend[((time / part_s) as usize).min(last)] += 1;
        }
        let mut levels = Vec::new();
        let mut width_s = trend_s;
        while width_s > finest_s.max(FINEST_S) {
            levels.push(Level { width_s, splits: splits(&tallies(since_s, span_s, width_s)) });
            width_s *= 0.5;
        }
        let mut cascade = Self { trend_s, trend, levels, span_s };
        calibrate::calibrate(&mut cascade, since_s);
        cascade
    }

    /// How many numbers it consists of.
    pub fn parameters(&self) -> usize {
        self.trend.len() + self.levels.iter().map(|level| level.splits.len()).sum::<usize>()
    }

    /// Times redrawn, seconds from the start, ascending.
    pub(super) fn times_s(&self, stream: &Stream) -> Vec<f64> {
        let mut draws = stream.item(0);
        let offset = (draws.uniform() * PARTS as f64) as usize % PARTS;
        let mut cells: Vec<(f64, u32)> = Vec::new();
        let part_s = self.trend_s / PARTS as f64;
        for first in (0..self.trend.len() + offset).step_by(PARTS) {
            let parts = (first..first + PARTS).filter_map(|place| self.trend.get(place.checked_sub(offset)?));
            let count = parts.sum();
            if count > 0 {
                cells.push(((first as f64 - offset as f64) * part_s, count));
            }
        }
        let mut times = Vec::new();
        for level in &self.levels {
            cells = self.halves(&cells, level, &mut draws, &mut times);
        }
        let width_s = self.levels.last().map_or(self.trend_s, |level| 0.5 * level.width_s);
        for (start_s, count) in cells {
            (0..count).for_each(|_| times.push(self.inside(start_s, width_s, draws.uniform())));
        }
        crate::statistics::sort(&mut times);
        times
    }

    /// A place in the part of a cell that lies inside the span.
    fn inside(&self, start_s: f64, width_s: f64, u: f64) -> f64 {
        let (from, to) = (start_s.max(0.0), (start_s + width_s).min(self.span_s));
        from + (to - from).max(0.0) * u
    }

    /// The halves of cells that hold requests. A single request is placed at once: it is equally likely everywhere.
    fn halves(
        &self,
        cells: &[(f64, u32)],
        level: &Level,
        draws: &mut Stream,
        times: &mut Vec<f64>,
    ) -> Vec<(f64, u32)> {
        let half_s = 0.5 * level.width_s;
        let odds = log_odds(cells, level, draws);
        let mut halves = Vec::with_capacity(cells.len() * 2);
        for (&(start_s, count), &odds) in cells.iter().zip(&odds) {
            if count == 1 {
                times.push(self.inside(start_s, level.width_s, draws.uniform()));
                continue;
            }
            let inside = |from: f64| ((from + half_s).min(self.span_s) - from.max(0.0)).max(0.0);
            let (left_s, right_s) = (inside(start_s), inside(start_s + half_s));
            let left = if left_s <= 0.0 || right_s <= 0.0 {
                if left_s > 0.0 { count } else { 0 }
            } else {
                dealt(count, odds, libm::log(left_s / right_s), draws)
            };
            halves.extend(
                [(start_s, left), (start_s + half_s, count - left)].into_iter().filter(|half| half.1 > 0),
            );
        }
        halves
    }
}

/// How many of `count` requests fall into the left half; odds of NaN stand for an even split.
fn dealt(count: u32, odds: f64, lean: f64, draws: &mut Stream) -> u32 {
    if odds.is_nan() {
        let share = 1.0 / (1.0 + libm::exp(-lean));
        return (f64::from(count) * share + draws.uniform()).floor() as u32;
    }
    let share = 1.0 / (1.0 + libm::exp(-(odds + lean)));
    (0..count).filter(|_| draws.uniform() < share).count() as u32
}

/// The log-odds of each cell's left half: the quantiles of its distribution, dealt out among cells of like count.
fn log_odds(cells: &[(f64, u32)], level: &Level, draws: &mut Stream) -> Vec<f64> {
    let mut odds = vec![0.0; cells.len()];
    let fewest_last: Vec<f64> = cells.iter().map(|cell| -f64::from(cell.1)).collect();
    let order = crate::statistics::sort_places(&fewest_last);
    let distribution_of = |cell: u32| {
        let count = cells[cell as usize].1;
        let place = level.splits.partition_point(|split| split.least <= count);
        (count > 1).then(|| level.splits.get(place.max(1) - 1)).flatten()
    };
    for cells in
        order.chunk_by(|&a, &b| distribution_of(a).map(|l| l.least) == distribution_of(b).map(|l| l.least))
    {
        let Some(split) = distribution_of(cells[0]) else { continue };
        for block in cells.chunks(BLOCK) {
            let mut places: Vec<usize> = (0..block.len()).collect();
            for last in (1..places.len()).rev() {
                places.swap(last, (draws.uniform() * (last + 1) as f64) as usize);
            }
            for (&cell, place) in block.iter().zip(places) {
                let side = if draws.uniform() < 0.5 { -1.0 } else { 1.0 };
                let even = split.even > 0.0 && draws.uniform() < split.even;
                odds[cell as usize] =
                    if even { f64::NAN } else { side * split.spread * quantile(place, block.len()) };
            }
        }
    }
    odds
}
