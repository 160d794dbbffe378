//! Lines and surfaces in device pixels: cut at the plot's border, broken at gaps, without points that cannot be seen.

use crate::frame::Rect;

/// A point in device pixels.
pub(crate) type Pixel = (i32, i32);

/// A line that may be broken into several runs.
#[derive(Debug)]
pub(crate) struct Polyline {
    clip: Rect,
    points: Vec<Pixel>,
    /// Where each finished run ends in `points`.
    ends: Vec<usize>,
    last: Option<(f64, f64)>,
    /// The last point has no segment on either side so far.
    alone: bool,
}

impl Polyline {
    pub(crate) fn new(clip: Rect, capacity: usize) -> Self {
        Self { clip, points: Vec::with_capacity(capacity), ends: Vec::new(), last: None, alone: false }
    }

    /// Goes on to a point; one that is not finite breaks the line.
    pub(crate) fn to(&mut self, point: (f64, f64)) {
        if !(point.0.is_finite() && point.1.is_finite()) {
            self.lift();
            return;
        }
        let Some(from) = self.last.replace(point) else {
            self.alone = true;
            return;
        };
        self.alone = false;
        let Some((enter, leave)) = self.clip.segment(from, point) else {
            self.close();
            return;
        };
        if enter != from {
            self.close();
        }
        self.add(enter);
        self.add(leave);
        if leave != point {
            self.close();
        }
    }

    /// Breaks the line.
    pub(crate) fn lift(&mut self) {
        if let Some(last) = self.last.take()
            && self.alone
            && self.clip.holds(last)
        {
            self.add(last);
        }
        self.close();
    }

    /// The runs, each of one point or more.
    pub(crate) fn runs(&mut self) -> impl Iterator<Item = &[Pixel]> {
        self.lift();
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.points[start..end])
    }

    fn close(&mut self) {
        if self.points.len() > self.run_start() {
            self.ends.push(self.points.len());
        }
    }

    fn run_start(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn add(&mut self, point: (f64, f64)) {
        let pixel = rounded(point);
        let start = self.run_start();
        match self.points[start..] {
            [.., last] if last == pixel => {}
            [.., before, last] if straight(before, last, pixel) => {
                if let Some(last) = self.points.last_mut() {
                    *last = pixel;
                }
            }
            _ => self.points.push(pixel),
        }
    }
}

pub(crate) fn rounded((x, y): (f64, f64)) -> Pixel {
    (x.round() as i32, y.round() as i32)
}

/// Whether `b` lies between `a` and `c` on a horizontal or vertical line.
fn straight(a: Pixel, b: Pixel, c: Pixel) -> bool {
    let between = |a: i32, b: i32, c: i32| (a <= b) == (b <= c) || b == c;
    a.0 == b.0 && b.0 == c.0 && between(a.1, b.1, c.1) || a.1 == b.1 && b.1 == c.1 && between(a.0, b.0, c.0)
}

/// A polygon cut at the rectangle's border (Sutherland and Hodgman) in whole pixels; empty where nothing is left.
pub(crate) fn polygon(mut points: Vec<(f64, f64)>, clip: Rect) -> Vec<Pixel> {
    if !points.iter().all(|&point| clip.holds(point)) {
        points = half_plane(&points, |p| p.0 - f64::from(clip.left));
        points = half_plane(&points, |p| f64::from(clip.right) - p.0);
        points = half_plane(&points, |p| p.1 - f64::from(clip.top));
        points = half_plane(&points, |p| f64::from(clip.bottom) - p.1);
    }
    let mut pixels: Vec<Pixel> = points.into_iter().map(rounded).collect();
    pixels.dedup();
    pixels
}

/// The part of a polygon where `inside` is not negative; `inside` is linear.
fn half_plane(points: &[(f64, f64)], inside: impl Fn((f64, f64)) -> f64) -> Vec<(f64, f64)> {
    let mut kept = Vec::with_capacity(points.len() + 4);
    let Some(&last) = points.last() else { return kept };
    let (mut from, mut room) = (last, inside(last));
    for &to in points {
        let next = inside(to);
        if (room < 0.0) != (next < 0.0) {
            let part = room / (room - next);
            kept.push((from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1)));
        }
        if next >= 0.0 {
            kept.push(to);
        }
        (from, room) = (to, next);
    }
    kept
}

