//! `published/vtc__*.csv`: VTC's recorded runs, and the same arrivals here.

use servescope_engine::scheduler::Order;
use servescope_lab::published::vtc::{OVERHEAD_US, Recording, VtcComparison, compare, gap_bound};
use servescope_lab::validate::vtc_table;

#[test]
fn recorded_runs() {
    let mut comparisons: Vec<VtcComparison> = Vec::new();
    for path in super::named(Recording::is_named) {
        let name = path.file_name().and_then(|n| n.to_str()).expect("a file has a name");
        let text = std::fs::read_to_string(&path).expect("the recording can be read");
        let recording = Recording::read(name, &text).unwrap_or_else(|error| panic!("{error}"));
        if let Some(comparison) = compare(&recording) {
            if recording.is_vtc_under_overload() {
                let (gap, bound) = (comparison.ours.service_gap, gap_bound(&recording));
                assert!(gap <= bound, "{name}: a service gap of {gap}, at most {bound}");
            }
            if recording.is_vtc_under_overload() && recording.workload == "overload" {
                let (gap, fcfs) =
                    (comparison.ours.service_gap, recording.simulated(Order::Fcfs, OVERHEAD_US).service_gap);
                assert!(
                    gap <= 0.1 * fcfs,
                    "{name}: a service gap of {gap}, first come, first served has {fcfs}"
                );
            }
            comparisons.push(comparison);
            servescope_tests::told(&path, 1);
        } else {
            println!("{name}: not compared: another server, or settings that were not recorded");
        }
    }
    println!("{}", vtc_table(&comparisons));
    let off: Vec<String> = comparisons
        .iter()
        .filter(|c| !c.is_within())
        .map(|c| format!("{} on {}", c.scheduler, c.workload))
        .collect();
    assert!(off.is_empty(), "out of bounds: {}", off.join(", "));
}
