//! The split of the requests' times by cause, held to the times that it splits.

use servescope_engine::Report;
use servescope_engine::explain::cause::{ByCause, Cause};
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::queue::Client;

/// Takes the decisions out of a report, after a check that the causes of each request add up to its time, in whole nanoseconds, and
/// the delays between users and between adapters to those of the split.
///
/// # Panics
/// If they do not, or no decisions were kept.
pub fn add_up(mut report: Report, what: &str) -> Report {
    let tables = WhyTables::of(&report).unwrap_or_else(|| panic!("{what}: no decisions"));
    let mut all = ByCause::default();
    for id in 0..report.trace.len() {
        let time = tables.request(id);
        let sums = time.by_cause();
        assert_eq!(sums.iter().sum::<u64>(), time.end_ns - time.arrival_ns, "{what}: request {id}");
        all.iter_mut().zip(sums).for_each(|(all, ns)| *all += ns);
    }
    let delays = Cause::ALL.into_iter().filter(|cause| cause.is_delay());
    let delayed: u64 = delays.map(|cause| all[cause as usize]).sum();
    for client in [Client::User, Client::Adapter] {
        let matrix = tables.delays(client);
        assert_eq!(matrix.causes, all, "{what}: {client:?}");
        let shared = matrix.groups.iter().flat_map(|group| &group.delayed_by);
        assert_eq!(shared.sum::<u64>(), delayed, "{what}: {client:?}");
    }
    drop(tables);
    (report.decisions, report.phases) = (None, None);
    report.choices = Vec::new();
    report
}
