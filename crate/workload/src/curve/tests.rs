//! Properties of every shape, and the points at which each is known.

use proptest::prelude::*;

use super::*;
use crate::aibrix::curve::NamedPattern;
use crate::distribution;
use crate::stream::Stream;

fn curve(shape: &Shape) -> RateCurve {
    RateCurve::new(shape).expect("the shape is good")
}

fn shapes() -> impl Strategy<Value = Shape> {
    let rate = || prop_oneof![Just(0.0), 0.01..100.0];
    let points = prop::collection::vec((0.0..50.0, rate(), any::<bool>()), 1..12).prop_map(|steps| {
        let mut time_s = 0.0;
        let step = |(gap_s, rate_rps, jump)| {
            time_s += if jump { 0.0 } else { gap_s };
            Point { time_s, rate_rps }
        };
        Shape::Points(steps.into_iter().map(step).collect())
    });
    let pattern = (0.1..100.0, -1.0..1.0, 0.1..20.0, any::<bool>(), 10.0..1000.0).prop_map(
        |(mean, swing, cycles, only_rise, duration_s)| Shape::Pattern {
            pattern: SinePattern { amplitude: swing * mean, mean, noise: 0.0, cycles, only_rise },
            duration_s,
        },
    );
    let steps = (0.1..50.0, prop::collection::vec(rate(), 1..30))
        .prop_map(|(step_s, rates_rps)| Shape::Steps { step_s, rates_rps });
    prop_oneof![
        steps,
        rate().prop_map(|rate_rps| Shape::Constant { rate_rps }),
        (rate(), rate(), 0.0..100.0, 0.1..100.0).prop_map(|(from_rps, to_rps, start_s, long_s)| {
            Shape::Ramp { from_rps, to_rps, start_s, end_s: start_s + long_s }
        }),
        (rate(), rate(), 0.0..100.0).prop_map(|(before_rps, after_rps, at_s)| Shape::Step {
            before_rps,
            after_rps,
            at_s
        }),
        (rate(), rate(), 0.0..100.0, 0.0..100.0).prop_map(|(base_rps, peak_rps, start_s, long_s)| {
            Shape::Spike { base_rps, peak_rps, start_s, end_s: start_s + long_s }
        }),
        (0.1..100.0, 0.0..=1.0, 1.0..1000.0, -500.0..500.0).prop_map(
            |(mean_rps, swing, period_s, peak_s)| { Shape::Diurnal { mean_rps, swing, period_s, peak_s } }
        ),
        pattern,
        points,
    ]
}

proptest! {
    #[test]
    fn the_inverse_undoes_the_integral(shape in shapes(), time_s in 0.0..2000.0f64) {
        let curve = curve(&shape);
        let count = curve.integral(time_s);
        let back = curve.inverse(count).expect("the curve brought as many");
        // Requests come out to the last digits; so does the time, unless hardly anything happens around it.
        prop_assert!((curve.integral(back) - count).abs() <= 1e-11 * (1.0 + count), "{back}, {time_s}");
        prop_assert!(back <= time_s + 1e-6);
        let quiet = curve.value_at(time_s).min(curve.value_at(back)).min(curve.value_at(time_s - 0.01)) < 0.01;
        prop_assert!(quiet || (back - time_s).abs() <= 1e-9 * (1.0 + time_s), "{back}, {time_s}");
    }

    #[test]
    fn the_integral_undoes_the_inverse(shape in shapes(), count in 0.0..1e5f64) {
        let curve = curve(&shape);
        if let Some(time_s) = curve.inverse(count) {
            let sum = curve.integral(time_s);
            prop_assert!((sum - count).abs() <= 1e-11 * (1.0 + count), "{sum}, {count}");
        } else {
            prop_assert!(curve.integral(1e8) < count);
        }
    }

    #[test]
    fn the_integral_is_that_of_the_rate(shape in shapes(), from_s in 0.0..300.0f64, long_s in 0.0..3.0f64) {
        let curve = curve(&shape);
        let (mut low, mut high, n) = (0.0, 0.0, 2000);
        let width = long_s / f64::from(n);
        for i in 0..n {
            let a = curve.value_at(from_s + width * f64::from(i));
            let b = curve.value_at(from_s + width * f64::from(i + 1));
            low += a.min(b) * width;
            high += a.max(b) * width;
        }
        let sum = curve.integral(from_s + long_s) - curve.integral(from_s);
        // A crest or trough between two samples lies beyond both.
        prop_assert!(sum >= low - 1e-3 && sum <= high + 1e-3, "{low} <= {sum} <= {high}");
        prop_assert!(curve.value_at(from_s) >= 0.0);
    }

    #[test]
    fn arrivals_are_in_order_and_end_with_the_duration(shape in shapes(), duration_s in 0.0..100.0f64) {
        let mut stream = Stream::named(1, "curve");
        let times = curve(&shape).arrivals_s(duration_s, || distribution::exponential(stream.uniform()));
        let times = times.expect("ten thousand at most");
        prop_assert!(times.is_sorted());
        prop_assert!(times.iter().all(|t| (0.0..=duration_s).contains(t)));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(time_s,rate_rps\n)?[0-9a-z,.\n-]{0,60}") {
        if let Ok(points) = points_from_csv(text.as_bytes()) {
            let _ = RateCurve::new(&Shape::Points(points));
        }
    }
}

