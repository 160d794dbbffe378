//! `events.csv`: what happened to requests, in order of time.

use std::fmt;

use servescope_engine::{Outcome, Report};

/// Events at the same time come in this order.
const NAMES: [&str; 7] = ["arrived", "refused", "left", "scheduled", "preempted", "first_token", "finished"];

/// One event: when, which of [`NAMES`], which request.
type Event = (f64, u8, u32);

/// The file as text.
pub fn events_csv(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_events_csv(report, &mut text);
    text
}

/// Writes the file. `scheduled` is the first time that a request joined an iteration; the replica is empty where none was
/// chosen. When a request left that had waited too long is not told.
///
/// # Errors
/// Those of `to`.
pub fn write_events_csv(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str("time_s,event,request,replica\n")?;
    for (time_us, kind, id) in events(report) {
        let refused = matches!(report.fates[id as usize].outcome, Outcome::Refused(_));
        write!(to, "{},{},{id},", time_us / 1e6, NAMES[kind as usize])?;
        if refused { to.write_char('\n')? } else { writeln!(to, "{}", report.replica(id as usize))? }
    }
    Ok(())
}

fn events(report: &Report) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::with_capacity(4 * report.fates.len());
    for (place, fate) in report.fates.iter().enumerate() {
        let (id, arrival_us) = (place as u32, report.trace.arrival_us[place]);
        events.push((arrival_us, 0, id));
        if matches!(fate.outcome, Outcome::Refused(_)) {
            events.push((arrival_us, 1, id));
        }
        let left = if report.is_completed(place) { 6 } else { 2 };
        let times =
            [(report.scheduled_us(place), 3), (report.first_token_us(place), 5), (fate.finish_us, left)];
        events.extend(
            times.into_iter().filter_map(|(time_us, kind)| time_us.map(|time_us| (time_us, kind, id))),
        );
    }
    // Clients that went away before anything was begun for them.
    let waited = |id: u32| {
        report.fates[id as usize].outcome == Outcome::Cancelled
            && report.fates[id as usize].finish_us.is_none()
    };
    let left = report.trace.cancellations.iter().filter(|&&(_, id)| waited(id));
    events.extend(left.map(|&(at_us, id)| (at_us.max(report.trace.arrival_us[id as usize]), 2, id)));
    events.extend(report.timeline.evictions.iter().map(|e| (e.time_us, 4, e.id)));
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    events.dedup();
    events
}
