//! `03_arrivals_from_rates.json`: rates, lengths and recorded exponential draws to arrivals and wanted lengths.

use servescope_workload::aibrix::AibrixError;
use servescope_workload::aibrix::arrivals::{Scales, Steps, arrivals};

#[test]
fn arrivals_from_rates() {
    crate::check_all("arrivals_from_rates", |case, _| {
        let list = |key: &str| (!case.input(key).is_null()).then(|| crate::numbers(case.input(key)));
        let steps = Steps {
            step_ms: 1000.0,
            rates_rps: crate::numbers(case.input("rps_per_second")),
            input_tokens: list("input_len_per_second"),
            output_tokens: list("output_len_per_second"),
        };
        let scales = Scales {
            rate: case.number("qps_scale"),
            input: case.number("input_scale"),
            output: case.number("output_scale"),
        };
        let draws = crate::numbers(&case.json["standard_exponential_draws"]);
        let (mut used, recorded) = (0, draws.len());
        let mut replay = crate::replay(draws);
        let ours = arrivals(&steps, case.number("duration_ms"), &scales, || {
            used += 1;
            replay()
        });
        let ours = match ours {
            Ok(ours) => ours,
            Err(error @ AibrixError::NegativeRate { .. }) => {
                return case.defect(&format!("a negative rate, refused: {error}"));
            }
            Err(_) if case.is_error() => return,
            Err(error) => panic!("{case}: {error}"),
        };
        assert!(!case.is_error(), "{case}: not refused");
        let entries: Vec<[f64; 2]> = ours
            .iter()
            .map(|a| [a.timestamp_ms as f64, if a.request.is_some() { 1.0 } else { 0.0 }])
            .collect();
        let pairs = |key: &str| case.output(key).as_array().cloned().unwrap_or_default();
        let theirs: Vec<Vec<f64>> = pairs("entries").iter().map(crate::numbers).collect();
        assert_eq!(entries.len(), theirs.len(), "{case}: entries");
        assert!(entries.iter().zip(&theirs).all(|(a, b)| a[..] == b[..]), "{case}: {entries:?}");
        assert_eq!(used, recorded, "{case}: draws");
        let asked: Vec<[Option<f64>; 2]> =
            ours.iter().filter_map(|a| a.request).map(|r| [r.input_tokens, r.output_tokens]).collect();
        let theirs = pairs("target_lengths_asked_per_request");
        assert_eq!(asked.len(), theirs.len(), "{case}: requests");
        for (ours, theirs) in asked.iter().zip(&theirs) {
            assert_eq!(ours[..], [theirs[0].as_f64(), theirs[1].as_f64()], "{case}: wanted lengths");
        }
    });
}
