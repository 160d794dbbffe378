//! `causes.csv` and `delays.csv`: each request's time by cause, and who delayed whom. Seconds with nine decimals are whole
//! nanoseconds, so that sums over a file are exact.

use std::fmt;

use servescope_engine::Report;
use servescope_engine::explain::cause::Cause;
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::queue::Client;
use servescope_workload::BASE_MODEL;

/// Nanoseconds as seconds.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// The index of an adapter; the base model has none.
fn adapter(index: u32) -> String {
    if index == BASE_MODEL { String::new() } else { index.to_string() }
}

/// Writes each request's time: in all, and by cause. The header alone where no decisions were kept.
///
/// # Errors
/// Those of `to`.
pub fn write_causes_csv(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str("id,user,adapter,total_s")?;
    for cause in Cause::ALL {
        write!(to, ",{}_s", cause.name())?;
    }
    to.write_str("\n")?;
    let Some(tables) = WhyTables::of(report) else { return Ok(()) };
    for (id, (user, of)) in report.trace.user.iter().zip(&report.trace.adapter).enumerate() {
        let time = tables.request(id);
        write!(to, "{id},{user},{},{}", adapter(*of), Seconds(time.end_ns - time.arrival_ns))?;
        for ns in time.by_cause() {
            write!(to, ",{}", Seconds(ns))?;
        }
        to.write_str("\n")?;
    }
    Ok(())
}

/// Writes who delayed whom: by users and by adapters, the requests that were delayed, those that held what they waited for, and
/// for how long. `base` is the base model, `others` are all further ones together, `none`: no request held it.
///
/// # Errors
/// Those of `to`.
pub fn write_delays_csv(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str("by,delayed,held_by,seconds\n")?;
    let Some(tables) = WhyTables::of(report) else { return Ok(()) };
    for (by, client) in [("user", Client::User), ("adapter", Client::Adapter)] {
        let groups = tables.delays(client).groups;
        let name = |of: Option<u32>| match of {
            Some(BASE_MODEL) => "base".to_owned(),
            Some(index) => index.to_string(),
            None => "others".to_owned(),
        };
        for group in &groups {
            for (place, &ns) in group.delayed_by.iter().enumerate().filter(|(_, ns)| **ns > 0) {
                let held_by = groups.get(place).map_or_else(|| "none".to_owned(), |group| name(group.of));
                writeln!(to, "{by},{},{held_by},{}", name(group.of), Seconds(ns))?;
            }
        }
    }
    Ok(())
}
