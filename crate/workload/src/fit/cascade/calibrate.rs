//! The last step of a fit: twins are drawn, and the distributions are moved until the twins' bursts are the source's.
//!
//! A distribution measured in cells holds inside the tree of cells only. Seen through windows that lie across its cells, a tree is
//! smoother than its source, because neighbours across an edge know nothing of each other. The method of simulated moments
//! (McFadden 1989) makes up for that: in each round a few twins are drawn, the number of pairs of requests that share a
//! window is compared with the source's at every width of the tree and over all offsets, and the distributions of each width are
//! scaled by what it alone is off.

use super::measure::spread_of;
use super::{Cascade, Level};
use crate::stream::Stream;

/// Rounds of drawing and scaling: the first two do most of it, and a long trace leaves little to do.
const ROUNDS: usize = 4;
const ROUNDS_OF_LONG: usize = 2;
/// Twins drawn in a round at most.
const MOST_TWINS: usize = 8;
/// Requests drawn in a round at most, unless one twin has more.
const MOST_REQUESTS: usize = 100_000;
/// Offsets at which windows are laid: odd, so that they rarely fall on the tree's own edges.
const OFFSETS: usize = 5;
/// Most by which a distribution is scaled in a round.
const MOST_GAIN: f64 = 1.6;

/// Scales the distributions of a cascade of these times, seconds from the start in ascending order.
pub(super) fn calibrate(cascade: &mut Cascade, since_s: &[f64]) {
    let mut widths: Vec<f64> = cascade.levels.iter().map(|level| level.width_s).collect();
    let Some(narrowest) = widths.last() else { return };
    widths.push(0.5 * narrowest);
    let source: Vec<f64> = widths.iter().map(|&width| pairs(since_s, cascade.span_s, width)).collect();
    let twins = (MOST_REQUESTS / since_s.len()).clamp(1, MOST_TWINS);
    let stream = Stream::named(0, "calibration");
    let rounds = if since_s.len() >= MOST_REQUESTS { ROUNDS_OF_LONG } else { ROUNDS };
    for round in 0..rounds {
        let mut drawn = vec![0.0; widths.len()];
        for twin in 0..twins {
            let times_s = cascade.times_s(&stream.item(round * twins + twin));
            for (&width, sum) in widths.iter().zip(&mut drawn) {
                *sum += pairs(&times_s, cascade.span_s, width) / twins as f64;
            }
        }
        for (place, level) in cascade.levels.iter_mut().enumerate() {
            let short = |width: usize| source[width] / drawn[width];
            // The counts of the widest cells are given: what they are off is chance.
            let change = short(place + 1) / if place == 0 { 1.0 } else { short(place) };
            // For shares p, the pairs of both halves are 1 + E (2p - 1)^2 times half the pairs of the whole.
            let excess = 2.0 * drawn[place + 1] / drawn[place] - 1.0;
            scale(level, (change * (1.0 + excess) - 1.0) / excess);
        }
    }
}

fn scale(level: &mut Level, gain: f64) {
    if !gain.is_finite() || gain <= 0.0 {
        return;
    }
    for split in level.splits.iter_mut().filter(|split| split.excess > 0.0) {
        split.excess = (split.excess * gain.clamp(1.0 / MOST_GAIN, MOST_GAIN)).min(1.0);
        split.spread = spread_of(split.excess);
    }
}

/// Ordered pairs of requests that share a window, the mean over offsets of the windows; windows that the span covers in
/// part are left out.
fn pairs(since_s: &[f64], span_s: f64, width_s: f64) -> f64 {
    let mut sum = 0.0;
    for offset in 0..OFFSETS {
        let offset_s = width_s * (offset as f64 + 0.5) / OFFSETS as f64;
        let windows = ((span_s + offset_s) / width_s) as usize;
        let (mut current, mut count) = (0, 0.0f64);
        for &time in since_s {
            let window = ((time + offset_s) / width_s) as usize;
            if window != current {
                // The window before the first offset begins before the trace.
                sum += if current > 0 { count * (count - 1.0) } else { 0.0 };
                (current, count) = (window, 0.0);
            }
            if window < windows {
                count += 1.0;
            }
        }
        sum += if current > 0 { count * (count - 1.0) } else { 0.0 };
    }
    sum / OFFSETS as f64
}