/// Cuts a run into dashes of `on` pixels with gaps of `off`. Each dash costs a path, so on a very long line they are
/// stretched until there are at most a few hundred.
pub(crate) fn dashes(run: &[Pixel], on: f64, off: f64) -> Vec<Vec<Pixel>> {
    const MOST: f64 = 200.0;
    let length: f64 = run.windows(2).map(|pair| distance(pair[0], pair[1])).sum();
    let stretch = (length / (on + off) / MOST).max(1.0);
    let lengths = [on * stretch, off * stretch];
    let mut dashes = Vec::new();
    let (mut phase, mut left) = (0, lengths[0]);
    let mut dash: Vec<Pixel> = run.first().copied().into_iter().collect();
    for pair in run.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let whole = distance(from, to);
        let mut gone = 0.0;
        while whole - gone > left {
            gone += left;
            let part = gone / whole;
            let turn = rounded((
                f64::from(from.0) + part * f64::from(to.0 - from.0),
                f64::from(from.1) + part * f64::from(to.1 - from.1),
            ));
            dash.push(turn);
            let finished = std::mem::replace(&mut dash, vec![turn]);
            if phase == 0 {
                dashes.push(finished);
            }
            phase = 1 - phase;
            left = lengths[phase];
        }
        left -= whole - gone;
        dash.push(to);
    }
    if phase == 0 && dash.len() > 1 {
        dashes.push(dash);
    }
    dashes
}

fn distance(a: Pixel, b: Pixel) -> f64 {
    libm::hypot(f64::from(a.0 - b.0), f64::from(a.1 - b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIP: Rect = Rect { left: 0, top: 0, right: 100, bottom: 100 };

    fn runs(points: &[(f64, f64)]) -> Vec<Vec<Pixel>> {
        let mut line = Polyline::new(CLIP, points.len());
        for &point in points {
            line.to(point);
        }
        line.runs().map(<[Pixel]>::to_vec).collect()
    }

    #[test]
    fn lines_break_at_gaps_and_borders() {
        let gap = (f64::NAN, 0.0);
        assert_eq!(
            runs(&[(0.0, 0.0), (10.0, 5.0), gap, (20.0, 5.0), gap, gap, (30.0, 1.0), (40.0, 9.0)]),
            [vec![(0, 0), (10, 5)], vec![(20, 5)], vec![(30, 1), (40, 9)]]
        );
        assert_eq!(
            runs(&[(10.0, 50.0), (30.0, 150.0), (50.0, 150.0), (70.0, 50.0)]),
            [vec![(10, 50), (20, 100)], vec![(60, 100), (70, 50)]]
        );
        assert_eq!(runs(&[(-50.0, -10.0), (-20.0, 30.0)]), Vec::<Vec<Pixel>>::new());
        assert_eq!(runs(&[]), Vec::<Vec<Pixel>>::new());
    }

    #[test]
    fn points_that_add_nothing_are_left_out() {
        assert_eq!(
            runs(&[(1.0, 5.0), (1.2, 5.1), (3.0, 5.0), (9.0, 5.0), (9.0, 7.0)]),
            [[(1, 5), (9, 5), (9, 7)]]
        );
        assert_eq!(runs(&[(1.0, 5.0), (1.0, 9.0), (1.0, 2.0)]), [[(1, 5), (1, 9), (1, 2)]]);
    }

    #[test]
    fn polygons_are_cut() {
        let square = vec![(-10.0, -10.0), (50.0, -10.0), (50.0, 50.0), (-10.0, 50.0)];
        let mut cut = polygon(square, CLIP);
        cut.sort_unstable();
        assert_eq!(cut, [(0, 0), (0, 50), (50, 0), (50, 50)]);
        assert!(polygon(vec![(-10.0, 1.0), (-5.0, 1.0), (-5.0, 9.0)], CLIP).is_empty());
    }

    #[test]
    fn dashes_follow_the_line_and_are_few() {
        let run = [(0, 0), (10, 0), (10, 10)];
        assert_eq!(dashes(&run, 6.0, 6.0), [vec![(0, 0), (6, 0)], vec![(10, 2), (10, 8)]]);
        let noisy: Vec<Pixel> = (0..1000).map(|x| (x, (x % 2) * 100)).collect();
        assert!(dashes(&noisy, 3.0, 3.0).len() <= 201);
        assert!(dashes(&[], 3.0, 3.0).is_empty() && dashes(&[(1, 1)], 3.0, 3.0).is_empty());
    }
}
