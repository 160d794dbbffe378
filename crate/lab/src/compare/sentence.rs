//! What a difference means, as one plain sentence.

use super::interval::{CONFIDENCE, ConfidenceInterval, Paired};
use crate::metric::{Metric, Unit};

/// Above this relative difference a factor is easier to read than a percentage.
const FACTOR_FROM: f64 = 2.0;

/// What the pairs of a metric say: by how much B lowers or raises it, or that they show no difference. `samples` names what
/// the pairs are, such as `20 seeds`.
pub fn sentence(metric: &Metric, paired: Option<&Paired>, samples: &str) -> String {
    let title = metric.title();
    let Some(paired) = paired else {
        return format!("{title}: missing in A or in B in every run");
    };
    let Some(bounds) = paired.bounds else {
        let by = amount(metric.unit(), paired, None);
        return match by {
            None => format!("B does not change {title} in this run"),
            Some((verb, by)) => format!("B {verb} {title} by {by} in this run; one run has no interval"),
        };
    };
    if bounds.low == 0.0 && bounds.high == 0.0 {
        return format!("{title} is the same in A and B ({samples})");
    }
    if !bounds.leaves_out_zero() {
        return format!("{title}: no significant difference ({samples})");
    }
    let (verb, by) = amount(metric.unit(), paired, Some((bounds, samples))).expect("0 is left out");
    format!("B {verb} {title} by {by}")
}

/// The verb, and by how much, with the interval where there is one; none where nothing differs.
fn amount(
    unit: Unit,
    paired: &Paired,
    interval: Option<(ConfidenceInterval, &str)>,
) -> Option<(&'static str, String)> {
    if paired.difference == 0.0 {
        return None;
    }
    let is_lower = paired.difference < 0.0;
    let sign = if is_lower { -1.0 } else { 1.0 };
    // From the end that is nearer to 0.
    let ends = |bounds: ConfidenceInterval, scale: f64| {
        let ends = [bounds.low * scale, bounds.high * scale];
        if is_lower { [-ends[1], -ends[0]] } else { ends }
    };
    let described = |value: f64, ends: Option<[f64; 2]>, unit: &str| {
        let width = ends.map_or(0.0, |ends| ends[1] - ends[0]);
        let digits = decimals(value, width);
        let interval = ends.zip(interval).map_or_else(String::new, |([low, high], (_, samples))| {
            let percent = 100.0 * CONFIDENCE;
            format!(" ({percent} % interval {low:.digits$} to {high:.digits$}{unit}, {samples})")
        });
        format!("{value:.digits$}{unit}{interval}")
    };
    let relative = paired.relative.filter(|_| interval.is_none() || paired.relative_bounds.is_some());
    let bounds = interval.map(|(bounds, _)| bounds);
    let text = match (unit, relative) {
        (Unit::Share, _) => {
            described(100.0 * sign * paired.difference, bounds.map(|b| ends(b, 100.0)), " percentage points")
        }
        (_, Some(relative)) if relative < FACTOR_FROM => {
            let bounds = paired.relative_bounds.filter(|_| interval.is_some());
            described(100.0 * sign * relative, bounds.map(|b| ends(b, 100.0)), " %")
        }
        (_, Some(relative)) => {
            let bounds = paired.relative_bounds.filter(|_| interval.is_some());
            format!(
                "a factor of {}",
                described(1.0 + relative, bounds.map(|b| [1.0 + b.low, 1.0 + b.high]), "")
            )
        }
        (_, None) => {
            let symbol = if unit.symbol().is_empty() { String::new() } else { format!(" {}", unit.symbol()) };
            described(sign * paired.difference, bounds.map(|b| ends(b, 1.0)), &symbol)
        }
    };
    Some((if is_lower { "lowers" } else { "raises" }, text))
}

/// Decimals of a number whose interval has this width: two figures of the width, or three of the number without one.
pub(crate) fn decimals(value: f64, width: f64) -> usize {
    const MOST: f64 = 9.0;
    let (of, figures) = if width > 0.0 { (width, 1.0) } else { (value.abs(), 2.0) };
    if of <= 0.0 || !of.is_finite() {
        return 0;
    }
    (figures - libm::floor(libm::log10(of))).clamp(0.0, MOST) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(path: &str, pairs: &[(f64, f64)]) -> String {
        let samples = format!("{} seeds", pairs.len());
        sentence(&Metric::parse(path).unwrap(), Paired::of(pairs).as_ref(), &samples)
    }

    #[test]
    fn a_difference_is_told_with_its_interval() {
        let pairs: Vec<(f64, f64)> = (0..20).map(|i| (10.0, 6.9 + 0.3 * f64::from(i % 5 - 2))).collect();
        assert_eq!(
            described("ttft_s.p99", &pairs),
            "B lowers P99 TTFT by 31.0 % (95 % interval 29.0 to 33.0 %, 20 seeds)"
        );
        let swapped: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        assert!(described("ttft_s.p99", &swapped).starts_with("B raises P99 TTFT by 4"));
        let shares: Vec<(f64, f64)> = (0..20).map(|i| (0.5, 0.6 + 0.01 * f64::from(i % 2))).collect();
        assert_eq!(
            described("slo.attainment", &shares),
            "B raises SLO met (TTFT alone) by 10.50 percentage points (95 % interval 10.25 to 10.75 percentage points, 20 seeds)"
        );
        let many: Vec<(f64, f64)> = (0..20).map(|i| (1.0, 20.0 + f64::from(i % 3))).collect();
        assert!(described("ttft_s.mean", &many).starts_with("B raises mean TTFT by a factor of 20.9"));
    }

    #[test]
    fn no_difference_is_told_too() {
        let noise: Vec<(f64, f64)> = (0..20).map(|i| (1.0, if i % 2 == 0 { 1.1 } else { 0.9 })).collect();
        assert_eq!(described("ttft_s.mean", &noise), "mean TTFT: no significant difference (20 seeds)");
        assert_eq!(
            described("ttft_s.mean", &[(1.0, 1.0), (2.0, 2.0)]),
            "mean TTFT is the same in A and B (2 seeds)"
        );
        assert_eq!(described("ttft_s.mean", &[(1.0, 1.0)]), "B does not change mean TTFT in this run");
        assert_eq!(described("ttft_s.p99", &[]), "P99 TTFT: missing in A or in B in every run");
        // Nothing was rejected in A: no percentage.
        let rejected: Vec<(f64, f64)> = (0..20).map(|i| (0.0, 12.0 + f64::from(i % 2))).collect();
        assert!(
            described("requests.rejected_total", &rejected)
                .starts_with("B raises the number of rejected requests by 12.50 (")
        );
    }
}