/// Poisson arrivals under a curve: their number has the integral as mean and as variance, in every part of the run.
#[test]
fn counts_follow_the_integral() {
    const RUNS: usize = 4000;
    let shapes = [
        Shape::Ramp { from_rps: 0.0, to_rps: 4.0, start_s: 2.0, end_s: 12.0 },
        Shape::Spike { base_rps: 0.5, peak_rps: 12.0, start_s: 5.0, end_s: 6.5 },
        Shape::Diurnal { mean_rps: 2.0, swing: 1.0, period_s: 9.0, peak_s: 3.0 },
        Shape::Pattern { pattern: NamedPattern::SevereFluctuation.pattern(3.0), duration_s: 16.0 },
        Shape::Points(vec![
            Point { time_s: 1.0, rate_rps: 0.0 },
            Point { time_s: 4.0, rate_rps: 5.0 },
            Point { time_s: 4.0, rate_rps: 1.0 },
        ]),
    ];
    for shape in shapes {
        let curve = curve(&shape);
        let mut stream = Stream::named(5, "curve");
        let (mut sums, mut squares) = ([0.0; 4], [0.0; 4]);
        for _ in 0..RUNS {
            let times =
                curve.arrivals_s(16.0, || distribution::exponential(stream.uniform())).expect("few arrivals");
            for quarter in 0..4 {
                let (from, to) = (4.0 * quarter as f64, 4.0 * quarter as f64 + 4.0);
                let count = times.iter().filter(|&&t| t > from && t <= to).count() as f64;
                sums[quarter] += count;
                squares[quarter] += count * count;
            }
        }
        let runs = RUNS as f64;
        for quarter in 0..4 {
            let from = 4.0 * quarter as f64;
            let expected = curve.integral(from + 4.0) - curve.integral(from);
            let mean = sums[quarter] / runs;
            let variance = squares[quarter] / runs - mean * mean;
            let error = f64::sqrt(expected / runs);
            assert!((mean - expected).abs() <= 4.0 * error, "{shape:?}: {mean}, expected {expected}");
            // The variance of a Poisson distribution's sample variance is (mean + 2 mean^2) / runs.
            let error = f64::sqrt((expected + 2.0 * expected * expected) / runs);
            assert!(
                (variance - expected).abs() <= 4.5 * error,
                "{shape:?}: variance {variance} of {expected}"
            );
        }
    }
}

#[test]
fn shapes_go_through_their_known_points() {
    let check = |shape: Shape, points: &[(f64, f64)], (until_s, count): (f64, f64)| {
        let curve = curve(&shape);
        for &(time_s, rate_rps) in points {
            let ours = curve.value_at(time_s);
            assert!((ours - rate_rps).abs() < 1e-12, "{shape:?} at {time_s}: {ours}");
        }
        assert!((curve.integral(until_s) - count).abs() < 1e-9, "{shape:?}: {}", curve.integral(until_s));
    };
    check(Shape::Constant { rate_rps: 2.5 }, &[(-1.0, 2.5), (0.0, 2.5), (1e9, 2.5)], (4.0, 10.0));
    let ramp = Shape::Ramp { from_rps: 1.0, to_rps: 3.0, start_s: 2.0, end_s: 4.0 };
    check(ramp, &[(0.0, 1.0), (3.0, 2.0), (4.0, 3.0), (9.0, 3.0)], (5.0, 2.0 + 4.0 + 3.0));
    let step = Shape::Step { before_rps: 1.0, after_rps: 5.0, at_s: 2.0 };
    check(step, &[(1.9, 1.0), (2.0, 5.0)], (3.0, 7.0));
    let spike = Shape::Spike { base_rps: 1.0, peak_rps: 9.0, start_s: 2.0, end_s: 3.0 };
    check(spike, &[(1.9, 1.0), (2.0, 9.0), (3.0, 1.0)], (4.0, 12.0));
    let day = Shape::Diurnal { mean_rps: 2.0, swing: 0.5, period_s: 86_400.0, peak_s: 50_000.0 };
    check(day, &[(50_000.0, 3.0), (50_000.0 - 43_200.0, 1.0)], (86_400.0, 172_800.0));
    let named = |name: NamedPattern| Shape::Pattern { pattern: name.pattern(6.0), duration_s: 60.0 };
    check(
        named(NamedPattern::QuickRising),
        &[(0.0, 6.0), (3.0, 9.0), (60.0, 9.0)],
        (3.0, 18.0 + 18.0 / std::f64::consts::PI),
    );
    check(named(NamedPattern::SlowRising), &[(0.0, 6.0), (20.0, 7.5), (60.0, 9.0), (99.0, 9.0)], (0.0, 0.0));
    check(named(NamedPattern::SlightFluctuation), &[(15.0, 6.6), (45.0, 5.4)], (60.0, 360.0));
    check(named(NamedPattern::SevereFluctuation), &[(1.25, 9.0), (3.75, 3.0)], (60.0, 360.0));
    check(named(NamedPattern::Constant), &[(1.25, 6.0)], (60.0, 360.0));
}

