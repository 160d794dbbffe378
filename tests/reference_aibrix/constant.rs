//! `04_constant.json`: the length of a constant workload's lists.

use servescope_workload::aibrix::arrivals::{TargetLengths, constant};

#[test]
fn constant_workloads() {
    crate::check_all("_constant", |case, _| {
        let wanted = TargetLengths {
            input_tokens: case.input("input_len").as_f64(),
            output_tokens: case.input("output_len").as_f64(),
        };
        let (duration_ms, interval_ms) = (case.number("duration_ms"), case.number("interval_ms"));
        let ours = match constant(case.number("qps"), wanted, duration_ms, interval_ms) {
            Ok(ours) => ours,
            Err(_) if case.is_error() => return,
            Err(error) => panic!("{case}: {error}"),
        };
        let count = ours.rates_rps.len();
        if case.is_error() {
            let output = wanted.output_tokens.unwrap_or_else(|| panic!("{case}: not refused"));
            assert_eq!(ours.output_tokens, Some(vec![output; count]), "{case}");
            return case.defect("a completion length, where AIBrix crashes: done right");
        }
        assert_eq!(case.output("rps_list_length").as_u64(), Some(count as u64), "{case}");
        assert!(ours.rates_rps.iter().all(|&r| Some(r) == case.output("rps_value").as_f64()), "{case}");
        for (list, key) in [(&ours.input_tokens, "input_list"), (&ours.output_tokens, "output_list")] {
            // The record holds the beginning of a list.
            let theirs = case.output(key).as_array().map(|_| crate::numbers(case.output(key)));
            assert_eq!(list.is_some(), theirs.is_some(), "{case}: {key}");
            let (list, theirs) = (list.clone().unwrap_or_default(), theirs.unwrap_or_default());
            assert!(list.starts_with(&theirs), "{case}: {key}");
        }
        assert!(ours.step_ms * count as f64 >= duration_ms, "{case}: the lists do not last the duration");
        if interval_ms > 1000.0 {
            case.defect("intervals above a second, which shorten AIBrix's run: done right");
        }
    });
}
