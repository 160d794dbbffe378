//! The same requests in two runs.

use servescope_lab::compare::requests::RequestPairs;

use super::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series, empty};

/// Most requests that are drawn.
const POINTS: usize = 2000;

/// TTFT of each request in A (across) and in B (upwards); the line is where both are the same. Of more than 2,000 requests,
/// evenly many of them.
pub fn ttft_pairs(requests: &RequestPairs) -> Chart {
    let reported: Vec<(usize, f64, f64)> =
        requests.pairs.iter().filter_map(|pair| Some((pair.id, pair.a_s?, pair.b_s?))).collect();
    let axis = |min, max| Axis { unit: "s", scale: ScaleKind::Log, kind: AxisKind::Value, min, max };
    let all = reported.iter().flat_map(|&(_, a, b)| [a, b]).filter(|s| *s > 0.0);
    let (min, max) = all.fold((f64::INFINITY, 0.0_f64), |(min, max), s| (min.min(s), max.max(s)));
    if max <= 0.0 {
        return empty("ttft_pairs", "empty.nothing_completed", axis(0.01, 1.0));
    }
    let (min, max) = (min.max(max * 1e-6) / 1.1, max * 1.1);
    let mut points = Series { role: Role::Arrivals, mark: Mark::Points, ..Series::default() };
    for &(id, a, b) in reported.iter().step_by(reported.len().div_ceil(POINTS)) {
        points.x.push(a.max(min));
        points.y.push(b.max(min));
        points.id.push(id as f64);
    }
    let ends = vec![min, max];
    let same =
        Series { role: Role::Expected, mark: Mark::Line, x: ends.clone(), y: ends, ..Series::default() };
    Chart {
        name: "ttft_pairs",
        x: axis(min, max),
        y: axis(min, max),
        series: vec![same, points],
        empty: "",
        categories: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use servescope_lab::compare::requests::RequestPair;

    use super::*;

    #[test]
    fn every_request_with_a_first_token_in_both_is_a_point() {
        let pair =
            |id: usize, a_s: Option<f64>, b_s: Option<f64>| RequestPair { id, arrival_s: 0.0, a_s, b_s };
        let pairs =
            vec![pair(0, Some(1.0), Some(2.0)), pair(1, None, Some(1.0)), pair(2, Some(4.0), Some(3.0))];
        let chart = ttft_pairs(&RequestPairs { pairs, equal: 3, only: [0, 0] });
        assert_eq!(
            (chart.series[1].id.as_slice(), chart.series[1].y.as_slice()),
            (&[0.0, 2.0][..], &[2.0, 3.0][..])
        );
        assert_eq!(chart.x.min, chart.y.min);
        assert!(chart.x.min < 1.0 && chart.x.max > 4.0);
        let none = ttft_pairs(&RequestPairs { pairs: vec![pair(0, None, None)], equal: 1, only: [0, 0] });
        assert_eq!(none.empty, "empty.nothing_completed");
    }
}