#[test]
fn a_falling_sine_that_only_rises_waits_for_its_way_up() {
    let pattern = SinePattern { amplitude: -2.0, mean: 6.0, noise: 0.0, cycles: 1.0, only_rise: true };
    let curve = curve(&Shape::Pattern { pattern, duration_s: 40.0 });
    assert_eq!((curve.value_at(0.0), curve.value_at(19.9), curve.value_at(35.0)), (6.0, 6.0, 8.0));
    assert!((curve.value_at(25.0) - (6.0 + f64::sqrt(2.0))).abs() < 1e-12);
}

#[test]
fn idle_time_holds_no_arrivals() {
    let curve = curve(&Shape::Spike { base_rps: 0.0, peak_rps: 2.0, start_s: 10.0, end_s: 11.0 });
    assert_eq!(curve.inverse(0.0), Some(0.0));
    assert_eq!(curve.inverse(1.0), Some(10.5));
    assert_eq!(curve.inverse(2.0), Some(11.0));
    assert_eq!(curve.inverse(2.1), None);
    assert_eq!(curve.arrivals_s(1e6, || 0.75), Ok(vec![10.375, 10.75]));
}

#[test]
fn bad_shapes_are_refused() {
    let refused = |shape: Shape| RateCurve::new(&shape).expect_err("the shape is bad").to_string();
    let far = f64::INFINITY;
    for rate_rps in [-1.0, f64::NAN, far, 1e7] {
        assert!(refused(Shape::Constant { rate_rps }).starts_with("rate_rps: "));
    }
    assert!(refused(Shape::Step { before_rps: 1.0, after_rps: 1.0, at_s: -1.0 }).starts_with("time_s: "));
    assert_eq!(
        refused(Shape::Ramp { from_rps: 1.0, to_rps: 1.0, start_s: 2.0, end_s: 1.0 }),
        "point 2: its time 1 lies before that of the point above, 2"
    );
    assert_eq!(refused(Shape::Points(Vec::new())), "the curve has no points");
    let deep = SinePattern { amplitude: 5.0, mean: 3.0, noise: 0.0, cycles: 3.0, only_rise: false };
    assert!(refused(Shape::Pattern { pattern: deep, duration_s: 60.0 }).contains("below zero"));
    for (cycles, duration_s) in [(f64::NAN, 60.0), (far, 60.0), (1.0, 0.0), (1.0, far)] {
        refused(Shape::Pattern { pattern: SinePattern { amplitude: 1.0, cycles, ..deep }, duration_s });
    }
    let still =
        Shape::Pattern { pattern: SinePattern { amplitude: 1.0, cycles: 0.0, ..deep }, duration_s: 60.0 };
    assert_eq!(curve(&still).value_at(30.0), 3.0);
    for (swing, period_s) in [(1.1, 10.0), (0.5, 0.0), (0.5, far), (f64::NAN, 1.0)] {
        refused(Shape::Diurnal { mean_rps: 1.0, swing, period_s, peak_s: 0.0 });
    }
    assert_eq!(
        curve(&Shape::Constant { rate_rps: 1e6 }).arrivals_s(1e6, || 1.0),
        Err(CurveError::TooManyArrivals)
    );
}

#[test]
fn points_come_from_csv() {
    let read = points_from_csv(b"rate_rps,time_s\n1.5,0\n3,60\n").expect("the file is good");
    assert_eq!(read, [Point { time_s: 0.0, rate_rps: 1.5 }, Point { time_s: 60.0, rate_rps: 3.0 }]);
    let error = points_from_csv(b"time_s,rate_rps\n0,x\n").expect_err("x is no number").to_string();
    assert_eq!(error, "row 2, column rate_rps: a number expected, got \"x\"");
    assert_eq!(points_from_csv(b"time_s\n0\n"), Err(CurveError::MissingColumn { column: "rate_rps" }));
}

#[test]
fn steps_hold_and_the_last_one_stays() {
    let steps = curve(&Shape::Steps { step_s: 2.0, rates_rps: vec![1.0, 1.0, 0.0, 5.0] });
    assert_eq!([0.0, 3.9, 4.0, 6.0, 60.0].map(|t| steps.value_at(t)), [1.0, 1.0, 0.0, 5.0, 5.0]);
    assert_eq!((steps.integral(7.0), steps.inverse(4.0)), (9.0, Some(4.0)));
    for (step_s, rates_rps) in [(1.0, vec![]), (0.0, vec![1.0]), (1.0, vec![-1.0]), (1.0, vec![f64::NAN])] {
        assert!(RateCurve::new(&Shape::Steps { step_s, rates_rps }).is_err());
    }
}
