//! `01_pattern_curves.json`: a pattern to a value for each interval, with the noise recorded.

use servescope_workload::aibrix::curve::sample_count;

use crate::config::{asked, compare};

#[test]
fn pattern_curves() {
    crate::check_all("pattern_curves", |case, _| {
        let is_rate = case.input("quantity") == "qps";
        let mean = case.input("mean_for_named_pattern").as_f64().unwrap_or(1.0);
        let made = asked(case, mean).and_then(|pattern| {
            Ok((pattern, sample_count(case.number("duration_ms"), case.number("interval_ms"))?))
        });
        let (pattern, count) = match made {
            Ok(made) => made,
            Err(_) if case.is_error() => return,
            Err(error) => panic!("{case}: {error}"),
        };
        // Without a list of noise the recorded curve has none: a run of zeros.
        let noise = case.output("standard_normal_noise");
        let normal = if noise.is_null() { vec![0.0; count] } else { crate::numbers(noise) };
        let normal = crate::replay(normal);
        let ours = if is_rate { pattern.rates(count, normal) } else { pattern.lengths(count, normal) };
        if case.is_error() {
            assert!(pattern.only_rise && !is_rate, "{case}: not refused");
            assert!(ours.len() == count && ours[0] >= 1 && ours.is_sorted(), "{case}: {ours:?}");
            return case.defect("lengths that only rise, where AIBrix crashes: done right");
        }
        compare(case, &pattern, case.output("pattern_params"));
        assert_eq!(case.output("num_intervals").as_u64(), Some(count as u64), "{case}");
        let theirs: Vec<i64> = crate::numbers(case.output("values")).iter().map(|&x| x as i64).collect();
        assert_eq!(ours, theirs, "{case}");
        for warning in pattern.warnings(count) {
            case.defect(&format!("nothing said by AIBrix: {warning:?}"));
        }
    });
}
