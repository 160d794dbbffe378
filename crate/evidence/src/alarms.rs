//! How often the warning "arrivals exceed the capacity" ([`servescope_lab::run::backlog`]) is false or missing on M/M/1, where the truth is
//! known.

use servescope_lab::closed_forms;
use servescope_lab::run::Run;
use servescope_lab::run::backlog::{Backlog, backlog};
use servescope_settings::parameters::{Id, Value};

/// How often the warning comes at one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alarms {
    /// Offered work over capacity.
    pub load: f64,
    /// Runs, each with a seed of its own.
    pub runs: u32,
    /// Those that were said to be overloaded.
    pub alarms: u32,
}

impl Alarms {
    /// Below load 1 at most 8 % are false; above it at least 95 % are found.
    pub fn is_met(&self) -> bool {
        let share = f64::from(self.alarms) / f64::from(self.runs);
        if self.load < 1.0 { share <= 0.08 } else { share >= 0.95 }
    }
}

/// Arrivals of a run of [`alarms`].
pub const ALARM_ARRIVALS: f64 = 2000.0;

/// The warning on M/M/1 at loads below and above 1, `runs` seeds each.
pub fn alarms(runs: u32) -> Vec<Alarms> {
    let form = closed_forms::all().swap_remove(0);
    let at = |load: f64| {
        let mut scenario = form.scenario.clone();
        let rate_rps = scenario.number(Id::Rate) * load / closed_forms::LOAD;
        let mut set = |id, x| scenario.set(id, Value::Number(x)).expect("within bounds");
        set(Id::Rate, rate_rps);
        set(Id::Duration, ALARM_ARRIVALS / rate_rps * (1.0 + 1e-9));
        let is_alarm = |seed: &u32| {
            let mut scenario = scenario.clone();
            scenario.set(Id::Seed, Value::Number(f64::from(*seed))).expect("within bounds");
            let run = Run::simulate(&scenario, None).expect("a closed form's scenario has no problem");
            matches!(backlog(&run.report), Some((_, Backlog::Overloaded { .. })))
        };
        Alarms { load, runs, alarms: (1..=runs).filter(is_alarm).count() as u32 }
    };
    [0.8, 0.95, 1.1].map(at).to_vec()
}

/// The same as a table.
pub fn alarms_table(rows: &[Alarms]) -> String {
    let title = format!("Warning \"the backlog grows\" on M/M/1, {ALARM_ARRIVALS} arrivals");
    let line = |row: &Alarms| {
        let kind = if row.load < 1.0 { "false alarms, at most 8 %" } else { "found, at least 95 %" };
        let verdict = if row.is_met() { "within" } else { "off" };
        format!("  load {:<6}{:>5} of {} runs ({kind})  {verdict}", row.load, row.alarms, row.runs)
    };
    std::iter::once(title).chain(rows.iter().map(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_one_server_the_warning_is_seldom_false_and_seldom_missing() {
        for row in alarms(200) {
            assert!(row.is_met(), "{row:?}");
        }
    }
}
