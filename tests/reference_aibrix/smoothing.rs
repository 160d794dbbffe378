//! `07_poisson_smoothing.json`: recorded Poisson counts to smoothed rates.

use servescope_workload::aibrix::smoothing;

#[test]
fn poisson_smoothing() {
    crate::check_all("poisson_smoothing", |case, _| {
        let mut counts = crate::replay(crate::numbers(case.input("raw_poisson_counts")));
        let (size, window) = (case.number("sample_size"), case.number("smooth_window_size"));
        let ours =
            smoothing::rates_rps(case.number("target"), size as usize, window as usize, || counts() as u64);
        let theirs: Vec<u64> = crate::numbers(&case.json["output"]).iter().map(|&x| x as u64).collect();
        assert_eq!(ours, theirs, "{case}");
    });
}
