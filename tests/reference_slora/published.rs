//! `published/vtc__*.csv`: VTC's recorded runs, and the same arrivals here.

use servescope_evidence::published::shipped;
use servescope_evidence::published::single_run::ONE_RUN;
use servescope_evidence::published::vtc::{VtcComparison, VtcRecording, compare};
use servescope_evidence::validate::vtc_table;

/// What the page ships; it holds the runs of the authors' repository.
const SHIPPED: &str = include_str!("../../static/published/vtc.json");

#[test]
fn recorded_runs() {
    let mut comparisons: Vec<VtcComparison> = Vec::new();
    for recording in recordings() {
        let name = format!("{} on {}", recording.scheduler, recording.workload);
        match compare(&recording) {
            Some(comparison) => comparisons.push(comparison),
            None => println!("{name}: not compared: another server, or settings that were not recorded"),
        }
    }
    println!("{}", vtc_table(&comparisons));
    for c in comparisons.iter().filter(|c| !c.is_beyond_the_profile()) {
        let name = format!("{} on {}", c.scheduler, c.workload);
        let errors = (c.tokens_error(), c.rejected_error(), c.ordered_pairs());
        assert!(
            c.is_within(),
            "{name}: tokens/s, rejected, clients in order {errors:?}, bound {:?}",
            c.gap_bound
        );
        if c.workload == "overload" && c.scheduler == "VTC" {
            let (gap, fcfs) = (c.ours.service_gap, c.fcfs_gap);
            assert!(gap <= 0.1 * fcfs, "{name}: a service gap of {gap}, first come, first served has {fcfs}");
        }
    }
}

#[test]
fn the_overhead_is_what_one_recording_a_gpu_says() {
    for one in &ONE_RUN {
        for recording in recordings().filter(|r| r.file_name() == one.recording) {
            let settled = recording.settle_overhead().expect("its server is known");
            println!("{}: {settled:.2} ms", one.title);
            assert!((settled - one.overhead_ms).abs() < 0.1, "{}: {settled}", one.title);
        }
    }
}

/// Each run of the folder stands in the shipped file as it comes out now, byte for byte.
#[test]
fn the_page_ships_what_is_computed() {
    let mut checked = 0;
    for recording in recordings() {
        let Some(comparison) = compare(&recording) else { continue };
        let start = format!("\"scheduler\":\"{}\"", recording.scheduler);
        let workload = format!("\"workload\":\"{}\"", recording.workload);
        let Some(shipped) = SHIPPED.lines().find(|line| line.contains(&start) && line.contains(&workload))
        else {
            continue;
        };
        let now = shipped::text(&[comparison]);
        let now = now.lines().nth(1).expect("a run has a line");
        assert_eq!(shipped.trim_end_matches(','), now, "static/published/vtc.json is out of date");
        checked += 1;
    }
    println!("checked {checked} cases of static/published/vtc.json");
}

fn recordings() -> impl Iterator<Item = VtcRecording> {
    super::named(VtcRecording::is_named).into_iter().map(|path| {
        let name = servescope_tests::plain_name(&path);
        let text = servescope_tests::text(&path);
        let recording = VtcRecording::read(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        servescope_tests::report_cases(&path, 1);
        recording
    })
}
