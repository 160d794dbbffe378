//! From data to device pixels along one axis.

use crate::{Axis, AxisKind, ScaleKind};

/// Ranges are kept within this, so that differences and ratios stay finite.
const LARGEST: f64 = 1e150;
/// Pixels are kept within this, so that clipping stays exact.
const FARTHEST: f64 = 1e7;
/// Relative width below which a range counts as empty: its ticks would have equal labels.
const NARROWEST: f64 = 1e-12;

/// The range of an axis that is drawn: finite, in order, not empty, positive on a log axis.
pub(crate) fn range(axis: &Axis) -> (f64, f64) {
    let (low, high) = match (axis.min.is_finite(), axis.max.is_finite()) {
        (true, true) => (axis.min.min(axis.max), axis.min.max(axis.max)),
        (true, false) => (axis.min, axis.min),
        (false, true) => (axis.max, axis.max),
        (false, false) => (0.0, 0.0),
    };
    match axis.scale {
        ScaleKind::Log => {
            if high <= 0.0 {
                return (1.0, 10.0);
            }
            let high = high.clamp(1.0 / LARGEST, LARGEST);
            let low = if low <= 0.0 { high / 1e3 } else { low.max(1.0 / LARGEST) };
            if high / low <= 1.0 + NARROWEST { (high / 2.0, high * 2.0) } else { (low, high) }
        }
        ScaleKind::Linear => {
            let (low, high) = (low.clamp(-LARGEST, LARGEST), high.clamp(-LARGEST, LARGEST));
            let size = high.abs().max(low.abs());
            if high - low > (size * NARROWEST).max(1.0 / LARGEST) {
                return (low, high);
            }
            match axis.kind {
                AxisKind::Index if high.abs() < 1e9 => (high - 0.5, high + 0.5),
                _ if size <= 1.0 / LARGEST => (0.0, 1.0),
                AxisKind::Time | AxisKind::Index | AxisKind::Value => (high - size / 2.0, high + size / 2.0),
            }
        }
    }
}

/// Maps values to device pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) min: f64,
    pub(crate) max: f64,
    log: bool,
    offset: f64,
    factor: f64,
}

impl Scale {
    /// The axis' minimum lies at pixel `from`, its maximum at `to`.
    pub(crate) fn new(axis: &Axis, from: i32, to: i32) -> Self {
        let (min, max) = range(axis);
        let log = axis.scale == ScaleKind::Log;
        let (low, high) = if log { (libm::log10(min), libm::log10(max)) } else { (min, max) };
        let factor = f64::from(to - from) / (high - low);
        Self { min, max, log, offset: f64::from(from) - low * factor, factor }
    }

    /// The pixel of a value; NaN where the value is not a finite number.
    pub(crate) fn pixel(&self, value: f64) -> f64 {
        if !value.is_finite() {
            return f64::NAN;
        }
        let place = if self.log { libm::log10(value.max(self.min)) } else { value };
        (self.offset + place * self.factor).clamp(-FARTHEST, FARTHEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: ScaleKind, min: f64, max: f64) -> Axis {
        Axis { unit: "", scale, kind: AxisKind::Value, min, max }
    }

    #[test]
    fn ends_lie_at_the_ends() {
        let linear = Scale::new(&axis(ScaleKind::Linear, -5.0, 15.0), 100, 300);
        assert_eq!([-5.0, 5.0, 15.0].map(|v| linear.pixel(v)), [100.0, 200.0, 300.0]);
        let log = Scale::new(&axis(ScaleKind::Log, 0.01, 100.0), 400, 0);
        let close = |value: f64, pixel: f64| (log.pixel(value) - pixel).abs() < 1e-9;
        assert!(close(0.01, 400.0) && close(1.0, 200.0) && close(100.0, 0.0));
        assert!(close(0.0, 400.0) && close(-3.0, 400.0));
        assert!(log.pixel(f64::NAN).is_nan() && linear.pixel(f64::INFINITY).is_nan());
    }

    #[test]
    fn every_range_can_be_drawn() {
        let odd = [
            f64::NAN,
            f64::NEG_INFINITY,
            -f64::MAX,
            -3.0,
            -0.0,
            0.0,
            f64::MIN_POSITIVE,
            1e-9,
            3.0,
            3.0 + 1e-15,
            1e12,
            f64::MAX,
            f64::INFINITY,
        ];
        for scale in [ScaleKind::Linear, ScaleKind::Log] {
            for kind in [AxisKind::Time, AxisKind::Value, AxisKind::Index] {
                for min in odd {
                    for max in odd {
                        let axis = Axis { unit: "", scale, kind, min, max };
                        let (low, high) = range(&axis);
                        assert!(low < high && low.is_finite() && high.is_finite(), "{axis:?}: {low}, {high}");
                        assert!(scale == ScaleKind::Linear || low > 0.0);
                        let scale = Scale::new(&axis, 0, 500);
                        assert!((scale.pixel(low)).abs() < 1e-3, "{axis:?}");
                        assert!((scale.pixel(high) - 500.0).abs() < 1e-3, "{axis:?}");
                        assert!(odd.iter().all(|v| v.is_finite() == scale.pixel(*v).is_finite()));
                    }
                }
            }
        }
    }
}
