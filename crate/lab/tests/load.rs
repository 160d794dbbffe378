//! The SLO capacity: the quick search against the full one, and the check of what a load needs.

use servescope_lab::capacity::{Capacity, CapacityCheck, Checked, Miss, Search, quick_search};
use servescope_settings::scenario::Scenario;

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"))
}

fn finished(mut search: Search) -> Capacity {
    while search.advance(usize::MAX) < 1.0 {}
    search.finish()
}

/// Ten settings: schedulers, cost models, traffic. The full search is shortened, for the checks' sake, to more than twice the
/// requests of the quick one.
#[test]
fn the_quick_search_finds_what_the_full_one_does() {
    let settings: [&[(&str, &str)]; 10] = [
        &[],
        &[("workload.rate_rps", "0.5")],
        &[("workload.rate_rps", "4")],
        &[("workload.arrivals.cv", "2")],
        &[("workload.adapters.count", "0")],
        &[("scheduler.kind", "orca")],
        &[("scheduler.kind", "sarathi")],
        &[("scheduler.kind", "vllm"), ("fleet.replicas", "2")],
        &[("scheduler.kind", "vllm_v1"), ("workload.duration_s", "100")],
        &[("capacity.ttft_s", "3"), ("capacity.queue_s", "0")],
    ];
    for settings in settings {
        let scenario = scenario(settings);
        let quick = finished(quick_search(&scenario, None).unwrap());
        let mut full = scenario.clone();
        full.set_text("capacity.most_requests", "50000").unwrap();
        let full = finished(Search::new(&full, None).unwrap());
        let [of_quick, of_full] = [&quick, &full].map(|found| found.rate_rps.unwrap());
        assert!((of_full / of_quick - 1.0).abs() < 0.15, "{settings:?}: {of_quick} against {of_full}");
        assert_eq!(quick.load_rps, scenario.number(servescope_settings::parameters::Id::Rate));
    }
}

fn checked(scenario: &Scenario, replicas: u32) -> Checked {
    let mut check = CapacityCheck::new(scenario, None, replicas, 3_000, None).unwrap();
    while check.advance(1_000_000) < 1.0 {}
    check.finish()
}

#[test]
fn a_check_simulates_the_load_on_as_many_replicas() {
    let one = finished(quick_search(&scenario(&[("workload.duration_s", "300")]), None).unwrap());
    let rate = one.rate_rps.unwrap();
    // Three times what one takes: two replicas fail, and five hold.
    let load = (3.0 * rate).to_string();
    let scenario = scenario(&[("workload.rate_rps", &load), ("workload.duration_s", "300")]);
    let few = checked(&scenario, 2);
    assert_eq!(few.replicas, 2);
    assert!(
        matches!(few.miss, Some(Miss::Bound { metric: "ttft_s" | "queue_s", .. } | Miss::Growing { .. })),
        "{few:?}"
    );
    let enough = checked(&scenario, 5);
    assert_eq!((enough.replicas, enough.miss), (5, None));
    assert!(enough.quantile_s[3].unwrap() <= 5.0, "{enough:?}");
    assert!((enough.rate_rps / (3.0 * rate) - 1.0).abs() < 0.15, "{enough:?} at {load}");
    assert!(enough.requests >= 2_500, "as many as were asked for: {enough:?}");
    let none = CapacityCheck::new(&scenario, None, 0, 100, None).unwrap_err();
    assert_eq!((none[0].code, none[0].path.as_str()), ("out_of_range", "fleet.replicas"));
}
