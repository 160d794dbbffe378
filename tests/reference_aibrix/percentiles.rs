//! `06_percentiles_to_lengths.json`: percentiles to a lognormal distribution and, with recorded normal draws, to lengths.

use serde_json::Value;
use servescope_workload::aibrix::percentiles::{Lognormal, fit, lengths, real_lengths};

use crate::Case;

/// How far from 0 SciPy's Nelder-Mead search looks first.
const FIRST_STEP: f64 = 2.5e-4;

/// The recorded distribution; `None` where the logarithm of a zero length spoilt it.
pub(crate) fn recorded(mu: &Value, sigma: &Value) -> Option<Lognormal> {
    Some(Lognormal { mu: mu.as_f64()?, sigma: sigma.as_f64()? })
}

/// Whether our minimum is where AIBrix's search stopped: within its tolerances of 1e-4 and one in a thousand. Where all lengths are
/// alike the search begins at a spread of 0, and its first step from there is [`FIRST_STEP`].
pub(crate) fn compare_fit(case: &Case<'_>, ours: Option<Lognormal>, theirs: Option<Lognormal>) {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => {
            let close = |a: f64, b: f64, within: f64| (a - b).abs() <= within + 1e-3 * b.abs();
            let of_spread = if ours.sigma == 0.0 { FIRST_STEP } else { 2e-4 };
            let fine = close(ours.mu, theirs.mu, 2e-4) && close(ours.sigma, theirs.sigma, of_spread);
            assert!(fine, "{case}: {ours:?}, expected {theirs:?}");
        }
        (None, None) => {}
        other => panic!("{case}: {other:?}"),
    }
}

/// Holds lengths to the recorded ones: equal with the recorded distribution, but where the real number lies on a whole one and
/// its last bit decides; and within a token, or one in a thousand, with our own.
pub(crate) fn compare_lengths(
    case: &Case<'_>,
    median: f64,
    distributions: [Option<Lognormal>; 2],
    period_s: f64,
    normal: &[f64],
    theirs: &[f64],
) {
    let [own, recorded] = distributions;
    assert_eq!(normal.len(), theirs.len(), "{case}: lengths");
    let exact = lengths(median, recorded, period_s, normal);
    let real = recorded.map_or_else(
        || vec![1.0; normal.len()],
        |distribution| real_lengths(median, distribution, period_s, normal),
    );
    for ((&ours, real), &length) in exact.iter().zip(real).zip(theirs) {
        let on_the_edge = (real - real.round()).abs() < 1e-9 * real.abs();
        let edge = if on_the_edge { 1.0 } else { 0.0 };
        assert!((f64::from(ours) - length).abs() <= edge, "{case}: {real}, expected {length}");
    }
    for (&ours, &length) in lengths(median, own, period_s, normal).iter().zip(theirs) {
        assert!((f64::from(ours) - length).abs() <= 1.0 + 1e-3 * length, "{case}: {ours}, expected {length}");
    }
}

#[test]
fn percentiles_to_lengths() {
    crate::check_all("percentiles_to_lengths", |case, _| {
        let lengths = crate::numbers(case.input("token_lengths"));
        let own = match fit(&crate::numbers(case.input("percentiles")), &lengths, case.number("scale")) {
            Ok(own) => own,
            Err(_) if case.is_error() => return,
            Err(error) => panic!("{case}: {error}"),
        };
        assert!(!case.is_error(), "{case}: not refused");
        let recorded = recorded(&case.json["fitted_mu"], &case.json["fitted_sigma"]);
        compare_fit(case, own, recorded);
        let normal = crate::numbers(&case.json["standard_normal"]);
        assert_eq!(normal.len() as f64, case.number("total_seconds"), "{case}: draws");
        let theirs = crate::numbers(&case.json["output"]);
        compare_lengths(
            case,
            case.number("median"),
            [own, recorded],
            case.number("period"),
            &normal,
            &theirs,
        );
    });
}
