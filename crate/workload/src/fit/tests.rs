//! Fits of drawn traces find what they were drawn from; odd traces are no trouble.

use proptest::prelude::*;

use super::*;
use crate::{Arrivals, LengthDistribution, WorkloadSpec, generate};

fn drawn(arrivals: Arrivals) -> Trace {
    let input = LengthDistribution::Lognormal { median: 300.0, sigma: 0.9, low: 1, high: 32_000 };
    generate(&WorkloadSpec { rate_rps: 20.0, duration_s: 1800.0, arrivals, input, ..WorkloadSpec::default() })
}

#[test]
fn the_process_of_a_drawn_trace_is_found_again() {
    let fitted = fit(&drawn(Arrivals::Gamma { cv: 2.0 }), &FitOptions::default());
    assert!((fitted.gaps.gamma.unwrap().shape / 0.25 - 1.0).abs() < 0.05, "{:?}", fitted.gaps);
    assert!(fitted.gaps.gamma.unwrap().distance < 0.02);
    assert!(fitted.gaps.exponential_distance.unwrap() > 0.2);
    assert_eq!(fitted.input.best().unwrap().name, "lognormal");
    assert!(fitted.stamps.is_none());
}

#[test]
fn twins_are_as_close_as_chance_allows() {
    for arrivals in [Arrivals::Poisson, Arrivals::Gamma { cv: 2.0 }] {
        let source = drawn(arrivals);
        let fitted = fit(&source, &FitOptions::default());
        let twin = fitted.twin(3, ArrivalModel::GammaLikelihood);
        let apart = compare(&source, &twin);
        assert!(
            apart.gap_distance < 0.03 && apart.input_distance < 0.03,
            "{arrivals:?}: {}",
            apart.gap_distance
        );
        let twin = fitted.twin(3, ArrivalModel::Bursts);
        assert_eq!(twin.len(), source.len());
        assert!(twin.arrival_us.is_sorted());
        for window in [1.0, 10.0] {
            let of_seed =
                |seed| compare(&source, &fitted.twin(seed, ArrivalModel::Bursts)).dispersion_ratio(window);
            let mut ratios: Vec<f64> = (0..5).filter_map(of_seed).collect();
            crate::statistics::sort(&mut ratios);
            assert!((0.8..1.2).contains(&ratios[2]), "{arrivals:?} at {window} s: {ratios:?}");
        }
    }
}

#[test]
fn small_and_odd_traces_are_fitted_without_a_panic() {
    let mut odd = Trace::default();
    for times in [vec![], vec![5.0], vec![0.0, 0.0], vec![1e6; 30], vec![0.0, 1e13], vec![3.0, 3.0, 9e6]] {
        odd = Trace::default();
        for t in times {
            odd.push(crate::trace::Request {
                arrival_us: t,
                user: 0,
                adapter: crate::BASE_MODEL,
                input_tokens: 5,
                output_tokens: 1,
                max_tokens: 1,
            });
        }
        let fitted = fit(&odd, &FitOptions::default());
        for model in ArrivalModel::ALL {
            let twin = fitted.twin(1, model);
            assert!(twin.arrival_us.iter().all(|t| t.is_finite() && *t >= 0.0), "{model:?}");
            assert!(twin.arrival_us.is_sorted());
            compare(&odd, &twin);
        }
    }
    assert_eq!(fit(&odd, &FitOptions { bin_s: Some(f64::NAN) }).requests, 3);
}

proptest! {
    #![proptest_config(servescope_testkit::cases(8, 24))]

    #[test]
    fn no_trace_makes_a_fit_panic(
        times in prop::collection::vec(prop_oneof![0.0..1e3, 0.0..1e13, Just(7e6), (0..50u8).prop_map(|k| f64::from(k) * 3e6)], 0..120),
        lengths in (1..u32::MAX, 1..u32::MAX),
        labels in 1..5u32,
    ) {
        let mut odd = Trace::default();
        for (id, &arrival_us) in times.iter().enumerate() {
            let user = id as u32 % labels;
            let adapter = if user == 0 { crate::BASE_MODEL } else { user };
            let (input_tokens, output_tokens) = (lengths.0 >> (id % 32), lengths.1 >> (id % 7));
            odd.push(crate::trace::Request {
                arrival_us, user, adapter, input_tokens, output_tokens, max_tokens: output_tokens,
            });
        }
        odd.sort();
        let fitted = fit(&odd, &FitOptions::default());
        for model in ArrivalModel::ALL {
            let twin = fitted.twin(1, model);
            prop_assert!(twin.arrival_us.is_sorted() && twin.arrival_us.iter().all(|t| t.is_finite()));
            prop_assert!(twin.input_tokens.iter().chain(&twin.output_tokens).all(|&tokens| tokens >= 1));
            let apart = compare(&odd, &twin);
            prop_assert!((0.0..=1.0).contains(&apart.gap_distance) && (0.0..=1.0).contains(&apart.user_distance));
        }
        prop_assert_eq!(&fitted, &fit(&odd, &FitOptions::default()));
    }
}
